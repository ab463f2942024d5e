//! `provenance.missing`: what a person must decide about says where it came from.
//!
//! # What it checks
//! `provenance.lineage` is not empty in a message that would be held.
//!
//! # Why
//! A reviewer cannot judge memory without an origin.
//!
//! # Contract
//! §9; §10 for what is held.
//!
//! # Outcome
//! 422 ERR_SCHEMA_VIOLATION with trigger `provenance_mismatch`, a No-Op.
//!
//! # Example
//! A memory proposal with `"lineage": []`.

use super::{Input, hold, place};
use crate::contract::{Finding, Rule};

pub(super) const RULES: &[Rule] = &[Rule::ProvenanceMissing];

const PATH: &[&str] = &["provenance", "lineage"];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let is_empty = input
        .message
        .at(PATH)
        .and_then(|node| node.elements())
        .is_none_or(<[_]>::is_empty);
    if is_empty && hold::reason(input).is_some() {
        let detail = "expected at least one entry, as a person must decide about this message";
        findings.push(place::finding(input, Rule::ProvenanceMissing, PATH, detail));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Row, rules_found};
    use super::*;

    #[test]
    fn table() {
        let table: &[Row] = &[
            ("held, with lineage", |_| {}, &[]),
            (
                "held, without",
                |case| case.set("/provenance/lineage", "[]"),
                &[Rule::ProvenanceMissing],
            ),
            (
                "not held, without",
                |case| {
                    case.set("/provenance/lineage", "[]");
                    case.set("/body/memory_updates_proposed", "[]");
                },
                &[],
            ),
        ];
        for (name, change, expected) in table {
            assert_eq!(rules_found(check, *change), *expected, "{name}");
        }
    }
}
