//! What a sender may do after a refusal: one row for each code, so that a new code does not compile without one.

use serde::Serialize;

use crate::contract::{BackendOutcome, Code, Rule, Stage};
use crate::decide::Refusal;

/// `retry` of an answer (contract §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Retry {
    /// Whether the same request, unchanged, may be sent again.
    pub(super) allowed: bool,
    /// Seconds to wait first; also in `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) after_s: Option<u32>,
    /// What to do, for people.
    pub(super) how: &'static str,
}

/// How to go on after this refusal.
pub(super) fn of(refusal: &Refusal) -> Retry {
    let retry = after_rule(refusal.rule(), refusal.backend);
    match refusal.wait {
        Some(wait) => Retry {
            after_s: Some(wait.seconds),
            ..retry
        },
        None => retry,
    }
}

fn after_rule(rule: Rule, backend: BackendOutcome) -> Retry {
    match rule.code() {
        Code::HttpViolation if matches!(rule, Rule::HttpTimeout) => again("send the whole request in less time"),
        Code::HttpViolation if matches!(rule, Rule::HttpEarlyData) => again("send it again after the TLS handshake"),
        Code::HttpViolation => never("correct the request and send it again"),
        Code::RouteUndeclared => never("ask the operator of the agent which paths and methods are declared"),
        Code::SchemaViolation if matches!(rule, Rule::IdempotencyMissing | Rule::IdempotencyMalformed) => {
            never("send one `Idempotency-Key` field, a string in double quotes")
        }
        Code::SchemaViolation => never("correct the message and send it again"),
        Code::RateLimited if matches!(rule, Rule::ReplayShare) => {
            after(60, "send fewer messages, then send the same request again")
        }
        Code::RateLimited => after(1, "wait, then send the same request again"),
        Code::AuthorityViolation => never("leave out what claims authority, or prove it"),
        Code::Unauthenticated => never("present valid credentials"),
        Code::StateUnavailable => after(5, "wait, then send the same request again"),
        Code::SecretDetected => never("remove the secret, rotate it, and send the message again"),
        Code::AddressingViolation => never("address one recipient, the agent behind this gateway"),
        Code::MulticastUnsupported => never("address one recipient exactly"),
        Code::UnknownDeliveryMode => never("use a delivery mode of the vocabulary"),
        Code::HumanReviewRequired => never("ask the person who reviews for this agent"),
        Code::CapabilityMismatch => never("use what this agent declares on this route"),
        Code::JcsInvalid if rule.stage() == Stage::Signature => {
            never("sign the canonical bytes of the message with a key that this agent knows, and send it again")
        }
        Code::JcsInvalid => never("compute the checksum over the canonical bytes of the message, and send it again"),
        Code::MessageExpired => never("issue the message again with a later `expires_at`"),
        Code::ReplayWindow if matches!(rule, Rule::FreshnessFence) => never("issue the message again, now"),
        Code::ReplayWindow => never("set the clock right and issue the message again"),
        Code::ClaimUnsupported => never("remove the claim and send the message again"),
        Code::IdempotencyConflict => never("use a new idempotency key for a new request"),
        Code::IdempotencyInFlight => after(1, "wait for the first request, then send the same request again"),
        Code::OutcomeUnknown => never("find out from the agent what became of the first request"),
        Code::ReplayDetected => {
            never("it was taken once: ask the agent what came of it; only something new needs a new id and a new key")
        }
        Code::IdentityLeaseConflict => never("wait until the lease of the other instance ends"),
        Code::InvalidAckTarget => never("acknowledge only a live delivery of your own"),
        Code::StaleRevisionConflict => never("read the object again and write on top of its current revision"),
        Code::BackendUnavailable | Code::BackendContract | Code::Internal => match backend {
            BackendOutcome::NotSent => after(5, "wait, then send the same request again"),
            BackendOutcome::Unknown => never("find out from the agent whether it acted before you send it again"),
            BackendOutcome::Delivered => never("the agent has it; do not send it again"),
        },
    }
}

const fn never(how: &'static str) -> Retry {
    Retry {
        allowed: false,
        after_s: None,
        how,
    }
}

const fn again(how: &'static str) -> Retry {
    Retry {
        allowed: true,
        after_s: None,
        how,
    }
}

const fn after(seconds: u32, how: &'static str) -> Retry {
    Retry {
        allowed: true,
        after_s: Some(seconds),
        how,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_been_seen_is_never_to_be_repeated() {
        for rule in Rule::ALL {
            assert!(!after_rule(*rule, BackendOutcome::NotSent).how.is_empty());
            if matches!(
                rule.code(),
                Code::BackendUnavailable | Code::BackendContract | Code::Internal | Code::OutcomeUnknown
            ) {
                assert!(!after_rule(*rule, BackendOutcome::Unknown).allowed, "{}", rule.id());
                assert!(!after_rule(*rule, BackendOutcome::Delivered).allowed, "{}", rule.id());
            }
        }
    }

    #[test]
    fn every_503_and_429_says_when() {
        for rule in Rule::ALL.iter().filter(|rule| matches!(rule.status(), 429 | 503)) {
            assert!(
                after_rule(*rule, BackendOutcome::NotSent).after_s.is_some(),
                "{}",
                rule.id()
            );
        }
    }
}
