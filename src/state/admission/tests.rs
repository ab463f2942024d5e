//! The admit commit over the memory engine, step by step, and against a model.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use jiff::Timestamp;

mod model;
mod room;
mod trying;

use trying::{FAILS, FAILS_AFTER, HANGS_ONCE, Trying, WORKS};

use super::*;
use crate::policy::{Idempotency, Replay};
use crate::state::memory::Memory;
use crate::state::plan::Bounds;
use crate::state::scope::{Named, Who};
use crate::state::store::Millis;

const PATIENCE: Duration = Duration::from_secs(2);

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_780_000_000 + seconds).unwrap()
}

fn later(seconds: u64) -> Millis {
    millis(at(0)) + seconds * 1_000
}

/// A message of a presenter with this key and id, of which the rest is the same.
fn plan(key: &str, id: &str) -> Plan {
    let named = Named {
        tenant: "t",
        sender: "a",
        id,
        target: "b",
    };
    let who = Who::Presenter("p");
    Plan {
        now: at(0),
        proof: None,
        key: Some(Keyed {
            key: scope::idempotency(who, "r", key, [1; 16]),
            fingerprint: [1; 16],
            until: later(86_400),
            lease: later(60),
            reuse: Reuse::Presenter,
        }),
        id: Some(Id {
            key: scope::replay(who, &named, [2; 16]),
            share: scope::share(who, "t", "a"),
            is_proven: true,
            until: later(360),
        }),
        digest: [2; 16],
        owner: [3; 8],
        issued: None,
        bounds: Bounds {
            replay: Replay::default(),
            idempotency: Idempotency::default(),
            skew: Duration::from_secs(30),
        },
    }
}

fn with(mut plan: Plan, change: impl FnOnce(&mut Plan)) -> Plan {
    change(&mut plan);
    plan
}

fn keyed(plan: &mut Plan) -> &mut Keyed {
    plan.key.as_mut().unwrap()
}

fn jti(name: &str) -> Option<OneUse> {
    Some(OneUse::dpop("p", "key", name, at(0), at(60)))
}

fn answer(body: &'static str) -> Answer {
    Answer::of(200, &HeaderMap::new(), &Bytes::from_static(body.as_bytes()), 1_000)
}

type Store2 = Arc<dyn Store>;

async fn run(store: &Store2, plan: Plan) -> Ticket {
    match admit(store, plan, PATIENCE).await {
        Ok(Admitted::Run(ticket)) => *ticket,
        other => panic!("{other:?}"),
    }
}

/// The rule that refuses, or what the stored answer says.
async fn says(store: &Store2, plan: Plan) -> Result<String, Rule> {
    match admit(store, plan, PATIENCE).await {
        Ok(Admitted::Run(_)) => Ok("runs".to_owned()),
        Ok(Admitted::Replayed(answer)) => Ok(String::from_utf8(answer.body.unwrap_or_default().to_vec()).unwrap()),
        Err(finding) => Err(finding.rule),
    }
}

fn memory() -> Store2 {
    Arc::new(Memory::new(None))
}

#[tokio::test]
async fn a_new_message_is_one_commit_and_its_end_another() {
    let trying = Trying::new();
    let store: Store2 = trying.clone();
    let ticket = run(&store, with(plan("k", "m"), |plan| plan.proof = jti("j"))).await;
    assert_eq!(trying.commits.load(Ordering::Acquire), 1);
    ticket.finish(answer("done"), at(1)).await.unwrap();
    assert_eq!(trying.commits.load(Ordering::Acquire), 2);
}

/// Contract §8: proof, key, id; the first that matches decides.
#[tokio::test]
async fn the_order_is_proof_key_id() {
    let store = memory();
    let first = with(plan("k", "m"), |plan| plan.proof = jti("j"));
    let _running = run(&store, first).await;
    let other = |plan: &mut Plan| keyed(plan).fingerprint = [9; 16];
    assert_eq!(
        says(
            &store,
            with(plan("k", "m"), |plan| {
                plan.proof = jti("j");
                other(plan);
            })
        )
        .await,
        Err(Rule::AuthDpop)
    );
    assert_eq!(
        says(&store, with(plan("k", "m"), other)).await,
        Err(Rule::IdempotencyConflict)
    );
    assert_eq!(says(&store, plan("k", "m")).await, Err(Rule::IdempotencyInFlight));
    assert_eq!(says(&store, plan("l", "m")).await, Err(Rule::ReplaySeen));
    assert_eq!(says(&store, plan("l", "n")).await, Ok("runs".to_owned()));
}

