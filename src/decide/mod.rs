//! `decide`: from a policy, a message and facts to one verdict with its reasons. Pure, total, and the only place that
//! can make a [`Permit`].

mod answer;
mod verdict;

pub use answer::{Question, answer};
pub use verdict::{Observed, Permit, Refusal, Verdict};

use crate::contract::{Finding, Pointer, Rule, Stage};
use crate::facts::Facts;
use crate::message::envelope::{Envelope, Form, Message};
use crate::message::json;
use crate::policy::{Mode, Policy, Route};
use crate::rules::{self, Entry, Input, RULES};

/// Stages 3 and 4: from bytes in this form to a message in one of these envelopes (contract §2).
///
/// # Errors
/// The findings of stage 3 or 4. They refuse on an observe route too (contract §1).
pub fn read<'a>(bytes: &'a [u8], policy: &Policy, form: Form, envelopes: &[Envelope]) -> Result<Message<'a>, Refusal> {
    let root = json::read(bytes, &policy.json).map_err(Refusal::new)?;
    let start = root.span.start;
    let message = match form {
        Form::Keyed => Message::open(bytes, root).map_err(Refusal::new)?,
        Form::Keyless => Message::open_keyless(bytes, root, &policy.schemas).map_err(refuse)?,
    };
    if envelopes.contains(&message.envelope()) {
        return Ok(message);
    }
    let name = match message.envelope() {
        Envelope::Canonical => "uai_version",
        Envelope::Delivery => "version",
    };
    let at = message.root().member(name).map_or(start, |member| member.at);
    let taken: Vec<&str> = envelopes.iter().map(|envelope| envelope.name()).collect();
    let detail = format!("expected an envelope that is taken here: {}", taken.join(", "));
    let pointer = Pointer::root().member(name);
    Err(Refusal::new(Finding::at(Rule::EnvelopeNotHere, pointer, at, detail)))
}

/// A message in which stages 5 to 8 found nothing; only [`screen`] makes one.
#[derive(Debug)]
pub struct Screened(());

/// Stages 5 to 15 for a message of which every fact is known.
pub fn decide(input: &Input<'_>) -> Verdict {
    match screen(input) {
        Ok(screened) => conclude(input, screened),
        Err(verdict) => verdict,
    }
}

/// Stages 5 to 8, which need no proof of anybody: what they refuse costs no verification.
///
/// # Errors
/// The verdict, when one of them decides.
pub fn screen(input: &Input<'_>) -> Result<Screened, Verdict> {
    match first_refusal(input, until(Stage::Integrity).0) {
        None => Ok(Screened(())),
        Some(refusal) => Err(verdict(input, Some(refusal))),
    }
}

/// Stages 9 to 15, with the proof of its signature among the facts.
pub fn conclude(input: &Input<'_>, _screened: Screened) -> Verdict {
    verdict(input, first_refusal(input, until(Stage::Integrity).1))
}

/// The entries up to a stage, and those behind it.
fn until(stage: Stage) -> (&'static [Entry], &'static [Entry]) {
    RULES.split_at(RULES.partition_point(|entry| entry.stage() <= stage))
}

fn verdict(input: &Input<'_>, refusal: Option<Refusal>) -> Verdict {
    match (input.route.mode, refusal) {
        (Mode::Enforce, None) => Verdict::allow(),
        (Mode::Enforce, Some(refusal)) => Verdict::Refused(refusal),
        (Mode::Observe, None) => Verdict::observe(None),
        (Mode::Observe, Some(refusal)) => {
            if rules::asks_for_a_person(input) {
                Verdict::Refused(refusal)
            } else {
                Verdict::observe(Some(refusal))
            }
        }
    }
}

/// Stages 5 to 15 for a route without an envelope: only what needs no message is judged (contract §1, "legacy route").
pub fn decide_plain(policy: &Policy, route: &Route, facts: &Facts<'_>) -> Verdict {
    let mut findings = Vec::new();
    rules::idempotency::check_plain(route, facts, &mut findings);
    if findings.is_empty() {
        rules::authority::route::check_plain(policy, route, facts, &mut findings);
    }
    let refusal = settle(findings, false);
    match (route.mode, refusal) {
        (Mode::Enforce, None) => Verdict::allow(),
        (Mode::Enforce, Some(refusal)) => Verdict::Refused(refusal),
        (Mode::Observe, refusal) => Verdict::observe(refusal),
    }
}

/// What one rule said about a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It ran and found nothing.
    Passed,
    /// It ran and found this.
    Found(Vec<Finding>),
    /// An earlier stage decided, or the rule needs what this run does not have.
    NotRun,
    /// This version does not enforce it.
    NotBuilt,
}

