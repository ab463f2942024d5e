//! Stages 5 to 15 as pure functions, one file a rule, one line in [`RULES`].
//!
//! A check sees the policy, the route, the message and the facts, and reports findings. It has no clock, no socket,
//! no log and no state (ARCHITECTURE, invariant 3).

pub mod hold;
pub mod idempotency;

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
pub const RULES: &[Entry] = &[];
