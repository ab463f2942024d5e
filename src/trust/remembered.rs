//! Signatures that held a moment ago (contract §4, "Remembered verification"): the same bytes under the same keys need
//! not be computed again.
//!
//! Only the arithmetic is remembered. What a signature is good for, its key's times, audience and header, is judged
//! every time anew. Only what held is remembered, for at most the freshness window, and up to a number of entries.

use std::time::Duration;

use aws_lc_rs::digest::{Context, SHA256};
use jiff::Timestamp;
use moka::sync::Cache;

use super::keys::PublicKey;

/// The name of one verification: canonical bytes, JWS, key and generation of the key sets, hashed into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mark([u8; 32]);

impl Mark {
    /// `digest` is that of the canonical bytes, `jws` the detached JWS as it came, `generation` that of the key sets.
    pub fn of(digest: &str, jws: &str, key: &PublicKey, generation: u64) -> Self {
        let mut hash = Context::new(&SHA256);
        for part in [digest, jws, key.thumbprint()] {
            // Lengths keep two different triples from being one text.
            hash.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(part.as_bytes());
        }
        hash.update(&generation.to_be_bytes());
        let mut mark = [0; 32];
        for (to, from) in mark.iter_mut().zip(hash.finish().as_ref()) {
            *to = *from;
        }
        Self(mark)
    }
}

/// Between when and when a verification counts.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: Timestamp,
    until: Timestamp,
}

/// The memory; bounded, and safe to share.
#[derive(Debug)]
pub struct Remembered {
    spans: Cache<Mark, Span>,
    window: Duration,
}

impl Remembered {
    /// Remembers up to `entries` signatures, each for `window`, which is the freshness window or less. None of either
    /// remembers nothing.
    pub fn new(entries: u64, window: Duration) -> Self {
        Self {
            spans: Cache::new(entries),
            window,
        }
    }

    /// Whether this signature held, at most a window before `now` and not after it: time that ran backwards counts for
    /// nothing.
    pub fn holds(&self, mark: &Mark, now: Timestamp) -> bool {
        self.spans
            .get(mark)
            .is_some_and(|span| span.from <= now && now < span.until)
    }

    /// Remembers that this signature holds; called by whoever verified it.
    pub(in crate::trust) fn keep(&self, mark: Mark, now: Timestamp) {
        if let Ok(until) = now.checked_add(self.window) {
            self.spans.insert(mark, Span { from: now, until });
        }
    }
}
