//! One row a code: its statuses, its meaning, the rules that carry it.

use std::collections::BTreeSet;

use portcullis::contract::{Code, Rule};

const HEAD: &str = "# Codes

What a refusal's `code` means. Each rule has one code and one status; a code can have several statuses. This page is made from the code;
[rules.md](rules.md) tells of each rule. Rules that this version does not build are in italics.

| code | status | meaning | rules |
|---|---|---|---|
";

pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for code in Code::ALL {
        let rules: Vec<&Rule> = Rule::ALL.iter().filter(|rule| rule.code() == *code).collect();
        assert!(!rules.is_empty(), "{} belongs to no rule", code.name());
        let statuses: BTreeSet<u16> = rules.iter().map(|rule| rule.status()).collect();
        let statuses: Vec<String> = statuses.iter().map(u16::to_string).collect();
        let names: Vec<String> = rules.iter().map(|rule| name(rule)).collect();
        page.push_str(&format!(
            "| `{}` | {} | **{}.** {} | {} |\n",
            code.name(),
            statuses.join(", "),
            code.title(),
            code.meaning(),
            names.join(", ")
        ));
    }
    page
}

fn name(rule: &Rule) -> String {
    if rule.is_built() {
        format!("`{}`", rule.id())
    } else {
        format!("*`{}`*", rule.id())
    }
}
