//! Random stories of admissions and their ends, against a plain table.

use std::collections::HashMap;

use jiff::SignedDuration;
use proptest::prelude::*;

use super::*;

/// A step of a random story.
#[derive(Clone, Debug)]
enum Does {
    Admit { key: u8, id: u8, fingerprint: u8 },
    Finish(usize),
    Withdraw(usize),
    Lose(usize),
    Forget(usize),
    Wait(i64),
}

fn does() -> impl Strategy<Value = Does> {
    prop_oneof![
        4 => (0_u8..3, 0_u8..4, 0_u8..2).prop_map(|(key, id, fingerprint)| Does::Admit { key, id, fingerprint }),
        1 => (0_usize..4).prop_map(Does::Finish),
        1 => (0_usize..4).prop_map(Does::Withdraw),
        1 => (0_usize..4).prop_map(Does::Lose),
        1 => (0_usize..4).prop_map(Does::Forget),
        1 => (1_i64..90).prop_map(Does::Wait),
    ]
}

/// What the model knows of a key.
#[derive(Clone, Copy, PartialEq)]
enum Told {
    Runs,
    Done,
    Lost,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever the order of events, every answer is the one that a plain table gives.
    #[test]
    fn a_plain_table_gives_the_same_answers(story in proptest::collection::vec(does(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let store = memory();
            let mut keys: HashMap<u8, (u8, Told, i64)> = HashMap::new();
            let mut ids: HashMap<u8, (i64, u8)> = HashMap::new();
            let mut open: Vec<(Ticket, u8, u8, u8)> = Vec::new();
            let mut owners = 0..=u8::MAX;
            let mut now = 0;
            for step in story {
                match step {
                    Does::Wait(seconds) => now += seconds,
                    Does::Admit { key, id, fingerprint } => {
                        let wanted = match (keys.get(&key), ids.get(&id)) {
                            (Some((other, _, _)), _) if *other != fingerprint => Err(Rule::IdempotencyConflict),
                            (Some((_, Told::Done, _)), _) => Ok("done"),
                            (Some((_, Told::Runs, lease)), _) if now < *lease => Err(Rule::IdempotencyInFlight),
                            (Some((_, Told::Runs | Told::Lost, _)), _) => Err(Rule::IdempotencyUnknown),
                            (None, Some((until, _))) if now < *until => Err(Rule::ReplaySeen),
                            (None, _) => Ok("runs"),
                        };
                        let moved = SignedDuration::from_secs(now);
                        let owner = owners.next().unwrap();
                        let plan = with(plan(&key.to_string(), &id.to_string()), |plan| {
                            plan.owner = [owner; 8];
                            plan.now = at(0) + moved;
                            plan.id.as_mut().unwrap().until = millis(at(0) + moved) + 360_000;
                            let keyed = keyed(plan);
                            keyed.fingerprint = [fingerprint; 16];
                            keyed.lease = millis(at(0) + moved) + 60_000;
                        });
                        match admit(&store, plan, PATIENCE).await {
                            Ok(Admitted::Run(ticket)) => {
                                assert_eq!(wanted, Ok("runs"));
                                keys.insert(key, (fingerprint, Told::Runs, now + 60));
                                ids.insert(id, (now + 360, owner));
                                open.push((*ticket, key, id, owner));
                            }
                            Ok(Admitted::Replayed(_)) => assert_eq!(wanted, Ok("done")),
                            Err(finding) => assert_eq!(wanted, Err(finding.rule)),
                        }
                    }
                    Does::Finish(index) | Does::Withdraw(index) | Does::Lose(index) | Does::Forget(index) => {
                        if index >= open.len() {
                            continue;
                        }
                        let (ticket, key, id, owner) = open.remove(index);
                        let then = at(now);
                        match step {
                            Does::Finish(_) => {
                                ticket.finish(answer("done"), then).await.unwrap();
                                keys.get_mut(&key).unwrap().1 = Told::Done;
                            }
                            Does::Withdraw(_) => {
                                // Only what is still its own is free again.
                                let is_own = ids.get(&id).is_some_and(|(until, own)| now < *until && *own == owner);
                                assert_eq!(ticket.withdraw(then).await.is_ok(), is_own);
                                if is_own {
                                    keys.remove(&key);
                                    ids.remove(&id);
                                }
                            }
                            Does::Lose(_) => {
                                ticket.lost(then).await.unwrap();
                                keys.get_mut(&key).unwrap().1 = Told::Lost;
                            }
                            _ => drop(ticket),
                        }
                    }
                }
            }
        });
    }
}
