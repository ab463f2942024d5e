//! `delivery.conflict`: how a message wants to be delivered does not contradict what it is.
//!
//! # What it checks
//! `mode` `sync` does not go with `lifecycle` `submitted` or `accepted`. A response (intent response, error,
//! acknowledgement) does not want an acknowledgement without a reply: `ack_required` goes with `reply_requested`. A
//! `uai.task.status.v1` has `delivery.task_ref`.
//!
//! # Why
//! Two readings of one delivery end in a message that is waited for by one side only.
//!
//! # Contract
//! §9, `delivery.conflict`.
//!
//! # Outcome
//! 422 ERR_SCHEMA_VIOLATION.
//!
//! # Example
//! `"mode": "sync", "lifecycle": "accepted"`.

use super::{Input, place};
use crate::contract::{Finding, Rule};

pub(super) const RULES: &[Rule] = &[Rule::DeliveryConflict];

/// Profiles that answer another message.
const RESPONSES: &[&str] = &["uai.intent.response.v1", "uai.error.v1", "uai.agent.ack.v1"];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let profile = input.message.profile().unwrap_or_default();
    let text = |name| input.message.text(&["delivery", name]);
    let truth = |name| input.message.at(&["delivery", name]).and_then(|node| node.truth());
    let mut find = |name, detail| {
        findings.push(place::finding(
            input,
            Rule::DeliveryConflict,
            &["delivery", name],
            detail,
        ));
    };
    if text("mode") == Some("sync") && matches!(text("lifecycle"), Some("submitted" | "accepted")) {
        find(
            "lifecycle",
            "expected a lifecycle that ends at once, as the mode is `sync`",
        );
    }
    let wants_answer = truth("ack_required") == Some(true) && truth("reply_requested") != Some(true);
    if wants_answer && RESPONSES.contains(&profile) {
        find("ack_required", "expected `false` in a response that requests no reply");
    }
    if profile == "uai.task.status.v1" && text("task_ref").is_none() {
        find("task_ref", "expected this member in a task status");
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::*;

    fn places(profile: &str, members: &[(&str, &str)]) -> Vec<String> {
        let found = found(check, |case| {
            case.set("/profile", &format!("\"{profile}\""));
            for (name, value) in members {
                case.set(&format!("/delivery/{name}"), value);
            }
        });
        let pointers = found.into_iter().map(|finding| finding.pointer.unwrap());
        pointers.map(|pointer| pointer.as_str().to_owned()).collect()
    }

    #[test]
    fn mode_and_lifecycle() {
        for mode in ["sync", "async", "stream"] {
            for lifecycle in ["draft", "submitted", "accepted", "in_progress", "completed"] {
                let members = [
                    ("mode", format!("\"{mode}\"")),
                    ("lifecycle", format!("\"{lifecycle}\"")),
                ];
                let members: Vec<(&str, &str)> = members.iter().map(|(name, value)| (*name, value.as_str())).collect();
                let is_wrong = mode == "sync" && matches!(lifecycle, "submitted" | "accepted");
                let expected: &[&str] = if is_wrong { &["/delivery/lifecycle"] } else { &[] };
                assert_eq!(places("uai.agent.handoff.v1", &members), expected, "{mode} {lifecycle}");
            }
        }
    }

    #[test]
    fn acknowledgement_and_reply() {
        for profile in RESPONSES.iter().chain(&["uai.agent.handoff.v1"]) {
            for (ack, reply, fits) in [
                ("true", "false", false),
                ("true", "true", true),
                ("false", "false", true),
                ("false", "true", true),
            ] {
                let is_wrong = !fits && RESPONSES.contains(profile);
                let expected: &[&str] = if is_wrong { &["/delivery/ack_required"] } else { &[] };
                let members = [("ack_required", ack), ("reply_requested", reply)];
                assert_eq!(places(profile, &members), expected, "{profile} {ack} {reply}");
            }
        }
    }

    #[test]
    fn a_task_status_names_its_task() {
        let null: &[(&str, &str)] = &[("task_ref", "null")];
        assert_eq!(places("uai.task.status.v1", null), ["/delivery/task_ref"]);
        assert_eq!(
            places("uai.task.status.v1", &[("task_ref", "\"t\"")]),
            <[&str; 0]>::default()
        );
        assert_eq!(places("uai.agent.task-status.v1", null), <[&str; 0]>::default());
    }
}
