//! `conformance.summary`: a summary counts what its results say.
//!
//! # What it checks
//! In a conformance result, `summary.passed`, `failed` and `warnings` are the numbers of results with outcome `pass`,
//! `fail` and `warning`.
//!
//! # Why
//! Most readers read the summary only.
//!
//! # Contract
//! §9, `conformance.summary`.
//!
//! # Outcome
//! 422 ERR_SCHEMA_VIOLATION, one finding for each number that is wrong.
//!
//! # Example
//! `"summary": {"passed": 1, "failed": 0, "warnings": 0}` above one result with outcome `fail`.

use super::{Input, place};
use crate::contract::{Finding, Rule};

pub(super) const RULES: &[Rule] = &[Rule::ConformanceSummary];

const COUNTS: [(&str, &str); 3] = [("passed", "pass"), ("failed", "fail"), ("warnings", "warning")];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    if input.message.profile() != Some("uai.conformance.result.v1") {
        return;
    }
    let results = input.message.at(&["body", "results"]).and_then(|node| node.elements());
    let results = results.unwrap_or_default();
    for (name, word) in COUNTS {
        let of_word = |outcome: &str| outcome == word;
        let outcomes = results
            .iter()
            .filter_map(|result| result.get("outcome")?.text())
            .filter(|outcome| of_word(outcome));
        let counted = u32::try_from(outcomes.count()).ok().map(f64::from);
        let path = &["body", "summary", name];
        let stated = input.message.at(path).and_then(|node| node.number());
        if stated.map(|number| number.value) != counted {
            let detail = format!("expected the number of results with the outcome `{word}`");
            findings.push(place::finding(input, Rule::ConformanceSummary, path, detail));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::*;

    #[test]
    fn table() {
        const RESULTS: &str = r#"[{"outcome":"pass"},{"outcome":"fail"},{"outcome":"pass"},{"outcome":"warning"}]"#;
        let table: [(&str, &str, &[&str]); 7] = [
            (r#"{"passed":2,"failed":1,"warnings":1}"#, RESULTS, &[]),
            (
                r#"{"passed":3,"failed":1,"warnings":1}"#,
                RESULTS,
                &["/body/summary/passed"],
            ),
            (
                r#"{"passed":2,"failed":0,"warnings":1}"#,
                RESULTS,
                &["/body/summary/failed"],
            ),
            (
                r#"{"passed":2,"failed":1,"warnings":0}"#,
                RESULTS,
                &["/body/summary/warnings"],
            ),
            (
                r#"{"passed":1,"failed":2,"warnings":1}"#,
                RESULTS,
                &["/body/summary/passed", "/body/summary/failed"],
            ),
            (r#"{"passed":0,"failed":0,"warnings":0}"#, "[]", &[]),
            (r#"{"passed":0,"failed":0}"#, "[]", &["/body/summary/warnings"]),
        ];
        for (summary, results, expected) in table {
            for (profile, expected) in [("uai.conformance.result.v1", expected), ("uai.agent.ack.v1", &[])] {
                let found = found(check, |case| {
                    case.set("/profile", &format!("\"{profile}\""));
                    case.set("/body/summary", summary);
                    case.set("/body/results", results);
                });
                let places: Vec<&str> = found
                    .iter()
                    .map(|finding| finding.pointer.as_ref().unwrap().as_str())
                    .collect();
                assert_eq!(places, expected, "{profile} {summary}");
            }
        }
    }
}
