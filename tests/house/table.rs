//! The table of rules, read as text: once from the code, once from the contract.

use super::scan::read;

/// One row of the rule table, as written in code and as written in docs/contract.md.
#[derive(Debug, PartialEq)]
pub struct Row {
    pub id: String,
    pub stage: String,
    pub code: String,
    pub status: String,
    pub trigger: String,
    pub holds: bool,
    pub section: String,
    pub built: bool,
}

pub fn rules_in_code() -> Vec<Row> {
    let text = read("src/contract/rule.rs");
    let number = |stage: &str| {
        let arm = format!("Self::{stage} => \"");
        text.split(&arm)
            .nth(1)
            .unwrap_or_default()
            .split('"')
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let table = text
        .split("\nrules! {")
        .nth(1)
        .expect("the table")
        .split("\n}")
        .next()
        .unwrap();
    table
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [_, id, stage, code, status, trigger, section, holds, built] = words[..] else {
                panic!("a row of another shape: {line}");
            };
            let trigger = trigger
                .strip_prefix("Some(Trigger::")
                .map(|rest| rest.trim_end_matches("),"));
            Row {
                id: id.trim_matches('"').to_owned(),
                stage: number(stage),
                code: format!("ERR_{}", snake(code).to_uppercase()),
                status: status.to_owned(),
                trigger: snake(trigger.unwrap_or_default()),
                holds: holds == "holds",
                section: section.trim_matches('"').to_owned(),
                built: built == "built;",
            }
        })
        .collect()
}

pub fn rules_in_text() -> Vec<Row> {
    let text = read("docs/contract.md");
    let table = text
        .split("| stage | rules |")
        .nth(1)
        .expect("the table of rules")
        .split("\n\n")
        .next()
        .unwrap();
    let mut rows = Vec::new();
    for line in table.lines().skip(2) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [stage, rules, code, trigger, section] = cells[..] else {
            panic!("a row of another shape: {line}");
        };
        let mut code = code.split_whitespace();
        let (name, status, holds) = (code.next().unwrap(), code.next().unwrap(), code.next() == Some("H"));
        for rule in rules.split(", ") {
            rows.push(Row {
                id: rule.split('`').nth(1).expect("a rule id").to_owned(),
                stage: stage.to_owned(),
                code: name.to_owned(),
                status: status.to_owned(),
                trigger: trigger.to_owned(),
                holds,
                section: section.to_owned(),
                built: !rule.ends_with("*(planned)*"),
            });
        }
    }
    rows
}

/// `CamelCase` as `snake_case`.
pub fn snake(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}
