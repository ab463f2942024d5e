//! `addressing.set`, `addressing.not-here`, `addressing.implicit`: one recipient, and it is the agent behind this gateway.
//!
//! # What it checks
//! `target` (or `recipient`) is no array, no root member `recipients`, `targets` or `to` is there, and the address is
//! one of the policy's `agent.ids`, compared character by character. Nothing stands for several recipients without
//! naming them: a delivery envelope has its `delivery_id`; the address is no wildcard, group or list; an intent to fan
//! out comes to the dispatch route only.
//!
//! # Why
//! A gateway that guesses among recipients delivers somebody else's message.
//!
//! # Contract
//! §4, "Addressing (stage 5)". Only members that are there with the right JSON type are looked at, the missing
//! `delivery_id` excepted. An address is one fault: one that stands for several is `addressing.implicit` alone.
//!
//! # Outcome
//! 422 ERR_ADDRESSING_VIOLATION, or 422 ERR_MULTICAST_UNSUPPORTED for an implicit several; rejected.
//!
//! # Example
//! `"target": [{…}, {…}]` is `addressing.set` at `/target`; `"logical_agent_id": "urn:team:*"` is `addressing.implicit`.

use super::{Input, place};
use crate::contract::{Finding, Rule};
use crate::message::envelope::Envelope;
use crate::message::json::Node;

pub(super) const RULES: &[Rule] = &[Rule::AddressingSet, Rule::AddressingNotHere, Rule::AddressingImplicit];

/// Root members that would name several recipients, whatever they hold.
const SETS: &[&str] = &["recipients", "targets", "to"];

/// Root members that name one recipient, and several when they are an array.
const ONE: &[&str] = &["target", "recipient"];

/// Parts of an address that name a group, in any case of their letters.
const GROUPS: &[&str] = &["group", "groups", "all", "any", "everyone", "broadcast", "multicast"];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let root = input.message.root();
    let is_array = |name: &&&str| root.get(name).is_some_and(|node| node.elements().is_some());
    let sets = ONE.iter().filter(is_array);
    for name in sets.chain(SETS.iter().filter(|name| root.get(name).is_some())) {
        let detail = "expected exactly one recipient, as the object `target` or `recipient`";
        findings.push(place::finding(input, Rule::AddressingSet, &[name], detail));
    }
    let path = input.message.address_path();
    let elsewhere = |id: &&str| !input.policy.agent.ids.iter().any(|here| here == id);
    if let Some(address) = input.message.text(path).filter(elsewhere) {
        let (rule, detail) = if is_several(address) {
            (Rule::AddressingImplicit, "expected the address of one agent")
        } else {
            (
                Rule::AddressingNotHere,
                "expected an id of the agent behind this gateway",
            )
        };
        findings.push(place::finding(input, rule, path, detail));
    }
    if input.message.envelope() == Envelope::Delivery {
        one_delivery(input, findings);
    }
}

/// A delivery envelope is one delivery, and no intent to make several of it.
fn one_delivery(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let recipient = input.message.at(&["recipient"]);
    let has_place = recipient.is_none_or(|recipient| recipient.members().is_some());
    if has_place && input.message.at(input.message.key_path()).is_none() {
        let detail = "expected the `delivery_id` of one delivery";
        let path = input.message.key_path();
        findings.push(place::finding(input, Rule::AddressingImplicit, path, detail));
    }
    let is_dispatch = input.policy.dispatch_route.as_ref() == Some(&input.route.name);
    if !is_dispatch && input.message.at(&["payload"]).is_some_and(is_intent_to_fanout) {
        let detail = "expected no intent to fan out, as this is not the dispatch route";
        findings.push(place::finding(input, Rule::AddressingImplicit, &["payload"], detail));
    }
}

/// Whether an address stands for several: a wildcard, a list, or a group by one of its parts.
pub fn is_several(address: &str) -> bool {
    let lower = address.to_lowercase();
    let mut parts = lower.split([':', '/', '@', '#', '.']);
    address.contains(|letter: char| matches!(letter, '*' | ',' | ';') || letter.is_whitespace())
        || parts.any(|part| GROUPS.contains(&part))
}

/// The payload of contract §13, "dispatch": `recipients[]` with a payload or a base signature for each of them.
fn is_intent_to_fanout(payload: &Node<'_>) -> bool {
    let lists = payload.get("recipients").and_then(Node::elements).is_some();
    let has = |name: &str| payload.get(name).is_some();
    has("intent_to_fanout") || (lists && (has("payload") || has("base_signature")))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Row, delivery, rules_found};
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
                "a wildcard",
                |case| case.set("/target/id", "\"agt_*\""),
                &[Rule::AddressingImplicit],
            ),
            (
                "a list with commas",
                |case| case.set("/target/id", "\"agt_a,agt_b\""),
                &[Rule::AddressingImplicit],
            ),
            (
                "a list with blanks",
                |case| case.set("/target/id", "\"agt_a agt_b\""),
                &[Rule::AddressingImplicit],
            ),
            (
                "a group",
                |case| case.set("/target/id", "\"urn:uaix:Group:workers\""),
                &[Rule::AddressingImplicit],
            ),
            (
                "a word that only begins like a group",
                |case| case.set("/target/id", "\"agt_all\""),
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
            ("one delivery", delivery, &[]),
            (
                "a delivery elsewhere",
                |case| {
                    delivery(case);
                    case.set("/recipient/logical_agent_id", "\"urn:agent:three\"");
                },
                &[Rule::AddressingNotHere],
            ),
            (
                "no delivery id",
                |case| {
                    delivery(case);
                    case.remove("/recipient/delivery_id");
                },
                &[Rule::AddressingImplicit],
            ),
            (
                "no recipient",
                |case| {
                    delivery(case);
                    case.remove("/recipient");
                },
                &[Rule::AddressingImplicit],
            ),
            (
                "a recipient that is no object is left to the schema",
                |case| {
                    delivery(case);
                    case.set("/recipient", "7");
                },
                &[],
            ),
            (
                "several recipients",
                |case| {
                    delivery(case);
                    case.set("/recipient", "[{}]");
                },
                &[Rule::AddressingSet],
            ),
            (
                "a payload that only lists recipients",
                |case| {
                    delivery(case);
                    case.set("/payload", r#"{"recipients":["a"]}"#);
                },
                &[],
            ),
            (
                "an intent to fan out",
                |case| {
                    delivery(case);
                    case.set("/payload", r#"{"recipients":["a"],"payload":{}}"#);
                },
                &[Rule::AddressingImplicit],
            ),
            (
                "an intent by its name",
                |case| {
                    delivery(case);
                    case.set("/payload", r#"{"intent_to_fanout":{}}"#);
                },
                &[Rule::AddressingImplicit],
            ),
            (
                "an intent on the dispatch route",
                |case| {
                    delivery(case);
                    case.set("/payload", r#"{"intent_to_fanout":{}}"#);
                    case.policy.dispatch_route = Some("open".to_owned());
                },
                &[],
            ),
        ];
        for (name, change, expected) in table {
            assert_eq!(rules_found(check, *change), *expected, "{name}");
        }
    }
}
