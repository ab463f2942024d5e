//! `signature.absent`, `signature.malformed`, `signature.disagree`, `signature.key-unknown`: a signature that is
//! present is verified, or the message is refused.
//!
//! # What it checks
//! `trust.channel: signed-envelope` comes with a signature, and so does every delivery envelope, in
//! `sender.signature`. A signature, in the `UAI-Signature` field or in
//! `trust.signature_ref` as `data:application/jose,…`, is one detached compact JWS, the same in both places. This
//! version knows no key, so a signature that is well formed cannot be verified.
//!
//! # Why
//! A signature that nobody checked is worse than none: everybody behind the gateway would trust it.
//!
//! # Contract
//! §7, "Signature". An ordinary URL in `trust.signature_ref` is not a signature and is never fetched.
//!
//! # Outcome
//! 401 ERR_JCS_INVALID.
//!
//! # Example
//! `UAI-Signature: eyJhbGciOiJFZERTQSJ9..c2ln` is `signature.key-unknown`.

use super::{Input, place};
use crate::contract::{Finding, Rule};
use crate::facts::Fact;
use crate::message::envelope::Envelope;

pub(super) const RULES: &[Rule] = &[
    Rule::SignatureAbsent,
    Rule::SignatureMalformed,
    Rule::SignatureDisagree,
    Rule::SignatureKeyUnknown,
];

const CHANNEL: &[&str] = &["trust", "channel"];
const REFERENCE: &[&str] = &["trust", "signature_ref"];
const SENDER: &[&str] = &["sender", "signature"];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let (path, in_message) = carried(input);
    let at_reference = |rule, detail: &str| place::finding(input, rule, path, detail);
    let in_field = match input.facts.signature {
        Fact::Known(jws) => Some(jws),
        Fact::Absent => None,
        Fact::Unavailable => {
            findings.push(Finding::new(
                Rule::SignatureMalformed,
                "expected one `UAI-Signature` field",
            ));
            return;
        }
    };
    let shape = "expected one detached compact JWS, `header..signature`";
    match (in_field, in_message) {
        (None | Some(_), None) if input.message.envelope() == Envelope::Delivery => {
            findings.push(at_reference(
                Rule::SignatureAbsent,
                "expected a signature, as every delivery envelope has one",
            ));
        }
        (None, None) => {
            if input.message.text(CHANNEL) == Some("signed-envelope") {
                let detail = "expected a signature, as the channel is `signed-envelope`";
                findings.push(place::finding(input, Rule::SignatureAbsent, CHANNEL, detail));
            }
        }
        (Some(field), Some(member)) if field != member => {
            findings.push(at_reference(
                Rule::SignatureDisagree,
                "expected the same bytes as in `UAI-Signature`",
            ));
        }
        (Some(jws), member) => {
            let unknown = "expected a signature by a key of the policy";
            findings.push(match (is_detached_jws(jws), member) {
                (false, _) => Finding::new(Rule::SignatureMalformed, shape),
                (true, Some(_)) => at_reference(Rule::SignatureKeyUnknown, unknown),
                (true, None) => Finding::new(Rule::SignatureKeyUnknown, unknown),
            });
        }
        (None, Some(jws)) if is_detached_jws(jws) => {
            findings.push(at_reference(
                Rule::SignatureKeyUnknown,
                "expected a signature by a key of the policy",
            ));
        }
        (None, Some(_)) => findings.push(at_reference(Rule::SignatureMalformed, shape)),
    }
}

/// Where a signature travels in the message, and the one that is there.
fn carried<'a>(input: &'a Input<'_>) -> (&'static [&'static str], Option<&'a str>) {
    match input.message.envelope() {
        Envelope::Canonical => {
            let reference = input.message.text(REFERENCE);
            let jws = reference.and_then(|text| text.strip_prefix("data:application/jose,"));
            (REFERENCE, jws)
        }
        Envelope::Delivery => (SENDER, input.message.text(SENDER).filter(|text| !text.is_empty())),
    }
}

/// Three parts of unpadded base64url, the first not empty, the second empty. An empty signature is well formed and wrong.
fn is_detached_jws(text: &str) -> bool {
    let is_base64url = |part: &str| {
        part.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let mut parts = text.split('.');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(header), Some(""), Some(signature), None) => {
            !header.is_empty() && is_base64url(header) && is_base64url(signature)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Row, delivery, rules_found};
    use super::*;

    #[test]
    fn table() {
        const JWS: &str = "eyJhbGciOiJFZERTQSJ9..c2ln";
        const INSIDE: &str = "\"data:application/jose,eyJhbGciOiJFZERTQSJ9..c2ln\"";
        let table: &[Row] = &[
            ("none, and none asked for", |_| {}, &[]),
            (
                "asked for",
                |case| case.set("/trust/channel", "\"signed-envelope\""),
                &[Rule::SignatureAbsent],
            ),
            (
                "in the field",
                |case| case.facts.signature = Fact::Known(JWS),
                &[Rule::SignatureKeyUnknown],
            ),
            (
                "in the message",
                |case| case.set("/trust/signature_ref", INSIDE),
                &[Rule::SignatureKeyUnknown],
            ),
            (
                "in both",
                |case| {
                    case.set("/trust/channel", "\"signed-envelope\"");
                    case.set("/trust/signature_ref", INSIDE);
                    case.facts.signature = Fact::Known(JWS);
                },
                &[Rule::SignatureKeyUnknown],
            ),
            (
                "two that differ",
                |case| {
                    case.set("/trust/signature_ref", INSIDE);
                    case.facts.signature = Fact::Known("eyJhbGciOiJFZERTQSJ9..c2lo");
                },
                &[Rule::SignatureDisagree],
            ),
            (
                "two fields",
                |case| case.facts.signature = Fact::Unavailable,
                &[Rule::SignatureMalformed],
            ),
            (
                "an empty field",
                |case| case.facts.signature = Fact::Known(""),
                &[Rule::SignatureMalformed],
            ),
            (
                "padded",
                |case| case.facts.signature = Fact::Known("eyJ9..c2ln="),
                &[Rule::SignatureMalformed],
            ),
            (
                "not detached",
                |case| case.facts.signature = Fact::Known("a.b.c"),
                &[Rule::SignatureMalformed],
            ),
            (
                "too many parts",
                |case| case.facts.signature = Fact::Known("a..b.c"),
                &[Rule::SignatureMalformed],
            ),
            (
                "malformed in the message",
                |case| case.set("/trust/signature_ref", "\"data:application/jose,a.b.c\""),
                &[Rule::SignatureMalformed],
            ),
            ("in a delivery", delivery, &[Rule::SignatureKeyUnknown]),
            (
                "empty in a delivery",
                |case| {
                    delivery(case);
                    case.set("/sender/signature", "\"\"");
                },
                &[Rule::SignatureAbsent],
            ),
            (
                "empty in a delivery, there in the field",
                |case| {
                    delivery(case);
                    case.set("/sender/signature", "\"\"");
                    case.facts.signature = Fact::Known(JWS);
                },
                &[Rule::SignatureAbsent],
            ),
            (
                "malformed in a delivery",
                |case| {
                    delivery(case);
                    case.set("/sender/signature", "\"c2ln\"");
                },
                &[Rule::SignatureMalformed],
            ),
            (
                "another one in the field",
                |case| {
                    delivery(case);
                    case.facts.signature = Fact::Known("eyJ9..c2ln");
                },
                &[Rule::SignatureDisagree],
            ),
        ];
        for (name, change, expected) in table {
            assert_eq!(rules_found(check, *change), *expected, "{name}");
        }
    }
}
