//! The only place that reads a clock or makes an id. Everything else takes time as a parameter.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use uuid::Uuid;

use std::sync::atomic::{AtomicI64, Ordering};

/// Wall time, monotonic time and fresh ids. Cloning shares the source.
#[derive(Clone, Debug)]
pub struct Clock(Arc<Source>);

#[derive(Debug)]
enum Source {
    /// The machine's clocks, and when this one was made.
    System(Instant),
    /// A clock that stands still until it is moved, for tests: microseconds since the epoch.
    Manual {
        now: AtomicI64,
        /// The latest it ever stood at.
        latest: AtomicI64,
    },
}

impl Clock {
    /// The machine's clocks.
    #[expect(clippy::disallowed_methods, reason = "this module owns the clock")]
    pub fn system() -> Self {
        Self(Arc::new(Source::System(Instant::now())))
    }

    /// A clock that stands at `start` until [`Clock::set`] moves it.
    pub fn manual(start: Timestamp) -> Self {
        Self(Arc::new(Source::Manual {
            now: AtomicI64::new(start.as_microsecond()),
            latest: AtomicI64::new(start.as_microsecond()),
        }))
    }

    /// Moves a manual clock; the system clock is left alone.
    pub fn set(&self, now: Timestamp) {
        match &*self.0 {
            Source::System(_) => {}
            Source::Manual { now: at, latest } => {
                at.store(now.as_microsecond(), Ordering::Release);
                latest.fetch_max(now.as_microsecond(), Ordering::AcqRel);
            }
        }
    }

    /// Wall time, UTC.
    #[expect(clippy::disallowed_methods, reason = "this module owns the clock")]
    pub fn now(&self) -> Timestamp {
        match &*self.0 {
            Source::System(_) => Timestamp::now(),
            Source::Manual { now, .. } => {
                Timestamp::from_microsecond(now.load(Ordering::Acquire)).unwrap_or(Timestamp::UNIX_EPOCH)
            }
        }
    }

    /// Monotonic time, for durations only.
    #[expect(clippy::disallowed_methods, reason = "this module owns the clock")]
    pub fn instant(&self) -> Instant {
        Instant::now()
    }

    /// Time that has passed since a moment that does not change while the process runs; that of a manual clock stands while it is set back.
    pub fn elapsed(&self) -> Duration {
        match &*self.0 {
            Source::System(began) => self.instant().saturating_duration_since(*began),
            Source::Manual { latest, .. } => {
                Duration::from_micros(u64::try_from(latest.load(Ordering::Acquire)).unwrap_or_default())
            }
        }
    }

    /// A fresh verdict id (UUID version 7).
    #[expect(clippy::disallowed_methods, reason = "this module owns the ids")]
    pub fn id(&self) -> Uuid {
        Uuid::now_v7()
    }
}

/// Watches for a wall clock that runs backwards against the monotonic one (contract §8, "Clock").
#[derive(Debug)]
pub struct Steady {
    started: Instant,
    /// The latest wall time seen, less the monotonic time that had passed then, in microseconds.
    base: AtomicI64,
}

impl Steady {
    /// Begins to watch.
    pub fn new(clock: &Clock) -> Self {
        Self {
            started: clock.instant(),
            base: AtomicI64::new(clock.now().as_microsecond()),
        }
    }

    /// The wall time, or `None` while it lags the monotonic clock by more than `skew`.
    pub fn now(&self, clock: &Clock, skew: Duration) -> Option<Timestamp> {
        let now = clock.now();
        let passed = micros(clock.instant().saturating_duration_since(self.started));
        let base = now.as_microsecond().saturating_sub(passed);
        let highest = self.base.fetch_max(base, Ordering::AcqRel).max(base);
        (highest.saturating_sub(base) <= micros(skew)).then_some(now)
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
