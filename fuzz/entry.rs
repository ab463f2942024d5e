//! The fuzz entry points: one plain function a target, shared by `fuzz_targets/` and `tests/fuzz_replay.rs`.
//!
//! A new target is a function here, a file in `fuzz_targets/`, a `[[bin]]` in `Cargo.toml`, a folder of seeds in
//! `corpus/` and a line in `TARGETS`.

use std::path::Path;
use std::sync::LazyLock;

use jiff::Timestamp;
use portcullis::config;
use portcullis::contract::{Finding, Rule, Stage};
use portcullis::decide::{self, Refusal, Verdict};
use portcullis::facts::{Fact, Facts};
use portcullis::message::canonical::{canonical_bytes, digest, jcs, sha256_hex};
use portcullis::message::envelope::Form;
use portcullis::message::json::{Bounds, Node, minified, read};
use portcullis::message::keyless::{flatten, rebuild};
use portcullis::message::profile::Schemas;
use portcullis::policy::{Integrity, Mode, Policy};
use portcullis::rules::Input;

/// A name and its entry point.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: &[Target] = &[
    ("json", json),
    ("canonical", canonical),
    ("keyless", keyless),
    ("policy", policy),
    ("decide", decide),
];

/// Reading ends in a tree or in a finding of stage 3, and never in a panic.
pub fn json(data: &[u8]) {
    match read(data, &Bounds::default()) {
        Ok(node) => assert!(node.span.end <= data.len()),
        Err(finding) => {
            assert_eq!(finding.rule.stage(), Stage::Json);
            assert!(finding.at.is_some_and(|at| at <= data.len()));
        }
    }
}

/// What is canonical stays as it is, and the digest is that of the canonical bytes.
pub fn canonical(data: &[u8]) {
    let Ok(node) = read(data, &Bounds::default()) else {
        return;
    };
    settles(&node, jcs);
    settles(&node, canonical_bytes);
    assert_eq!(digest(&node), sha256_hex(&canonical_bytes(&node)));
}

/// Canonical text is the canonical text of itself. It can be one that the gate refuses: RFC 8785 writes `1e17` as an
/// integer, and contract §2.1 takes no such integer.
fn settles(node: &Node<'_>, write: fn(&Node<'_>) -> Vec<u8>) {
    let text = write(node);
    match read(&text, &Bounds::default()) {
        Ok(again) => assert_eq!(write(&again), text),
        Err(finding) => assert_eq!(finding.rule, Rule::JsonNumber),
    }
}

static SCHEMAS: LazyLock<Option<Schemas>> = LazyLock::new(|| Schemas::builtin().ok());

/// What can be rebuilt or flattened comes back as it was: an array byte for byte, an object with the same canonical text.
pub fn keyless(data: &[u8]) {
    let (Ok(node), Some(schemas)) = (read(data, &Bounds::default()), &*SCHEMAS) else {
        return;
    };
    let text = minified(&node);
    if node.elements().is_some() {
        match rebuild(node, schemas) {
            // What the gate leaves to a later stage has no keyed form to come back from.
            Ok(keyed) => {
                if let Ok(again) = flatten(keyed, schemas) {
                    assert_eq!(minified(&again), text);
                }
            }
            Err(findings) => assert!(!findings.is_empty() && findings.iter().all(is_of_keyless)),
        }
        return;
    }
    let canonical = canonical_bytes(&node);
    if let Ok(array) = flatten(node, schemas) {
        let array = minified(&array);
        let again = read(&array, &Bounds::default()).map(|array| rebuild(array, schemas));
        if let Ok(Ok(again)) = again {
            assert_eq!(canonical_bytes(&again), canonical);
        } else {
            // Only a bound can stand in the way: an object of many members is an array of many places.
            assert!(matches!(again, Err(finding) if finding.rule == Rule::JsonBounds));
        }
    }
}

fn is_of_keyless(finding: &Finding) -> bool {
    matches!(
        finding.rule,
        Rule::KeylessShape | Rule::KeylessOverflow | Rule::KeylessAlias
    )
}

/// A text is a policy, or a list of mistakes that can be shown; each stands in the text.
pub fn policy(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    match config::from_text("policy.yaml", text) {
        Ok(config) => assert!(!config.policy.agent.ids.is_empty() && !config.policy.routes.is_empty()),
        Err(mistakes) => {
            assert!(!mistakes.mistakes.is_empty());
            let lines = text.lines().count().max(1);
            // The end of the text is a place too, also after its last line feed.
            assert!(
                mistakes
                    .mistakes
                    .iter()
                    .all(|mistake| mistake.line <= lines.saturating_add(1))
            );
            assert!(!mistakes.render(false).is_empty());
        }
    }
}

static FIXTURE: LazyLock<Option<Policy>> = LazyLock::new(|| {
    // The policy names key sets beside it, so it is loaded as the file that it is: from the project, or from this crate.
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = [own, &own.join("..")].map(|root| root.join("policies/fixture.yaml"));
    let config = config::load(files.iter().find(|file| file.is_file())?);
    config.ok().map(|config| config.policy)
});

/// 2026-05-31T18:00:05Z, when the seeds are fresh.
const NOW: i64 = 1_780_250_405;

/// On every route of the fixture policy a message is allowed, and then carries its own digest, or refused by at most
/// twenty findings of one stage; judging rule by rule comes to the same.
pub fn decide(data: &[u8]) {
    let Some(policy) = &*FIXTURE else {
        return;
    };
    let facts = Facts::at(Timestamp::from_second(NOW).map_or(Fact::Unavailable, Fact::Known));
    for route in &policy.routes {
        for form in [Form::Keyed, Form::Keyless] {
            let Some(declared) = route.messages() else { continue };
            let message = match decide::read(data, policy, form, &declared.envelopes) {
                Ok(message) => message,
                Err(refusal) => {
                    assert!(refusal.rule().stage() <= Stage::Envelope);
                    is_consistent(&refusal, data);
                    continue;
                }
            };
            let input = Input {
                policy,
                route,
                declared,
                message: &message,
                facts: &facts,
            };
            let (_, traced) = decide::trace(&input, |_| true);
            match decide::decide(&input) {
                Verdict::Allow(_) => {
                    assert_eq!(traced, None);
                    let checksum = message.text(&["integrity", "checksum"]).unwrap_or_default();
                    let is_sealed = checksum == format!("sha256:{}", message.digest());
                    assert!(is_sealed || declared.integrity == Integrity::Declared);
                }
                Verdict::Refused(refusal) => {
                    assert_eq!(traced.as_ref(), Some(&refusal));
                    assert!(refusal.rule().stage() > Stage::Envelope);
                    is_consistent(&refusal, data);
                }
                Verdict::Observed(_) => assert_eq!(route.mode, Mode::Observe),
            }
        }
    }
}

fn is_consistent(refusal: &Refusal, data: &[u8]) {
    assert!(refusal.findings().count() <= 20);
    for finding in refusal.findings() {
        assert!(finding.rule.is_built());
        assert_eq!(finding.rule.stage(), refusal.rule().stage());
        assert!(finding.at.is_none_or(|at| at <= data.len()));
    }
}
