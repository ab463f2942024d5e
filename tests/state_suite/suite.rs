//! What every engine has to do, scenario by scenario; each gets a store of its own that nobody else uses.
//!
//! Times are around the real one, and everything ends in the future of it, so that an engine whose server removes
//! entries by itself sees nothing end early. Later is told by the `now` of a call.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use portcullis::clock::Clock;
use portcullis::state::store::{COUNT_STEP, Committed, Count, Entry, Expect, FOREVER, Key, Millis, Space, Store, Txn};

/// A store as the gateway holds it.
pub type Shared = Arc<dyn Store>;

type Scenario = fn(Shared) -> Pin<Box<dyn Future<Output = ()> + Send>>;

macro_rules! scenarios {
    ($($name:ident),* $(,)?) => {
        /// Every scenario and its name.
        pub const SCENARIOS: &[(&str, Scenario)] = &[$((stringify!($name), |store| Box::pin($name(store)))),*];
    };
}

scenarios![
    the_first_expectation_that_fails_decides,
    nothing_of_a_refused_commit_happens,
    an_entry_is_live_before_its_end_and_not_at_it,
    a_put_replaces_and_a_delete_removes,
    a_value_keeps_its_bytes,
    bounds_are_judged_with_the_entry,
    counts_of_one_commit_add_up,
    what_ends_counts_no_more,
    what_was_taken_back_counts_no_more,
    pages_follow_each_other,
    spaces_do_not_mix,
    one_of_many_gets_the_key,
    many_do_not_pass_a_bound,
    a_sweep_takes_what_ended_only,
    an_entry_written_anew_survives_its_first_end,
];

