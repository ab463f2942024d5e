//! Keyless messages and delivery envelopes at the gate: what is forwarded, and what the backend never sees.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails is a test"
)]

mod rig;

use bytes::Bytes;
use portcullis::message::profile::Schemas;
use portcullis::message::{json, keyless};
use rig::backend::{answer, field};
use rig::{Rig, SETTINGS, post, report, sealed};
use serde_json::{Value, json};

const ROUTES: &str = r#"
  - name: inbox
    path: /v1/messages
    method: POST
    takes: messages
    profiles: [uai.agent.final-report.v1]
    extensions: ["urn:uaix:ext:agent-communication-standard"]
    modes: [async]
    content_type: [application/json, application/uai-keyless+json]
  - name: keyed
    path: /v1/keyed
    method: POST
    takes: messages
    profiles: [uai.agent.final-report.v1]
    extensions: ["urn:uaix:ext:agent-communication-standard"]
    modes: [async]
    content_type: [application/uai-keyless+json]
    backend_view: keyed
  - name: both
    path: /v1/both
    method: POST
    takes: messages
    envelopes: [canonical, delivery]
    payload: any
    profiles: [uai.agent.final-report.v1]
    extensions: ["urn:uaix:ext:agent-communication-standard"]
    modes: [async, async_durable]
  - name: dispatch
    path: /v1/dispatch
    method: POST
    takes: legacy
    content_type: [application/json]
"#;

async fn gate() -> Rig {
    let settings = format!("{SETTINGS}dispatch_route: dispatch\npublic_url: https://gate.example\n");
    Rig::with(&settings, ROUTES).await
}

/// The keyless form of a message, with blanks that a re-serialised message would lose.
fn array(message: &Value) -> String {
    let text = message.to_string();
    let root = json::read(text.as_bytes(), &json::Bounds::default()).unwrap();
    let root = keyless::flatten(root, &Schemas::builtin().unwrap()).unwrap();
    let text = String::from_utf8(json::minified(&root)).unwrap();
    format!("  {}\n", text.replacen("UAIX", "\\u0055AIX", 1))
}

fn post_keyless(path: &str, body: &str) -> Bytes {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: gate.example\r\nConnection: close\r\nContent-Type: application/uai-keyless+json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into()
}

fn delivery() -> Value {
    json!({
        "version": "1.0.0",
        "logical_message_id": "0f8fad5b-d9cb-469f-a165-70867728950e",
        "sender": {
            "logical_agent_id": "urn:agent:one",
            "uai_identity": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "signature": "eyJhbGciOiJFZERTQSIsImtpZCI6ImsiLCJ0eXAiOiJ1YWktbWVzc2FnZStqd3MiLCJpYXQiOjE3ODAyNTA0MDB9..c2ln",
        },
        "recipient": {
            "logical_agent_id": "urn:agent:two",
            "delivery_id": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
        },
        "delivery_mode": "async_durable",
        "payload": {"text": "hello"},
    })
}

#[tokio::test]
async fn a_keyless_message_is_forwarded_byte_for_byte_and_has_the_digest_of_its_keyed_form() {
    let rig = gate().await;
    let message = sealed(report());
    assert_eq!(
        rig.send(post("/v1/messages", "", message.to_string())).await.status,
        200
    );
    let keyed = rig.record_count(1).await.remove(0);

    // The same message in another form is the same message, so it goes through another gate.
    let rig = gate().await;
    let body = array(&message);
    let reply = rig.send(post_keyless("/v1/messages", &body)).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let seen = String::from_utf8(rig.backend.requests().pop().unwrap()).unwrap();
    assert_eq!(seen.split_once("\r\n\r\n").unwrap().1, body);
    assert_eq!(
        field(&seen, "content-type"),
        Some("application/uai-keyless+json".to_owned())
    );
    let record = rig.record().await;
    assert_eq!(record["message_digest"], keyed["message_digest"]);
    assert_eq!(record["message_id"], "msg_uaix_agent_final_0007");
    let digest = format!("\"{}\"", keyed["message_digest"].as_str().unwrap());
    assert_eq!(field(&seen, "uai-message-digest"), Some(digest));
}

#[tokio::test]
async fn a_backend_may_get_the_keyed_form_that_was_judged() {
    let rig = gate().await;
    let message = sealed(report());
    let reply = rig.send(post_keyless("/v1/keyed", &array(&message))).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let seen = rig.backend.request();
    assert_eq!(field(&seen, "content-type"), Some("application/uai+json".to_owned()));
    let body = seen.split_once("\r\n\r\n").unwrap().1;
    assert_eq!(field(&seen, "content-length"), Some(body.len().to_string()));
    assert_eq!(serde_json::from_str::<Value>(body).unwrap(), without_nulls(message));
}

fn without_nulls(mut message: Value) -> Value {
    for object in message.as_object_mut().unwrap().values_mut() {
        if let Some(members) = object.as_object_mut() {
            members.retain(|_, value| !value.is_null());
        }
    }
    message
}

