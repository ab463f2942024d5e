//! Every bound and every deadline, with the answer beyond it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails is a test"
)]

mod rig;

use rig::backend::{Backend, Does};
use rig::{Answer, ROUTES, Rig, SETTINGS, get, post, soon, until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// What is late is late at once; what a test wants to arrive in time has the usual deadline.
const SLOW: &str = "deadlines: {head: 60ms, body: 60ms}\n";

/// A connection without a request is closed soon, yet not before its client on a busy machine got to speak.
const IDLE: &str = "deadlines: {idle: 500ms, head: 500ms}\n";

#[tokio::test]
async fn every_limit_has_its_answer() {
    let rig = Rig::usual().await;
    let long = "x".repeat(4096);
    rig.refuses(
        get("/v1/status/1", &format!("X-Long: {long}\r\n")),
        "http.header-size",
        431,
    )
    .await;
    rig.refuses(
        get("/v1/status/1", &"X-Many: 1\r\n".repeat(19)),
        "http.header-size",
        431,
    )
    .await;
    rig.refuses(
        get("/v1/status/1", &"X-Many: 1\r\n".repeat(200)),
        "http.header-size",
        431,
    )
    .await;
    rig.refuses(
        get("/v1/status/1", &format!("X-Long: {}\r\n", long.repeat(20))),
        "http.header-size",
        431,
    )
    .await;
    rig.refuses(
        get(&format!("/v1/status/{}", "x".repeat(256)), ""),
        "http.target-length",
        414,
    )
    .await;
    rig.refuses(post("/api/orders", "", "x".repeat(64 * 1024 + 1)), "json.size", 413)
        .await;
    assert_eq!(
        rig.send(post("/api/orders", "", "x".repeat(64 * 1024))).await.status,
        200
    );
}

#[tokio::test]
async fn a_body_of_no_declared_length_is_bounded_while_it_is_read() {
    let rig = Rig::usual().await;
    let mut stream = rig.connect().await;
    let head =
        "POST /api/orders HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let chunk = format!("1000\r\n{}\r\n", "x".repeat(4096));
    for _ in 0..17 {
        stream.write_all(chunk.as_bytes()).await.unwrap();
    }
    let reply = Answer::read(&mut stream).await;
    assert_eq!(
        (reply.status, reply.rule().as_str()),
        (413, "json.size"),
        "{}",
        reply.text
    );
    assert_eq!(reply.header("connection").as_deref(), Some("close"));
    assert_eq!(rig.record().await["rule"], "json.size");
    assert_eq!(rig.backend.bytes(), 0);
}

#[tokio::test]
async fn a_client_reads_its_413_while_it_still_sends() {
    let rig = Rig::usual().await;
    let mut stream = rig.connect().await;
    let head =
        "POST /api/orders HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 3000000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    // All of the body goes out before anything is read: a reset would lose the answer.
    let body = vec![b'x'; 3_000_000];
    soon(stream.write_all(&body)).await.unwrap();
    let reply = Answer::read(&mut stream).await;
    assert_eq!(
        (reply.status, reply.rule().as_str()),
        (413, "json.size"),
        "{}",
        reply.text
    );
    assert_eq!(rig.record().await["rule"], "json.size");
}

#[tokio::test]
async fn a_client_that_asks_first_is_told_to_go_on_after_intake_only() {
    let rig = Rig::usual().await;
    let head = |length: usize| {
        format!(
            "POST /api/orders HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: {length}\r\n\r\n"
        )
    };
    let mut stream = rig.connect().await;
    stream.write_all(head(2).as_bytes()).await.unwrap();
    let mut interim = [0; 25];
    soon(stream.read_exact(&mut interim)).await.unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"{}").await.unwrap();
    assert_eq!(Answer::read(&mut stream).await.status, 200);
    assert_eq!(rig::backend::field(&rig.backend.request(), "expect"), None);
    let reply = rig.send(head(70_000)).await;
    assert_eq!(
        (reply.status, reply.rule().as_str()),
        (413, "json.size"),
        "{}",
        reply.text
    );
}

#[tokio::test]
async fn requests_in_progress_are_bounded() {
    let rig = Rig::with("limits: {in_flight: 1}\n", ROUTES).await;
    rig.backend.does(Does::Hang);
    let mut first = rig.connect().await;
    first.write_all(&post("/api/orders", "", "{}")).await.unwrap();
    rig.backend.arrived().await;
    let reply = rig.send(post("/api/orders", "", "{}")).await;
    assert_eq!(
        (reply.status, reply.rule().as_str()),
        (429, "limits.rate"),
        "{}",
        reply.text
    );
    assert!(reply.header("retry-after").is_some());
    drop(first);
    rig.backend.left().await;
    let records = rig.record_count(2).await;
    assert_eq!(records[0]["verdict"], "throttled");
    rig.backend.does(rig::backend::ok("{}"));
    assert_eq!(rig.send(post("/api/orders", "", "{}")).await.status, 200);
}

