//! A message is acted on once: copies, retries, answers that are lost, a store that fails (contract §8).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that fails is a test"
)]

mod rig;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use portcullis::clock::Clock;
use portcullis::record::Sink;
use portcullis::state::memory::Memory;
use portcullis::state::store::{Committed, Entry, Key, Millis, Pending, Space, Stats, Store, StoreError, Txn};
use rig::backend::{Backend, Does, answer, ok};
use rig::{Answer, ROUTES, Rig, SETTINGS, policy, post, report, request, run_over};
use serde_json::Value;
use tokio::io::AsyncWriteExt;

/// The usual legacy route, which wants a key.
fn legacy() -> String {
    ROUTES.replace("    idempotency: none\n", "")
}

/// A report with this id and this key.
fn message(id: &str, key: &str) -> Bytes {
    message_with(id, key, |_| {})
}

fn message_with(id: &str, key: &str, change: impl FnOnce(&mut Value)) -> Bytes {
    let mut message = report();
    message["message_id"] = id.into();
    message["delivery"]["idempotency_key"] = key.into();
    change(&mut message);
    post("/v1/messages", "", rig::sealed(message).to_string())
}

/// An order with this key.
fn order(key: &str, body: &str) -> Bytes {
    post("/api/orders", &format!("Idempotency-Key: \"{key}\"\r\n"), body)
}

/// A gate with a clock that can be moved, over this store.
async fn moving(store: Arc<dyn Store>, settings: &str) -> (Rig, Clock) {
    let backend = Backend::start().await;
    let (sink, clock) = (Sink::memory(), rig::clock());
    let text = policy(&backend.url(), settings, &legacy());
    let running = run_over(&text, sink.clone(), clock.clone(), Some(store)).await;
    let rig = Rig {
        running,
        backend,
        sink,
        clock: clock.clone(),
    };
    (rig, clock)
}

