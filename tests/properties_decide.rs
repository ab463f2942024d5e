//! No byte of a sealed message can be changed unseen: whatever is let through has the digest that was sealed.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that fails is a test"
)]

use std::fs;
use std::path::Path;

use portcullis::config;
use portcullis::contract::Rule;
use portcullis::decide::{self, Verdict};
use portcullis::facts::{Fact, Facts};
use portcullis::message::envelope::Form;
use portcullis::policy::Policy;
use portcullis::rules::Input;

/// The digest of a message that the route `open` lets through, or the rule that refuses it.
fn judge(bytes: &[u8], policy: &Policy, form: Form) -> Result<String, Rule> {
    let route = &policy.routes[0];
    let declared = route.messages().unwrap();
    let message = decide::read(bytes, policy, form, &declared.envelopes).map_err(|refusal| refusal.rule())?;
    let facts = Facts::at(Fact::Known("2026-05-31T18:00:05Z".parse().unwrap()));
    let verdict = decide::decide(&Input {
        policy,
        route,
        declared,
        message: &message,
        facts: &facts,
    });
    match verdict {
        Verdict::Allow(_) => Ok(message.digest().to_owned()),
        Verdict::Refused(refusal) => Err(refusal.rule()),
        Verdict::Observed(_) => Ok("observed".to_owned()),
    }
}

/// Every copy of the message with one byte changed, taken out, or put in.
fn mutations(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    (0..bytes.len()).flat_map(move |at| {
        let (before, after) = (&bytes[..at], &bytes[at + 1..]);
        let changed = [before, &[bytes[at] ^ 1], after].concat();
        let quoted = [before, b"\"", after].concat();
        let shorter = [before, after].concat();
        let longer = [before, b" ", &bytes[at..]].concat();
        [changed, quoted, shorter, longer]
    })
}

#[test]
fn one_byte_changed_is_refused_or_leaves_the_digest_equal() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let policy = config::load(&root.join("policies/fixture.yaml")).unwrap().policy;
    for (file, form) in [("sealed.json", Form::Keyed), ("keyless.json", Form::Keyless)] {
        let bytes = fs::read(root.join("fuzz/corpus/decide").join(file)).unwrap();
        let sealed = judge(&bytes, &policy, form).unwrap();
        let (mut equal, mut mismatch) = (0, 0);
        for mutated in mutations(&bytes) {
            match judge(&mutated, &policy, form) {
                Ok(digest) => {
                    assert_eq!(digest, sealed, "{file}: {}", String::from_utf8_lossy(&mutated));
                    equal += 1;
                }
                Err(Rule::IntegrityMismatch) => mismatch += 1,
                Err(_) => {}
            }
        }
        // The seal does the work that no other rule does; a space between two tokens is no part of the message.
        assert!(mismatch > 1000, "{file}: {mismatch}");
        assert!(equal > 0, "{file}");
    }
}
