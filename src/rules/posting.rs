//! `capability.idempotency`: a record that declares POST operations carries an idempotency key itself.
//!
//! # What it checks
//! A capability profile with `can_post_data`, and a capability statement with an operation that has an `input_profile`,
//! have `delivery.idempotency_key`, also where the route relaxes it.
//!
//! # Why
//! Who posts repeats; a party that cannot name its own message once cannot be told twice from once.
//!
//! # Contract
//! §9, `capability.idempotency`; §2.3 for `relax_base`.
//!
//! # Outcome
//! 422 ERR_SCHEMA_VIOLATION.
//!
//! # Example
//! `"can_post_data": true` without an idempotency key, on a route with `relax_base`.

use super::{Input, place};
use crate::contract::{Finding, Rule};
use crate::message::json::Node;

pub(super) const RULES: &[Rule] = &[Rule::CapabilityIdempotency];

const PATH: &[&str] = &["delivery", "idempotency_key"];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let posts = match input.message.profile() {
        Some("uai.capability.profile.v1") => {
            let can = input.message.at(&["body", "can_post_data"]);
            can.is_some_and(|node| node.truth() != Some(false))
        }
        Some("uai.capability.statement.v1") => {
            let operations = input.message.at(&["body", "operations"]);
            let operations = operations.and_then(|node| node.elements()).unwrap_or_default();
            let takes_input = |profile: Option<&Node<'_>>| profile.is_some_and(|node| !node.is_null());
            operations
                .iter()
                .any(|operation| takes_input(operation.get("input_profile")))
        }
        Some(_) | None => false,
    };
    if posts && input.message.text(PATH).is_none() {
        let detail = "expected this member, as the record declares POST operations";
        findings.push(place::finding(input, Rule::CapabilityIdempotency, PATH, detail));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::rules_found;
    use super::*;

    #[test]
    fn table() {
        let table = [
            ("uai.capability.profile.v1", "can_post_data", "true", false),
            ("uai.capability.profile.v1", "can_post_data", "false", true),
            (
                "uai.capability.statement.v1",
                "operations",
                r#"[{"name":"a"},{"name":"b","input_profile":"uai.agent.ack.v1"}]"#,
                false,
            ),
            (
                "uai.capability.statement.v1",
                "operations",
                r#"[{"name":"a","input_profile":null,"output_profile":"uai.agent.ack.v1"}]"#,
                true,
            ),
            ("uai.agent.ack.v1", "can_post_data", "true", true),
        ];
        for (profile, member, value, passes_without) in table {
            for (key, passes) in [("null", passes_without), ("\"idem_1\"", true)] {
                let found = rules_found(check, |case| {
                    case.set("/profile", &format!("\"{profile}\""));
                    case.set(&format!("/body/{member}"), value);
                    case.set("/delivery/idempotency_key", key);
                });
                let expected: &[Rule] = if passes { &[] } else { &[Rule::CapabilityIdempotency] };
                assert_eq!(found, expected, "{profile} {value} {key}");
            }
        }
    }
}
