//! What remembering one message costs: the admit commit (id, key, two counts) of each engine.
//!
//! `cargo bench --bench state`; `STATE_ENTRIES=5000000` sets how many live entries the cost is asked to stay flat up to.
//! Prints nanoseconds and bytes, and fails where a goal is missed: 160 bytes a remembered message, and at most 1.5 times
//! the first cost at the end. `cargo test --bench state` does little and measures no time.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::arithmetic_side_effects,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a bench that cannot be set up has nothing to measure"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::Timestamp;
use portcullis::state::embedded::{Embedded, Opening};
use portcullis::state::memory::Memory;
use portcullis::state::store::{Committed, Count, Entry, Expect, Key, Space, Store, Txn};
use tokio::runtime::Runtime;

const NOW: u64 = 1_780_000_000_000;
/// Commits that are measured at a time.
const ROUND: u64 = 10_000;
/// Memory for one remembered message, at most.
const BYTES: u64 = 160;

fn main() {
    let measured = std::env::args().any(|argument| argument == "--bench");
    let asked = std::env::var("STATE_ENTRIES")
        .ok()
        .and_then(|entries| entries.parse().ok());
    // Two entries a message.
    let messages: u64 = asked.unwrap_or(if measured { 1_000_000 } else { 4_000 }) / 2;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    memory(&runtime, messages, measured);
    let directory = tempfile::tempdir().unwrap();
    embedded(&runtime, directory.path(), messages, measured);
    if measured {
        senders(&runtime, &directory.path().join("senders"));
    }
}

/// What the gateway commits to admit a message.
fn admit(number: u64) -> Txn {
    let id = number.to_be_bytes();
    let keys = [Key::of(Space::Replay, &[&id]), Key::of(Space::Idempotency, &[&id])];
    let (soon, later) = (NOW + 360_000, NOW + 86_400_000);
    let count = |name: &[u8], until| Count {
        key: Key::of(Space::Count, &[name]),
        add: 1,
        until,
        max: u64::MAX,
    };
    Txn {
        now: NOW,
        expect: keys.map(Expect::Absent).to_vec(),
        count: vec![
            count(&[u8::try_from(number % 200).unwrap()], soon),
            count(b"keys", later),
        ],
        put: vec![
            Entry {
                key: keys[0],
                value: Bytes::new(),
                until: soon,
            },
            Entry {
                key: keys[1],
                value: Bytes::from_static(&[7; 48]),
                until: later,
            },
        ],
        ..Txn::default()
    }
}

/// Time for a commit, one after the other.
fn alone(runtime: &Runtime, store: &dyn Store, from: u64, many: u64) -> Duration {
    let started = Instant::now();
    runtime.block_on(async {
        for number in from..from + many {
            assert_eq!(store.commit(admit(number)).await, Ok(Committed::Done));
        }
    });
    started.elapsed() / u32::try_from(many.max(1)).unwrap()
}

/// Many at once, each with one commit at a time.
fn together(runtime: &Runtime, store: &Arc<dyn Store>, tasks: u64, from: u64, many: u64) -> Duration {
    let started = Instant::now();
    runtime.block_on(async {
        let tasks: Vec<_> = (0..tasks)
            .map(|task| {
                let store = Arc::clone(store);
                tokio::spawn(async move {
                    for number in (from + task..from + many).step_by(usize::try_from(tasks).unwrap()) {
                        assert_eq!(store.commit(admit(number)).await, Ok(Committed::Done));
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    started.elapsed()
}

fn memory(runtime: &Runtime, messages: u64, measured: bool) {
    let before = resident();
    let store = Memory::new(None);
    let round = ROUND.min(messages / 4);
    let first = alone(runtime, &store, 0, round);
    alone(runtime, &store, round, messages - 2 * round);
    let last = alone(runtime, &store, messages - round, round);
    let known = runtime.block_on(store.stats(NOW)).unwrap().bytes.unwrap() / messages;
    let resident = resident().saturating_sub(before) / messages;
    println!(
        "memory: a commit {first:?} at first, {last:?} after {messages} messages; {known} bytes a message, {resident} resident"
    );
    // Tables of few entries have the same room for a start.
    assert!(known <= BYTES || messages < 100_000, "{known} bytes a message");
    if measured {
        assert!(resident <= BYTES, "{resident} resident bytes a message");
        flat(first, last);
    }
    let started = Instant::now();
    let removed = runtime.block_on(store.sweep(NOW + 360_000)).unwrap();
    println!("memory: {removed} removed in {:?}", started.elapsed());
    assert_eq!(removed, messages);
}

fn embedded(runtime: &Runtime, directory: &Path, messages: u64, measured: bool) {
    let path = directory.join("flat");
    let store: Arc<dyn Store> = Arc::new(open(&path));
    let round = (ROUND / 10).min(messages / 4);
    let first = alone(runtime, &*store, 0, round);
    let filled = together(runtime, &store, 64, round, messages - 2 * round);
    let last = alone(runtime, &*store, messages - round, round);
    let bytes = runtime.block_on(store.stats(NOW)).unwrap().bytes.unwrap();
    println!(
        "embedded: a commit alone {first:?} at first, {last:?} after {messages} messages; filled in {filled:?}; {bytes} bytes on disk"
    );
    if measured {
        flat(first, last);
    }
    drop(store);
    let started = Instant::now();
    let store = open(&path);
    println!("embedded: opened in {:?}", started.elapsed());
    let started = Instant::now();
    let removed = runtime.block_on(store.sweep(NOW + 360_000)).unwrap();
    println!("embedded: {removed} removed in {:?}", started.elapsed());
    assert_eq!(removed, messages);
}

/// What 32 senders get of either engine.
fn senders(runtime: &Runtime, path: &Path) {
    const MANY: u64 = 200_000;
    let memory: Arc<dyn Store> = Arc::new(Memory::new(None));
    let embedded: Arc<dyn Store> = Arc::new(open(path));
    for (name, store) in [("memory", memory), ("embedded", embedded)] {
        for tasks in [1, 32, 256] {
            let many = if tasks == 1 { MANY / 10 } else { MANY };
            let took = together(runtime, &store, tasks, tasks * MANY, many);
            let each = took / u32::try_from(many).unwrap();
            println!("{name}, {tasks} senders: {each:?} a commit");
        }
    }
}

fn open(path: &Path) -> Embedded {
    let opening = Opening {
        now: Timestamp::from_millisecond(i64::try_from(NOW).unwrap()).unwrap(),
        window: Duration::from_secs(300),
        skew: Duration::from_secs(30),
    };
    Embedded::open(path, opening).unwrap()
}

fn flat(first: Duration, last: Duration) {
    assert!(last <= first.mul_f64(1.5), "{first:?} at first, {last:?} at last");
}

/// Resident bytes of this process.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
