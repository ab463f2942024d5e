//! An engine in a page, slow and plainly right, and random commits to compare the others with.

use std::collections::BTreeMap;

use bytes::Bytes;
use portcullis::state::store::{COUNT_STEP, Committed, Count, Entry, Expect, Key, Millis, Space, Txn};
use proptest::prelude::*;

/// What should be remembered.
#[derive(Debug, Default)]
pub struct Model {
    entries: BTreeMap<Key, Entry>,
    counts: Vec<Count>,
}

impl Model {
    pub fn get(&self, key: Key, now: Millis) -> Option<Entry> {
        self.entries.get(&key).filter(|entry| entry.until > now).cloned()
    }

    pub fn scan(&self, space: Space, now: Millis) -> Vec<Entry> {
        let of_space = self.entries.values().filter(|entry| entry.key.space == space);
        of_space.filter(|entry| entry.until > now).cloned().collect()
    }

    pub fn commit(&mut self, txn: &Txn) -> Committed {
        for (index, expect) in txn.expect.iter().enumerate() {
            let (key, wanted) = match expect {
                Expect::Absent(key) => (key, None),
                Expect::Equals(key, value) => (key, Some(value.clone())),
            };
            let current = self.get(*key, txn.now).map(|entry| entry.value);
            if current != wanted {
                return Committed::Conflict { index, current };
            }
        }
        let mut counts = self.counts.clone();
        for (index, count) in txn.count.iter().enumerate() {
            counts.push(*count);
            let live = |other: &&Count| other.key == count.key && other.until.next_multiple_of(COUNT_STEP) > txn.now;
            let sum: i64 = counts.iter().filter(live).map(|count| count.add).sum();
            if count.add > 0 && sum > i64::try_from(count.max).unwrap() {
                return Committed::Full { index };
            }
        }
        self.counts = counts;
        for key in &txn.delete {
            self.entries.remove(key);
        }
        for entry in &txn.put {
            self.entries.insert(entry.key, entry.clone());
        }
        Committed::Done
    }
}

/// The few keys that random commits are about.
pub fn keys() -> Vec<Key> {
    let spaces = [Space::Replay, Space::Idempotency];
    spaces
        .iter()
        .flat_map(|space| (0..4_u8).map(|id| Key::of(*space, &[&[id]])))
        .collect()
}

fn a_key() -> impl Strategy<Value = Key> {
    proptest::sample::select(keys())
}

fn a_value() -> impl Strategy<Value = Bytes> {
    prop_oneof![Just(0), Just(3), Just(60)]
        .prop_flat_map(|length| (0..3_u8).prop_map(move |byte| Bytes::from(vec![byte; length])))
}

/// Commits whose times go forward from `start`, a few seconds each.
pub fn commits(start: Millis) -> impl Strategy<Value = Vec<Txn>> {
    let expect = prop_oneof![
        a_key().prop_map(Expect::Absent),
        (a_key(), a_value()).prop_map(|(key, value)| Expect::Equals(key, value)),
    ];
    let put = (a_key(), a_value(), 1..60_000_u64);
    let count = (0..2_u8, 1..3_i64, 1..60_000_u64, 0..6_u64);
    let txn = (
        0..4_000_u64,
        proptest::collection::vec(expect, 0..2),
        proptest::collection::vec(count, 0..3),
        proptest::collection::vec(put, 0..3),
        proptest::collection::vec(a_key(), 0..2),
    );
    proptest::collection::vec(txn, 1..40).prop_map(move |txns| {
        let mut now = start;
        let mut all = Vec::new();
        for (passed, expect, count, put, delete) in txns {
            now += passed;
            let put = put.into_iter().map(|(key, value, life)| Entry {
                key,
                value,
                until: now + life,
            });
            let count = count.into_iter().map(|(name, add, life, max)| Count {
                key: Key::of(Space::Count, &[&[name]]),
                add,
                until: now + life,
                max,
            });
            all.push(Txn {
                now,
                expect,
                count: count.collect(),
                put: put.collect(),
                delete,
            });
        }
        all
    })
}
