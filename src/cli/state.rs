//! `portcullis state …`: what an operator does with what is remembered. Shows hashes, states and ends; never a value.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Subcommand;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::screen::{Format, Screen};
use super::{Exit, chain, check};
use crate::clock::Clock;
use crate::config::{self, Config};
use crate::state;
use crate::state::embedded::{Embedded, Opening};
use crate::state::engine::{EngineConfig, OpenError};
use crate::state::entry::{Fate, Stored};
use crate::state::fence;
use crate::state::postgres::Postgres;
use crate::state::redis::Redis;
use crate::state::store::{Entry, FOREVER, Millis, Space, Store, StoreError};

/// Entries that are read at a time.
const PAGE: usize = 4_096;

/// What `state` is asked.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
    /// The policy file that names the store.
    #[arg(long, global = true, value_name = "FILE", default_value = "portcullis.yaml")]
    policy: PathBuf,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Count what is remembered.
    Stats,
    /// List live entries: hash of the key, state, size, end. Values are never shown.
    Inspect {
        /// Only this space.
        #[arg(long, value_enum)]
        space: Option<Which>,
        /// At most so many of a space.
        #[arg(long, default_value_t = 100)]
        limit: usize,
    },
    /// Remove what has ended, as the gateway does by itself while it runs.
    Gc,
    /// After a fence was lost or lies in the future: refuse what was issued up to now, and begin anew.
    ResetFence,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Which {
    Replay,
    Idempotency,
    Answered,
    Proof,
    Meta,
}

impl Which {
    const fn space(self) -> Space {
        match self {
            Self::Replay => Space::Replay,
            Self::Idempotency => Space::Idempotency,
            Self::Answered => Space::Answered,
            Self::Proof => Space::Proof,
            Self::Meta => Space::Meta,
        }
    }
}

