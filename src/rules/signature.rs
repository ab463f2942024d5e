//! `signature.*`, `keys.unavailable`: a signature that is present is verified, or the message is refused.
//!
//! # What it checks
//! `trust.channel: signed-envelope` comes with a signature, so does every message on a route with
//! `signature: required`, and every delivery envelope, in `sender.signature`. A signature, in the `UAI-Signature` field
//! or in `trust.signature_ref` as `data:application/jose,…`, is one detached compact JWS, the same in both places. What
//! it is verified by is known, and it verifies over the canonical bytes. A route with `require_audience: true` takes
//! only signatures that name an audience.
//!
//! # Why
//! A signature that nobody checked is worse than none: everybody behind the gateway would trust it.
//!
//! # Contract
//! §7, "Signature" and "Keys". An ordinary URL in `trust.signature_ref` is not a signature and is never fetched.
//!
//! # Outcome
//! 401 ERR_JCS_INVALID; 503 ERR_STATE_UNAVAILABLE when what would verify it cannot be known.
//!
//! # Example
//! A signature over other bytes is `signature.wrong`; one whose key no issuer has is `signature.key-unknown`.

use super::{Input, place};
use crate::contract::{Finding, Rule};
use crate::facts::{Fact, Fault, Proof, Signed};
use crate::message::envelope::{Envelope, Message};

pub(super) const RULES: &[Rule] = &[
    Rule::SignatureAbsent,
    Rule::SignatureMalformed,
    Rule::SignatureDisagree,
    Rule::SignatureHeader,
    Rule::SignatureAlgorithm,
    Rule::SignatureKeyUnknown,
    Rule::KeysUnavailable,
    Rule::SignatureWrongAudience,
    Rule::SignatureWrong,
];

const CHANNEL: &[&str] = &["trust", "channel"];
const REFERENCE: &[&str] = &["trust", "signature_ref"];
const SENDER: &[&str] = &["sender", "signature"];

/// The signature that a message carries, `field` being the `UAI-Signature` field: one well-formed detached compact JWS,
/// the same wherever it stands. `None` when there is none, or when stage 9 refuses what there is without verifying it.
pub fn carried<'a>(message: &'a Message<'_>, field: Fact<&'a str>) -> Option<&'a str> {
    match found(message, field) {
        Found::Jws(jws, _) => Some(jws),
        Found::Nothing | Found::Several | Found::Malformed(_) | Found::Disagree => None,
    }
}

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    match found(input.message, input.facts.signature) {
        Found::Nothing => findings.extend(absent(input)),
        Found::Several => {
            let detail = "expected one `UAI-Signature` field";
            findings.push(Finding::new(Rule::SignatureMalformed, detail));
        }
        Found::Malformed(is_inside) => {
            let detail = "expected one detached compact JWS, `header..signature`";
            findings.push(at_signature(input, is_inside, Rule::SignatureMalformed, detail));
        }
        Found::Disagree => {
            let detail = "expected the same bytes as in `UAI-Signature`";
            findings.push(at_signature(input, true, Rule::SignatureDisagree, detail));
        }
        Found::Jws(_, is_inside) => {
            if let Some((rule, detail)) = unproven(input) {
                findings.push(at_signature(input, is_inside, rule, &detail));
            }
        }
    }
}

/// A finding about the signature that the message carries.
pub(super) fn finding(input: &Input<'_>, rule: Rule, detail: &str) -> Finding {
    at_signature(input, inside(input.message).is_some(), rule, detail)
}

/// Where the signature of this envelope travels inside it.
const fn path(envelope: Envelope) -> &'static [&'static str] {
    match envelope {
        Envelope::Canonical => REFERENCE,
        Envelope::Delivery => SENDER,
    }
}

/// What a message and its field carry; the flag tells whether the signature stands in the message.
enum Found<'a> {
    Nothing,
    Several,
    Malformed(bool),
    Disagree,
    Jws(&'a str, bool),
}

