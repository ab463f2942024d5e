//! `mode.unknown`, `capability.mode`: the delivery mode is a word, and one that this agent takes here.
//!
//! # What it checks
//! The mode is in the policy's vocabulary of its envelope, and among the modes that the route declares.
//!
//! # Why
//! A mode that the agent does not serve would be acknowledged and never carried out.
//!
//! # Contract
//! §4, "Capability (stage 6)"; §2.3 for the vocabulary.
//!
//! # Outcome
//! 422 ERR_UNKNOWN_DELIVERY_MODE outside the vocabulary; 422 ERR_CAPABILITY_MISMATCH known but not declared.
//!
//! # Example
//! `"mode": "telepathy"` is `mode.unknown`; `"mode": "stream"` on a route with `modes: [async]` is `capability.mode`.

use super::{Input, place};
use crate::contract::{Finding, Rule};

pub(super) const UNKNOWN: &[Rule] = &[Rule::ModeUnknown];
pub(super) const UNDECLARED: &[Rule] = &[Rule::CapabilityMode];

pub(super) fn check_known(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let path = input.message.mode_path();
    let words = input.policy.vocabulary.modes(input.message.envelope());
    if input
        .message
        .text(path)
        .is_some_and(|mode| !words.iter().any(|word| word == mode))
    {
        let detail = format!("expected one of: {}", words.join(", "));
        findings.push(place::finding(input, Rule::ModeUnknown, path, detail));
    }
}

pub(super) fn check_declared(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let is_in = |words: &[String], mode: &str| words.iter().any(|word| word == mode);
    let path = input.message.mode_path();
    let words = input.policy.vocabulary.modes(input.message.envelope());
    let mode = input.message.text(path).filter(|mode| is_in(words, mode));
    if mode.is_some_and(|mode| !is_in(&input.declared.modes, mode)) {
        let detail = format!("expected a mode of this route: {}", input.declared.modes.join(", "));
        findings.push(place::finding(input, Rule::CapabilityMode, path, detail));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Row, delivery, rules_found};
    use super::*;

    #[test]
    fn table() {
        let both = |input: &Input<'_>, findings: &mut Vec<Finding>| {
            check_known(input, findings);
            check_declared(input, findings);
        };
        let table: &[Row] = &[
            ("declared", |_| {}, &[]),
            (
                "known, not declared",
                |case| case.set("/delivery/mode", "\"stream\""),
                &[Rule::CapabilityMode],
            ),
            (
                "unknown",
                |case| case.set("/delivery/mode", "\"telepathy\""),
                &[Rule::ModeUnknown],
            ),
            (
                "another case is another word",
                |case| case.set("/delivery/mode", "\"Async\""),
                &[Rule::ModeUnknown],
            ),
            ("empty", |case| case.set("/delivery/mode", "\"\""), &[Rule::ModeUnknown]),
            ("no string", |case| case.set("/delivery/mode", "true"), &[]),
            ("declared for deliveries", delivery, &[]),
            (
                "known to deliveries, not declared",
                |case| {
                    delivery(case);
                    case.set("/delivery_mode", "\"stream_delta\"");
                },
                &[Rule::CapabilityMode],
            ),
            (
                "a word of the other envelope",
                |case| {
                    delivery(case);
                    case.declared.modes.push("async".to_owned());
                    case.set("/delivery_mode", "\"async\"");
                },
                &[Rule::ModeUnknown],
            ),
        ];
        for (name, change, expected) in table {
            assert_eq!(rules_found(both, *change), *expected, "{name}");
        }
    }
}
