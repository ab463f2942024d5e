//! `idempotency.disagree`, `idempotency.malformed`, `idempotency.missing`: one key, in one form, said once.
//!
//! # What it checks
//! The `Idempotency-Key` field, when there is one, is exactly one RFC 9651 String of 1 to 256 characters. A canonical
//! message that comes with the field carries the same string in `delivery.idempotency_key`; of a delivery envelope the
//! field is the key, else `recipient.delivery_id`. A legacy route that requires a key gets one in the field; that a
//! message has its own key is a matter of its schema.
//!
//! # Why
//! Two keys, or one that can be read in two ways, and a retry becomes a second action.
//!
//! # Contract
//! §8, "Idempotency key".
//!
//! # Outcome
//! 400 ERR_SCHEMA_VIOLATION malformed or missing; 422 ERR_SCHEMA_VIOLATION when the two disagree.
//!
//! # Example
//! `Idempotency-Key: 7` is malformed; `Idempotency-Key: "7"` is a String.

use sfv::{BareItem, Item, Parser};

use super::{Input, place};
use crate::contract::{Finding, Rule};
use crate::facts::{Fact, Facts};
use crate::message::envelope::Envelope;
use crate::policy::Route;

pub(super) const RULES: &[Rule] = &[
    Rule::IdempotencyDisagree,
    Rule::IdempotencyMalformed,
    Rule::IdempotencyMissing,
];

const PATH: &[&str] = &["delivery", "idempotency_key"];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    match field(input.facts) {
        Field::Absent => {}
        Field::Malformed => findings.push(malformed()),
        // The field comes before the key that a delivery envelope has anyway, its `delivery_id`.
        Field::Key(_) if input.message.envelope() == Envelope::Delivery => {}
        Field::Key(key) => {
            // `null` and absent are the same (contract §2.3).
            let own = input.message.at(PATH).filter(|node| !node.is_null());
            let disagrees = match own {
                Some(node) => node.text().is_some_and(|own| own != key),
                None => input.declared.relaxed_base,
            };
            if disagrees {
                let detail = "expected the same key as the `Idempotency-Key` field";
                findings.push(place::finding(input, Rule::IdempotencyDisagree, PATH, detail));
            }
        }
    }
}

/// The idempotency key of a route without an envelope.
pub fn check_plain(route: &Route, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    match field(facts) {
        Field::Key(_) => {}
        Field::Malformed => findings.push(malformed()),
        Field::Absent if route.idempotency_required => findings.push(Finding::new(
            Rule::IdempotencyMissing,
            "expected an `Idempotency-Key` field",
        )),
        Field::Absent => {}
    }
}

/// The key in the field, without its quotes; `None` without a field, or with one that is malformed.
pub fn key(facts: &Facts<'_>) -> Option<String> {
    match field(facts) {
        Field::Key(key) => Some(key),
        Field::Absent | Field::Malformed => None,
    }
}

fn malformed() -> Finding {
    let detail = "expected one `Idempotency-Key` field, an RFC 9651 String of 1 to 256 characters in double quotes";
    Finding::new(Rule::IdempotencyMalformed, detail)
}

enum Field {
    Absent,
    Malformed,
    Key(String),
}

