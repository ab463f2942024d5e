//! Every refusal before the verdict: its rule and status, nothing at the backend, one record.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails is a test"
)]

mod rig;

use rig::backend::Does;
use rig::{Answer, ROUTES, Rig, SETTINGS, get, post, report, request, sealed, soon};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A request line and fields; the connection ends with the answer.
fn raw(line: &str, fields: &str) -> String {
    format!("{line}\r\nHost: gate.example\r\nConnection: close\r\n{fields}\r\n")
}

#[tokio::test]
async fn what_is_not_declared_is_refused() {
    let rig = Rig::usual().await;
    rig.refuses(get("/v1/other", ""), "route.undeclared", 404).await;
    rig.refuses(get("/v1/messages/", ""), "route.undeclared", 404).await;
    rig.refuses(get("/v1/status/", ""), "route.undeclared", 404).await;
    rig.refuses(get("/v1/STATUS/1", ""), "route.undeclared", 404).await;
    let reply = rig.refuses(get("/api/orders", ""), "route.method", 405).await;
    assert_eq!(reply.header("allow").as_deref(), Some("POST, PUT"));
    rig.refuses(request("OPTIONS", "/v1/messages", "", ""), "route.method", 405)
        .await;
}

#[tokio::test]
async fn one_reading_of_the_target() {
    let rig = Rig::with("public_hosts: [gate.example]\n", rig::ROUTES).await;
    for target in [
        "/v1//status/1",
        "/v1/status/../messages",
        "/v1/status/./1",
        "/v1/status/%2e",
        "/v1/status/a%2Fb",
        "/v1/status/a;b",
        "/v1/status/%00",
        "/v1/status/%ff",
        "/v1/status/1#x",
        "http://gate.example/v1/status/1",
        "*",
    ] {
        rig.refuses(raw(&format!("GET {target} HTTP/1.1"), ""), "http.target", 400)
            .await;
    }
    // A byte that hyper itself refuses ends in its own rule.
    rig.refuses(raw("GET /v1/status/a|b HTTP/1.1", ""), "http.target", 400)
        .await;
    for fields in [
        "Host: other.example\r\n",
        "Host: gate.example\r\nHost: gate.example\r\n",
        "",
    ] {
        let bytes = format!("GET /v1/status/1 HTTP/1.1\r\nConnection: close\r\n{fields}\r\n");
        rig.refuses(bytes, "http.target", 400).await;
    }
    for query in ["?", "?a=b", "?access_token=x"] {
        rig.refuses(get(&format!("/v1/status/1{query}"), ""), "http.query", 400)
            .await;
    }
}

#[tokio::test]
async fn a_head_asks_for_nothing_strange() {
    let rig = Rig::usual().await;
    let get = |fields: &str| raw("GET /v1/status/1 HTTP/1.1", fields);
    for (fields, rule, status) in [
        ("X_Forwarded_For: 1\r\n", "http.header", 400),
        ("Connection: Authorization\r\n", "http.header", 400),
        ("Connection: uai-signature\r\n", "http.header", 400),
        ("Connection: content-type\r\n", "http.header", 400),
        ("X-HTTP-Method-Override: DELETE\r\n", "http.method-override", 400),
        ("X-Method-Override: DELETE\r\n", "http.method-override", 400),
        ("Upgrade: websocket\r\nConnection: upgrade\r\n", "http.upgrade", 400),
        (
            "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n",
            "http.upgrade",
            400,
        ),
        ("Early-Data: 1\r\n", "http.early-data", 425),
        ("UAI-Verdict: x\r\n", "authority.asserted-header", 403),
        ("uai-principal: x\r\n", "authority.asserted-header", 403),
        ("Content-Encoding: gzip\r\n", "route.content-encoding", 415),
    ] {
        rig.refuses(get(fields), rule, status).await;
    }
    rig.refuses(raw("CONNECT gate.example:443 HTTP/1.1", ""), "http.target", 400)
        .await;
}

