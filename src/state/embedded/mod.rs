//! The engine `embedded`: durable files of one process, by fjall.
//!
//! A commit that was answered is on the disk (`fdatasync`). One thread makes all of them (`writer`); reads go beside it
//! and see what was synced. Stored answers stand on the disk, not in memory. The directory is locked: there is one
//! process to a store, so one store to a pod.
//!
//! Whatever cannot be read, written or trusted is a typed error, and after a write that failed the store stays refused
//! until it is opened again.

mod files;
mod place;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::oneshot;

use super::engine::OpenError;
use super::store::{Committed, Entry, Key, Millis, Pending, Space, Stats, Store, StoreError, Txn};
use files::Files;
use place::Place;
use writer::{Order, Shared, Writer};

/// Orders that may wait for the writer; a batch is written in less than a millisecond on a disk that is well.
const QUEUE: usize = 4_096;

/// What has to be known to open a store.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// The wall clock.
    pub now: Timestamp,
    /// How far into the past a message may be issued (contract §8).
    pub window: Duration,
    /// How far clocks may differ.
    pub skew: Duration,
}

/// The engine.
#[derive(Debug)]
pub struct Embedded {
    /// `None` only while it is dropped.
    orders: Option<SyncSender<Order>>,
    files: Option<Arc<Files>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Embedded {
    /// Opens the store in a directory of its own, or makes one there. Blocks.
    ///
    /// A store that is new remembers nothing from before it was made, and one that was opened with a narrower window
    /// may have forgotten what is admissible now: then the fence is `now` + skew.
    pub fn open(path: &Path, opening: Opening) -> Result<Self, OpenError> {
        let path = path.to_owned();
        let (orders, waiting) = mpsc::sync_channel(QUEUE);
        let (told, opened) = mpsc::sync_channel(1);
        let shared = Arc::new(Shared::default());
        let of_thread = shared.clone();
        let place = path.clone();
        // In the thread from the start: should the files make fjall panic, that ends the thread and is damage.
        let thread = thread::Builder::new()
            .name("portcullis-state".to_owned())
            .spawn(move || match open(&place, opening, &of_thread) {
                Ok((files, writer)) => {
                    if told.send(Ok(files)).is_ok() {
                        writer.run(&waiting);
                    }
                }
                Err(error) => {
                    let _ = told.send(Err(error));
                }
            })
            .map_err(|source| OpenError::Place {
                path: path.clone(),
                source,
            })?;
        let files = opened.recv().unwrap_or(Err(OpenError::Damaged {
            path,
            why: "its files cannot be read",
        }))?;
        Ok(Self {
            orders: Some(orders),
            files: Some(files),
            shared,
            thread: Some(thread),
        })
    }

    /// Whether there is a store in this directory.
    pub fn is_at(path: &Path) -> bool {
        place::is_made(path)
    }

    /// Lowers a fence that lies in the future, after the clock was wrong: nothing issued before `now` + skew is
    /// admissible afterwards. Blocks; for operators, while no gateway runs.
    pub fn reset_fence(path: &Path, opening: Opening) -> Result<Timestamp, OpenError> {
        let shared = Arc::new(Shared::default());
        let (files, _) = open(path, opening, &shared)?;
        let fence = fence_now(opening);
        let mut batch = files.batch();
        batch.note("fence", fence);
        batch
            .write(true)
            .map_err(|_| files.place().damaged("the fence cannot be written"))?;
        time(fence).map_err(|_| files.place().damaged("its fence is no time"))
    }

    async fn order<T>(
        &self,
        order: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Order,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let orders = self.orders.as_ref().ok_or(STOPPED)?;
        match orders.try_send(order(answer)) {
            Ok(()) => answered.await.unwrap_or(Err(STOPPED)),
            Err(TrySendError::Full(_)) => Err(StoreError::Exhausted("too many changes wait for the disk")),
            Err(TrySendError::Disconnected(_)) => Err(STOPPED),
        }
    }

    /// Reads beside the writer, away from the runtime.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Files) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if let Some(error) = self.shared.refused.get() {
            return Err(error.clone());
        }
        let files = self.files.clone().ok_or(STOPPED)?;
        let read = tokio::task::spawn_blocking(move || read(&files));
        read.await
            .unwrap_or(Err(StoreError::Damaged("its files cannot be read")))
    }
}

const STOPPED: StoreError = StoreError::Unreachable("the store has stopped");

