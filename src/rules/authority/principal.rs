//! `trust.principal-mismatch`: a message names no other principal than the proven one.
//!
//! # What it checks
//! `trust.principal`, where a principal is proven, is its name or one of its aliases.
//!
//! # Why
//! What the backend reads in `trust` must be what the gateway proved.
//!
//! # Contract
//! §7, "Trust members". A key that belongs to no principal proves none.
//!
//! # Outcome
//! 403 ERR_AUTHORITY_VIOLATION with trigger `authority_boundary_conflict`, a No-Op.
//!
//! # Example
//! `"principal": "https://other.example"` with a token of `worker-7`.

use super::super::{Input, place};
use super::{Authority, proven};
use crate::contract::{Finding, Rule};

pub(in crate::rules) const RULES: &[Rule] = &[Rule::TrustPrincipalMismatch];

const PATH: &[&str] = &["trust", "principal"];

pub(in crate::rules) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let Some(named) = input.message.text(PATH) else {
        return;
    };
    let is_it = match proven(input.policy, input.facts) {
        Authority::Nobody => true,
        Authority::Stranger => false,
        Authority::Principal(principal) => principal.aliases.iter().any(|alias| alias == named),
    };
    if !is_it {
        let detail = "expected a name of the proven principal";
        findings.push(place::finding(input, Rule::TrustPrincipalMismatch, PATH, detail));
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{Row, presented, principal, rules_found, signed_by};
    use super::*;

    #[test]
    fn table() {
        const REFUSED: &[Rule] = &[Rule::TrustPrincipalMismatch];
        let table: &[Row] = &[
            ("nobody is proven", |_| {}, &[]),
            ("an alias", |case| presented(case, "anna"), &[]),
            (
                "no alias",
                |case| {
                    presented(case, "anna");
                    principal(case, "anna").aliases = vec!["anna".to_owned()];
                },
                REFUSED,
            ),
            (
                "its own name",
                |case| {
                    presented(case, "anna");
                    principal(case, "anna").aliases = vec!["anna".to_owned()];
                    case.set("/trust/principal", "\"anna\"");
                },
                &[],
            ),
            (
                "the presenter's name under the signer's message",
                |case| {
                    presented(case, "anna");
                    signed_by(case, Some("bert"));
                    case.set("/trust/principal", "\"anna\"");
                },
                REFUSED,
            ),
            ("a key of nobody", |case| signed_by(case, None), &[]),
            ("a signer that is gone", |case| signed_by(case, Some("carl")), REFUSED),
            (
                "nothing named",
                |case| {
                    signed_by(case, Some("carl"));
                    case.set("/trust/principal", "null");
                },
                &[],
            ),
        ];
        for (name, change, expected) in table {
            assert_eq!(rules_found(check, *change), *expected, "{name}");
        }
    }
}
