//! A shelf: the entries of one space whose ids begin alike, kept as tightly as goes.
//!
//! An entry stands in a row of its kind (no value, a small value in place, a large one apart); the index holds 4 bytes an
//! entry. Rows have no holes: the last entry moves into the place of a removed one.

use std::hash::BuildHasher;

use bytes::Bytes;
use hashbrown::HashTable;

use crate::state::store::{Entry, Key, Millis, Space};

/// The largest value that stands in place.
const SMALL: usize = 48;

/// Rows grow by so many entries: pieces of one size leave no holes in the heap, and nothing is ever copied.
const PIECE: usize = 64;

type Id = [u8; 16];

/// Where an entry stands: its row and its place in it, in 4 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    Bare,
    Small,
    Large,
}

impl Place {
    /// `None` beyond 2^30 entries in a row.
    fn new(row: Row, index: usize) -> Option<Self> {
        let index = u32::try_from(index).ok().filter(|index| *index < 1 << 30)?;
        let row = match row {
            Row::Bare => 0,
            Row::Small => 1 << 30,
            Row::Large => 2 << 30,
        };
        Some(Self(index | row))
    }

    fn split(self) -> (Row, usize) {
        let index = usize::try_from(self.0 & ((1 << 30) - 1)).unwrap_or(usize::MAX);
        let row = match self.0 >> 30 {
            0 => Row::Bare,
            1 => Row::Small,
            _ => Row::Large,
        };
        (row, index)
    }
}

/// One entry. Bytes only, so that nothing is lost between two of them.
#[derive(Clone, Debug)]
struct Slot<V> {
    id: Id,
    until: [u8; 8],
    value: V,
}

#[derive(Clone, Copy, Debug)]
struct Small {
    length: u8,
    bytes: [u8; SMALL],
}

impl Small {
    fn new(value: &[u8]) -> Option<Self> {
        let mut bytes = [0; SMALL];
        bytes.get_mut(..value.len())?.copy_from_slice(value);
        Some(Self {
            length: u8::try_from(value.len()).ok()?,
            bytes,
        })
    }

    fn get(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }
}

/// The rows of a shelf.
#[derive(Debug, Default)]
struct Rows {
    bare: Pieces<()>,
    small: Pieces<Small>,
    large: Pieces<Bytes>,
}

/// A row, in pieces that are full but for the last.
#[derive(Debug)]
struct Pieces<V>(Vec<Vec<Slot<V>>>);

impl<V> Default for Pieces<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<V> Pieces<V> {
    fn len(&self) -> usize {
        let full = self.0.len().saturating_sub(1).saturating_mul(PIECE);
        self.0.last().map_or(0, |last| full.saturating_add(last.len()))
    }

    fn get(&self, index: usize) -> Option<&Slot<V>> {
        self.0.get(index / PIECE)?.get(index % PIECE)
    }

    fn push(&mut self, kind: Row, slot: Slot<V>) -> Option<Place> {
        let place = Place::new(kind, self.len())?;
        match self.0.last_mut().filter(|last| last.len() < PIECE) {
            Some(last) => last.push(slot),
            None => {
                let mut piece = Vec::with_capacity(PIECE);
                piece.push(slot);
                self.0.push(piece);
            }
        }
        Some(place)
    }

    /// Takes an entry out; another one may have moved into its place: its id and where it stood before.
    fn take(&mut self, kind: Row, index: usize) -> Option<(Id, Place)> {
        let last = self.len().checked_sub(1).filter(|last| index <= *last)?;
        let moved = self.0.last_mut()?.pop()?;
        if self.0.last().is_some_and(Vec::is_empty) {
            self.0.pop();
        }
        if index == last {
            return None;
        }
        let id = moved.id;
        *self.0.get_mut(index / PIECE)?.get_mut(index % PIECE)? = moved;
        Some((id, Place::new(kind, last)?))
    }

    fn places(&self, kind: Row) -> impl Iterator<Item = Place> + use<V> {
        (0..self.len()).filter_map(move |index| Place::new(kind, index))
    }

    fn bytes(&self) -> usize {
        let pieces = self.0.len().saturating_mul(size_of::<Slot<V>>()).saturating_mul(PIECE);
        pieces.saturating_add(self.0.capacity().saturating_mul(size_of::<Vec<Slot<V>>>()))
    }
}

/// What a place holds.
struct Held<'a> {
    id: &'a Id,
    until: Millis,
    value: &'a [u8],
}

impl Rows {
    fn at(&self, place: Place) -> Option<Held<'_>> {
        fn held<'a, V>(slot: &'a Slot<V>, value: &'a [u8]) -> Held<'a> {
            Held {
                id: &slot.id,
                until: Millis::from_be_bytes(slot.until),
                value,
            }
        }
        let (row, index) = place.split();
        match row {
            Row::Bare => self.bare.get(index).map(|slot| held(slot, &[])),
            Row::Small => self.small.get(index).map(|slot| held(slot, slot.value.get())),
            Row::Large => self.large.get(index).map(|slot| held(slot, &slot.value)),
        }
    }

    fn is(&self, place: Place, id: &Id) -> bool {
        self.at(place).is_some_and(|held| held.id == id)
    }

    fn push(&mut self, id: Id, until: Millis, value: &Bytes) -> Option<Place> {
        let until = until.to_be_bytes();
        if value.is_empty() {
            return self.bare.push(Row::Bare, Slot { id, until, value: () });
        }
        if let Some(value) = Small::new(value) {
            return self.small.push(Row::Small, Slot { id, until, value });
        }
        // A copy of its own: the value may be a slice of something much larger.
        let value = Bytes::copy_from_slice(value);
        self.large.push(Row::Large, Slot { id, until, value })
    }

    fn take(&mut self, place: Place) -> Option<(Id, Place)> {
        let (row, index) = place.split();
        match row {
            Row::Bare => self.bare.take(row, index),
            Row::Small => self.small.take(row, index),
            Row::Large => self.large.take(row, index),
        }
    }

    fn places(&self) -> impl Iterator<Item = Place> + '_ {
        let bare = self.bare.places(Row::Bare);
        bare.chain(self.small.places(Row::Small))
            .chain(self.large.places(Row::Large))
    }

    fn bytes(&self) -> usize {
        let large = self.large.0.iter().flatten();
        let apart = large.map(|slot| slot.value.len()).sum::<usize>();
        self.bare
            .bytes()
            .saturating_add(self.small.bytes())
            .saturating_add(self.large.bytes())
            .saturating_add(apart)
    }
}

