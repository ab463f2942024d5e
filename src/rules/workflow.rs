//! `workflow.evidence`: what changes owned things can be followed, ends, and says how anybody knows.
//!
//! # What it checks
//! On a route of level L4 and above: `conversation.correlation_id` and `delivery.expires_at` are there. On L6 and above
//! also `provenance.log_ref`, an entry in `provenance.lineage`, and an entry in `evidence` and `validation_evidence`
//! where the profile has such a list.
//!
//! # Why
//! The higher the level, the more somebody will want to find out later.
//!
//! # Contract
//! §9, `workflow.evidence`; §12 for levels. No policy file can declare L4 yet, so nothing is refused by it before.
//!
//! # Outcome
//! 422 ERR_SCHEMA_VIOLATION, one finding for each member.
//!
//! # Example
//! A handoff without `expires_at` on a route of level L4.

use super::{Input, place};
use crate::contract::{Finding, Rule};
use crate::policy::Level;

pub(super) const RULES: &[Rule] = &[Rule::WorkflowEvidence];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let level = input.route.level;
    let mut find = |path: &[&str], detail: &str| {
        findings.push(place::finding(input, Rule::WorkflowEvidence, path, detail));
    };
    let mut texts: Vec<&[&str]> = Vec::new();
    if level >= Level::L4 {
        texts.extend([
            ["conversation", "correlation_id"].as_slice(),
            &["delivery", "expires_at"],
        ]);
    }
    if level >= Level::L6 {
        texts.push(&["provenance", "log_ref"]);
    }
    for path in texts {
        if input.message.text(path).is_none() {
            find(path, "expected this member on a route of this level");
        }
    }
    if level < Level::L6 {
        return;
    }
    let entries = |path: &[&str]| input.message.at(path).map(|node| node.elements().map(<[_]>::len));
    let lineage: &[&str] = &["provenance", "lineage"];
    if !matches!(entries(lineage), Some(Some(1..))) {
        find(lineage, "expected at least one entry on a route of this level");
    }
    for name in ["evidence", "validation_evidence"] {
        let path = &["body", name];
        if entries(path) == Some(Some(0)) {
            find(path, "expected at least one entry on a route of this level");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, found_at};
    use super::*;

    fn bare(case: &mut Case) {
        case.remove("/conversation/correlation_id");
        case.set("/delivery/expires_at", "null");
        case.remove("/provenance/log_ref");
        case.set("/provenance/lineage", "[]");
        case.set("/body/validation_evidence", "[]");
        case.set("/body/evidence", "[]");
    }

    #[test]
    fn table() {
        let four = ["/conversation/correlation_id", "/delivery/expires_at"];
        let six = [
            "/conversation/correlation_id",
            "/delivery/expires_at",
            "/provenance/log_ref",
            "/provenance/lineage",
            "/body/evidence",
            "/body/validation_evidence",
        ];
        let table: [(Level, &[&str]); 5] = [
            (Level::L0, &[]),
            (Level::L3, &[]),
            (Level::L4, &four),
            (Level::L5, &four),
            (Level::L6, &six),
        ];
        for (level, expected) in table.into_iter().chain([(Level::L7, six.as_slice())]) {
            let places = |change: fn(&mut Case)| -> Vec<String> {
                let found = found_at(level, check, change);
                let pointers = found.into_iter().map(|finding| finding.pointer.unwrap());
                pointers.map(|pointer| pointer.as_str().to_owned()).collect()
            };
            assert_eq!(places(bare), expected, "{level:?}");
            assert_eq!(places(|_| {}), <[String; 0]>::default(), "{level:?}, whole");
        }
    }

    #[test]
    fn an_object_named_evidence_is_no_list() {
        let change = |case: &mut Case| case.set("/body/evidence", r#"{"recorded":true}"#);
        assert_eq!(found_at(Level::L6, check, change), []);
    }
}
