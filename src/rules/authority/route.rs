//! `authority.route`: who is proven may use this route.
//!
//! # What it checks
//! Presenter and signer are principals of the policy, and this route is one of theirs where they name any. An observer
//! only reads. The dispatch route takes messages of a coordinator or an orchestrator, and of nobody else. A route that
//! names `credentials` has a proven presenter.
//!
//! # Why
//! Being known is not being allowed.
//!
//! # Contract
//! §7, "Authority". Routes without an envelope are judged too. Routes bind the presenter and the signer; the role is the
//! signer's, or the presenter's when nobody signed.
//!
//! # Outcome
//! 403 ERR_AUTHORITY_VIOLATION with trigger `authority_boundary_conflict`, a No-Op.
//!
//! # Example
//! An observer that posts.

use super::super::Input;
use super::{Authority, proven, signed};
use crate::contract::{Finding, Rule};
use crate::facts::{Fact, Facts};
use crate::policy::{Policy, Principal, Role, Route};

pub(in crate::rules) const RULES: &[Rule] = &[Rule::AuthorityRoute];

pub(in crate::rules) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    check_plain(input.policy, input.route, input.facts, findings);
}

/// The same for a route without an envelope.
pub fn check_plain(policy: &Policy, route: &Route, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    if let Some(detail) = refused(policy, route, facts) {
        findings.push(Finding::new(Rule::AuthorityRoute, detail));
    }
}

fn refused(policy: &Policy, route: &Route, facts: &Facts<'_>) -> Option<&'static str> {
    let known = |name: &str| policy.trust.principal(name);
    let signer = signed(facts).and_then(|signed| signed.principal.as_deref());
    let presenter = match facts.presenter {
        Fact::Known(presenter) => Some(&*presenter.principal),
        Fact::Absent if route.proofs.schemes.is_empty() => None,
        Fact::Absent => return Some("expected a proven presenter, as this route names credentials"),
        Fact::Unavailable => return Some("expected a presenter that can be known"),
    };
    for name in [presenter, signer].into_iter().flatten() {
        match known(name) {
            Some(principal) if uses(principal, route) => {}
            Some(_) => return Some("expected a principal that may use this route"),
            None => return Some("expected a principal that the policy knows"),
        }
    }
    let role = match proven(policy, facts) {
        Authority::Principal(principal) => Some(principal.role),
        Authority::Nobody | Authority::Stranger => None,
    };
    let may_write = match role {
        Some(Role::Observer) => route.is_read(),
        Some(Role::Orchestrator | Role::Coordinator | Role::Worker | Role::Service) | None => true,
    };
    if !may_write {
        return Some("expected a read, as an observer only reads");
    }
    let may_dispatch = match role {
        Some(Role::Orchestrator | Role::Coordinator) => true,
        Some(Role::Worker | Role::Observer | Role::Service) | None => false,
    };
    let is_dispatch = policy.dispatch_route.as_ref() == Some(&route.name);
    (is_dispatch && !may_dispatch).then_some("expected a coordinator or an orchestrator, as this route dispatches")
}

/// Whether the route is one of the principal's.
fn uses(principal: &Principal, route: &Route) -> bool {
    let routes = principal.routes.as_ref();
    routes.is_none_or(|routes| routes.contains(&route.name))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{Row, presented, principal, rules_found, signed_by};
    use super::*;
    use crate::policy::Scheme;

    const REFUSED: &[Rule] = &[Rule::AuthorityRoute];

    #[test]
    fn table() {
        let table: &[Row] = &[
            ("nobody", |_| {}, &[]),
            ("a presenter", |case| presented(case, "anna"), &[]),
            (
                "a presenter of another route",
                |case| {
                    presented(case, "anna");
                    principal(case, "anna").routes = Some(vec!["other".to_owned()]);
                },
                REFUSED,
            ),
            (
                "a presenter of this route",
                |case| {
                    presented(case, "anna");
                    principal(case, "anna").routes = Some(vec!["open".to_owned()]);
                },
                &[],
            ),
            (
                "a signer of no route",
                |case| {
                    signed_by(case, Some("bert"));
                    principal(case, "bert").routes = Some(Vec::new());
                },
                REFUSED,
            ),
            (
                "a relay of another route",
                |case| {
                    presented(case, "anna");
                    signed_by(case, Some("bert"));
                    principal(case, "anna").routes = Some(vec!["other".to_owned()]);
                },
                REFUSED,
            ),
            (
                "an observer",
                |case| {
                    presented(case, "anna");
                    principal(case, "anna").role = Role::Observer;
                },
                REFUSED,
            ),
            (
                "an observer relays what a worker signed",
                |case| {
                    presented(case, "anna");
                    signed_by(case, Some("bert"));
                    principal(case, "anna").role = Role::Observer;
                },
                &[],
            ),
            ("somebody the policy lost", |case| presented(case, "carl"), REFUSED),
            (
                "a signer the policy lost",
                |case| signed_by(case, Some("carl")),
                REFUSED,
            ),
            ("a key of nobody", |case| signed_by(case, None), &[]),
            (
                "a presenter that cannot be known",
                |case| case.facts.presenter = Fact::Unavailable,
                REFUSED,
            ),
            (
                "credentials asked for, and nobody",
                |case| case.proofs.schemes = vec![Scheme::Bearer],
                REFUSED,
            ),
            (
                "credentials asked for, and shown",
                |case| {
                    case.proofs.schemes = vec![Scheme::Bearer];
                    presented(case, "anna");
                },
                &[],
            ),
        ];
        for (name, change, expected) in table {
            assert_eq!(rules_found(check, *change), *expected, "{name}");
        }
    }

    #[test]
    fn who_dispatches_is_proven_to_coordinate() {
        for (role, passes) in [
            (Role::Orchestrator, true),
            (Role::Coordinator, true),
            (Role::Worker, false),
            (Role::Observer, false),
            (Role::Service, false),
        ] {
            let found = rules_found(check, |case| {
                case.policy.dispatch_route = Some("open".to_owned());
                presented(case, "anna");
                principal(case, "anna").role = role;
            });
            assert_eq!(found.is_empty(), passes, "{role:?}");
        }
        for stranger in [false, true] {
            let found = rules_found(check, |case| {
                case.policy.dispatch_route = Some("open".to_owned());
                if stranger {
                    signed_by(case, None);
                }
            });
            assert_eq!(found, REFUSED, "{stranger}");
        }
    }
}
