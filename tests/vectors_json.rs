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