#[tokio::test]
async fn a_peer_and_a_route_have_a_rate() {
    // `limits.rate`, with the clock of the rig standing still.
    for (settings, name) in [("limits: {peer_rate: 1}\n", "peer"), ("", "route")] {
        let routes = format!("{ROUTES}    rate: 1\n");
        let rig = Rig::with(settings, if name == "route" { &routes } else { ROUTES }).await;
        for _ in 0..2 {
            assert_eq!(rig.send(get("/v1/status/1", "")).await.status, 200);
        }
        let answer = rig.refuses(get("/v1/status/1", ""), "limits.rate", 429).await;
        assert_eq!(answer.header("retry-after").as_deref(), Some("1"));
        assert_eq!(answer.header("ratelimit"), Some(format!("\"{name}\";r=0;t=1")));
        assert_eq!(answer.header("ratelimit-policy"), Some(format!("\"{name}\";q=1;w=1")));
    }
}

#[tokio::test]
async fn connections_over_the_limit_wait() {
    let rig = Rig::with("limits: {connections: 1}\n", ROUTES).await;
    let first = rig.connect().await;
    until(|| open_connections(&rig) == "1").await;
    let mut second = rig.connect().await;
    second.write_all(get("/v1/status/1", "").as_bytes()).await.unwrap();
    assert_eq!(rig.backend.bytes(), 0);
    drop(first);
    assert_eq!(Answer::read(&mut second).await.status, 200);
}

fn open_connections(rig: &Rig) -> String {
    let text = rig.running.metrics().text(0);
    let line = text
        .lines()
        .find(|line| line.starts_with("portcullis_connections"))
        .unwrap_or_else(|| panic!("{text}"));
    line.rsplit(' ').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_slow_head_or_body_ends_in_a_timeout() {
    let rig = Rig::with(SLOW, ROUTES).await;
    for bytes in [
        "GET /v1/status/1 HTTP/1.1\r\nHost",
        "G",
        "PRI * HTTP/2.0\r\n\r\nSM",
        "POST /api/orders HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
    ] {
        let reply = rig.refuses(bytes, "http.timeout", 408).await;
        assert_eq!(reply.header("connection").as_deref(), Some("close"), "{bytes}");
    }
}

#[tokio::test]
async fn an_idle_connection_is_closed_without_a_word() {
    let rig = Rig::with(IDLE, ROUTES).await;
    // Silent from the start, in both versions of HTTP.
    assert_eq!(rig.send("").await.text, "");
    let reply = rig.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    assert!(!reply.text.contains("HTTP/1.1"), "{}", reply.text);
    let settled = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    rig.send(settled).await;
    assert!(rig.records().is_empty());
    // Idle after an answer.
    let reply = rig
        .send(get("/v1/status/1", "").replace("Connection: close\r\n", ""))
        .await;
    assert_eq!(reply.status, 200);
    rig.record().await;
}

#[tokio::test]
async fn a_head_that_ends_early_is_an_aborted_request() {
    let rig = Rig::usual().await;
    let mut stream = rig.connect().await;
    stream.write_all(b"GET /v1/status/1 HT").await.unwrap();
    drop(stream);
    assert_eq!(rig.record().await["verdict"], "aborted");
    assert_eq!(rig.backend.bytes(), 0);
}

#[tokio::test]
async fn a_backend_that_is_not_there_has_not_seen_it() {
    let address = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let mut backend = Backend::start().await;
    backend.address = address;
    let rig = Rig::before(backend, SETTINGS, ROUTES).await;
    let reply = rig.send(post("/api/orders", "", "{}")).await;
    assert_eq!(
        (reply.status, reply.rule().as_str()),
        (502, "backend.unreachable"),
        "{}",
        reply.text
    );
    assert_eq!(reply.json()["outcome"], "not_sent");
    assert!(
        reply.json()["detail"]
            .as_str()
            .unwrap()
            .contains("the backend has not seen it")
    );
    assert_eq!(rig.record().await["rule"], "backend.unreachable");
}

#[tokio::test]
async fn a_backend_that_hangs_up_or_never_answers_may_have_seen_it() {
    for (settings, does, rule, status) in [
        ("", Does::Drop, "backend.lost", 502),
        ("deadlines: {backend: 100ms}\n", Does::Hang, "backend.timeout", 504),
    ] {
        let rig = Rig::with(settings, ROUTES).await;
        rig.backend.does(does);
        let reply = rig.send(post("/api/orders", "", "{}")).await;
        assert_eq!((reply.status, reply.rule().as_str()), (status, rule), "{}", reply.text);
        assert_eq!(reply.json()["outcome"], "unknown");
        assert_eq!(rig.record().await["verdict"], "unavailable");
        rig.backend.arrived().await;
        assert_eq!(rig.backend.requests().len(), 1, "sent once");
    }
}

#[tokio::test]
async fn the_messages_own_deadline_counts_when_it_is_shorter() {
    let rig = Rig::usual().await;
    rig.backend.does(Does::Hang);
    let mut message = rig::report();
    message["delivery"]["timeout_ms"] = 20.into();
    let reply = rig.send(post("/v1/messages", "", message.to_string())).await;
    assert_eq!(
        (reply.status, reply.rule().as_str()),
        (504, "backend.timeout"),
        "{}",
        reply.text
    );
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_left() {
    let rig = Rig::with("deadlines: {idle: 500ms}\nlimits: {answer: 16MiB}\n", ROUTES).await;
    rig.backend.does(rig::backend::ok(&"x".repeat(12_000_000)));
    let mut stream = rig.connect().await;
    stream.write_all(&post("/api/orders", "", "{}")).await.unwrap();
    rig.record().await;
    until(|| open_connections(&rig) == "0").await;
    drop(stream);
}
