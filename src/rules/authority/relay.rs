//! `authority.relay`: who presents a signed message signed it, or is a declared relay of who did.
//!
//! # What it checks
//! Where both are proven, presenter and signer are one principal, or the presenter lists the signer in `relays`. A key
//! that belongs to no principal is nobody's, so nobody but itself may present what it signed.
//!
//! # Why
//! A captured message must not be brought by anybody.
//!
//! # Contract
//! §7, "One principal".
//!
//! # Outcome
//! 403 ERR_AUTHORITY_VIOLATION with trigger `authority_boundary_conflict`, a No-Op.
//!
//! # Example
//! A token of an agent that relays for nobody, with a message that another agent signed.

use super::super::Input;
use super::{presenter, signed};
use crate::contract::{Finding, Rule};

pub(in crate::rules) const RULES: &[Rule] = &[Rule::AuthorityRelay];

pub(in crate::rules) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let (Some(presenter), Some(signed)) = (presenter(input.facts), signed(input.facts)) else {
        return;
    };
    let is_taken = signed.principal.as_ref().is_some_and(|signer| {
        let relays = |name: &str| {
            let principal = input.policy.trust.principal(name);
            principal.is_some_and(|principal| principal.relays.iter().any(|relayed| **relayed == **signer))
        };
        *signer == presenter.principal || relays(&presenter.principal)
    });
    if !is_taken {
        let detail = "expected a message that its presenter signed, or of a signer that it relays for";
        findings.push(Finding::new(Rule::AuthorityRelay, detail));
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{Row, presented, principal, rules_found, signed_by};
    use super::*;

    #[test]
    fn table() {
        let table: &[Row] = &[
            ("nobody", |_| {}, &[]),
            ("only presented", |case| presented(case, "anna"), &[]),
            ("only signed", |case| signed_by(case, Some("bert")), &[]),
            (
                "presented by its signer",
                |case| {
                    presented(case, "bert");
                    signed_by(case, Some("bert"));
                },
                &[],
            ),
            (
                "presented by somebody else",
                |case| {
                    presented(case, "anna");
                    signed_by(case, Some("bert"));
                },
                &[Rule::AuthorityRelay],
            ),
            (
                "presented by a relay",
                |case| {
                    presented(case, "anna");
                    signed_by(case, Some("bert"));
                    principal(case, "anna").relays = vec!["bert".to_owned()];
                },
                &[],
            ),
            (
                "a relay the other way round",
                |case| {
                    presented(case, "anna");
                    signed_by(case, Some("bert"));
                    principal(case, "bert").relays = vec!["anna".to_owned()];
                },
                &[Rule::AuthorityRelay],
            ),
            (
                "a key of nobody",
                |case| {
                    presented(case, "anna");
                    signed_by(case, None);
                },
                &[Rule::AuthorityRelay],
            ),
        ];
        for (name, change, expected) in table {
            assert_eq!(rules_found(check, *change), *expected, "{name}");
        }
    }
}
