//! The fuzz entry points: one plain function a target, shared by `fuzz_targets/` and `tests/fuzz_replay.rs`.
//!
//! A new target is a function here, a file in `fuzz_targets/`, a `[[bin]]` in `Cargo.toml`, a folder of seeds in
//! `corpus/` and a line in `TARGETS`.

use std::sync::LazyLock;

use portcullis::contract::{Finding, Rule, Stage};
use portcullis::message::canonical::{canonical_bytes, digest, jcs, sha256_hex};
use portcullis::message::json::{Bounds, Node, minified, read};
use portcullis::message::keyless::{flatten, rebuild};
use portcullis::message::profile::Schemas;

/// A name and its entry point.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: &[Target] = &[("json", json), ("canonical", canonical), ("keyless", keyless)];

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
