//! Puts the floors together: one process with a gate, an admin listener, watchers and a bounded end.

mod bundles;
mod running;
mod watch;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

pub use running::Running;
use tokio::signal::unix::{SignalKind, signal};

use crate::clock::Clock;
use crate::config::{Config, Overrides};
use crate::record::Sink;
use crate::state::engine::OpenError;
use crate::state::store::Store;
use crate::trust::dpop::NoRandom;
use crate::trust::mtls::BundleError;
use crate::trust::own::OwnKeyError;
use crate::trust::tls::TlsError;

/// What a process is started with.
#[derive(Debug)]
pub struct Setup {
    /// The policy and the settings that need a restart.
    pub config: Config,
    /// The files that are read again when they change; `None` never reloads.
    pub watched: Option<Watched>,
    /// Where records go.
    pub sink: Sink,
    /// Time and ids.
    pub clock: Clock,
    /// A store that somebody else opened and knows to be complete; `None` opens the one that the policy names.
    pub store: Option<Arc<dyn Store>>,
}

/// Where a policy came from.
#[derive(Clone, Debug)]
pub struct Watched {
    /// The policy file.
    pub path: PathBuf,
    /// Options of the command line that stand above it.
    pub overrides: Overrides,
    /// Tells a person what a policy allows and should not be overlooked, each time one is taken while the gate runs.
    pub notice: fn(&str),
}

/// Why a process cannot run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address cannot be bound.
    #[error("the {what} cannot listen on {address}")]
    Listen {
        /// `gate` or `admin listener`.
        what: &'static str,
        /// The address of the policy.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The store cannot be opened.
    #[error(transparent)]
    State(#[from] OpenError),
    /// The certificate cannot be taken.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The gateway's own key cannot be used.
    #[error("the signing key {0}")]
    Key(#[from] OwnKeyError),
    /// A bundle of client certificates cannot be used.
    #[error(transparent)]
    Clients(#[from] BundleError),
    /// The system gives no random bytes.
    #[error(transparent)]
    NoRandom(#[from] NoRandom),
    /// The system gives no thread, runtime or signal.
    #[error("the system gives no {what}")]
    System {
        /// What was asked for.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// Runs until SIGTERM or SIGINT, then drains; a second signal ends at once. `started` is called once both listeners
/// are bound.
///
/// # Errors
/// Why it cannot run. An end by signal is no error.
pub fn run(setup: Setup, started: impl FnOnce(&Running)) -> Result<(), StartError> {
    let system = |what| move |source| StartError::System { what, source };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(system("runtime"))?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate()).map_err(system("signal handler"))?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(system("signal handler"))?;
        let running = Running::start(setup).await?;
        started(&running);
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tokio::select! {
            () = running.stop() => {}
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        Ok(())
    })
}
