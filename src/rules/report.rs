//! `report.evidence`: a final report says what was done and how anybody knows.
//!
//! # What it checks
//! `summary` and `exact_next_action` are not blank. Tests, skipped checks and evidence are not all empty. When files
//! were changed or added, there are tests, or a reason in `skipped_checks`. Blank entries count as none.
//!
//! # Why
//! "Done" is not a report; whoever acts on it next needs something to check.
//!
//! # Contract
//! §9, `report.evidence`.
//!
//! # Outcome
//! 422 ERR_SCHEMA_VIOLATION.
//!
//! # Example
//! `"files_changed": ["a"], "tests_run": [], "skipped_checks": []`.

use super::{Input, place};
use crate::contract::{Finding, Rule};

pub(super) const RULES: &[Rule] = &[Rule::ReportEvidence];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    if input.message.profile() != Some("uai.agent.final-report.v1") {
        return;
    }
    let mut find = |name, detail: &str| {
        findings.push(place::finding(input, Rule::ReportEvidence, &["body", name], detail));
    };
    for name in ["summary", "exact_next_action"] {
        if input
            .message
            .text(&["body", name])
            .is_none_or(|text| text.trim().is_empty())
        {
            find(name, "expected text");
        }
    }
    let some = |name| has_entries(input, name);
    let checked = some("tests_run") || some("skipped_checks");
    if !checked && !some("validation_evidence") {
        find("tests_run", "expected tests, skipped checks or evidence");
    } else if !checked && (some("files_changed") || some("new_files")) {
        find(
            "tests_run",
            "expected tests, or a reason in `skipped_checks`, as files were changed",
        );
    }
}

/// Whether a list of the body has an entry that is not blank.
fn has_entries(input: &Input<'_>, name: &str) -> bool {
    let list = input.message.at(&["body", name]).and_then(|node| node.elements());
    let is_text = |text: &str| !text.trim().is_empty();
    list.is_some_and(|entries| entries.iter().any(|entry| entry.text().is_some_and(is_text)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, Row, rules_found};
    use super::*;

    #[test]
    fn table() {
        fn lists(case: &mut Case, files: &str, tests: &str, skipped: &str, evidence: &str) {
            case.set("/body/files_changed", files);
            case.set("/body/tests_run", tests);
            case.set("/body/skipped_checks", skipped);
            case.set("/body/validation_evidence", evidence);
        }
        const FOUND: &[Rule] = &[Rule::ReportEvidence];
        let table: &[Row] = &[
            ("published final report", |_| {}, &[]),
            ("blank summary", |case| case.set("/body/summary", "\" \""), FOUND),
            (
                "blank next action",
                |case| case.set("/body/exact_next_action", "\"\\t\""),
                FOUND,
            ),
            ("nothing to show", |case| lists(case, "[]", "[]", "[]", "[]"), FOUND),
            (
                "nothing but blanks",
                |case| lists(case, "[]", "[\" \"]", "[]", "[]"),
                FOUND,
            ),
            (
                "evidence without files",
                |case| lists(case, "[]", "[]", "[]", "[\"e\"]"),
                &[],
            ),
            (
                "files with evidence only",
                |case| lists(case, "[\"f\"]", "[]", "[]", "[\"e\"]"),
                FOUND,
            ),
            (
                "files with tests",
                |case| lists(case, "[\"f\"]", "[\"t\"]", "[]", "[]"),
                &[],
            ),
            (
                "files with a reason",
                |case| lists(case, "[\"f\"]", "[]", "[\"why\"]", "[]"),
                &[],
            ),
            (
                "another profile",
                |case| {
                    lists(case, "[]", "[]", "[]", "[]");
                    case.set("/profile", "\"uai.agent.ack.v1\"");
                },
                &[],
            ),
        ];
        for (name, change, expected) in table {
            assert_eq!(rules_found(check, *change), *expected, "{name}");
        }
    }

    #[test]
    fn new_files_ask_for_tests_too() {
        let change = |case: &mut Case| {
            case.set("/body/files_changed", "[]");
            case.set("/body/new_files", "[\"f\"]");
            case.set("/body/tests_run", "[]");
        };
        assert_eq!(rules_found(check, change), [Rule::ReportEvidence]);
    }
}
