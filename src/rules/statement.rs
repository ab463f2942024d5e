//! `capability.statement`: a statement of capabilities leaves nothing out and names what is known.
//!
//! # What it checks
//! `operations`, `profiles`, `transport_bindings`, `trust_channels` and `conformance_levels` are not empty. Every profile,
//! also as `input_profile` and `output_profile` of an operation, has a schema here; every trust channel is of the
//! vocabulary; every conformance level is L0 to L7. Operations and transport bindings have no published vocabulary.
//!
//! # Why
//! Who reads a statement relies on it for what it does not say too.
//!
//! # Contract
//! §9, `capability.statement`; §2.3 and §3 for the vocabularies.
//!
//! # Outcome
//! 422 ERR_SCHEMA_VIOLATION, one finding for each empty list and each unknown entry.
//!
//! # Example
//! `"trust_channels": []`.

use super::{Input, place};
use crate::contract::{Finding, Pointer, Rule};
use crate::message::json::Node;

pub(super) const RULES: &[Rule] = &[Rule::CapabilityStatement];

const LEVELS: &[&str] = &["L0", "L1", "L2", "L3", "L4", "L5", "L6", "L7"];

/// Lists that may not be empty.
const LISTS: &[&str] = &[
    "operations",
    "profiles",
    "transport_bindings",
    "trust_channels",
    "conformance_levels",
];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    if input.message.profile() != Some("uai.capability.statement.v1") {
        return;
    }
    let mut find = |pointer: &Pointer, detail: &str| {
        findings.push(place::at(
            input.message.root(),
            Rule::CapabilityStatement,
            pointer,
            detail,
        ));
    };
    for name in LISTS {
        let here = Pointer::root().member("body").member(name);
        let entries = elements(input, name);
        if entries.is_empty() {
            find(&here, "expected at least one entry");
        }
        for (index, entry) in entries.iter().enumerate() {
            if entry.text().is_some_and(|word| !is_known(input, name, word)) {
                find(&here.element(index), "expected a word of the vocabulary");
            }
            for member in ["input_profile", "output_profile"] {
                let profile = entry.get(member).and_then(Node::text);
                if profile.is_some_and(|profile| !input.policy.schemas.knows(profile)) {
                    find(
                        &here.element(index).member(member),
                        "expected a profile that has a schema here",
                    );
                }
            }
        }
    }
}

/// Whether an entry of a list is of the list's vocabulary, where it has one.
fn is_known(input: &Input<'_>, list: &str, word: &str) -> bool {
    match list {
        "profiles" => input.policy.schemas.knows(word),
        "trust_channels" => input.policy.vocabulary.channel.iter().any(|known| known == word),
        "conformance_levels" => LEVELS.contains(&word),
        _ => true,
    }
}

fn elements<'i>(input: &Input<'i>, name: &str) -> &'i [Node<'i>] {
    let list = input.message.at(&["body", name]);
    list.and_then(|node| node.elements()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, Change, found};
    use super::*;

    fn statement(case: &mut Case) {
        case.set("/profile", "\"uai.capability.statement.v1\"");
        case.set(
            "/body/operations",
            r#"[{"name":"a","input_profile":"uai.agent.ack.v1","output_profile":null}]"#,
        );
        case.set("/body/profiles", r#"["uai.agent.ack.v1"]"#);
        case.set("/body/transport_bindings", r#"["anything"]"#);
        case.set("/body/trust_channels", r#"["public-web"]"#);
        case.set("/body/conformance_levels", r#"["L0","L7"]"#);
    }

    #[test]
    fn table() {
        let table: [(Change, &[&str]); 11] = [
            (|_| {}, &[]),
            (|case| case.set("/body/operations", "[]"), &["/body/operations"]),
            (|case| case.set("/body/profiles", "[]"), &["/body/profiles"]),
            (
                |case| case.set("/body/transport_bindings", "[]"),
                &["/body/transport_bindings"],
            ),
            (|case| case.set("/body/trust_channels", "[]"), &["/body/trust_channels"]),
            (
                |case| case.set("/body/conformance_levels", "[]"),
                &["/body/conformance_levels"],
            ),
            (
                |case| case.set("/body/profiles", r#"["uai.agent.ack.v1","x"]"#),
                &["/body/profiles/1"],
            ),
            (
                |case| case.set("/body/trust_channels", r#"["x"]"#),
                &["/body/trust_channels/0"],
            ),
            (
                |case| case.set("/body/conformance_levels", r#"["L8","l1"]"#),
                &["/body/conformance_levels/0", "/body/conformance_levels/1"],
            ),
            (
                |case| case.set("/body/operations", r#"[{"name":"a","output_profile":"x"}]"#),
                &["/body/operations/0/output_profile"],
            ),
            (
                |case| {
                    case.set("/body/trust_channels", r#"["x"]"#);
                    case.policy.vocabulary.channel.push("x".to_owned());
                },
                &[],
            ),
        ];
        for (change, expected) in table {
            let found = found(check, |case| {
                statement(case);
                change(case);
            });
            let places: Vec<&str> = found
                .iter()
                .map(|finding| finding.pointer.as_ref().unwrap().as_str())
                .collect();
            assert_eq!(places, expected);
        }
        assert_eq!(found(check, |_| {}), [], "another profile");
    }
}
