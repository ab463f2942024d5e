//! One issuer's set: how old it is, when it is looked at again, and that it is looked at once at a time.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;

use super::Trouble;
use crate::policy::{Issuer, KeySource};

/// Between these an answer may say how long its set is fresh: a shorter time would be a flood of fetches, a longer one
/// would keep a key in use long after its issuer withdrew it.
const LIFETIME: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(3600)];

/// After a failure the next attempt waits so long; twice as long after each further one.
const RETRY: Duration = Duration::from_secs(5);

/// No longer than this.
const RETRY_MAX: Duration = Duration::from_secs(300);

/// Never.
const NEVER: i64 = i64::MIN;

/// What is known of one issuer's set besides its keys.
#[derive(Debug)]
pub(super) struct Holder {
    pub issuer: Arc<Issuer>,
    /// When the set in use was last found to be the current one, in microseconds.
    confirmed: AtomicI64,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    /// An attempt is under way.
    is_busy: bool,
    /// Attempts that are over.
    finished: watch::Sender<u64>,
    /// The last attempt for an unknown `kid`.
    asked: Option<Timestamp>,
    /// When a set from a URL is looked at again.
    due: Option<Timestamp>,
    /// Failures since the last good attempt.
    failures: u32,
    /// Digest of the set in use.
    digest: Option<String>,
    /// What the last attempt failed with; `None` after a good one.
    trouble: Option<String>,
    told_stale: bool,
}

/// What came of wanting an attempt.
pub(super) enum Flight {
    /// One is under way; the receiver changes when it is over.
    Joined(watch::Receiver<u64>),
    /// The issuer was asked a short time ago.
    TooSoon,
    /// The caller makes it; it is over when the landing is dropped.
    Begun(Landing, watch::Receiver<u64>),
}

/// Whether a set is the one in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// It is, as before.
    Same,
    /// It is, after an attempt that failed.
    Recovered,
    /// It is not.
    Changed,
}

/// Ends an attempt, also one that panics.
pub(super) struct Landing {
    state: Arc<Mutex<State>>,
    /// Hears of every attempt that is over, whoever's it is.
    landed: watch::Sender<u64>,
}

impl Drop for Landing {
    fn drop(&mut self) {
        {
            let mut state = lock(&self.state);
            state.is_busy = false;
            state.finished.send_modify(|count| *count = count.wrapping_add(1));
        }
        self.landed.send_modify(|count| *count = count.wrapping_add(1));
    }
}

impl Holder {
    /// An issuer whose set was never loaded.
    pub fn new(issuer: Issuer) -> Self {
        Self {
            issuer: Arc::new(issuer),
            confirmed: AtomicI64::new(NEVER),
            state: Arc::new(Mutex::new(State {
                is_busy: false,
                finished: watch::Sender::new(0),
                asked: None,
                due: None,
                failures: 0,
                digest: None,
                trouble: None,
                told_stale: false,
            })),
        }
    }

    /// The same set under other words of the policy. It is due when it was due before.
    pub fn heir(&self, issuer: Issuer) -> Self {
        let heir = Self::new(issuer);
        heir.confirmed
            .store(self.confirmed.load(Ordering::Acquire), Ordering::Release);
        {
            let (mut new, old) = (lock(&heir.state), lock(&self.state));
            new.digest.clone_from(&old.digest);
            new.trouble.clone_from(&old.trouble);
            (new.asked, new.due, new.failures) = (old.asked, old.due, old.failures);
        }
        heir
    }

    /// Whether the set is older than `max_stale`.
    pub fn is_stale(&self, now: Timestamp) -> bool {
        let age = now
            .as_microsecond()
            .saturating_sub(self.confirmed.load(Ordering::Acquire));
        age > micros(self.issuer.max_stale)
    }

    /// Whether it became so since this was last asked.
    pub fn turns_stale(&self, now: Timestamp) -> bool {
        let was_loaded = self.confirmed.load(Ordering::Acquire) != NEVER;
        let is_stale = was_loaded && self.is_stale(now);
        let mut state = lock(&self.state);
        is_stale && !std::mem::replace(&mut state.told_stale, is_stale)
    }

    /// Whether it is time to look. A file is looked at whenever anybody thinks of it. A wall clock that was set back
    /// makes nothing wait for longer than it ever would.
    pub fn is_due(&self, now: Timestamp) -> bool {
        let is_file = matches!(self.issuer.keys, KeySource::File(_));
        let [_, longest] = LIFETIME;
        is_file
            || lock(&self.state).due.is_none_or(|due| {
                let wait = due.as_microsecond().saturating_sub(now.as_microsecond());
                wait <= 0 || wait > micros(longest)
            })
    }

    /// Begins an attempt, or joins the one under way. `asked` is the time of a request for an unknown `kid`; `landed` hears
    /// of the end of what is begun.
    pub fn board(&self, asked: Option<Timestamp>, landed: &watch::Sender<u64>) -> Flight {
        let mut state = lock(&self.state);
        let finished = state.finished.subscribe();
        if state.is_busy {
            return Flight::Joined(finished);
        }
        if let Some(now) = asked {
            let cooldown = micros(self.issuer.unknown_kid_cooldown);
            let cools = state.asked.is_some_and(|before| {
                let passed = now.as_microsecond().saturating_sub(before.as_microsecond());
                (0..cooldown).contains(&passed)
            });
            if cools {
                return Flight::TooSoon;
            }
            state.asked = Some(now);
        }
        state.is_busy = true;
        let landing = Landing {
            state: Arc::clone(&self.state),
            landed: landed.clone(),
        };
        Flight::Begun(landing, finished)
    }

    /// Notes a set that was found now, when it is the one in use.
    pub fn confirm(&self, digest: &str, now: Timestamp, lifetime: Option<Duration>) -> Settled {
        let mut state = lock(&self.state);
        if state.digest.as_deref() != Some(digest) {
            return Settled::Changed;
        }
        let had_trouble = state.trouble.is_some();
        self.is_good(&mut state, now, lifetime);
        if had_trouble { Settled::Recovered } else { Settled::Same }
    }

    /// Notes a set that was taken now.
    pub fn take(&self, digest: String, now: Timestamp, lifetime: Option<Duration>) {
        let mut state = lock(&self.state);
        state.digest = Some(digest);
        self.is_good(&mut state, now, lifetime);
    }

    fn is_good(&self, state: &mut State, now: Timestamp, lifetime: Option<Duration>) {
        self.confirmed.store(now.as_microsecond(), Ordering::Release);
        state.failures = 0;
        state.trouble = None;
        state.told_stale = false;
        let [shortest, longest] = LIFETIME;
        let fresh = match lifetime {
            Some(lifetime) => lifetime.clamp(shortest, longest),
            None => self.issuer.refresh,
        };
        state.due = now.checked_add(fresh.min(self.issuer.max_stale)).ok();
    }

    /// Notes a failure; tells whether it has to be told. A file that is wrong in one way is told of once, as it is looked
    /// at all the time; a URL that fails is told of every time.
    pub fn fails(&self, trouble: &Trouble, now: Timestamp) -> bool {
        let mut state = lock(&self.state);
        let doublings = state.failures.min(16);
        state.failures = state.failures.saturating_add(1);
        let wait = RETRY.saturating_mul(2_u32.saturating_pow(doublings)).min(RETRY_MAX);
        state.due = now.checked_add(wait).ok();
        let trouble = Some(trouble.to_string());
        let is_new = state.trouble != trouble;
        state.trouble = trouble;
        is_new || matches!(self.issuer.keys, KeySource::Url { .. })
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
