//! `portcullis demo`: a gate, a backend and a tour of messages, all in this process and over real HTTP.

mod client;
mod signed;
mod tour;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tour::Stop;

use super::Exit;
use super::backend::Backend;
use super::place::Place;
use super::report::Report;
use super::screen::{Format, Screen, Tone};
use crate::app::{Running, Setup};
use crate::clock::Clock;
use crate::config::{self, Overrides};
use crate::policy::Route;
use crate::record::Sink;
use crate::state::memory::Memory;

/// What `demo` is asked.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Keep gate and backend up after the tour, and print what to send.
    #[arg(long)]
    serve: bool,
}

/// Any free loopback port.
const LOOPBACK: &str = "127.0.0.1:0";

/// Runs the tour; anything that goes another way than the tour says is exit code 1.
pub fn run(arguments: &Arguments, screen: &mut Screen) -> io::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(tell(arguments, screen))
}

async fn tell(arguments: &Arguments, screen: &mut Screen) -> io::Result<Exit> {
    let clock = Clock::system();
    let place = Place::new(&clock)?;
    let backend = Backend::start((Ipv4Addr::LOCALHOST, 0).into()).await?;
    let overrides = Overrides {
        listen: Some(LOOPBACK.to_owned()),
        admin: Some(LOOPBACK.to_owned()),
        backend: Some(format!("http://{}", backend.address)),
    };
    let config = match config::load_with(&place.policy, &overrides) {
        Ok(config) => config,
        Err(mistakes) => return super::check::refuse(&mistakes, screen),
    };
    let Some(route) = config.policy.routes.first().cloned() else {
        return Ok(Exit::CouldNotRun);
    };
    let stops = match whole_tour(&route, &clock) {
        Ok(stops) => stops,
        Err(error) => {
            screen.trouble(&format!("error: {error}"))?;
            return Ok(Exit::CouldNotRun);
        }
    };
    let setup = Setup {
        config,
        watched: None,
        sink: Sink::memory(),
        clock: clock.clone(),
        // It has no past, and its end is the end of all it admitted.
        store: Some(Arc::new(Memory::new(None))),
    };
    let running = match Running::start(setup).await {
        Ok(running) => running,
        Err(error) => {
            screen.trouble(&format!("error: {}", super::chain(&error)))?;
            return Ok(Exit::CouldNotRun);
        }
    };
    screen.note(&format!("gate {}, backend {}\n", running.gate(), backend.address))?;
    let mut strange = false;
    for stop in &stops {
        strange |= !visit(stop, running.gate(), screen).await?;
    }
    let seen = backend.seen();
    let allowed = stops.iter().filter(|stop| stop.refused_by.is_none());
    strange |= !allowed
        .map(|stop| stop.body.as_slice())
        .eq(seen.iter().map(|seen| seen.body.as_ref()));
    let plural = if seen.len() == 1 { "" } else { "s" };
    screen.note(&format!("\nbackend saw {} message{plural}", seen.len()))?;
    if arguments.serve
        && let Ok(stops) = whole_tour(&route, &clock)
    {
        // The messages of the tour were taken once; these are new.
        serve(&running, &place, &stops, screen).await?;
    }
    running.stop().await;
    Ok(if strange { Exit::Refused } else { Exit::Fine })
}

/// Every stop, of messages that were never sent.
fn whole_tour(route: &Route, clock: &Clock) -> Result<Vec<Stop>, String> {
    let mut stops = tour::stops(route.path.as_str(), route.body_limit, clock.now(), clock.id());
    stops.extend(signed::stops(clock)?);
    Ok(stops)
}

/// Says what to send, and waits for the end.
async fn serve(running: &Running, place: &Place, stops: &[Stop], screen: &mut Screen) -> io::Result<()> {
    screen.note(&format!(
        "\nStill up; end it with Ctrl-C. The messages are fresh for five minutes, and each is taken once.\nadmin: curl http://{}/readyz",
        running.admin()
    ))?;
    for (number, stop) in stops.iter().enumerate() {
        let file = place.keep(&format!("{number}.json"), &stop.body)?;
        screen.note(&format!(
            "\n# {}\ncurl -i http://{}{} -H 'Content-Type: application/json' --data-binary @{}",
            stop.what,
            running.gate(),
            stop.path,
            file.display()
        ))?;
    }
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminate.recv() => Ok(()),
    }
}

/// Sends one stop and prints what came of it; whether it went as it has to.
async fn visit(stop: &Stop, gate: SocketAddr, screen: &mut Screen) -> io::Result<bool> {
    let report = match client::send(gate, stop).await {
        Ok(report) => report,
        Err(failure) => {
            screen.trouble(&format!("{}: no answer: {failure}", stop.what))?;
            return Ok(false);
        }
    };
    let as_expected = report.verdict == stop.outcome().name()
        && report.rule.as_deref() == stop.refused_by.map(|rule| rule.id())
        && report.code.as_deref() == stop.refused_by.map(|rule| rule.code().name())
        && stop.refused_by.is_none_or(|rule| report.status == Some(rule.status()));
    print(stop, &report, screen)?;
    if !as_expected {
        let wanted = stop.refused_by.map_or("allow", |rule| rule.id());
        screen.trouble(&format!("{}: expected {wanted}", stop.what))?;
    }
    Ok(as_expected)
}

fn print(stop: &Stop, report: &Report, screen: &mut Screen) -> io::Result<()> {
    match screen.format {
        Format::Json => screen.json(report),
        Format::Text => {
            let tone = if report.is_allow() { Tone::Good } else { Tone::Bad };
            let line = screen.tint(tone, &report.row());
            screen.line(&format!("{:<50}  {line}", stop.what))
        }
    }
}
