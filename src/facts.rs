//! What the gateway found out about one request besides its bytes. Not knowing is a value of its own.

use std::sync::Arc;

use jiff::Timestamp;

use crate::contract::Rule;

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
    /// Whom the transport proved (contract §7, stage 2b); `Absent` when it proved nobody.
    pub presenter: Fact<&'a Presenter>,
    /// What came of the signature that the message carries; `Absent` when it carries none, `Unavailable` when it was not
    /// verified, because there was nothing to verify it with or an earlier stage decided.
    pub proof: Fact<&'a Proof>,
    /// The restart fence: nothing issued at or before it is admitted (contract §8). `Absent` where the store has
    /// forgotten nothing, `Unavailable` while that cannot be known.
    pub fence: Fact<Timestamp>,
}

impl Facts<'_> {
    /// Nothing is known but the time; for judging a message away from any request.
    pub const fn at(now: Fact<Timestamp>) -> Self {
        Self {
            now,
            signature: Fact::Absent,
            capability_revision: Fact::Absent,
            idempotency_key: Fact::Absent,
            presenter: Fact::Absent,
            proof: Fact::Absent,
            fence: Fact::Absent,
        }
    }
}

/// The principal that the transport proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presenter {
    /// Its name in the policy.
    pub principal: Arc<str>,
    /// A client certificate took part in the proof.
    pub by_certificate: bool,
    /// An access token took part in the proof.
    pub by_token: bool,
    /// A DPoP proof took part in the proof.
    pub by_dpop: bool,
    /// Who acts for it: `act.sub` of its token.
    pub actor: Option<Arc<str>>,
}

/// What came of a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// It is good.
    Signed(Signed),
    /// It is not, or its key cannot be known.
    Failed(Fault),
}

/// A signature that was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// Name of the issuer whose key it is.
    pub issuer: Arc<str>,
    /// The key.
    pub kid: Arc<str>,
    /// `iat`.
    pub issued_at: Option<Timestamp>,
    /// It names an audience (`aud`), which was verified.
    pub has_audience: bool,
    /// Name of the principal that the policy proves by this key.
    pub principal: Option<Arc<str>>,
}

/// Why a signature, or what should verify it, does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// One of stage 9.
    pub rule: Rule,
    /// What was expected; never a value.
    pub detail: String,
    /// `kid`, when it is an id; for the security record.
    pub kid: Option<String>,
    /// `alg`, when it is a name that the contract knows; for the security record.
    pub alg: Option<&'static str>,
}
