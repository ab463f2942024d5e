//! From a policy file to a typed policy: every mistake at once, each with line and column.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::policy::Policy;

/// What the process needs at start and what judges requests.
#[derive(Debug)]
pub struct Config {
    /// Settings that need a restart to change.
    pub server: Server,
    /// What is reloaded while running.
    pub policy: Policy,
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

/// Every mistake in a policy file, in file order; never empty.
#[derive(Debug)]
pub struct Mistakes {
    /// File name as given.
    pub file: String,
    /// The text of the file, for excerpts.
    pub text: String,
    /// What is wrong.
    pub mistakes: Vec<Mistake>,
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// 1-based line.
    pub line: usize,
    /// 1-based column in characters.
    pub column: usize,
    /// RFC 6901 pointer into the policy.
    pub pointer: String,
    /// What is wrong and what was expected.
    pub message: String,
    /// "did you mean …", when there is a near word.
    pub suggestion: Option<String>,
}

/// Loads, checks and builds a policy with everything it names.
///
/// # Errors
/// Every mistake at once.
pub fn load(_path: &Path) -> Result<Config, Mistakes> {
    todo!()
}