fn after(clock: &Clock, seconds: i64) {
    clock.set(clock.now() + SignedDuration::from_secs(seconds));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_copies_at_the_same_instant_one_is_forwarded() {
    for bytes in [message("msg_a", "key_a"), order("k", "{}")] {
        let rig = Rig::with(SETTINGS, &legacy()).await;
        let (left, right) = tokio::join!(rig.send(&bytes), rig.send(&bytes));
        let mut statuses = [left.status, right.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "{} {}", left.text, right.text);
        let refused = if left.status == 409 { &left } else { &right };
        // The copy came while the first was running, or after it.
        let rule = refused.rule();
        assert!(
            ["idempotency.in-flight", "replay.seen"].contains(&rule.as_str()),
            "{rule}"
        );
        assert_eq!(rig.backend.requests().len(), 1);
        rig.record_count(2).await;
    }
}

#[tokio::test]
async fn a_message_is_admitted_once() {
    let rig = Rig::usual().await;
    assert_eq!(rig.send(message("msg_a", "key_a")).await.status, 200);
    // Byte for byte: nobody is proven, so there is no stored answer.
    rig.refuses(message("msg_a", "key_a"), "replay.seen", 409).await;
    // Issued anew under the same key, and under another key: a stranger cannot burn what belongs to somebody else, so
    // another digest is another message and another request.
    let anew = message_with("msg_b", "key_a", |message| {
        message["delivery"]["retry_count"] = 1.into();
    });
    rig.refuses(anew, "replay.seen", 409).await;
    assert_eq!(rig.send(message("msg_c", "key_b")).await.status, 200);
    assert_eq!(rig.backend.requests().len(), 2);
}

#[tokio::test]
async fn a_request_that_is_still_running_is_told_so() {
    let rig = Rig::with(SETTINGS, &legacy()).await;
    rig.backend.does(Does::Hang);
    let mut first = rig.connect().await;
    first.write_all(&order("k", "{}")).await.unwrap();
    rig.backend.arrived().await;
    let told = rig.refuses(order("k", "{}"), "idempotency.in-flight", 409).await;
    assert_eq!(told.header("retry-after").as_deref(), Some("1"));
    assert_eq!(told.json()["retry"]["allowed"], true);
}

#[tokio::test]
async fn an_answer_that_is_lost_leaves_the_outcome_unknown() {
    let rig = Rig::with(SETTINGS, &legacy()).await;
    rig.backend.does(Does::Drop);
    for (first, again) in [
        (order("k", "{}"), order("k", "{}")),
        (message("msg_a", "key_a"), message("msg_a", "key_a")),
    ] {
        let lost = rig.send(first).await;
        assert_eq!(
            (lost.status, lost.rule().as_str()),
            (502, "backend.lost"),
            "{}",
            lost.text
        );
        assert_eq!(lost.json()["outcome"], "unknown");
        let told = rig.refuses(again, "idempotency.unknown", 409).await;
        assert!(told.header("uai-verdict").unwrap().ends_with(";verdict=no_op"));
        assert_eq!(told.json()["retry"]["allowed"], false);
    }
}

#[tokio::test]
async fn what_was_not_sent_may_be_sent_again() {
    let (rig, _) = moving(rig::store(), SETTINGS).await;
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = nobody.local_addr().unwrap();
    drop(nobody);
    let text = policy(&format!("http://{address}"), SETTINGS, &legacy());
    let store = rig::store();
    let sink = Sink::memory();
    let broken = Rig {
        running: run_over(&text, sink.clone(), rig::clock(), Some(Arc::clone(&store))).await,
        backend: rig.backend.clone(),
        sink,
        clock: rig::clock(),
    };
    for bytes in [order("k", "{}"), message("msg_a", "key_a")] {
        for _ in 0..2 {
            let reply = broken.send(&bytes).await;
            assert_eq!((reply.status, reply.rule().as_str()), (502, "backend.unreachable"));
            assert_eq!(reply.json()["outcome"], "not_sent");
        }
        // The same store behind a gate whose backend is there.
        let text = policy(&rig.backend.url(), SETTINGS, &legacy());
        let running = run_over(&text, Sink::memory(), rig::clock(), Some(Arc::clone(&store))).await;
        let whole = Rig {
            running,
            backend: rig.backend.clone(),
            sink: Sink::memory(),
            clock: rig::clock(),
        };
        assert_eq!(whole.send(&bytes).await.status, 200);
    }
    assert_eq!(rig.backend.requests().len(), 2);
}

#[tokio::test]
async fn a_legacy_key_belongs_to_one_request() {
    let rig = Rig::with(SETTINGS, &legacy()).await;
    assert_eq!(rig.send(order("k", "{}")).await.status, 200);
    rig.refuses(order("k", "{}"), "replay.seen", 409).await;
    // Nobody is proven, so another request under the same key is another request.
    let put = request("PUT", "/api/orders", "Idempotency-Key: \"k\"\r\n", "{}");
    for other in [order("k", "{\"a\":1}"), put, order("l", "{}")] {
        assert_eq!(rig.send(other).await.status, 200);
    }
    rig.refuses(post("/api/orders", "", "{}"), "idempotency.missing", 400)
        .await;
    let rig = Rig::usual().await;
    for _ in 0..2 {
        assert_eq!(rig.send(order("k", "{}")).await.status, 200);
    }
}

#[tokio::test]
async fn a_read_is_not_remembered() {
    let rig = Rig::usual().await;
    for _ in 0..2 {
        assert_eq!(rig.send(rig::get("/v1/status/1", "")).await.status, 200);
    }
}

#[tokio::test]
async fn an_observe_route_writes_nothing_and_tells_what_would_have_been() {
    let store = rig::store();
    let backend = Backend::start().await;
    let gate = async |routes: &str| {
        let sink = Sink::memory();
        let text = policy(&backend.url(), SETTINGS, routes);
        Rig {
            running: run_over(&text, sink.clone(), rig::clock(), Some(Arc::clone(&store))).await,
            backend: backend.clone(),
            sink,
            clock: rig::clock(),
        }
    };
    let observed = ROUTES.replace("    takes: messages\n", "    takes: messages\n    mode: observe\n");
    let observing = gate(&observed).await;
    for _ in 0..2 {
        assert_eq!(observing.send(message("msg_a", "key_a")).await.status, 200);
    }
    let records = observing.record_count(2).await;
    assert!(
        records.iter().all(|record| record["would"]["verdict"] == "allow"),
        "{records:#?}"
    );
    let enforcing = gate(ROUTES).await;
    assert_eq!(enforcing.send(message("msg_a", "key_a")).await.status, 200);
    assert_eq!(observing.send(message("msg_a", "key_a")).await.status, 200);
    let record = &observing.record_count(3).await[2];
    assert_eq!(record["would"]["rule"], "replay.seen", "{record}");
    assert_eq!(record["verdict"], "observed");
    assert_eq!(backend.requests().len(), 4);
}

#[tokio::test]
async fn a_client_that_leaves_does_not_take_its_request_along() {
    let (rig, clock) = moving(rig::store(), SETTINGS).await;
    rig.backend.does(Does::Hang);
    let mut stream = rig.connect().await;
    stream.write_all(&order("k", "{}")).await.unwrap();
    rig.backend.arrived().await;
    drop(stream);
    // The request goes on, and is still the one that runs.
    rig.refuses(order("k", "{}"), "idempotency.in-flight", 409).await;
    // Its owner never comes back: when the lease has passed, nobody knows.
    after(&clock, 61);
    rig.refuses(order("k", "{}"), "idempotency.unknown", 409).await;
}

#[tokio::test]
async fn the_record_of_a_client_that_left_says_so_when_its_request_is_over() {
    let settings = format!("{SETTINGS}deadlines: {{backend: 300ms}}\n");
    let rig = Rig::with(&settings, &legacy()).await;
    rig.backend.does(Does::Hang);
    let mut stream = rig.connect().await;
    stream.write_all(&order("k", "{}")).await.unwrap();
    rig.backend.arrived().await;
    drop(stream);
    rig.backend.left().await;
    let record = rig.record().await;
    assert_eq!(record["verdict"], "aborted", "{record}");
    rig.backend.does(ok("{}"));
    rig.refuses(order("k", "{}"), "idempotency.unknown", 409).await;
}

#[tokio::test]
async fn a_flood_of_ids_is_refused_at_the_bound_and_forgets_nothing() {
    let settings = format!("{SETTINGS}replay: {{max: 20, per_sender_max: 10}}\nidempotency: {{max: 18}}\n");
    let (rig, clock) = moving(rig::store(), &settings).await;
    for number in 0..10 {
        let reply = rig
            .send(message(&format!("msg_{number}"), &format!("key_{number}")))
            .await;
        assert_eq!(reply.status, 200, "{}", reply.text);
    }
    for number in 10..30 {
        let flood = message(&format!("msg_{number}"), &format!("key_{number}"));
        let told = rig.refuses(flood, "replay.share", 429).await;
        assert_eq!(told.header("retry-after").as_deref(), Some("60"));
        assert!(told.header("ratelimit-policy").unwrap().contains("replay-share"));
    }
    for number in 0..5 {
        assert_eq!(rig.send(order(&format!("k{number}"), "{}")).await.status, 200);
    }
    for number in 5..25 {
        let told = rig.refuses(order(&format!("k{number}"), "{}"), "state.full", 503).await;
        assert!(told.header("retry-after").is_some());
    }
    for number in 0..10 {
        rig.refuses(
            message(&format!("msg_{number}"), &format!("key_{number}")),
            "replay.seen",
            409,
        )
        .await;
    }
    // A clock that goes back within the skew forgets nothing either.
    after(&clock, -20);
    rig.refuses(message("msg_0", "key_0"), "replay.seen", 409).await;
}

#[tokio::test]
async fn without_a_clock_nothing_is_remembered_and_nothing_runs() {
    let (rig, clock) = moving(rig::store(), SETTINGS).await;
    after(&clock, -31);
    rig.refuses(order("k", "{}"), "clock.unsteady", 503).await;
    after(&clock, 31);
    assert_eq!(rig.send(order("k", "{}")).await.status, 200);
}

/// A memory store that fails when it is told to.
#[derive(Debug)]
struct Failing {
    inner: Memory,
    broken: AtomicBool,
    hangs: AtomicBool,
    /// Commits that still work.
    left: AtomicU64,
}

impl Failing {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            inner: Memory::new(None),
            broken: AtomicBool::new(false),
            hangs: AtomicBool::new(false),
            left: AtomicU64::new(u64::MAX),
        })
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.broken.load(Ordering::Acquire) {
            return Err(StoreError::Unreachable("a test"));
        }
        Ok(())
    }
}

