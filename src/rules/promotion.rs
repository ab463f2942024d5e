//! `memory.cold-promotion`: only what was reviewed can become current truth.
//!
//! # What it checks
//! A memory proposal with `proposed_status` `current_truth` has `source_type` `reviewed`.
//!
//! # Why
//! What nobody has looked at since it was written must not turn into what everybody acts on.
//!
//! # Contract
//! §9, `memory.cold-promotion`.
//!
//! # Outcome
//! 422 ERR_SCHEMA_VIOLATION.
//!
//! # Example
//! `"source_type": "cold_memory", "proposed_status": "current_truth"`.

use super::{Input, place};
use crate::contract::{Finding, Rule};

pub(super) const RULES: &[Rule] = &[Rule::MemoryColdPromotion];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let is_proposal = input.message.profile() == Some("uai.agent.memory-proposal.v1");
    let promotes = input.message.text(&["body", "proposed_status"]) == Some("current_truth");
    let is_reviewed = input.message.text(&["body", "source_type"]) == Some("reviewed");
    if is_proposal && promotes && !is_reviewed {
        let detail = "expected `candidate` or `reviewed`, as the source is not reviewed";
        let path = &["body", "proposed_status"];
        findings.push(place::finding(input, Rule::MemoryColdPromotion, path, detail));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::rules_found;
    use super::*;

    #[test]
    fn table() {
        for source in [
            "reviewed",
            "task_result",
            "cold_memory",
            "imported",
            "generated",
            "other",
        ] {
            for status in ["candidate", "reviewed", "current_truth"] {
                for profile in ["uai.agent.memory-proposal.v1", "uai.agent.ack.v1"] {
                    let found = rules_found(check, |case| {
                        case.set("/profile", &format!("\"{profile}\""));
                        case.set("/body/source_type", &format!("\"{source}\""));
                        case.set("/body/proposed_status", &format!("\"{status}\""));
                    });
                    let is_wrong =
                        profile.ends_with("proposal.v1") && status == "current_truth" && source != "reviewed";
                    let expected: &[Rule] = if is_wrong { &[Rule::MemoryColdPromotion] } else { &[] };
                    assert_eq!(found, expected, "{profile} {source} {status}");
                }
            }
        }
    }
}
