//! `progress.consistent`: a task status does not contradict itself.
//!
//! # What it checks
//! Submitted means progress 0; completed means progress 100, and 100 means completed; blocked names a blocker or a
//! reason; completed has no blockers.
//!
//! # Why
//! Whoever waits for a task acts on whichever half of a contradiction it reads.
//!
//! # Contract
//! §9, `progress.consistent`.
//!
//! # Outcome
//! 422 ERR_SCHEMA_VIOLATION.
//!
//! # Example
//! `"state": "in_progress", "progress": 100`.

use super::{Input, place};
use crate::contract::{Finding, Rule};

pub(super) const RULES: &[Rule] = &[Rule::ProgressConsistent];

const PROFILES: &[&str] = &["uai.agent.task-status.v1", "uai.task.status.v1"];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    if !input
        .message
        .profile()
        .is_some_and(|profile| PROFILES.contains(&profile))
    {
        return;
    }
    let state = input.message.text(&["body", "state"]).unwrap_or_default();
    let progress = input.message.at(&["body", "progress"]).and_then(|node| node.number());
    let progress = progress.map_or(f64::NAN, |number| number.value);
    let blockers = input.message.at(&["body", "blockers"]).and_then(|node| node.elements());
    let has_blockers = blockers.is_some_and(|blockers| !blockers.is_empty());
    let reason = input.message.text(&["body", "blocking_reason"]);
    let has_reason = reason.is_some_and(|reason| !reason.trim().is_empty());

    let mut find = |name, detail: &str| {
        findings.push(place::finding(input, Rule::ProgressConsistent, &["body", name], detail));
    };
    match state {
        "submitted" if progress != 0.0 => find("progress", "expected 0, as the task is submitted"),
        "completed" if progress != 100.0 => find("progress", "expected 100, as the task is completed"),
        "completed" => {}
        _ if progress == 100.0 => find("progress", "expected less than 100, as the task is not completed"),
        _ => {}
    }
    match state {
        "completed" if has_blockers => find("blockers", "expected none, as the task is completed"),
        "blocked" if !has_blockers && !has_reason => find("blockers", "expected at least one, as the task is blocked"),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::rules_found;
    use super::*;

    #[test]
    fn table() {
        let table = [
            ("submitted", "0", "[]", 0),
            ("submitted", "0.0", "[]", 0),
            ("submitted", "1", "[]", 1),
            ("submitted", "100", "[]", 1),
            ("accepted", "0", "[]", 0),
            ("in_progress", "99.9", "[]", 0),
            ("in_progress", "100", "[]", 1),
            ("failed", "100", "[]", 1),
            ("completed", "100", "[]", 0),
            ("completed", "99", "[]", 1),
            ("completed", "100", "[\"b\"]", 1),
            ("completed", "99", "[\"b\"]", 2),
            ("blocked", "40", "[\"b\"]", 0),
            ("blocked", "40", "[]", 1),
            ("blocked", "100", "[]", 2),
        ];
        for (state, progress, blockers, count) in table {
            for (profile, expected) in [("uai.agent.task-status.v1", count), ("uai.agent.ack.v1", 0)] {
                let found = rules_found(check, |case| {
                    case.set("/profile", &format!("\"{profile}\""));
                    case.set("/body/state", &format!("\"{state}\""));
                    case.set("/body/progress", progress);
                    case.set("/body/blockers", blockers);
                });
                assert_eq!(
                    found,
                    vec![Rule::ProgressConsistent; expected],
                    "{profile} {state} {progress} {blockers}"
                );
            }
        }
    }

    #[test]
    fn a_reason_stands_for_a_blocker() {
        let found = rules_found(check, |case| {
            case.set("/profile", "\"uai.task.status.v1\"");
            case.set("/body/state", "\"blocked\"");
            case.set("/body/progress", "40");
            case.set("/body/blocking_reason", "\"waiting for a key\"");
        });
        assert_eq!(found, []);
    }
}
