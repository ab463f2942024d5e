//! The store: entries with an end, changed by one atomic commit (ARCHITECTURE, "State").
//!
//! An engine is small: read an entry, read a page, commit. Everything that is remembered is written over these three.
//! No engine ever drops a live entry to make room, and none answers with an entry whose time has passed. An engine that
//! cannot do what it is asked says so; it never guesses.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use aws_lc_rs::digest::{Context, SHA256};
use bytes::Bytes;
use jiff::Timestamp;

/// Milliseconds since the epoch, as every replica counts them.
pub type Millis = u64;

/// An entry that never ends.
pub const FOREVER: Millis = u64::MAX;

/// The longest step in which an engine may count ([`Count`]).
pub const COUNT_STEP: Millis = 5_000;

/// What an entry is about. The number is part of every stored key and never changes its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Space {
    /// Messages that were admitted.
    Replay = 1,
    /// Idempotency keys, with state and answer.
    Idempotency = 2,
    /// Digests of messages that were answered from a stored answer.
    Answered = 3,
    /// `jti` of DPoP proofs.
    Proof = 4,
    /// Counts of live entries ([`Count`]).
    Count = 5,
    /// What the store says of itself: format, epoch, marks.
    Meta = 6,
}

impl Space {
    /// Every space, in the order of their numbers.
    pub const ALL: [Self; 6] = [
        Self::Replay,
        Self::Idempotency,
        Self::Answered,
        Self::Proof,
        Self::Count,
        Self::Meta,
    ];

    /// The number that stands in stored keys.
    pub const fn number(self) -> u8 {
        match self {
            Self::Replay => 1,
            Self::Idempotency => 2,
            Self::Answered => 3,
            Self::Proof => 4,
            Self::Count => 5,
            Self::Meta => 6,
        }
    }

    /// The space of a stored number; `None` for a number that this version does not know.
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|space| space.number() == number)
    }

    /// Its name for operators.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Replay => "replay",
            Self::Idempotency => "idempotency",
            Self::Answered => "answered",
            Self::Proof => "proof",
            Self::Count => "count",
            Self::Meta => "meta",
        }
    }
}

/// A stored key: a space and the first 16 bytes of a SHA-256.
///
/// 128 bits are enough: to hit the entry of somebody else is a second preimage, and two own entries that collide can
/// only refuse their own sender.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// What the entry is about.
    pub space: Space,
    /// Which one.
    pub id: [u8; 16],
}

impl Key {
    /// The key of parts, each of which keeps its bounds: `("a", "bc")` is another key than `("ab", "c")`.
    pub fn of(space: Space, parts: &[&[u8]]) -> Self {
        let mut hash = Context::new(&SHA256);
        for part in parts {
            hash.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(part);
        }
        let mut id = [0; 16];
        for (to, from) in id.iter_mut().zip(hash.finish().as_ref()) {
            *to = *from;
        }
        Self { space, id }
    }
}

/// Never the whole id: keys are made of ids of senders.
impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second, ..] = self.id;
        write!(formatter, "{:?}/{first:02x}{second:02x}…", self.space)
    }
}

/// A live entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its key.
    pub key: Key,
    /// Its value; small, but for stored answers.
    pub value: Bytes,
    /// It is live before this time.
    pub until: Millis,
}

/// What has to be so for a commit to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// There is no live entry.
    Absent(Key),
    /// There is a live entry with exactly this value.
    Equals(Key, Bytes),
}

/// A bound on the live entries of one kind, judged and counted in the same commit as the entry itself.
///
/// `add` counts until `until` and then no more; a negative one takes back what was counted with the same `until`, and is
/// never refused. An engine may count in steps of time, no longer than [`COUNT_STEP`], and then counts too much rather
/// than too little. Several counts of one key in one commit add up in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// What is counted, in [`Space::Count`].
    pub key: Key,
    /// How much more.
    pub add: i64,
    /// How long.
    pub until: Millis,
    /// The sum may not go over this.
    pub max: u64,
}

/// One atomic change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Txn {
    /// Now; entries whose time has passed are not there.
    pub now: Millis,
    /// Judged in order; the first that does not hold ends the commit.
    pub expect: Vec<Expect>,
    /// Judged in order after `expect`.
    pub count: Vec<Count>,
    /// Written, in place of what was there.
    pub put: Vec<Entry>,
    /// Removed, whether there or not.
    pub delete: Vec<Key>,
}

/// What became of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    /// All of it happened, and is as durable as the engine makes it.
    Done,
    /// Nothing happened: this expectation does not hold.
    Conflict {
        /// Its place in [`Txn::expect`].
        index: usize,
        /// The live value that is there.
        current: Option<Bytes>,
    },
    /// Nothing happened: this bound would be passed.
    Full {
        /// Its place in [`Txn::count`].
        index: usize,
    },
}

/// Why an engine cannot say or do anything. After any of these a commit may or may not have happened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// It cannot be reached, or not in time.
    #[error("the store cannot be reached: {0}")]
    Unreachable(&'static str),
    /// It has lost what it knew: another epoch, a damaged or missing file.
    #[error("the store has lost what it knew: {0}")]
    Forgot(&'static str),
    /// It takes nothing more: a full disk, no memory, read only.
    #[error("the store takes nothing more: {0}")]
    Exhausted(&'static str),
    /// What it holds is not what was written.
    #[error("the store holds something that cannot be read: {0}")]
    Damaged(&'static str),
}

/// Figures for operators and metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// `memory`, `embedded`, `redis` or `postgres`.
    pub engine: &'static str,
    /// Entries by space, live or not yet removed; `None` where counting them would cost too much.
    pub entries: Vec<(Space, u64)>,
    /// Bytes on disk or in memory, as far as the engine knows them.
    pub bytes: Option<u64>,
}

/// What an engine answers, later.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// An engine.
pub trait Store: fmt::Debug + Send + Sync {
    /// The live entry of a key.
    fn get(&self, key: Key, now: Millis) -> Pending<'_, Option<Entry>>;

    /// At most `limit` live entries of a space, in the order of their ids, after this one.
    fn scan(&self, space: Space, after: Option<[u8; 16]>, limit: usize, now: Millis) -> Pending<'_, Vec<Entry>>;

    /// All of a change or nothing of it.
    fn commit(&self, txn: Txn) -> Pending<'_, Committed>;

    /// Removes entries whose time has passed, as far as the engine does not do so by itself.
    fn sweep(&self, now: Millis) -> Pending<'_, u64>;

    /// The latest time of issue of which the store may have forgotten what was admitted: nothing issued at or before it
    /// may be admitted (contract §8, "Restart fence"). It is a time of issue, not the time of forgetting: an entry that
    /// ended at `t` was issued at `t` − window − 2 × skew. `None` when nothing has been forgotten.
    fn fence(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Figures.
    fn stats(&self, now: Millis) -> Pending<'_, Stats>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_their_bounds() {
        let key = |parts: &[&[u8]]| Key::of(Space::Replay, parts);
        assert_ne!(key(&[b"a", b"bc"]), key(&[b"ab", b"c"]));
        assert_ne!(key(&[b"a"]), key(&[b"a", b""]));
        assert_eq!(key(&[b"a", b"bc"]), key(&[b"a", b"bc"]));
    }

    #[test]
    fn a_key_does_not_show_itself() {
        assert_eq!(
            format!("{:?}", Key::of(Space::Replay, &[b"x"])).len(),
            "Replay/0000…".len()
        );
    }
}