fn field(facts: &Facts<'_>) -> Field {
    let text = match facts.idempotency_key {
        Fact::Absent => return Field::Absent,
        Fact::Unavailable => return Field::Malformed,
        Fact::Known(text) => text,
    };
    match Parser::new(text).parse::<Item>() {
        Ok(Item {
            bare_item: BareItem::String(key),
            params,
        }) if params.is_empty() => {
            let key = String::from(key);
            if (1..=256).contains(&key.len()) {
                Field::Key(key)
            } else {
                Field::Malformed
            }
        }
        Ok(_) | Err(_) => Field::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, delivery, found, route, rules_found};
    use super::*;

    const SAME: &str = "\"idem_20260531_agent_final_0007\"";

    #[test]
    fn beside_a_message() {
        let long: &'static str = format!("\"{}\"", "k".repeat(257)).leak();
        let table: &[(&str, Fact<&'static str>, &[Rule])] = &[
            ("no field", Fact::Absent, &[]),
            ("the same key", Fact::Known(SAME), &[]),
            ("another key", Fact::Known("\"other\""), &[Rule::IdempotencyDisagree]),
            (
                "unquoted",
                Fact::Known("idem_20260531_agent_final_0007"),
                &[Rule::IdempotencyMalformed],
            ),
            ("a parameter", Fact::Known("\"a\";b=1"), &[Rule::IdempotencyMalformed]),
            (
                "two in one field",
                Fact::Known("\"a\", \"b\""),
                &[Rule::IdempotencyMalformed],
            ),
            ("empty", Fact::Known("\"\""), &[Rule::IdempotencyMalformed]),
            ("too long", Fact::Known(long), &[Rule::IdempotencyMalformed]),
            ("two fields", Fact::Unavailable, &[Rule::IdempotencyMalformed]),
        ];
        for (name, fact, expected) in table {
            let change = |case: &mut Case| case.facts.idempotency_key = *fact;
            assert_eq!(rules_found(check, change), *expected, "{name}");
        }
    }

    #[test]
    fn beside_a_delivery_envelope_the_field_is_the_key() {
        for (key, expected) in [("\"other\"", &[][..]), ("other", &[Rule::IdempotencyMalformed])] {
            let change = |case: &mut Case| {
                delivery(case);
                case.facts.idempotency_key = Fact::Known(key);
            };
            assert_eq!(rules_found(check, change), expected, "{key}");
        }
    }

    #[test]
    fn a_missing_key_is_one_fault_of_the_schema() {
        let change = |case: &mut Case| {
            case.facts.idempotency_key = Fact::Known(SAME);
            case.remove("/delivery/idempotency_key");
        };
        assert_eq!(found(check, change), []);
    }

    /// A key that the message leaves out in either way is not the one of the field.
    #[test]
    fn on_a_relaxed_route_null_is_absent() {
        let absent = |case: &mut Case| case.remove("/delivery/idempotency_key");
        let null = |case: &mut Case| case.set("/delivery/idempotency_key", "null");
        let changes: [fn(&mut Case); 2] = [absent, null];
        for leave_out in changes {
            let found = rules_found(check, |case: &mut Case| {
                case.declared.relaxed_base = true;
                case.facts.idempotency_key = Fact::Known(SAME);
                leave_out(case);
            });
            assert_eq!(found, [Rule::IdempotencyDisagree]);
        }
    }

    #[test]
    fn on_a_legacy_route() {
        let facts = |idempotency_key| Facts {
            idempotency_key,
            ..Facts::at(Fact::Absent)
        };
        let table: &[(&str, Fact<&str>, bool, Option<Rule>)] = &[
            ("required, there", Fact::Known("\"k\""), true, None),
            ("required, missing", Fact::Absent, true, Some(Rule::IdempotencyMissing)),
            ("not required, missing", Fact::Absent, false, None),
            (
                "not required, malformed",
                Fact::Known("k"),
                false,
                Some(Rule::IdempotencyMalformed),
            ),
            ("two fields", Fact::Unavailable, false, Some(Rule::IdempotencyMalformed)),
        ];
        for (name, key, required, expected) in table {
            let mut legacy = route(crate::policy::Messages {
                profiles: Vec::new(),
                extensions: Vec::new(),
                modes: Vec::new(),
                envelopes: vec![Envelope::Canonical],
                payload: None,
                backend_view: crate::policy::BackendView::Received,
                integrity: crate::policy::Integrity::Required,
                operations: Vec::new(),
                relaxed_base: false,
            });
            legacy.body = crate::policy::Body::Legacy;
            legacy.idempotency_required = *required;
            let mut findings = Vec::new();
            check_plain(&legacy, &facts(*key), &mut findings);
            assert_eq!(findings.first().map(|finding| finding.rule), *expected, "{name}");
        }
    }
}