impl Store for Failing {
    fn get(&self, key: Key, now: Millis) -> Pending<'_, Option<Entry>> {
        Box::pin(async move {
            self.check()?;
            self.inner.get(key, now).await
        })
    }

    fn scan(&self, space: Space, after: Option<[u8; 16]>, limit: usize, now: Millis) -> Pending<'_, Vec<Entry>> {
        self.inner.scan(space, after, limit, now)
    }

    fn commit(&self, txn: Txn) -> Pending<'_, Committed> {
        Box::pin(async move {
            if self.hangs.load(Ordering::Acquire) {
                std::future::pending::<()>().await;
            }
            self.check()?;
            let left = self.left.load(Ordering::Acquire);
            let after = left.checked_sub(1).ok_or(StoreError::Exhausted("a test"))?;
            self.left.store(after, Ordering::Release);
            self.inner.commit(txn).await
        })
    }

    fn sweep(&self, now: Millis) -> Pending<'_, u64> {
        self.inner.sweep(now)
    }

    fn fence(&self) -> Result<Option<Timestamp>, StoreError> {
        self.inner.fence()
    }

    fn stats(&self, now: Millis) -> Pending<'_, Stats> {
        self.inner.stats(now)
    }
}

#[tokio::test]
async fn a_store_that_is_down_lets_nothing_through() {
    let store = Failing::new();
    let (rig, _) = moving(store.clone(), SETTINGS).await;
    store.broken.store(true, Ordering::Release);
    for bytes in [order("k", "{}"), message("msg_a", "key_a")] {
        let told = rig.refuses(bytes, "state.unavailable", 503).await;
        assert_eq!(told.json()["outcome"], "not_sent");
        assert!(told.header("retry-after").is_some());
    }
    // A read needs no memory.
    assert_eq!(rig.send(rig::get("/v1/status/1", "")).await.status, 200);
    store.broken.store(false, Ordering::Release);
    assert_eq!(rig.send(order("k", "{}")).await.status, 200);
}

