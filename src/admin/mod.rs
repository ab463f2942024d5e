//! The operator's listener: health, metrics, the policy in force and the fail-mode table. It is no part of the gate,
//! answers `GET` and `HEAD` only, and listens on an address of its own.
//!
//! `/livez` the process serves · `/startupz` it has begun to take requests · `/readyz` it may be sent requests, or 503
//! with the reasons · `/metrics` · `/failmodes` · `/policy`.

pub mod failmodes;
mod pages;
mod serve;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Map;

pub use serve::serve;

use crate::clock::Clock;
use crate::policy::InForce;
use crate::record::Sink;
use crate::telemetry::Metrics;
use crate::trust::ring::{KeyRing, Unready};

/// What the admin listener shows. Cloning shares it.
#[derive(Clone, Debug)]
pub struct State(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    policy: Arc<InForce>,
    metrics: Metrics,
    sink: Sink,
    clock: Clock,
    keys: KeyRing,
    ledger_required: bool,
    started: AtomicBool,
    draining: AtomicBool,
}

impl State {
    /// A gate that has not started yet.
    pub fn new(
        policy: Arc<InForce>,
        metrics: Metrics,
        sink: Sink,
        clock: Clock,
        keys: KeyRing,
        ledger_required: bool,
    ) -> Self {
        Self(Arc::new(Inner {
            policy,
            metrics,
            sink,
            clock,
            keys,
            ledger_required,
            started: AtomicBool::new(false),
            draining: AtomicBool::new(false),
        }))
    }

    /// The gate listens now.
    pub fn start(&self) {
        self.0.started.store(true, Ordering::Release);
    }

    /// The gate takes no new connection any more.
    pub fn drain(&self) {
        self.0.draining.store(true, Ordering::Release);
    }

    /// Whether [`State::start`] was called.
    pub fn has_started(&self) -> bool {
        self.0.started.load(Ordering::Acquire)
    }

    /// Whether [`State::drain`] was called.
    pub fn is_draining(&self) -> bool {
        self.0.draining.load(Ordering::Acquire)
    }

    /// Why requests should not be sent here now; empty when they may.
    ///
    /// A required ledger that lost its last record is tried again here, as a gate that gets no request would never
    /// find out that its records can be written again.
    pub fn reasons_not_ready(&self) -> Vec<&'static str> {
        let mut reasons = Vec::new();
        if !self.has_started() {
            reasons.push("not started");
        }
        if self.is_draining() {
            reasons.push("draining");
        }
        if self.0.policy.current().routes.is_empty() {
            reasons.push("the policy declares no route");
        }
        match self.0.keys.unready() {
            None => {}
            Some(Unready::NeverLoaded) => reasons.push("the keys of an issuer were never loaded"),
            Some(Unready::Stale) => reasons.push("the keys of an issuer are older than `max_stale`"),
        }
        if self.0.ledger_required && !self.0.sink.is_sound() {
            self.0.sink.event("ledger_probe", self.0.clock.now(), Map::new());
            if !self.0.sink.is_sound() {
                reasons.push("records cannot be written");
            }
        }
        reasons
    }
}
