//! One verdict record a request, always, before the answer is sent (contract §15).
//!
//! An [`Entry`] is closed by value; one that is dropped unclosed writes `aborted`, or `internal.panic` when a panic
//! drops it. Nothing recorded is a payload, a query value or a secret. A record is one line of JSON; a member that is
//! not known is left out, except that `presenter`, `signer`, `actor`, `tenant` and `project` say `unproven`.

mod line;
mod sink;

use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

pub use sink::Sink;

use crate::contract::{Finding, Outcome, Rule, Stage};
use crate::decide::Refusal;

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
    /// Message id; written only when it matches the id pattern of §2.3.
    pub message_id: Option<String>,
    /// Canonical digest, once stage 4 passed.
    pub message_digest: Option<String>,
    /// SHA-256 of the bytes read; unset stands for no byte read.
    pub body_digest: Option<String>,
    /// Sender; written only when it matches the id pattern.
    pub sender: Option<String>,
    /// The principal that the transport proved; unset is written `unproven`, as in the four below.
    pub presenter: Option<String>,
    /// The principal whose key signed the message.
    pub signer: Option<String>,
    /// Who acts for the presenter: `act.sub` of its token.
    pub actor: Option<String>,
    /// Tenant of the signer, or of the presenter when nobody signed.
    pub tenant: Option<String>,
    /// Its project.
    pub project: Option<String>,
    /// The principal it was started by, when the policy says so.
    pub parent: Option<String>,
    /// The branch of work it belongs to, when the policy says so.
    pub branch_id: Option<String>,
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
    sink: Sink,
    id: Uuid,
    time: Timestamp,
    is_open: bool,
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
    pub fn open(sink: &Sink, id: Uuid, time: Timestamp) -> Self {
        Self {
            subject: Subject::default(),
            sink: sink.clone(),
            id,
            time,
            is_open: true,
        }
    }

    /// The verdict id.
    pub const fn id(&self) -> Uuid {
        self.id
    }

    /// Writes the record.
    pub fn close(mut self, closing: &Closing<'_>) {
        self.is_open = false;
        let line = line::verdict(self.id, self.time, &self.subject, &line::End::of(closing));
        self.sink.write(line);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        let line = if std::thread::panicking() {
            let panic = Refusal::new(Finding::new(Rule::InternalPanic, "a fault of the gateway"));
            line::verdict(self.id, self.time, &self.subject, &line::End::panicked(&panic))
        } else {
            line::verdict(self.id, self.time, &self.subject, &line::End::aborted())
        };
        self.sink.write(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(sink: &Sink) -> Entry {
        Entry::open(sink, Uuid::from_u128(7), Timestamp::UNIX_EPOCH)
    }

    const CLOSING: Closing<'_> = Closing {
        outcome: Outcome::Allow,
        refusal: None,
        would: None,
        status: 200,
        decision: Duration::from_micros(40),
        backend: None,
    };

    #[test]
    fn a_closed_entry_writes_once() {
        let sink = Sink::memory();
        let open = entry(&sink);
        assert_eq!(open.id(), Uuid::from_u128(7));
        open.close(&CLOSING);
        assert_eq!(sink.lines().len(), 1);
        assert!(sink.lines()[0].contains(r#""verdict":"allow""#));
    }

    #[test]
    fn a_dropped_entry_writes_aborted_with_the_stage_it_reached() {
        let sink = Sink::memory();
        let mut open = entry(&sink);
        open.subject.stage = Some(Stage::Forward);
        drop(open);
        assert_eq!(sink.lines().len(), 1);
        assert!(sink.lines()[0].contains(r#""verdict":"aborted","aborted_stage":"16""#));
    }

    #[test]
    fn a_panic_writes_internal_panic() {
        let sink = Sink::memory();
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _open = entry(&sink);
            panic!("a test panics");
        }));
        assert!(caught.is_err());
        assert_eq!(sink.lines().len(), 1);
        assert!(
            sink.lines()[0]
                .contains(r#""verdict":"unavailable","code":"ERR_INTERNAL","rule":"internal.panic","status":500"#)
        );
    }
}
