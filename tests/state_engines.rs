//! The engines `memory` and `embedded` do what every engine has to, and what only a durable one can.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::print_stdout,
    reason = "a test that fails is a test"
)]

mod state_suite;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use portcullis::state::embedded::{Embedded, Opening};
use portcullis::state::engine::OpenError;
use portcullis::state::memory::Memory;
use portcullis::state::store::{Committed, Millis, Space, Store};
use proptest::prelude::*;
use state_suite::model::{self, Model};
use state_suite::suite::{self, MINUTE, Shared, first, key};

const WINDOW: Duration = Duration::from_secs(300);
const SKEW: Duration = Duration::from_secs(30);
/// Window + 2 × skew, in milliseconds.
const HORIZON: Millis = 360_000;

fn at(now: Millis) -> Opening {
    Opening {
        now: time(now),
        window: WINDOW,
        skew: SKEW,
    }
}

fn time(millis: Millis) -> Timestamp {
    Timestamp::from_millisecond(i64::try_from(millis).unwrap()).unwrap()
}

fn shared(store: impl Store + 'static) -> Shared {
    Arc::new(store)
}

fn open(path: &Path) -> Embedded {
    Embedded::open(path, at(suite::now())).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_passes_the_suite() {
    suite::run(async |_| shared(Memory::new(None))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_passes_the_suite() {
    let directory = tempfile::tempdir().unwrap();
    suite::run(async |name| shared(open(&directory.path().join(name)))).await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn memory_does_what_the_model_does(commits in model::commits(1_000_000)) {
        run_model(&commits, || Box::new(Memory::new(None)), false)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn embedded_does_what_the_model_does_across_restarts(commits in model::commits(1_000_000)) {
        let directory = tempfile::tempdir().unwrap();
        run_model(&commits, || Box::new(open(directory.path())), true)?;
    }
}

fn run_model(
    commits: &[portcullis::state::store::Txn],
    open: impl Fn() -> Box<dyn Store>,
    restarts: bool,
) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut model = Model::default();
    let mut store = Some(open());
    for (number, txn) in commits.iter().enumerate() {
        if restarts && number % 8 == 7 {
            store = None;
        }
        let store = store.get_or_insert_with(&open);
        prop_assert_eq!(runtime.block_on(store.commit(txn.clone())), Ok(model.commit(txn)));
        if number % 5 == 4 {
            runtime.block_on(store.sweep(txn.now)).unwrap();
        }
        for key in model::keys() {
            prop_assert_eq!(
                runtime.block_on(store.get(key, txn.now)).unwrap(),
                model.get(key, txn.now)
            );
        }
        for space in [Space::Replay, Space::Idempotency] {
            let page = runtime.block_on(store.scan(space, None, 99, txn.now)).unwrap();
            prop_assert_eq!(page, model.scan(space, txn.now));
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_restart_keeps_entries_and_counts() {
    let directory = tempfile::tempdir().unwrap();
    let now = suite::now();
    let counted = |name: &str| {
        let mut txn = first(now, key(name), name.as_bytes(), now + MINUTE);
        txn.count = vec![suite::counter("n", 1, now + MINUTE, 2)];
        txn
    };
    let store = open(directory.path());
    for name in ["a", "b"] {
        assert_eq!(store.commit(counted(name)).await, Ok(Committed::Done));
    }
    drop(store);
    let store = open(directory.path());
    let found = store.get(key("a"), now).await.unwrap().unwrap();
    assert_eq!((&found.value[..], found.until), (&b"a"[..], now + MINUTE));
    assert!(matches!(
        store.commit(counted("b")).await,
        Ok(Committed::Conflict { .. })
    ));
    assert_eq!(store.commit(counted("c")).await, Ok(Committed::Full { index: 0 }));
}

#[tokio::test]
async fn the_fence_is_the_latest_issue_that_may_be_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let now = suite::now();
    // A new store remembers nothing from before: the fence is now + skew.
    let store = Embedded::open(directory.path(), at(now)).unwrap();
    assert_eq!(store.fence(), Ok(Some(time(now + 30_000))));
    let later = now + 10 * MINUTE;
    store.sweep(later).await.unwrap();
    assert_eq!(store.fence(), Ok(Some(time(later - HORIZON))));
    drop(store);
    // The clock has stepped back across the restart: what was forgotten stays inadmissible.
    let store = Embedded::open(directory.path(), at(now)).unwrap();
    assert_eq!(store.fence(), Ok(Some(time(later - HORIZON))));
    store.sweep(now).await.unwrap();
    assert_eq!(
        store.fence(),
        Ok(Some(time(later - HORIZON))),
        "a fence never goes back by itself"
    );
    drop(store);
    // A wider window makes admissible what may be forgotten already.
    let wider = Opening {
        window: 2 * WINDOW,
        ..at(later)
    };
    let store = Embedded::open(directory.path(), wider).unwrap();
    assert_eq!(store.fence(), Ok(Some(time(later + 30_000))));
    drop(store);
    let store = Embedded::open(directory.path(), at(later)).unwrap();
    assert_eq!(store.fence(), Ok(Some(time(later + 30_000))));
    drop(store);
    let fence = Embedded::reset_fence(directory.path(), at(now)).unwrap();
    assert_eq!(fence, time(now + 30_000));
    assert_eq!(
        Embedded::open(directory.path(), at(now)).unwrap().fence(),
        Ok(Some(fence))
    );
}

#[test]
fn a_second_process_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let second = Embedded::open(directory.path(), at(suite::now()));
    assert!(matches!(second, Err(OpenError::InUse { .. })), "{second:?}");
    drop(store);
    open(directory.path());
}

#[test]
fn a_newer_format_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()));
    let format = directory.path().join("store/format");
    let text = std::fs::read_to_string(&format).unwrap();
    std::fs::write(&format, text.replace("state 1", "state 2")).unwrap();
    let opened = Embedded::open(directory.path(), at(suite::now()));
    assert!(matches!(opened, Err(OpenError::Foreign(_))), "{opened:?}");
}

#[test]
fn a_store_that_was_being_made_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(directory.path().join("new/db")).unwrap();
    std::fs::write(directory.path().join("new/db/0.jnl"), "half").unwrap();
    open(directory.path());
}
