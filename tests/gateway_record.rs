//! One record a request, whatever becomes of it; observe; the end of the process.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails is a test"
)]

mod rig;

use std::sync::Arc;

use rig::backend::{Does, answer, field};
use rig::{Answer, ROUTES, Rig, SETTINGS, get, post, report, sealed, soon};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The usual routes in observe.
fn observed() -> String {
    ROUTES
        .replace("    takes: messages\n", "    takes: messages\n    mode: observe\n")
        .replace("    idempotency: none\n", "    mode: observe\n")
}

#[tokio::test]
async fn every_request_leaves_one_record() {
    let rig = Rig::usual().await;
    rig.send(post("/v1/messages", "", report().to_string())).await;
    rig.send(post("/v1/messages", "", "{}")).await;
    rig.send(get("/nowhere", "")).await;
    rig.send("nonsense\r\n\r\n").await;
    rig.send(get("/.well-known/uai/problems/ERR_INTERNAL", "")).await;
    let verdicts: Vec<String> = rig
        .record_count(5)
        .await
        .iter()
        .map(|record| record["verdict"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(verdicts, ["allow", "rejected", "rejected", "rejected", "allow"]);
    // Two requests on one connection are two records.
    let rig = Rig::usual().await;
    let mut stream = rig.connect().await;
    let first = get("/v1/status/1", "").replace("Connection: close\r\n", "");
    stream.write_all(first.as_bytes()).await.unwrap();
    let mut read = vec![0; 4096];
    let length = soon(stream.read(&mut read)).await.unwrap();
    assert_eq!(Answer::of(&read[..length]).status, 200);
    stream.write_all(get("/v1/status/2", "").as_bytes()).await.unwrap();
    assert_eq!(Answer::read(&mut stream).await.status, 200);
    let records = rig.record_count(2).await;
    assert_ne!(records[0]["id"], records[1]["id"]);
}

#[tokio::test]
async fn a_client_that_hangs_up_is_aborted_and_so_is_its_request_at_the_backend() {
    let rig = Rig::usual().await;
    rig.backend.does(Does::Hang);
    let mut stream = rig.connect().await;
    // A read: what is remembered goes on without its client.
    stream.write_all(get("/v1/status/1", "").as_bytes()).await.unwrap();
    rig.backend.arrived().await;
    assert!(rig.records().is_empty());
    drop(stream);
    rig.backend.left().await;
    let record = rig.record().await;
    assert_eq!(record["verdict"], "aborted");
    assert_eq!(record["aborted_stage"], "16", "{record}");
}

#[tokio::test]
async fn a_stream_is_passed_on_as_it_comes_and_ends_with_its_client() {
    let rig = Rig::usual().await;
    let event = "data: one\n\n";
    rig.backend.does(Does::Stream(
        format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{event}\r\n", event.len()).into_bytes(),
    ));
    let mut stream = rig.connect().await;
    stream.write_all(get("/v1/status/1", "").as_bytes()).await.unwrap();
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).contains(event) {
        soon(stream.read_buf(&mut read)).await.unwrap();
    }
    assert_eq!(rig.record().await["verdict"], "allow");
    drop(stream);
    rig.backend.left().await;
}

#[tokio::test]
async fn an_endless_stream_does_not_keep_the_process() {
    let rig = Rig::with("deadlines: {drain: 50ms}\n", ROUTES).await;
    rig.backend.does(Does::Stream(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n3\r\na\n\n\r\n"
            .to_vec(),
    ));
    let mut stream = rig.connect().await;
    stream.write_all(get("/v1/status/1", "").as_bytes()).await.unwrap();
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).contains("a\n\n") {
        soon(stream.read_buf(&mut read)).await.unwrap();
    }
    soon(rig.running.stop()).await;
}

#[tokio::test]
async fn a_request_in_progress_is_finished_before_the_process_ends() {
    let rig = Rig::usual().await;
    let gate = rig.running.gate();
    let mut silent = rig.connect().await;
    let mut stream = rig.connect().await;
    // The head is in, the body is not: the request is in progress when the drain begins.
    let body = report().to_string();
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    soon(stream.read_exact(&mut [0; 25])).await.unwrap();
    let stopping = tokio::spawn(rig.running.stop());
    assert_eq!(Answer::read(&mut silent).await.text, "");
    stream.write_all(body.as_bytes()).await.unwrap();
    let reply = Answer::read(&mut stream).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    soon(stopping).await.unwrap();
    assert!(tokio::net::TcpStream::connect(gate).await.is_err());
}

