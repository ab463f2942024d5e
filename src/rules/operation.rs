//! `capability.operation`: no operation that this agent does not declare here.
//!
//! # What it checks
//! On a route that lists operations: `intent` of an intent request, `requested_operation` of a negotiation and
//! `action_type` of an agent message are among them; exact, case-sensitive comparison. A route that lists none takes any.
//!
//! # Why
//! A profile says what form a wish has. Which wishes the agent takes is for its operator to say.
//!
//! # Contract
//! §4, "Capability (stage 6)".
//!
//! # Outcome
//! 422 ERR_CAPABILITY_MISMATCH.
//!
//! # Example
//! `"intent": "delete"` on a route with `operations: [summarise]`.

use super::{Input, place};
use crate::contract::{Finding, Rule};

pub(super) const RULES: &[Rule] = &[Rule::CapabilityOperation];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let declared = &input.declared.operations;
    let name = match input.message.profile() {
        Some("uai.intent.request.v1") => "intent",
        Some("uai.capability.negotiation.v1") => "requested_operation",
        Some("uai.agent.message.v1") => "action_type",
        Some(_) | None => return,
    };
    let asked = input.message.text(&["body", name]);
    if !declared.is_empty() && asked.is_some_and(|asked| !declared.iter().any(|operation| operation == asked)) {
        let detail = format!("expected an operation of this route: {}", declared.join(", "));
        let path = &["body", name];
        findings.push(place::finding(input, Rule::CapabilityOperation, path, detail));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::rules_found;
    use super::*;

    #[test]
    fn table() {
        let places = [
            ("uai.intent.request.v1", "intent"),
            ("uai.capability.negotiation.v1", "requested_operation"),
            ("uai.agent.message.v1", "action_type"),
        ];
        let table: [(&[&str], &str, bool); 6] = [
            (&[], "\"delete\"", true),
            (&["read", "delete"], "\"delete\"", true),
            (&["read"], "\"delete\"", false),
            (&["delete"], "\"Delete\"", false),
            (&["read"], "null", true),
            (&["read"], "7", true),
        ];
        for (profile, member) in places {
            for (declared, asked, passes) in table {
                let found = |profile: &str| {
                    rules_found(check, |case| {
                        case.declared.operations = declared.iter().map(|word| (*word).to_owned()).collect();
                        case.set("/profile", &format!("\"{profile}\""));
                        case.set(&format!("/body/{member}"), asked);
                    })
                };
                let expected: &[Rule] = if passes { &[] } else { &[Rule::CapabilityOperation] };
                assert_eq!(found(profile), expected, "{profile} {declared:?} {asked}");
                assert_eq!(found("uai.agent.ack.v1"), [], "another profile");
            }
        }
    }
}
