//! `blocker.review`: a blocker about authority, secrets or destruction asks for a person.
//!
//! # What it checks
//! `human_review_required` is true for the blocker types `authorization`, `secrets`, `destructive_action` and
//! `boundary_conflict`, and for any type outside the vocabulary, as nobody knows what it means.
//!
//! # Why
//! An agent must not be told that nobody needs to look at a secret that leaked.
//!
//! # Contract
//! §9, `blocker.review`; §3 for the vocabulary, which the schema leaves open because of this rule.
//!
//! # Outcome
//! 422 ERR_SCHEMA_VIOLATION.
//!
//! # Example
//! `"blocker_type": "secrets", "human_review_required": false`.

use super::{Input, place};
use crate::contract::{Finding, Rule};

pub(super) const RULES: &[Rule] = &[Rule::BlockerReview];

/// Types that an agent may settle without a person.
const WITHOUT_REVIEW: &[&str] = &["dependency", "validation", "scope", "access", "other"];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let is_blocker = input.message.profile() == Some("uai.agent.blocker.v1");
    let required = input
        .message
        .at(&["body", "human_review_required"])
        .and_then(|node| node.truth());
    let kind = input.message.text(&["body", "blocker_type"]);
    if is_blocker && required != Some(true) && !kind.is_some_and(|kind| WITHOUT_REVIEW.contains(&kind)) {
        let detail = "expected `true` for this type of blocker";
        findings.push(place::finding(
            input,
            Rule::BlockerReview,
            &["body", "human_review_required"],
            detail,
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::rules_found;
    use super::*;

    #[test]
    fn table() {
        let table = [
            ("authorization", false),
            ("secrets", false),
            ("destructive_action", false),
            ("boundary_conflict", false),
            ("a word of nobody", false),
            ("Dependency", false),
            ("dependency", true),
            ("validation", true),
            ("scope", true),
            ("access", true),
            ("other", true),
        ];
        for (kind, may_go_without) in table {
            let found = |required: bool, profile: &str| {
                rules_found(check, |case| {
                    case.set("/profile", &format!("\"{profile}\""));
                    case.set("/body/blocker_type", &format!("\"{kind}\""));
                    case.set("/body/human_review_required", if required { "true" } else { "false" });
                })
            };
            let expected: &[Rule] = if may_go_without { &[] } else { &[Rule::BlockerReview] };
            assert_eq!(found(false, "uai.agent.blocker.v1"), expected, "{kind}");
            assert_eq!(found(true, "uai.agent.blocker.v1"), [], "{kind}, reviewed");
            assert_eq!(found(false, "uai.agent.ack.v1"), [], "{kind}, another profile");
        }
    }
}
