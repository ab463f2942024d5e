//! `addressing.set`, `addressing.not-here`: one recipient, and it is the agent behind this gateway.
//!
//! # What it checks
//! `target` (or `recipient`) is no array, no root member `recipients`, `targets` or `to` is there, and `target.id` is
//! one of the policy's `agent.ids`, compared character by character.
//!
//! # Why
//! A gateway that guesses among recipients delivers somebody else's message.
//!
//! # Contract
//! §4, "Addressing (stage 5)". Only members that are there with the right JSON type are looked at.
//!
//! # Outcome
//! 422 ERR_ADDRESSING_VIOLATION, rejected.
//!
//! # Example
//! `"target": [{…}, {…}]` is `addressing.set` at `/target`.

use super::{Input, place};
use crate::contract::{Finding, Rule};

pub(super) const RULES: &[Rule] = &[Rule::AddressingSet, Rule::AddressingNotHere];

/// Root members that would name several recipients, whatever they hold.
const SETS: &[&str] = &["recipients", "targets", "to"];

/// Root members that name one recipient, and several when they are an array.
const ONE: &[&str] = &["target", "recipient"];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let root = input.message.root();
    let is_array = |name: &&&str| root.get(name).is_some_and(|node| node.elements().is_some());
    let sets = ONE.iter().filter(is_array);
    for name in sets.chain(SETS.iter().filter(|name| root.get(name).is_some())) {
        let detail = "expected exactly one recipient, as the object `target`";
        findings.push(place::finding(input, Rule::AddressingSet, &[name], detail));
    }
    let id = input.message.text(&["target", "id"]);
    if id.is_some_and(|id| !input.policy.agent.ids.iter().any(|here| here == id)) {
        let detail = "expected an id of the agent behind this gateway";
        findings.push(place::finding(
            input,
            Rule::AddressingNotHere,
            &["target", "id"],
            detail,
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Row, rules_found};
    use super::*;

    #[test]
    fn table() {
        let table: &[Row] = &[
            ("one recipient", |_| {}, &[]),
            (
                "an array of them",
                |case| case.set("/target", "[{}]"),
                &[Rule::AddressingSet],
            ),
            (
                "a root member `to`",
                |case| case.set("/to", "null"),
                &[Rule::AddressingSet],
            ),
            (
                "another agent",
                |case| case.set("/target/id", "\"agt_other\""),
                &[Rule::AddressingNotHere],
            ),
            (
                "another case",
                |case| case.set("/target/id", "\"AGT_runtime.consumer\""),
                &[Rule::AddressingNotHere],
            ),
            (
                "not a string is left to the schema",
                |case| case.set("/target/id", "7"),
                &[],
            ),
            (
                "the second id of the agent",
                |case| case.set("/target/id", "\"urn:agent:two\""),
                &[],
            ),
        ];
        for (name, change, expected) in table {
            assert_eq!(rules_found(check, *change), *expected, "{name}");
        }
    }
}
