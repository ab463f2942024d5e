//! `action.execution`, `action.credential`: what acts on a machine or on a credential asks a person first.
//!
//! # What it checks
//! `action_type` of an agent message and `intent` of an intent request are none of the policy's `review_actions`. Case
//! does not matter, a blank, `-` or `.`
//! counts as `_`, and what cannot be seen does not count.
//!
//! # Why
//! A message is a wish. One that runs something or judges a credential must not become an order on its way.
//!
//! # Contract
//! §9. Both are marked H, and this version cannot hold, so they refuse; on an observe route too.
//!
//! # Outcome
//! 403 ERR_HUMAN_REVIEW_REQUIRED with trigger `runtime_execution_requested` or `credential_validation_requested`, a No-Op.
//!
//! # Example
//! `"action_type": "deploy"`.

use unicode_normalization::UnicodeNormalization;

use super::unseen::is_ignorable;
use super::{Input, place};
use crate::contract::{Finding, Rule};

pub(super) const RULES: &[Rule] = &[Rule::ActionExecution, Rule::ActionCredential];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let name = match input.message.profile() {
        Some("uai.agent.message.v1") => "action_type",
        Some("uai.intent.request.v1") => "intent",
        Some(_) | None => return,
    };
    let Some(action) = input.message.text(&["body", name]) else {
        return;
    };
    let action = normal(action);
    let words = &input.policy.review_actions;
    for (rule, words) in [
        (Rule::ActionExecution, &words.execution),
        (Rule::ActionCredential, &words.credential),
    ] {
        if words.iter().any(|word| normal(word) == action) {
            let detail = format!("expected a person to agree first to any of: {}", words.join(", "));
            findings.push(place::finding(input, rule, &["body", name], detail));
        }
    }
}

/// NFKC in lower case, with one way to part words and nothing that cannot be seen.
fn normal(word: &str) -> String {
    let seen: String = word.nfkc().filter(|letter| !is_ignorable(*letter)).collect();
    let letters = seen.trim().chars().flat_map(char::to_lowercase);
    letters
        .map(|letter| match letter {
            '-' | '.' | '\u{2010}' | '\u{2011}' => '_',
            blank if blank.is_whitespace() => '_',
            other => other,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::rules_found;
    use super::*;
    use crate::policy::ReviewActions;

    #[test]
    fn table() {
        let (run, judge) = (Rule::ActionExecution, Rule::ActionCredential);
        let mut table: Vec<(String, Vec<Rule>)> = [
            ("summarise", vec![]),
            ("executed", vec![]),
            ("not execute", vec![]),
            ("", vec![]),
            (" Execute ", vec![run]),
            ("DEPLOY", vec![run]),
            ("repository-write", vec![run]),
            ("repository write", vec![run]),
            ("Repository.Write", vec![run]),
            ("ｓｈｅｌｌ", vec![run]),
            ("validate-credential", vec![judge]),
            ("dep\u{200b}loy\u{ad}", vec![run]),
        ]
        .map(|(word, rules)| (word.to_owned(), rules))
        .into();
        let shipped = ReviewActions::default();
        table.extend(shipped.execution.into_iter().map(|word| (word, vec![run])));
        table.extend(shipped.credential.into_iter().map(|word| (word, vec![judge])));
        assert_eq!(table.len(), 12 + 5 + 3);
        for (word, expected) in table {
            for (profile, member) in [
                ("uai.agent.message.v1", "action_type"),
                ("uai.intent.request.v1", "intent"),
            ] {
                let found = |profile: &str| {
                    rules_found(check, |case| {
                        case.set("/profile", &format!("\"{profile}\""));
                        case.set(&format!("/body/{member}"), &format!("\"{word}\""));
                    })
                };
                assert_eq!(found(profile), expected, "{profile} {word}");
                assert_eq!(found("uai.agent.ack.v1"), [], "another profile, {word}");
            }
        }
    }

    #[test]
    fn the_policy_adds_words_and_one_word_may_ask_twice() {
        let found = rules_found(check, |case| {
            case.policy.review_actions.execution.push("Rotate-Key".to_owned());
            case.policy.review_actions.credential.push("rotate_key".to_owned());
            case.set("/profile", "\"uai.agent.message.v1\"");
            case.set("/body/action_type", "\"rotate_key\"");
        });
        assert_eq!(found, [Rule::ActionExecution, Rule::ActionCredential]);
    }
}
