//! Hot reload: the policy file and what it names are looked at again and again; a good change is put in force whole,
//! a bad one is told and the last good policy stays.

mod watcher;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use watcher::Watcher;

use super::files::{self, Gathered};
use super::{Config, Overrides, Server, understand};
use crate::clock::Clock;
use crate::policy::{Attempt, InForce};

/// Looks at the files once and puts in force what it finds. It has no thread and no timer of its own.
pub struct Reloader {
    path: PathBuf,
    overrides: Overrides,
    server: Server,
    in_force: Arc<InForce>,
    clock: Clock,
    /// Fingerprint of what the last attempt saw; `None` before the first look.
    seen: Option<String>,
    on_attempt: Box<dyn Fn(&Attempt) + Send>,
}

impl std::fmt::Debug for Reloader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reloader")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Reloader {
    /// Begins with the policy in force. `server` is what the process was started with; `on_attempt` is called after
    /// each attempt, whatever came of it.
    pub fn new(
        path: &Path,
        overrides: Overrides,
        server: Server,
        in_force: Arc<InForce>,
        clock: Clock,
        on_attempt: impl Fn(&Attempt) + Send + 'static,
    ) -> Self {
        Self {
            path: path.to_owned(),
            overrides,
            server,
            in_force,
            clock,
            seen: None,
            on_attempt: Box::new(on_attempt),
        }
    }

    /// Makes one attempt when what is on disk is not what the last one saw; tells whether it did.
    pub fn look(&mut self) -> bool {
        let gathered = files::gather(&self.path);
        let fingerprint = gathered.fingerprint();
        // The process began with the policy in force; files that changed since then are a change like any other.
        let begun = self.seen.is_none() && gathered.is_revision(&self.in_force.current().revision);
        if begun || self.has_seen(&fingerprint) {
            self.seen = Some(fingerprint);
            return false;
        }
        self.seen = Some(fingerprint);
        let now = self.clock.now();
        match self.understand(&gathered) {
            Ok(config) => self.in_force.replace(config.policy, now),
            Err(mistakes) => self.in_force.keep(mistakes, now),
        }
        (self.on_attempt)(&self.in_force.last_attempt());
        true
    }

    /// What is on disk now, for a caller that waits until a file is written to its end.
    pub(super) fn fingerprint(&self) -> String {
        files::gather(&self.path).fingerprint()
    }

    /// Whether that is what the last attempt saw.
    pub(super) fn has_seen(&self, fingerprint: &str) -> bool {
        self.seen.as_deref() == Some(fingerprint)
    }

    /// Directories in which a change can show: those of the policy and its schemas, before and behind links.
    pub(super) fn directories(&self) -> Vec<PathBuf> {
        files::gather(&self.path).directories(&self.path)
    }

    /// Tells of a failure that is none of the policy's; the policy in force stays.
    pub(super) fn failed(&mut self) {
        let mistake = "the policy could not be looked at; this is a fault of Portcullis".to_owned();
        self.in_force.keep(vec![mistake], self.clock.now());
        (self.on_attempt)(&self.in_force.last_attempt());
    }

    fn understand(&self, gathered: &Gathered) -> Result<Config, Vec<String>> {
        let config = understand(gathered, &self.overrides).map_err(|mistakes| mistakes.summaries())?;
        let (old, new) = (&self.server, &config.server);
        let changed: Vec<String> = [
            ("listen", old.listen != new.listen),
            ("admin", old.admin != new.admin),
            ("tls", old.tls != new.tls),
            ("ledger", old.ledger_required != new.ledger_required),
        ]
        .into_iter()
        .filter(|(_, changed)| *changed)
        .map(|(key, _)| format!("`{key}` is not what the process was started with; this change needs a restart"))
        .collect();
        if changed.is_empty() { Ok(config) } else { Err(changed) }
    }
}
