//! `capability.consent`: a client that can change things says what a person must agree to.
//!
//! # What it checks
//! A capability profile with any of `can_post_data`, `can_authenticate`, `can_call_tools`, `can_store_memory`,
//! `can_coordinate_agents` has an entry in `requires_human_consent_for`. Blank entries count as none.
//!
//! # Why
//! "Can" is not "may".
//!
//! # Contract
//! §9, `capability.consent`.
//!
//! # Outcome
//! 422 ERR_SCHEMA_VIOLATION.
//!
//! # Example
//! `"can_post_data": true` without `requires_human_consent_for`.

use super::{Input, place};
use crate::contract::{Finding, Rule};

pub(super) const RULES: &[Rule] = &[Rule::CapabilityConsent];

const WRITES: &[&str] = &[
    "can_post_data",
    "can_authenticate",
    "can_call_tools",
    "can_store_memory",
    "can_coordinate_agents",
];

const PATH: &[&str] = &["body", "requires_human_consent_for"];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    if input.message.profile() != Some("uai.capability.profile.v1") {
        return;
    }
    let can = |name: &&str| {
        let member = input.message.at(&["body", name]);
        member.is_some_and(|node| node.truth() != Some(false))
    };
    let is_text = |text: &str| !text.trim().is_empty();
    let consent = input.message.at(PATH).and_then(|node| node.elements());
    let asks = consent.is_some_and(|entries| entries.iter().any(|entry| entry.text().is_some_and(is_text)));
    if WRITES.iter().any(can) && !asks {
        let detail = "expected at least one entry, as the client can change things";
        findings.push(place::finding(input, Rule::CapabilityConsent, PATH, detail));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::rules_found;
    use super::*;

    #[test]
    fn table() {
        let all = [
            "can_fetch_static",
            "can_fetch_json",
            "can_post_data",
            "can_authenticate",
            "can_call_tools",
            "can_run_long_tasks",
            "can_store_memory",
            "can_coordinate_agents",
        ];
        for only in all {
            for (consent, asks) in [
                ("null", false),
                ("[]", false),
                ("[\" \"]", false),
                ("[\"payments\"]", true),
            ] {
                let found = |profile: &str| {
                    rules_found(check, |case| {
                        case.set("/profile", &format!("\"{profile}\""));
                        for name in all {
                            let truth = if name == only { "true" } else { "false" };
                            case.set(&format!("/body/{name}"), truth);
                        }
                        case.set("/body/requires_human_consent_for", consent);
                    })
                };
                let is_wrong = WRITES.contains(&only) && !asks;
                let expected: &[Rule] = if is_wrong { &[Rule::CapabilityConsent] } else { &[] };
                assert_eq!(found("uai.capability.profile.v1"), expected, "{only} {consent}");
                assert_eq!(found("uai.agent.ack.v1"), [], "another profile");
            }
        }
    }
}
