//! A running gate, in this process: for `run`, for the demo, for tests.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::{Setup, StartError, bundles, watch as watching};
use crate::admin;
use crate::config::Watcher;
use crate::discovery;
use crate::gateway::{Gate, Parts, server};
use crate::policy::InForce;
use crate::state::Keeper;
use crate::telemetry::Metrics;
use crate::trust::dpop::Nonces;
use crate::trust::mtls::Clients;
use crate::trust::own::Own;
use crate::trust::ring::KeyRing;
use crate::trust::tls::Certificates;

/// A gate that serves. Dropped, it drains in the background; [`Running::stop`] waits for that.
#[derive(Debug)]
pub struct Running {
    gate: SocketAddr,
    admin: SocketAddr,
    policy: Arc<InForce>,
    metrics: Metrics,
    certificates: Option<Arc<Certificates>>,
    own: Arc<Own>,
    clients: Arc<Clients>,
    keys: KeyRing,
    state: admin::State,
    stop: watch::Sender<bool>,
    stop_admin: watch::Sender<bool>,
    serving: JoinHandle<()>,
    administering: JoinHandle<()>,
    _watcher: Option<Watcher>,
}

impl Running {
    /// Binds both listeners, loads the keys of every issuer as far as they can be had, and begins to serve. Port 0 takes
    /// any free port. Needs a tokio runtime.
    ///
    /// # Errors
    /// Why it cannot run.
    pub async fn start(setup: Setup) -> Result<Self, StartError> {
        let Setup {
            config,
            watched,
            sink,
            clock,
            store,
        } = setup;
        let server = config.server;
        let certificates = match &server.tls {
            Some(tls) => Some(Certificates::load(&tls.certificate, &tls.key)?),
            None => None,
        };
        let clients = Clients::load(&config.policy.trust.clients)?;
        let acceptor = match &certificates {
            Some(certificates) => Some(TlsAcceptor::from(certificates.server_config(&clients)?)),
            None => None,
        };
        let own = Own::load(config.policy.trust.key.as_deref())?;
        let keeper = Arc::new(match store {
            Some(store) => Keeper::over(store),
            None => Keeper::open(&server.state, &config.policy.freshness, &clock).await?,
        });
        let (gate_listener, gate) = listen("gate", server.listen).await?;
        let (admin_listener, admin) = listen("admin listener", server.admin).await?;

        let policy = Arc::new(InForce::new(config.policy, clock.now()));
        let metrics = Metrics::new();
        metrics.policy(&policy.current().revision, true);
        let keys = KeyRing::start(
            &policy.current().trust,
            clock.clone(),
            watching::keys(sink.clone(), watched.as_ref().map(|watched| watched.notice)),
        )
        .await;
        let state = admin::State::new(
            Arc::clone(&policy),
            metrics.clone(),
            sink.clone(),
            clock.clone(),
            keys.clone(),
            server.ledger_required,
            Arc::clone(&keeper),
        );
        let watcher = match watched {
            Some(watched) => {
                let believed = watching::Believed {
                    keys: keys.clone(),
                    clients: Arc::clone(&clients),
                };
                let watcher = watching::policy(&watched, &server, &policy, &believed, &clock, &sink, &metrics);
                Some(watcher.map_err(|source| StartError::System { what: "thread", source })?)
            }
            None => None,
        };
        let (stop, stopped) = watch::channel(false);
        let (stop_admin, admin_stopped) = watch::channel(false);
        if let Some(certificates) = &certificates {
            tokio::spawn(watching::certificates(
                Arc::clone(certificates),
                clock.clone(),
                sink.clone(),
                stopped.clone(),
            ));
        }
        tokio::spawn(watching::own_key(
            Arc::clone(&own),
            Arc::clone(&policy),
            clock.clone(),
            sink.clone(),
            stopped.clone(),
        ));
        tokio::spawn(keys.clone().watch(stopped.clone()));
        tokio::spawn(watching::sweep(Arc::clone(&keeper), clock.clone(), stopped.clone()));
        tokio::spawn(bundles::watch(
            Arc::clone(&clients),
            Arc::clone(&policy),
            clock.clone(),
            sink.clone(),
            stopped.clone(),
        ));
        let gate_parts = Arc::new(Gate::new(Parts {
            policy: Arc::clone(&policy),
            clock,
            sink: sink.clone(),
            metrics: metrics.clone(),
            keys: keys.clone(),
            keeper,
            pages: discovery::PAGES,
            own: Arc::clone(&own),
            clients: Arc::clone(&clients),
            nonces: Nonces::new()?,
            ledger_required: server.ledger_required,
        }));
        let serving = tokio::spawn(server::serve(gate_parts, gate_listener, acceptor, stopped));
        let administering = tokio::spawn(admin::serve(
            admin_listener,
            state.clone(),
            watching::until_true(admin_stopped),
        ));
        watching::begun(&policy, &sink);
        state.start();
        Ok(Self {
            gate,
            admin,
            policy,
            metrics,
            certificates,
            own,
            clients,
            keys,
            state,
            stop,
            stop_admin,
            serving,
            administering,
            _watcher: watcher,
        })
    }

    /// The address that the gate is bound to.
    pub const fn gate(&self) -> SocketAddr {
        self.gate
    }

    /// The address that the admin listener is bound to.
    pub const fn admin(&self) -> SocketAddr {
        self.admin
    }

    /// The policy in force.
    pub const fn policy(&self) -> &Arc<InForce> {
        &self.policy
    }

    /// What was counted.
    pub const fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The certificate of the gate, when it has one.
    pub const fn certificates(&self) -> Option<&Arc<Certificates>> {
        self.certificates.as_ref()
    }

    /// The gateway's own key.
    pub const fn own(&self) -> &Arc<Own> {
        &self.own
    }

    /// The keys of every issuer.
    pub const fn keys(&self) -> &KeyRing {
        &self.keys
    }

    /// The bundles of client certificates.
    pub const fn clients(&self) -> &Arc<Clients> {
        &self.clients
    }

    /// Takes no new connection, ends the requests in progress within `deadlines.drain`, then closes. `/readyz` says
    /// so meanwhile.
    pub async fn stop(self) {
        self.state.drain();
        // Nobody listens only when the task has ended already.
        let _ended = self.stop.send(true);
        let _panicked = self.serving.await;
        let _ended = self.stop_admin.send(true);
        let _panicked = self.administering.await;
    }
}

async fn listen(what: &'static str, address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let failed = |source| StartError::Listen { what, address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}
