//! `status.public-safe`: a task status tells nothing about the machines behind it.
//!
//! # What it checks
//! No text in the body of a task status carries a private address, an internal host name, a path under `/home`, `/var`
//! or `C:\`, or a stack trace.
//!
//! # Why
//! A status goes to whoever follows the task. It must not map the network of whoever works on it.
//!
//! # Contract
//! §9, `status.public-safe`; both task-status profiles.
//!
//! # Outcome
//! 422 ERR_SCHEMA_VIOLATION, one finding for each text.
//!
//! # Example
//! `"summary": "The worker on 10.0.0.7 stopped."`

use super::private::text::leak;
use super::texts::{self, Part};
use super::{Input, place};
use crate::contract::{Finding, Rule};

pub(super) const RULES: &[Rule] = &[Rule::StatusPublicSafe];

const PROFILES: &[&str] = &["uai.agent.task-status.v1", "uai.task.status.v1"];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let is_status = input
        .message
        .profile()
        .is_some_and(|profile| PROFILES.contains(&profile));
    let Some(body) = input.message.body().filter(|_body| is_status) else {
        return;
    };
    texts::below(body, &mut vec![Part::Name("body")], &mut |text, path| {
        if let Some(what) = leak(text) {
            let detail = format!("expected text without {what}");
            let pointer = texts::pointer(path);
            findings.push(place::at(
                input.message.root(),
                Rule::StatusPublicSafe,
                &pointer,
                detail,
            ));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::*;

    #[test]
    fn table() {
        const PRIVATE: &str = "\"The worker on 10.0.0.7 stopped.\"";
        let table: [(&str, &str, &[&str]); 5] = [
            ("/body/summary", PRIVATE, &["/body/summary"]),
            ("/body/blockers/0", PRIVATE, &["/body/blockers/0"]),
            ("/body/support_boundary", PRIVATE, &["/body/support_boundary"]),
            ("/body/summary", "\"The worker stopped.\"", &[]),
            ("/source/label", PRIVATE, &[]),
        ];
        for (place, value, expected) in table {
            for profile in PROFILES.iter().chain(&["uai.agent.ack.v1"]) {
                let found = found(check, |case| {
                    case.set("/profile", &format!("\"{profile}\""));
                    case.set("/body/blockers", "[\"none\"]");
                    case.set(place, value);
                });
                let places: Vec<&str> = found
                    .iter()
                    .map(|finding| finding.pointer.as_ref().unwrap().as_str())
                    .collect();
                let expected = if PROFILES.contains(profile) { expected } else { &[] };
                assert_eq!(places, expected, "{profile} {place}");
            }
        }
    }
}
