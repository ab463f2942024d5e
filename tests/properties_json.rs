//! What holds for every document: the reader never panics and takes nothing that another strict reader refuses, and the
//! canonical text is the one of an independent writer, whatever the document's order, blanks and escapes.
#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test that fails is a test"
)]

use portcullis::contract::{Rule, Stage};
use portcullis::message::canonical::{canonical_bytes, jcs};
use portcullis::message::json::{Bounds, Node, read};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::Value;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(8785),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Ten thousand cases, always the same; as many as `PORTCULLIS_CASES` says, never twice the same, when it is set.
fn canonical_config() -> ProptestConfig {
    match std::env::var("PORTCULLIS_CASES") {
        Ok(cases) => ProptestConfig {
            rng_seed: RngSeed::Random,
            ..config(cases.parse().unwrap())
        },
        Err(_) => config(10_000),
    }
}

/// Text that contract §2.1 admits, rich in what escapes and sorting treat in their own way.
fn text() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        4 => prop::char::range('a', 'e'),
        2 => prop::char::range('\u{1}', '\u{7f}'),
        1 => prop::char::range('\u{80}', '\u{2fff}'),
        1 => prop::char::range('\u{e000}', '\u{fdcf}'),
        1 => prop::char::range('\u{1f600}', '\u{1f64f}'),
        // Where the order of UTF-16 and that of code points part: the last before the surrogates, the first and last
        // after them, the first and last that need a pair.
        1 => prop::sample::select(vec!['\u{d7ff}', '\u{e000}', '\u{fffd}', '\u{10000}', '\u{10fffd}', '"', '\\', '\u{2028}']),
    ];
    prop::collection::vec(character, 0..8).prop_map(String::from_iter)
}

/// A number that a double keeps, as both readers would have it.
fn number() -> impl Strategy<Value = Value> {
    let doubles = prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO;
    prop_oneof![
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Value::from),
        (-100_i64..100).prop_map(Value::from),
        doubles.prop_map(Value::from),
        prop::sample::select(EDGES).prop_map(Value::from),
        (-1000_i32..1000).prop_map(|thousandths| Value::from(f64::from(thousandths) / 1000.0)),
    ]
}

/// Doubles next to where RFC 8785 changes its way of writing.
const EDGES: &[f64] = &[
    -0.0,
    5e-324,
    f64::MIN_POSITIVE,
    f64::MAX,
    f64::MIN,
    f64::EPSILON,
    1e-6,
    1e-7,
    1e-6_f64.next_down(),
    1e20,
    1e21,
    1e22,
    1e23,
    1e21_f64.next_down(),
    9_007_199_254_740_992.0,
    9_007_199_254_740_994.0,
    0.1,
    0.3,
    1.5e300,
];

fn tree() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        text().prop_map(Value::from),
    ];
    scalar.prop_recursive(5, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The same document with every character of its strings escaped and blanks where they may stand.
fn disguised(value: &Value) -> String {
    let string = |text: &str| {
        let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
        format!("\"{units}\"")
    };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => format!(" {value}\n"),
        Value::String(text) => string(text),
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(disguised).collect();
            format!("[\t{} ]", elements.join(",\r\n"))
        }
        Value::Object(members) => {
            let members = members.iter().rev();
            let members: Vec<String> = members
                .map(|(name, value)| format!("{} : {}", string(name), disguised(value)))
                .collect();
            format!("{{ {} }}", members.join(" , "))
        }
    }
}

proptest! {
    #![proptest_config(canonical_config())]

    #[test]
    fn the_canonical_text_is_that_of_an_independent_writer(value in tree()) {
        let plain = value.to_string();
        let node = match read(plain.as_bytes(), &Bounds::default()) {
            Ok(node) => node,
            // Two random names may be one after NFC.
            Err(finding) => {
                prop_assert_eq!(finding.rule, Rule::JsonDuplicateKey);
                return Ok(());
            }
        };
        let canonical = jcs(&node);
        let oracle = serde_json_canonicalizer::to_vec(&value).unwrap();
        prop_assert_eq!(String::from_utf8_lossy(&canonical), String::from_utf8_lossy(&oracle));
        stays(&canonical, jcs)?;
        let disguised = disguised(&value);
        let disguised = read(disguised.as_bytes(), &Bounds::default()).unwrap();
        prop_assert_eq!(&jcs(&disguised), &canonical);
        stays(&canonical_bytes(&node), canonical_bytes)?;
    }
}

proptest! {
    #![proptest_config(config(4_000))]

    #[test]
    fn any_bytes_are_read_or_refused_in_stage_3(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        judge(&bytes)?;
    }

    #[test]
    fn any_tokens_are_read_or_refused_in_stage_3(tokens in prop::collection::vec(prop::sample::select(TOKENS), 0..24)) {
        judge(&tokens.concat())?;
    }

    #[test]
    fn any_broken_document_is_read_or_refused_in_stage_3(value in tree(), at in any::<prop::sample::Index>(), byte: u8) {
        let mut bytes = value.to_string().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        judge(&bytes)?;
        judge(&bytes[..at])?;
    }
}

const TOKENS: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\\",
    b"\\u",
    b"d83d",
    b"de00",
    b"\"a\"",
    b"0",
    b"-",
    b"1",
    b".",
    b"e",
    b"99",
    b"true",
    b"null",
    b" ",
    b"\xEF\xBB\xBF",
    b"\xC3\xA9",
    b"\xFF",
    b"e\xCC\x81",
];

/// Canonical text is the canonical text of itself. It can be one that the gate refuses: RFC 8785 writes `1e17` as an
/// integer, and contract §2.1 takes no such integer.
fn stays(text: &[u8], write: fn(&Node<'_>) -> Vec<u8>) -> Result<(), TestCaseError> {
    match read(text, &Bounds::default()) {
        Ok(node) => prop_assert_eq!(write(&node), text),
        Err(finding) => {
            prop_assert_eq!(finding.rule, Rule::JsonNumber);
            prop_assert!(finding.detail.contains("2^53"));
        }
    }
    Ok(())
}

/// What the reader takes, another strict reader takes too; what it refuses has a rule of stage 3 and a place.
fn judge(bytes: &[u8]) -> Result<(), TestCaseError> {
    match read(bytes, &Bounds::default()) {
        Ok(node) => {
            prop_assert!(serde_json::from_slice::<Value>(bytes).is_ok());
            stays(&jcs(&node), jcs)?;
        }
        Err(finding) => {
            prop_assert_eq!(finding.rule.stage(), Stage::Json);
            prop_assert!(finding.at.is_some_and(|at| at <= bytes.len()));
            prop_assert!(finding.pointer.is_some());
        }
    }
    Ok(())
}
