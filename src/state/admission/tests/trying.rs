//! A store that fails on demand.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use jiff::Timestamp;

use super::*;
use crate::state::store::{Pending, Space, Stats};

/// What the store does with a commit.
pub(super) const WORKS: u8 = 0;
pub(super) const FAILS: u8 = 1;
pub(super) const FAILS_AFTER: u8 = 2;
pub(super) const HANGS_ONCE: u8 = 3;

/// A memory store that fails on demand and counts what it is asked.
#[derive(Debug)]
pub(super) struct Trying {
    inner: Memory,
    does: AtomicU8,
    pub(super) commits: AtomicU64,
    pub(super) free: tokio::sync::Notify,
}

impl Trying {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            inner: Memory::new(None),
            does: AtomicU8::new(WORKS),
            commits: AtomicU64::new(0),
            free: tokio::sync::Notify::new(),
        })
    }

    pub(super) fn does(&self, what: u8) {
        self.does.store(what, Ordering::Release);
    }
}

impl Store for Trying {
    fn get(&self, key: Key, now: Millis) -> Pending<'_, Option<Entry>> {
        self.inner.get(key, now)
    }

    fn scan(&self, space: Space, after: Option<[u8; 16]>, limit: usize, now: Millis) -> Pending<'_, Vec<Entry>> {
        self.inner.scan(space, after, limit, now)
    }

    fn commit(&self, txn: Txn) -> Pending<'_, Committed> {
        Box::pin(async move {
            self.commits.fetch_add(1, Ordering::AcqRel);
            match self.does.load(Ordering::Acquire) {
                FAILS => Err(StoreError::Exhausted("a test")),
                FAILS_AFTER => {
                    self.does(WORKS);
                    self.inner.commit(txn).await?;
                    Err(StoreError::Unreachable("a test"))
                }
                HANGS_ONCE => {
                    self.does(WORKS);
                    self.free.notified().await;
                    self.inner.commit(txn).await
                }
                _ => self.inner.commit(txn).await,
            }
        })
    }

    fn sweep(&self, now: Millis) -> Pending<'_, u64> {
        self.inner.sweep(now)
    }

    fn fence(&self) -> Result<Option<Timestamp>, StoreError> {
        self.inner.fence()
    }

    fn stats(&self, now: Millis) -> Pending<'_, Stats> {
        self.inner.stats(now)
    }
}
