//! Which engine remembers, and where: the settings of `state` in the policy file. A change needs a restart.

use std::path::PathBuf;
use std::time::Duration;

/// How long a store may take for one answer; the backend's deadline where that is shorter.
pub const TIMEOUT: Duration = Duration::from_secs(2);

/// Where the embedded store is when the policy names no place.
pub const DEFAULT_PATH: &str = "/var/lib/portcullis";

/// Settings of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateConfig {
    /// The engine.
    pub engine: EngineConfig,
    /// A store that has not answered after this is `state.unavailable`.
    pub timeout: Duration,
}

/// An engine and what it needs to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineConfig {
    /// In this process; forgotten at its end, so that a restart is fenced.
    Memory {
        /// Where the highest admitted time is written ahead; without it the fence is the start of the process.
        fence_file: Option<PathBuf>,
    },
    /// Durable files of this process alone.
    Embedded {
        /// Directory of its own.
        path: PathBuf,
    },
    /// Redis or Valkey, shared by replicas.
    Redis {
        /// How it is reached.
        remote: Remote,
        /// Replicas that have to have a commit before it counts (`WAIT`); 0 asks for none.
        wait: u32,
    },
    /// PostgreSQL, shared by replicas.
    Postgres {
        /// How it is reached.
        remote: Remote,
    },
}

impl EngineConfig {
    /// The word in policy files, metrics and `portcullis check`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Memory { .. } => "memory",
            Self::Embedded { .. } => "embedded",
            Self::Redis { .. } => "redis",
            Self::Postgres { .. } => "postgres",
        }
    }
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// `redis://`, `rediss://`, `postgres://` or `postgresql://`, without a password.
    pub url: String,
    /// File with the password, one line; read when a connection is made.
    pub password_file: Option<PathBuf>,
    /// PEM file of the CAs that vouch for the server; those of the system without one.
    pub ca: Option<PathBuf>,
    /// What keys or tables begin with, so that several gateways can share a server: 1 to 32 of `a-z 0-9 _`.
    pub namespace: String,
}

/// Why a store cannot be opened; the process does not start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its directory or file cannot be used.
    #[error("the store cannot use {}, which `state` of the policy names or leaves to its default", path.display())]
    Place {
        /// The directory or file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Another process has it open.
    #[error("the store at {} is in use by another process", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// What is there was not written by this program, or by one that is not understood.
    #[error("the store holds something else: {0}")]
    Foreign(String),
    /// It is not whole any more; nothing of it is trusted.
    #[error("the store at {} is damaged: {why}", path.display())]
    Damaged {
        /// The directory.
        path: PathBuf,
        /// What was found.
        why: &'static str,
    },
    /// A server cannot be reached, or is not set up to be trusted with what must not be lost.
    #[error("the store cannot be used: {0}")]
    Server(String),
}
