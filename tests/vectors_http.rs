//! The published raw requests: what must be refused reaches no backend, and nothing is read in two ways.
//!
//! The routes take nearly everything, so that a request is refused for the way it is written and for nothing else.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::print_stderr,
    reason = "a test that fails is a test"
)]

mod rig;
#[path = "support/vectors.rs"]
mod vectors;

use rig::{Answer, Rig};
use serde_json::Value;
use tokio::io::AsyncWriteExt;

/// Cases run side by side, each lane with a gate and a backend of its own.
const LANES: usize = 16;

/// Cases that hyper takes although they bend the chunked coding: a blank or an empty extension after a chunk size. The
/// gate frames the body anew by its length, so nobody behind it can read it in another way.
const TAKEN: &[&str] = &["gunicorn-invalid-chunked-09", "llhttp-transfer-encoding-09"];

/// A waiting connection is given up soon; nothing is slow on loopback.
const SETTINGS: &str = "deadlines: {head: 150ms, body: 150ms, idle: 150ms}\n";

fn routes() -> String {
    let mut routes = String::new();
    for (index, path) in ["/", "/{a}", "/{a}/", "/{a}/{b}"].iter().enumerate() {
        routes.push_str(&format!(
            "  - {{name: write{index}, path: \"{path}\", method: [POST, PUT, PATCH, DELETE], takes: legacy, idempotency: none, headers: {{forward: all}}, content_type: [application/json, application/octet-stream, application/x-www-form-urlencoded, text/plain, text/xml]}}\n  - {{name: read{index}, path: \"{path}\", method: [GET, HEAD], takes: read}}\n"
        ));
    }
    routes
}

#[tokio::test]
async fn the_parser_corpus_reaches_the_backend_in_one_reading() {
    run("http1-parser", 20).await;
}

#[tokio::test]
async fn the_desync_corpus_reaches_the_backend_in_one_reading() {
    run("http1-desync", 1).await;
}

/// Runs a corpus; at least this many requests have to be forwarded, or the run proves nothing.
async fn run(name: &str, forwarded_min: usize) {
    let Some(corpus) = vectors::corpus(name) else {
        return;
    };
    let cases: Vec<(Value, Vec<u8>)> = corpus
        .cases
        .iter()
        .map(|case| (case.clone(), corpus.bytes(case, "file", "")))
        .collect();
    assert!(cases.len() > 100, "{}", cases.len());
    let lanes: Vec<_> = cases
        .chunks(cases.len().div_ceil(LANES))
        .map(|lane| tokio::spawn(play(lane.to_vec())))
        .collect();
    let mut forwarded = 0;
    let mut faults = Vec::new();
    for lane in lanes {
        let (count, found) = lane.await.unwrap();
        forwarded += count;
        faults.extend(found);
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert!(forwarded >= forwarded_min, "only {forwarded} requests were forwarded");
}

async fn play(cases: Vec<(Value, Vec<u8>)>) -> (usize, Vec<String>) {
    let rig = Rig::with(SETTINGS, &routes()).await;
    let mut faults = Vec::new();
    for (case, bytes) in &cases {
        if let Some(fault) = fault(&rig, case, bytes).await {
            faults.push(format!("{}: {fault}\n  {}", case["id"], case["what"]));
        }
    }
    (rig.backend.requests().len(), faults)
}

async fn fault(rig: &Rig, case: &Value, bytes: &[u8]) -> Option<String> {
    let (seen, recorded) = (rig.backend.requests().len(), rig.records().len());
    let reply = exchange(rig, &filled(rig, bytes)).await;
    let reached = rig.backend.requests().split_off(seen);
    // A connection that is closed without an answer is recorded when the gate notices.
    let answers = reply.text.matches("\r\nuai-verdict: ").count();
    let records = rig.records().split_off(recorded);
    let told = records.iter().filter(|record| record["verdict"] != "aborted").count();
    if told != answers {
        return Some(format!("{answers} answers, {told} records"));
    }
    let allowed = usize::try_from(case["requests"].as_u64().unwrap()).unwrap();
    let mut expected = vec![case["expected"].as_str().unwrap()];
    expected.extend(case["also"].as_array().into_iter().flatten().filter_map(Value::as_str));
    if TAKEN.iter().any(|taken| case["id"] == *taken) {
        expected = vec!["safe_forward"];
    }
    let fits = expected.iter().any(|expected| match *expected {
        "no_desync" | "safe_forward" => reached.len() <= allowed,
        "close" | "hold" => reached.is_empty(),
        reject => {
            assert!(reject.starts_with("reject_"), "{reject}");
            reached.is_empty() && (reply.status == 0 || (400..500).contains(&reply.status) || reply.status >= 501)
        }
    });
    (!fits).then(|| {
        format!(
            "expected {expected:?}, got {} and {} requests at the backend",
            reply.status,
            reached.len()
        )
    })
}

async fn exchange(rig: &Rig, bytes: &[u8]) -> Answer {
    let mut stream = rig.connect().await;
    // The gate may have answered and closed before the last byte is out.
    let _closed = stream.write_all(bytes).await;
    let mut read = Vec::new();
    let _reset = rig::soon(tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut read)).await;
    Answer::of(&read)
}

/// The bytes with their places filled; a content type is added where there is none, as no route takes a body without.
fn filled(rig: &Rig, bytes: &[u8]) -> Vec<u8> {
    let host = rig.running.gate().to_string();
    let mut bytes = bytes.to_vec();
    for (place, value) in [
        ("{{HOST}}", host.as_str()),
        ("{{PATH}}", "/p"),
        ("{{CT}}", "application/json"),
    ] {
        while let Some(at) = find(&bytes, place.as_bytes()) {
            bytes.splice(at..at + place.len(), value.bytes());
        }
    }
    let typed = find(&bytes.to_ascii_lowercase(), b"content-type").is_some();
    if !typed
        && let Some(at) = find(&bytes, b"\r\n")
        && bytes[..at].ends_with(b"HTTP/1.1")
    {
        bytes.splice(at..at, *b"\r\nContent-Type: application/json");
    }
    bytes
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
