//! A message is acted on once with the real engines behind the gate: a Redis that dies, a process that is killed, a disk
//! that is written before the backend hears anything.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::string_slice,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test that fails is a test"
)]

mod rig;
#[path = "support/servers.rs"]
mod servers;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use bytes::Bytes;
use portcullis::record::Sink;
use rig::backend::{Backend, Does};
use rig::{Answer, ROUTES, Rig, policy, post, run_over};
use servers::RedisServer;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

fn routes() -> String {
    ROUTES.replace("    idempotency: none\n", "")
}

fn order(key: &str) -> Bytes {
    post("/api/orders", &format!("Idempotency-Key: \"{key}\"\r\n"), "{}")
}

async fn asked(address: SocketAddr, bytes: impl AsRef<[u8]>) -> Answer {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes.as_ref()).await.unwrap();
    Answer::read(&mut stream).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_redis_lets_nothing_through_and_readyz_says_so() {
    let Some(mut server) = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]) else {
        return;
    };
    let backend = Backend::start().await;
    let settings = format!("state: {{engine: redis, url: \"{}\"}}\n", server.url());
    let (sink, clock) = (Sink::memory(), rig::clock());
    let text = policy(&backend.url(), &settings, &routes());
    let running = run_over(&text, sink.clone(), clock.clone(), None).await;
    let rig = Rig {
        running,
        backend,
        sink,
        clock,
    };
    let ready = async || asked(rig.running.admin(), rig::get("/readyz", "")).await;
    rig.pass(31);
    assert_eq!(rig.send(order("first")).await.status, 200);
    assert_eq!(ready().await.status, 200);
    server.kill();
    rig.refuses(order("second"), "state.unavailable", 503).await;
    let told = ready().await;
    assert_eq!(told.status, 503);
    assert!(told.text.contains("the store cannot be used"), "{}", told.text);
    server.start_again();
    rig::soon(async { while rig.send(order("third")).await.status != 200 {} }).await;
    // The first one is still remembered. Each of several connections has to notice for itself that there is a server again.
    rig::soon(async { while rig.send(order("first")).await.rule() != "replay.seen" {} }).await;
    assert_eq!(ready().await.status, 200);
    assert_eq!(rig.backend.requests().len(), 2);
}

/// `portcullis run` in a process of its own, killed when dropped.
struct Gate {
    child: Child,
    address: SocketAddr,
}

impl Gate {
    fn start(policy: &Path, before: &[&str]) -> Self {
        let program = env!("CARGO_BIN_EXE_portcullis");
        let words: Vec<&str> = before.iter().copied().chain([program, "run", "--policy"]).collect();
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .arg(policy)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = said
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| {
                let (_, rest) = line.split_once("gate on ")?;
                let rest = rest.trim_start_matches("http://");
                let end = rest.find(|letter: char| !letter.is_ascii_digit() && !".:".contains(letter));
                rest[..end.unwrap_or(rest.len())]
                    .trim_end_matches(['.', ':'])
                    .parse()
                    .ok()
            })
            .unwrap();
        std::thread::spawn(move || said.for_each(drop));
        Self { child, address }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// A policy over an embedded store in this directory.
fn embedded(directory: &Path, backend: &Backend) -> PathBuf {
    let settings = format!(
        "state: {{engine: embedded, path: \"{}\"}}\n",
        directory.join("state").display()
    );
    let path = directory.join("gate.yaml");
    std::fs::write(&path, policy(&backend.url(), &settings, &routes())).unwrap();
    path
}

/// A crash before the answer leaves the outcome unknown, one after it leaves the answer; neither lets a second one through.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_gate_sends_nothing_twice() {
    for answers in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let backend = Backend::start().await;
        let path = embedded(directory.path(), &backend);
        let gate = Gate::start(&path, &[]);
        if answers {
            assert_eq!(asked(gate.address, order("k")).await.status, 200);
        } else {
            backend.does(Does::Hang);
            let mut stream = TcpStream::connect(gate.address).await.unwrap();
            stream.write_all(&order("k")).await.unwrap();
            backend.arrived().await;
        }
        drop(gate);
        let gate = Gate::start(&path, &[]);
        for _ in 0..2 {
            let told = asked(gate.address, order("k")).await;
            let rule = if answers {
                "replay.seen"
            } else {
                "idempotency.in-flight"
            };
            assert_eq!((told.status, told.rule().as_str()), (409, rule), "{}", told.text);
        }
        assert_eq!(backend.requests().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_disk_is_synced_before_the_backend_hears_anything() {
    if Command::new("strace").arg("-V").output().is_err() {
        assert!(std::env::var("CI").is_err(), "strace is not installed");
        println!("SKIPPED: strace is not installed");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let backend = Backend::start().await;
    let path = embedded(directory.path(), &backend);
    let trace = directory.path().join("trace");
    // `-D`: the traced process is the child, so that it can be ended.
    let gate = Gate::start(
        &path,
        &[
            "strace",
            "-D",
            "-f",
            "-s",
            "200",
            "-e",
            "trace=write,writev,sendto,sendmsg,read,recvfrom,readv,fdatasync",
            "-o",
            trace.to_str().unwrap(),
        ],
    );
    for number in 0..3 {
        assert_eq!(asked(gate.address, order(&format!("k{number}"))).await.status, 200);
    }
    drop(gate);
    let told = || std::fs::read_to_string(&trace).unwrap_or_default();
    rig::until(|| told().contains("killed by SIGKILL")).await;
    let mut synced = None;
    let mut sent = 0;
    for line in told().lines() {
        let is_request = line.contains("POST /api/orders");
        let reads = [
            "read(",
            "recvfrom(",
            "readv(",
            "read resumed",
            "recvfrom resumed",
            "readv resumed",
        ];
        if is_request && reads.iter().any(|call| line.contains(call)) {
            synced = Some(false);
        } else if (line.contains("fdatasync(") || line.contains("fdatasync resumed")) && line.contains("= 0") {
            synced = synced.map(|_| true);
        } else if is_request {
            assert_eq!(synced.take(), Some(true), "sent before it was synced: {line}");
            sent += 1;
        }
    }
    assert_eq!(sent, 3);
}
