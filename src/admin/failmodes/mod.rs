//! The fail-mode table (design: every check and every dependency, what happens when it fails, the test that proves it).
//!
//! One table for `/failmodes` and for ARCHITECTURE.md; `tests/failmodes.rs` holds it complete, proven and printed.

mod checks;
mod dependencies;

use std::fmt::Write;

use serde::Serialize;

pub use checks::CHECKS;
pub use dependencies::DEPENDENCIES;

use crate::contract::{Rule, Stage};
use crate::discovery::page;

/// One way to fail and what happens then.
#[derive(Clone, Copy, Debug)]
pub struct FailMode {
    /// The check or the dependency.
    pub what: &'static str,
    /// When it fails.
    pub when: &'static str,
    /// What happens.
    pub answer: Answer,
    /// What proves it.
    pub proof: Proof,
}

/// What happens when something fails.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// The request is refused by this rule.
    Refuse(Rule),
    /// Something that is no answer to a request.
    Text(&'static str),
}

/// What proves a row.
#[derive(Clone, Copy, Debug)]
pub enum Proof {
    /// `path/of/file.rs::test_name`.
    Test(&'static str),
    /// The cases under `tests/corpus/rules/<rule id>/reject`.
    Corpus(Rule),
}

/// A row as it is printed.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The check or the dependency.
    pub what: &'static str,
    /// When it fails.
    pub when: &'static str,
    /// What happens, in words.
    pub answer: String,
    /// The rule that refuses, if one does.
    pub rule: Option<&'static str>,
    /// Its code.
    pub code: Option<&'static str>,
    /// Its HTTP status.
    pub status: Option<u16>,
    /// What of the request the backend may have got.
    pub backend: &'static str,
    /// `path/of/file.rs::test_name`, or a folder of cases.
    pub proof: String,
}

/// Every way to fail: the checks in the order of the stages, then the dependencies.
pub fn all() -> impl Iterator<Item = &'static FailMode> {
    CHECKS.iter().chain(DEPENDENCIES)
}

/// Every row as it is printed.
pub fn rows() -> Vec<Row> {
    all().map(row).collect()
}

/// The table as Markdown, for ARCHITECTURE.md and `text/plain`.
pub fn markdown() -> String {
    let mut text = String::from("| what | fails when | then | backend gets | proof |\n|---|---|---|---|---|\n");
    for row in rows() {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | `{}` |",
            row.what, row.when, row.answer, row.backend, row.proof
        );
    }
    text
}

/// The table as the body of an HTML page.
pub fn html() -> String {
    let mut html = String::from(
        "<p>Every check and every dependency, what happens when it fails, and the test that proves it.</p>\
         <table><thead><tr><th>what<th>fails when<th>then<th>backend gets<th>proof</thead><tbody>",
    );
    for row in rows() {
        let _ = write!(
            html,
            "<tr><td>{}<td>{}<td>{}<td>{}<td><code>{}</code>",
            page::prose(row.what),
            page::prose(row.when),
            page::prose(&row.answer),
            page::prose(row.backend),
            page::prose(&row.proof)
        );
    }
    html.push_str("</tbody></table>");
    html
}

fn row(mode: &FailMode) -> Row {
    let rule = match mode.answer {
        Answer::Refuse(rule) => Some(rule),
        Answer::Text(_) => None,
    };
    Row {
        what: mode.what,
        when: mode.when,
        answer: match mode.answer {
            Answer::Refuse(rule) => format!("`{}` {} {}", rule.id(), rule.status(), rule.code().name()),
            Answer::Text(text) => text.to_owned(),
        },
        rule: rule.map(Rule::id),
        code: rule.map(|rule| rule.code().name()),
        status: rule.map(Rule::status),
        backend: rule.map_or("–", backend_gets),
        proof: match mode.proof {
            Proof::Test(test) => test.to_owned(),
            Proof::Corpus(rule) => format!("tests/corpus/rules/{}/reject", rule.id()),
        },
    }
}

/// What the backend may have got of a request that this rule refuses.
const fn backend_gets(rule: Rule) -> &'static str {
    match rule.stage() {
        Stage::Route
        | Stage::Limits
        | Stage::Credentials
        | Stage::Json
        | Stage::Envelope
        | Stage::Addressing
        | Stage::Capability
        | Stage::Schema
        | Stage::Integrity
        | Stage::Signature
        | Stage::Authority
        | Stage::Freshness
        | Stage::Semantics
        | Stage::Replay
        | Stage::Guards
        | Stage::Firewall => "nothing",
        Stage::Forward if matches!(rule, Rule::BackendUnreachable) => "nothing",
        Stage::Forward => "some or all",
        Stage::Answer => "all",
        Stage::Any => "nothing before stage 16",
    }
}

/// A check that needs a live request.
const fn tested(rule: Rule, what: &'static str, when: &'static str, test: &'static str) -> FailMode {
    FailMode {
        what,
        when,
        answer: Answer::Refuse(rule),
        proof: Proof::Test(test),
    }
}

/// A check that the corpus proves.
const fn cases(rule: Rule, what: &'static str, when: &'static str) -> FailMode {
    FailMode {
        what,
        when,
        answer: Answer::Refuse(rule),
        proof: Proof::Corpus(rule),
    }
}
