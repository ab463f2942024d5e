//! The rows in the files of fjall, and what its errors mean.
//!
//! ```text
//! entries   space, id           → until, value
//! ends      until, space, id    → nothing        which entries end when
//! counts    step, id            → sum            live steps of counts
//! meta      tick                → mark           in every batch, last
//!           fence, horizon      → milliseconds
//! ```

use std::io;
use std::path::Path;

use bytes::Bytes;
use fjall::{Database, Guard, Iter, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode};

use super::place::{Name, Place};
use crate::state::store::{Entry, FOREVER, Key, Millis, Space, StoreError};

/// Blocks of tables that are kept in memory.
const CACHE: u64 = 8 * 1024 * 1024;
/// What is in memory and in the journal only before it is written as a table.
const MEMTABLE: u64 = 16 * 1024 * 1024;
/// Journals in all; the least that fjall takes.
const JOURNALS: u64 = 64 * 1024 * 1024;

const NAMES: [&str; 4] = ["entries", "ends", "counts", "meta"];

/// The open files.
pub(super) struct Files {
    database: Database,
    pub(super) entries: Keyspace,
    pub(super) ends: Keyspace,
    pub(super) counts: Keyspace,
    meta: Keyspace,
    name: Name,
    // Given back last.
    _place: Place,
}

impl std::fmt::Debug for Files {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Files").finish_non_exhaustive()
    }
}

/// Makes the files, empty.
pub(super) fn make(path: &Path) -> fjall::Result<()> {
    let database = database(path)?;
    for name in NAMES {
        database.keyspace(name, options)?;
    }
    database.persist(PersistMode::SyncAll)
}

fn database(path: &Path) -> fjall::Result<Database> {
    Database::builder(path)
        .cache_size(CACHE)
        .max_journaling_size(JOURNALS)
        .manual_journal_persist(true)
        .worker_threads(1)
        .open()
}

fn options() -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default()
        .max_memtable_size(MEMTABLE)
        .manual_journal_persist(true)
}

impl Files {
    /// Opens the files; `None` when one of the keyspaces is missing.
    pub(super) fn open(place: Place, name: Name) -> Result<Self, (Place, fjall::Error)> {
        let open = || {
            let database = database(&place.database())?;
            if !NAMES.iter().all(|name| database.keyspace_exists(name)) {
                return Err(fjall::Error::Unrecoverable);
            }
            let [entries, ends, counts, meta] = NAMES.map(|name| database.keyspace(name, options));
            Ok((entries?, ends?, counts?, meta?, database))
        };
        match open() {
            Ok((entries, ends, counts, meta, database)) => Ok(Self {
                database,
                entries,
                ends,
                counts,
                meta,
                name,
                _place: place,
            }),
            Err(error) => Err((place, error)),
        }
    }

    pub(super) fn place(&self) -> &Place {
        &self._place
    }

    /// An entry, live or not.
    pub(super) fn entry(&self, key: Key) -> Result<Option<Entry>, StoreError> {
        let Some(row) = self.entries.get(entry_row(key)).map_err(failed)? else {
            return Ok(None);
        };
        let (until, value) = row.split_first_chunk().ok_or(UNREADABLE)?;
        Ok(Some(Entry {
            key,
            until: Millis::from_be_bytes(*until),
            value: Bytes::copy_from_slice(value),
        }))
    }

    /// The first `limit` live entries of a space after an id.
    pub(super) fn page(
        &self,
        space: Space,
        after: Option<[u8; 16]>,
        limit: usize,
        now: Millis,
    ) -> Result<Vec<Entry>, StoreError> {
        use std::ops::Bound::{Excluded, Included};
        let row = |id| entry_row(Key { space, id });
        let from = after.map_or(Included(row([0; 16])), |after| Excluded(row(after)));
        let mut page = Vec::new();
        for guard in self.entries.range((from, Included(row([u8::MAX; 16])))) {
            if page.len() >= limit {
                break;
            }
            let (row, value) = guard.into_inner().map_err(failed)?;
            let (until, value) = value.split_first_chunk().ok_or(UNREADABLE)?;
            let until = Millis::from_be_bytes(*until);
            if until > now {
                page.push(Entry {
                    key: key_of(&row)?,
                    until,
                    value: Bytes::copy_from_slice(value),
                });
            }
        }
        Ok(page)
    }

    /// A number that the store notes of itself.
    pub(super) fn noted(&self, what: &str) -> Result<Option<u64>, StoreError> {
        let row = self.meta.get(what).map_err(failed)?;
        row.map(|row| number(&row)).transpose()
    }

    /// Every row of the counts.
    pub(super) fn counted(&self) -> Iter {
        self.counts.iter()
    }

    pub(super) fn batch(&self) -> Batch<'_> {
        Batch {
            files: self,
            batch: self.database.batch(),
        }
    }

    /// Bytes on disk.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.database.disk_space().ok()
    }
}

/// Changes that happen together.
pub(super) struct Batch<'a> {
    files: &'a Files,
    batch: OwnedWriteBatch,
}

