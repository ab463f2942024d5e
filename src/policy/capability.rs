//! The capability document: what the agent takes, derived from the policy and never from the backend (contract §2.4).
//!
//! It is served signed (`trust::own`) where the gateway has a key. Its revision is real all the same, so that a client can
//! name the one it relies on; the keys that stand beside it do not change it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Messages, Policy};
use crate::message::canonical;
use crate::message::json::{self, Bounds};

/// The version of the document and of the messages it speaks of.
const SCHEMA_VERSION: &str = "1.0.0";

/// How long a document may be relied on (contract §17).
const LIFETIME: SignedDuration = SignedDuration::from_secs(3600);

/// The document as of `now`, without `signature`.
pub fn document(policy: &Policy, now: Timestamp) -> Value {
    let mut document = content(policy);
    let expiry = now.checked_add(LIFETIME).unwrap_or(Timestamp::MAX).as_second();
    if let Some(members) = document.as_object_mut() {
        members.insert("expiry".to_owned(), json!(expiry));
        members.insert("revision".to_owned(), json!(revision(policy)));
    }
    document
}

/// SHA-256 of the JCS text of the document without `revision`, `expiry` and `signature`, 64 lowercase hex digits.
pub fn revision(policy: &Policy) -> String {
    canonical::sha256_hex(&canonical(&content(policy)))
}

/// RFC 8785 text of a document.
pub fn canonical(document: &Value) -> Vec<u8> {
    let text = document.to_string();
    let bounds = Bounds {
        members: usize::MAX,
        elements: usize::MAX,
        values: usize::MAX,
        ..Bounds::default()
    };
    // Our own text is always strict JSON; if it were not, its bytes are still one text.
    json::read(text.as_bytes(), &bounds).map_or_else(|_| text.clone().into_bytes(), |node| canonical::jcs(&node))
}

/// The members that a revision is made of.
fn content(policy: &Policy) -> Value {
    let takers: Vec<&Messages> = policy.routes.iter().filter_map(|route| route.messages()).collect();
    let schemas = &policy.schemas;
    let words = &policy.vocabulary;
    let taken: BTreeSet<&String> = takers.iter().flat_map(|taker| &taker.modes).collect();
    let modes: Vec<&String> = words
        .mode
        .iter()
        .chain(&words.delivery_mode)
        .filter(|mode| taken.contains(mode))
        .collect();
    let accepted: BTreeSet<&str> = takers
        .iter()
        .flat_map(|taker| taker.profiles.iter().map(String::as_str).chain(taker.payload_schema()))
        .collect();
    // What the backend may answer with: a profile that has a schema (contract §14, "The answer").
    let produced = schemas.profiles();
    let digests: BTreeMap<&str, Option<&str>> = accepted.iter().map(|id| (*id, schemas.payload_digest(id))).collect();
    json!({
        "schema_version": SCHEMA_VERSION,
        "supported_modes": modes,
        "input_schema_hash": schemas.combined_digest(accepted.iter().copied()),
        "output_schema_hash": schemas.combined_digest(produced),
        "schemas": digests,
    })
}
