//! Every JSON Schema 2020-12 vector over our own tree: valid, or invalid with at least one error.
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

use jsonschema::Draft;
use portcullis::message::json::{Bounds, Tree, read};
use serde_json::Value;

/// Cases in which the contract says more than the standard, with the reason.
const DEVIATIONS: &[(&str, &str)] = &[(
    "optional-bignum-00",
    "an integer is written without exponent and fits a double (contract §2.1)",
)];

#[test]
fn every_vector_is_judged_as_the_standard_says() {
    let Some(corpus) = vectors::corpus("json-schema-2020-12") else {
        return;
    };
    let (mut seen, mut wrong) = (0, Vec::new());
    let deviates = |case: &&Value| DEVIATIONS.iter().any(|(id, _)| case["id"] == *id);
    for case in corpus.cases.iter().filter(|case| !deviates(case)) {
        let is_optional = case["optional"].as_bool() == Some(true);
        let options = jsonschema::options_for::<Tree>()
            .with_draft(Draft::Draft202012)
            .offline();
        let validator = options.should_validate_formats(is_optional).build(&case["schema"]);
        let validator = validator.unwrap_or_else(|error| panic!("{}: {error}", case["id"]));
        for test in case["tests"].as_array().unwrap() {
            let text = test["data"].to_string();
            // What the strict reader refuses never reaches a schema.
            let Ok(node) = read(text.as_bytes(), &Bounds::default()) else {
                continue;
            };
            seen += 1;
            let is_valid = validator.is_valid(&node);
            let has_errors = validator.iter_errors(&node).next().is_some();
            if is_valid == has_errors || Value::Bool(is_valid) != test["valid"] {
                wrong.push(format!("{}: {} {text}", case["id"], test["description"]));
            }
        }
    }
    assert!(seen > 500, "only {seen} tests");
    assert!(
        wrong.is_empty(),
        "{} of {seen} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