#[tokio::test]
async fn an_observe_route_forwards_what_it_would_refuse() {
    let rig = Rig::with(SETTINGS, &observed()).await;
    let mut message = report();
    message["undeclared"] = 1.into();
    let reply = rig.send(post("/v1/messages", "", message.to_string())).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert!(reply.header("uai-verdict").unwrap().ends_with(";verdict=observed"));
    let seen = rig.backend.request();
    assert!(field(&seen, "uai-verdict").unwrap().ends_with(";verdict=observed"));
    assert_eq!(field(&seen, "uai-profile"), None);
    assert_eq!(field(&seen, "uai-message-digest"), None);
    let record = rig.record().await;
    assert_eq!(
        (&record["verdict"], &record["mode"]),
        (&"observed".into(), &"observe".into())
    );
    assert_eq!(record["would"]["rule"], "schema.undeclared", "{record}");

    let rig = Rig::with(SETTINGS, &observed()).await;
    rig.send(post("/v1/messages", "", report().to_string())).await;
    assert_eq!(rig.record().await["would"]["verdict"], "allow");
    assert!(field(&rig.backend.request(), "uai-profile").is_some());

    // A legacy route that would want a key.
    let rig = Rig::with(SETTINGS, &observed()).await;
    assert_eq!(rig.send(post("/api/orders", "", "{}")).await.status, 200);
    assert_eq!(rig.record().await["would"]["rule"], "idempotency.missing");
}

#[tokio::test]
async fn an_observe_route_still_refuses_what_is_never_forwarded() {
    let rig = Rig::with(SETTINGS, &observed()).await;
    let mut held = report();
    held["body"]["memory_updates_proposed"] = serde_json::json!(["remember this"]);
    rig.refuses(post("/v1/messages", "", sealed(held).to_string()), "hold.required", 403)
        .await;
    for form in [
        serde_json::json!("remember this"),
        serde_json::json!({"remember": "this"}),
    ] {
        let mut held = report();
        held["body"]["memory_updates_proposed"] = form;
        rig.refuses(post("/v1/messages", "", sealed(held).to_string()), "schema.type", 422)
            .await;
    }
    rig.refuses(post("/v1/messages", "", "{"), "json.syntax", 400).await;
    rig.refuses(post("/v1/messages", "", "{}"), "envelope.ambiguous", 422)
        .await;
    rig.refuses(
        post("/v1/messages", "UAI-Tenant: x\r\n", "{}"),
        "authority.asserted-header",
        403,
    )
    .await;
    rig.refuses(post("/v1/messages", "", "x".repeat(65_537)), "json.size", 413)
        .await;
    rig.refuses(get("/v1/messages", ""), "route.method", 405).await;
}

#[tokio::test]
async fn an_observe_route_only_records_a_bad_answer() {
    let rig = Rig::with(SETTINGS, &observed()).await;
    rig.backend
        .does(answer(200, "content-type: application/uai+json\r\n", "{}"));
    let reply = rig.send(post("/v1/messages", "", report().to_string())).await;
    assert_eq!((reply.status, reply.body()), (200, "{}"));
    assert_eq!(rig.record().await["would"]["rule"], "backend.contract");
}

#[tokio::test]
async fn a_client_that_comes_back_is_served_after_a_refusal_on_the_same_connection() {
    let rig = Rig::usual().await;
    let mut stream = rig.connect().await;
    let first = get("/nowhere", "").replace("Connection: close\r\n", "");
    stream.write_all(first.as_bytes()).await.unwrap();
    let mut read = vec![0; 8192];
    let length = soon(stream.read(&mut read)).await.unwrap();
    assert_eq!(Answer::of(&read[..length]).status, 404);
    stream.write_all(get("/v1/status/2", "").as_bytes()).await.unwrap();
    assert_eq!(Answer::read(&mut stream).await.status, 200);
}

