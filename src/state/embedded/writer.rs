//! The one thread that changes an embedded store: it takes what waits, judges it in order, writes one batch, syncs it
//! once, and only then answers.
//!
//! One thread makes every commit serial. A commit is judged against the files and what was judged before it in the same
//! batch; if the batch cannot be written, none of them is answered with success and the store takes nothing more until
//! it is opened again, for nobody knows how much of it is on the disk.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::files::{Batch, Files, count_of, end_of, failed};
use crate::state::counts::{Counter, within};
use crate::state::store::{Committed, Entry, Expect, Key, Millis, StoreError, Txn};

/// Commits in one batch; more gain nothing and delay the first.
const BATCH: usize = 64;
/// How long a batch waits for those who were there in the batch before.
const LINGER: Duration = Duration::from_micros(200);
/// Entries that are removed between two batches.
const SWEEP: usize = 512;

/// A change that is asked of the writer, and where its answer goes.
#[derive(Debug)]
pub(super) enum Order {
    Commit(Txn, oneshot::Sender<Result<Committed, StoreError>>),
    Sweep(Millis, oneshot::Sender<Result<u64, StoreError>>),
}

/// What the writer and its readers share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Once set, nothing is answered any more.
    pub(super) refused: OnceLock<StoreError>,
    /// The fence, milliseconds; 0 for none.
    pub(super) fence: AtomicU64,
}

/// The thread's own.
pub(super) struct Writer {
    files: Arc<Files>,
    shared: Arc<Shared>,
    /// Window + 2 × skew: how long after its issue an entry ends.
    horizon: Millis,
    counters: HashMap<[u8; 16], Counter>,
    /// No end before this one is on the list.
    swept: Millis,
    sweeping: Option<Sweeping>,
    /// Commits in the batch before.
    usual: usize,
}

struct Sweeping {
    now: Millis,
    removed: u64,
    answers: Vec<oneshot::Sender<Result<u64, StoreError>>>,
}

/// What the commits of a batch have changed so far.
#[derive(Default)]
struct Changes {
    entries: HashMap<Key, Option<(Millis, Bytes)>>,
    counts: HashMap<([u8; 16], Millis), u64>,
}

type Answer = (oneshot::Sender<Result<Committed, StoreError>>, Committed);

impl Writer {
    /// Reads the counts back; everything else stays in the files.
    pub(super) fn new(files: Arc<Files>, shared: Arc<Shared>, horizon: Millis) -> Result<Self, StoreError> {
        let mut counters: HashMap<[u8; 16], Counter> = HashMap::new();
        for row in files.counted() {
            let (step, id, sum) = count_of(row)?;
            let sum = i64::try_from(sum).map_err(|_| StoreError::Damaged("a count without measure"))?;
            counters.entry(id).or_default().add(sum, step);
        }
        Ok(Self {
            files,
            shared,
            horizon,
            counters,
            swept: 0,
            sweeping: None,
            usual: 1,
        })
    }

    /// Works until nobody can ask any more.
    pub(super) fn run(mut self, orders: &Receiver<Order>) {
        while let Some(waiting) = self.take(orders) {
            let mut commits = Vec::with_capacity(waiting.len());
            for order in waiting {
                match order {
                    Order::Commit(txn, answer) => commits.push((txn, answer)),
                    Order::Sweep(now, answer) => self.begin(now, answer),
                }
            }
            self.batch(commits);
            self.sweep();
        }
    }

    /// The orders of the next batch; none while there is something to sweep; `None` at the end.
    fn take(&self, orders: &Receiver<Order>) -> Option<Vec<Order>> {
        let mut taken = Vec::new();
        if self.sweeping.is_none() {
            taken.push(orders.recv().ok()?);
        }
        while taken.len() < BATCH {
            match orders.try_recv() {
                Ok(order) => taken.push(order),
                Err(TryRecvError::Disconnected) => break,
                Err(TryRecvError::Empty) if taken.len() >= self.usual || self.sweeping.is_some() => break,
                // Those of the batch before have just been answered and will be here in a moment.
                Err(TryRecvError::Empty) => match orders.recv_timeout(LINGER) {
                    Ok(order) => taken.push(order),
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
                },
            }
        }
        Some(taken)
    }

    fn batch(&mut self, commits: Vec<(Txn, oneshot::Sender<Result<Committed, StoreError>>)>) {
        if commits.is_empty() {
            return;
        }
        self.usual = commits.len();
        let mut changes = Changes::default();
        let files = self.files.clone();
        let mut batch = files.batch();
        let mut answers: Vec<Answer> = Vec::with_capacity(commits.len());
        let mut trouble = self.shared.refused.get().cloned();
        let mut unanswered = Vec::new();
        for (txn, answer) in commits {
            if trouble.is_some() {
                unanswered.push(answer);
                continue;
            }
            match self.judge(txn, &mut changes, &mut batch) {
                Ok(committed) => answers.push((answer, committed)),
                Err(error) => {
                    trouble = Some(error);
                    unanswered.push(answer);
                }
            }
        }
        for ((id, step), sum) in changes.counts {
            batch.count(step, id, sum);
        }
        if trouble.is_none() && !batch.is_empty() {
            trouble = batch.write(true).err();
        }
        match trouble {
            None => {
                for (answer, committed) in answers {
                    // Who does not wait any more has been told that the outcome is unknown.
                    let _ = answer.send(Ok(committed));
                }
            }
            Some(error) => {
                let all = answers.into_iter().map(|(answer, _)| answer).chain(unanswered);
                for answer in all {
                    let _ = answer.send(Err(error.clone()));
                }
                self.refuse(error);
            }
        }
    }

