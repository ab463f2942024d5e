//! The capability document says what the policy declares, and its revision follows that and nothing else.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails is a test"
)]

use portcullis::config;
use portcullis::message::canonical::{jcs, sha256_hex};
use portcullis::message::json::{Bounds, read};
use portcullis::message::profile::Schemas;
use portcullis::policy::capability::document;
use serde_json::{Value, json};

/// The document, at a time in seconds, of a policy with one route that declares this.
fn of(declared: &str, now: i64) -> Value {
    let text = format!(
        "agent: {{ids: [a.b]}}\nbackend: {{url: \"http://127.0.0.1:9000\"}}\nroutes:\n  - {{name: inbox, path: /v1/messages, method: POST, takes: messages, {declared}}}\n"
    );
    let config =
        config::from_text("policy.yaml", &text).unwrap_or_else(|mistakes| panic!("{}", mistakes.render(false)));
    let document = document(&config.policy, jiff::Timestamp::from_second(now).unwrap());
    assert_eq!(document["revision"], config.policy.capability_revision.as_str());
    document
}

fn digest(text: &str) -> String {
    sha256_hex(&jcs(&read(text.as_bytes(), &Bounds::default()).unwrap()))
}

#[test]
fn it_says_what_the_routes_declare() {
    let document = of(
        "envelopes: [canonical, delivery], payload: ack, profiles: [uai.agent.ack.v1], modes: [sync_rpc, async]",
        7,
    );
    assert_eq!(document["schema_version"], "1.0.0");
    assert_eq!(document["supported_modes"], json!(["async", "sync_rpc"]));
    assert_eq!(document["expiry"], 3607);
    let schemas: Vec<&String> = document["schemas"].as_object().unwrap().keys().collect();
    assert_eq!(schemas, ["ack", "uai.agent.ack.v1"]);
    let ack = Schemas::shipped_text("ack-payload").unwrap();
    assert_eq!(document["schemas"]["ack"], digest(ack));
    assert!(document.get("signature").is_none());
}

#[test]
fn a_hash_is_that_of_an_object_of_schemas() {
    let document = of("profiles: [uai.agent.ack.v1], modes: [async]", 0);
    let schema = Schemas::shipped_text("uai.agent.ack.v1").unwrap();
    let input = format!("{{\"uai.agent.ack.v1\":{schema}}}");
    assert_eq!(document["input_schema_hash"], digest(&input));
    let every: Vec<String> = Schemas::shipped()
        .map(|profile| format!("\"{profile}\":{}", Schemas::shipped_text(profile).unwrap()))
        .collect();
    assert_eq!(
        document["output_schema_hash"],
        digest(&format!("{{{}}}", every.join(",")))
    );
}

#[test]
fn the_revision_follows_what_is_declared_and_not_the_time() {
    let one = of("profiles: [uai.agent.ack.v1], modes: [async]", 0);
    assert_eq!(
        of("profiles: [uai.agent.ack.v1], modes: [async]", 9)["revision"],
        one["revision"]
    );
    for other in [
        "profiles: [uai.agent.ack.v1], modes: [async, stream]",
        "profiles: [uai.agent.blocker.v1], modes: [async]",
    ] {
        assert_ne!(of(other, 0)["revision"], one["revision"], "{other}");
    }
    let mut content = one.clone();
    for name in ["revision", "expiry"] {
        content.as_object_mut().unwrap().remove(name);
    }
    assert_eq!(one["revision"], digest(&content.to_string()));
}
