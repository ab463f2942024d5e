//! What strangers may take up, and what a store that forgot may not be asked.

use super::*;

/// A sender whom nobody proved can take a new name for every message, and has a share by each.
#[tokio::test]
async fn senders_that_are_not_proven_leave_room_for_those_who_are() {
    let store = memory();
    let sent = |number: u64, is_proven: bool| {
        with(plan(&format!("k{number}"), &format!("m{number}")), |plan| {
            plan.bounds.replay.max = 10;
            plan.bounds.replay.per_sender_max = 2;
            plan.bounds.idempotency.max = 10;
            if !is_proven {
                keyed(plan).reuse = Reuse::Nobody;
                let id = plan.id.as_mut().unwrap();
                id.share = scope::share(Who::Nobody, "", &number.to_string());
                id.is_proven = false;
            }
        })
    };
    for number in 0..8 {
        let ticket = run(&store, sent(number, false)).await;
        // What was not sent takes no place.
        ticket.withdraw(at(0)).await.unwrap();
        drop(run(&store, sent(number, false)).await);
    }
    assert_eq!(says(&store, sent(8, false)).await, Err(Rule::StateFull));
    for number in 8..10 {
        assert_eq!(says(&store, sent(number, true)).await, Ok("runs".to_owned()));
    }
    assert_eq!(says(&store, sent(10, true)).await, Err(Rule::ReplayShare));
}

/// What a store has forgotten may have been used: a proof from before its fence is not taken.
#[tokio::test]
async fn a_proof_from_before_the_fence_is_not_taken() {
    let keeper = crate::state::Keeper::over(Arc::new(Memory::new(Some(at(0)))));
    for (issued, wanted) in [(-1, Err(Rule::AuthDpop)), (0, Err(Rule::AuthDpop)), (1, Ok(()))] {
        let read = with(plan("k", "m"), |plan| {
            plan.key = None;
            plan.id = None;
            plan.now = at(2);
            plan.proof = Some(OneUse::dpop("p", "key", "j", at(issued), at(60)));
        });
        let looked = keeper.look(&read, PATIENCE).await;
        assert_eq!(looked.map(|_| ()).map_err(|finding| finding.rule), wanted, "{issued}");
        let admitted = keeper.admit(read, PATIENCE).await;
        assert_eq!(admitted.map(|_| ()).map_err(|finding| finding.rule), wanted, "{issued}");
    }
}

/// Otherwise strangers use up the room for the answers of those who can ask for theirs again.
#[tokio::test]
async fn the_body_of_an_answer_that_nobody_gets_takes_no_room() {
    let store = memory();
    let small = |key: &str, reuse| {
        with(plan(key, key), |plan| {
            plan.bounds.idempotency.max_bytes = 4;
            keyed(plan).reuse = reuse;
        })
    };
    for (key, reuse) in [("k", Reuse::Nobody), ("l", Reuse::Presenter)] {
        let ticket = run(&store, small(key, reuse)).await;
        ticket.finish(answer("four"), at(1)).await.unwrap();
    }
    let said = says(&store, small("l", Reuse::Presenter)).await;
    assert_eq!(said, Ok("four".to_owned()));
}
