//! The published message in its two published forms: each converts exactly into the other (contract §2.5).

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test that fails is a test")]

use std::path::Path;

use portcullis::message::envelope::Message;
use portcullis::message::json::{Bounds, Node, minified, read};
use portcullis::message::profile::Schemas;
use portcullis::message::{canonical, keyless};

/// The published forms, or `None` with a note when they are not here.
fn published() -> Option<[String; 2]> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/vectors/uai");
    let file = |form: &str| std::fs::read_to_string(folder.join(format!("final-report.{form}.json")));
    if let (Ok(keyed), Ok(keyless)) = (file("keyed"), file("keyless")) {
        return Some([keyed, keyless]);
    }
    let is_required = std::env::vars_os().any(|(key, _)| key == "PORTCULLIS_REQUIRE_VECTORS");
    assert!(!is_required, "{} is required and cannot be read", folder.display());
    eprintln!("SKIPPED: no vectors in {}", folder.display());
    None
}

fn tree(text: &str) -> Node<'_> {
    read(text.as_bytes(), &Bounds::default()).unwrap()
}

#[test]
fn the_published_pair_converts_exactly_both_ways() {
    let Some([keyed, array]) = published() else {
        return;
    };
    let schemas = Schemas::builtin().unwrap();
    let flattened = minified(&keyless::flatten(tree(&keyed), &schemas).unwrap());
    assert_eq!(flattened, minified(&tree(&array)));
    let rebuilt = keyless::rebuild(tree(&array), &schemas).unwrap();
    // The published keyed text has its members in another order; nothing else differs.
    assert_eq!(canonical::jcs(&rebuilt), canonical::jcs(&tree(&keyed)));
}

#[test]
fn keyed_minified_and_keyless_give_one_digest() {
    let Some([keyed, array]) = published() else {
        return;
    };
    let schemas = Schemas::builtin().unwrap();
    let small = String::from_utf8(minified(&tree(&keyed))).unwrap();
    let expected = Message::open(keyed.as_bytes(), tree(&keyed)).unwrap();
    let small = Message::open(small.as_bytes(), tree(&small)).unwrap();
    let array = Message::open_keyless(array.as_bytes(), tree(&array), &schemas).unwrap();
    assert_eq!(small.digest(), expected.digest());
    assert_eq!(array.digest(), expected.digest());
}
