//! Every structured-field vector as an `Idempotency-Key`: a String of RFC 9651 or `idempotency.malformed` (contract §8).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::print_stderr,
    dead_code,
    reason = "a test that fails is a test; not every helper is used here"
)]

#[path = "support/vectors.rs"]
mod vectors;

use std::time::Duration;

use portcullis::contract::Rule;
use portcullis::facts::{Fact, Facts};
use portcullis::policy::{Body, Level, Mode, PathPattern, Proofs, Route};
use portcullis::rules::idempotency::check_plain;
use serde_json::Value;

#[test]
fn every_vector_is_judged_as_a_strict_gateway_does() {
    let Some(corpus) = vectors::corpus("structured-fields") else {
        return;
    };
    let route = legacy_route();
    let mut seen = 0;
    for case in &corpus.cases {
        let expected: &[Rule] = match case["as_idempotency_key"].as_str() {
            Some("accept") => &[],
            Some("reject") => &[Rule::IdempotencyMalformed],
            _ => continue,
        };
        let lines = case["raw"].as_array().unwrap();
        let facts = Facts {
            idempotency_key: match lines.as_slice() {
                [Value::String(line)] => Fact::Known(line),
                _ => Fact::Unavailable,
            },
            ..Facts::at(Fact::Absent)
        };
        let mut findings = Vec::new();
        check_plain(&route, &facts, &mut findings);
        let rules: Vec<Rule> = findings.iter().map(|finding| finding.rule).collect();
        assert_eq!(rules, expected, "{}", case["id"]);
        seen += 1;
    }
    assert!(seen > 60, "only {seen} vectors");
}

fn legacy_route() -> Route {
    Route {
        name: "legacy".to_owned(),
        path: PathPattern::parse("/").unwrap(),
        methods: vec!["POST".to_owned()],
        body: Body::Legacy,
        mode: Mode::Enforce,
        level: Level::L3,
        media_types: vec!["application/json".to_owned()],
        body_limit: 1024,
        deadline: Duration::from_secs(1),
        idempotency_required: true,
        forward_headers: None,
        pass_credentials: Vec::new(),
        pass_error_bodies: false,
        proofs: Proofs::default(),
        rate: None,
        human_review_url: None,
        result_url: None,
    }
}
