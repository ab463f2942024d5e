//! The whole gate over the engines of one process: messages a second, all new, memory against embedded.
//!
//! Senders, gate and backend share one process and its cores, so a ratio here flatters the slower engine by what senders
//! and backend cost. Rounds alternate, and the median of their ratios is told. `cargo bench --bench gateway`; as a test it
//! runs one short round.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench that fails says why"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use portcullis::app::{Running, Setup};
use portcullis::clock::Clock;
use portcullis::config;
use portcullis::record::Sink;
use portcullis::state::embedded::{Embedded, Opening};
use portcullis::state::memory::Memory;
use portcullis::state::store::Store;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const NOW: &str = "2026-05-31T18:01:00Z";
const WINDOW: Duration = Duration::from_secs(300);
const SKEW: Duration = Duration::from_secs(30);

const POLICY: &str = r"
limits: {peer_rate: 1000000, connections: 2048, in_flight: 2048}
replay: {max: 100000000, per_sender_max: 100000000}
idempotency: {max: 100000000}
ledger: best_effort
routes:
  - name: inbox
    path: /v1/messages
    method: POST
    takes: messages
    profiles: [uai.agent.final-report.v1]
    modes: [async]
    extensions: ['urn:uaix:ext:agent-communication-standard']
    integrity: declared
";

fn main() {
    let measured = std::env::args().any(|argument| argument == "--bench");
    let (rounds, length, senders): (_, _, &[usize]) = if measured {
        (7, Duration::from_millis(1500), &[32, 64, 256])
    } else {
        (1, Duration::from_millis(100), &[4])
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let directory = tempfile::tempdir().expect("a directory");
        let backend = backend().await;
        let now = NOW.parse().expect("a time");
        let opening = Opening {
            now,
            window: WINDOW,
            skew: SKEW,
        };
        let embedded = Embedded::open(directory.path(), opening).expect("a store");
        let memory = gate(Arc::new(Memory::new(None)), &backend).await;
        let durable = gate(Arc::new(embedded), &backend).await;
        for senders in senders {
            let mut ratios = Vec::new();
            let (mut slow, mut fast) = (0.0_f64, 0.0_f64);
            for round in 0..rounds {
                let (one, other) = if round % 2 == 0 {
                    let one = rate(&memory, *senders, length).await;
                    (one, rate(&durable, *senders, length).await)
                } else {
                    let other = rate(&durable, *senders, length).await;
                    (rate(&memory, *senders, length).await, other)
                };
                (fast, slow) = (fast.max(one), slow.max(other));
                ratios.push(other / one);
            }
            ratios.sort_by(f64::total_cmp);
            let median = ratios.get(ratios.len() / 2).copied().unwrap_or_default();
            println!(
                "{senders} senders: memory {fast:.0}/s, embedded {slow:.0}/s at best; embedded/memory {median:.2}"
            );
        }
    });
}

/// A gate over this store, past its fence.
async fn gate(store: Arc<dyn Store>, backend: &str) -> Running {
    let text = format!(
        "agent: {{ids: [agt_runtime.consumer]}}\nlisten: 127.0.0.1:0\nadmin: 127.0.0.1:0\nbackend: {{url: \"{backend}\"}}\n{POLICY}"
    );
    let clock = Clock::manual(NOW.parse().expect("a time"));
    let running = Running::start(Setup {
        config: config::from_text("bench.yaml", &text).expect("a policy"),
        watched: None,
        sink: Sink::file(std::fs::File::create("/dev/null").expect("nowhere")),
        clock: clock.clone(),
        store: Some(store),
    })
    .await
    .expect("a gate");
    // The clock goes on from behind the fence, or it would be unsteady.
    let behind: jiff::Timestamp = "2026-05-31T18:02:00Z".parse().expect("a time");
    clock.set(behind);
    let began = tokio::time::Instant::now();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            clock.set(behind + began.elapsed());
        }
    });
    running
}

/// New messages a second by this many senders, each waiting for its answer.
async fn rate(gate: &Running, senders: usize, length: Duration) -> f64 {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let report = include_str!("../examples/final-report.keyed.json");
    let mut report: serde_json::Value = serde_json::from_str(report).expect("an example");
    report["body"]["memory_updates_proposed"] = serde_json::json!([]);
    report["provenance"]["issued_at"] = "2026-05-31T18:01:50Z".into();
    report["message_id"] = "MESSAGE".into();
    report["delivery"]["idempotency_key"] = "KEY".into();
    let report: Arc<str> = report.to_string().into();
    let began = tokio::time::Instant::now();
    let address = gate.gate();
    let tasks: Vec<_> = (0..senders)
        .map(|_| {
            let report = Arc::clone(&report);
            tokio::spawn(async move {
                let mut stream = TcpStream::connect(address).await.expect("a connection");
                stream.set_nodelay(true).expect("a socket");
                let (mut sent, mut buffer) = (0_usize, vec![0; 4096]);
                while began.elapsed() < length {
                    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
                    let body = report
                        .replacen("MESSAGE", &format!("m{number}"), 1)
                        .replacen("KEY", &format!("k{number}"), 1);
                    let request = format!(
                        "POST /v1/messages HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                        body.len()
                    );
                    stream.write_all(request.as_bytes()).await.expect("a request");
                    let read = stream.read(&mut buffer).await.expect("an answer");
                    let answer = buffer.get(..read).unwrap_or_default();
                    assert!(
                        answer.starts_with(b"HTTP/1.1 200"),
                        "{}",
                        String::from_utf8_lossy(answer)
                    );
                    sent += 1;
                }
                sent
            })
        })
        .collect();
    let mut sent = 0;
    for task in tasks {
        sent += task.await.expect("a sender");
    }
    f64::from(u32::try_from(sent).unwrap_or(u32::MAX)) / began.elapsed().as_secs_f64()
}

/// A backend that says yes.
async fn backend() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut buffer, mut read) = (vec![0; 16 * 1024], 0);
                loop {
                    match stream.read(buffer.get_mut(read..).unwrap_or_default()).await {
                        Ok(more @ 1..) => read += more,
                        Ok(0) | Err(_) => return,
                    }
                    let seen = String::from_utf8_lossy(buffer.get(..read).unwrap_or_default()).into_owned();
                    let Some((head, body)) = seen.split_once("\r\n\r\n") else {
                        continue;
                    };
                    let length = head
                        .lines()
                        .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok())
                        .unwrap_or_default();
                    if body.len() < length {
                        continue;
                    }
                    read = 0;
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
                    if stream.write_all(answer).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    format!("http://{address}")
}