fn found<'a>(message: &'a Message<'_>, field: Fact<&'a str>) -> Found<'a> {
    let field = match field {
        Fact::Known(jws) => Some(jws),
        Fact::Absent => None,
        Fact::Unavailable => return Found::Several,
    };
    let (jws, is_inside) = match (field, inside(message)) {
        (_, None) if message.envelope() == Envelope::Delivery => return Found::Nothing,
        (None, None) => return Found::Nothing,
        (Some(field), Some(member)) if field != member => return Found::Disagree,
        (_, Some(member)) => (member, true),
        (Some(field), None) => (field, false),
    };
    if is_detached_jws(jws) {
        Found::Jws(jws, is_inside)
    } else {
        Found::Malformed(is_inside)
    }
}

/// The signature that stands in the message.
fn inside<'a>(message: &'a Message<'_>) -> Option<&'a str> {
    let text = message.text(path(message.envelope()));
    match message.envelope() {
        Envelope::Canonical => {
            // A signature in any other spelling of its type is one too, and a malformed one.
            let is_data = |text: &&str| text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"));
            let jws = text.filter(is_data)?;
            Some(jws.strip_prefix("data:application/jose,").unwrap_or(jws))
        }
        Envelope::Delivery => text.filter(|text| !text.is_empty()),
    }
}

/// What is wrong with there being no signature.
fn absent(input: &Input<'_>) -> Option<Finding> {
    let rule = Rule::SignatureAbsent;
    if input.message.envelope() == Envelope::Delivery {
        let detail = "expected a signature, as every delivery envelope has one";
        return Some(place::finding(input, rule, SENDER, detail));
    }
    if input.message.text(CHANNEL) == Some("signed-envelope") {
        let detail = "expected a signature, as the channel is `signed-envelope`";
        return Some(place::finding(input, rule, CHANNEL, detail));
    }
    let detail = "expected a signature, as this route takes no message without one";
    input
        .route
        .proofs
        .signature_required
        .then(|| Finding::new(rule, detail))
}

/// Why the signature that is carried proves nothing.
fn unproven(input: &Input<'_>) -> Option<(Rule, String)> {
    let of = |rule, detail: &str| Some((rule, detail.to_owned()));
    match input.facts.proof {
        Fact::Known(Proof::Signed(signed)) => incomplete(input, signed),
        Fact::Known(Proof::Failed(Fault { rule, detail, .. })) if RULES.contains(rule) => Some((*rule, detail.clone())),
        Fact::Absent | Fact::Unavailable if input.policy.trust.issuers.is_empty() => of(
            Rule::SignatureKeyUnknown,
            "expected a key of an issuer that the policy names; it names none",
        ),
        Fact::Known(Proof::Failed(_)) | Fact::Absent | Fact::Unavailable => of(
            Rule::KeysUnavailable,
            "expected keys by which the signature could be verified",
        ),
    }
}

/// What a good signature lacks here.
fn incomplete(input: &Input<'_>, signed: &Signed) -> Option<(Rule, String)> {
    if input.message.envelope() == Envelope::Delivery && signed.issued_at.is_none() {
        let detail = "expected `iat`, the only time of a delivery envelope";
        return Some((Rule::SignatureHeader, detail.to_owned()));
    }
    if input.route.proofs.audience_required && !signed.has_audience {
        let detail = "expected `aud`, as this route requires it";
        return Some((Rule::SignatureWrongAudience, detail.to_owned()));
    }
    None
}

/// A finding about the signature: at its member, or at no place when it stands in the field.
fn at_signature(input: &Input<'_>, is_inside: bool, rule: Rule, detail: &str) -> Finding {
    if is_inside {
        place::finding(input, rule, path(input.message.envelope()), detail)
    } else {
        Finding::new(rule, detail.to_owned())
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
                "in another spelling",
                |case| {
                    case.set(
                        "/trust/signature_ref",
                        "\"Data:application/jose,eyJhbGciOiJFZERTQSJ9..c2ln\"",
                    )
                },
                &[Rule::SignatureMalformed],
            ),
            (
                "of another type",
                |case| {
                    case.set(
                        "/trust/signature_ref",
                        "\"data:application/jose;v=1,eyJhbGciOiJFZERTQSJ9..c2ln\"",
                    )
                },
                &[Rule::SignatureMalformed],
            ),
            (
                "elsewhere",
                |case| case.set("/trust/signature_ref", "\"https://keys.example/7\""),
                &[],
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
