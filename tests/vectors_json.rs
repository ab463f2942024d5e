//! Every strict-JSON vector: what is accepted, what is refused, and by which rule.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::print_stderr,
    reason = "a test that fails is a test"
)]

#[path = "support/vectors.rs"]
mod vectors;

use portcullis::contract::Rule;
use portcullis::message::json::{Bounds, read};

/// What the vectors accept and contract §2.1 refuses, each with its reason.
const DEVIATIONS: &[(&str, Rule, &str)] = &[
    (
        "nst-y_object_escaped_null_in_key",
        Rule::JsonCodepoint,
        "U+0000 in a name",
    ),
    ("nst-y_string_null_escape", Rule::JsonCodepoint, "U+0000 in a string"),
];

/// Vectors with more than one fault, or whose fault is another one inside `{"v":…}`: the first in reading order decides.
const EARLIER: &[(&str, Rule, &str)] = &[
    (
        "nst-i_string_utf16LE_no_BOM",
        Rule::JsonSyntax,
        "a raw U+0000 after the bracket",
    ),
    ("nst-n_array_a_invalid_utf8", Rule::JsonSyntax, "the bare `a`"),
    (
        "nst-n_string_1_surrogate_then_escape",
        Rule::JsonCodepoint,
        "the lone surrogate",
    ),
    (
        "nst-n_string_incomplete_surrogate_escape_invalid",
        Rule::JsonCodepoint,
        "the first of two high surrogates",
    ),
    (
        "nst-n_structure_UTF8_BOM_no_data",
        Rule::JsonSyntax,
        "inside an object it is no byte order mark",
    ),
    ("utf8-37.3", Rule::JsonSyntax, "a raw U+0000 in the string"),
];

/// The rules that a manifest's reason can mean.
fn rules(reason: &str) -> &'static [Rule] {
    match reason {
        "syntax" => &[Rule::JsonSyntax],
        "utf8" | "bom" => &[Rule::JsonUtf8],
        "noncharacter" | "surrogate" => &[Rule::JsonCodepoint],
        "range" | "bigint" => &[Rule::JsonNumber],
        "depth" => &[Rule::JsonBounds],
        "duplicate" => &[Rule::JsonDuplicateKey],
        other => panic!("a reason this runner does not know: {other}"),
    }
}

