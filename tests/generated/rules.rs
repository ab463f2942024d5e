//! One entry a rule, in contract order.

use std::fs;

use portcullis::contract::{Rule, Stage, Text, Told};

const HEAD: &str = "# Rules

Every rule of the [contract](contract.md), in the order in which they decide: the first stage with a finding ends the judgement. This
page is made from the code. A rule marked *(planned)* is known by name and enforced nowhere in this version. A rule marked *H* asks for a
person: where a route can hold messages, it holds instead of refusing.
";

pub fn page() -> String {
    let mut page = HEAD.to_owned();
    let mut stage = None;
    let mut told = Vec::new();
    for rule in Rule::ALL {
        if stage != Some(rule.stage()) {
            stage = Some(rule.stage());
            page.push_str(&format!("\n## {}\n", title(rule.stage())));
        }
        page.push_str(&format!("\n### `{}`\n\n{}\n", rule.id(), facts(*rule)));
        let text = match rule.told() {
            Told::Here(Text { checks, why, example }) => paragraphs(checks, why, example),
            Told::Header(name) => match told.iter().find(|(other, _)| *other == name) {
                Some((_, first)) => format!("\nTold with `{first}`.\n"),
                None => {
                    told.push((name, rule.id()));
                    header(name)
                }
            },
        };
        page.push_str(&text);
    }
    page
}

fn title(stage: Stage) -> String {
    match stage {
        Stage::Any => "Any stage".to_owned(),
        stage => format!("Stage {}, {}", stage.number(), format!("{stage:?}").to_lowercase()),
    }
}

fn facts(rule: Rule) -> String {
    let planned = if rule.is_built() { "" } else { " *(planned)*" };
    let holds = if rule.asks_to_hold() { " · *H*" } else { "" };
    let trigger = rule.trigger().map(|trigger| format!(" · trigger `{}`", trigger.name()));
    format!(
        "`{}` {}{holds}{} · §{}{planned}",
        rule.code().name(),
        rule.status(),
        trigger.unwrap_or_default(),
        rule.section()
    )
}

fn paragraphs(checks: &str, why: &str, example: &str) -> String {
    format!("\n- *Checks.* {checks}\n- *Why.* {why}\n- *Example.* {example}\n")
}

/// The three parts of a rule file's header.
fn header(name: &str) -> String {
    let file = super::root().join("src/rules").join(format!("{name}.rs"));
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let header: Vec<&str> = text
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(str::trim)
        .collect();
    let part = |heading: &str| -> String {
        let start = header.iter().position(|line| *line == heading);
        let start = start.unwrap_or_else(|| panic!("{name}: no `{heading}`"));
        let lines = header.iter().skip(start + 1).take_while(|line| !line.starts_with("# "));
        let text = lines.copied().collect::<Vec<_>>().join(" ").trim().to_owned();
        assert!(!text.is_empty(), "{name}: nothing under `{heading}`");
        // Links of the code's own documentation lead nowhere here.
        text.replace("[`", "`").replace("`]", "`")
    };
    for heading in ["# Contract", "# Outcome"] {
        part(heading);
    }
    paragraphs(&part("# What it checks"), &part("# Why"), &part("# Example"))
}
