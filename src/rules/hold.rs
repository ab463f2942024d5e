//! `hold.required`: what would change an agent's memory waits for a person.
//!
//! # What it checks
//! The profile is one that the contract or the policy holds; a final report proposes memory updates; a correction
//! corrects a message that this gateway does not know, which is every one of them, as this version keeps no messages.
//!
//! # Why
//! Validity is not trust: what an agent remembers, it will act on long after.
//!
//! # Contract
//! §10. This version has no quarantine, so no route can hold, and a message that must be held is refused.
//!
//! # Outcome
//! 403 ERR_HUMAN_REVIEW_REQUIRED, a No-Op.
//!
//! # Example
//! Every `uai.agent.memory-proposal.v1`.

use super::{Input, place};
use crate::contract::{Finding, Rule};

pub(super) const RULES: &[Rule] = &[Rule::HoldRequired];

/// Why the message would be held if it were valid; `None` when it would not.
pub fn reason(input: &Input<'_>) -> Option<&'static str> {
    held(input).map(|(_, reason)| reason)
}

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    if let Some((path, reason)) = held(input) {
        let detail = format!("a person must decide, and this version cannot hold messages: {reason}");
        findings.push(place::finding(input, Rule::HoldRequired, path, detail));
    }
}

/// The member that asks for a person, and why.
fn held(input: &Input<'_>) -> Option<(&'static [&'static str], &'static str)> {
    let profile = input.message.profile()?;
    if input.policy.holds_profile(profile) {
        return Some((&["profile"], "the profile is held"));
    }
    match profile {
        "uai.agent.final-report.v1" => {
            let updates = input.message.at(&["body", "memory_updates_proposed"])?;
            // An observe route forwards what the schema refuses, so every form that says something counts.
            let says_nothing = updates.is_null() || updates.elements().is_some_and(<[_]>::is_empty);
            let proposes = !says_nothing;
            proposes.then_some((
                &["body", "memory_updates_proposed"],
                "the report proposes memory updates",
            ))
        }
        "uai.agent.correction.v1" => Some((
            &["body", "corrects_message_id"],
            "the correction is of a message that is not known here",
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Row, found, rules_found};
    use super::*;

    #[test]
    fn table() {
        const HELD: &[Rule] = &[Rule::HoldRequired];
        let table: &[Row] = &[
            ("a report that proposes memory", |_| {}, HELD),
            (
                "a report that does not",
                |case| case.set("/body/memory_updates_proposed", "[]"),
                &[],
            ),
            (
                "a report that proposes in another form",
                |case| case.set("/body/memory_updates_proposed", "{\"a\":\"b\"}"),
                HELD,
            ),
            (
                "a report that proposes null",
                |case| case.set("/body/memory_updates_proposed", "null"),
                &[],
            ),
            (
                "a memory proposal",
                |case| case.set("/profile", "\"uai.agent.memory-proposal.v1\""),
                HELD,
            ),
            (
                "a correction",
                |case| case.set("/profile", "\"uai.agent.correction.v1\""),
                HELD,
            ),
            (
                "an acknowledgement",
                |case| case.set("/profile", "\"uai.agent.ack.v1\""),
                &[],
            ),
            (
                "a profile that the policy holds",
                |case| {
                    case.policy.hold = vec!["uai.agent.ack.v1".to_owned()];
                    case.set("/profile", "\"uai.agent.ack.v1\"");
                },
                HELD,
            ),
        ];
        for (name, change, expected) in table {
            assert_eq!(rules_found(check, *change), *expected, "{name}");
        }
    }

    #[test]
    fn the_member_that_asks_is_named() {
        let pointer = found(check, |_| {}).pop().unwrap().pointer.unwrap();
        assert_eq!(pointer.as_str(), "/body/memory_updates_proposed");
    }
}