#[tokio::test]
async fn a_panic_costs_one_request() {
    let config =
        portcullis::config::from_text("test.yaml", &rig::policy("http://127.0.0.1:1", SETTINGS, ROUTES)).unwrap();
    let clock = rig::clock();
    let sink = portcullis::record::Sink::memory();
    let policy = Arc::new(portcullis::policy::InForce::new(config.policy, clock.now()));
    let gate = Arc::new(portcullis::gateway::Gate::new(
        policy,
        clock,
        sink.clone(),
        portcullis::telemetry::Metrics::new(),
        |_, _| panic!("a fault"),
        true,
        Arc::new(portcullis::state::Keeper::over(rig::store())),
    ));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let serving = tokio::spawn(portcullis::gateway::server::serve(gate, listener, None, stopped));
    for _ in 0..2 {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let page = get("/.well-known/uai/problems/ERR_INTERNAL", "");
        stream.write_all(page.as_bytes()).await.unwrap();
        let reply = Answer::read(&mut stream).await;
        assert_eq!(
            (reply.status, reply.rule().as_str()),
            (500, "internal.panic"),
            "{}",
            reply.text
        );
        assert_eq!(reply.json()["outcome"], "not_sent");
        assert!(!reply.text.contains("a fault"));
    }
    let lines = sink.lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines.iter().all(|line| line.contains("internal.panic")));
    stop.send(true).unwrap();
    soon(serving).await.unwrap();
}

#[tokio::test]
async fn a_client_that_leaves_inside_its_body_is_aborted() {
    let rig = Rig::usual().await;
    let head = "POST /api/orders HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n";
    for body in ["Content-Length: 9\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n2\r\n{"] {
        let before = rig.records().len();
        let mut stream = rig.connect().await;
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        assert_eq!(Answer::read(&mut stream).await.text, "");
        let records = rig.record_count(before.saturating_add(1)).await;
        assert_eq!(records[before]["verdict"], "aborted", "{body}");
    }
    assert_eq!(rig.backend.bytes(), 0);
}

#[tokio::test]
async fn a_bad_head_after_a_good_request_gets_our_answer_too() {
    let rig = Rig::usual().await;
    let mut stream = rig.connect().await;
    let first = get("/v1/status/1", "").replace("Connection: close\r\n", "");
    stream.write_all(first.as_bytes()).await.unwrap();
    let mut read = vec![0; 8192];
    let length = soon(stream.read(&mut read)).await.unwrap();
    assert_eq!(Answer::of(&read[..length]).status, 200);
    stream
        .write_all(b"GET /v1/status/2 HTTP/1.1\r\nBad Name: x\r\n\r\n")
        .await
        .unwrap();
    let reply = Answer::read(&mut stream).await;
    assert_eq!(
        (reply.status, reply.rule().as_str()),
        (400, "http.framing"),
        "{}",
        reply.text
    );
    assert_eq!(rig.record_count(2).await[1]["rule"], "http.framing");
}

#[tokio::test]
async fn nothing_is_forwarded_while_records_are_lost() {
    let mut rig = Rig::usual().await;
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    rig.restart(portcullis::record::Sink::file(full)).await;
    // The loss is found out by the record of the start, before the first request.
    let reply = rig.send(get("/v1/status/1", "")).await;
    assert_eq!(
        (reply.status, reply.rule().as_str()),
        (503, "state.unavailable"),
        "{}",
        reply.text
    );
    assert_eq!(reply.json()["outcome"], "not_sent");
    assert_eq!(rig.backend.requests().len(), 0);
    assert!(rig.sink.lost() >= 2);
}

#[tokio::test]
async fn the_policy_at_the_start_is_a_record() {
    let rig = Rig::with(SETTINGS, &observed()).await;
    let lines = rig.sink.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    let record: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(record["kind"], "policy");
    assert_eq!(record["cause"], "start");
    assert_eq!(record["taken"], true);
    assert_eq!(record["policy_revision"], rig.running.policy().current().revision);
    assert_eq!(record["observe"], serde_json::json!(["inbox", "legacy"]));
    assert_eq!(record["mistakes"], serde_json::json!([]));
}
