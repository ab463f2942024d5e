//! What a process knows of a shared store, and how it notices that the store has lost something.
//!
//! A store that others run can be emptied, restored from a backup, or fail over to a copy that is behind. It carries an
//! epoch, a random id made at its first use, and a number that grows with every commit. A process that finds another
//! epoch, none, or a lower number than it was told before, refuses from then on: idempotency keys that were lost let a
//! retry run twice, so a person decides (`portcullis state reset-fence`), not this program.
//!
//! The id also says how long after its issue a message is remembered. Processes that judge by another window or skew would
//! forget what the others still take for fresh, so they do not use the same epoch.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::Timestamp;

use super::store::{Millis, StoreError};
use crate::policy::Freshness;

/// The layout that this program writes and reads.
pub(super) const FORMAT: &str = "1";

/// Who made an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The first process that found none.
    First,
    /// An operator, by `portcullis state reset-fence`.
    Reset,
}

impl Origin {
    /// The word that is stored.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Reset => "reset",
        }
    }

    fn of(word: &str) -> Option<Self> {
        [Self::First, Self::Reset]
            .into_iter()
            .find(|origin| origin.word() == word)
    }
}

/// The epoch of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Epoch {
    /// A fresh id each time.
    pub(super) id: String,
    /// Nothing issued at or before it is admitted.
    pub(super) fence: Millis,
    /// Who made it.
    pub(super) origin: Origin,
}

/// What a store says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Its epoch.
    pub(super) epoch: Epoch,
    /// How many commits it has seen.
    pub(super) commits: u64,
    /// A process noticed that commits are missing.
    pub(super) lost: bool,
}

impl Found {
    /// From what is stored; `None` when it is not what this program writes.
    pub(super) fn of(id: &str, fence: &str, origin: &str, commits: &str, lost: bool) -> Option<Self> {
        Some(Self {
            epoch: Epoch {
                id: id.to_owned(),
                fence: fence.parse().ok()?,
                origin: Origin::of(origin)?,
            },
            commits: commits.parse().ok()?,
            lost,
        })
    }
}

/// The knowledge of one process.
#[derive(Debug)]
pub(super) struct Known(ArcSwap<Mark>);

/// One epoch, as far as this process knows it. A question holds on to the mark it was asked with, so that an answer
/// from before a reset says nothing of what came after.
#[derive(Debug)]
pub(super) struct Mark {
    /// The epoch.
    pub(super) epoch: Epoch,
    /// The highest number of commits the store has told.
    commits: AtomicU64,
    lost: AtomicBool,
}

impl Known {
    /// From what was found at the start.
    pub(super) fn new(found: Found) -> Self {
        Self(ArcSwap::new(Arc::new(Mark::new(found))))
    }

    /// What a store is asked to be.
    pub(super) fn mark(&self) -> Arc<Mark> {
        self.0.load_full()
    }

    /// The store refused: it is not what it was asked to be. Nothing, when an operator has begun a new epoch; then the
    /// same may be asked once more.
    ///
    /// # Errors
    /// What it has lost.
    pub(super) fn compare(&self, asked: &Mark, found: Option<Found>) -> Result<(), StoreError> {
        let lost = match &found {
            None => Some(EMPTY),
            Some(found) if found.lost || found.epoch.id == asked.epoch.id => Some(LOST),
            Some(found) => match found.epoch.origin {
                Origin::First => Some(BEGUN),
                Origin::Reset if horizon(&found.epoch.id) == horizon(&asked.epoch.id) => None,
                Origin::Reset => Some(OTHER),
            },
        };
        if let Some(lost) = lost {
            asked.lost.store(true, Ordering::Release);
            return Err(lost);
        }
        if let Some(found) = found {
            self.begin(found);
        }
        Ok(())
    }

    /// An operator began this epoch.
    fn begin(&self, found: Found) {
        self.0.rcu(|known| {
            if known.epoch.id == found.epoch.id {
                Arc::clone(known)
            } else {
                Arc::new(Mark::new(found.clone()))
            }
        });
    }

    /// The fence of the epoch.
    ///
    /// # Errors
    /// When a loss was noticed, or the fence is no time.
    pub(super) fn fence(&self) -> Result<Option<Timestamp>, StoreError> {
        let mark = self.0.load();
        mark.whole()?;
        i64::try_from(mark.epoch.fence)
            .ok()
            .and_then(|fence| Timestamp::from_millisecond(fence).ok())
            .map(Some)
            .ok_or(StoreError::Damaged("its fence is no time"))
    }
}

impl Mark {
    fn new(found: Found) -> Self {
        Self {
            epoch: found.epoch,
            commits: AtomicU64::new(found.commits),
            lost: AtomicBool::new(found.lost),
        }
    }

    /// The number of commits the store has to have.
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Acquire)
    }

    /// The store is what it was asked to be, and has this many commits.
    ///
    /// # Errors
    /// When a loss was noticed before: commits of other processes make it good in number only.
    pub(super) fn confirm(&self, commits: u64) -> Result<(), StoreError> {
        self.commits.fetch_max(commits, Ordering::AcqRel);
        self.whole()
    }

    fn whole(&self) -> Result<(), StoreError> {
        if self.lost.load(Ordering::Acquire) {
            return Err(LOST);
        }
        Ok(())
    }
}