    fn refuse(&self, error: StoreError) {
        let _ = self.shared.refused.set(error);
    }

    /// One commit: nothing is changed unless all of it holds.
    fn judge(&mut self, txn: Txn, changes: &mut Changes, batch: &mut Batch<'_>) -> Result<Committed, StoreError> {
        let mut ends: HashMap<Key, Millis> = HashMap::new();
        for (index, expect) in txn.expect.into_iter().enumerate() {
            let (key, wanted) = match expect {
                Expect::Absent(key) => (key, None),
                Expect::Equals(key, value) => (key, Some(value)),
            };
            let current = self.current(key, changes)?;
            if let Some((until, _)) = &current {
                ends.insert(key, *until);
            }
            let current = current.filter(|(until, _)| *until > txn.now).map(|(_, value)| value);
            if current != wanted {
                return Ok(Committed::Conflict { index, current });
            }
        }
        let mut sums: HashMap<[u8; 16], u64> = HashMap::new();
        for (index, count) in txn.count.iter().enumerate() {
            let id = count.key.id;
            let sum = match sums.get(&id) {
                Some(sum) => *sum,
                None => self.counters.get_mut(&id).map_or(0, |counter| counter.sum(txn.now)),
            };
            match within(sum, count.add, count.max) {
                Some(sum) => sums.insert(id, sum),
                None => return Ok(Committed::Full { index }),
            };
        }
        for count in txn.count.iter().filter(|count| Counter::step(count.until) > txn.now) {
            let counter = self.counters.entry(count.key.id).or_default();
            let sum = counter.add(count.add, count.until);
            changes.counts.insert((count.key.id, Counter::step(count.until)), sum);
        }
        for key in txn.delete {
            batch.remove(key);
            changes.entries.insert(key, None);
            ends.remove(&key);
        }
        for Entry { key, value, until } in txn.put {
            let listed = ends.get(&key) == Some(&until);
            batch.put(key, until, &value, listed);
            self.swept = self.swept.min(until);
            changes.entries.insert(key, Some((until, value)));
        }
        Ok(Committed::Done)
    }

    fn current(&self, key: Key, changes: &Changes) -> Result<Option<(Millis, Bytes)>, StoreError> {
        match changes.entries.get(&key) {
            Some(changed) => Ok(changed.clone()),
            None => Ok(self.files.entry(key)?.map(|entry| (entry.until, entry.value))),
        }
    }

    /// Notes durably what is going to be forgotten; removing it comes after.
    fn begin(&mut self, now: Millis, answer: oneshot::Sender<Result<u64, StoreError>>) {
        if let Err(error) = self.forget(now) {
            let _ = answer.send(Err(error.clone()));
            self.refuse(error);
            return;
        }
        let sweeping = self.sweeping.get_or_insert_with(|| Sweeping {
            now,
            removed: 0,
            answers: Vec::new(),
        });
        sweeping.now = sweeping.now.max(now);
        sweeping.answers.push(answer);
    }

    fn forget(&self, now: Millis) -> Result<(), StoreError> {
        if let Some(error) = self.shared.refused.get() {
            return Err(error.clone());
        }
        // An entry that ended by now was issued before this.
        let fence = now.saturating_sub(self.horizon);
        if fence <= self.shared.fence.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut batch = self.files.batch();
        batch.note("fence", fence);
        batch.write(true)?;
        self.shared.fence.store(fence, Ordering::Release);
        Ok(())
    }

    /// Removes a piece of what has ended.
    fn sweep(&mut self) {
        let Some(mut sweeping) = self.sweeping.take() else {
            return;
        };
        match self.piece(&mut sweeping) {
            Ok(false) => self.sweeping = Some(sweeping),
            Ok(true) => {
                for answer in sweeping.answers {
                    let _ = answer.send(Ok(sweeping.removed));
                }
            }
            Err(error) => {
                for answer in sweeping.answers {
                    let _ = answer.send(Err(error.clone()));
                }
                self.refuse(error);
            }
        }
    }

    /// Whether that was all.
    fn piece(&mut self, sweeping: &mut Sweeping) -> Result<bool, StoreError> {
        if let Some(error) = self.shared.refused.get() {
            return Err(error.clone());
        }
        let now = sweeping.now;
        let files = self.files.clone();
        let mut batch = files.batch();
        let mut looked_at = 0_usize;
        let beyond = now.saturating_add(1).to_be_bytes();
        for guard in files.ends.range(self.swept.to_be_bytes()..beyond).take(SWEEP) {
            looked_at = looked_at.saturating_add(1);
            let row = guard.key().map_err(failed)?;
            let (until, key) = end_of(&row)?;
            batch.unlist(&row);
            // It may have been written anew since, with a later end that stands on the list by itself.
            if files.entry(key)?.is_some_and(|entry| entry.until <= now) {
                batch.remove(key);
                sweeping.removed = sweeping.removed.saturating_add(1);
            }
            self.swept = until;
        }
        let all = looked_at < SWEEP;
        if all {
            // Steps that ended; there are far fewer of them than entries.
            for guard in files.counts.range([0; 8]..beyond) {
                let row = guard.key().map_err(failed)?;
                batch.uncount(&row);
            }
            self.counters.retain(|_, counter| {
                counter.sum(now);
                !counter.is_empty()
            });
            self.swept = now;
        }
        if !batch.is_empty() {
            batch.write(false)?;
        }
        Ok(all)
    }
}