impl Batch<'_> {
    /// Writes an entry; `listed` when its end is on the list already.
    pub(super) fn put(&mut self, key: Key, until: Millis, value: &[u8], listed: bool) {
        let mut row = Vec::with_capacity(value.len().saturating_add(8));
        row.extend_from_slice(&until.to_be_bytes());
        row.extend_from_slice(value);
        self.batch.insert(&self.files.entries, entry_row(key), row);
        if !listed && until != FOREVER {
            self.batch.insert(&self.files.ends, end_row(until, key), []);
        }
    }

    /// Removes an entry; its end stays on the list, which is looked up again when its time comes.
    pub(super) fn remove(&mut self, key: Key) {
        self.batch.remove(&self.files.entries, entry_row(key));
    }

    pub(super) fn unlist(&mut self, row: &[u8]) {
        self.batch.remove(&self.files.ends, row);
    }

    pub(super) fn count(&mut self, step: Millis, id: [u8; 16], sum: u64) {
        let row = count_row(step, id);
        if sum == 0 {
            self.batch.remove(&self.files.counts, row);
        } else {
            self.batch.insert(&self.files.counts, row, sum.to_be_bytes());
        }
    }

    pub(super) fn uncount(&mut self, row: &[u8]) {
        self.batch.remove(&self.files.counts, row);
    }

    pub(super) fn note(&mut self, what: &str, number: u64) {
        self.batch.insert(&self.files.meta, what, number.to_be_bytes());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    /// Writes it, and with `sync` returns only when the disk has it. A batch that is read back is one that was synced:
    /// fjall shows it only then.
    pub(super) fn write(mut self, sync: bool) -> Result<(), StoreError> {
        self.batch.insert(&self.files.meta, "tick", self.files.name);
        self.batch
            .durability(Some(if sync {
                PersistMode::SyncData
            } else {
                PersistMode::Buffer
            }))
            .commit()
            .map_err(failed)
    }
}

fn entry_row(key: Key) -> [u8; 17] {
    let mut row = [0; 17];
    for (to, from) in row.iter_mut().zip([key.space.number()].into_iter().chain(key.id)) {
        *to = from;
    }
    row
}

fn end_row(until: Millis, key: Key) -> [u8; 25] {
    let mut row = [0; 25];
    for (to, from) in row
        .iter_mut()
        .zip(until.to_be_bytes().into_iter().chain(entry_row(key)))
    {
        *to = from;
    }
    row
}

fn count_row(step: Millis, id: [u8; 16]) -> [u8; 24] {
    let mut row = [0; 24];
    for (to, from) in row.iter_mut().zip(step.to_be_bytes().into_iter().chain(id)) {
        *to = from;
    }
    row
}

/// What an `ends` row says: when, and of which entry.
pub(super) fn end_of(row: &[u8]) -> Result<(Millis, Key), StoreError> {
    let (until, key) = row.split_first_chunk().ok_or(UNREADABLE)?;
    Ok((Millis::from_be_bytes(*until), key_of(key)?))
}

/// What a `counts` row says: step, id and sum.
pub(super) fn count_of(guard: Guard) -> Result<(Millis, [u8; 16], u64), StoreError> {
    let (row, sum) = guard.into_inner().map_err(failed)?;
    let (step, id) = row.split_first_chunk().ok_or(UNREADABLE)?;
    let id = id.try_into().map_err(|_| UNREADABLE)?;
    Ok((Millis::from_be_bytes(*step), id, number(&sum)?))
}

fn key_of(row: &[u8]) -> Result<Key, StoreError> {
    let (space, id) = row.split_first().ok_or(UNREADABLE)?;
    Ok(Key {
        space: Space::of_number(*space).ok_or(UNREADABLE)?,
        id: id.try_into().map_err(|_| UNREADABLE)?,
    })
}

fn number(row: &[u8]) -> Result<u64, StoreError> {
    row.try_into().map(u64::from_be_bytes).map_err(|_| UNREADABLE)
}

const UNREADABLE: StoreError = StoreError::Damaged("a row of another form");

/// What an error of fjall means for who asked.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the enums of fjall may grow; what is not known is damage"
)]
pub(super) fn failed(error: fjall::Error) -> StoreError {
    match &error {
        fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error)) => io_failed(error),
        fjall::Error::Poisoned => StoreError::Exhausted("an earlier write failed"),
        fjall::Error::Locked => StoreError::Unreachable("another process has it open"),
        _ => StoreError::Damaged("a file cannot be read"),
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the kinds of errors of the system may grow"
)]
fn io_failed(error: &io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull => StoreError::Exhausted("the disk is full"),
        io::ErrorKind::QuotaExceeded => StoreError::Exhausted("the quota of the disk is used up"),
        io::ErrorKind::FileTooLarge => StoreError::Exhausted("a file may not grow"),
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            StoreError::Exhausted("the files may not be written")
        }
        io::ErrorKind::OutOfMemory => StoreError::Exhausted("no memory"),
        _ => StoreError::Damaged("the disk gave an error"),
    }
}
