//! What has to be remembered so that a message is acted on once (contract §8).
//!
//! `store` is the one interface to the engine that remembers; everything else here is written once, over it: `plan` says
//! what of a request is remembered, `admission` is the one commit that admits it, `ticket` settles it, `fence` keeps what
//! a store forgot from coming through again.

pub mod admission;
pub mod answer;
mod counts;
pub mod embedded;
pub mod engine;
pub mod entry;
mod epoch;
pub mod fence;
pub mod fingerprint;
pub mod memory;
pub mod plan;
pub mod postgres;
pub mod redis;
mod remote;
pub mod scope;
pub mod store;
pub mod ticket;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::timeout;

use crate::clock::Clock;
use crate::contract::{Finding, Rule};
use crate::facts::Fact;
use crate::policy::Freshness;
use admission::Admitted;
use answer::Answer;
use embedded::{Embedded, Opening};
use engine::{EngineConfig, OpenError, StateConfig, TIMEOUT};
use fence::Fence;
use memory::Memory;
use plan::{Plan, millis};
use postgres::Postgres;
use redis::Redis;
use store::Store;

/// Opens the engine that the policy names.
///
/// # Errors
/// Why it cannot be used; the process does not start.
pub async fn open(config: &StateConfig, freshness: &Freshness, clock: &Clock) -> Result<Arc<dyn Store>, OpenError> {
    match &config.engine {
        // The fence of a store that forgets is kept by its keeper, who knows the skew.
        EngineConfig::Memory { .. } => Ok(Arc::new(Memory::new(None))),
        EngineConfig::Embedded { path } => {
            let opening = Opening {
                now: clock.now(),
                window: freshness.window,
                skew: freshness.skew,
            };
            let opened = {
                let path = path.clone();
                tokio::task::spawn_blocking(move || Embedded::open(&path, opening)).await
            };
            let damaged = |_| OpenError::Damaged {
                path: path.clone(),
                why: "its files cannot be read",
            };
            Ok(Arc::new(opened.map_err(damaged)??))
        }
        EngineConfig::Redis { remote, wait } => {
            let store = Redis::open(remote, *wait, config.timeout, clock, freshness).await?;
            Ok(Arc::new(store))
        }
        EngineConfig::Postgres { remote } => {
            let store = Postgres::open(remote, config.timeout, clock, freshness).await?;
            Ok(Arc::new(store))
        }
    }
}

/// What a gate remembers with: a store, the fence around what it forgot, and how long it is waited for.
#[derive(Debug)]
pub struct Keeper {
    store: Arc<dyn Store>,
    fence: Fence,
    timeout: Duration,
    /// The last use of the store that somebody waited for came to its end.
    sound: AtomicBool,
}

impl Keeper {
    /// Opens what the policy names. A memory store begins to remember now, so that a restart is fenced.
    ///
    /// # Errors
    /// Why the store cannot be used.
    pub async fn open(config: &StateConfig, freshness: &Freshness, clock: &Clock) -> Result<Self, OpenError> {
        let store = open(config, freshness, clock).await?;
        let fence = match &config.engine {
            EngineConfig::Memory { fence_file: Some(path) } => Fence::open(path, clock.now()),
            EngineConfig::Memory { fence_file: None } => Fence::Start(clock.now()),
            EngineConfig::Embedded { .. } | EngineConfig::Redis { .. } | EngineConfig::Postgres { .. } => Fence::None,
        };
        Ok(Self::new(store, fence, config.timeout))
    }

    /// Over a store that whoever calls this knows to be complete: one that outlives the gate, or a gate that has no past.
    pub fn over(store: Arc<dyn Store>) -> Self {
        Self::new(store, Fence::None, TIMEOUT)
    }

    /// Of these parts.
    pub fn new(store: Arc<dyn Store>, fence: Fence, timeout: Duration) -> Self {
        Self {
            store,
            fence,
            timeout,
            sound: AtomicBool::new(true),
        }
    }

