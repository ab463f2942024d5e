//! `portcullis state` as an operator meets it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails is a test"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use portcullis::clock::Clock;
use portcullis::state::embedded::{Embedded, Opening};
use portcullis::state::entry::{Fate, Stored};
use portcullis::state::store::{Committed, Entry, Key, Space, Store, Txn};
use serde_json::Value;

const SECRET: &[u8] = b"an answer of the backend";

fn policy(directory: &Path) -> PathBuf {
    let fixture = include_str!("../policies/fixture.yaml");
    let path = directory.join("gate.yaml");
    let place = directory.join("state");
    std::fs::write(
        &path,
        format!("{fixture}\nstate:\n  engine: embedded\n  path: {}\n", place.display()),
    )
    .unwrap();
    path
}

fn run(policy: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_portcullis"))
        .args(["state", "--policy"])
        .arg(policy)
        .args(arguments)
        .args(["--output", "json"])
        .output()
        .unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = std::str::from_utf8(&output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn opening(now: Timestamp) -> Opening {
    Opening {
        now,
        window: Duration::from_secs(300),
        skew: Duration::from_secs(30),
    }
}

/// A store with one message that was answered and one that has ended.
fn fill(directory: &Path) -> Embedded {
    let store = Embedded::open(&directory.join("state"), opening(Clock::system().now())).unwrap();
    let entry = |space, name: &[u8], value, until| Entry {
        key: Key::of(space, &[name]),
        value,
        until,
    };
    let stored = Stored {
        fingerprint: [1; 16],
        digest: [2; 16],
        fate: Fate::Finished(Bytes::from_static(SECRET)),
    };
    let txn = Txn {
        now: 1,
        put: vec![
            entry(Space::Replay, b"a", Bytes::new(), 4_000_000_000_000),
            entry(Space::Idempotency, b"a", stored.encode(), 4_000_000_000_000),
            entry(Space::Replay, b"b", Bytes::new(), 2),
        ],
        ..Txn::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(store.commit(txn)), Ok(Committed::Done));
    store
}

#[test]
fn a_store_is_counted_shown_and_cleaned() {
    let directory = tempfile::tempdir().unwrap();
    let policy = policy(directory.path());
    drop(fill(directory.path()));

    let stats = lines(&run(&policy, &["stats"]));
    assert_eq!(stats[0]["engine"], "embedded");
    assert_eq!(stats[0]["entries"]["replay"], 1);
    assert_eq!(stats[0]["entries"]["idempotency"], 1);
    assert!(stats[0]["fence"].is_string());

    let output = run(&policy, &["inspect"]);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(!text.contains(std::str::from_utf8(SECRET).unwrap()), "{text}");
    let entries = lines(&output);
    assert_eq!(entries.len(), 2);
    let key = entries.iter().find(|entry| entry["space"] == "idempotency").unwrap();
    assert_eq!(key["state"], "finished");
    assert_eq!(key["until"], "2096-10-02T07:06:40Z");
    assert_eq!(key["key"].as_str().unwrap().len(), 32);
    assert_eq!(
        lines(&run(&policy, &["inspect", "--space", "replay", "--limit", "9"])).len(),
        1
    );

    assert_eq!(lines(&run(&policy, &["gc"]))[0]["removed"], 1);
    assert_eq!(lines(&run(&policy, &["gc"]))[0]["removed"], 0);
}

#[test]
fn a_fence_in_the_future_is_reset() {
    let directory = tempfile::tempdir().unwrap();
    let policy = policy(directory.path());
    let wrong: Timestamp = "2090-01-01T00:00:00Z".parse().unwrap();
    drop(Embedded::open(&directory.path().join("state"), opening(wrong)).unwrap());
    let fence = |line: &Value| line["fence"].as_str().unwrap().parse::<Timestamp>().unwrap();
    assert!(fence(&lines(&run(&policy, &["stats"]))[0]) > wrong);
    let reset = fence(&lines(&run(&policy, &["reset-fence"]))[0]);
    assert!(reset < wrong);
    assert_eq!(fence(&lines(&run(&policy, &["stats"]))[0]), reset);
}

#[test]
fn a_store_that_cannot_be_looked_at_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let policy = policy(directory.path());
    let refused = |arguments: &[&str], why: &str| {
        let output = run(&policy, arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains(why), "{text}");
    };
    refused(&["stats"], "there is no store at");
    refused(&["reset-fence"], "there is no store at");
    assert!(!directory.path().join("state").exists(), "looking makes no store");
    let store = fill(directory.path());
    refused(&["inspect"], "stop the gateway that uses it first");
    drop(store);
}