/// The entries of one shelf.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    index: HashTable<Place>,
    rows: Rows,
}

impl Shelf {
    /// The value and the end of a live entry.
    pub(super) fn get(&self, hasher: &impl BuildHasher, id: &Id, now: Millis) -> Option<(&[u8], Millis)> {
        let place = self.index.find(hasher.hash_one(id), |place| self.rows.is(*place, id))?;
        let held = self.rows.at(*place)?;
        (held.until > now).then_some((held.value, held.until))
    }

    /// Writes an entry in place of what was there; `false` when the shelf takes no more.
    pub(super) fn put(&mut self, hasher: &impl BuildHasher, id: Id, until: Millis, value: &Bytes) -> bool {
        self.remove(hasher, &id);
        let Some(place) = self.rows.push(id, until, value) else {
            return false;
        };
        let rows = &self.rows;
        self.index.insert_unique(hasher.hash_one(id), place, |place| {
            rows.at(*place).map_or(0, |held| hasher.hash_one(held.id))
        });
        true
    }

    /// Removes an entry, live or not.
    pub(super) fn remove(&mut self, hasher: &impl BuildHasher, id: &Id) {
        let rows = &self.rows;
        let Ok(found) = self.index.find_entry(hasher.hash_one(id), |place| rows.is(*place, id)) else {
            return;
        };
        let (place, _) = found.remove();
        if let Some((moved, before)) = self.rows.take(place)
            && let Some(entry) = self.index.find_mut(hasher.hash_one(moved), |place| *place == before)
        {
            *entry = place;
        }
    }

    /// Removes what has ended and gives back room that stands empty.
    pub(super) fn sweep(&mut self, hasher: &impl BuildHasher, now: Millis) -> u64 {
        let ended: Vec<Id> = self
            .rows
            .places()
            .filter_map(|place| self.rows.at(place))
            .filter(|held| held.until <= now)
            .map(|held| *held.id)
            .collect();
        for id in &ended {
            self.remove(hasher, id);
        }
        if self.index.len() < self.index.capacity() / 4 {
            let rows = &self.rows;
            self.index.shrink_to(self.index.len(), |place| {
                rows.at(*place).map_or(0, |held| hasher.hash_one(held.id))
            });
        }
        u64::try_from(ended.len()).unwrap_or(u64::MAX)
    }

    /// The first `limit` live entries after an id, in the order of their ids.
    pub(super) fn page(&self, space: Space, after: Option<&Id>, limit: usize, now: Millis) -> Vec<Entry> {
        let mut places: Vec<(&Id, Place)> = self
            .rows
            .places()
            .filter_map(|place| self.rows.at(place).map(|held| (place, held)))
            .filter(|(_, held)| held.until > now && after.is_none_or(|after| held.id > after))
            .map(|(place, held)| (held.id, place))
            .collect();
        if places.len() > limit {
            places.select_nth_unstable_by_key(limit, |(id, _)| **id);
            places.truncate(limit);
        }
        places.sort_unstable_by_key(|(id, _)| **id);
        places
            .into_iter()
            .filter_map(|(_, place)| self.rows.at(place))
            .map(|held| Entry {
                key: Key { space, id: *held.id },
                value: Bytes::copy_from_slice(held.value),
                until: held.until,
            })
            .collect()
    }

    /// Entries, live or not yet removed.
    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    /// Bytes of memory, nearly.
    pub(super) fn bytes(&self) -> usize {
        self.index.allocation_size().saturating_add(self.rows.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::RandomState;

    fn id(number: u32) -> Id {
        let mut id = [0; 16];
        id[..4].copy_from_slice(&number.to_be_bytes());
        id
    }

    #[test]
    fn entries_are_as_small_as_they_look() {
        assert_eq!(size_of::<Slot<()>>(), 24);
        assert_eq!(size_of::<Slot<Small>>(), 73);
    }

    #[test]
    fn what_moves_is_found_again() {
        let hasher = RandomState::new();
        let mut shelf = Shelf::default();
        let value = |number: u32| match number % 3 {
            0 => Bytes::new(),
            1 => Bytes::from(vec![1; usize::try_from(number % 49).unwrap()]),
            _ => Bytes::from(vec![2; 200]),
        };
        for number in 0..3_000 {
            assert!(shelf.put(&hasher, id(number), 10, &value(number)));
        }
        for number in (0..3_000).filter(|number| number % 7 != 0) {
            shelf.remove(&hasher, &id(number));
        }
        for number in 0..3_000 {
            let expected = (number % 7 == 0).then(|| value(number));
            let found = shelf.get(&hasher, &id(number), 0).map(|(value, _)| value);
            assert_eq!(found, expected.as_deref(), "{number}");
        }
        assert_eq!(shelf.sweep(&hasher, 9), 0);
        assert_eq!(shelf.sweep(&hasher, 10), 429);
        assert_eq!(shelf.len(), 0);
        assert!(shelf.bytes() < 4_096, "{}", shelf.bytes());
    }
}
