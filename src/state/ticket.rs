//! A request that was admitted and has to be settled: finished, taken back, or lost.
//!
//! Settled by value. A ticket that is dropped unsettled, by a panic or the end of the process, leaves its entry running
//! until its lease has passed; from then on the outcome is unknown, and never free.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use tokio::time::{sleep, timeout};

use super::answer::Answer;
use super::entry::{Fate, Stored};
use super::plan::{Keyed, Plan, Reuse, millis};
use super::scope;
use super::store::{Committed, Count, Entry, Expect, Millis, Store, StoreError, Txn};

/// Between two attempts to settle.
const PAUSE: Duration = Duration::from_millis(20);

/// One admitted request.
#[must_use = "an admitted request has to be finished, withdrawn or given up as lost"]
#[derive(Debug)]
pub struct Ticket {
    store: Arc<dyn Store>,
    plan: Plan,
    /// The entry of its key as it was written.
    running: Option<Bytes>,
    patience: Duration,
}

/// Why something could not be settled; the entry's outcome is, or soon will be, unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsettled {
    /// The store did not take it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The entry is not what this request wrote.
    #[error("the entry is not the one that this request wrote")]
    NotOurs,
}

impl Ticket {
    pub(super) const fn new(store: Arc<dyn Store>, plan: Plan, running: Option<Bytes>, patience: Duration) -> Self {
        Self {
            store,
            plan,
            running,
            patience,
        }
    }

    pub(super) fn into_plan(self) -> Plan {
        self.plan
    }

    /// The largest body that is stored.
    pub const fn max_body(&self) -> usize {
        self.plan.bounds.idempotency.max_body
    }

    /// The backend answered with this, whatever its status. Without room for all stored bodies only the digest of this
    /// one is stored.
    ///
    /// # Errors
    /// It could not be stored; later requests with its key are told that the outcome is unknown.
    pub async fn finish(self, answer: Answer, now: Timestamp) -> Result<(), Unsettled> {
        let Some((key, running)) = self.keyed() else {
            return Ok(());
        };
        let now = millis(now);
        // What nobody will ever get takes no room from those who prove who they are.
        let answer = match key.reuse {
            Reuse::Presenter | Reuse::NewMessage => answer,
            Reuse::Nobody => answer.without_body(),
        };
        let size = answer.body.as_ref().map_or(0, Bytes::len);
        let mut change = self.change(key, running, Fate::Finished(answer.encode()), now)?;
        if let Ok(add @ 1..) = i64::try_from(size) {
            change.count.push(Count {
                key: scope::total("answers"),
                add,
                until: key.until,
                max: self.plan.bounds.idempotency.max_bytes,
            });
        }
        match self.commit(change).await {
            Ok(Committed::Done) => Ok(()),
            Ok(Committed::Full { .. }) => {
                let fate = Fate::Finished(answer.without_body().encode());
                let change = self.change(key, running, fate, now)?;
                self.settle(change).await
            }
            Ok(Committed::Conflict { .. }) => Err(Unsettled::NotOurs),
            Err(error) => {
                // A store that has no room for the answer may have room for this. What cannot be written either becomes
                // unknown when the lease has passed.
                if !matches!(error, StoreError::Unreachable(_))
                    && let Ok(change) = self.change(key, running, Fate::Unknown, now)
                {
                    drop(self.commit(change).await);
                }
                Err(error.into())
            }
        }
    }

    /// Not one byte reached the backend: id and key are free again, the counts are taken back. A spent proof stays spent.
    ///
    /// # Errors
    /// It could not be taken back; the outcome will be told as unknown.
    pub async fn withdraw(self, now: Timestamp) -> Result<(), Unsettled> {
        let change = self.undo(millis(now));
        if change.delete.is_empty() {
            return Ok(());
        }
        self.settle(change).await
    }

    /// The backend may have seen it, and its answer is lost.
    ///
    /// # Errors
    /// It could not be written; it is so all the same when the lease has passed.
    pub async fn lost(self, now: Timestamp) -> Result<(), Unsettled> {
        let Some((key, running)) = self.keyed() else {
            return Ok(());
        };
        let change = self.change(key, running, Fate::Unknown, millis(now))?;
        self.settle(change).await
    }

    fn keyed(&self) -> Option<(&Keyed, &Bytes)> {
        self.plan.key.as_ref().zip(self.running.as_ref())
    }

    /// The entry of the key with another fate, if it is still the one that this request wrote.
    fn change(&self, key: &Keyed, running: &Bytes, fate: Fate, now: Millis) -> Result<Txn, Unsettled> {
        let stored = Stored::decode(running).ok_or(Unsettled::NotOurs)?;
        Ok(Txn {
            now,
            expect: vec![Expect::Equals(key.key, running.clone())],
            put: vec![Entry {
                key: key.key,
                value: stored.with(fate).encode(),
                until: key.until,
            }],
            ..Txn::default()
        })
    }

    /// Everything that the admit commit wrote but the spent proof, away again; if it is still ours.
    pub(super) fn undo(&self, now: Millis) -> Txn {
        let mut change = Txn { now, ..Txn::default() };
        let mut back = |key, until| {
            change.count.push(Count {
                key,
                add: -1,
                until,
                max: u64::MAX,
            });
        };
        if let Some((key, _)) = self.keyed() {
            back(scope::total("idempotency"), key.until);
            if key.reuse == Reuse::Nobody {
                back(scope::unproven("idempotency"), key.until);
            }
        }
        if let Some(id) = &self.plan.id {
            back(id.share, id.until);
            if !id.is_proven {
                back(scope::unproven("replay"), id.until);
            }
            back(scope::total("replay"), id.until);
            change.delete.push(id.key);
            let owner = Bytes::copy_from_slice(&self.plan.owner);
            change.expect.push(Expect::Equals(id.key, owner));
        }
        if let Some((key, running)) = self.keyed() {
            change.delete.push(key.key);
            change.expect.push(Expect::Equals(key.key, running.clone()));
        }
        change
    }

    async fn settle(&self, change: Txn) -> Result<(), Unsettled> {
        match self.commit(change).await? {
            Committed::Done => Ok(()),
            Committed::Conflict { .. } | Committed::Full { .. } => Err(Unsettled::NotOurs),
        }
    }

    /// Tries as long as there is patience, as what happened at the backend cannot be made to happen again. A commit that
    /// was not answered may have happened; then the next one finds what it wrote.
    async fn commit(&self, change: Txn) -> Result<Committed, StoreError> {
        let written = change.put.first().map(|entry| entry.value.clone());
        let attempts = async {
            let mut tried = false;
            loop {
                match self.store.commit(change.clone()).await {
                    Err(StoreError::Unreachable(_)) => tried = true,
                    Ok(Committed::Conflict { current, .. }) if tried && current == written => {
                        return Ok(Committed::Done);
                    }
                    other => return other,
                }
                sleep(PAUSE).await;
            }
        };
        match timeout(self.patience, attempts).await {
            Ok(committed) => committed,
            Err(_) => Err(StoreError::Unreachable("no answer in time")),
        }
    }
}