#[tokio::test]
async fn nothing_is_written_by_a_refusal_of_step_2_or_4() {
    let store = memory();
    let _running = run(&store, plan("k", "m")).await;
    for (key, fingerprint) in [("k", [9; 16]), ("l", [1; 16])] {
        let refused = with(plan(key, "m"), |plan| {
            plan.proof = jti("j");
            keyed(plan).fingerprint = fingerprint;
        });
        assert!(says(&store, refused).await.is_err());
    }
    // Neither the proof nor the key was spent.
    let next = with(plan("l", "n"), |plan| plan.proof = jti("j"));
    assert_eq!(says(&store, next).await, Ok("runs".to_owned()));
}

#[tokio::test]
async fn a_proven_presenter_gets_the_stored_answer_and_spends_its_proof() {
    let store = memory();
    let ticket = run(&store, plan("k", "m")).await;
    ticket.finish(answer("done"), at(1)).await.unwrap();
    for _ in 0..2 {
        assert_eq!(says(&store, plan("k", "m")).await, Ok("done".to_owned()));
    }
    let retry = with(plan("k", "m"), |plan| plan.proof = jti("j"));
    assert_eq!(says(&store, retry.clone()).await, Ok("done".to_owned()));
    assert_eq!(says(&store, retry).await, Err(Rule::AuthDpop));
}

#[tokio::test]
async fn a_signer_gets_the_stored_answer_once_for_each_message_issued_anew() {
    let store = memory();
    let signed = |digest| {
        with(plan("k", "m"), |plan| {
            keyed(plan).reuse = Reuse::NewMessage;
            plan.digest = [digest; 16];
        })
    };
    run(&store, signed(1))
        .await
        .finish(answer("done"), at(1))
        .await
        .unwrap();
    assert_eq!(says(&store, signed(1)).await, Err(Rule::ReplaySeen));
    assert_eq!(says(&store, signed(2)).await, Ok("done".to_owned()));
    assert_eq!(says(&store, signed(2)).await, Err(Rule::ReplaySeen));
    assert_eq!(says(&store, signed(3)).await, Ok("done".to_owned()));
    // It counts as a message of its sender.
    let bounded = with(signed(4), |plan| plan.bounds.replay.per_sender_max = 3);
    assert_eq!(says(&store, bounded).await, Err(Rule::ReplayShare));
}

#[tokio::test]
async fn nobody_gets_a_stored_answer_without_proof() {
    let store = memory();
    let unproven = || with(plan("k", "m"), |plan| keyed(plan).reuse = Reuse::Nobody);
    run(&store, unproven())
        .await
        .finish(answer("done"), at(1))
        .await
        .unwrap();
    for digest in [2, 7] {
        let copy = with(unproven(), |plan| plan.digest = [digest; 16]);
        assert_eq!(says(&store, copy).await, Err(Rule::ReplaySeen));
    }
}

#[tokio::test]
async fn a_run_whose_lease_has_passed_is_unknown_and_never_free() {
    let store = memory();
    drop(run(&store, plan("k", "m")).await);
    let then = |seconds| {
        with(plan("k", "n"), |plan| {
            plan.now = at(seconds);
            plan.proof = jti("j");
        })
    };
    assert_eq!(says(&store, then(59)).await, Err(Rule::IdempotencyInFlight));
    // The answer spent the proof.
    assert_eq!(says(&store, then(59)).await, Err(Rule::AuthDpop));
    for seconds in [60, 86_399] {
        let late = with(then(seconds), |plan| plan.proof = None);
        assert_eq!(says(&store, late).await, Err(Rule::IdempotencyUnknown), "{seconds}");
    }
}

