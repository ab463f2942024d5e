//! The story of one request, from its head to its record.
//!
//! `server` accepts connections, `connection` speaks HTTP on one of them, `handle` tells the story of one request;
//! everything else here is one step of that story.

pub mod answer;
pub mod handle;
pub mod server;

mod admit;
mod body;
mod case;
mod connection;
mod credentials;
mod gather;
mod guard;
mod headers;
mod intake;
mod judge;
mod prove;
mod proven;
mod pulse;
mod rates;
mod reply;
mod security;
mod target;
mod trace;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::Response;
use jiff::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::rates::Rates;
use crate::clock::{Clock, Steady};
use crate::contract::{Finding, Rule};
use crate::decide::Refusal;
use crate::policy::InForce;
use crate::record::Sink;
use crate::state::Keeper;
use crate::telemetry::Metrics;
use crate::trust::dpop::Nonces;
use crate::trust::mtls::Clients;
use crate::trust::own::{Own, Signed};
use crate::trust::principal::Prover;
use crate::trust::ring::KeyRing;
use crate::upstream::Upstream;
use prove::Verifier;
use security::Security;

/// The documents that the gate serves itself, before the routes of the policy.
#[derive(Clone, Copy, Debug)]
pub struct Pages {
    /// The page of one code: `(name in the path, whether Accept asks for HTML)`; `None` for an unknown name.
    pub problem: fn(&str, bool) -> Option<Response<Bytes>>,
    /// The signed capability document, as of now.
    pub capability: fn(&Signed, Timestamp) -> Response<Bytes>,
}

/// Everything the requests of one gate share.
#[derive(Debug)]
pub struct Gate {
    /// The policy in force.
    pub policy: Arc<InForce>,
    /// Time and ids.
    pub clock: Clock,
    /// Where records go.
    pub sink: Sink,
    /// What is counted.
    pub metrics: Metrics,
    /// What proves who presents a request.
    prover: Prover,
    /// What signatures are verified with.
    verifier: Verifier,
    /// Bounds security records.
    security: Security,
    /// The way to the backend.
    upstream: Upstream,
    /// The documents that it serves itself.
    pages: Pages,
    /// Its own key.
    own: Arc<Own>,
    /// Refuse to forward while records cannot be written.
    ledger_required: bool,
    /// Tells a wall clock that runs backwards.
    steady: Steady,
    /// How often anybody may ask.
    rates: Rates,
    /// What remembers.
    pub keeper: Arc<Keeper>,
    /// Requests in progress.
    in_flight: AtomicUsize,
    /// Requests that go on without their client.
    detached: Arc<Semaphore>,
}

/// What a gate is made of.
#[derive(Debug)]
pub struct Parts {
    /// The policy in force.
    pub policy: Arc<InForce>,
    /// Time and ids.
    pub clock: Clock,
    /// Where records go.
    pub sink: Sink,
    /// What is counted.
    pub metrics: Metrics,
    /// The keys of every issuer.
    pub keys: KeyRing,
    /// What remembers.
    pub keeper: Arc<Keeper>,
    /// The documents that it serves itself.
    pub pages: Pages,
    /// Its own key.
    pub own: Arc<Own>,
    /// The bundles of client certificates.
    pub clients: Arc<Clients>,
    /// The nonces of DPoP proofs.
    pub nonces: Nonces,
    /// Refuse to forward while records cannot be written.
    pub ledger_required: bool,
}

/// More requests than can be in progress; as many as a policy can ask for, and more.
const DETACHED: u32 = 1 << 20;

impl Gate {
    /// A gate with nothing in progress.
    pub fn new(parts: Parts) -> Self {
        Self {
            steady: Steady::new(&parts.clock),
            rates: Rates::new(&parts.clock, &parts.policy.current()),
            verifier: Verifier::new(parts.keys.clone(), &parts.policy.current()),
            prover: Prover {
                keys: parts.keys,
                clients: parts.clients,
                nonces: parts.nonces,
            },
            policy: parts.policy,
            clock: parts.clock,
            sink: parts.sink,
            metrics: parts.metrics,
            security: Security::default(),
            upstream: Upstream::new(),
            pages: parts.pages,
            own: parts.own,
            ledger_required: parts.ledger_required,
            keeper: parts.keeper,
            in_flight: AtomicUsize::new(0),
            detached: Arc::new(Semaphore::new(
                usize::try_from(DETACHED).unwrap_or(Semaphore::MAX_PERMITS),
            )),
        }
    }

    /// Held by a request that does not end with its connection.
    async fn detach(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.detached).acquire_owned().await.ok()
    }

    /// Until no request goes on without its client.
    async fn settled(&self) {
        drop(self.detached.acquire_many(DETACHED).await);
    }

    /// A seat among `limit` requests in progress (contract §4, "Rates").
    ///
    /// # Errors
    /// `limits.rate` when every seat is taken.
    fn seat(self: &Arc<Self>, limit: usize) -> Result<Seat, Refusal> {
        // The seat exists before the count is judged, so that its drop undoes the count either way.
        let seat = Seat(Arc::clone(self));
        if self.in_flight.fetch_add(1, Ordering::AcqRel) < limit {
            Ok(seat)
        } else {
            Err(Refusal::new(Finding::new(
                Rule::LimitsRate,
                format!("expected at most {limit} requests in progress"),
            )))
        }
    }

    /// Whether records can be written, where the policy wants them (contract §15).
    ///
    /// # Errors
    /// `state.unavailable` while the record sink is lost.
    fn ledger(&self) -> Result<(), Refusal> {
        if self.ledger_required && !self.sink.is_sound() {
            return Err(Refusal::new(Finding::new(
                Rule::StateUnavailable,
                "the last record could not be written",
            )));
        }
        Ok(())
    }
}

/// One of the requests in progress; given back when dropped.
#[derive(Debug)]
struct Seat(Arc<Gate>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}