const EMPTY: StoreError = StoreError::Forgot("it is empty; a person has to reset the fence");
const LOST: StoreError = StoreError::Forgot("commits it had confirmed are missing; a person has to reset the fence");
const BEGUN: StoreError = StoreError::Forgot("it was emptied and begun anew; a person has to reset the fence");

const OTHER: StoreError = StoreError::Forgot(
    "it remembers for another `freshness.window` or `freshness.skew`; stop every process of it, then reset the fence",
);

/// The id of a new epoch, in which a message is remembered so long after its issue.
pub(super) fn id_of(unique: &str, freshness: &Freshness) -> String {
    let horizon = freshness.window.saturating_add(freshness.skew.saturating_mul(2));
    format!("{unique}/{}", horizon.as_millis())
}

/// What an id says of that.
fn horizon(id: &str) -> Option<&str> {
    id.split_once('/').map(|(_, horizon)| horizon)
}

/// Whether a process that would have begun this epoch may use the one that it found.
///
/// # Errors
/// When it remembers for another time.
pub(super) fn fits(found: Found, own: &str) -> Result<Found, StoreError> {
    if horizon(&found.epoch.id) == horizon(own) {
        Ok(found)
    } else {
        Err(OTHER)
    }
}

/// The fence of an epoch that begins now: what was issued until now is not admitted, whichever replica's clock counts.
pub(super) fn fence_at(now: Timestamp, skew: Duration) -> Millis {
    millis(now).saturating_add(u64::try_from(skew.as_millis()).unwrap_or(u64::MAX))
}

/// Milliseconds since the epoch; none before it.
pub(super) fn millis(time: Timestamp) -> Millis {
    u64::try_from(time.as_millisecond()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(id: &str, origin: Origin, commits: u64) -> Found {
        Found::of(id, "1000", origin.word(), &commits.to_string(), false).unwrap()
    }

    #[test]
    fn only_an_operator_makes_a_loss_good() {
        let known = Known::new(found("a", Origin::First, 5));
        let mark = known.mark();
        assert_eq!(mark.confirm(6), Ok(()));
        assert_eq!(mark.commits(), 6);
        assert_eq!(known.compare(&mark, None), Err(EMPTY));
        assert_eq!(mark.confirm(7), Err(LOST), "it stays lost");
        assert_eq!(known.fence(), Err(LOST));
        assert_eq!(known.compare(&mark, Some(found("b", Origin::First, 0))), Err(BEGUN));
        assert_eq!(known.compare(&mark, Some(found("c", Origin::Reset, 0))), Ok(()));
        assert_eq!(known.mark().confirm(1), Ok(()));
        assert_eq!(known.mark().commits(), 1);
    }

    #[test]
    fn an_answer_from_before_a_reset_says_nothing_of_what_came_after() {
        let known = Known::new(found("a", Origin::First, 5));
        let before = known.mark();
        assert_eq!(known.compare(&before, Some(found("b", Origin::Reset, 0))), Ok(()));
        assert_eq!(before.confirm(9), Ok(()));
        assert_eq!(known.compare(&before, Some(found("b", Origin::Reset, 3))), Ok(()));
        assert_eq!(known.mark().commits(), 0);
        assert!(known.fence().is_ok());
    }

    #[test]
    fn processes_of_one_epoch_remember_for_the_same_time() {
        let usual = Freshness::default();
        let wider = Freshness {
            window: Duration::from_secs(3_600),
            ..usual.clone()
        };
        let begun = |unique, freshness| found(&id_of(unique, freshness), Origin::Reset, 5);
        assert!(fits(begun("a", &usual), &id_of("b", &usual)).is_ok());
        assert_eq!(fits(begun("a", &usual), &id_of("b", &wider)), Err(OTHER));
        assert_eq!(fits(begun("a", &wider), &id_of("b", &usual)), Err(OTHER));
        assert_eq!(fits(found("a", Origin::First, 5), &id_of("b", &usual)), Err(OTHER));
        // A reset for another policy is not taken up by a process that runs with this one.
        let known = Known::new(begun("a", &usual));
        let mark = known.mark();
        assert_eq!(known.compare(&mark, Some(begun("b", &wider))), Err(OTHER));
        assert_eq!(known.fence(), Err(LOST));
        assert_eq!(known.compare(&mark, Some(begun("c", &usual))), Ok(()));
        assert!(known.fence().is_ok());
    }

    #[test]
    fn the_same_epoch_with_fewer_commits_is_a_loss() {
        let known = Known::new(found("a", Origin::Reset, 5));
        assert_eq!(
            known.compare(&known.mark(), Some(found("a", Origin::Reset, 4))),
            Err(LOST)
        );
        assert_eq!(known.fence(), Err(LOST));
    }

    #[test]
    fn the_fence_is_the_beginning_and_the_skew() {
        let now = Timestamp::from_millisecond(1_000).unwrap();
        let known = Known::new(Found {
            epoch: Epoch {
                id: "a".to_owned(),
                fence: fence_at(now, Duration::from_secs(30)),
                origin: Origin::First,
            },
            commits: 0,
            lost: false,
        });
        assert_eq!(known.fence().unwrap().unwrap().as_millisecond(), 31_000);
    }
}
