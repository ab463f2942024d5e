//! From a policy file to a typed policy: every mistake at once, each with line and column.
//!
//! The story: `files` gathers the file and what it names, `tree` reads the YAML, `check` holds it against the schema
//! made from `raw`, `build` makes the types that the rest of the gateway works with. `watch` does it again on a change.

mod build;
mod check;
mod describe;
mod files;
mod mistake;
mod raw;
mod scalar;
mod tree;
mod watch;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

pub use describe::{
    Effective, EffectiveProofs, EffectiveRoute, EffectiveTrust, Limit, Named, Profile, TlsFiles, describe,
};
pub use mistake::{Mistake, Mistakes, render_warnings};
pub use watch::{Reloader, Watcher};

use crate::policy::Policy;
use files::Gathered;

/// What the process needs at start and what judges requests.
#[derive(Debug)]
pub struct Config {
    /// Settings that need a restart to change.
    pub server: Server,
    /// What is reloaded while running.
    pub policy: Policy,
    /// What is allowed and should not be overlooked, in file order.
    pub warnings: Vec<Mistake>,
}

/// Settings that need a restart to change; a reload that changes them is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Address of the gate.
    pub listen: SocketAddr,
    /// Address of the admin listener.
    pub admin: SocketAddr,
    /// TLS of the gate; `None` listens in plain text.
    pub tls: Option<Tls>,
    /// Refuse new requests while records cannot be written (`ledger: required`).
    pub ledger_required: bool,
}

/// Certificate chain and key, PEM files, reloaded on change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Chain, leaf first.
    pub certificate: PathBuf,
    /// PKCS#8, SEC1 or PKCS#1 key.
    pub key: PathBuf,
}

/// Options of the command line that stand above the file; judged as the file's own keys are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Instead of `listen`.
    pub listen: Option<String>,
    /// Instead of `admin`.
    pub admin: Option<String>,
    /// Instead of `backend.url`.
    pub backend: Option<String>,
}

/// Loads, checks and builds a policy with everything it names.
///
/// # Errors
/// Every mistake at once.
pub fn load(path: &Path) -> Result<Config, Mistakes> {
    load_with(path, &Overrides::default())
}

/// The same with options of the command line above the file.
///
/// # Errors
/// Every mistake at once.
pub fn load_with(path: &Path, overrides: &Overrides) -> Result<Config, Mistakes> {
    understand(&files::gather(path), overrides)
}

/// Checks and builds a policy from its text alone, for tests and fuzzing. No file is read: a policy that names schema
/// files or a certificate is mistaken here.
///
/// # Errors
/// Every mistake at once.
pub fn from_text(name: &str, text: &str) -> Result<Config, Mistakes> {
    from_text_with(name, text, &Overrides::default())
}

/// The same with options of the command line above the text.
///
/// # Errors
/// Every mistake at once.
pub fn from_text_with(name: &str, text: &str, overrides: &Overrides) -> Result<Config, Mistakes> {
    understand(&files::text_only(name, text), overrides)
}

/// The JSON Schema of the policy file; `schemas/policy.json` is this.
pub fn schema_json() -> serde_json::Value {
    raw::schema()
}

fn understand(gathered: &Gathered, overrides: &Overrides) -> Result<Config, Mistakes> {
    let refuse = |mistakes| {
        Err(Mistakes {
            file: gathered.name.clone(),
            text: gathered.text.clone(),
            mistakes,
        })
    };
    let Some(tree) = &gathered.tree else {
        return refuse(gathered.mistakes.clone());
    };
    let mut report = check::Report::new(tree, gathered.mistakes.clone());
    let json = check::shape::check(tree, &mut report);
    let built = build::config(json, gathered, overrides, &mut report);
    let (mut mistakes, warnings) = report.finish();
    match built {
        Some((server, policy)) if mistakes.is_empty() => Ok(Config {
            server,
            policy,
            warnings,
        }),
        Some(_) | None => {
            if mistakes.is_empty() {
                // Nothing was built and nothing was said: never an empty list.
                mistakes = Mistakes::unreadable("", "the policy cannot be understood").mistakes;
            }
            refuse(mistakes)
        }
    }
}