/// What cannot be done with a store.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("{0}; stop the gateway that uses it first")]
    InUse(OpenError),
    #[error(transparent)]
    Open(OpenError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Fence(#[from] fence::FenceError),
    #[error("there is no store at {}", .0.display())]
    Nothing(PathBuf),
    #[error("what `memory` remembers is in the gateway's process; its figures are in the metrics")]
    Memory,
    #[error("the engine `{0}` has no fence to reset")]
    NoFence(&'static str),
    #[error(transparent)]
    System(#[from] io::Error),
}

impl From<OpenError> for Trouble {
    fn from(error: OpenError) -> Self {
        if matches!(error, OpenError::InUse { .. }) {
            Self::InUse(error)
        } else {
            Self::Open(error)
        }
    }
}

/// Does it.
pub fn run(arguments: &Arguments, screen: &mut Screen) -> io::Result<Exit> {
    let config = match config::load(&arguments.policy) {
        Ok(config) => config,
        Err(mistakes) => return check::refuse(&mistakes, screen),
    };
    let clock = Clock::system();
    let lines = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Trouble::from)
        .and_then(|runtime| runtime.block_on(lines(&arguments.what, &config, &clock)));
    match lines {
        Ok(lines) => {
            for line in lines {
                match screen.format {
                    Format::Json => screen.json(&line)?,
                    Format::Text => screen.line(&text(&line))?,
                }
            }
            Ok(Exit::Fine)
        }
        Err(trouble) => {
            screen.trouble(&format!("error: {}", chain(&trouble)))?;
            Ok(Exit::CouldNotRun)
        }
    }
}

async fn lines(what: &What, config: &Config, clock: &Clock) -> Result<Vec<Value>, Trouble> {
    if matches!(what, What::ResetFence) {
        return Ok(vec![json!({ "fence": reset(config, clock).await?.to_string() })]);
    }
    let store = open(config, clock).await?;
    let now = Millis::try_from(clock.now().as_millisecond()).unwrap_or(0);
    match what {
        What::Stats => figures(store.as_ref(), now).await,
        What::Gc => Ok(vec![json!({ "removed": store.sweep(now).await? })]),
        What::Inspect { space, limit } => {
            let spaces = match space {
                Some(space) => vec![space.space()],
                None => Space::ALL.to_vec(),
            };
            let mut lines = Vec::new();
            for space in spaces {
                let page = store.scan(space, None, *limit, now).await?;
                lines.extend(page.iter().map(shown));
            }
            Ok(lines)
        }
        What::ResetFence => Ok(Vec::new()),
    }
}

/// The store, if there is one: to look at a store does not make it.
async fn open(config: &Config, clock: &Clock) -> Result<Arc<dyn Store>, Trouble> {
    match &config.server.state.engine {
        EngineConfig::Memory { .. } => return Err(Trouble::Memory),
        EngineConfig::Embedded { path } if !Embedded::is_at(path) => return Err(Trouble::Nothing(path.clone())),
        EngineConfig::Embedded { .. } | EngineConfig::Redis { .. } | EngineConfig::Postgres { .. } => {}
    }
    Ok(state::open(&config.server.state, &config.policy.freshness, clock).await?)
}

async fn reset(config: &Config, clock: &Clock) -> Result<Timestamp, Trouble> {
    let freshness = &config.policy.freshness;
    let engine = &config.server.state.engine;
    match engine {
        EngineConfig::Memory { fence_file: Some(path) } => Ok(fence::reset(path, clock.now(), freshness.skew)?),
        EngineConfig::Embedded { path } if Embedded::is_at(path) => {
            let opening = Opening {
                now: clock.now(),
                window: freshness.window,
                skew: freshness.skew,
            };
            Ok(Embedded::reset_fence(path, opening)?)
        }
        EngineConfig::Embedded { path } => Err(Trouble::Nothing(path.clone())),
        EngineConfig::Redis { remote, wait: _ } => {
            Ok(Redis::reset_fence(remote, config.server.state.timeout, clock, freshness).await?)
        }
        EngineConfig::Postgres { remote } => {
            Ok(Postgres::reset_fence(remote, config.server.state.timeout, clock, freshness).await?)
        }
        EngineConfig::Memory { fence_file: None } => Err(Trouble::NoFence(engine.name())),
    }
}

async fn figures(store: &dyn Store, now: Millis) -> Result<Vec<Value>, Trouble> {
    let stats = store.stats(now).await?;
    let mut entries = serde_json::Map::new();
    for space in Space::ALL.into_iter().filter(|space| *space != Space::Count) {
        let known = stats.entries.iter().find(|(of, _)| *of == space);
        let many = match known {
            Some((_, many)) => *many,
            None => counted(store, space, now).await?,
        };
        entries.insert(space.name().to_owned(), many.into());
    }
    Ok(vec![json!({
        "engine": stats.engine,
        "fence": store.fence()?.map(|fence| fence.to_string()),
        "bytes": stats.bytes,
        "entries": entries,
    })])
}

async fn counted(store: &dyn Store, space: Space, now: Millis) -> Result<u64, StoreError> {
    let mut many = 0_u64;
    let mut after = None;
    loop {
        let page = store.scan(space, after, PAGE, now).await?;
        let Some(last) = page.last() else {
            return Ok(many);
        };
        after = Some(last.key.id);
        many = many.saturating_add(u64::try_from(page.len()).unwrap_or(u64::MAX));
    }
}

fn shown(entry: &Entry) -> Value {
    let state = match entry.key.space {
        Space::Idempotency => Stored::decode(&entry.value).map(|stored| match stored.fate {
            Fate::Running { .. } => "running",
            Fate::Finished(_) => "finished",
            Fate::Unknown => "unknown",
        }),
        Space::Replay | Space::Answered | Space::Proof | Space::Count | Space::Meta => None,
    };
    json!({
        "space": entry.key.space.name(),
        "key": format!("{:032x}", u128::from_be_bytes(entry.key.id)),
        "state": state,
        "bytes": entry.value.len(),
        "until": time(entry.until),
    })
}

fn time(until: Millis) -> Option<String> {
    let millis = i64::try_from(until).ok().filter(|_| until != FOREVER)?;
    Timestamp::from_millisecond(millis).ok().map(|time| time.to_string())
}

/// `name: value` of everything that has a value, in one line.
fn text(line: &Value) -> String {
    fn words(line: &Value, into: &mut Vec<String>) {
        for (name, value) in line.as_object().into_iter().flatten() {
            match value {
                Value::Null => {}
                Value::Object(_) => words(value, into),
                Value::String(text) => into.push(format!("{name}: {text}")),
                Value::Bool(_) | Value::Number(_) | Value::Array(_) => into.push(format!("{name}: {value}")),
            }
        }
    }
    let mut all = Vec::new();
    words(line, &mut all);
    all.join("  ")
}
