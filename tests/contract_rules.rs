//! The rule table in the code is the table of the contract, row by row.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that fails is a test"
)]

use std::path::Path;

use portcullis::contract::Rule;
use serde::Deserialize;

#[derive(Debug, PartialEq, Deserialize)]
struct Row {
    rule: String,
    stage: String,
    code: String,
    status: u16,
    trigger: Option<String>,
    section: String,
}

#[test]
fn the_rule_table_is_the_contract_row_by_row() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/contract-rules.json");
    let Ok(text) = std::fs::read_to_string(&file) else {
        let is_required = std::env::vars_os().any(|(key, _)| key == "PORTCULLIS_REQUIRE_VECTORS");
        assert!(!is_required, "{} is required and cannot be read", file.display());
        eprintln!(
            "SKIPPED: {} is not here, the rule table is not compared",
            file.display()
        );
        return;
    };
    let contract: Vec<Row> = serde_json::from_str(&text).unwrap();
    let code: Vec<Row> = Rule::ALL.iter().map(|rule| row(*rule)).collect();
    assert_eq!(code.len(), contract.len());
    for (code, contract) in code.iter().zip(&contract) {
        assert_eq!(code, contract);
    }
}

fn row(rule: Rule) -> Row {
    Row {
        rule: rule.id().to_owned(),
        stage: rule.stage().number().to_owned(),
        code: rule.code().name().to_owned(),
        status: rule.status(),
        trigger: rule.trigger().map(|trigger| trigger.name().to_owned()),
        section: rule.section().to_owned(),
    }
}

/// The rules marked H in contract §6.2, which the machine-readable table does not tell.
#[test]
fn the_rules_that_ask_for_a_person_are_those_of_the_contract() {
    let holding: Vec<&str> = Rule::ALL
        .iter()
        .filter(|rule| rule.asks_to_hold())
        .map(|rule| rule.id())
        .collect();
    let expected = [
        "get-action.category",
        "action.execution",
        "action.credential",
        "claims.widening",
        "hold.required",
        "memory.conflict",
    ];
    assert_eq!(holding, expected);
}
