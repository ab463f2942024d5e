//! `profile.unknown`, `capability.profile`: the body's kind has a schema, and this agent takes it here.
//!
//! # What it checks
//! `profile` names a schema that is in force, and is among the profiles that the route declares.
//!
//! # Why
//! A body without a schema cannot be judged, and what cannot be judged is refused.
//!
//! # Contract
//! §3; §4, "Capability (stage 6)".
//!
//! # Outcome
//! 422 ERR_SCHEMA_VIOLATION with trigger `missing_profile`; 422 ERR_CAPABILITY_MISMATCH known but not declared.
//!
//! # Example
//! `"profile": "uai.agent.ack.v2"` is `profile.unknown`.

use super::{Input, place};
use crate::contract::{Finding, Rule};

pub(super) const UNKNOWN: &[Rule] = &[Rule::ProfileUnknown];
pub(super) const UNDECLARED: &[Rule] = &[Rule::CapabilityProfile];

pub(super) fn check_known(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let schemas = &input.policy.schemas;
    if input.message.profile().is_some_and(|profile| !schemas.knows(profile)) {
        let detail = "expected a profile that has a schema here";
        findings.push(place::finding(input, Rule::ProfileUnknown, &["profile"], detail));
    }
}

pub(super) fn check_declared(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let known = input
        .message
        .profile()
        .filter(|profile| input.policy.schemas.knows(profile));
    if known.is_some_and(|profile| !input.declared.profiles.iter().any(|declared| declared == profile)) {
        let detail = format!(
            "expected a profile of this route: {}",
            input.declared.profiles.join(", ")
        );
        findings.push(place::finding(input, Rule::CapabilityProfile, &["profile"], detail));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Row, rules_found};
    use super::*;

    #[test]
    fn table() {
        let both = |input: &Input<'_>, findings: &mut Vec<Finding>| {
            check_known(input, findings);
            check_declared(input, findings);
        };
        let table: &[Row] = &[
            ("declared", |_| {}, &[]),
            (
                "unknown",
                |case| case.set("/profile", "\"uai.agent.ack.v2\""),
                &[Rule::ProfileUnknown],
            ),
            (
                "published but without a schema",
                |case| case.set("/profile", "\"uai.client.limited-browser.v1\""),
                &[Rule::ProfileUnknown],
            ),
            (
                "not declared",
                |case| case.declared.profiles = Vec::new(),
                &[Rule::CapabilityProfile],
            ),
            ("no string", |case| case.set("/profile", "[]"), &[]),
        ];
        for (name, change, expected) in table {
            assert_eq!(rules_found(both, *change), *expected, "{name}");
        }
    }
}
