//! `authority.sender`: who is proven may speak for the sender that the message names.
//!
//! # What it checks
//! The issuer of the key that signed lists the sender. The signer, or the presenter of a message that is not signed,
//! lists it too. `sender.uai_identity` of a delivery envelope is the value that the policy pins for that principal.
//!
//! # Why
//! A sender is a claim until something stands behind it.
//!
//! # Contract
//! §7, "Keys" and "Authority". A key that belongs to no principal speaks for the senders of its issuer.
//!
//! # Outcome
//! 403 ERR_AUTHORITY_VIOLATION with trigger `authority_boundary_conflict`, a No-Op.
//!
//! # Example
//! A good signature of one tenant under the sender of another.

use super::super::{Input, place};
use super::{Authority, proven, signed};
use crate::contract::{Finding, Rule};
use crate::message::envelope::Envelope;
use crate::policy::Pattern;

pub(in crate::rules) const RULES: &[Rule] = &[Rule::AuthoritySender];

const IDENTITY: &[&str] = &["sender", "uai_identity"];

pub(in crate::rules) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    if let Some((path, detail)) = mismatch(input) {
        findings.push(place::finding(input, Rule::AuthoritySender, path, detail));
    }
}

fn mismatch(input: &Input<'_>) -> Option<(&'static [&'static str], &'static str)> {
    let path: &[&str] = match input.message.envelope() {
        Envelope::Canonical => &["source", "id"],
        Envelope::Delivery => &["sender", "logical_agent_id"],
    };
    if let Some(signed) = signed(input.facts) {
        let issuer = input.policy.trust.issuer(&signed.issuer);
        if !issuer.is_some_and(|issuer| lists(&issuer.senders, input)) {
            return Some((path, "expected a sender that the issuer of the key signs for"));
        }
    }
    let principal = match proven(input.policy, input.facts) {
        Authority::Nobody => return None,
        Authority::Stranger => return Some((path, "expected a sender of a principal that the policy knows")),
        Authority::Principal(principal) => principal,
    };
    if !lists(&principal.senders, input) {
        return Some((path, "expected a sender that the proven principal speaks for"));
    }
    let pinned = principal.uai_identity.as_deref();
    let is_other = pinned.is_some_and(|pinned| input.message.text(IDENTITY) != Some(pinned));
    (input.message.envelope() == Envelope::Delivery && is_other).then_some((
        IDENTITY,
        "expected the value that the policy pins for the proven principal",
    ))
}

/// Whether the sender that the message names is one of these.
fn lists(senders: &[Pattern], input: &Input<'_>) -> bool {
    let sender = input.message.sender();
    sender.is_some_and(|sender| senders.iter().any(|pattern| pattern.matches(sender)))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{Row, delivery, presented, principal, rules_found, signed_by};
    use super::*;
    use crate::facts::Fact;

    #[test]
    fn table() {
        const REFUSED: &[Rule] = &[Rule::AuthoritySender];
        let table: &[Row] = &[
            ("nobody is proven", |_| {}, &[]),
            ("the presenter's sender", |case| presented(case, "anna"), &[]),
            (
                "the presenter has none",
                |case| {
                    presented(case, "anna");
                    principal(case, "anna").senders = Vec::new();
                },
                REFUSED,
            ),
            ("the signer's sender", |case| signed_by(case, Some("bert")), &[]),
            (
                "the signer's, and not its issuer's",
                |case| {
                    signed_by(case, Some("bert"));
                    case.policy.trust.issuers[0].senders = Vec::new();
                },
                REFUSED,
            ),
            (
                "its issuer's, and not the signer's",
                |case| {
                    signed_by(case, Some("bert"));
                    principal(case, "bert").senders = vec![Pattern::Prefix("agt_other.".to_owned())];
                },
                REFUSED,
            ),
            (
                "the presenter's, and not the signer's",
                |case| {
                    presented(case, "anna");
                    signed_by(case, Some("bert"));
                    principal(case, "bert").senders = Vec::new();
                },
                REFUSED,
            ),
            ("a key of nobody", |case| signed_by(case, None), &[]),
            (
                "an issuer that is gone",
                |case| {
                    signed_by(case, None);
                    case.policy.trust.issuers.clear();
                },
                REFUSED,
            ),
            ("a principal that is gone", |case| presented(case, "carl"), REFUSED),
            ("a signer that is gone", |case| signed_by(case, Some("carl")), REFUSED),
            (
                "a presenter that cannot be known",
                |case| case.facts.presenter = Fact::Unavailable,
                REFUSED,
            ),
            (
                "a delivery, nothing pinned",
                |case| {
                    delivery(case);
                    signed_by(case, Some("bert"));
                },
                &[],
            ),
            (
                "a delivery, another identity pinned",
                |case| {
                    delivery(case);
                    signed_by(case, Some("bert"));
                    principal(case, "bert").uai_identity = Some("0".repeat(64));
                },
                REFUSED,
            ),
            (
                "a pin does not concern a canonical message",
                |case| {
                    signed_by(case, Some("bert"));
                    principal(case, "bert").uai_identity = Some("0".repeat(64));
                },
                &[],
            ),
        ];
        for (name, change, expected) in table {
            assert_eq!(rules_found(check, *change), *expected, "{name}");
        }
    }
}