    /// The engine.
    pub const fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Nothing issued at or before this may be admitted. `Absent` when nothing was forgotten, `Unavailable` while nobody
    /// knows.
    pub fn fence(&self, now: Timestamp, skew: Duration) -> Fact<Timestamp> {
        let Ok(forgotten) = self.store.fence() else {
            return Fact::Unavailable;
        };
        match (self.fence.at(now, skew), forgotten) {
            (Fact::Known(fence), Some(forgotten)) => Fact::Known(fence.max(forgotten)),
            (Fact::Absent, Some(forgotten)) => Fact::Known(forgotten),
            (fence, None) => fence,
            (Fact::Unavailable, Some(_)) => Fact::Unavailable,
        }
    }

    /// Why no message may be admitted yet; `None` once the fence has passed. A fence that was lost is looked at again.
    pub fn not_ready(&self, now: Timestamp, skew: Duration) -> Option<&'static str> {
        self.fence.look_again(now, skew);
        let is_sound = self.sound.load(Ordering::Acquire);
        match self.fence(now, skew) {
            // Many senders issue to the second, so the second after it is the first in which they pass.
            Fact::Known(fence) if fence.as_second() >= now.as_second() => Some("the restart fence has not passed"),
            Fact::Known(_) | Fact::Absent => (!is_sound).then_some(UNSOUND),
            Fact::Unavailable => Some(UNKNOWN_FENCE),
        }
    }

    /// The admit commit, within the backend's deadline.
    ///
    /// # Errors
    /// Those of [`admission::admit`].
    pub async fn admit(&self, plan: Plan, deadline: Duration) -> Result<Admitted, Finding> {
        let patience = self.timeout.min(deadline);
        self.is_remembered(&plan)?;
        if let Some(issued) = plan.issued {
            let unavailable = |detail| Finding::new(Rule::StateUnavailable, detail);
            timeout(patience, self.fence.cover(issued, plan.now, plan.bounds.skew))
                .await
                .map_err(|_| unavailable("the fence file was not written in time"))?
                .map_err(|error| unavailable(fence_detail(&error)))?;
        }
        let admitted = admission::admit(&self.store, plan, patience).await;
        let failed = matches!(&admitted, Err(finding) if finding.rule == Rule::StateUnavailable);
        self.sound.store(!failed, Ordering::Release);
        admitted
    }

    /// Removes what had ended by this time. What could not be removed is not trusted all the same.
    pub async fn sweep(&self, ended: Timestamp) {
        let swept = self.store.sweep(millis(ended)).await;
        self.sound.store(swept.is_ok(), Ordering::Release);
    }

    /// A proof from before the store remembers may have been used before. That of a message is judged at stage 11.
    fn is_remembered(&self, plan: &Plan) -> Result<(), Finding> {
        let Some(proof) = &plan.proof else {
            return Ok(());
        };
        match self.fence(plan.now, plan.bounds.skew) {
            Fact::Known(fence) if proof.issued <= fence => Err(Finding::new(
                Rule::AuthDpop,
                "expected a DPoP proof made after the gateway could remember what was used",
            )),
            Fact::Known(_) | Fact::Absent => Ok(()),
            Fact::Unavailable => Err(Finding::new(Rule::StateUnavailable, UNKNOWN_FENCE)),
        }
    }

    /// What [`Self::admit`] would say, without a change.
    ///
    /// # Errors
    /// Those of [`admission::look`].
    pub async fn look(&self, plan: &Plan, deadline: Duration) -> Result<Option<Answer>, Finding> {
        self.is_remembered(plan)?;
        admission::look(&self.store, plan, self.timeout.min(deadline)).await
    }
}

/// A fence file that is new or lost.
const UNKNOWN_FENCE: &str = "the restart fence is not known; `portcullis state reset-fence` sets it";

const UNSOUND: &str = "the store cannot be used";

/// An answer names no file.
const fn fence_detail(error: &fence::FenceError) -> &'static str {
    match error {
        fence::FenceError::File { .. } => "the fence file cannot be written",
        fence::FenceError::Lost => UNKNOWN_FENCE,
    }
}