#[tokio::test]
async fn framing_has_one_reading() {
    let rig = Rig::usual().await;
    let post = |fields: &str, body: &str| {
        format!(
            "POST /api/orders HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: application/json\r\n{fields}\r\n{body}"
        )
    };
    for (fields, body) in [
        // hyper drops one of the two, in either order.
        (
            "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
            "2\r\n{}\r\n0\r\n\r\n",
        ),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
            "2\r\n{}\r\n0\r\n\r\n",
        ),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: abc\r\n",
            "2\r\n{}\r\n0\r\n\r\n",
        ),
        ("Content-Length: 2\r\nContent-Length: 2\r\n", "{}"),
        ("Content-Length: 2\r\nContent-Length: 3\r\n", "{}"),
        ("Content-Length: +2\r\n", "{}"),
        ("Content-Length: 2x\r\n", "{}"),
        ("Transfer-Encoding: gzip, chunked\r\n", "2\r\n{}\r\n0\r\n\r\n"),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "2\r\n{}\r\n0\r\n\r\n",
        ),
        ("Transfer-Encoding: identity\r\n", "{}"),
        ("Content-Length : 2\r\n", "{}"),
        ("X: a\r\n b\r\nContent-Length: 2\r\n", "{}"),
        ("X: a\nContent-Length: 2\r\n", "{}"),
        ("X: a\rb\r\nContent-Length: 2\r\n", "{}"),
        ("Transfer-Encoding: chunked\r\n", "2\r\n{}x\r\n0\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\n", "zz\r\n{}\r\n0\r\n\r\n"),
    ] {
        rig.refuses(post(fields, body), "http.framing", 400).await;
    }
    rig.refuses("nonsense\r\n\r\n", "http.framing", 400).await;
    rig.refuses("GET /v1/status/1 HTTP/1.1\nHost: h\n\n", "http.framing", 400)
        .await;
}

#[tokio::test]
async fn a_request_waits_for_the_answer_to_the_one_before() {
    let rig = Rig::usual().await;
    let first = get("/v1/status/1", "").replace("Connection: close\r\n", "");
    let both = format!("{first}{}", get("/v1/status/2", ""));
    let reply = rig.send(both).await;
    assert_eq!(reply.text.matches("HTTP/1.1 ").count(), 2, "{}", reply.text);
    let records = rig.record_count(2).await;
    assert_eq!(records[0]["verdict"], "allow");
    assert_eq!(records[1]["rule"], "http.framing");
    assert_eq!(rig.backend.requests().len(), 1);
}

#[tokio::test]
async fn a_head_that_came_in_part_ahead_of_its_turn_is_refused() {
    let rig = Rig::usual().await;
    let mut stream = rig.connect().await;
    let first = get("/v1/status/1", "").replace("Connection: close\r\n", "");
    // What follows the answer looks like a whole head of its own, with two lengths of which hyper drops one.
    let ahead = "POST /api/orders HTTP/1.1\nX: ";
    let rest = "POST /api/orders HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
    stream.write_all(format!("{first}{ahead}").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"}") {
        soon(stream.read_buf(&mut answer)).await.unwrap();
    }
    stream.write_all(rest.as_bytes()).await.unwrap();
    let reply = Answer::read(&mut stream).await;
    assert_eq!(
        (reply.status, reply.rule().as_str()),
        (400, "http.framing"),
        "{}",
        reply.text
    );
    assert_eq!(rig.record_count(2).await[1]["rule"], "http.framing");
    assert_eq!(rig.backend.requests().len(), 1);
}

#[tokio::test]
async fn one_media_type() {
    let rig = Rig::usual().await;
    let post = |fields: &str| {
        format!("POST /v1/messages HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 2\r\n{fields}\r\n{{}}")
    };
    for fields in [
        "",
        "Content-Type: text/plain\r\n",
        "Content-Type: application/json; charset=latin1\r\n",
        "Content-Type: application/json\r\nContent-Type: application/json\r\n",
        "Content-Type: application/uai-keyless+json\r\n",
    ] {
        let reply = rig.refuses(post(fields), "route.media-type", 415).await;
        assert!(
            reply.header("accept").unwrap().contains("application/json"),
            "{}",
            reply.text
        );
    }
    let reply = rig
        .refuses(
            post("Content-Type: application/json\r\nContent-Encoding: identity\r\n"),
            "route.content-encoding",
            415,
        )
        .await;
    assert_eq!(reply.header("accept-encoding").as_deref(), Some("identity"));
}

