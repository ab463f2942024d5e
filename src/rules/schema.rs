//! `schema.*`, `time.utc`, `identity.malformed`: envelope and body are what their schemas and vocabularies say.
//!
//! # What it checks
//! The schema of the envelope and that of the profile or payload; the policy's vocabularies (party type, priority, lifecycle, channel,
//! auth scheme); times in UTC; that `provenance.agent_id` is `source.id`. One fault is one finding.
//!
//! # Why
//! Everything behind this stage may rely on members being there, typed and in range.
//!
//! # Contract
//! §2.3 and §2.4 for names and values, §5 for pointers: a missing member has the pointer it would have and no place in the
//! document; an undeclared name is shown only when it can carry no secret.
//!
//! # Outcome
//! 422 ERR_SCHEMA_VIOLATION, all findings in document order.
//!
//! # Example
//! `"sumary": "…"` is `schema.undeclared` at `/body/sumary` and `schema.required` at `/body/summary`.

use super::{Input, place};
use crate::contract::{Finding, Pointer, Rule};
use crate::message::envelope::Envelope;
use crate::message::json::Node;
use crate::message::profile::{self, Fault, Violation};
use crate::policy::Payload;

pub(super) const RULES: &[Rule] = &[
    Rule::SchemaRequired,
    Rule::SchemaUndeclared,
    Rule::SchemaType,
    Rule::SchemaValue,
    Rule::TimeUtc,
    Rule::IdentityMalformed,
];

/// Members that a route may relax for base and capability profiles (contract §2.3).
const RELAXED: &[&str] = &[
    "/delivery/idempotency_key",
    "/delivery/fallback_directive",
    "/conversation/correlation_id",
];

const BASE_PROFILES: &[&str] = &[
    "uai.intent.request.v1",
    "uai.intent.response.v1",
    "uai.capability.statement.v1",
    "uai.error.v1",
    "uai.conformance.result.v1",
    "uai.task.status.v1",
];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let root = input.message.root();
    let relaxed = is_relaxed(input);
    let violations = match input.message.envelope() {
        Envelope::Canonical => input.policy.schemas.violations(input.message),
        Envelope::Delivery => delivery(input),
    };
    let mut found: Vec<Finding> = earliest(root, violations)
        .iter()
        .map(|violation| of_violation(root, violation))
        .filter(|finding| !(relaxed && is_missing_relaxed(finding)))
        .collect();
    if input.message.envelope() == Envelope::Canonical {
        vocabularies(input, &mut found);
        agent_is_source(input, &mut found);
    }
    findings.append(&mut found);
}

/// More than an answer tells, also when the members that a route relaxes are taken away.
const TOLD: usize = 32;

/// The violations that can be told: the first in document order. A message may have as many faults as it has values, and
/// making a finding of each would cost more than reading it.
fn earliest(root: &Node<'_>, violations: Vec<Violation>) -> Vec<Violation> {
    if violations.len() <= TOLD {
        return violations;
    }
    let at = |violation: &Violation| match &violation.fault {
        Fault::Missing(_) => None,
        Fault::Undeclared(name) => place::offset(root, &violation.place.member(name)),
        Fault::Type(_) | Fault::Format(_) | Fault::Value(_) => place::offset(root, &violation.place),
    };
    let mut placed: Vec<(usize, Violation)> = violations
        .into_iter()
        .map(|violation| (at(&violation).unwrap_or(usize::MAX), violation))
        .collect();
    placed.sort_by_key(|(at, _)| *at);
    placed.into_iter().take(TOLD).map(|(_, violation)| violation).collect()
}

/// A delivery envelope, and its payload as the route says; a route that says nothing lets no payload pass.
fn delivery(input: &Input<'_>) -> Vec<Violation> {
    let schema = match &input.declared.payload {
        Some(Payload::Any) => None,
        Some(Payload::Schema(name)) => Some(name.as_str()),
        None => Some(""),
    };
    input.policy.schemas.delivery_violations(input.message, schema)
}

