//! The admit commit (contract §8): every expectation in its order, one change, one round trip for a new message.
//!
//! The order of [`Txn::expect`] is the order of the contract: `jti`, key, message id; what further stages guard comes
//! behind them in the same change. The first that does not hold decides, and nothing was written. Only an answer that
//! step 3 gives makes a second commit, which spends the proof and, where only a signer is proven, the message.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;

use super::answer::Answer;
use super::entry::{Fate, Stored};
use super::plan::{Id, Keyed, OneUse, Plan, Reuse, millis};
use super::scope;
use super::store::{Committed, Count, Entry, Expect, Key, Store, StoreError, Txn};
use super::ticket::Ticket;
use crate::contract::{Finding, Rule};

/// What became of a request at stage 13.
#[derive(Debug)]
pub enum Admitted {
    /// It is new, and remembered; it may run.
    Run(Box<Ticket>),
    /// It ran before; this is what it was answered.
    Replayed(Answer),
}

/// What stands at a place of [`Txn::expect`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Proof,
    Key,
    Id,
    Answered,
}

/// The change, with what every place of it means.
#[derive(Default)]
struct Draft {
    txn: Txn,
    steps: Vec<Step>,
    full: Vec<Rule>,
}

impl Draft {
    fn at(plan: &Plan) -> Self {
        let mut draft = Self::default();
        draft.txn.now = millis(plan.now);
        draft
    }

    /// An entry that must not be there yet, and is from now on.
    fn claim(&mut self, step: Step, key: Key, value: Bytes, until: u64) {
        self.steps.push(step);
        self.txn.expect.push(Expect::Absent(key));
        self.txn.put.push(Entry { key, value, until });
    }

    fn count(&mut self, key: Key, until: u64, max: u64, full: Rule) {
        self.full.push(full);
        self.txn.count.push(Count {
            key,
            add: 1,
            until,
            max,
        });
    }

    fn proof(&mut self, plan: &Plan) {
        if let Some(OneUse { key, share, until, .. }) = plan.proof {
            let bounds = &plan.bounds.replay;
            self.claim(Step::Proof, key, Bytes::new(), until);
            self.count(share, until, bounds.per_sender_max, Rule::ReplayShare);
            self.count(scope::total("proof"), until, bounds.max, Rule::StateFull);
        }
    }

    /// One of the messages that are remembered: of its sender, and of all.
    fn message(&mut self, id: &Id, plan: &Plan) {
        let bounds = &plan.bounds.replay;
        self.count(id.share, id.until, bounds.per_sender_max, Rule::ReplayShare);
        if !id.is_proven {
            let max = bounds
                .max
                .saturating_sub(bounds.per_sender_max)
                .max(bounds.per_sender_max);
            self.count(scope::unproven("replay"), id.until, max, Rule::StateFull);
        }
        self.count(scope::total("replay"), id.until, bounds.max, Rule::StateFull);
    }
}

/// Admits a request, or says why not. `patience` is how long the store may take for one answer.
///
/// # Errors
/// `auth.dpop`, `idempotency.*`, `replay.*` and `state.*`, in the order of contract §8.
pub async fn admit(store: &Arc<dyn Store>, plan: Plan, patience: Duration) -> Result<Admitted, Finding> {
    let mut draft = Draft::at(&plan);
    draft.proof(&plan);
    let running = plan.key.as_ref().map(|key| running(key, &plan).encode());
    if let (Some(key), Some(running)) = (&plan.key, &running) {
        draft.claim(Step::Key, key.key, running.clone(), key.until);
    }
    if let Some(id) = &plan.id {
        draft.claim(Step::Id, id.key, Bytes::copy_from_slice(&plan.owner), id.until);
        draft.message(id, &plan);
    }
    if let Some(key) = &plan.key {
        let max = plan.bounds.idempotency.max;
        if key.reuse == Reuse::Nobody {
            let max = max.saturating_sub(max / 5);
            draft.count(scope::unproven("idempotency"), key.until, max, Rule::StateFull);
        }
        draft.count(scope::total("idempotency"), key.until, max, Rule::StateFull);
    }
    let Draft { txn, steps, full } = draft;
    let ticket = Ticket::new(Arc::clone(store), plan, running, patience);
    match commit_or_undo(store, txn, &ticket, patience).await {
        Ok(Committed::Done) => Ok(Admitted::Run(Box::new(ticket))),
        Ok(Committed::Full { index }) => Err(full_at(&full, index)),
        Ok(Committed::Conflict { index, current }) => {
            let plan = ticket.into_plan();
            match (steps.get(index), &plan.key) {
                (Some(Step::Proof), _) => Err(spent()),
                (Some(Step::Id), _) => Err(seen()),
                (Some(Step::Key), Some(key)) => again(store, &plan, key, current, patience).await,
                (Some(Step::Key | Step::Answered) | None, _) => Err(unavailable(&UNKNOWN_CONFLICT)),
            }
        }
        Err(error) => Err(unavailable(&error)),
    }
}

