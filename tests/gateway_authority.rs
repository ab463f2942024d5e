//! Who is proven, at a running gate: what the rules of stages 9 to 11 refuse, what the backend and the record are told.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that fails is a test"
)]

mod rig;

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use rig::backend::field;
use rig::keys::{Key, jwks};
use rig::{Rig, post, report};
use serde_json::Value;

const ROUTES: &str = "
  - name: inbox
    path: /v1/messages
    method: POST
    takes: messages
    profiles: [uai.agent.final-report.v1]
    extensions: [\"urn:uaix:ext:agent-communication-standard\"]
    modes: [async]
    integrity: declared
    signature: required
  - name: seen
    path: /v1/seen
    method: POST
    takes: messages
    profiles: [uai.agent.final-report.v1]
    extensions: [\"urn:uaix:ext:agent-communication-standard\"]
    modes: [async]
    integrity: declared
    mode: observe
";

/// A gate that knows one principal of each key, and who they are.
struct Known {
    rig: Rig,
    good: Key,
    watcher: Key,
    other: Key,
    loose: Key,
    _directory: tempfile::TempDir,
}

impl Known {
    async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("keys.json");
        let [good, watcher, other, loose] = ["good", "watcher", "other", "loose"].map(Key::ed25519);
        fs::write(&file, jwks(&[&good, &watcher, &other, &loose])).unwrap();
        let principal = |name: &str, more: &str| {
            format!("  - {{name: p-{name}, credentials: [{{issuer: partner, kid: {name}}}], {more}}}\n")
        };
        let settings = format!(
            "issuers:\n  - {{name: partner, keys: \"{}\", senders: [\"agt_uaix.*\"]}}\nprincipals:\n{}{}{}",
            file.display(),
            principal(
                "good",
                "role: worker, senders: [\"agt_uaix.*\"], tenant: acme, project: uaix.org, aliases: [\"https://uaix.org\"], branch_id: b1"
            ),
            principal(
                "watcher",
                "role: observer, senders: [\"agt_uaix.*\"], project: uaix.org, aliases: [\"https://uaix.org\"]"
            ),
            principal("other", "role: worker, senders: [agt_other], project: north"),
        );
        Self {
            rig: Rig::with(&settings, ROUTES).await,
            good,
            watcher,
            other,
            loose,
            _directory: directory,
        }
    }
}

/// A message of its own, issued now.
fn message() -> Value {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let mut message = report();
    message["message_id"] = format!("msg_{number}").into();
    message["delivery"]["idempotency_key"] = format!("key_{number}").into();
    message["provenance"]["issued_at"] = rig::clock().now().to_string().into();
    message
}

fn signed(path: &str, key: &Key, message: &Value) -> Bytes {
    let jws = key.signs(&key.header(rig::clock().now().as_second()), message);
    post(path, &format!("UAI-Signature: {jws}\r\n"), message.to_string())
}

#[tokio::test]
async fn the_backend_and_the_record_are_told_who_signed() {
    let known = Known::start().await;
    let answer = known.rig.send(signed("/v1/messages", &known.good, &message())).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let seen = known.rig.backend.request();
    assert_eq!(field(&seen, "uai-principal").as_deref(), Some("\"p-good\""));
    assert_eq!(field(&seen, "uai-tenant").as_deref(), Some("\"acme\""));
    assert_eq!(field(&seen, "uai-project").as_deref(), Some("\"uaix.org\""));
    let record = known.rig.record().await;
    assert_eq!(record["signer"], "p-good");
    assert_eq!(record["presenter"], "unproven");
    assert_eq!(record["tenant"], "acme");
    assert_eq!(record["project"], "uaix.org");
    assert_eq!(record["branch_id"], "b1");
    assert!(!answer.text.contains("p-good"), "{}", answer.text);
}

#[tokio::test]
async fn who_may_not_is_refused_by_its_rule() {
    let known = Known::start().await;
    let rig = &known.rig;
    rig.refuses(post("/v1/messages", "", message().to_string()), "signature.absent", 401)
        .await;
    rig.refuses(
        signed("/v1/messages", &known.other, &message()),
        "authority.sender",
        403,
    )
    .await;
    rig.refuses(
        signed("/v1/messages", &known.watcher, &message()),
        "authority.route",
        403,
    )
    .await;
    let mut claims = message();
    claims["source"]["project"] = "north".into();
    let answer = rig
        .refuses(signed("/v1/messages", &known.good, &claims), "authority.tenant", 403)
        .await;
    assert_eq!(answer.json()["trigger"], "authority_boundary_conflict");
    let mut claims = message();
    claims["trust"]["principal"] = "p-other".into();
    rig.refuses(
        signed("/v1/messages", &known.good, &claims),
        "trust.principal-mismatch",
        403,
    )
    .await;
    let mut claims = message();
    claims["trust"]["channel"] = "oauth2".into();
    rig.refuses(
        signed("/v1/messages", &known.good, &claims),
        "trust.channel-mismatch",
        403,
    )
    .await;
}

#[tokio::test]
async fn a_key_of_no_principal_names_nobody() {
    let known = Known::start().await;
    let answer = known.rig.send(signed("/v1/messages", &known.loose, &message())).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(field(&known.rig.backend.request(), "uai-principal"), None);
    let record = known.rig.record().await;
    assert_eq!(record["signer"], "unproven");
    assert_eq!(record["tenant"], "unproven");
}

#[tokio::test]
async fn an_observe_route_names_only_whom_it_would_have_let_through() {
    let known = Known::start().await;
    for (key, principal) in [(&known.good, Some("\"p-good\"")), (&known.other, None)] {
        let answer = known.rig.send(signed("/v1/seen", key, &message())).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let seen = known.rig.backend.requests();
        let last = String::from_utf8_lossy(seen.last().unwrap()).into_owned();
        assert_eq!(field(&last, "uai-principal").as_deref(), principal);
    }
    let records = known.rig.record_count(2).await;
    assert_eq!(records[1]["would"]["rule"], "authority.sender");
}