/// Runs every scenario, each with a fresh store.
pub async fn run<F: Future<Output = Shared>>(fresh: impl Fn(&'static str) -> F) {
    for (name, scenario) in SCENARIOS {
        println!("{name}");
        scenario(fresh(name).await).await;
    }
}

/// The real time.
pub fn now() -> Millis {
    u64::try_from(Clock::system().now().as_millisecond()).unwrap()
}

pub const MINUTE: Millis = 60_000;

pub fn key(name: &str) -> Key {
    Key::of(Space::Replay, &[name.as_bytes()])
}

pub fn entry(key: Key, value: &[u8], until: Millis) -> Entry {
    Entry {
        key,
        value: Bytes::copy_from_slice(value),
        until,
    }
}

pub fn counter(name: &str, add: i64, until: Millis, max: u64) -> Count {
    Count {
        key: Key::of(Space::Count, &[name.as_bytes()]),
        add,
        until,
        max,
    }
}

/// A commit at `now` that writes an entry where there is none.
pub fn first(now: Millis, key: Key, value: &[u8], until: Millis) -> Txn {
    Txn {
        now,
        expect: vec![Expect::Absent(key)],
        put: vec![entry(key, value, until)],
        ..Txn::default()
    }
}

async fn done(store: &Shared, txn: Txn) {
    assert_eq!(store.commit(txn).await, Ok(Committed::Done));
}

async fn value(store: &Shared, key: Key, now: Millis) -> Option<Bytes> {
    store.get(key, now).await.unwrap().map(|entry| entry.value)
}

async fn the_first_expectation_that_fails_decides(store: Shared) {
    let now = now();
    let (a, b, c) = (key("a"), key("b"), key("c"));
    done(&store, first(now, a, b"one", now + MINUTE)).await;
    done(&store, first(now, b, b"two", now + MINUTE)).await;
    let equals = |key, value: &[u8]| Expect::Equals(key, Bytes::copy_from_slice(value));
    let conflict = |index, current: Option<&[u8]>| Committed::Conflict {
        index,
        current: current.map(Bytes::copy_from_slice),
    };
    for (expect, committed) in [
        (vec![Expect::Absent(c), Expect::Absent(a)], conflict(1, Some(b"one"))),
        (vec![Expect::Absent(b), Expect::Absent(a)], conflict(0, Some(b"two"))),
        (vec![equals(a, b"one"), equals(b, b"three")], conflict(1, Some(b"two"))),
        (vec![equals(c, b"")], conflict(0, None)),
        (vec![equals(a, b"")], conflict(0, Some(b"one"))),
        (
            vec![equals(a, b"one"), equals(b, b"two"), Expect::Absent(c)],
            Committed::Done,
        ),
    ] {
        let txn = Txn {
            now,
            expect: expect.clone(),
            ..Txn::default()
        };
        assert_eq!(store.commit(txn).await, Ok(committed), "{expect:?}");
    }
}

async fn nothing_of_a_refused_commit_happens(store: Shared) {
    let now = now();
    let (a, b) = (key("a"), key("b"));
    done(&store, first(now, a, b"one", now + MINUTE)).await;
    let half = Txn {
        now,
        expect: vec![Expect::Absent(b), Expect::Absent(a)],
        count: vec![counter("n", 1, now + MINUTE, 1)],
        put: vec![entry(b, b"", now + MINUTE)],
        delete: vec![a],
    };
    assert!(matches!(
        store.commit(half.clone()).await,
        Ok(Committed::Conflict { index: 1, .. })
    ));
    let full = Txn {
        expect: vec![Expect::Absent(b)],
        count: vec![counter("n", 1, now + MINUTE, 1), counter("m", 1, now + MINUTE, 0)],
        ..half
    };
    assert_eq!(store.commit(full).await, Ok(Committed::Full { index: 1 }));
    assert_eq!(value(&store, a, now).await.as_deref(), Some(&b"one"[..]));
    assert_eq!(value(&store, b, now).await, None);
    let counted = Txn {
        now,
        count: vec![counter("n", 1, now + MINUTE, 1)],
        ..Txn::default()
    };
    assert_eq!(
        store.commit(counted.clone()).await,
        Ok(Committed::Done),
        "nothing was counted before"
    );
    assert_eq!(store.commit(counted).await, Ok(Committed::Full { index: 0 }));
}

async fn an_entry_is_live_before_its_end_and_not_at_it(store: Shared) {
    let now = now();
    let end = now + MINUTE;
    let a = key("a");
    done(&store, first(now, a, b"one", end)).await;
    assert_eq!(store.get(a, end - 1).await.unwrap(), Some(entry(a, b"one", end)));
    assert_eq!(store.get(a, end).await.unwrap(), None);
    assert_eq!(store.scan(Space::Replay, None, 9, end - 1).await.unwrap().len(), 1);
    assert_eq!(store.scan(Space::Replay, None, 9, end).await.unwrap(), []);
    let again = |now| first(now, a, b"two", end + MINUTE);
    assert!(matches!(
        store.commit(again(end - 1)).await,
        Ok(Committed::Conflict { .. })
    ));
    done(&store, again(end)).await;
    assert_eq!(value(&store, a, end).await.as_deref(), Some(&b"two"[..]));
    let b = key("b");
    done(&store, first(now, b, b"", FOREVER)).await;
    assert_eq!(
        store.get(b, FOREVER - 1).await.unwrap().map(|entry| entry.until),
        Some(FOREVER)
    );
}

async fn a_put_replaces_and_a_delete_removes(store: Shared) {
    let now = now();
    let a = key("a");
    for text in [&b"one"[..], b"", &[7; 48], &[8; 49], &[9; 5_000], b"last"] {
        let put = Txn {
            now,
            put: vec![entry(a, text, now + MINUTE)],
            ..Txn::default()
        };
        done(&store, put).await;
        assert_eq!(value(&store, a, now).await.as_deref(), Some(text));
    }
    let delete = Txn {
        now,
        delete: vec![a, key("never there")],
        ..Txn::default()
    };
    done(&store, delete).await;
    assert_eq!(value(&store, a, now).await, None);
    done(&store, first(now, a, b"", now + MINUTE)).await;
}

async fn a_value_keeps_its_bytes(store: Shared) {
    let now = now();
    let mut texts = vec![
        vec![0; 3],
        (0..=255).collect::<Vec<u8>>(),
        b"' \\ \r\n \0 \xff $1".to_vec(),
    ];
    texts.push((0..70_000_u32).flat_map(u32::to_be_bytes).collect());
    for (number, text) in texts.iter().enumerate() {
        let key = Key::of(Space::Idempotency, &[&[u8::try_from(number).unwrap()]]);
        done(&store, first(now, key, text, now + MINUTE)).await;
        assert_eq!(value(&store, key, now).await.as_deref(), Some(&text[..]));
        let same = Txn {
            now,
            expect: vec![Expect::Equals(key, Bytes::copy_from_slice(text))],
            ..Txn::default()
        };
        done(&store, same).await;
    }
}

async fn bounds_are_judged_with_the_entry(store: Shared) {
    let now = now();
    let admit = |number: usize| {
        let mut txn = first(now, key(&number.to_string()), b"", now + MINUTE);
        txn.count = vec![
            counter("all", 1, now + MINUTE, 5),
            counter(if number < 3 { "few" } else { "many" }, 1, now + MINUTE, 3),
        ];
        txn
    };
    for number in 0..5 {
        done(&store, admit(number)).await;
    }
    assert_eq!(store.commit(admit(5)).await, Ok(Committed::Full { index: 0 }));
    assert!(
        matches!(store.commit(admit(0)).await, Ok(Committed::Conflict { .. })),
        "expectations come first"
    );
    let mut wider = admit(5);
    for count in &mut wider.count {
        count.max = if count.max == 5 { 6 } else { 2 };
    }
    assert_eq!(
        store.commit(wider).await,
        Ok(Committed::Full { index: 1 }),
        "a bound is what the commit says"
    );
    let less = Txn {
        now,
        count: vec![counter("all", -1, now + MINUTE, 0)],
        ..Txn::default()
    };
    done(&store, less).await;
    done(&store, admit(5)).await;
}

async fn counts_of_one_commit_add_up(store: Shared) {
    let now = now();
    let txn = |adds: &[i64]| Txn {
        now,
        count: adds.iter().map(|add| counter("n", *add, now + MINUTE, 10)).collect(),
        ..Txn::default()
    };
    assert_eq!(store.commit(txn(&[6, 5])).await, Ok(Committed::Full { index: 1 }));
    done(&store, txn(&[6, 4])).await;
    assert_eq!(store.commit(txn(&[1, -1])).await, Ok(Committed::Full { index: 0 }));
    done(&store, txn(&[-1, 1])).await;
    assert_eq!(store.commit(txn(&[1])).await, Ok(Committed::Full { index: 0 }));
}

async fn what_ends_counts_no_more(store: Shared) {
    let now = now();
    let at = |now, until| Txn {
        now,
        count: vec![counter("n", 1, until, 2)],
        ..Txn::default()
    };
    let end = now + MINUTE;
    done(&store, at(now, end)).await;
    done(&store, at(now, end + 10 * MINUTE)).await;
    assert_eq!(
        store.commit(at(end - 1, end + MINUTE)).await,
        Ok(Committed::Full { index: 0 })
    );
    done(&store, at(end + COUNT_STEP, end + MINUTE)).await;
    let later = end + COUNT_STEP;
    assert_eq!(
        store.commit(at(later, later + MINUTE)).await,
        Ok(Committed::Full { index: 0 })
    );
}

async fn what_was_taken_back_counts_no_more(store: Shared) {
    let now = now();
    let add = |name, add, until| Txn {
        now,
        count: vec![counter(name, add, until, 2)],
        ..Txn::default()
    };
    done(&store, add("n", 2, now + MINUTE)).await;
    done(&store, add("n", -2, now + MINUTE)).await;
    done(&store, add("n", 2, now + 2 * MINUTE)).await;
    assert_eq!(
        store.commit(add("n", 1, FOREVER)).await,
        Ok(Committed::Full { index: 0 })
    );
    done(&store, add("m", 2, FOREVER)).await;
    done(&store, add("m", -1, FOREVER)).await;
    done(&store, add("m", 1, now + MINUTE)).await;
    assert_eq!(
        store.commit(add("m", 1, now + MINUTE)).await,
        Ok(Committed::Full { index: 0 })
    );
}

async fn pages_follow_each_other(store: Shared) {
    let now = now();
    let mut written = BTreeMap::new();
    for number in 0..60_u8 {
        let key = Key::of(Space::Idempotency, &[&[number]]);
        let until = if number % 3 == 0 { now + 1_000 } else { now + MINUTE };
        done(&store, first(now, key, &[number], until)).await;
        if number % 3 != 0 {
            written.insert(key.id, number);
        }
    }
    let mut read = Vec::new();
    let mut after = None;
    loop {
        let page = store.scan(Space::Idempotency, after, 7, now + 1_000).await.unwrap();
        assert!(page.len() <= 7);
        let Some(last) = page.last() else { break };
        after = Some(last.key.id);
        read.extend(page.into_iter().map(|entry| (entry.key.id, entry.value[0])));
    }
    assert_eq!(read, written.into_iter().collect::<Vec<_>>());
    assert_eq!(store.scan(Space::Idempotency, None, 0, now).await.unwrap(), []);
    assert_eq!(store.scan(Space::Answered, None, 7, now).await.unwrap(), []);
}

async fn spaces_do_not_mix(store: Shared) {
    let now = now();
    let id = key("a").id;
    let spaces = [
        Space::Replay,
        Space::Idempotency,
        Space::Answered,
        Space::Proof,
        Space::Meta,
    ];
    for space in spaces {
        done(
            &store,
            first(now, Key { space, id }, space.name().as_bytes(), now + MINUTE),
        )
        .await;
    }
    for space in spaces {
        let found = store.scan(space, None, 9, now).await.unwrap();
        assert_eq!(found, [entry(Key { space, id }, space.name().as_bytes(), now + MINUTE)]);
    }
}

async fn one_of_many_gets_the_key(store: Shared) {
    let now = now();
    for round in 0..10_u8 {
        // Two keys in either order: nobody waits for ever, nobody gets half.
        let (a, b) = (
            Key::of(Space::Replay, &[&[round], b"a"]),
            Key::of(Space::Idempotency, &[&[round], b"b"]),
        );
        let tasks: Vec<_> = (0..16_u8)
            .map(|task| {
                let store = store.clone();
                tokio::spawn(async move {
                    let keys = if task % 2 == 0 { [a, b] } else { [b, a] };
                    let txn = Txn {
                        now,
                        expect: keys.map(Expect::Absent).to_vec(),
                        put: keys.map(|key| entry(key, &[task], now + MINUTE)).to_vec(),
                        ..Txn::default()
                    };
                    store.commit(txn).await.unwrap() == Committed::Done
                })
            })
            .collect();
        let mut winners = Vec::new();
        for (number, task) in tasks.into_iter().enumerate() {
            if task.await.unwrap() {
                winners.push(u8::try_from(number).unwrap());
            }
        }
        assert_eq!(winners.len(), 1, "{winners:?}");
        for key in [a, b] {
            assert_eq!(value(&store, key, now).await.as_deref(), Some(&winners[..]));
        }
    }
}

async fn many_do_not_pass_a_bound(store: Shared) {
    let now = now();
    let tasks: Vec<_> = (0..40_u8)
        .map(|task| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut txn = first(now, Key::of(Space::Replay, &[&[task]]), b"", now + MINUTE);
                txn.count = vec![counter("n", 1, now + MINUTE, 17)];
                store.commit(txn).await.unwrap()
            })
        })
        .collect();
    let mut all = 0;
    for task in tasks {
        match task.await.unwrap() {
            Committed::Done => all += 1,
            Committed::Full { index: 0 } => {}
            other @ (Committed::Full { .. } | Committed::Conflict { .. }) => panic!("{other:?}"),
        }
    }
    assert_eq!(all, 17);
    assert_eq!(store.scan(Space::Replay, None, 99, now).await.unwrap().len(), 17);
}

