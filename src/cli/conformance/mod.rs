//! `portcullis conformance`: every case of contract §16, in process or against any implementation.

mod case;
mod cases;
mod fill;
mod judge;
mod junit;
mod sign;
mod site;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use case::{Case, Request};
use fill::Filler;
use judge::{Outcome, Ran};
use serde::Serialize;
use sign::Keys;
use site::Site;
use uuid::Uuid;

use super::Exit;
use super::screen::{Format, Screen, Tone};
use crate::clock::Clock;
use crate::message::profile::Schemas;

/// The body that the template of a request makes, as in the files of `tests/conformance/`.
///
/// # Errors
/// What in it cannot be filled.
pub fn body(template: &str, clock: &Clock) -> std::result::Result<Vec<u8>, String> {
    let schemas = Schemas::builtin().map_err(|error| error.to_string())?;
    let keys = Keys::published()?;
    let template: Request = serde_json::from_str(template).map_err(|error| error.to_string())?;
    let filler = Filler {
        now: clock.now(),
        id: Uuid::from_u128(clock.id().as_u128()),
        schemas: &schemas,
        keys: &keys,
    };
    Ok(filler.request(&template)?.body)
}

/// What `conformance` is asked.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Judge the implementation at this http URL; it needs the routes of `policies/fixture.yaml`. Else a gate in this
    /// process is judged.
    #[arg(long, value_name = "URL")]
    target: Option<String>,
    /// Where the target's backend is: this program listens there and sees what arrives.
    #[arg(long, value_name = "ADDR", requires = "target", default_value = "127.0.0.1:9000")]
    backend: SocketAddr,
    /// Also write the results as a JUnit file.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

/// A case and what became of it.
struct Result {
    case: Case,
    ran: Ran,
}

/// Runs every case, one after the other; a case that failed is exit code 1, a pending one is named.
pub fn run(arguments: &Arguments, screen: &mut Screen) -> io::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    match runtime.block_on(results(arguments)) {
        Ok(results) => tell(&results, arguments, screen),
        Err(error) => {
            screen.trouble(&format!("error: {error}"))?;
            Ok(Exit::CouldNotRun)
        }
    }
}

async fn results(arguments: &Arguments) -> std::result::Result<Vec<Result>, String> {
    let clock = Clock::system();
    let site = Site::open(arguments, &clock).await?;
    let results = results_at(&site, &clock).await;
    site.close().await;
    results
}

async fn results_at(site: &Site, clock: &Clock) -> std::result::Result<Vec<Result>, String> {
    let schemas = Schemas::builtin().map_err(|error| error.to_string())?;
    let keys = Keys::published()?;
    let mut results = Vec::new();
    for case in cases::all()? {
        let ran = judge::run(&case, site, &schemas, &keys, clock).await;
        results.push(Result { case, ran });
    }
    // A refused message must not arrive after its answer either.
    let seen = site.backend.seen();
    for Result { ran, .. } in &mut results {
        if let Outcome::Passed = ran.outcome
            && ran.refused.as_ref().is_some_and(|refused| refused.has_arrived(&seen))
        {
            ran.outcome = Outcome::Failed(vec!["the backend got what was refused".to_owned()]);
        }
    }
    Ok(results)
}

fn tell(results: &[Result], arguments: &Arguments, screen: &mut Screen) -> io::Result<Exit> {
    for result in results {
        match screen.format {
            Format::Json => screen.json(&object(result))?,
            Format::Text => print(result, screen)?,
        }
    }
    if let Some(file) = &arguments.junit
        && let Err(error) = std::fs::write(file, junit::report(results))
    {
        screen.trouble(&format!("error: {}: {error}", file.display()))?;
        return Ok(Exit::CouldNotRun);
    }
    let ids = |of: fn(&Outcome) -> bool| -> Vec<&str> {
        let some = results.iter().filter(|result| of(&result.ran.outcome));
        some.map(|result| result.case.id.as_str()).collect()
    };
    let passed = ids(|outcome| matches!(outcome, Outcome::Passed));
    let failed = ids(|outcome| matches!(outcome, Outcome::Failed(_)));
    let pending = ids(|outcome| matches!(outcome, Outcome::Pending(_)));
    let named = |ids: &[&str]| match ids {
        [] => String::new(),
        ids => format!(" ({})", ids.join(" ")),
    };
    screen.note(&format!(
        "\n{} passed, {} failed{}, {} pending{}",
        passed.len(),
        failed.len(),
        named(&failed),
        pending.len(),
        named(&pending)
    ))?;
    Ok(if failed.is_empty() { Exit::Fine } else { Exit::Refused })
}

fn print(result: &Result, screen: &mut Screen) -> io::Result<()> {
    let (word, tone) = word(&result.ran.outcome);
    let word = screen.tint(tone, &format!("{word:<7}"));
    let expect = &result.case.expect;
    let what = [
        Some(expect.verdict.as_str()),
        Some(&expect.status.to_string()),
        expect.code.as_deref(),
        expect.rule.as_deref(),
    ];
    let what: Vec<&str> = what.into_iter().flatten().collect();
    let line = format!(
        "{:<5} {word}  {:<10}  {:<74}",
        result.case.id,
        result.case.route,
        what.join(" ")
    );
    screen.line(&format!("{line}  {}", result.case.about))?;
    match &result.ran.outcome {
        Outcome::Passed => Ok(()),
        Outcome::Failed(faults) => faults
            .iter()
            .try_for_each(|fault| screen.line(&format!("      {fault}"))),
        Outcome::Pending(reason) => screen.line(&format!("      {reason}")),
    }
}

/// One line of `--output json`.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    route: &'a str,
    about: &'a str,
    outcome: &'static str,
    reasons: Vec<&'a str>,
    expected: Answered<'a>,
    got: Answered<'a>,
}

#[derive(Serialize)]
struct Answered<'a> {
    verdict: Option<&'a str>,
    status: Option<u16>,
    code: Option<&'a str>,
    rule: Option<&'a str>,
}

fn object(Result { case, ran }: &Result) -> Line<'_> {
    let expect = &case.expect;
    let [verdict, status, code, rule] = ran.got.each_ref().map(Option::as_deref);
    Line {
        id: &case.id,
        route: &case.route,
        about: &case.about,
        outcome: word(&ran.outcome).0,
        reasons: match &ran.outcome {
            Outcome::Passed => Vec::new(),
            Outcome::Failed(faults) => faults.iter().map(String::as_str).collect(),
            Outcome::Pending(reason) => vec![reason],
        },
        expected: Answered {
            verdict: Some(&expect.verdict),
            status: Some(expect.status),
            code: expect.code.as_deref(),
            rule: expect.rule.as_deref(),
        },
        got: Answered {
            verdict,
            status: status.and_then(|status| status.parse().ok()),
            code,
            rule,
        },
    }
}

const fn word(outcome: &Outcome) -> (&'static str, Tone) {
    match outcome {
        Outcome::Passed => ("passed", Tone::Good),
        Outcome::Failed(_) => ("failed", Tone::Bad),
        Outcome::Pending(_) => ("pending", Tone::Quiet),
    }
}

#[cfg(test)]
mod tests;
