//! The admin listener over real connections on loopback.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails is a test")]

use std::fs::File;
use std::net::SocketAddr;
use std::sync::Arc;

use jiff::Timestamp;
use portcullis::admin::{State, failmodes, serve};
use portcullis::clock::Clock;
use portcullis::config;
use portcullis::policy::InForce;
use portcullis::record::Sink;
use portcullis::telemetry::Metrics;
use portcullis::trust::ring::KeyRing;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

const POLICY: &str = "
agent: {ids: [agt_runtime.consumer]}
backend: {url: 'http://127.0.0.1:9'}
routes:
  - {name: tasks, path: /v1/tasks, method: GET, takes: read}
";

/// An admin listener on a free port.
struct Served {
    state: State,
    policy: Arc<InForce>,
    metrics: Metrics,
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    server: tokio::task::JoinHandle<()>,
}

async fn served(sink: Sink, ledger_required: bool) -> Served {
    let config = config::from_text("policy.yaml", POLICY).expect("a policy");
    let clock = Clock::manual(Timestamp::UNIX_EPOCH);
    let policy = Arc::new(InForce::new(config.policy, clock.now()));
    let metrics = Metrics::new();
    let keys = KeyRing::start(&policy.current().trust, clock.clone(), |_| {}).await;
    let state = State::new(Arc::clone(&policy), metrics.clone(), sink, clock, keys, ledger_required);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(serve(listener, state.clone(), async {
        let _ended = stopped.await;
    }));
    Served {
        state,
        policy,
        metrics,
        address,
        stop,
        server,
    }
}

impl Served {
    /// Status, head and body of one request.
    async fn ask(&self, path: &str, fields: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: admin\r\n{fields}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_owned(), body.to_owned())
    }

    async fn health(&self, path: &str) -> (u16, Value) {
        let (status, _head, body) = self.ask(path, "").await;
        (status, serde_json::from_str(&body).unwrap())
    }
}

#[tokio::test]
async fn health_follows_the_life_of_the_gate() {
    let served = served(Sink::memory(), true).await;
    let not_started = json!({"ok": false, "reasons": ["not started"]});
    let ok = json!({"ok": true, "reasons": []});
    assert_eq!(served.ask("/livez", "").await.0, 200);
    assert_eq!(served.health("/startupz").await, (503, not_started.clone()));
    assert_eq!(served.health("/readyz").await, (503, not_started));
    served.state.start();
    assert_eq!(served.health("/startupz").await, (200, ok.clone()));
    assert_eq!(served.health("/readyz").await, (200, ok));
    served.state.drain();
    assert_eq!(
        served.health("/readyz").await,
        (503, json!({"ok": false, "reasons": ["draining"]}))
    );
    assert_eq!(served.ask("/livez", "").await.0, 200, "a draining process is alive");
}

#[tokio::test]
async fn a_lost_ledger_is_not_ready_only_where_it_is_required() {
    for (required, status) in [(true, 503), (false, 200)] {
        let sink = Sink::file(File::options().write(true).open("/dev/full").unwrap());
        sink.event("probe", Timestamp::UNIX_EPOCH, serde_json::Map::new());
        let served = served(sink, required).await;
        served.state.start();
        let (found, body) = served.health("/readyz").await;
        assert_eq!(found, status);
        assert_eq!(
            body["reasons"] == json!(["records cannot be written"]),
            required,
            "{body}"
        );
    }
}

#[tokio::test]
async fn the_policy_page_shows_a_failed_reload() {
    let served = served(Sink::memory(), true).await;
    served
        .policy
        .keep(vec!["line 3: no such key".to_owned()], Timestamp::UNIX_EPOCH);
    let (status, _head, body) = served.ask("/policy", "").await;
    let page: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(status, 200);
    assert_eq!(page["revision"], json!(served.policy.current().revision));
    assert_eq!(
        page["last_attempt"],
        json!({"at": "1970-01-01T00:00:00.000000Z", "taken": false, "mistakes": ["line 3: no such key"]})
    );
    assert_eq!(page["routes"][0]["mode"], "enforce");
    assert_eq!(page["schemas"]["uai.agent.ack.v1"].as_str().map(str::len), Some(64));
}

#[tokio::test]
async fn metrics_are_openmetrics() {
    let served = served(Sink::memory(), true).await;
    served.metrics.policy("r1", true);
    let (status, head, body) = served.ask("/metrics", "").await;
    assert_eq!(status, 200);
    assert!(
        head.contains("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8"),
        "{head}"
    );
    assert!(body.contains(r#"portcullis_policy_info{revision="r1"} 1"#), "{body}");
    assert!(body.ends_with("# EOF\n"));
}

#[tokio::test]
async fn fail_modes_come_as_asked() {
    let served = served(Sink::memory(), true).await;
    let count = failmodes::all().count();
    let (_status, head, body) = served.ask("/failmodes", "accept: */*\r\n").await;
    assert!(head.contains("content-type: application/json"), "{head}");
    assert_eq!(serde_json::from_str::<Vec<Value>>(&body).unwrap().len(), count);
    let (_status, head, body) = served.ask("/failmodes", "accept: text/html,*/*\r\n").await;
    assert!(head.contains("content-security-policy: default-src 'none'"), "{head}");
    assert_eq!(body.matches("<tr><td>").count(), count);
    let (_status, _head, body) = served.ask("/failmodes", "accept: text/plain\r\n").await;
    assert_eq!(body, failmodes::markdown());
}

#[tokio::test]
async fn nothing_else_is_served() {
    let served = served(Sink::memory(), true).await;
    assert_eq!(served.ask("/", "").await.0, 404);
    assert_eq!(served.ask("/debug/pprof", "").await.0, 404);
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream
        .write_all(b"POST /readyz HTTP/1.1\r\nhost: admin\r\ncontent-length: 0\r\n\r\n")
        .await
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 405 "), "{text}");
}

#[tokio::test]
async fn a_silent_client_is_closed() {
    let served = served(Sink::memory(), true).await;
    let mut silent = TcpStream::connect(served.address).await.unwrap();
    silent.write_all(b"GET /livez HTTP/1.1\r\nho").await.unwrap();
    assert_eq!(served.ask("/livez", "").await.0, 200, "others are served meanwhile");
    tokio::time::pause();
    let mut rest = Vec::new();
    let _end = silent.read_to_end(&mut rest).await;
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
}

#[tokio::test]
async fn it_stops_when_told() {
    let served = served(Sink::memory(), true).await;
    served.stop.send(()).unwrap();
    served.server.await.unwrap();
    assert!(TcpStream::connect(served.address).await.is_err());
}