#[tokio::test]
async fn a_store_that_never_answers_lets_nothing_through() {
    let store = Failing::new();
    // The backend's deadline is the shorter bound.
    let settings = format!("{SETTINGS}deadlines: {{backend: 100ms}}\n");
    let (rig, _) = moving(store.clone(), &settings).await;
    store.hangs.store(true, Ordering::Release);
    for bytes in [order("k", "{}"), message("msg_a", "key_a")] {
        rig.refuses(bytes, "state.unavailable", 503).await;
    }
}

#[tokio::test]
async fn a_true_answer_is_given_also_when_it_cannot_be_stored() {
    let store = Failing::new();
    let (rig, clock) = moving(store.clone(), SETTINGS).await;
    rig.backend.does(answer(201, "", "{}"));
    // The admit commit works, and no commit after it.
    store.left.store(1, Ordering::Release);
    let told = rig.send(order("k", "{}")).await;
    assert_eq!((told.status, told.body()), (201, "{}"), "{}", told.text);
    assert_eq!(rig.record().await["verdict"], "allow");
    let event = |line: &String| line.contains("\"kind\":\"unsettled\"");
    assert_eq!(rig.sink.lines().iter().filter(|line| event(line)).count(), 1);
    store.left.store(u64::MAX, Ordering::Release);
    rig.refuses(order("k", "{}"), "idempotency.in-flight", 409).await;
    after(&clock, 61);
    rig.refuses(order("k", "{}"), "idempotency.unknown", 409).await;
    assert_eq!(rig.backend.requests().len(), 1);
}

#[tokio::test]
async fn a_gate_that_began_without_a_past_says_when_it_is_ready() {
    let backend = Backend::start().await;
    let clock = rig::clock();
    let text = policy(
        &backend.url(),
        &format!("{SETTINGS}state: {{engine: memory}}\n"),
        ROUTES,
    );
    let running = run_over(&text, Sink::memory(), clock.clone(), None).await;
    let ready = async || {
        let mut stream = tokio::net::TcpStream::connect(running.admin()).await.unwrap();
        stream.write_all(rig::get("/readyz", "").as_bytes()).await.unwrap();
        Answer::read(&mut stream).await
    };
    let not_yet = ready().await;
    assert_eq!(not_yet.status, 503);
    assert!(not_yet.text.contains("restart fence"), "{}", not_yet.text);
    after(&clock, 30);
    assert_eq!(ready().await.status, 503);
    after(&clock, 1);
    assert_eq!(ready().await.status, 200);
}
