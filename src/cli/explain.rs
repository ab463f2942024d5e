//! `portcullis explain MESSAGE`: the verdict on one message and what every rule of the contract says of it, offline, in
//! contract order.

use std::io;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Value, json};

use super::Exit;
use super::offline::{Bench, Judged, Means, read_message};
use super::report::{Report, place};
use super::screen::{Format, Screen, Tone};
use crate::contract::{Finding, Rule};
use crate::decide::Heard;

/// What `explain` is asked.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The message file; `-` is standard input.
    message: PathBuf,
    /// Print only the rules that ran; `--output json` always prints every rule.
    #[arg(long)]
    brief: bool,
    #[command(flatten)]
    means: Means,
}

/// Judges the message and prints the verdict and the table.
pub fn run(arguments: &Arguments, screen: &mut Screen) -> io::Result<Exit> {
    let bench = match Bench::set_up(&arguments.means, screen)? {
        Ok(bench) => bench,
        Err(exit) => return Ok(exit),
    };
    let bytes = match read_message(&arguments.message) {
        Ok(bytes) => bytes,
        Err(error) => {
            screen.trouble(&format!("error: {error}"))?;
            return Ok(Exit::CouldNotRun);
        }
    };
    let judged = bench.judge(&bytes);
    match screen.format {
        Format::Json => screen.json(&explanation(&judged))?,
        Format::Text => told(&judged, arguments.brief, screen)?,
    }
    for note in &judged.notes {
        screen.note(&format!("note: {}", note.text))?;
    }
    Ok(if judged.report.is_allow() {
        Exit::Fine
    } else {
        Exit::Refused
    })
}

/// The seven members, and `rules` beside them.
#[derive(Serialize)]
struct Explanation<'a> {
    #[serde(flatten)]
    report: &'a Report,
    rules: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    stage: &'static str,
    rule: &'static str,
    section: &'static str,
    outcome: &'static str,
    findings: Vec<Value>,
}

fn explanation(judged: &Judged) -> Explanation<'_> {
    let row = |(rule, heard): &(Rule, Heard)| Row {
        stage: rule.stage().number(),
        rule: rule.id(),
        section: rule.section(),
        outcome: word(heard),
        findings: match heard {
            Heard::Found(findings) => findings.iter().map(finding).collect(),
            Heard::Passed | Heard::NotRun | Heard::NotBuilt => Vec::new(),
        },
    };
    Explanation {
        report: &judged.report,
        rules: judged.heard.iter().map(row).collect(),
    }
}

fn finding(finding: &Finding) -> Value {
    json!({
        "pointer": finding.pointer.as_ref().map(ToString::to_string),
        "detail": finding.detail,
    })
}

/// The verdict first, then the rules behind it.
fn told(judged: &Judged, brief: bool, screen: &mut Screen) -> io::Result<()> {
    let tone = if judged.report.is_allow() {
        Tone::Good
    } else {
        Tone::Bad
    };
    let verdict = screen.tint(tone, &judged.report.line());
    screen.line(&format!("verdict: {verdict}"))?;
    if let Some(digest) = &judged.report.digest {
        screen.line(&format!("digest: {digest}"))?;
    }
    screen.line("")?;
    table(judged, brief, screen)
}

fn table(judged: &Judged, brief: bool, screen: &mut Screen) -> io::Result<()> {
    screen.line(&row("stage", "rule", "section", "outcome"))?;
    let has_run = |heard: &Heard| matches!(heard, Heard::Passed | Heard::Found(_));
    for (rule, heard) in judged.heard.iter().filter(|(_, heard)| !brief || has_run(heard)) {
        let tone = match heard {
            Heard::Passed => Tone::Good,
            Heard::Found(_) => Tone::Bad,
            Heard::NotRun | Heard::NotBuilt => Tone::Quiet,
        };
        let outcome = screen.tint(tone, word(heard));
        screen.line(&rule_row(*rule, &outcome))?;
        if let Heard::Found(findings) = heard {
            for finding in findings {
                let place = finding
                    .pointer
                    .as_ref()
                    .map(|pointer| format!("{}: ", place(pointer.as_str())))
                    .unwrap_or_default();
                screen.line(&row("", "", "", &format!("{place}{}", finding.detail)))?;
            }
        }
    }
    let left_out = judged.heard.iter().filter(|(_, heard)| !has_run(heard)).count();
    if brief && left_out > 0 {
        screen.line(&format!("{left_out} rules not run or not built"))?;
    }
    Ok(())
}

fn rule_row(rule: Rule, outcome: &str) -> String {
    row(
        rule.stage().number(),
        rule.id(),
        &format!("§{}", rule.section()),
        outcome,
    )
}

fn row(stage: &str, rule: &str, section: &str, outcome: &str) -> String {
    format!("{stage:<5}  {rule:<27}  {section:<7}  {outcome}")
}

const fn word(heard: &Heard) -> &'static str {
    match heard {
        Heard::Passed => "passed",
        Heard::Found(_) => "refused",
        Heard::NotRun => "not run",
        Heard::NotBuilt => "not built",
    }
}
