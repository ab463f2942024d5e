//! Verdict, refusal, permit: what `decide` says, and the only key that opens the way to the backend.

use std::time::Duration;

use crate::contract::{BackendOutcome, Code, Finding, Outcome, Rule};

/// The right to forward one request once. Its field is private to this module, so only an allowing verdict makes one,
/// and `forward` takes it by value (ARCHITECTURE, invariant 2).
#[derive(Debug)]
pub struct Permit(());

/// What was decided about one request before the backend is called.
#[derive(Debug)]
pub enum Verdict {
    /// Forward.
    Allow(Permit),
    /// Forward, on an observe route only.
    Observed(Observed),
    /// Answer with this; the backend sees nothing.
    Refused(Refusal),
}

/// An observe route lets the request through and remembers what would have been said.
#[derive(Debug)]
pub struct Observed {
    /// The right to forward.
    pub permit: Permit,
    /// What an enforcing route would have answered; `None` for allow.
    pub would: Option<Refusal>,
}

impl Verdict {
    /// Forward. Private to `decide`.
    pub(super) const fn allow() -> Self {
        Self::Allow(Permit(()))
    }

    /// Forward and record. Private to `decide`.
    pub(super) const fn observe(would: Option<Refusal>) -> Self {
        Self::Observed(Observed {
            permit: Permit(()),
            would,
        })
    }
}

/// A typed "no": the finding that decides, the other findings of its stage, and the verdict word they come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Gives code, rule, status and trigger.
    pub deciding: Finding,
    /// The other findings of the same stage, in order.
    pub others: Vec<Finding>,
    /// `no_op`, `rejected`, `throttled` or `unavailable`.
    pub outcome: Outcome,
    /// Whether the backend may have seen the request; in every `unavailable` answer.
    pub backend: BackendOutcome,
    /// How long to wait, where this request knows it better than its code does.
    pub wait: Option<Wait>,
}

/// How long a sender should wait before it asks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Whole seconds, at least one.
    pub seconds: u32,
    /// The bucket that is empty: its name and its requests a second.
    pub quota: Option<(&'static str, u32)>,
}

impl Wait {
    /// At least this long.
    pub fn of(wait: Duration) -> Self {
        let whole = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0));
        Self {
            seconds: u32::try_from(whole).unwrap_or(u32::MAX).max(1),
            quota: None,
        }
    }

    /// Because this bucket is empty.
    #[must_use]
    pub const fn within(mut self, name: &'static str, limit: u32) -> Self {
        self.quota = Some((name, limit));
        self
    }
}

/// Findings in one answer, the deciding one included (contract §4).
const FINDINGS_MAX: usize = 20;

impl Refusal {
    /// A refusal by one finding, before anything reached the backend.
    pub fn new(deciding: Finding) -> Self {
        Self::with_others(deciding, [], false)
    }

    /// A refusal by the findings of one stage; `held` tells whether the message would be held if it were valid.
    pub fn with_others(deciding: Finding, others: impl IntoIterator<Item = Finding>, held: bool) -> Self {
        let outcome = outcome(deciding.rule, held);
        Self {
            deciding,
            others: others.into_iter().take(FINDINGS_MAX.saturating_sub(1)).collect(),
            outcome,
            backend: BackendOutcome::NotSent,
            wait: None,
        }
    }

    /// The same refusal, with a time to wait.
    #[must_use]
    pub const fn waiting(mut self, wait: Wait) -> Self {
        self.wait = Some(wait);
        self
    }

    /// The same refusal, raised after the backend leg began.
    #[must_use]
    pub fn after(mut self, backend: BackendOutcome) -> Self {
        self.backend = backend;
        self
    }

    /// The deciding finding, then the others.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        std::iter::once(&self.deciding).chain(&self.others)
    }

    /// The rule that decided.
    pub const fn rule(&self) -> Rule {
        self.deciding.rule
    }
}

/// From finding to verdict word (contract §5).
fn outcome(rule: Rule, held: bool) -> Outcome {
    match rule.code() {
        Code::RateLimited => Outcome::Throttled,
        Code::StateUnavailable | Code::BackendUnavailable | Code::BackendContract | Code::Internal => {
            Outcome::Unavailable
        }
        Code::HumanReviewRequired | Code::OutcomeUnknown => Outcome::NoOp,
        Code::HttpViolation
        | Code::RouteUndeclared
        | Code::SchemaViolation
        | Code::AuthorityViolation
        | Code::Unauthenticated
        | Code::SecretDetected
        | Code::AddressingViolation
        | Code::MulticastUnsupported
        | Code::UnknownDeliveryMode
        | Code::CapabilityMismatch
        | Code::JcsInvalid
        | Code::MessageExpired
        | Code::ReplayWindow
        | Code::ClaimUnsupported
        | Code::IdempotencyConflict
        | Code::IdempotencyInFlight
        | Code::ReplayDetected
        | Code::IdentityLeaseConflict
        | Code::InvalidAckTarget
        | Code::StaleRevisionConflict => match rule.trigger() {
            Some(trigger) if trigger.asks_for_no_op() => Outcome::NoOp,
            Some(trigger) if held && trigger.asks_for_no_op_when_held() => Outcome::NoOp,
            Some(_) | None => Outcome::Rejected,
        },
    }
}
