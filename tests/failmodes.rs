//! The fail-mode table is complete, every row is proven by a test that exists, and ARCHITECTURE.md prints it.
//!
//! `PORTCULLIS_BLESS=1 cargo test --test failmodes` writes the table into ARCHITECTURE.md.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails is a test")]

use std::fs;
use std::path::Path;

use portcullis::admin::failmodes::{self, Answer, FailMode, Proof};
use portcullis::contract::{Rule, Stage};

const BEGIN: &str = "<!-- failmodes -->\n";
const END: &str = "<!-- /failmodes -->";

#[test]
fn every_built_rule_stands_in_the_table_once_and_no_other() {
    let mut rules: Vec<Rule> = failmodes::all().filter_map(rule).collect();
    rules.sort();
    let built: Vec<Rule> = Rule::ALL.iter().copied().filter(|rule| rule.is_built()).collect();
    let missing: Vec<&str> = built
        .iter()
        .filter(|rule| !rules.contains(rule))
        .map(|rule| rule.id())
        .collect();
    let surplus: Vec<&str> = rules
        .iter()
        .filter(|rule| !built.contains(rule))
        .map(|rule| rule.id())
        .collect();
    assert_eq!(
        (missing, surplus),
        (Vec::new(), Vec::new()),
        "not in the table, in it without being built"
    );
    assert_eq!(rules.len(), built.len(), "a rule stands in the table twice");
}

#[test]
fn the_checks_stand_in_the_order_of_the_contract() {
    let rules: Vec<Rule> = failmodes::CHECKS.iter().filter_map(rule).collect();
    assert!(rules.is_sorted());
}

#[test]
fn every_row_is_proven_by_something_that_exists() {
    let missing: Vec<String> = failmodes::all()
        .filter_map(|mode| match mode.proof {
            Proof::Test(test) => (!proves(test, rule(mode))).then(|| format!("{}: {test}", mode.what)),
            Proof::Corpus(rule) => (!has_cases(rule)).then(|| format!("{}: no case for {}", mode.what, rule.id())),
        })
        .collect();
    assert!(missing.is_empty(), "not proven:\n{}", missing.join("\n"));
}

#[test]
fn a_row_is_proven_by_its_own_cases_and_only_where_cases_can_prove_it() {
    for mode in failmodes::all() {
        if let Proof::Corpus(proven) = mode.proof {
            assert_eq!(rule(mode), Some(proven));
            assert!(
                proven.stage() >= Stage::Json && proven.stage() <= Stage::Firewall,
                "{}",
                proven.id()
            );
        }
    }
}

#[test]
fn no_cell_breaks_the_table() {
    for row in failmodes::rows() {
        for cell in [row.what, row.when, &row.answer, row.backend, &row.proof] {
            assert!(!cell.is_empty() && !cell.contains(['|', '\n']), "{cell}");
        }
    }
}

#[test]
fn architecture_prints_the_table() {
    let path = root().join("ARCHITECTURE.md");
    let text = fs::read_to_string(&path).expect("ARCHITECTURE.md");
    let (before, rest) = text.split_once(BEGIN).expect("a line `<!-- failmodes -->`");
    let (printed, after) = rest.split_once(END).expect("a line `<!-- /failmodes -->`");
    let table = failmodes::markdown();
    if bless() {
        fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert_eq!(printed, table, "run PORTCULLIS_BLESS=1 cargo test --test failmodes");
    }
}

fn rule(mode: &FailMode) -> Option<Rule> {
    match mode.answer {
        Answer::Refuse(rule) => Some(rule),
        Answer::Text(_) => None,
    }
}

/// Whether `file.rs::name` names a test function that speaks of the rule, when there is one.
fn proves(test: &str, rule: Option<Rule>) -> bool {
    let body = || {
        let (file, name) = test.split_once("::")?;
        let text = fs::read_to_string(root().join(file)).ok()?;
        let (_, after) = text.split_once(&format!("fn {name}("))?;
        let body = after.split("test]\n").next()?;
        Some(rule.is_none_or(|rule| body.contains(rule.id()) || body.contains(&format!("{rule:?}"))))
    };
    body().unwrap_or(false)
}

fn has_cases(rule: Rule) -> bool {
    fs::read_dir(root().join("tests/corpus/rules").join(rule.id()).join("reject"))
        .is_ok_and(|mut cases| cases.next().is_some())
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[expect(clippy::disallowed_methods, reason = "a person asks for the table to be written")]
fn bless() -> bool {
    std::env::var_os("PORTCULLIS_BLESS").is_some()
}
