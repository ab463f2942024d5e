//! The store, and how much of what is remembered (contract §8).

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{DAY, YEAR, duration, size};
use crate::config::check::Report;
use crate::config::files::Gathered;
use crate::config::raw::{self, Engine};
use crate::policy::{Deadlines, Idempotency, Replay};
use crate::state::engine::{DEFAULT_PATH, EngineConfig, Remote, StateConfig, TIMEOUT};

/// The longest time that a store may be waited for.
const TIMEOUT_MAX: Duration = Duration::from_secs(30);

/// What keys and tables begin with.
const NAMESPACE: &str = "portcullis";

/// The store; `None` when a part of it cannot be built.
pub(super) fn store(raw: &raw::State, gathered: &Gathered, report: &mut Report<'_>) -> Option<StateConfig> {
    let engine = raw.engine.unwrap_or(Engine::Embedded);
    let is_remote = matches!(engine, Engine::Redis | Engine::Postgres);
    for (key, fits, why) in [
        ("path", engine == Engine::Embedded, "with `engine: embedded`"),
        ("fence_file", engine == Engine::Memory, "with `engine: memory`"),
        ("wait", engine == Engine::Redis, "with `engine: redis`"),
        ("url", is_remote, "with `engine` redis or postgres"),
        ("password_file", is_remote, "with `engine` redis or postgres"),
        ("ca", is_remote, "with `engine` redis or postgres"),
        ("namespace", is_remote, "with `engine` redis or postgres"),
    ] {
        let pointer = format!("/state/{key}");
        if !fits && report.is_written(&pointer) {
            report.key(&pointer, &format!("`{key}`: expected only {why}"), None);
        }
    }
    let file = |path: Option<&String>, key: &str, report: &mut Report<'_>| match path {
        Some(path) => place(path, key, gathered, report).map(Some),
        None => Some(None),
    };
    let engine = match engine {
        Engine::Memory => EngineConfig::Memory {
            fence_file: file(raw.fence_file.as_ref(), "fence_file", report)?,
        },
        Engine::Embedded => EngineConfig::Embedded {
            path: file(raw.path.as_ref(), "path", report)?.unwrap_or_else(|| PathBuf::from(DEFAULT_PATH)),
        },
        Engine::Redis | Engine::Postgres => {
            let schemes = if engine == Engine::Redis {
                ["redis://", "rediss://"]
            } else {
                ["postgres://", "postgresql://"]
            };
            let url = url(raw.url.as_deref(), schemes, report);
            let password_file = file(raw.password_file.as_ref(), "password_file", report);
            let ca = file(raw.ca.as_ref(), "ca", report);
            let remote = Remote {
                url: url?,
                password_file: password_file?,
                ca: ca?,
                namespace: raw.namespace.clone().unwrap_or_else(|| NAMESPACE.to_owned()),
            };
            if engine == Engine::Redis {
                EngineConfig::Redis {
                    remote,
                    wait: raw.wait.unwrap_or(0),
                }
            } else {
                EngineConfig::Postgres { remote }
            }
        }
    };
    Some(StateConfig {
        engine,
        timeout: duration(raw.timeout.as_ref(), "/state/timeout", TIMEOUT_MAX, report).unwrap_or(TIMEOUT),
    })
}

/// An address of a server, in which nobody may write a password: the policy file is no place for one.
fn url(raw: Option<&str>, schemes: [&str; 2], report: &mut Report<'_>) -> Option<String> {
    let [plain, other] = schemes;
    let Some(url) = raw else {
        let message = format!("expected `url`, such as `{plain}host`, with this `engine`");
        report.value("/state", &message);
        return None;
    };
    let rest = schemes.iter().find_map(|scheme| url.strip_prefix(scheme));
    let Some(rest) = rest.filter(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_graphic())) else {
        let message = format!("`url`: expected a URL that begins with `{plain}` or `{other}`");
        report.value("/state/url", &message);
        return None;
    };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let has_password = authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'));
    if has_password || rest.contains("password=") {
        report.value(
            "/state/url",
            "`url`: expected no password; name a file in `password_file`",
        );
        return None;
    }
    Some(url.to_owned())
}

fn place(path: &str, key: &str, gathered: &Gathered, report: &mut Report<'_>) -> Option<PathBuf> {
    let absolute = || Path::new(path).is_absolute().then(|| PathBuf::from(path));
    let resolved = gathered.resolve(path).or_else(absolute);
    if resolved.is_none() {
        let message = format!("`{key}`: expected an absolute path, as this policy is no file");
        report.value(&format!("/state/{key}"), &message);
    }
    resolved
}

/// The bounds of the replay set.
pub(super) fn replay(raw: &raw::Replay, report: &mut Report<'_>) -> Replay {
    let default = Replay::default();
    let max = raw.max.map_or(default.max, u64::from);
    let fifth = max.checked_div(5).unwrap_or(max).max(1);
    let per_sender_max = raw.per_sender_max.map_or(fifth, u64::from);
    if per_sender_max > max {
        let message = "`per_sender_max`: expected at most `replay.max`";
        report.value("/replay/per_sender_max", message);
    }
    Replay { max, per_sender_max }
}

/// The bounds of keys and stored answers.
pub(super) fn keys(raw: &raw::Keys, deadlines: &Deadlines, report: &mut Report<'_>) -> Idempotency {
    let default = Idempotency::default();
    let retention = duration(raw.retention.as_ref(), "/idempotency/retention", YEAR, report);
    let retention = retention.unwrap_or(default.retention);
    let running_lease = duration(raw.running_lease.as_ref(), "/idempotency/running_lease", DAY, report);
    if let Some(lease) = running_lease {
        if lease < deadlines.backend {
            let message = "`running_lease`: expected at least `deadlines.backend`";
            report.value("/idempotency/running_lease", message);
        }
        if lease > retention {
            let message = "`running_lease`: expected at most `idempotency.retention`";
            report.value("/idempotency/running_lease", message);
        }
    }
    Idempotency {
        retention,
        running_lease,
        max_body: size(raw.max_body.as_ref(), "/idempotency/max_body", default.max_body, report),
        max: raw.max.map_or(default.max, u64::from),
        max_bytes: u64::try_from(size(
            raw.max_bytes.as_ref(),
            "/idempotency/max_bytes",
            usize::try_from(default.max_bytes).unwrap_or(usize::MAX),
            report,
        ))
        .unwrap_or(default.max_bytes),
    }
}
