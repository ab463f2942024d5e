//! The engine `memory`: what is remembered stands in this process and ends with it.
//!
//! Fast and exact while the process lives; a restart forgets everything, so it is only as good as the fence it is given
//! (contract §8, "Restart fence"). One process only.

mod shelf;

use std::collections::HashMap;
use std::future::ready;
use std::hash::RandomState;
use std::sync::{Mutex, MutexGuard};

use bytes::Bytes;
use jiff::Timestamp;

use super::counts::{Counter, within};
use super::store::{Committed, Entry, Expect, Key, Millis, Pending, Space, Stats, Store, StoreError, Txn};
use shelf::Shelf;

/// Shelves of a space, by the first byte of the id; so a page of ids is found in few of them.
const SHELVES: usize = 256;

type Counters = HashMap<[u8; 16], Counter>;

/// The engine.
#[derive(Debug)]
pub struct Memory {
    /// [`SHELVES`] for every space, one space after the other.
    shelves: Vec<Mutex<Shelf>>,
    counters: Vec<Mutex<Counters>>,
    /// Senders choose what ids are made of; they must not choose where these stand.
    hasher: RandomState,
    fence: Option<Timestamp>,
}

impl Memory {
    /// An empty store. Nothing issued at or before `fence` may be admitted: whoever makes the store knows since when it
    /// remembers.
    pub fn new(fence: Option<Timestamp>) -> Self {
        let many = SHELVES.saturating_mul(Space::ALL.len());
        Self {
            shelves: (0..many).map(|_| Mutex::default()).collect(),
            counters: (0..SHELVES).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
            fence,
        }
    }

    fn read(&self, key: Key, now: Millis) -> Result<Option<Entry>, StoreError> {
        let shelf = enter(&self.shelves, place(key))?;
        Ok(shelf.get(&self.hasher, &key.id, now).map(|(value, until)| Entry {
            key,
            value: Bytes::copy_from_slice(value),
            until,
        }))
    }

    fn page(&self, space: Space, after: Option<[u8; 16]>, limit: usize, now: Millis) -> Result<Vec<Entry>, StoreError> {
        let mut page = Vec::new();
        let first = after.map_or(0, |after| shelf_of(&after));
        for shelf in first..SHELVES {
            let left = limit.saturating_sub(page.len());
            if left == 0 {
                break;
            }
            let shelf = enter(&self.shelves, start(space).saturating_add(shelf))?;
            page.extend(shelf.page(space, after.as_ref(), left, now));
        }
        Ok(page)
    }

    fn change(&self, txn: &Txn) -> Result<Committed, StoreError> {
        let now = txn.now;
        let mut shelves = Locked::new(&self.shelves, keys(txn).map(place))?;
        for (index, expect) in txn.expect.iter().enumerate() {
            let (key, wanted) = match expect {
                Expect::Absent(key) => (key, None),
                Expect::Equals(key, value) => (key, Some(value)),
            };
            let current = shelves.get(place(*key))?.get(&self.hasher, &key.id, now);
            let current = current.map(|(value, _)| value);
            if current != wanted.map(|value| &**value) {
                let current = current.map(Bytes::copy_from_slice);
                return Ok(Committed::Conflict { index, current });
            }
        }
        let counted = txn.count.iter().map(|count| shelf_of(&count.key.id));
        let mut counters = Locked::new(&self.counters, counted)?;
        let mut sums: HashMap<[u8; 16], u64> = HashMap::new();
        for (index, count) in txn.count.iter().enumerate() {
            let id = count.key.id;
            let sum = match sums.get(&id) {
                Some(sum) => *sum,
                None => counters
                    .get(shelf_of(&id))?
                    .get_mut(&id)
                    .map_or(0, |counter| counter.sum(now)),
            };
            match within(sum, count.add, count.max) {
                Some(sum) => sums.insert(id, sum),
                None => return Ok(Committed::Full { index }),
            };
        }
        // Nothing below is refused, but for a shelf of 2^30 entries: then the engine has no memory left anyway.
        for count in txn.count.iter().filter(|count| Counter::step(count.until) > now) {
            let counters = counters.get(shelf_of(&count.key.id))?;
            counters.entry(count.key.id).or_default().add(count.add, count.until);
        }
        for key in &txn.delete {
            shelves.get(place(*key))?.remove(&self.hasher, &key.id);
        }
        for entry in &txn.put {
            let shelf = shelves.get(place(entry.key))?;
            if !shelf.put(&self.hasher, entry.key.id, entry.until, &entry.value) {
                return Err(StoreError::Exhausted("too many entries"));
            }
        }
        Ok(Committed::Done)
    }

