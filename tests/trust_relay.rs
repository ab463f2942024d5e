//! Who signed, who presents: retries and their stored answers, relays, and what a captured message is good for.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that fails is a test"
)]

mod rig;

use std::fs;

use bytes::Bytes;
use rig::backend::ok;
use rig::keys::{Key, jwks};
use rig::{Rig, post, report};
use serde_json::{Value, json};

const ISSUER: &str = "https://as.example";

const ROUTES: &str = r#"
  - name: presented
    path: /v1/presented
    method: POST
    takes: messages
    profiles: [uai.agent.final-report.v1]
    extensions: ["urn:uaix:ext:agent-communication-standard"]
    modes: [async]
    integrity: declared
    credentials: [bearer]
    resource: "urn:example:presented"
  - name: signed
    path: /v1/signed
    method: POST
    takes: messages
    profiles: [uai.agent.final-report.v1]
    extensions: ["urn:uaix:ext:agent-communication-standard"]
    modes: [async]
    integrity: declared
    signature: required
"#;

/// A gate that knows an author, who signs and presents, a relay of another tenant that presents what the author signed,
/// and somebody who relays for nobody.
struct Stand {
    rig: Rig,
    author: Key,
    tokens: Key,
    _directory: tempfile::TempDir,
}

impl Stand {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (author, tokens) = (Key::ed25519("author-1"), Key::ed25519("as-1"));
        let file = |name: &str, key: &Key| {
            let path = directory.path().join(name);
            fs::write(&path, jwks(&[key])).unwrap();
            path.display().to_string()
        };
        let settings = format!(
            r#"
issuers:
  - {{name: partner, keys: "{}", senders: ["agt_uaix.*"]}}
  - {{name: as, keys: "{}", token_issuer: "{ISSUER}"}}
principals:
  - {{name: author, role: worker, tenant: acme, project: uaix.org, aliases: ["https://uaix.org"], senders: ["agt_uaix.*"],
      credentials: [{{issuer: partner, kid: author-1}}, {{issuer: as, sub: author}}]}}
  - {{name: relay, role: service, tenant: north, relays: [author], credentials: [{{issuer: as, sub: relay}}]}}
  - {{name: other, role: service, credentials: [{{issuer: as, sub: other}}]}}
"#,
            file("partner.json", &author),
            file("as.json", &tokens),
        );
        Self {
            rig: Rig::with(&settings, ROUTES).await,
            author,
            tokens,
            _directory: directory,
        }
    }

    /// The fields that present a request as this subject.
    fn presents(&self, sub: &str) -> String {
        let now = self.rig.clock.now().as_second();
        let claims = json!({"iss": ISSUER, "sub": sub, "aud": "urn:example:presented", "exp": now + 600});
        let head = json!({"alg": self.tokens.alg(), "kid": self.tokens.kid, "typ": "at+jwt"});
        let token = self.tokens.compact(&head, claims.to_string().as_bytes());
        format!("Authorization: Bearer {token}\r\n")
    }

    /// The field of the author's signature.
    fn signature(&self, message: &Value) -> String {
        let jws = self
            .author
            .signs(&self.author.header(self.rig.clock.now().as_second()), message);
        format!("UAI-Signature: {jws}\r\n")
    }

    /// A message to `/v1/presented`, signed by the author and presented as this subject.
    fn relayed(&self, sub: &str, message: &Value) -> Bytes {
        let fields = format!("{}{}", self.presents(sub), self.signature(message));
        post("/v1/presented", &fields, message.to_string())
    }

    /// A message to `/v1/signed`, which nobody presents.
    fn signed(&self, message: &Value) -> Bytes {
        post("/v1/signed", &self.signature(message), message.to_string())
    }

    /// The stored answer, without a further byte at the backend, and one record of it.
    async fn replays(&self, bytes: impl AsRef<[u8]>, stored: &str) {
        let (before, seen) = (self.rig.records().len(), self.rig.backend.bytes());
        let answer = self.rig.send(bytes).await;
        assert_eq!((answer.status, answer.body()), (200, stored), "{}", answer.text);
        assert_eq!(answer.header("idempotency-replayed").as_deref(), Some("true"));
        assert!(answer.header("uai-verdict").unwrap().ends_with(";verdict=replayed"));
        assert_eq!(self.rig.backend.bytes(), seen);
        let records = self.rig.record_count(before + 1).await;
        assert_eq!(records[before]["verdict"], "replayed");
    }
}