/// What an enforcing route would have said; nothing is written (contract §1, "Observe").
///
/// # Errors
/// As [`admit`], as far as it can be told without a change: no bound is judged.
pub async fn look(store: &Arc<dyn Store>, plan: &Plan, patience: Duration) -> Result<Option<Answer>, Finding> {
    let now = millis(plan.now);
    let get = |key| async move {
        match timeout(patience, store.get(key, now)).await {
            Ok(Ok(entry)) => Ok(entry),
            Ok(Err(error)) => Err(unavailable(&error)),
            Err(_) => Err(unavailable(&LATE)),
        }
    };
    if let Some(proof) = &plan.proof
        && get(proof.key).await?.is_some()
    {
        return Err(spent());
    }
    if let Some(key) = &plan.key
        && let Some(entry) = get(key.key).await?
    {
        return match verdict(plan, key, Some(&entry.value))? {
            Known::Give(answer) => Ok(Some(answer)),
            Known::GiveOnce(answer, answered) => match get(answered).await? {
                None => Ok(Some(answer)),
                Some(_) => Err(seen()),
            },
            Known::Say(finding) => Err(finding),
        };
    }
    if let Some(id) = &plan.id
        && get(id.key).await?.is_some()
    {
        return Err(seen());
    }
    Ok(None)
}

/// The change; where nobody can say whether it happened, it is undone as soon as that can be said, for nothing was sent.
async fn commit_or_undo(
    store: &Arc<dyn Store>,
    txn: Txn,
    ticket: &Ticket,
    patience: Duration,
) -> Result<Committed, StoreError> {
    let now = txn.now;
    let own = Arc::clone(store);
    let mut commit = Box::pin(async move { own.commit(txn).await });
    let undo = ticket.undo(now);
    match timeout(patience, &mut commit).await {
        Ok(Ok(committed)) => Ok(committed),
        Ok(Err(error)) => {
            let store = Arc::clone(store);
            tokio::spawn(async move { drop(store.commit(undo).await) });
            Err(error)
        }
        Err(_) => {
            let store = Arc::clone(store);
            tokio::spawn(async move {
                if !matches!(commit.await, Ok(Committed::Conflict { .. } | Committed::Full { .. })) {
                    drop(store.commit(undo).await);
                }
            });
            Err(LATE)
        }
    }
}

