//! One verdict record a request, always, before the answer is sent (contract §15).
//!
//! An [`Entry`] is closed by value; one that is dropped unclosed writes `aborted`. Nothing recorded is a payload, a
//! query value or a secret.

use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use crate::contract::{Outcome, Stage};
use crate::decide::Refusal;

/// Where records go. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Sink {}

impl Sink {
    /// JSON lines on standard output, one `write` a line.
    pub fn stdout() -> Self {
        todo!()
    }

    /// Lines kept in memory, for tests and the demo.
    pub fn memory() -> Self {
        todo!()
    }

    /// The lines kept so far by a memory sink; empty for any other.
    pub fn lines(&self) -> Vec<String> {
        todo!()
    }

    /// Whether the last write succeeded.
    pub fn is_sound(&self) -> bool {
        todo!()
    }

    /// How many records could not be written.
    pub fn lost(&self) -> u64 {
        todo!()
    }

    /// Writes a record that is not a verdict, such as a policy reload: `{"kind": kind, "time": …, …fields}`.
    pub fn event(&self, _kind: &str, _time: Timestamp, _fields: serde_json::Map<String, serde_json::Value>) {
        todo!()
    }
}

/// What is known about the request so far; filled in as the story goes.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// Route name.
    pub route: Option<String>,
    /// `enforce` or `observe`.
    pub mode: Option<&'static str>,
    /// `canonical`, once known.
    pub envelope: Option<&'static str>,
    /// Profile id, when it is one the gateway knows.
    pub profile: Option<String>,
    /// Message id, when it matches the id pattern of §2.3.
    pub message_id: Option<String>,
    /// Canonical digest, once stage 4 passed.
    pub message_digest: Option<String>,
    /// SHA-256 of the bytes read.
    pub body_digest: Option<String>,
    /// Sender, when it matches the id pattern.
    pub sender: Option<String>,
    /// Idempotency key; written as the first 16 hex digits of its SHA-256.
    pub idempotency_key: Option<String>,
    /// Policy revision that judged it.
    pub policy_revision: Option<String>,
    /// Digest of the profile schema in force.
    pub schema_digest: Option<String>,
    /// Level of the route.
    pub level: Option<&'static str>,
    /// Stage reached, for `aborted_stage`.
    pub stage: Option<Stage>,
}

/// The open record of one request.
#[derive(Debug)]
pub struct Entry {
    /// What is known so far.
    pub subject: Subject,
}

/// How a request ended.
#[derive(Debug)]
pub struct Closing<'a> {
    /// The verdict word.
    pub outcome: Outcome,
    /// Why, when it was refused.
    pub refusal: Option<&'a Refusal>,
    /// What an enforcing route would have said, on an observe route: `Some(None)` means allow.
    pub would: Option<Option<&'a Refusal>>,
    /// The HTTP status answered.
    pub status: u16,
    /// Time from the head to the verdict.
    pub decision: Duration,
    /// Time at the backend, when it was called.
    pub backend: Option<Duration>,
}

impl Entry {
    /// Opens the one record of a request.
    pub fn open(_sink: &Sink, _id: Uuid, _time: Timestamp) -> Self {
        todo!()
    }

    /// Writes the record.
    pub fn close(self, _closing: &Closing<'_>) {
        todo!()
    }
}