#[tokio::test]
async fn a_form_and_its_media_type_belong_together() {
    let rig = gate().await;
    let message = sealed(report());
    let body = array(&message);
    rig.refuses(post("/v1/messages", "", &body), "envelope.ambiguous", 422)
        .await;
    rig.refuses(
        post_keyless("/v1/messages", &message.to_string()),
        "envelope.ambiguous",
        422,
    )
    .await;
    rig.refuses(post_keyless("/v1/both", &body), "route.media-type", 415)
        .await;
    let short = body.replacen("\"1.0\",", "\"1.0\",[],", 1);
    rig.refuses(post_keyless("/v1/messages", &short), "keyless.overflow", 422)
        .await;
}

#[tokio::test]
async fn an_answer_may_be_keyless_and_is_judged_so() {
    let keyless = "content-type: application/uai-keyless+json\r\n";
    for (body, status) in [("[]", 502), ("{}", 502)] {
        let rig = gate().await;
        rig.backend.does(answer(200, keyless, body));
        let reply = rig.send(post("/v1/messages", "", sealed(report()).to_string())).await;
        assert_eq!((reply.status, reply.rule().as_str()), (status, "backend.contract"));
    }
    let rig = gate().await;
    let mut own = report();
    own["source"]["id"] = json!("agt_runtime.consumer");
    own["provenance"]["agent_id"] = json!("agt_runtime.consumer");
    own["conversation"].as_object_mut().unwrap().remove("parent_message_id");
    let mut asked = report();
    asked["delivery"]
        .as_object_mut()
        .unwrap()
        .remove("expected_output_schema");
    let body = array(&sealed(own));
    rig.backend.does(answer(200, keyless, &body));
    let reply = rig.send(post("/v1/messages", "", sealed(asked).to_string())).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.body(), body);
}

#[tokio::test]
async fn no_delivery_envelope_reaches_the_backend() {
    let rig = gate().await;
    let send = |message: &Value| post("/v1/both", "", message.to_string());
    // What is right in every other way ends at its signature, which no key verifies.
    rig.refuses(send(&delivery()), "signature.key-unknown", 401).await;
    let record = rig.records().remove(0);
    assert_eq!(record["envelope"], "delivery");
    assert_eq!(record["message_id"], "0f8fad5b-d9cb-469f-a165-70867728950e");
    assert_eq!(record["sender"], "urn:agent:one");
    for (pointer, value, rule, status) in [
        (
            "/recipient/logical_agent_id",
            "urn:agent:three",
            "addressing.not-here",
            422,
        ),
        ("/delivery_mode", "async", "mode.unknown", 422),
        ("/delivery_mode", "stream_delta", "capability.mode", 422),
        ("/sender/signature", "", "signature.absent", 401),
        ("/sender/signature", "a.b.c", "signature.malformed", 401),
    ] {
        let mut message = delivery();
        *message.pointer_mut(pointer).unwrap() = json!(value);
        rig.refuses(send(&message), rule, status).await;
    }
    let elsewhere = post("/v1/messages", "", delivery().to_string());
    rig.refuses(elsewhere, "envelope.not-here", 422).await;
    let mut both = delivery();
    both["uai_version"] = json!("1.0");
    rig.refuses(send(&both), "envelope.ambiguous", 422).await;
    // A canonical envelope passes on the same route.
    assert_eq!(rig.send(send(&sealed(report()))).await.status, 200);
}

#[tokio::test]
async fn an_implicit_several_learns_of_the_dispatch_route() {
    let rig = gate().await;
    let mut several = delivery();
    several["recipient"]["logical_agent_id"] = json!("urn:agent:*");
    let reply = rig
        .refuses(post("/v1/both", "", several.to_string()), "addressing.implicit", 422)
        .await;
    let link = "<https://gate.example/v1/dispatch>; rel=\"alternate\"";
    assert_eq!(reply.header("link").as_deref(), Some(link));
    let reply = rig
        .refuses(
            post("/v1/both", "", delivery().to_string()),
            "signature.key-unknown",
            401,
        )
        .await;
    assert_eq!(reply.header("link"), None);
}

#[tokio::test]
async fn a_client_that_names_a_revision_learns_the_current_one() {
    let rig = gate().await;
    let body = sealed(report()).to_string();
    let stale = post("/v1/messages", "UAI-Capability-Revision: 0f\r\n", &body);
    let reply = rig.refuses(stale, "capability.revision", 422).await;
    let current = reply.header("uai-capability-revision").unwrap();
    assert_eq!(current.len(), 64);
    let fields = format!("UAI-Capability-Revision: {current}\r\n");
    let reply = rig.send(post("/v1/messages", &fields, &body)).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.header("uai-capability-revision"), Some(current));
    assert_eq!(field(&rig.backend.request(), "uai-capability-revision"), None);
    let reply = rig.send(post("/v1/messages", "", &body)).await;
    assert_eq!(reply.header("uai-capability-revision"), None);
}
