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

pub(super) mod widening;
mod words;

use super::{Input, place, texts};
use crate::contract::{Finding, Rule};
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
    texts::statements(input.message, &mut |text, path| {
        let Some(claim) = words.claim(text) else { return };
        let detail = match claim {
            Claim::Of(object) => format!("expected no claim that UAIX offers {object}"),
            Claim::Phrase => "expected no claim that UAIX certifies, endorses or approves".to_owned(),
        };
        let pointer = texts::pointer(path);
        findings.push(place::at(
            input.message.root(),
            Rule::ClaimsUnsupported,
            &pointer,
            detail,
        ));
    });
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
