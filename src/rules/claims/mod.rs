//! `claims.unsupported`: nobody says that UAIX does what it does not.
//!
//! # What it checks
//! Every text of `body` but `support_boundary`, and every `extensions[].purpose`, sentence by sentence: a subject such as
//! `uaix`, an affirmative verb and one of seven objects in one sentence without a negator; or a fixed phrase such as
//! `certified by uaix`. The words are data, in `schemas/claims.json`. A text without a blank, as ids and URIs are, makes
//! no sentence.
//!
//! # Why
//! UAIX records reviewed communication. Agents that believe it hosts, runs, writes or certifies rely on nobody.
//!
//! # Contract
//! §9, "How claims are found".
//!
//! # Outcome
//! 422 ERR_CLAIM_UNSUPPORTED with trigger `certification_claim_requested`.
//!
//! # Example
//! "UAIX provides hosted messaging." is refused, "UAIX does not provide hosted messaging." is not.

mod words;

use super::{Input, place};
use crate::contract::{Finding, Pointer, Rule};
use crate::message::json::{Kind, Node};
use words::{Claim, Words};

pub(super) const RULES: &[Rule] = &[Rule::ClaimsUnsupported];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let Some(words) = Words::shipped() else {
        findings.push(Finding::new(
            Rule::ClaimsUnsupported,
            "expected a readable list of words",
        ));
        return;
    };
    let mut claims = Vec::new();
    let root = input.message.root();
    for member in input.message.body().and_then(|body| body.members()).unwrap_or_default() {
        if member.name != "support_boundary" {
            let mut path = vec![Part::Name("body"), Part::Name(&member.name)];
            search(words, &member.value, &mut path, &mut claims);
        }
    }
    let extensions = root
        .get("extensions")
        .and_then(|node| node.elements())
        .unwrap_or_default();
    for (index, extension) in extensions.iter().enumerate() {
        if let Some(purpose) = extension.get("purpose") {
            let mut path = vec![Part::Name("extensions"), Part::Index(index), Part::Name("purpose")];
            search(words, purpose, &mut path, &mut claims);
        }
    }
    findings.extend(claims.into_iter().map(|(pointer, claim)| {
        let detail = match claim {
            Claim::Of(object) => format!("expected no claim that UAIX offers {object}"),
            Claim::Phrase => "expected no claim that UAIX certifies, endorses or approves".to_owned(),
        };
        place::at(root, Rule::ClaimsUnsupported, &pointer, detail)
    }));
}

/// One step of the way to a text; rendered only when a claim is found there.
enum Part<'n> {
    Name(&'n str),
    Index(usize),
}

/// Looks into every text at or below a node. Depth is bounded by the reader.
fn search<'n>(words: &'n Words, node: &'n Node<'_>, path: &mut Vec<Part<'n>>, claims: &mut Vec<(Pointer, Claim<'n>)>) {
    match &node.kind {
        Kind::String(text) => {
            if let Some(claim) = words.claim(text) {
                claims.push((pointer(path), claim));
            }
        }
        Kind::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                path.push(Part::Index(index));
                search(words, element, path, claims);
                path.pop();
            }
        }
        Kind::Object(members) => {
            for member in members {
                path.push(Part::Name(&member.name));
                search(words, &member.value, path, claims);
                path.pop();
            }
        }
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => {}
    }
}

fn pointer(path: &[Part<'_>]) -> Pointer {
    path.iter().fold(Pointer::root(), |pointer, part| match part {
        Part::Name(name) => pointer.member(name),
        Part::Index(index) => pointer.element(*index),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Change, found};
    use super::*;

    const CLAIM: &str = "\"Note. UAIX provides hosted messaging!\"";

    #[test]
    fn table() {
        let table: [(&str, Change, &[&str]); 7] = [
            ("published final report", |_| {}, &[]),
            (
                "in the summary",
                |case| case.set("/body/summary", CLAIM),
                &["/body/summary"],
            ),
            ("in a list", |case| case.set("/body/risks/0", CLAIM), &["/body/risks/0"]),
            (
                "below an open object",
                |case| case.set("/body/x", &format!("{{\"a\":[{CLAIM}]}}")),
                &["/body/x/a/0"],
            ),
            (
                "in a purpose",
                |case| case.set("/extensions/0/purpose", CLAIM),
                &["/extensions/0/purpose"],
            ),
            (
                "in the support boundary",
                |case| case.set("/body/support_boundary", CLAIM),
                &[],
            ),
            (
                "elsewhere in the envelope",
                |case| case.set("/source/label", CLAIM),
                &[],
            ),
        ];
        for (name, change, expected) in table {
            let places = found(check, change);
            let places: Vec<&str> = places
                .iter()
                .map(|finding| finding.pointer.as_ref().unwrap().as_str())
                .collect();
            assert_eq!(places, expected, "{name}");
        }
    }
}