/// The writer has a batch to finish; the lock is given back when it has.
impl Drop for Embedded {
    fn drop(&mut self) {
        self.orders = None;
        self.files = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Store for Embedded {
    fn get(&self, key: Key, now: Millis) -> Pending<'_, Option<Entry>> {
        Box::pin(async move {
            let entry = self.read(move |files| files.entry(key)).await?;
            Ok(entry.filter(|entry| entry.until > now))
        })
    }

    fn scan(&self, space: Space, after: Option<[u8; 16]>, limit: usize, now: Millis) -> Pending<'_, Vec<Entry>> {
        Box::pin(self.read(move |files| files.page(space, after, limit, now)))
    }

    fn commit(&self, txn: Txn) -> Pending<'_, Committed> {
        Box::pin(self.order(|answer| Order::Commit(txn, answer)))
    }

    fn sweep(&self, now: Millis) -> Pending<'_, u64> {
        Box::pin(self.order(move |answer| Order::Sweep(now, answer)))
    }

    fn fence(&self) -> Result<Option<Timestamp>, StoreError> {
        if let Some(error) = self.shared.refused.get() {
            return Err(error.clone());
        }
        match self.shared.fence.load(Ordering::Acquire) {
            0 => Ok(None),
            fence => time(fence).map(Some),
        }
    }

    fn stats(&self, _now: Millis) -> Pending<'_, Stats> {
        Box::pin(self.read(|files| {
            Ok(Stats {
                engine: "embedded",
                // To count them is to read them all.
                entries: Vec::new(),
                bytes: files.bytes(),
            })
        }))
    }
}

/// Opens or makes the files, and settles what may have been forgotten.
fn open(path: &Path, opening: Opening, shared: &Arc<Shared>) -> Result<(Arc<Files>, Writer), OpenError> {
    let place = Place::lock(path)?;
    let new = !place::is_made(path);
    if new {
        place.make(|path| files::make(path).map_err(|error| unusable(&place, &error)))?;
    }
    let name = place.name()?;
    let witness = place.witness(&name)?;
    let files = Files::open(place, name).map_err(|(place, error)| unusable(&place, &error))?;
    let files = Arc::new(files);
    // One mark is the batch that was being written at the end, of which nobody was told, or else the last one of which
    // somebody was: so it is fenced like a restart. Two are damage.
    let lost = witness.lost().map_err(|source| OpenError::Place {
        path: path.to_owned(),
        source,
    })?;
    if lost > 1 {
        return Err(files.place().mark_damaged("a journal breaks off before its end"));
    }
    let unreadable = |_| files.place().damaged("its rows cannot be read");
    let horizon = millis(opening.window).saturating_add(millis(opening.skew).saturating_mul(2));
    let before = files.noted("horizon").map_err(unreadable)?;
    let mut fence = files.noted("fence").map_err(unreadable)?.unwrap_or(0);
    if new || lost > 0 || before.is_none_or(|before| before < horizon) {
        fence = fence.max(fence_now(opening));
    }
    let mut batch = files.batch();
    batch.note("horizon", horizon);
    batch.note("fence", fence);
    batch
        .write(true)
        .map_err(|_| files.place().damaged("it cannot be written"))?;
    shared.fence.store(fence, Ordering::Release);
    let writer = Writer::new(files.clone(), shared.clone(), horizon).map_err(unreadable)?;
    Ok((files.clone(), writer))
}

fn unusable(place: &Place, error: &fjall::Error) -> OpenError {
    let damaged = |why| place.damaged(why);
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the enum of fjall may grow; what is not known is damage"
    )]
    match error {
        fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error)) => OpenError::Place {
            path: place.database(),
            source: std::io::Error::new(error.kind(), error.to_string()),
        },
        fjall::Error::Locked => damaged("another process has its files open"),
        fjall::Error::InvalidVersion(_) => OpenError::Foreign("files of another version of fjall".to_owned()),
        _ => damaged("its files cannot be read"),
    }
}

/// Nothing issued so far, by any clock that is right within the skew.
fn fence_now(opening: Opening) -> Millis {
    let now = Millis::try_from(opening.now.as_millisecond()).unwrap_or(0);
    now.saturating_add(millis(opening.skew))
}

fn millis(duration: Duration) -> Millis {
    Millis::try_from(duration.as_millis()).unwrap_or(Millis::MAX)
}

fn time(fence: Millis) -> Result<Timestamp, StoreError> {
    i64::try_from(fence)
        .ok()
        .and_then(|fence| Timestamp::from_millisecond(fence).ok())
        .ok_or(StoreError::Damaged("its fence is no time"))
}
