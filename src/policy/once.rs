//! What is remembered so that a message is acted on once, and how often anybody may ask (contract §8, §17).

use std::time::Duration;

/// The replay set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Live entries in all: `state.full`.
    pub max: u64,
    /// Live entries of one sender: `replay.share`.
    pub per_sender_max: u64,
}

impl Default for Replay {
    fn default() -> Self {
        Self {
            max: 500_000,
            per_sender_max: 100_000,
        }
    }
}

/// Idempotency keys and stored answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// How long a key and its answer are kept, counted from the first request.
    pub retention: Duration,
    /// A request that is still running after this has an unknown outcome; `None` for the backend's deadline + 30 s.
    pub running_lease: Option<Duration>,
    /// The largest body that is stored; of a longer answer a replay sends status and `Repr-Digest` only.
    pub max_body: usize,
    /// Live keys in all: `state.full`.
    pub max: u64,
    /// Bytes of all stored bodies; beyond it answers are stored without their body.
    pub max_bytes: u64,
}

impl Default for Idempotency {
    fn default() -> Self {
        Self {
            retention: Duration::from_secs(24 * 3600),
            running_lease: None,
            max_body: 64 * 1024,
            max: 5_000_000,
            max_bytes: 1024 * 1024 * 1024,
        }
    }
}

/// Requests a second; the burst is twice that (contract §4, "Rates").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rates {
    /// From one peer address, before anything is proven: `limits.rate`.
    pub peer: u32,
    /// Of one presenter, unless its principal says otherwise: `limits.principal-rate`.
    pub presenter: u32,
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            peer: 1_000,
            presenter: 200,
        }
    }
}