fn of_violation(root: &Node<'_>, violation: &Violation) -> Finding {
    let here = &violation.place;
    let is = |names: &[&str]| names.contains(&here.as_str());
    let is_identity = is(&[
        "/source/id",
        "/source/uri",
        "/source/did",
        "/target/id",
        "/target/uri",
        "/target/did",
        "/sender/logical_agent_id",
        "/recipient/logical_agent_id",
    ]);
    let malformed = if is_identity {
        Rule::IdentityMalformed
    } else {
        Rule::SchemaValue
    };
    match &violation.fault {
        Fault::Missing(name) => place::at(root, Rule::SchemaRequired, &here.member(name), "expected this member"),
        Fault::Undeclared(name) => place::at(
            root,
            Rule::SchemaUndeclared,
            &here.member(name),
            "expected declared members only",
        ),
        Fault::Type(expected) => {
            let is_null = root.find(here).is_some_and(Node::is_null);
            let rule = if is_null && !is_element(root, here) && !is_never_null(here) {
                Rule::SchemaRequired
            } else {
                Rule::SchemaType
            };
            place::at(root, rule, here, format!("expected {expected}"))
        }
        Fault::Format(format) => {
            let is_time = root.find(here).and_then(Node::text).is_some_and(profile::is_time);
            let rule = if format == "date-time" && is_time {
                Rule::TimeUtc
            } else {
                malformed
            };
            place::at(root, rule, here, format!("expected {}", format_words(format)))
        }
        Fault::Value(expected) => place::at(root, malformed, here, format!("expected {expected}")),
    }
}

/// Members of a delivery envelope that may be left out, so that `null` is only a wrong type (contract §2.4).
fn is_never_null(place: &Pointer) -> bool {
    let place = place.as_str();
    matches!(place, "/fanout_id" | "/extensions" | "/payload/resolution_hash") || place.starts_with("/extensions/http")
}

fn is_element(root: &Node<'_>, pointer: &Pointer) -> bool {
    let parent = pointer
        .as_str()
        .rsplit_once('/')
        .map(|(parent, _)| Pointer::from_rfc6901(parent));
    parent.is_some_and(|parent| root.find(&parent).is_some_and(|node| node.elements().is_some()))
}

fn format_words(format: &str) -> &str {
    match format {
        "date-time" => "an RFC 3339 time in UTC with a trailing `Z`",
        "uri" => "an absolute URI (RFC 3986)",
        "https-uri" => "an https URI",
        "did" => "a DID",
        "uuid" => "a UUID",
        "traceparent" => "a W3C traceparent of version 00 with ids that are not zero",
        other => other,
    }
}

fn is_relaxed(input: &Input<'_>) -> bool {
    let may_be = |profile: &str| BASE_PROFILES.contains(&profile) || profile.starts_with("uai.capability.");
    input.declared.relaxed_base && input.message.profile().is_some_and(may_be)
}

fn is_missing_relaxed(finding: &Finding) -> bool {
    let pointer = finding.pointer.as_ref().map_or("", Pointer::as_str);
    finding.rule == Rule::SchemaRequired && RELAXED.contains(&pointer)
}

/// The enumerations that the policy may extend; `delivery.mode` is judged at stage 6.
fn vocabularies(input: &Input<'_>, found: &mut Vec<Finding>) {
    let words = &input.policy.vocabulary;
    let members: [(&[&str], &[String]); 6] = [
        (&["source", "type"], &words.party_type),
        (&["target", "type"], &words.party_type),
        (&["delivery", "priority"], &words.priority),
        (&["delivery", "lifecycle"], &words.lifecycle),
        (&["trust", "channel"], &words.channel),
        (&["trust", "auth_scheme"], &words.auth_scheme),
    ];
    for (path, words) in members {
        let text = input.message.text(path);
        if text.is_some_and(|text| !words.iter().any(|word| word == text)) {
            let detail = format!("expected one of: {}", words.join(", "));
            push_new(found, place::finding(input, Rule::SchemaValue, path, detail));
        }
    }
}

fn agent_is_source(input: &Input<'_>, found: &mut Vec<Finding>) {
    let agent = input.message.text(&["provenance", "agent_id"]);
    let differs = agent
        .zip(input.message.sender())
        .is_some_and(|(agent, source)| agent != source);
    let source_is_wrong = found
        .iter()
        .any(|finding| finding.rule == Rule::IdentityMalformed && is_at(finding, "/source/id"));
    if differs && !source_is_wrong {
        let detail = "expected the same id as `source.id`";
        let path = &["provenance", "agent_id"];
        push_new(found, place::finding(input, Rule::IdentityMalformed, path, detail));
    }
}