/// Step 3 as a whole: what is said of a key that is known, and what that spends.
async fn again(
    store: &Arc<dyn Store>,
    plan: &Plan,
    key: &Keyed,
    current: Option<Bytes>,
    patience: Duration,
) -> Result<Admitted, Finding> {
    let known = verdict(plan, key, current.as_ref())?;
    let mut draft = Draft::at(plan);
    draft.proof(plan);
    if let (Known::GiveOnce(_, answered), Some(id)) = (&known, &plan.id) {
        draft.claim(Step::Answered, *answered, Bytes::new(), id.until);
        draft.message(id, plan);
    }
    let Draft { txn, steps, full } = draft;
    if !steps.is_empty() {
        match timeout(patience, store.commit(txn)).await {
            Ok(Ok(Committed::Done)) => {}
            Ok(Ok(Committed::Full { index })) => return Err(full_at(&full, index)),
            Ok(Ok(Committed::Conflict { index, .. })) => {
                return Err(match steps.get(index) {
                    Some(Step::Proof) => spent(),
                    Some(Step::Answered | Step::Key | Step::Id) | None => seen(),
                });
            }
            Ok(Err(error)) => return Err(unavailable(&error)),
            Err(_) => return Err(unavailable(&LATE)),
        }
    }
    match known {
        Known::Give(answer) | Known::GiveOnce(answer, _) => Ok(Admitted::Replayed(answer)),
        Known::Say(finding) => Err(finding),
    }
}

/// What is said of a key that is known and has this fingerprint.
enum Known {
    /// The stored answer.
    Give(Answer),
    /// The stored answer, once for this message, which this entry remembers.
    GiveOnce(Answer, Key),
    /// A refusal.
    Say(Finding),
}

/// Steps 2 and 3. Another fingerprint, and an entry that cannot be read, end the story without a write.
fn verdict(plan: &Plan, key: &Keyed, current: Option<&Bytes>) -> Result<Known, Finding> {
    let stored = current.and_then(Stored::decode).ok_or_else(|| unavailable(&DAMAGED))?;
    if stored.fingerprint != key.fingerprint {
        let detail = "expected another idempotency key: this one belongs to another request";
        return Err(Finding::new(Rule::IdempotencyConflict, detail));
    }
    Ok(match stored.fate {
        Fate::Running { lease, .. } if millis(plan.now) < lease => {
            let detail = "the first request with this key is still running";
            Known::Say(Finding::new(Rule::IdempotencyInFlight, detail))
        }
        Fate::Running { .. } | Fate::Unknown => {
            let detail = "the first request with this key may have reached the backend, and its answer is lost";
            Known::Say(Finding::new(Rule::IdempotencyUnknown, detail))
        }
        Fate::Finished(answer) => {
            let answer = Answer::decode(answer).ok_or_else(|| unavailable(&DAMAGED))?;
            match key.reuse {
                Reuse::Presenter => Known::Give(answer),
                Reuse::NewMessage if stored.digest != plan.digest => {
                    Known::GiveOnce(answer, scope::answered(key.key, plan.digest))
                }
                Reuse::NewMessage | Reuse::Nobody => Known::Say(seen()),
            }
        }
    })
}

/// The entry of a request that runs from now on.
fn running(key: &Keyed, plan: &Plan) -> Stored {
    Stored {
        fingerprint: key.fingerprint,
        digest: plan.digest,
        fate: Fate::Running {
            owner: plan.owner,
            lease: key.lease,
        },
    }
}

const LATE: StoreError = StoreError::Unreachable("no answer in time");
const DAMAGED: StoreError = StoreError::Damaged("an idempotency entry");
const UNKNOWN_CONFLICT: StoreError = StoreError::Damaged("a conflict that nothing was expected of");

fn unavailable(error: &StoreError) -> Finding {
    Finding::new(Rule::StateUnavailable, error.to_string())
}

fn spent() -> Finding {
    Finding::new(Rule::AuthDpop, "expected a DPoP proof that was not used before")
}

fn seen() -> Finding {
    Finding::new(Rule::ReplaySeen, "expected a message that was not admitted before")
}

fn full_at(full: &[Rule], index: usize) -> Finding {
    match full.get(index) {
        Some(Rule::ReplayShare) => Finding::new(
            Rule::ReplayShare,
            "expected fewer messages of one sender than `replay.per_sender_max`",
        ),
        Some(_) | None => Finding::new(
            Rule::StateFull,
            "nothing more can be remembered, so nothing more is admitted",
        ),
    }
}

#[cfg(test)]
mod tests;