/// Every rule of the contract in table order with what it said, for `explain`; `runs` tells which rules this run has
/// the means to judge; a finding of any other rule is dropped. Uses the same checks and the same order as [`decide`].
pub fn trace(input: &Input<'_>, runs: impl Fn(Rule) -> bool) -> (Vec<(Rule, Heard)>, Option<Refusal>) {
    let judged: Vec<Entry> = RULES
        .iter()
        .filter(|entry| entry.rules.iter().any(|rule| runs(*rule)))
        .copied()
        .collect();
    let refusal = first_refusal_of(input, &judged, &runs);
    let decided_at = refusal.as_ref().map(|refusal| refusal.deciding.rule.stage());
    let heard = Rule::ALL
        .iter()
        .map(|rule| (*rule, hear(*rule, &judged, refusal.as_ref(), decided_at, &runs)))
        .collect();
    (heard, refusal)
}

fn hear(
    rule: Rule,
    judged: &[Entry],
    refusal: Option<&Refusal>,
    decided_at: Option<Stage>,
    runs: &impl Fn(Rule) -> bool,
) -> Heard {
    if !rule.is_built() {
        return Heard::NotBuilt;
    }
    let read_here = matches!(rule.stage(), Stage::Json | Stage::Envelope);
    let has_check = read_here || judged.iter().any(|entry| entry.rules.contains(&rule));
    if !has_check || !runs(rule) || decided_at.is_some_and(|stage| rule.stage() > stage) {
        return Heard::NotRun;
    }
    let found: Vec<Finding> = refusal
        .into_iter()
        .flat_map(Refusal::findings)
        .filter(|finding| finding.rule == rule)
        .cloned()
        .collect();
    if found.is_empty() {
        Heard::Passed
    } else {
        Heard::Found(found)
    }
}

/// Runs the entries stage by stage; the first stage with a finding decides.
fn first_refusal(input: &Input<'_>, entries: &[Entry]) -> Option<Refusal> {
    first_refusal_of(input, entries, |_| true)
}

/// The same, but only findings of rules that `runs` count.
fn first_refusal_of(input: &Input<'_>, entries: &[Entry], runs: impl Fn(Rule) -> bool) -> Option<Refusal> {
    if entries.is_empty() {
        return Some(Refusal::new(Finding::new(Rule::InternalPanic, "no rule to judge by")));
    }
    entries
        .chunk_by(|left, right| left.stage() == right.stage())
        .find_map(|stage| {
            let mut findings = Vec::new();
            for entry in stage {
                (entry.check)(input, &mut findings);
            }
            findings.retain(|finding| runs(finding.rule));
            let held = !findings.is_empty() && rules::hold::reason(input).is_some();
            settle(findings, held)
        })
}

/// A refusal by findings of which there is at least one.
fn refuse(findings: Vec<Finding>) -> Refusal {
    let nothing = || Refusal::new(Finding::new(Rule::InternalPanic, "a refusal without a finding"));
    settle(findings, false).unwrap_or_else(nothing)
}

/// Orders the findings of one stage as contract §4 says and makes them a refusal.
fn settle(mut findings: Vec<Finding>, held: bool) -> Option<Refusal> {
    findings.sort_by_cached_key(order);
    let mut findings = findings.into_iter();
    let deciding = findings.next()?;
    Some(Refusal::with_others(deciding, findings, held))
}

/// Row order; in stages 7 and 12 the order of the codes, then of the document, findings without a place last.
fn order(finding: &Finding) -> (Rule, usize, Rule) {
    let place = finding.at.unwrap_or(usize::MAX);
    match finding.rule.stage() {
        Stage::Schema | Stage::Semantics => (first_with_code(finding.rule), place, finding.rule),
        Stage::Route
        | Stage::Limits
        | Stage::Credentials
        | Stage::Json
        | Stage::Envelope
        | Stage::Addressing
        | Stage::Capability
        | Stage::Integrity
        | Stage::Signature
        | Stage::Authority
        | Stage::Freshness
        | Stage::Replay
        | Stage::Guards
        | Stage::Firewall
        | Stage::Forward
        | Stage::Answer
        | Stage::Any => (finding.rule, place, finding.rule),
    }
}

/// The first rule of the same stage and code: stands for "the order of the codes".
fn first_with_code(rule: Rule) -> Rule {
    Rule::ALL
        .iter()
        .copied()
        .find(|other| other.stage() == rule.stage() && other.code() == rule.code())
        .unwrap_or(rule)
}

#[cfg(test)]
mod tests;