#[tokio::test]
async fn a_refusal_leaves_the_backend_untouched() {
    let rig = Rig::usual().await;
    type Change = fn(&mut serde_json::Value);
    let table: [(Change, &str, u16); 6] = [
        (|report| report["undeclared"] = 1.into(), "schema.undeclared", 422),
        (|report| report["uai_version"] = "2.0".into(), "envelope.version", 422),
        (
            |report| report["target"]["id"] = "agt_other".into(),
            "addressing.not-here",
            422,
        ),
        (
            |report| report["delivery"]["mode"] = "stream".into(),
            "capability.mode",
            422,
        ),
        (
            |report| report["delivery"]["expires_at"] = "2026-05-31T18:00:30Z".into(),
            "freshness.expired",
            410,
        ),
        (
            |report| report["body"]["memory_updates_proposed"] = serde_json::json!(["remember this"]),
            "hold.required",
            403,
        ),
    ];
    for (change, rule, status) in table {
        let mut message = report();
        change(&mut message);
        rig.refuses(post("/v1/messages", "", sealed(message).to_string()), rule, status)
            .await;
    }
    rig.refuses(
        post("/v1/messages", "", "{\"a\":1,\"\\u0061\":2}"),
        "json.duplicate-key",
        400,
    )
    .await;
    rig.refuses(post("/v1/messages", "", ""), "json.syntax", 400).await;
}

#[tokio::test]
async fn a_refused_message_is_named_by_its_digest() {
    let rig = Rig::usual().await;
    let mut message = report();
    message["undeclared"] = 1.into();
    let answer = rig
        .refuses(
            post("/v1/messages", "", sealed(message).to_string()),
            "schema.undeclared",
            422,
        )
        .await;
    let digest = &answer.json()["evidence"]["message_digest"];
    assert!(digest.is_string(), "{}", answer.text);
    assert_eq!(*digest, rig.record().await["message_digest"]);
    let unread = rig.refuses(post("/v1/messages", "", "{"), "json.syntax", 400).await;
    assert_eq!(unread.json()["evidence"], serde_json::json!({"recorded": true}));
}

#[tokio::test]
async fn a_uai_client_gets_a_uai_error() {
    let rig = Rig::usual().await;
    let mut message = report();
    message["delivery"]["expires_at"] = "2026-05-31T18:00:30Z".into();
    let reply = rig
        .send(post(
            "/v1/messages",
            "Accept: application/uai+json\r\n",
            message.to_string(),
        ))
        .await;
    assert_eq!(reply.status, 410, "{}", reply.text);
    assert_eq!(reply.json()["profile"], "uai.error.v1");
    assert_eq!(
        reply.json()["conversation"]["parent_message_id"],
        "msg_uaix_agent_final_0007"
    );
    assert_eq!(rig.record().await["rule"], "freshness.expired");
}

#[tokio::test]
async fn a_uai_error_answers_messages_that_passed_their_schema_only() {
    let routes = ROUTES.replace("takes: messages", "takes: messages\n    mode: observe");
    let rig = Rig::with(SETTINGS, &routes).await;
    rig.backend.does(Does::Drop);
    let mut invalid = report();
    invalid["body"]["summary"] = 7.into();
    for (path, message, expected) in [
        ("/v1/messages", report(), "uai.error.v1"),
        ("/v1/messages", invalid, ""),
        ("/api/orders", report(), ""),
    ] {
        let accept = "Accept: application/uai+json\r\n";
        let reply = rig.send(post(path, accept, message.to_string())).await;
        assert_eq!(reply.status, 502, "{}", reply.text);
        assert_eq!(reply.json()["profile"].as_str().unwrap_or_default(), expected, "{path}");
    }
}
