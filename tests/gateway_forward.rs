//! What reaches the backend, and what of its answer reaches the client.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that fails is a test"
)]

mod rig;

use rig::backend::{answer, field, ok};
use rig::{ROUTES, Rig, SETTINGS, get, post, report, request};

#[tokio::test]
async fn the_backend_gets_the_very_bytes_and_path() {
    let rig = Rig::usual().await;
    // Blanks, escapes and member order that a re-serialised message would lose.
    let body = format!(
        "  {}\n",
        serde_json::to_string_pretty(&report())
            .unwrap()
            .replacen("UAIX", "\\u0055AIX", 1)
    );
    let reply = rig.send(post("/v1/messages", "", &body)).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.body(), r#"{"said":"yes"}"#);
    let seen = rig.backend.request();
    assert!(seen.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{seen}");
    assert_eq!(seen.split_once("\r\n\r\n").unwrap().1, body);
    let record = rig.record().await;
    assert_eq!(record["verdict"], "allow");
    assert_eq!(record["route"], "inbox");
    assert_eq!(record["message_id"], "msg_uaix_agent_final_0007");

    let rig = Rig::usual().await;
    assert_eq!(rig.send(get("/v1/status/a%20b%c3%A9", "")).await.status, 200);
    assert!(
        rig.backend
            .request()
            .starts_with("GET /v1/status/a%20b%c3%A9 HTTP/1.1\r\n")
    );
}

#[tokio::test]
async fn a_body_in_many_chunks_arrives_as_one() {
    let rig = Rig::usual().await;
    let body = report().to_string();
    let mut chunked = b"POST /v1/messages HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for piece in body.as_bytes().chunks(100) {
        chunked.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        chunked.extend_from_slice(piece);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\nX-Trailer: dropped\r\n\r\n");
    let reply = rig.send(chunked).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let seen = rig.backend.request();
    assert_eq!(seen.split_once("\r\n\r\n").unwrap().1, body);
    assert_eq!(field(&seen, "content-length"), Some(body.len().to_string()));
    assert!(!seen.to_ascii_lowercase().contains("x-trailer"), "{seen}");
}

#[tokio::test]
async fn the_gateway_speaks_for_the_message() {
    let rig = Rig::usual().await;
    let fields = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\ntracestate: a=b\r\n";
    let reply = rig.send(post("/v1/messages", fields, report().to_string())).await;
    let seen = rig.backend.request();
    let record = rig.record().await;
    let verdict = format!("\"{}\";verdict=allow", record["id"].as_str().unwrap());
    assert_eq!(field(&seen, "uai-verdict"), Some(verdict.clone()));
    assert_eq!(reply.header("uai-verdict"), Some(verdict));
    assert_eq!(
        field(&seen, "uai-profile"),
        Some("\"uai.agent.final-report.v1\"".to_owned())
    );
    let digest = format!("\"{}\"", record["message_digest"].as_str().unwrap());
    assert_eq!(field(&seen, "uai-message-digest"), Some(digest));
    let parent = field(&seen, "traceparent").unwrap();
    assert!(parent.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-"), "{parent}");
    assert!(!parent.contains("00f067aa0ba902b7"), "{parent}");
    assert_eq!(field(&seen, "tracestate"), Some("a=b".to_owned()));
    assert_eq!(field(&seen, "host"), Some(rig.backend.address.to_string()));
}

#[tokio::test]
async fn only_declared_fields_pass() {
    let sent = "X-Forwarded-For: 1.2.3.4\r\nForwarded: for=x\r\nX-Real-IP: 1.2.3.4\r\nX-Original-URL: /a\r\nAuthorization: Bearer x\r\nCookie: a=b\r\nProxy-Authorization: x\r\nDPoP: x\r\nbaggage: a=b\r\nX-Hop: 1\r\nTE: trailers\r\nX-Mine: 1\r\nX-Internal: 1\r\nAccept: */*\r\nUAI-Capability-Revision: x\r\n";
    let body = "{}";
    let raw = format!(
        "POST /api/orders HTTP/1.1\r\nHost: h\r\nConnection: close, x-hop\r\nContent-Type: application/json\r\nContent-Length: 2\r\n{sent}\r\n{body}"
    );
    let names = |seen: &str| -> Vec<String> {
        let head = seen.split("\r\n\r\n").next().unwrap();
        let mut names: Vec<String> = head
            .split("\r\n")
            .skip(1)
            .map(|line| line.split(':').next().unwrap().to_ascii_lowercase())
            .collect();
        names.sort();
        names
    };
    let always = [
        "accept",
        "content-length",
        "content-type",
        "host",
        "traceparent",
        "uai-verdict",
    ];

    let rig = Rig::usual().await;
    assert_eq!(rig.send(&raw).await.status, 200);
    assert_eq!(names(&rig.backend.request()), always);

    let routes = ROUTES.replace(
        "    idempotency: none\n",
        "    idempotency: none\n    headers: {forward: all, credentials: [authorization]}\n",
    );
    let settings = format!("{SETTINGS}headers: {{remove: [x-internal]}}\n");
    let rig = Rig::with(&settings, &routes).await;
    assert_eq!(rig.send(&raw).await.status, 200);
    let seen = rig.backend.request();
    let mut expected: Vec<&str> = always.to_vec();
    expected.extend(["authorization", "x-mine"]);
    expected.sort_unstable();
    assert_eq!(names(&seen), expected, "{seen}");
}

#[tokio::test]
async fn an_answer_says_nothing_in_the_gateways_name() {
    let rig = Rig::usual().await;
    rig.backend.does(answer(
        201,
        "UAI-Principal: me\r\nUAI-Verdict: x\r\nIdempotency-Replayed: true\r\nConnection: x-hop\r\nX-Hop: 1\r\nX-Own: 1\r\nKeep-Alive: 1\r\n",
        "{}",
    ));
    let reply = rig.send(post("/api/orders", "", "{}")).await;
    assert_eq!(reply.status, 201);
    assert_eq!(reply.header("x-own").as_deref(), Some("1"));
    for gone in ["uai-principal", "idempotency-replayed", "x-hop", "keep-alive"] {
        assert_eq!(reply.header(gone), None, "{gone}");
    }
    assert!(reply.header("uai-verdict").unwrap().ends_with(";verdict=allow"));
}

#[tokio::test]
async fn a_server_error_keeps_its_body() {
    let rig = Rig::usual().await;
    rig.backend
        .does(answer(503, "content-type: text/plain\r\n", "stack trace"));
    for raw in [post("/api/orders", "", "{}"), get("/v1/status/1", "").into()] {
        let reply = rig.send(raw).await;
        assert_eq!(reply.status, 503);
        assert_eq!(reply.body(), "");
        assert_eq!(reply.header("content-type"), None);
    }
    let routes = ROUTES.replace(
        "    idempotency: none\n",
        "    idempotency: none\n    error_bodies: pass\n",
    );
    let rig = Rig::with(SETTINGS, &routes).await;
    rig.backend
        .does(answer(503, "content-type: text/plain\r\n", "stack trace"));
    assert_eq!(rig.send(post("/api/orders", "", "{}")).await.body(), "stack trace");
}

/// An answer to [`report`] by the agent behind the gate.
fn acknowledgement() -> serde_json::Value {
    let mut answer = report();
    answer["profile"] = "uai.agent.ack.v1".into();
    answer["message_id"] = "msg_answer".into();
    answer["source"]["id"] = "agt_runtime.consumer".into();
    answer["target"]["id"] = "agt_uaix.publisher".into();
    answer["provenance"]["agent_id"] = "agt_runtime.consumer".into();
    answer["conversation"]["parent_message_id"] = "msg_uaix_agent_final_0007".into();
    answer["body"] = serde_json::json!({
        "acknowledged_message_id": "msg_uaix_agent_final_0007",
        "status": "received",
        "received_at_utc": "2026-05-31T18:01:00Z",
        "closes_acknowledgement_loop": true,
        "support_boundary": "none"
    });
    answer
}

#[tokio::test]
async fn an_answer_that_says_it_is_uai_is_judged() {
    let uai = "content-type: application/uai+json; charset=utf-8\r\n";
    let rig = Rig::usual().await;
    rig.backend.does(answer(200, uai, acknowledgement().to_string()));
    let reply = rig.send(post("/v1/messages", "", report().to_string())).await;
    assert_eq!(reply.json(), acknowledgement(), "{}", reply.text);
    type Change = fn(&mut serde_json::Value);
    let table: [(&str, Change); 5] = [
        ("schema", |answer| answer["undeclared"] = 1.into()),
        ("source", |answer| {
            answer["source"]["id"] = "agt_other".into();
            answer["provenance"]["agent_id"] = "agt_other".into();
        }),
        ("parent", |answer| {
            answer["conversation"]["parent_message_id"] = "msg_other".into()
        }),
        ("profile", |answer| answer["profile"] = "uai.agent.handoff.v1".into()),
        ("envelope", |answer| answer["uai_version"] = "2.0".into()),
    ];
    for (what, change) in table {
        let mut said = acknowledgement();
        change(&mut said);
        let rig = Rig::usual().await;
        rig.backend.does(answer(200, uai, said.to_string()));
        let reply = rig.send(post("/v1/messages", "", report().to_string())).await;
        assert_eq!(reply.rule(), "backend.contract", "{what}: {}", reply.text);
        assert_eq!(reply.status, 502);
        assert_eq!(reply.json()["outcome"], "delivered");
        assert_eq!(reply.json()["retry"]["allowed"], false);
    }
    // The same bytes under another type claim nothing.
    let rig = Rig::usual().await;
    rig.backend.does(answer(200, "content-type: text/plain\r\n", "{}"));
    assert_eq!(
        rig.send(post("/v1/messages", "", report().to_string())).await.status,
        200
    );
    let rig = Rig::usual().await;
    rig.backend
        .does(answer(200, "content-type: application/uai-keyless+json\r\n", "[]"));
    assert_eq!(
        rig.send(post("/v1/messages", "", report().to_string())).await.rule(),
        "backend.contract"
    );
}

#[tokio::test]
async fn a_read_that_says_it_is_uai_is_judged_before_it_is_passed_on() {
    let uai = "content-type: application/uai+json\r\n";
    let rig = Rig::usual().await;
    rig.backend.does(answer(200, uai, acknowledgement().to_string()));
    let reply = rig.send(get("/v1/status/1", "")).await;
    assert_eq!(reply.json(), acknowledgement(), "{}", reply.text);
    rig.backend.does(answer(200, uai, "{\"uai_version\":\"1.0\"}"));
    let reply = rig.send(get("/v1/status/1", "")).await;
    assert_eq!(reply.rule(), "backend.contract", "{}", reply.text);
    assert_eq!(rig.record_count(2).await[1]["rule"], "backend.contract");
}

#[tokio::test]
async fn an_answer_over_the_limit_is_not_passed_on() {
    let rig = Rig::with("limits: {answer: 1KiB}\n", ROUTES).await;
    rig.backend.does(ok(&"x".repeat(1025)));
    let reply = rig.send(post("/api/orders", "", "{}")).await;
    assert_eq!(reply.rule(), "backend.contract");
    assert_eq!(rig.record().await["rule"], "backend.contract");
    rig.backend.does(ok(&"x".repeat(1024)));
    assert_eq!(rig.send(post("/api/orders", "", "{}")).await.status, 200);
}

#[tokio::test]
async fn two_keys_point_to_a_public_result_only() {
    let routes = ROUTES.replace(
        "    idempotency: none\n",
        "    idempotency: none\n    level: L2\n    result_url_field: /links/status\n    result_url: https://agent.example/results\n",
    );
    let rig = Rig::with("public_origins: [\"https://agent.example\"]\n", &routes).await;
    for (url, expected) in [
        ("https://agent.example/r/7", "https://agent.example/r/7"),
        ("https://evil.example/r/7", "https://agent.example/results"),
    ] {
        rig.backend
            .does(ok(&format!(r#"{{"links":{{"status":"{url}"}},"more":1}}"#)));
        let reply = rig.send(post("/api/orders", "", "{}")).await;
        assert_eq!(reply.json(), serde_json::json!({"code": "ok", "url": expected}));
        assert_eq!(reply.header("cache-control").as_deref(), Some("no-store"));
    }
    let routes = routes.replace("    result_url: https://agent.example/results\n", "");
    let rig = Rig::with("public_origins: [\"https://agent.example\"]\n", &routes).await;
    let reply = rig.send(post("/api/orders", "", "{}")).await;
    assert_eq!(reply.json()["code"], "rejected");
    assert_eq!(rig.record().await["rule"], "backend.contract");
}

#[tokio::test]
async fn a_read_brings_no_body_and_its_head_alone_is_answered() {
    let rig = Rig::usual().await;
    rig.refuses(request("GET", "/v1/status/1", "", "x"), "http.framing", 400)
        .await;
    let reply = rig.send(get("/v1/status/1", "").replacen("GET", "HEAD", 1)).await;
    assert_eq!((reply.status, reply.body()), (200, ""));
    assert_eq!(reply.header("content-length").as_deref(), Some("14"));
}

#[tokio::test]
async fn the_page_of_a_code_is_served_before_the_routes() {
    let rig = Rig::usual().await;
    let page = "/.well-known/uai/problems/ERR_SCHEMA_VIOLATION";
    let reply = rig.send(get(page, "")).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let record = rig.record().await;
    assert_eq!(record["route"], "_problems");
    assert_eq!(record["verdict"], "allow");
    rig.refuses(get("/.well-known/uai/problems/ERR_NOBODY", ""), "route.undeclared", 404)
        .await;
    let reply = rig.refuses(post(page, "", "{}"), "route.method", 405).await;
    assert_eq!(reply.header("allow").as_deref(), Some("GET, HEAD"));
    rig.refuses(get(&format!("{page}?x"), ""), "http.query", 400).await;
}
