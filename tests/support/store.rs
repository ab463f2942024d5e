//! Short words for commits, for tests of engines.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test binary uses its part"
)]

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use portcullis::clock::Clock;
use portcullis::state::engine::Remote;
use portcullis::state::store::{Committed, Count, Entry, Expect, Key, Space, Store, Txn};

/// The time of every test, milliseconds.
pub const NOW: u64 = 1_800_000_000_000;
pub const SKEW: Duration = Duration::from_secs(30);

pub fn clock() -> Clock {
    Clock::manual(jiff::Timestamp::from_millisecond(1_800_000_000_000).unwrap())
}

/// How a server is reached, with this namespace.
pub fn named(namespace: &str, url: &str, password_file: Option<PathBuf>) -> Remote {
    Remote {
        namespace: namespace.to_owned(),
        ..remote(url, password_file, None)
    }
}

pub fn remote(url: &str, password_file: Option<PathBuf>, ca: Option<PathBuf>) -> Remote {
    Remote {
        url: url.to_owned(),
        password_file,
        ca,
        namespace: "gate_test".to_owned(),
    }
}

pub fn key(name: &str) -> Key {
    Key::of(Space::Replay, &[name.as_bytes()])
}

/// Writes an entry that is live for a minute, if there is none.
pub fn first(name: &str) -> Txn {
    Txn {
        now: NOW,
        expect: vec![Expect::Absent(key(name))],
        put: vec![Entry {
            key: key(name),
            value: Bytes::from_static(b"once"),
            until: NOW + 60_000,
        }],
        ..Txn::default()
    }
}

/// The same, counted.
pub fn counted(name: &str, max: u64) -> Txn {
    Txn {
        count: vec![Count {
            key: Key::of(Space::Count, &[b"all"]),
            add: 1,
            until: NOW + 60_000,
            max,
        }],
        ..first(name)
    }
}

pub fn taken() -> Committed {
    Committed::Conflict {
        index: 0,
        current: Some(Bytes::from_static(b"once")),
    }
}

/// Everything an engine asks of its server.
pub async fn all_that_is_asked(store: &dyn Store) {
    assert_eq!(store.commit(counted("a", 9)).await, Ok(Committed::Done));
    assert_eq!(store.commit(counted("a", 9)).await, Ok(taken()));
    let entry = store.get(key("a"), NOW).await.unwrap().unwrap();
    assert_eq!((entry.value.as_ref(), entry.until), (&b"once"[..], NOW + 60_000));
    assert_eq!(store.scan(Space::Replay, None, 9, NOW).await, Ok(vec![entry]));
    let delete = Txn {
        now: NOW,
        delete: vec![key("a")],
        ..Txn::default()
    };
    assert_eq!(store.commit(delete).await, Ok(Committed::Done));
    assert_eq!(store.get(key("a"), NOW).await, Ok(None));
    let mut later = counted("b", 1);
    later.now = NOW + 70_000;
    later.count[0].until = NOW + 130_000;
    assert_eq!(
        store.commit(later).await,
        Ok(Committed::Done),
        "what has ended counts no more"
    );
    store.sweep(NOW).await.unwrap();
    assert!(store.stats(NOW).await.unwrap().bytes.unwrap() > 0);
    assert_eq!(
        store.fence().unwrap().unwrap().as_millisecond(),
        i64::try_from(NOW).unwrap() + 30_000
    );
}

/// Many commits of one key by two processes at once: exactly one is done.
pub async fn exactly_one_is_done(one: std::sync::Arc<dyn Store>, other: std::sync::Arc<dyn Store>) {
    for round in 0..20 {
        let name = format!("race {round}");
        let mut tasks = tokio::task::JoinSet::new();
        for turn in 0..16 {
            let store = std::sync::Arc::clone(if turn % 2 == 0 { &one } else { &other });
            let txn = counted(&name, 1_000);
            tasks.spawn(async move { store.commit(txn).await.unwrap() });
        }
        let answers = tasks.join_all().await;
        assert_eq!(answers.iter().filter(|answer| **answer == Committed::Done).count(), 1);
        assert_eq!(answers.iter().filter(|answer| **answer == taken()).count(), 15);
    }
    let mut full = counted("one more", 20);
    assert_eq!(
        one.commit(full.clone()).await,
        Ok(Committed::Full { index: 0 }),
        "20 are counted"
    );
    full.count[0].max = 21;
    assert_eq!(one.commit(full).await, Ok(Committed::Done));
}

/// Prints what a commit costs, one after the other and many at once.
pub async fn measure(store: std::sync::Arc<dyn Store>) {
    let started = Clock::system().instant();
    for number in 0..500 {
        store
            .commit(counted(&format!("one {number}"), 1_000_000))
            .await
            .unwrap();
    }
    eprintln!(
        "{:?} a commit, one after the other",
        (Clock::system().instant() - started) / 500
    );
    let started = Clock::system().instant();
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..64 {
        let store = std::sync::Arc::clone(&store);
        tasks.spawn(async move {
            for number in 0..100 {
                store
                    .commit(counted(&format!("{task} {number}"), 1_000_000))
                    .await
                    .unwrap();
            }
        });
    }
    tasks.join_all().await;
    eprintln!(
        "{:?} a commit, 64 at once",
        (Clock::system().instant() - started) / 6_400
    );
}
