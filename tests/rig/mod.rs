//! A gate in this process with a backend that writes down every byte it sees, and a client that sends raw bytes.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "each test binary uses its part of the rig, and a test that fails is a test"
)]

pub mod backend;
pub mod jwks;
pub mod keys;

use std::time::Duration;

use bytes::Bytes;
use portcullis::app::{Running, Setup};
use portcullis::clock::Clock;
use portcullis::config;
use portcullis::record::Sink;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use backend::Backend;

/// Nothing in a test takes this long; a test that would hang fails.
const LIMIT: Duration = Duration::from_secs(20);

/// Routes of every kind; a test adds its own.
pub const ROUTES: &str = r#"
  - name: inbox
    path: /v1/messages
    method: POST
    takes: messages
    profiles: [uai.agent.final-report.v1, uai.agent.ack.v1, uai.agent.memory-proposal.v1]
    extensions: ["urn:uaix:ext:agent-communication-standard"]
    modes: [async]
    integrity: declared
    body: 64KiB
  - name: legacy
    path: /api/orders
    method: [POST, PUT]
    takes: legacy
    content_type: [application/json]
    idempotency: none
    body: 64KiB
  - name: read
    path: /v1/status/{id}
    method: [GET, HEAD]
    takes: read
"#;

/// Settings of most tests.
pub const SETTINGS: &str = "limits: {header_bytes: 4KiB, header_count: 20, target: 256}\n";

/// A gate in front of a backend.
pub struct Rig {
    pub running: Running,
    pub backend: Backend,
    pub sink: Sink,
    pub clock: Clock,
}

impl Rig {
    /// The usual routes and settings.
    pub async fn usual() -> Self {
        Self::with(SETTINGS, ROUTES).await
    }

    /// Other settings, other routes.
    pub async fn with(settings: &str, routes: &str) -> Self {
        let backend = Backend::start().await;
        Self::before(backend, settings, routes).await
    }

    /// In front of this backend.
    pub async fn before(backend: Backend, settings: &str, routes: &str) -> Self {
        let sink = Sink::memory();
        let clock = clock();
        let text = policy(&backend.url(), settings, routes);
        let running = run_at(&text, sink.clone(), clock.clone()).await;
        Self {
            running,
            backend,
            sink,
            clock,
        }
    }

    /// The usual gate again, with records that go elsewhere.
    pub async fn restart(&mut self, sink: Sink) {
        let text = policy(&self.backend.url(), SETTINGS, ROUTES);
        self.running = run_at(&text, sink.clone(), self.clock.clone()).await;
        self.sink = sink;
    }

    /// A connection to the gate.
    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.running.gate()).await.unwrap()
    }

    /// Sends bytes and reads until the gate closes. The request has to end the connection.
    pub async fn send(&self, bytes: impl AsRef<[u8]>) -> Answer {
        let mut stream = self.connect().await;
        stream.write_all(bytes.as_ref()).await.unwrap();
        Answer::read(&mut stream).await
    }

    /// The verdict records so far.
    pub fn records(&self) -> Vec<Value> {
        self.events("verdict")
    }

    /// The records of one kind so far.
    pub fn events(&self, kind: &str) -> Vec<Value> {
        self.sink
            .lines()
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .filter(|record: &Value| record["kind"] == kind)
            .collect()
    }

    /// Moves the gate's clock.
    pub fn pass(&self, seconds: i64) {
        let now = self.clock.now();
        self.clock
            .set(jiff::Timestamp::from_second(now.as_second() + seconds).unwrap());
    }

    /// The one record, once it is there.
    pub async fn record(&self) -> Value {
        self.record_count(1).await.remove(0)
    }

    /// Exactly this many records, once they are there.
    pub async fn record_count(&self, count: usize) -> Vec<Value> {
        until(|| self.records().len() >= count).await;
        let records = self.records();
        assert_eq!(records.len(), count, "{records:#?}");
        records
    }

    /// A refusal: its rule and status in the answer, zero bytes at the backend, exactly one record.
    pub async fn refuses(&self, bytes: impl AsRef<[u8]>, rule: &str, status: u16) -> Answer {
        let before = self.records().len();
        let seen = self.backend.bytes();
        let answer = self.send(bytes).await;
        assert_eq!(answer.rule(), rule, "{}", answer.text);
        assert_eq!(answer.status, status, "{}", answer.text);
        let id = answer.header("uai-verdict").unwrap_or_default();
        let records = self.record_count(before + 1).await;
        let record = &records[before];
        assert_eq!(record["rule"], rule);
        assert_eq!(record["status"], status);
        assert!(id.contains(record["id"].as_str().unwrap()), "{id} {record}");
        assert_eq!(
            self.backend.bytes(),
            seen,
            "the backend saw something of a refused request"
        );
        answer
    }
}

