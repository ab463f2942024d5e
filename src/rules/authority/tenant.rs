//! `authority.tenant`: what a message says about tenant, workspace, project and scopes is what the policy says.
//!
//! # What it checks
//! Where an authority is proven: `source.project` is its project; `payload.tenant_binding` its tenant;
//! `payload.authority_binding` an object of `tenant`, `workspace` and `project`, each its own; so are the members that
//! the route names in `authority`. `target.project` is the project of the agent, when the policy gives it one. Every
//! word of `body.delegated_authorization` is one of its scopes. A principal for which the policy says nothing may claim
//! nothing.
//!
//! # Why
//! A message cannot widen its own authority.
//!
//! # Contract
//! §7, "Authority claims in a message". They never authorise; a member that is absent claims nothing.
//!
//! # Outcome
//! 403 ERR_AUTHORITY_VIOLATION with trigger `authority_boundary_conflict`, a No-Op.
//!
//! # Example
//! `source.project` of another project.

use super::super::{Input, place};
use super::{Authority, proven};
use crate::contract::{Finding, Pointer, Rule};
use crate::message::envelope::Envelope;
use crate::message::json::Node;
use crate::policy::{ClaimAbout, Principal};

pub(in crate::rules) const RULES: &[Rule] = &[Rule::AuthorityTenant];

const DELEGATED: &str = "/body/delegated_authorization";
const BINDING: &str = "/payload/authority_binding";

pub(in crate::rules) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let principal = match proven(input.policy, input.facts) {
        Authority::Nobody => return,
        Authority::Stranger => None,
        Authority::Principal(principal) => Some(principal),
    };
    let mut places = match input.message.envelope() {
        Envelope::Canonical => in_canonical(input, principal),
        Envelope::Delivery => in_delivery(input, principal),
    };
    for claim in &input.route.proofs.claims {
        let pointer = Pointer::from_rfc6901(claim.pointer.as_str());
        if claims(input, &pointer).is_some_and(|node| differs(node, part(principal, claim.about))) {
            places.push(pointer);
        }
    }
    places.sort();
    places.dedup();
    for pointer in places {
        let detail = "expected the tenant, workspace, project or scopes that the policy gives to the proven principal";
        findings.push(place::at(input.message.root(), Rule::AuthorityTenant, &pointer, detail));
    }
}

fn in_canonical(input: &Input<'_>, principal: Option<&Principal>) -> Vec<Pointer> {
    let mut wrong = Vec::new();
    let mut compare = |pointer: &str, is_wrong: &dyn Fn(&Node<'_>) -> bool| {
        let pointer = Pointer::from_rfc6901(pointer);
        if claims(input, &pointer).is_some_and(is_wrong) {
            wrong.push(pointer);
        }
    };
    compare("/source/project", &|node| {
        differs(node, part(principal, ClaimAbout::Project))
    });
    if let Some(project) = input.policy.trust.project.as_deref() {
        compare("/target/project", &|node| differs(node, Some(project)));
    }
    compare(DELEGATED, &|node| exceeds(node, principal));
    wrong
}

fn in_delivery(input: &Input<'_>, principal: Option<&Principal>) -> Vec<Pointer> {
    let mut wrong = Vec::new();
    let tenant = Pointer::from_rfc6901("/payload/tenant_binding");
    if claims(input, &tenant).is_some_and(|node| differs(node, part(principal, ClaimAbout::Tenant))) {
        wrong.push(tenant);
    }
    let binding = Pointer::from_rfc6901(BINDING);
    match claims(input, &binding) {
        None => {}
        Some(node) => match node.members() {
            None => wrong.push(binding),
            Some(members) => wrong.extend(members.iter().filter_map(|member| {
                let about = match &*member.name {
                    "tenant" => Some(ClaimAbout::Tenant),
                    "workspace" => Some(ClaimAbout::Workspace),
                    "project" => Some(ClaimAbout::Project),
                    _ => None,
                };
                let is_wrong = about.is_none_or(|about| differs(&member.value, part(principal, about)));
                is_wrong.then(|| binding.member(&member.name))
            })),
        },
    }
    wrong
}

/// The member at a pointer, when it claims something: in the objects of the canonical envelope and among the body's own
/// members, `null` is the same as absent (contract §7, "Canonical bytes").
fn claims<'m>(input: &'m Input<'_>, pointer: &Pointer) -> Option<&'m Node<'m>> {
    let node = input.message.root().find(pointer)?;
    let is_shallow = pointer.as_str().matches('/').count() <= 2;
    let is_absent = node.is_null() && is_shallow && input.message.envelope() == Envelope::Canonical;
    (!is_absent).then_some(node)
}

fn part(principal: Option<&Principal>, about: ClaimAbout) -> Option<&str> {
    let principal = principal?;
    match about {
        ClaimAbout::Tenant => principal.tenant.as_deref(),
        ClaimAbout::Workspace => principal.workspace.as_deref(),
        ClaimAbout::Project => principal.project.as_deref(),
    }
}