fn message(id: &str) -> Value {
    let mut message = report();
    message["message_id"] = id.into();
    message["delivery"]["idempotency_key"] = "key-1".into();
    message["provenance"]["issued_at"] = rig::clock().now().to_string().into();
    message
}

/// As a true retry is: issued anew, and counted.
fn retry(message: &Value, id: &str) -> Value {
    let mut retry = message.clone();
    retry["message_id"] = id.into();
    retry["delivery"]["retry_count"] = 1.into();
    retry
}

fn changed(message: &Value, id: &str) -> Value {
    let mut changed = retry(message, id);
    changed["body"]["summary"] = "another summary".into();
    changed
}

#[tokio::test]
async fn a_presenter_gets_its_stored_answer_and_a_key_is_of_one_body() {
    let stand = Stand::new().await;
    stand.rig.backend.does(ok("first"));
    let first = message("msg_1");
    assert_eq!(stand.rig.send(stand.relayed("author", &first)).await.status, 200);
    stand.rig.backend.does(ok("second"));
    // Byte for byte, and issued anew; signed or not.
    stand.replays(stand.relayed("author", &first), "first").await;
    let again = retry(&first, "msg_2");
    stand.replays(stand.relayed("author", &again), "first").await;
    let unsigned = post("/v1/presented", &stand.presents("author"), again.to_string());
    stand.replays(unsigned, "first").await;
    // `idempotency.conflict`
    let other = stand.relayed("author", &changed(&first, "msg_3"));
    stand.rig.refuses(other, "idempotency.conflict", 422).await;
}

#[tokio::test]
async fn a_signer_gets_its_stored_answer_for_what_it_signs_anew() {
    let stand = Stand::new().await;
    stand.rig.backend.does(ok("first"));
    let first = message("msg_1");
    assert_eq!(stand.rig.send(stand.signed(&first)).await.status, 200);
    stand.rig.backend.does(ok("second"));
    // Whoever captured it gets nothing; nor does whoever captured the retry.
    stand.rig.refuses(stand.signed(&first), "replay.seen", 409).await;
    let again = stand.signed(&retry(&first, "msg_2"));
    stand.replays(&again, "first").await;
    stand.rig.refuses(&again, "replay.seen", 409).await;
    let other = stand.signed(&changed(&first, "msg_3"));
    stand.rig.refuses(other, "idempotency.conflict", 422).await;
}

/// One way of a signed message to the gate.
type Way = fn(&Stand, &Value) -> Bytes;

#[tokio::test]
async fn a_message_is_its_signers_whoever_presents_it() {
    // `replay.seen`: by its author, by a relay of another tenant, by nobody; in every order it is acted on once.
    let stand = Stand::new().await;
    let of_author: Way = |stand, message| stand.relayed("author", message);
    let of_relay: Way = |stand, message| stand.relayed("relay", message);
    let of_nobody: Way = |stand, message| stand.signed(message);
    let ways: [Way; 3] = [of_author, of_relay, of_nobody];
    for (first, one) in ways.iter().enumerate() {
        let mut message = message(&format!("msg_{first}"));
        message["delivery"]["idempotency_key"] = format!("key-{first}").into();
        let answer = stand.rig.send(one(&stand, &message)).await;
        assert_eq!(answer.status, 200, "{first}: {}", answer.text);
        let record = stand.rig.records().pop().unwrap();
        assert_eq!(
            (&record["signer"], &record["tenant"]),
            (&"author".into(), &"acme".into())
        );
        for other in ways.iter().enumerate().filter(|(other, _)| *other != first) {
            stand.rig.refuses(other.1(&stand, &message), "replay.seen", 409).await;
        }
    }
}

#[tokio::test]
async fn nobody_presents_what_another_signed_but_its_relay() {
    let stand = Stand::new().await;
    let answer = stand
        .rig
        .refuses(stand.relayed("other", &message("msg_1")), "authority.relay", 403)
        .await;
    assert!(answer.header("uai-verdict").unwrap().ends_with(";verdict=no_op"));
    let record = stand.rig.record().await;
    assert_eq!(
        (&record["presenter"], &record["signer"]),
        (&"other".into(), &"author".into())
    );
    // A relay speaks for nobody itself.
    let unsigned = post("/v1/presented", &stand.presents("relay"), message("msg_2").to_string());
    stand.rig.refuses(unsigned, "authority.sender", 403).await;
    // What was refused burned nothing.
    assert_eq!(
        stand.rig.send(stand.relayed("relay", &message("msg_1"))).await.status,
        200
    );
}