/// Adds a finding unless its place has one already: one fault, one finding.
fn push_new(found: &mut Vec<Finding>, finding: Finding) {
    let pointer = finding.pointer.as_ref().map_or("", Pointer::as_str);
    if !found.iter().any(|other| is_at(other, pointer)) {
        found.push(finding);
    }
}

fn is_at(finding: &Finding, pointer: &str) -> bool {
    finding.pointer.as_ref().is_some_and(|place| place.as_str() == pointer)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, Row, delivery, found, rules_found};
    use super::*;

    #[test]
    fn of_many_faults_the_first_in_the_document_are_kept() {
        let many = format!("[{}]", vec!["1"; 500].join(","));
        let findings = found(check, |case| {
            case.set("/body/risks", &many);
            case.remove("/body/summary");
        });
        let all: Vec<usize> = findings.iter().filter_map(|finding| finding.at).collect();
        assert_eq!(all.len(), TOLD);
        assert!(all.is_sorted());
        let pointer = |index: usize| findings[index].pointer.as_ref().unwrap().as_str();
        assert_eq!((pointer(0), pointer(31)), ("/body/risks/0", "/body/risks/31"));
    }

    #[test]
    fn table() {
        let table: &[Row] = &[
            ("published final report", |_| {}, &[]),
            ("missing", |case| case.remove("/body/summary"), &[Rule::SchemaRequired]),
            (
                "null where required",
                |case| case.set("/body/summary", "null"),
                &[Rule::SchemaRequired],
            ),
            (
                "null enumeration",
                |case| case.set("/integrity/algorithm", "null"),
                &[Rule::SchemaRequired],
            ),
            (
                "null where it means absent",
                |case| case.set("/delivery/task_ref", "null"),
                &[],
            ),
            (
                "null in a list",
                |case| case.set("/body/risks/0", "null"),
                &[Rule::SchemaType],
            ),
            (
                "undeclared at the root",
                |case| case.set("/x", "1"),
                &[Rule::SchemaUndeclared],
            ),
            (
                "undeclared below",
                |case| case.set("/trust/x", "1"),
                &[Rule::SchemaUndeclared],
            ),
            (
                "the open object",
                |case| case.set("/delivery/expected_output_schema/x", "1"),
                &[],
            ),
            ("wrong type", |case| case.set("/body/summary", "7"), &[Rule::SchemaType]),
            ("body no object", |case| case.set("/body", "[]"), &[Rule::SchemaType]),
            (
                "an integer with a fraction",
                |case| case.set("/conversation/sequence", "7.0"),
                &[Rule::SchemaType],
            ),
            (
                "an empty text",
                |case| case.set("/body/summary", "\"\""),
                &[Rule::SchemaValue],
            ),
            (
                "an empty id is one fault",
                |case| case.set("/message_id", "\"\""),
                &[Rule::SchemaValue],
            ),
            (
                "out of range",
                |case| case.set("/delivery/timeout_ms", "0"),
                &[Rule::SchemaValue],
            ),
            (
                "a word outside",
                |case| case.set("/delivery/priority", "\"now\""),
                &[Rule::SchemaValue],
            ),
            (
                "an empty word is one fault",
                |case| case.set("/delivery/priority", "\"\""),
                &[Rule::SchemaValue],
            ),
            (
                "traceparent",
                |case| case.set("/conversation/traceparent", "\"00-0-0-00\""),
                &[Rule::SchemaValue],
            ),
            (
                "offset",
                |case| case.set("/provenance/issued_at", "\"2026-05-31T18:00:00+00:00\""),
                &[Rule::TimeUtc],
            ),
            (
                "no time",
                |case| case.set("/provenance/issued_at", "\"yesterday\""),
                &[Rule::SchemaValue],
            ),
            (
                "a party's id",
                |case| case.set("/source/id", "\"a b\""),
                &[Rule::IdentityMalformed],
            ),
            (
                "a party's uri",
                |case| case.set("/source/uri", "\"/x\""),
                &[Rule::IdentityMalformed],
            ),
            (
                "a party's did",
                |case| case.set("/target/did", "\"did:x\""),
                &[Rule::IdentityMalformed],
            ),
            (
                "another agent",
                |case| case.set("/provenance/agent_id", "\"agt_x\""),
                &[Rule::IdentityMalformed],
            ),
            (
                "a malformed agent",
                |case| case.set("/provenance/agent_id", "\"a b\""),
                &[Rule::SchemaValue],
            ),
            (
                "a profile without a schema",
                |case| case.set("/profile", "\"x\""),
                &[Rule::SchemaValue],
            ),
        ];
        for (name, change, expected) in table {
            assert_eq!(rules_found(check, *change), *expected, "{name}");
        }
    }

    #[test]
    fn delivery_envelopes() {
        let table: &[Row] = &[
            ("as it should be", |_| {}, &[]),
            (
                "no time of its own",
                |case| case.set("/provenance", "{}"),
                &[Rule::SchemaUndeclared],
            ),
            (
                "null where required",
                |case| case.set("/sender/signature", "null"),
                &[Rule::SchemaRequired],
            ),
            (
                "null where optional",
                |case| case.set("/extensions", "null"),
                &[Rule::SchemaType],
            ),
            (
                "an extension that is null",
                |case| case.set("/extensions", r#"{"https://a.example/x":null}"#),
                &[Rule::SchemaType],
            ),
            (
                "an extension without a URI",
                |case| case.set("/extensions", r#"{"x":{}}"#),
                &[Rule::SchemaUndeclared],
            ),
            (
                "an identity in upper case",
                |case| case.set("/sender/uai_identity", &format!("\"{}\"", "A".repeat(64))),
                &[Rule::SchemaValue],
            ),
            (
                "a long signature",
                |case| case.set("/sender/signature", &format!("\"{}\"", "a".repeat(513))),
                &[Rule::SchemaValue],
            ),
            (
                "a recipient that is no URI",
                |case| case.set("/recipient/logical_agent_id", "\"two\""),
                &[Rule::IdentityMalformed],
            ),
            (
                "a delivery id that is no UUID",
                |case| case.set("/recipient/delivery_id", "\"7\""),
                &[Rule::SchemaValue],
            ),
            (
                "a payload in a list",
                |case| case.set("/payload", "[]"),
                &[Rule::SchemaType],
            ),
            (
                "a payload of another schema",
                |case| case.declared.payload = Some(Payload::Schema("ack".to_owned())),
                &[
                    Rule::SchemaRequired,
                    Rule::SchemaRequired,
                    Rule::SchemaRequired,
                    Rule::SchemaUndeclared,
                    Rule::SchemaUndeclared,
                ],
            ),
            (
                "a payload that nobody described",
                |case| case.declared.payload = None,
                &[Rule::SchemaValue],
            ),
        ];
        for (name, change, expected) in table {
            let found = rules_found(check, |case: &mut Case| {
                delivery(case);
                change(case);
            });
            assert_eq!(found, *expected, "{name}");
        }
    }

    #[test]
    fn pointers_and_places() {
        let only = |change: fn(&mut Case)| found(check, change).pop().unwrap();
        let missing = only(|case| case.remove("/body/summary"));
        assert_eq!((missing.pointer.unwrap().as_str(), missing.at), ("/body/summary", None));
        let undeclared = only(|case| case.set("/trust/sk-0123456789abcdefghij", "1"));
        assert_eq!(undeclared.pointer.unwrap().as_str(), "/trust");
        assert!(undeclared.at.is_some() && !undeclared.detail.contains("sk-"));
    }

    #[test]
    fn base_profiles_are_relaxed_only_where_the_route_says_so() {
        let change = |case: &mut Case, relaxed: bool, profile: &str| {
            case.declared.relaxed_base = relaxed;
            case.set("/profile", &format!("\"{profile}\""));
            case.remove("/delivery/idempotency_key");
            case.remove("/conversation/correlation_id");
        };
        let required = |found: Vec<Rule>| found.iter().filter(|rule| **rule == Rule::SchemaRequired).count();
        assert_eq!(
            required(rules_found(check, |case| change(case, true, "uai.task.status.v1"))),
            2
        );
        assert_eq!(
            required(rules_found(check, |case| change(case, false, "uai.task.status.v1"))),
            2 + 2
        );
        assert_eq!(
            required(rules_found(check, |case| change(case, true, "uai.agent.ack.v1"))),
            2 + 4
        );
    }
}