/// Whether a claim is anything but the text that it has to be; without one, every claim is.
fn differs(node: &Node<'_>, proven: Option<&str>) -> bool {
    proven.is_none() || node.text() != proven
}

/// Whether a word is no scope of the principal.
fn exceeds(node: &Node<'_>, principal: Option<&Principal>) -> bool {
    let scopes = principal.map_or(&[][..], |principal| &principal.scopes);
    let is_scope = |word: &str| scopes.iter().any(|scope| scope == word);
    node.text()
        .is_none_or(|words| !words.split_ascii_whitespace().all(is_scope))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{Row, delivery, found, presented, principal, rules_found, signed_by};
    use super::*;
    use crate::policy::Claim;

    const REFUSED: &[Rule] = &[Rule::AuthorityTenant];

    #[test]
    fn table() {
        let table: &[Row] = &[
            ("nobody is proven", |_| {}, &[]),
            ("the project of the principal", |case| presented(case, "anna"), &[]),
            (
                "a project that the policy does not map",
                |case| {
                    presented(case, "anna");
                    principal(case, "anna").project = None;
                },
                REFUSED,
            ),
            ("a key of nobody", |case| signed_by(case, None), &[]),
            ("a signer that is gone", |case| signed_by(case, Some("carl")), REFUSED),
            (
                "a signer that is gone, nothing claimed",
                |case| {
                    signed_by(case, Some("carl"));
                    case.set("/source/project", "null");
                },
                &[],
            ),
            (
                "the agent is of another project",
                |case| {
                    presented(case, "anna");
                    case.policy.trust.project = Some("other".to_owned());
                },
                REFUSED,
            ),
            (
                "the agent is of this project",
                |case| {
                    presented(case, "anna");
                    case.policy.trust.project = Some("example-runtime".to_owned());
                },
                &[],
            ),
            (
                "scopes, each allowed",
                |case| {
                    presented(case, "anna");
                    case.set("/body/delegated_authorization", "\"notes:read  notes:write\"");
                },
                &[],
            ),
            (
                "a scope too many",
                |case| {
                    presented(case, "anna");
                    case.set("/body/delegated_authorization", "\"notes:read admin\"");
                },
                REFUSED,
            ),
            (
                "two scopes that are one word",
                |case| {
                    presented(case, "anna");
                    case.set("/body/delegated_authorization", "\"notes:read\u{a0}notes:write\"");
                },
                REFUSED,
            ),
            (
                "a member that the route names",
                |case| {
                    presented(case, "anna");
                    case.proofs.claims = claim("/body/task_id", ClaimAbout::Tenant);
                },
                REFUSED,
            ),
            (
                "a member that the route names, and it is right",
                |case| {
                    presented(case, "anna");
                    case.set("/body/task_id", "\"acme\"");
                    case.proofs.claims = claim("/body/task_id", ClaimAbout::Tenant);
                },
                &[],
            ),
            (
                "a member that the route names, and it is not there",
                |case| {
                    presented(case, "anna");
                    case.proofs.claims = claim("/body/workspace", ClaimAbout::Workspace);
                },
                &[],
            ),
        ];
        for (name, change, expected) in table {
            assert_eq!(rules_found(check, *change), *expected, "{name}");
        }
    }

    fn claim(pointer: &str, about: ClaimAbout) -> Vec<Claim> {
        vec![Claim {
            pointer: pointer.to_owned(),
            about,
        }]
    }

    #[test]
    fn bindings_of_a_payload_are_compared_member_by_member() {
        let table = [
            (r#"{"tenant_binding":"acme"}"#, ""),
            (r#"{"tenant_binding":"other"}"#, "/payload/tenant_binding"),
            (r#"{"tenant_binding":null}"#, "/payload/tenant_binding"),
            (r#"{"tenant_binding":["acme"]}"#, "/payload/tenant_binding"),
            (
                r#"{"authority_binding":{"tenant":"acme","workspace":"north","project":"uaix.org"}}"#,
                "",
            ),
            (r#"{"authority_binding":{}}"#, ""),
            (
                r#"{"authority_binding":{"workspace":"south"}}"#,
                "/payload/authority_binding/workspace",
            ),
            (
                r#"{"authority_binding":{"realm":"acme"}}"#,
                "/payload/authority_binding/realm",
            ),
            (r#"{"authority_binding":"acme"}"#, "/payload/authority_binding"),
        ];
        for (payload, place) in table {
            let findings = found(check, |case| {
                delivery(case);
                signed_by(case, Some("bert"));
                case.set("/payload", payload);
            });
            let places: Vec<&str> = findings
                .iter()
                .filter_map(|finding| finding.pointer.as_ref())
                .map(Pointer::as_str)
                .collect();
            let expected: Vec<&str> = Some(place).filter(|place| !place.is_empty()).into_iter().collect();
            assert_eq!(places, expected, "{payload}");
        }
    }
}
