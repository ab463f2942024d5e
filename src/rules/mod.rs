//! Stages 5 to 15 as pure functions, one file a rule, one line in [`RULES`].
//!
//! A check sees the policy, the route, the message and the facts, and reports findings. It has no clock, no socket,
//! no log and no state (ARCHITECTURE, invariant 3).

mod action;
pub mod addressing;
mod blocker;
mod channel;
mod claims;
mod conflict;
mod consent;
mod extension;
mod freshness;
pub mod hold;
pub mod idempotency;
mod integrity;
mod lineage;
mod mode;
mod operation;
mod place;
mod posting;
mod private;
mod probe;
mod profile;
mod progress;
mod promotion;
mod public_safe;
mod report;
mod response;
mod revision;
mod schema;
mod signature;
mod statement;
mod summary;
#[cfg(test)]
pub(crate) mod testing;
mod texts;
mod unseen;
mod workflow;

use crate::contract::{Finding, Rule, Stage};
use crate::facts::Facts;
use crate::message::envelope::Message;
use crate::policy::{Messages, Policy, Route};

/// Everything a check may look at.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The policy in force.
    pub policy: &'a Policy,
    /// The route that was matched.
    pub route: &'a Route,
    /// What that route declares about messages.
    pub declared: &'a Messages,
    /// The message, past stages 3 and 4.
    pub message: &'a Message<'a>,
    /// What the gateway found out besides.
    pub facts: &'a Facts<'a>,
}

/// One line of the table: the rules that one check can report, all of one stage, and the check.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The rules this check reports, in table order; never empty.
    pub rules: &'static [Rule],
    /// Reports what is wrong; nothing when all is well.
    pub check: fn(&Input<'_>, &mut Vec<Finding>),
}

impl Entry {
    /// The stage at which the check runs.
    pub fn stage(&self) -> Stage {
        self.rules.first().map_or(Stage::Any, |rule| rule.stage())
    }
}

/// Every built check, in the order of the stages.
pub const RULES: &[Entry] = &[
    // 5, addressing
    entry(addressing::RULES, addressing::check),
    // 6, capability
    entry(mode::UNKNOWN, mode::check_known),
    entry(profile::UNKNOWN, profile::check_known),
    entry(mode::UNDECLARED, mode::check_declared),
    entry(profile::UNDECLARED, profile::check_declared),
    entry(extension::RULES, extension::check),
    entry(operation::RULES, operation::check),
    entry(revision::RULES, revision::check),
    // 7, schema
    entry(schema::RULES, schema::check),
    entry(idempotency::RULES, idempotency::check),
    // 8, integrity
    entry(integrity::RULES, integrity::check),
    // 9, signature
    entry(signature::RULES, signature::check),
    // 10, authority
    entry(channel::RULES, channel::check),
    // 11, freshness
    entry(freshness::RULES, freshness::check),
    // 12, semantics
    entry(claims::RULES, claims::check),
    entry(action::RULES, action::check),
    entry(claims::widening::RULES, claims::widening::check),
    entry(probe::RULES, probe::check),
    entry(lineage::RULES, lineage::check),
    entry(promotion::RULES, promotion::check),
    entry(report::RULES, report::check),
    entry(blocker::RULES, blocker::check),
    entry(response::RULES, response::check),
    entry(progress::RULES, progress::check),
    entry(summary::RULES, summary::check),
    entry(statement::RULES, statement::check),
    entry(consent::RULES, consent::check),
    entry(posting::RULES, posting::check),
    entry(workflow::RULES, workflow::check),
    entry(conflict::RULES, conflict::check),
    entry(public_safe::RULES, public_safe::check),
    // 15, firewall
    entry(hold::RULES, hold::check),
];

/// Whether a person has to decide about the message if it is valid: a rule marked H in contract §6.2 finds something.
/// Asked whatever stage decides, as an observe route must not let such a message through (§1).
pub fn asks_for_a_person(input: &Input<'_>) -> bool {
    RULES
        .iter()
        .filter(|entry| entry.rules.iter().any(|rule| rule.asks_to_hold()))
        .any(|entry| {
            let mut findings = Vec::new();
            (entry.check)(input, &mut findings);
            findings.iter().any(|finding| finding.rule.asks_to_hold())
        })
}

const fn entry(rules: &'static [Rule], check: fn(&Input<'_>, &mut Vec<Finding>)) -> Entry {
    Entry { rules, check }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_built_rule_of_these_stages_has_exactly_one_check() {
        // Stage 13 is the admit commit, which no pure check can judge.
        let judged = |rule: &&Rule| {
            (Stage::Addressing..=Stage::Firewall).contains(&rule.stage()) && rule.stage() != Stage::Replay
        };
        let built: Vec<Rule> = Rule::ALL
            .iter()
            .filter(judged)
            .filter(|rule| rule.is_built())
            .copied()
            .collect();
        let mut reported: Vec<Rule> = RULES.iter().flat_map(|entry| entry.rules).copied().collect();
        reported.sort();
        assert_eq!(reported, built);
    }

    #[test]
    fn an_entry_keeps_to_one_stage_and_the_table_to_their_order() {
        for entry in RULES {
            let stages: BTreeSet<Stage> = entry.rules.iter().map(|rule| rule.stage()).collect();
            assert_eq!(stages.len(), 1, "{entry:?}");
        }
        assert!(RULES.windows(2).all(|pair| pair[0].stage() <= pair[1].stage()));
    }
}