#[tokio::test]
async fn what_was_not_sent_is_free_again_but_its_proof() {
    let store = memory();
    let bounded = || {
        with(plan("k", "m"), |plan| {
            plan.bounds.replay.max = 1;
            plan.bounds.replay.per_sender_max = 1;
            plan.bounds.idempotency.max = 1;
        })
    };
    for proof in [None, jti("j")] {
        let ticket = run(&store, with(bounded(), |plan| plan.proof = proof)).await;
        ticket.withdraw(at(1)).await.unwrap();
    }
    assert_eq!(
        says(&store, with(bounded(), |plan| plan.proof = jti("j"))).await,
        Err(Rule::AuthDpop)
    );
    let without_key = || with(bounded(), |plan| plan.key = None);
    run(&store, without_key()).await.withdraw(at(1)).await.unwrap();
    let _running = run(&store, without_key()).await;
    assert_eq!(says(&store, without_key()).await, Err(Rule::ReplaySeen));
}

#[tokio::test]
async fn a_lost_answer_is_unknown_at_once() {
    let store = memory();
    run(&store, plan("k", "m")).await.lost(at(1)).await.unwrap();
    assert_eq!(says(&store, plan("k", "n")).await, Err(Rule::IdempotencyUnknown));
}

#[tokio::test]
async fn a_bound_refuses_and_every_live_entry_stays() {
    let store = memory();
    let bounded = |number: u64, change: fn(&mut Bounds)| {
        with(plan(&format!("k{number}"), &format!("m{number}")), |plan| {
            change(&mut plan.bounds)
        })
    };
    type Case = (fn(&mut Bounds), Rule);
    let cases: [Case; 3] = [
        (|bounds| bounds.replay.per_sender_max = 20, Rule::ReplayShare),
        (|bounds| bounds.replay.max = 20, Rule::StateFull),
        (|bounds| bounds.idempotency.max = 20, Rule::StateFull),
    ];
    for number in 0..20 {
        drop(run(&store, bounded(number, |_| {})).await);
    }
    for (change, rule) in cases {
        for number in 20..200 {
            assert_eq!(says(&store, bounded(number, change)).await, Err(rule));
        }
    }
    for number in 0..20 {
        assert_eq!(
            says(&store, bounded(number, |_| {})).await,
            Err(Rule::IdempotencyInFlight),
            "{number}"
        );
    }
    // When their time has passed there is room again.
    let then = with(bounded(300, |bounds| bounds.replay.max = 20), |plan| {
        plan.now = at(400);
        plan.id.as_mut().unwrap().until = later(760);
    });
    assert_eq!(says(&store, then).await, Ok("runs".to_owned()));
}

#[tokio::test]
async fn proofs_have_bounds_of_their_own() {
    let store = memory();
    let read = |name| {
        with(plan("k", "m"), |plan| {
            plan.key = None;
            plan.id = None;
            plan.proof = jti(name);
            plan.bounds.replay.per_sender_max = 2;
        })
    };
    assert_eq!(says(&store, read("1")).await, Ok("runs".to_owned()));
    assert_eq!(says(&store, read("1")).await, Err(Rule::AuthDpop));
    assert_eq!(says(&store, read("2")).await, Ok("runs".to_owned()));
    assert_eq!(says(&store, read("3")).await, Err(Rule::ReplayShare));
}

