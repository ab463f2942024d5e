//! `capability.revision`: a client that relies on a capability document relies on the current one.
//!
//! # What it checks
//! The `UAI-Capability-Revision` field, when a client sends one, is the revision of the capability document that the
//! policy in force makes.
//!
//! # Why
//! A client that acts on what the agent once declared must learn that it no longer does.
//!
//! # Contract
//! §2.4, "Capability document".
//!
//! # Outcome
//! 422 ERR_CAPABILITY_MISMATCH.
//!
//! # Example
//! `UAI-Capability-Revision: 0f3a…`.

use super::Input;
use crate::contract::{Finding, Rule};
use crate::facts::Fact;

pub(super) const RULES: &[Rule] = &[Rule::CapabilityRevision];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    match input.facts.capability_revision {
        Fact::Absent => {}
        Fact::Known(revision) if revision == input.policy.capability_revision => {}
        Fact::Known(_) | Fact::Unavailable => findings.push(Finding::new(
            Rule::CapabilityRevision,
            "expected the current revision, which the answer carries in `UAI-Capability-Revision`",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Row, rules_found};
    use super::*;

    #[test]
    fn table() {
        let table: &[Row] = &[
            ("none sent", |_| {}, &[]),
            (
                "the current one",
                |case| case.facts.capability_revision = Fact::Known("current"),
                &[],
            ),
            (
                "another one",
                |case| case.facts.capability_revision = Fact::Known("0f"),
                &[Rule::CapabilityRevision],
            ),
            (
                "several sent",
                |case| case.facts.capability_revision = Fact::Unavailable,
                &[Rule::CapabilityRevision],
            ),
        ];
        for (name, change, expected) in table {
            assert_eq!(rules_found(check, *change), *expected, "{name}");
        }
    }
}