#[test]
fn every_vector_has_the_verdict_and_the_rule_it_should() {
    let Some(corpus) = vectors::corpus("json-parse") else {
        return;
    };
    let mut wrong = Vec::new();
    for case in &corpus.cases {
        let id = case["id"].as_str().unwrap();
        let plain = corpus.bytes(case, "file", "b64");
        let mut forms = vec![plain.clone()];
        if case["wrap_ok"] == true {
            forms.push([b"{\"v\":", plain.as_slice(), b"}"].concat());
        }
        for bytes in forms {
            let found = read(&bytes, &Bounds::default()).err().map(|finding| finding.rule);
            let deviation = DEVIATIONS
                .iter()
                .find(|(name, ..)| *name == id)
                .map(|(_, rule, _)| *rule);
            let right = match (case["expect"].as_str().unwrap(), deviation) {
                ("accept", deviation) => found == deviation,
                // The only open question of this corpus, big integers, is answered by contract §2.1: refused.
                ("reject" | "either", None) => {
                    let reasons = case["why"].as_array().unwrap();
                    let meant = reasons.iter().flat_map(|reason| rules(reason.as_str().unwrap()));
                    let earlier = EARLIER.iter().filter(|(name, ..)| *name == id).map(|(_, rule, _)| rule);
                    found.is_some_and(|found| meant.chain(earlier).any(|rule| *rule == found))
                }
                (expect, deviation) => panic!("{id}: {expect}, {deviation:?}"),
            };
            if !right {
                wrong.push(format!("{id}: {} {} found {found:?}", case["expect"], case["why"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(corpus.cases.len() > 500, "{}", corpus.cases.len());
}

#[test]
fn every_name_listed_here_is_a_vector() {
    let Some(corpus) = vectors::corpus("json-parse") else {
        return;
    };
    let expects = |name: &str, expect: &str| {
        let mut cases = corpus.cases.iter();
        cases.any(|case| case["id"] == name && case["expect"] == expect)
    };
    for (name, ..) in DEVIATIONS {
        assert!(expects(name, "accept"), "{name}");
    }
    for (name, ..) in EARLIER {
        assert!(expects(name, "reject"), "{name}");
    }
}

/// The cases that JSONTestSuite calls implementation-defined and the vectors leave out, as the suite has them.
const OPEN: &[(&str, &[u8])] = &[
    ("i_number_double_huge_neg_exp", b"[123.456e-789]"),
    ("i_number_neg_int_huge_exp", b"[-1e+9999]"),
    ("i_number_real_underflow", b"[123e-10000000]"),
    ("i_number_too_big_pos_int", b"[100000000000000000000]"),
    (
        "i_number_very_big_negative_int",
        b"[-237462374673276894279832749832423479823246327846]",
    ),
    ("i_object_key_lone_2nd_surrogate", b"{\"\\uDFAA\":0}"),
    ("i_string_UTF-16LE_with_BOM", b"\xFF\xFE[\x00\"\x00\xE9\x00\"\x00]\x00"),
    ("i_string_UTF-8_invalid_sequence", b"[\"\xE6\x97\xA5\xD1\x88\xFA\"]"),
    ("i_string_incomplete_surrogate_and_escape_valid", b"[\"\\uD800\\n\"]"),
    ("i_string_incomplete_surrogate_pair", b"[\"\\uDd1ea\"]"),
    ("i_string_invalid_lonely_surrogate", b"[\"\\ud800\"]"),
    ("i_string_invalid_utf-8", b"[\"\xFF\"]"),
    ("i_string_inverted_surrogates_U+1D11E", b"[\"\\uDd1e\\uD834\"]"),
    ("i_string_lone_second_surrogate", b"[\"\\uDFAA\"]"),
    ("i_string_overlong_sequence_2_bytes", b"[\"\xC0\xAF\"]"),
    ("i_string_overlong_sequence_6_bytes", b"[\"\xFC\x83\xBF\xBF\xBF\xBF\"]"),
    ("i_string_truncated-utf-8", b"[\"\xE0\xFF\"]"),
    ("i_string_utf16BE_no_BOM", b"\x00[\x00\"\x00\xE9\x00\"\x00]"),
    ("i_structure_500_nested_arrays", &[b'['; 500]),
    ("i_structure_UTF-8_BOM_empty_object", b"\xEF\xBB\xBF{}"),
];

/// The rows of `docs/json.md`: case and rule.
fn decisions() -> Vec<(String, String)> {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json.md");
    let text = std::fs::read_to_string(file).unwrap();
    let row = |line: &str| {
        let mut spans = line.strip_prefix("| `i_")?.split('`');
        let name = format!("i_{}", spans.next()?);
        Some((name, spans.nth(1)?.to_owned()))
    };
    text.lines().filter_map(row).collect()
}

fn refused_by(bytes: &[u8]) -> Option<&'static str> {
    read(bytes, &Bounds::default()).err().map(|finding| finding.rule.id())
}

#[test]
fn every_open_case_is_decided_as_the_document_says() {
    let decisions = decisions();
    assert_eq!(decisions.len(), 35);
    let decided = |name: &str| {
        let row = decisions.iter().find(|(case, _)| case == name);
        row.map(|(_, rule)| rule.as_str())
    };
    for (name, bytes) in OPEN {
        assert_eq!(refused_by(bytes), decided(name), "{name}");
    }
    let Some(corpus) = vectors::corpus("json-parse") else {
        return;
    };
    let mut names: Vec<&str> = OPEN.iter().map(|(name, _)| *name).collect();
    for case in &corpus.cases {
        let Some(name) = case["id"]
            .as_str()
            .unwrap()
            .strip_prefix("nst-")
            .filter(|name| name.starts_with("i_"))
        else {
            continue;
        };
        names.push(name);
        assert!(decided(name).is_some(), "{name} is not decided");
        assert_eq!(refused_by(&corpus.bytes(case, "file", "b64")), decided(name), "{name}");
    }
    let unproven = decisions.iter().filter(|(case, _)| !names.contains(&case.as_str()));
    assert_eq!(unproven.count(), 0);
}