/// What the gate answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub text: String,
}

impl Answer {
    /// Reads one answer to the end of the connection.
    pub async fn read(stream: &mut (impl AsyncReadExt + Unpin)) -> Self {
        let mut bytes = Vec::new();
        soon(stream.read_to_end(&mut bytes)).await.unwrap();
        Self::of(&bytes)
    }

    pub fn of(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let status = text.get(9..12).and_then(|digits| digits.parse().ok()).unwrap_or(0);
        Self { status, text }
    }

    pub fn header(&self, name: &str) -> Option<String> {
        let head = self.text.split("\r\n\r\n").next().unwrap();
        head.split("\r\n").skip(1).find_map(|line| {
            let (field, value) = line.split_once(':')?;
            field.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    }

    pub fn body(&self) -> &str {
        self.text.split_once("\r\n\r\n").map_or("", |(_, body)| body)
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(self.body()).unwrap_or(Value::Null)
    }

    pub fn rule(&self) -> String {
        self.json()["rule"].as_str().unwrap_or_default().to_owned()
    }
}

/// A gate with this policy.
pub async fn run(text: &str, sink: Sink) -> Running {
    run_at(text, sink, clock()).await
}

/// A gate with this policy and a clock that the test moves.
pub async fn run_at(text: &str, sink: Sink, clock: Clock) -> Running {
    Running::start(Setup {
        config: config::from_text("test.yaml", text).unwrap_or_else(|mistakes| panic!("{:?}", mistakes.mistakes)),
        watched: None,
        sink,
        clock,
    })
    .await
    .unwrap()
}

/// The whole policy text.
pub fn policy(backend: &str, settings: &str, routes: &str) -> String {
    format!(
        "agent: {{ids: [agt_runtime.consumer, \"urn:agent:two\"]}}\nlisten: 127.0.0.1:0\nadmin: 127.0.0.1:0\nbackend: {{url: \"{backend}\"}}\n{settings}routes:\n{routes}"
    )
}

/// A minute after the published report was issued.
pub fn clock() -> Clock {
    Clock::manual("2026-05-31T18:01:00Z".parse().unwrap())
}

/// The published final report without its memory proposals.
pub fn report() -> Value {
    let mut report: Value = serde_json::from_str(include_str!("../../examples/final-report.keyed.json")).unwrap();
    report["body"]["memory_updates_proposed"] = Value::Array(Vec::new());
    report
}

/// The message with the checksum of its canonical bytes.
pub fn sealed(mut message: Value) -> Value {
    use portcullis::message::{canonical, json};
    let text = message.to_string();
    let root = json::read(text.as_bytes(), &json::Bounds::default()).unwrap();
    message["integrity"]["checksum"] = format!("sha256:{}", canonical::digest(&root)).into();
    message
}

/// A POST whose answer ends the connection.
pub fn post(path: &str, fields: &str, body: impl AsRef<[u8]>) -> Bytes {
    request("POST", path, fields, body)
}

/// Any request whose answer ends the connection.
pub fn request(method: &str, path: &str, fields: &str, body: impl AsRef<[u8]>) -> Bytes {
    let body = body.as_ref();
    let mut bytes = format!(
        "{method} {path} HTTP/1.1\r\nHost: gate.example\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{fields}\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes.into()
}

/// A GET whose answer ends the connection.
pub fn get(path: &str, fields: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: gate.example\r\nConnection: close\r\n{fields}\r\n")
}

/// Waits until something holds, without a clock of its own.
pub async fn until(mut holds: impl FnMut() -> bool) {
    soon(async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// What takes longer than any test may is a failure.
pub async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LIMIT, future).await.unwrap()
}