    fn clean(&self, now: Millis) -> Result<u64, StoreError> {
        let mut removed = 0_u64;
        for place in 0..self.shelves.len() {
            removed = removed.saturating_add(enter(&self.shelves, place)?.sweep(&self.hasher, now));
        }
        for place in 0..self.counters.len() {
            enter(&self.counters, place)?.retain(|_, counter| {
                counter.sum(now);
                !counter.is_empty()
            });
        }
        Ok(removed)
    }

    fn figures(&self) -> Result<Stats, StoreError> {
        let mut stats = Stats {
            engine: "memory",
            ..Stats::default()
        };
        let mut bytes = 0_usize;
        for space in Space::ALL {
            let mut entries = 0_usize;
            for shelf in 0..SHELVES {
                if space == Space::Count {
                    entries = entries.saturating_add(enter(&self.counters, shelf)?.len());
                }
                let shelf = enter(&self.shelves, start(space).saturating_add(shelf))?;
                entries = entries.saturating_add(shelf.len());
                bytes = bytes.saturating_add(shelf.bytes());
            }
            stats.entries.push((space, u64::try_from(entries).unwrap_or(u64::MAX)));
        }
        stats.bytes = u64::try_from(bytes).ok();
        Ok(stats)
    }
}

impl Store for Memory {
    fn get(&self, key: Key, now: Millis) -> Pending<'_, Option<Entry>> {
        Box::pin(ready(self.read(key, now)))
    }

    fn scan(&self, space: Space, after: Option<[u8; 16]>, limit: usize, now: Millis) -> Pending<'_, Vec<Entry>> {
        Box::pin(ready(self.page(space, after, limit, now)))
    }

    fn commit(&self, txn: Txn) -> Pending<'_, Committed> {
        Box::pin(ready(self.change(&txn)))
    }

    fn sweep(&self, now: Millis) -> Pending<'_, u64> {
        Box::pin(ready(self.clean(now)))
    }

    fn fence(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.fence)
    }

    fn stats(&self, _now: Millis) -> Pending<'_, Stats> {
        Box::pin(ready(self.figures()))
    }
}

/// Every key of a change but those of its counts.
fn keys(txn: &Txn) -> impl Iterator<Item = Key> + '_ {
    let expected = txn.expect.iter().map(|expect| match expect {
        Expect::Absent(key) | Expect::Equals(key, _) => *key,
    });
    let put = txn.put.iter().map(|entry| entry.key);
    expected.chain(put).chain(txn.delete.iter().copied())
}

/// The first shelf of a space.
fn start(space: Space) -> usize {
    usize::from(space.number()).saturating_sub(1).saturating_mul(SHELVES)
}

fn shelf_of(id: &[u8; 16]) -> usize {
    let [first, ..] = *id;
    usize::from(first)
}

fn place(key: Key) -> usize {
    start(key.space).saturating_add(shelf_of(&key.id))
}

/// A thread that ended inside a change may have left half of it.
const HALF: StoreError = StoreError::Damaged("a change was not completed");

fn enter<T>(all: &[Mutex<T>], place: usize) -> Result<MutexGuard<'_, T>, StoreError> {
    all.get(place).ok_or(HALF)?.lock().map_err(|_| HALF)
}

/// Several of them, locked in order, so that two changes never wait for each other.
struct Locked<'a, T> {
    places: Vec<usize>,
    guards: Vec<MutexGuard<'a, T>>,
}

impl<'a, T> Locked<'a, T> {
    fn new(all: &'a [Mutex<T>], places: impl Iterator<Item = usize>) -> Result<Self, StoreError> {
        let mut places: Vec<usize> = places.collect();
        places.sort_unstable();
        places.dedup();
        let guards = places
            .iter()
            .map(|place| enter(all, *place))
            .collect::<Result<_, StoreError>>()?;
        Ok(Self { places, guards })
    }

    fn get(&mut self, place: usize) -> Result<&mut T, StoreError> {
        let index = self.places.binary_search(&place).map_err(|_| HALF)?;
        self.guards.get_mut(index).map(|guard| &mut **guard).ok_or(HALF)
    }
}
