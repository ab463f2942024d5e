//! `capability.extension`: no extension that this agent does not declare here.
//!
//! # What it checks
//! Each `namespace` in `extensions[]`, or each name in the `extensions` of a delivery envelope, is among the extensions
//! that the route declares; in a delivery envelope the fan-out extension always is.
//!
//! # Why
//! An extension changes what a message means; `critical: false` is the sender's opinion and decides nothing.
//!
//! # Contract
//! §4, "Capability (stage 6)".
//!
//! # Outcome
//! 422 ERR_CAPABILITY_MISMATCH, one finding for each undeclared extension.
//!
//! # Example
//! `"extensions": [{"namespace": "urn:x", …}]` on a route without extensions.

use super::{Input, place};
use crate::contract::{Finding, Pointer, Rule};
use crate::message::envelope::Envelope;
use crate::message::json::Node;

pub(super) const RULES: &[Rule] = &[Rule::CapabilityExtension];

/// The fan-out extension of contract §13 is known on every route that takes delivery envelopes.
const FANOUT: &str = "https://portcullis.dev/ext/fanout/v1";

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    match input.message.envelope() {
        Envelope::Canonical => check_list(input, findings),
        Envelope::Delivery => check_members(input, findings),
    }
}

/// `extensions[]` of a canonical envelope, each with its `namespace`.
fn check_list(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let extensions = input.message.root().get("extensions").and_then(Node::elements);
    for (index, extension) in extensions.into_iter().flatten().enumerate() {
        let namespace = extension.get("namespace").and_then(Node::text);
        if namespace.is_some_and(|namespace| !is_declared(input, namespace)) {
            let pointer = Pointer::root().member("extensions").element(index).member("namespace");
            findings.push(undeclared(input, &pointer));
        }
    }
}

/// `extensions` of a delivery envelope, an object keyed by URI.
fn check_members(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let extensions = input.message.root().get("extensions").and_then(Node::members);
    for extension in extensions.into_iter().flatten() {
        if extension.name != FANOUT && !is_declared(input, &extension.name) {
            let pointer = Pointer::root().member("extensions").member(&extension.name);
            findings.push(undeclared(input, &pointer));
        }
    }
}

fn is_declared(input: &Input<'_>, namespace: &str) -> bool {
    input.declared.extensions.iter().any(|declared| declared == namespace)
}

fn undeclared(input: &Input<'_>, pointer: &Pointer) -> Finding {
    let words = listed(&input.declared.extensions);
    let detail = format!("expected an extension of this route: {words}");
    place::at(input.message.root(), Rule::CapabilityExtension, pointer, detail)
}

fn listed(words: &[String]) -> String {
    if words.is_empty() {
        "there is none".to_owned()
    } else {
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Row, delivery, rules_found};
    use super::*;

    #[test]
    fn table() {
        const X: Rule = Rule::CapabilityExtension;
        let table: &[Row] = &[
            ("declared", |_| {}, &[]),
            ("none at all", |case| case.set("/extensions", "[]"), &[]),
            ("not declared", |case| case.declared.extensions = Vec::new(), &[X]),
            (
                "not declared, not critical",
                |case| case.set("/extensions/0/namespace", "\"urn:x\""),
                &[X],
            ),
            (
                "two",
                |case| case.set("/extensions", r#"[{"namespace":"urn:x"},{"namespace":"urn:y"}]"#),
                &[X, X],
            ),
            (
                "no string is left to the schema",
                |case| case.set("/extensions/0/namespace", "null"),
                &[],
            ),
            ("the fan-out extension", delivery, &[]),
            (
                "another extension of a delivery",
                |case| {
                    delivery(case);
                    case.set(
                        "/extensions",
                        r#"{"https://a.example/x":{},"https://portcullis.dev/ext/fanout/v1":{}}"#,
                    );
                },
                &[X],
            ),
            (
                "a declared extension of a delivery",
                |case| {
                    delivery(case);
                    case.declared.extensions = vec!["https://a.example/x".to_owned()];
                    case.set("/extensions", r#"{"https://a.example/x":{}}"#);
                },
                &[],
            ),
        ];
        for (name, change, expected) in table {
            assert_eq!(rules_found(check, *change), *expected, "{name}");
        }
    }
}
