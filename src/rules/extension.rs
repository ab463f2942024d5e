//! `capability.extension`: no extension that this agent does not declare here.
//!
//! # What it checks
//! Each `namespace` in `extensions[]` is among the extensions that the route declares.
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

pub(super) const RULES: &[Rule] = &[Rule::CapabilityExtension];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let root = input.message.root();
    let extensions = root
        .get("extensions")
        .and_then(|node| node.elements())
        .unwrap_or_default();
    for (index, extension) in extensions.iter().enumerate() {
        let namespace = extension.get("namespace").and_then(|node| node.text());
        if namespace.is_some_and(|namespace| !input.declared.extensions.iter().any(|declared| declared == namespace)) {
            let pointer = Pointer::root().member("extensions").element(index).member("namespace");
            let detail = format!(
                "expected an extension of this route: {}",
                listed(&input.declared.extensions)
            );
            findings.push(place::at(root, Rule::CapabilityExtension, &pointer, detail));
        }
    }
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
    use super::super::testing::{Row, rules_found};
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
        ];
        for (name, change, expected) in table {
            assert_eq!(rules_found(check, *change), *expected, "{name}");
        }
    }
}