#[tokio::test]
async fn without_room_for_bodies_the_digest_is_stored() {
    let store = memory();
    let small = |key: &str| with(plan(key, key), |plan| plan.bounds.idempotency.max_bytes = 6);
    for (key, kept) in [("k", true), ("l", false)] {
        run(&store, small(key))
            .await
            .finish(answer("four"), at(1))
            .await
            .unwrap();
        match admit(&store, small(key), PATIENCE).await {
            Ok(Admitted::Replayed(answer)) => {
                assert_eq!((answer.status, answer.body.is_some()), (200, kept));
                assert_eq!(answer.fields.contains_key("repr-digest"), !kept);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_store_that_fails_admits_nothing_and_what_it_did_is_undone() {
    for does in [FAILS, FAILS_AFTER] {
        let trying = Trying::new();
        let store: Store2 = trying.clone();
        trying.does(does);
        assert_eq!(says(&store, plan("k", "m")).await, Err(Rule::StateUnavailable));
        while trying.commits.load(Ordering::Acquire) < 2 {
            tokio::task::yield_now().await;
        }
        trying.does(WORKS);
        assert_eq!(says(&store, plan("k", "m")).await, Ok("runs".to_owned()), "{does}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_in_time_admits_nothing_and_a_late_commit_is_undone() {
    let trying = Trying::new();
    let store: Store2 = trying.clone();
    trying.does(HANGS_ONCE);
    assert_eq!(says(&store, plan("k", "m")).await, Err(Rule::StateUnavailable));
    trying.free.notify_one();
    while trying.commits.load(Ordering::Acquire) < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(says(&store, plan("k", "m")).await, Ok("runs".to_owned()));
}

#[tokio::test]
async fn an_answer_that_cannot_be_stored_leaves_the_outcome_unknown() {
    let trying = Trying::new();
    let store: Store2 = trying.clone();
    let ticket = run(&store, plan("k", "m")).await;
    trying.does(FAILS);
    assert!(ticket.finish(answer("done"), at(1)).await.is_err());
    trying.does(WORKS);
    assert_eq!(says(&store, plan("k", "n")).await, Err(Rule::IdempotencyInFlight));
    let then = with(plan("k", "n"), |plan| plan.now = at(60));
    assert_eq!(says(&store, then).await, Err(Rule::IdempotencyUnknown));
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_was_not_answered_is_tried_again_and_known_again() {
    let trying = Trying::new();
    let store: Store2 = trying.clone();
    let ticket = run(&store, plan("k", "m")).await;
    trying.does(FAILS_AFTER);
    assert_eq!(ticket.finish(answer("done"), at(1)).await, Ok(()));
    assert_eq!(says(&store, plan("k", "n")).await, Ok("done".to_owned()));
    let ticket = run(&store, plan("l", "o")).await;
    trying.does(FAILS_AFTER);
    assert_eq!(ticket.withdraw(at(1)).await, Ok(()));
    assert_eq!(says(&store, plan("l", "o")).await, Ok("runs".to_owned()));
}

#[tokio::test]
async fn an_entry_that_cannot_be_read_is_never_taken_for_free() {
    let store = memory();
    let first = plan("k", "m");
    let damaged = Txn {
        now: later(0),
        put: vec![Entry {
            key: first.key.unwrap().key,
            value: Bytes::from_static(b"\x11damaged"),
            until: later(60),
        }],
        ..Txn::default()
    };
    store.commit(damaged).await.unwrap();
    assert_eq!(says(&store, first).await, Err(Rule::StateUnavailable));
}

#[tokio::test]
async fn a_look_tells_the_same_and_writes_nothing() {
    let trying = Trying::new();
    let store: Store2 = trying.clone();
    let look = async |plan: Plan| match look(&store, &plan, PATIENCE).await {
        Ok(None) => Ok("runs"),
        Ok(Some(_)) => Ok("stored"),
        Err(finding) => Err(finding.rule),
    };
    let proven = || with(plan("k", "m"), |plan| plan.proof = jti("j"));
    assert_eq!(look(proven()).await, Ok("runs"));
    assert_eq!(look(proven()).await, Ok("runs"));
    let ticket = run(&store, proven()).await;
    assert_eq!(look(proven()).await, Err(Rule::AuthDpop));
    assert_eq!(look(plan("k", "m")).await, Err(Rule::IdempotencyInFlight));
    assert_eq!(look(plan("l", "m")).await, Err(Rule::ReplaySeen));
    ticket.finish(answer("done"), at(1)).await.unwrap();
    let before = trying.commits.load(Ordering::Acquire);
    assert_eq!(look(plan("k", "m")).await, Ok("stored"));
    let signed = with(plan("k", "m"), |plan| {
        keyed(plan).reuse = Reuse::NewMessage;
        plan.digest = [8; 16];
    });
    assert_eq!(look(signed.clone()).await, Ok("stored"));
    assert_eq!(trying.commits.load(Ordering::Acquire), before);
    assert_eq!(says(&store, signed.clone()).await, Ok("done".to_owned()));
    assert_eq!(look(signed).await, Err(Rule::ReplaySeen));
}

/// Two at the same instant: one runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_copies_at_once_exactly_one_runs() {
    for round in 0..50 {
        let store = memory();
        let copies: Vec<_> = (0..8)
            .map(|_| {
                let store = Arc::clone(&store);
                tokio::spawn(async move { says(&store, plan("k", "m")).await })
            })
            .collect();
        let mut ran = 0;
        for copy in copies {
            match copy.await.unwrap() {
                Ok(_) => ran += 1,
                Err(rule) => assert_eq!(rule, Rule::IdempotencyInFlight),
            }
        }
        assert_eq!(ran, 1, "{round}");
    }
}
