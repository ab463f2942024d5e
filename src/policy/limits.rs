//! Limits, deadlines and freshness with the defaults of contract §17.

use std::time::Duration;

/// Sizes in bytes and counts; beyond each stands a typed answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Request body: `json.size`.
    pub body: usize,
    /// Backend answer on a message route: `backend.contract`.
    pub answer: usize,
    /// All header names and values together: `http.header-size`.
    pub header_bytes: usize,
    /// Header fields: `http.header-size`.
    pub header_count: usize,
    /// Request target: `http.target-length`.
    pub target: usize,
    /// Connections open at once; further ones wait to be accepted.
    pub connections: usize,
    /// Requests in progress at once: `limits.rate`.
    pub in_flight: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 256 * 1024,
            answer: 1024 * 1024,
            header_bytes: 16 * 1024,
            header_count: 64,
            target: 4 * 1024,
            connections: 1024,
            in_flight: 512,
        }
    }
}

/// How long each part of a request may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// From the first byte of a head to its last, the TLS handshake included: `http.timeout`.
    pub head: Duration,
    /// The whole request body: `http.timeout`.
    pub body: Duration,
    /// From the permit to the backend's answer head, or to its last byte on a message route: `backend.timeout`.
    pub backend: Duration,
    /// A connection without a request: closed.
    pub idle: Duration,
    /// From SIGTERM until every connection is closed.
    pub drain: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(5),
            body: Duration::from_secs(15),
            backend: Duration::from_secs(30),
            idle: Duration::from_secs(60),
            drain: Duration::from_secs(25),
        }
    }
}

/// The freshness window (contract §8). It cannot be switched off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// How old `issued_at` may be.
    pub window: Duration,
    /// How far clocks may differ.
    pub skew: Duration,
    /// The longest allowed time between `issued_at` and `expires_at`; `None` sets no bound.
    pub max_lifetime: Option<Duration>,
}

impl Default for Freshness {
    fn default() -> Self {
        Self {
            window: Duration::from_secs(300),
            skew: Duration::from_secs(30),
            max_lifetime: None,
        }
    }
}