async fn a_sweep_takes_what_ended_only(store: Shared) {
    let now = now();
    for number in 0..40_u8 {
        let until = if number % 2 == 0 {
            now + 1_000
        } else {
            now + 10 * MINUTE
        };
        done(&store, first(now, Key::of(Space::Proof, &[&[number]]), b"", until)).await;
    }
    store.sweep(now + 1_000).await.unwrap();
    store.sweep(now + 1_000).await.unwrap();
    assert_eq!(store.scan(Space::Proof, None, 99, now + 1_000).await.unwrap().len(), 20);
    for number in 0..40_u8 {
        let live = store
            .get(Key::of(Space::Proof, &[&[number]]), now + 1_000)
            .await
            .unwrap();
        assert_eq!(live.is_some(), number % 2 == 1);
    }
}

async fn an_entry_written_anew_survives_its_first_end(store: Shared) {
    let now = now();
    let a = key("a");
    done(&store, first(now, a, b"one", now + 1_000)).await;
    let longer = Txn {
        now,
        put: vec![entry(a, b"two", now + 10 * MINUTE)],
        ..Txn::default()
    };
    done(&store, longer).await;
    store.sweep(now + 2_000).await.unwrap();
    assert_eq!(value(&store, a, now + 2_000).await.as_deref(), Some(&b"two"[..]));
    store.sweep(now + 10 * MINUTE).await.unwrap();
    assert_eq!(value(&store, a, now + 10 * MINUTE).await, None);
}
