//! `integrity.absent`, `integrity.placeholder`, `integrity.mismatch`: the checksum is that of the canonical bytes.
//!
//! # What it checks
//! `integrity.checksum` is `sha256:` and 64 lowercase hex digits, and they are the message's digest. On a route with
//! `integrity: declared`, only a well-formed digest can be wrong; a message that would be held needs its checksum
//! whatever the route says. A delivery envelope has no checksum; its signature stands for it.
//!
//! # Why
//! A person approves exact bytes, and an agent acts on exact bytes.
//!
//! # Contract
//! §7, "Canonical bytes" and "Checksum"; §10.
//!
//! # Outcome
//! 422 ERR_JCS_INVALID; absent and placeholder with trigger `missing_integrity_checksum`, a No-Op when held.
//!
//! # Example
//! `"checksum": "sha256:fixture-hash-recorded-by-validator"` is `integrity.placeholder`.

use super::{Input, hold, place};
use crate::contract::{Finding, Rule};
use crate::message::envelope::Envelope;
use crate::policy::Integrity;

pub(super) const RULES: &[Rule] = &[
    Rule::IntegrityAbsent,
    Rule::IntegrityPlaceholder,
    Rule::IntegrityMismatch,
];

const PATH: &[&str] = &["integrity", "checksum"];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    if input.message.envelope() == Envelope::Delivery {
        return;
    }
    let is_required = match input.declared.integrity {
        Integrity::Required => true,
        Integrity::Declared => hold::reason(input).is_some(),
    };
    let (rule, detail) = match input.message.text(PATH) {
        None if is_required => (Rule::IntegrityAbsent, "expected a checksum"),
        None => return,
        Some(checksum) => match digest(checksum) {
            Some(digest) if digest == input.message.digest() => return,
            Some(_) => (Rule::IntegrityMismatch, "expected the SHA-256 of the canonical bytes"),
            None if is_required => (
                Rule::IntegrityPlaceholder,
                "expected `sha256:` and 64 lowercase hex digits",
            ),
            None => return,
        },
    };
    findings.push(place::finding(input, rule, PATH, detail));
}

/// The hex digits of a well-formed checksum.
fn digest(checksum: &str) -> Option<&str> {
    let digits = checksum.strip_prefix("sha256:")?;
    let is_hex = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (digits.len() == 64 && is_hex).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, delivery, rules_found};
    use super::*;

    const ABSENT: &[Rule] = &[Rule::IntegrityAbsent];
    const PLACEHOLDER: &[Rule] = &[Rule::IntegrityPlaceholder];
    const MISMATCH: &[Rule] = &[Rule::IntegrityMismatch];

    #[test]
    fn table() {
        let zeros = format!("\"sha256:{}\"", "0".repeat(64));
        let upper = format!("\"sha256:{}\"", "A".repeat(64));
        let table = [
            ("null", "null", ABSENT, &[][..]),
            (
                "the published placeholder",
                "\"sha256:fixture-hash-recorded-by-validator\"",
                PLACEHOLDER,
                &[],
            ),
            ("empty", "\"\"", PLACEHOLDER, &[]),
            ("another prefix", "\"sha512:00\"", PLACEHOLDER, &[]),
            ("upper case is no digest", upper.as_str(), PLACEHOLDER, &[]),
            ("another message's digest", zeros.as_str(), MISMATCH, MISMATCH),
        ];
        for (name, checksum, required, declared) in table {
            let change = |case: &mut Case, integrity: Integrity, memory: &str| {
                case.declared.integrity = integrity;
                case.set("/body/memory_updates_proposed", memory);
                case.set("/integrity/checksum", checksum);
            };
            assert_eq!(
                rules_found(check, |case| change(case, Integrity::Required, "[]")),
                required,
                "{name}"
            );
            assert_eq!(
                rules_found(check, |case| change(case, Integrity::Declared, "[]")),
                declared,
                "{name}"
            );
            let held = rules_found(check, |case| change(case, Integrity::Declared, "[\"x\"]"));
            assert_eq!(held, required, "{name}, held");
        }
    }

    #[test]
    fn a_delivery_envelope_has_no_checksum() {
        let change = |case: &mut Case| {
            delivery(case);
            case.declared.integrity = Integrity::Required;
        };
        assert_eq!(rules_found(check, change), []);
    }

    #[test]
    fn the_right_digest_passes() {
        let sealed = |case: &mut Case| {
            case.declared.integrity = Integrity::Required;
            let text = case.message.to_string();
            let root = crate::message::json::read(text.as_bytes(), &case.policy.json).unwrap();
            let digest = crate::message::canonical::digest(&root);
            case.set("/integrity/checksum", &format!("\"sha256:{digest}\""));
        };
        assert_eq!(rules_found(check, sealed), []);
    }
}
