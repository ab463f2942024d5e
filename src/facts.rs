//! What the gateway found out about one request besides its bytes. Not knowing is a value of its own.

use jiff::Timestamp;

/// One thing the gateway tried to find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact<T> {
    /// Found out.
    Known(T),
    /// Looked for, and it is not there.
    Absent,
    /// Could not find out; a rule that needs it refuses.
    Unavailable,
}

/// Everything `decide` may use that is not in the message or the policy.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The wall clock; `Unavailable` while it runs backwards (contract §8, "Clock").
    pub now: Fact<Timestamp>,
    /// The `UAI-Signature` field; more than one field is `Unavailable`, as which one was meant cannot be known.
    pub signature: Fact<&'a str>,
    /// The `UAI-Capability-Revision` field.
    pub capability_revision: Fact<&'a str>,
    /// The `Idempotency-Key` field as received; more than one is `Unavailable`.
    pub idempotency_key: Fact<&'a str>,
}
