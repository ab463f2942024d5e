//! `response.task-ref`: who accepts work says under which reference it can be followed, and says it once.
//!
//! # What it checks
//! An intent response with `status` `accepted` has `body.task_ref` or `delivery.task_ref`. Of any status: when both are
//! there, they are equal.
//!
//! # Why
//! Accepted work that nobody can ask about is lost work.
//!
//! # Contract
//! §9, `response.task-ref`.
//!
//! # Outcome
//! 422 ERR_SCHEMA_VIOLATION.
//!
//! # Example
//! `"status": "accepted"` without a task reference.

use super::{Input, place};
use crate::contract::{Finding, Rule};

pub(super) const RULES: &[Rule] = &[Rule::ResponseTaskRef];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    if input.message.profile() != Some("uai.intent.response.v1") {
        return;
    }
    let own = input.message.text(&["body", "task_ref"]);
    let of_delivery = input.message.text(&["delivery", "task_ref"]);
    let is_accepted = input.message.text(&["body", "status"]) == Some("accepted");
    let detail = match (own, of_delivery) {
        (None, None) if is_accepted => "expected this member, or `delivery.task_ref`, as the work is accepted",
        (Some(own), Some(other)) if own != other => "expected the same reference as `delivery.task_ref`",
        (Some(_) | None, Some(_) | None) => return,
    };
    let path = &["body", "task_ref"];
    findings.push(place::finding(input, Rule::ResponseTaskRef, path, detail));
}

#[cfg(test)]
mod tests {
    use super::super::testing::rules_found;
    use super::*;

    #[test]
    fn table() {
        let table = [
            ("accepted", "\"t1\"", "\"t1\"", true),
            ("accepted", "\"t1\"", "null", true),
            ("accepted", "null", "\"t1\"", true),
            ("accepted", "null", "null", false),
            ("accepted", "\"t1\"", "\"t2\"", false),
            ("completed", "null", "null", true),
            ("completed", "\"t1\"", "\"t2\"", false),
            ("rejected", "null", "\"t1\"", true),
        ];
        for (status, own, other, passes) in table {
            let found = |profile: &str| {
                rules_found(check, |case| {
                    case.set("/profile", &format!("\"{profile}\""));
                    case.set("/body/status", &format!("\"{status}\""));
                    case.set("/body/task_ref", own);
                    case.set("/delivery/task_ref", other);
                })
            };
            let expected: &[Rule] = if passes { &[] } else { &[Rule::ResponseTaskRef] };
            assert_eq!(found("uai.intent.response.v1"), expected, "{status} {own} {other}");
            assert_eq!(found("uai.agent.ack.v1"), [], "another profile");
        }
    }
}
