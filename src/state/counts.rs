//! Counts of live entries, in steps of time, so that what ends falls out without being visited.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::store::{COUNT_STEP, Millis};

/// One count: how much ends in which step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counter {
    sum: u64,
    steps: BTreeMap<Millis, u64>,
}

impl Counter {
    /// The end of the step in which something that is live before `until` ends: at `until` or later.
    pub(super) const fn step(until: Millis) -> Millis {
        match until.checked_next_multiple_of(COUNT_STEP) {
            Some(end) => end,
            None => Millis::MAX,
        }
    }

    /// What counts at this time. A step that has ended stays ended, should the time be an earlier one later.
    pub(super) fn sum(&mut self, now: Millis) -> u64 {
        while let Some(step) = self.steps.first_entry() {
            if *step.key() > now {
                break;
            }
            self.sum = self.sum.saturating_sub(step.remove());
        }
        self.sum
    }

    /// Counts more or less in the step of `until`, and says what that step counts now.
    ///
    /// A step never counts less than nothing: who takes back twice must not make room for somebody else.
    pub(super) fn add(&mut self, add: i64, until: Millis) -> u64 {
        let step = self.steps.entry(Self::step(until));
        let before = match &step {
            Entry::Vacant(_) => 0,
            Entry::Occupied(step) => *step.get(),
        };
        let after = before.saturating_add_signed(add);
        self.sum = self.sum.saturating_sub(before).saturating_add(after);
        match step {
            Entry::Occupied(step) if after == 0 => {
                step.remove();
            }
            Entry::Occupied(mut step) => {
                step.insert(after);
            }
            Entry::Vacant(step) if after > 0 => {
                step.insert(after);
            }
            Entry::Vacant(_) => {}
        }
        after
    }

    /// Whether nothing counts any more.
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

/// The sum after one more is added, judged against its bound: `None` where it would go over.
pub(super) const fn within(sum: u64, add: i64, max: u64) -> Option<u64> {
    let after = sum.saturating_add_signed(add);
    if add > 0 && after > max { None } else { Some(after) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_falls_out_and_never_early() {
        let mut counter = Counter::default();
        counter.add(2, COUNT_STEP - 1);
        counter.add(3, COUNT_STEP + 1);
        assert_eq!(counter.sum(0), 5);
        assert_eq!(counter.sum(COUNT_STEP - 1), 5, "too much rather than too little");
        assert_eq!(counter.sum(COUNT_STEP), 3);
        assert_eq!(counter.sum(0), 3, "what has ended stays ended");
        assert_eq!(counter.sum(2 * COUNT_STEP), 0);
        assert!(counter.is_empty());
    }

    #[test]
    fn taking_back_more_than_was_counted_makes_no_room() {
        let mut counter = Counter::default();
        counter.add(1, 10);
        counter.add(1, u64::MAX);
        counter.add(-2, 10);
        assert_eq!(counter.sum(0), 1);
        counter.add(-1, u64::MAX);
        assert!(counter.is_empty());
    }

    #[test]
    fn a_bound_is_passed_by_more_only() {
        assert_eq!(within(4, 1, 5), Some(5));
        assert_eq!(within(5, 1, 5), None);
        assert_eq!(within(9, -1, 5), Some(8));
        assert_eq!(within(u64::MAX, 1, 5), None);
    }
}
