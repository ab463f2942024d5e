//! Every RFC 8785 vector: the canonical text and its digest.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::print_stderr,
    reason = "a test that fails is a test"
)]

#[path = "support/vectors.rs"]
mod vectors;

use portcullis::contract::Rule;
use portcullis::message::canonical::{jcs, sha256_hex};
use portcullis::message::json::{Bounds, Kind, Member, Node, Number, Span, read};
use serde_json::Value;

/// Documents that the gate refuses (contract §2.1); the writer is tested on them all the same.
const REFUSED: &[(&str, Rule, &str)] = &[
    (
        "nst-i_number_too_big_neg_int",
        Rule::JsonNumber,
        "an integer beyond 2^53 - 1",
    ),
    (
        "rfc8785-values",
        Rule::JsonNumber,
        "333333333.33333329 is not exactly a double",
    ),
    (
        "transform-number_-9223372036854775808",
        Rule::JsonNumber,
        "an integer beyond 2^53 - 1",
    ),
    (
        "transform-number_1.000000000000000005",
        Rule::JsonNumber,
        "not exactly a double",
    ),
    (
        "transform-number_10000000000000000999",
        Rule::JsonNumber,
        "an integer beyond 2^53 - 1",
    ),
    (
        "transform-number_9223372036854775808",
        Rule::JsonNumber,
        "an integer beyond 2^53 - 1",
    ),
    (
        "transform-object_key_nfc_nfd",
        Rule::JsonDuplicateKey,
        "two names that are one after NFC",
    ),
];

fn number(literal: &str, value: f64) -> Node<'_> {
    Node {
        span: Span {
            start: 0,
            end: literal.len(),
        },
        kind: Kind::Number(Number { literal, value }),
    }
}

/// The tree of a document that another reader read.
fn node_of(value: &Value) -> Node<'_> {
    let kind = match value {
        Value::Null => Kind::Null,
        Value::Bool(truth) => Kind::Bool(*truth),
        Value::Number(double) => return number("0", double.as_f64().unwrap()),
        Value::String(text) => Kind::String(text.into()),
        Value::Array(elements) => Kind::Array(elements.iter().map(node_of).collect()),
        Value::Object(members) => Kind::Object(
            members
                .iter()
                .map(|(name, value)| Member {
                    name: name.into(),
                    at: 0,
                    value: node_of(value),
                })
                .collect(),
        ),
    };
    Node {
        span: Span { start: 0, end: 0 },
        kind,
    }
}

fn written(node: &Node<'_>) -> String {
    String::from_utf8(jcs(node)).unwrap()
}

/// Deeper than the default, so that no document of the corpus is refused for its bounds.
fn bounds() -> Bounds {
    Bounds {
        depth: 128,
        ..Bounds::default()
    }
}

#[test]
fn every_vector_is_written_as_published() {
    let Some(corpus) = vectors::corpus("jcs") else { return };
    let mut wrong = Vec::new();
    for case in &corpus.cases {
        let id = case["id"].as_str().unwrap();
        let bits = || f64::from_bits(u64::from_str_radix(case["f64"].as_str().unwrap(), 16).unwrap());
        let right = match case["kind"].as_str().unwrap() {
            // The writer alone: many of these doubles have a text that the gate would take, some have none.
            "number" => written(&number("0", bits())) == case["out"],
            // A literal that the gate refuses, because it is not exactly its double, is still read and written right.
            "decimal" => {
                let literal = case["in"].as_str().unwrap();
                let value: f64 = literal.parse().unwrap();
                value.to_bits() == bits().to_bits()
                    && written(&number(literal, value)) == case["out"]
                    && read(literal.as_bytes(), &bounds()).is_ok_and(|node| written(&node) == case["out"])
                        == exact(literal, case["out"].as_str().unwrap())
            }
            "document" => {
                let bytes = corpus.bytes(case, "in_file", "in_b64");
                let out = corpus.bytes(case, "out_file", "out_b64");
                let refused = REFUSED.iter().find(|(name, ..)| *name == id).map(|(_, rule, _)| *rule);
                let (text, found) = match read(&bytes, &bounds()) {
                    Ok(node) => (jcs(&node), None),
                    Err(finding) => (
                        jcs(&node_of(&serde_json::from_slice(&bytes).unwrap())),
                        Some(finding.rule),
                    ),
                };
                text == out && sha256_hex(&out) == case["sha256"] && found == refused
            }
            "reject" if case["in"].is_string() => read(case["in"].as_str().unwrap().as_bytes(), &bounds()).is_err(),
            "reject" if case["in_b64"].is_string() => read(&corpus.bytes(case, "", "in_b64"), &bounds()).is_err(),
            // NaN and Infinity: JSON has no literal for them, so the reader makes no such node.
            "reject" => !bits().is_finite(),
            other => panic!("{id}: a kind this runner does not know: {other}"),
        };
        if !right {
            wrong.push(id.to_owned());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(corpus.cases.len() > 3000, "{}", corpus.cases.len());
}

/// Whether the gate should take a literal (contract §2.1): no integer beyond 2^53 - 1, and the same value as its
/// canonical text. Reckoned apart from the crate, as an integer times a power of ten.
fn exact(literal: &str, canonical: &str) -> bool {
    let plain = !literal.contains(['.', 'e', 'E']);
    let small = literal
        .parse::<i64>()
        .is_ok_and(|integer| integer.unsigned_abs() < 1 << 53);
    let integer_times_power = |text: &str| {
        let text = text.to_lowercase();
        let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
        let fraction = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let digits = mantissa.replace(['.', '-'], "");
        let integer = digits.trim_end_matches('0');
        let zeros = digits.len() - integer.len();
        let power: i128 = power.parse().unwrap();
        match integer.trim_start_matches('0') {
            "" => (String::new(), 0),
            integer => (integer.to_owned(), power + zeros as i128 - fraction as i128),
        }
    };
    (small || !plain) && integer_times_power(literal) == integer_times_power(canonical)
}
