//! `portcullis check FILE`: whether a policy can be taken, and what it means when it is.

use std::io;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::Exit;
use super::screen::{Format, Screen, Tone};
use crate::config::{self, Config, Mistakes};
use crate::policy::{Body, Integrity, Mode, Route};

/// What `check` is asked.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct Arguments {
    /// The policy file.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The same, as `run` names it.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

/// Loads the policy as `run` would, and prints routes and effective values.
pub fn run(arguments: &Arguments, screen: &mut Screen) -> io::Result<Exit> {
    let Some(file) = arguments.file.as_ref().or(arguments.policy.as_ref()) else {
        return Ok(Exit::Usage);
    };
    match config::load(file) {
        Ok(config) => {
            match screen.format {
                Format::Json => screen.json(&object(&config))?,
                Format::Text => table(&config, screen)?,
            }
            Ok(Exit::Fine)
        }
        Err(mistakes) => refuse(&mistakes, screen),
    }
}

/// Prints every mistake of a policy that cannot be taken, with `--output json` as one object.
pub fn refuse(mistakes: &Mistakes, screen: &mut Screen) -> io::Result<Exit> {
    match screen.format {
        Format::Json => screen.json(&mistakes.to_json())?,
        Format::Text => screen.trouble(&mistakes.render(screen.colour_err))?,
    }
    Ok(Exit::CouldNotRun)
}

fn object(config: &Config) -> Value {
    let policy = &config.policy;
    let routes: Vec<Value> = policy.routes.iter().map(|route| route_object(route)).collect();
    json!({
        "revision": policy.revision,
        "agent": policy.agent.ids,
        "listen": config.server.listen.to_string(),
        "admin": config.server.admin.to_string(),
        "tls": config.server.tls.is_some(),
        "backend": policy.backend.authority,
        "routes": routes,
    })
}

fn route_object(route: &Route) -> Value {
    let messages = route.messages();
    json!({
        "name": route.name,
        "path": route.path.as_str(),
        "methods": route.methods,
        "takes": takes(route),
        "profiles": messages.map(|messages| &messages.profiles),
        "extensions": messages.map(|messages| &messages.extensions),
        "modes": messages.map(|messages| &messages.modes),
        "integrity": messages.map(|messages| integrity(messages.integrity)),
        "mode": route.mode.name(),
        "level": route.level.name(),
        "content_type": route.media_types,
        "body": route.body_limit,
        "deadline_ms": u64::try_from(route.deadline.as_millis()).ok(),
        "idempotency": idempotency(route),
    })
}

fn table(config: &Config, screen: &mut Screen) -> io::Result<()> {
    let policy = &config.policy;
    let good = screen.tint(Tone::Good, "good");
    screen.line(&format!("policy    {good}, revision {}", policy.revision))?;
    screen.line(&format!(
        "agent     {} ({})",
        policy.agent.ids.join(", "),
        policy.agent.label
    ))?;
    let scheme = if config.server.tls.is_some() { "https" } else { "http" };
    screen.line(&format!(
        "listen    {scheme}://{}, admin http://{}",
        config.server.listen, config.server.admin
    ))?;
    let protocol = if policy.backend.h2c { "h2c" } else { "http1" };
    screen.line(&format!("backend   http://{} ({protocol})", policy.backend.authority))?;
    let limits = &policy.limits;
    screen.line(&format!(
        "limits    body {}, answer {}, head {} bytes and {} fields, target {}, connections {}, in flight {}",
        limits.body,
        limits.answer,
        limits.header_bytes,
        limits.header_count,
        limits.target,
        limits.connections,
        limits.in_flight
    ))?;
    let json = &policy.json;
    screen.line(&format!(
        "json      depth {}, string {}, members {}, elements {}, values {}",
        json.depth, json.string, json.members, json.elements, json.values
    ))?;
    let deadlines = &policy.deadlines;
    screen.line(&format!(
        "deadlines head {:?}, body {:?}, backend {:?}, idle {:?}, drain {:?}",
        deadlines.head, deadlines.body, deadlines.backend, deadlines.idle, deadlines.drain
    ))?;
    let freshness = &policy.freshness;
    let lifetime = freshness
        .max_lifetime
        .map_or("none".to_owned(), |most| format!("{most:?}"));
    screen.line(&format!(
        "freshness window {:?}, skew {:?}, longest lifetime {lifetime}",
        freshness.window, freshness.skew
    ))?;
    for route in &policy.routes {
        screen.line("")?;
        route_lines(route, screen)?;
    }
    Ok(())
}

fn route_lines(route: &Route, screen: &mut Screen) -> io::Result<()> {
    let tone = match route.mode {
        Mode::Enforce => Tone::Good,
        Mode::Observe => Tone::Bad,
    };
    let mode = screen.tint(tone, route.mode.name());
    let methods = route.methods.join(",");
    screen.line(&format!(
        "route {}: {methods} {} ({mode}, {})",
        route.name,
        route.path.as_str(),
        route.level.name()
    ))?;
    screen.line(&format!("  takes {}", takes(route)))?;
    if let Some(messages) = route.messages() {
        screen.line(&format!("  profiles {}", list(&messages.profiles)))?;
        screen.line(&format!(
            "  modes {}, extensions {}",
            list(&messages.modes),
            list(&messages.extensions)
        ))?;
        screen.line(&format!("  integrity {}", integrity(messages.integrity)))?;
    }
    if !route.is_read() {
        screen.line(&format!(
            "  content type {}, body {}, idempotency key {}",
            list(&route.media_types),
            route.body_limit,
            idempotency(route)
        ))?;
    }
    screen.line(&format!("  deadline {:?}", route.deadline))
}

const fn takes(route: &Route) -> &'static str {
    match &route.body {
        Body::Messages(_) => "messages",
        Body::Legacy => "legacy",
        Body::Read => "read",
    }
}

const fn integrity(integrity: Integrity) -> &'static str {
    match integrity {
        Integrity::Required => "required",
        Integrity::Declared => "declared",
    }
}

const fn idempotency(route: &Route) -> &'static str {
    if route.idempotency_required { "required" } else { "none" }
}

fn list(words: &[String]) -> String {
    if words.is_empty() {
        "none".to_owned()
    } else {
        words.join(", ")
    }
}
