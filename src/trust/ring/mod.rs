//! The keys of every issuer of the policy: where they come from, how they stay fresh, which of them a `kid` names
//! (contract §7, "Keys").
//!
//! A look-up reads one snapshot without a lock. Sets are fetched and read in tasks of their own: at the start, when they
//! are due, and once for all who ask for an unknown `kid`. What cannot be loaded leaves the last good set in use, until
//! it is older than `max_stale`; after that it answers for nothing.
//!
//! An issuer's cool-down is also the memory of what was not found: until it ends, a `kid` that its set does not hold is
//! looked up nowhere else, whoever asks and however often.

mod event;
mod holder;
mod https;
mod snapshot;
mod source;
mod survey;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::sleep;

pub use event::{Event, What};
pub use source::Trouble;
pub use survey::{Surveyed, survey};

use super::keys::{KeySet, PublicKey};
use crate::clock::Clock;
use crate::message::canonical::sha256_hex;
use crate::policy::{Issuer, Trust};
use holder::{Flight, Holder, Settled};
use snapshot::{Seat, Snapshot};
use source::Obtained;

/// How often the ring looks at its files, and whether a URL is due.
const TICK: Duration = Duration::from_secs(2);

/// What a `kid` names.
#[derive(Clone, Debug)]
pub enum Found {
    /// A key of a set that can be relied on.
    Key {
        /// Whose key it is.
        issuer: Arc<Issuer>,
        /// The key; whether it is good at this time is not judged yet.
        key: Arc<PublicKey>,
    },
    /// No set holds it, and every set can be relied on.
    Unknown,
    /// The set that holds it is too old, or it is found nowhere and some set is too old or was never loaded.
    Unavailable {
        /// Some issuer of such a set lets a message leave out `typ`.
        typ_optional: bool,
    },
}

/// Why the ring cannot answer for every `kid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unready {
    /// The set of some issuer was never loaded.
    NeverLoaded,
    /// The set of some issuer is older than `max_stale`.
    Stale,
}

/// The keys of every issuer. Cloning shares them.
#[derive(Clone, Debug)]
pub struct KeyRing(Arc<Inner>);

struct Inner {
    clock: Clock,
    runtime: Handle,
    tell: Box<dyn Fn(&Event) + Send + Sync>,
    snapshot: ArcSwap<Snapshot>,
    /// Held while a snapshot is made from the one before it.
    making: Mutex<()>,
    generation: AtomicU64,
    /// Attempts that are over.
    landed: watch::Sender<u64>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("KeyRing")
            .field("snapshot", &self.snapshot)
            .finish_non_exhaustive()
    }
}

impl KeyRing {
    /// Loads the set of every issuer once, in file order where one `kid` is in two of them, and gives the ring whatever
    /// came of it. Takes as long as the slowest issuer, at most the five seconds of one fetch. `tell` hears of every attempt that
    /// changed something or failed. Needs a tokio runtime.
    pub async fn start(trust: &Trust, clock: Clock, tell: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        let ring = Self(Arc::new(Inner {
            clock,
            runtime: Handle::current(),
            tell: Box::new(tell),
            snapshot: ArcSwap::from_pointee(Snapshot::default()),
            making: Mutex::new(()),
            generation: AtomicU64::new(0),
            landed: watch::Sender::new(0),
        }));
        let new = ring.seat(trust);
        let obtained: Vec<_> = new
            .iter()
            .map(|holder| {
                let source = holder.issuer.keys.clone();
                tokio::spawn(async move { source::obtain(&source).await })
            })
            .collect();
        for (holder, obtained) in new.iter().zip(obtained) {
            let obtained = obtained.await.unwrap_or(Err(Trouble::Broken));
            ring.0.settle(holder, obtained);
        }
        ring
    }

    /// Takes the issuers of a new policy. Sets that come from the same place for the same algorithms are kept; others
    /// are loaded in the background, and whoever needs them meanwhile waits for that.
    pub fn adopt(&self, trust: &Trust) {
        for holder in self.seat(trust) {
            self.0.begin(&holder, None);
        }
    }

    /// What the `kid` names now.
    pub fn find(&self, kid: &str, now: Timestamp) -> Found {
        self.0.snapshot.load().find(kid, now)
    }

    /// The same; what no usable set holds is looked for once where the sets come from, as far as cool-downs permit.
    pub async fn find_or_fetch(&self, kid: &str, now: Timestamp) -> Found {
        match self.find(kid, now) {
            found @ Found::Key { .. } => found,
            Found::Unknown | Found::Unavailable { .. } => {
                let holders = self.0.snapshot.load().holders();
                self.0.ask(&holders, now, || self.find(kid, now)).await
            }
        }
    }

    /// What the `kid` names in the set of one issuer; a `kid` that another issuer's set held before is unknown.
    pub fn find_of(&self, issuer: &str, kid: &str, now: Timestamp) -> Found {
        self.0.snapshot.load().find_of(issuer, kid, now)
    }

    /// The same; what the set does not hold is looked for once where it comes from, as far as its cool-down permits.
    pub async fn find_of_or_fetch(&self, issuer: &str, kid: &str, now: Timestamp) -> Found {
        match self.find_of(issuer, kid, now) {
            found @ Found::Key { .. } => found,
            Found::Unknown | Found::Unavailable { .. } => {
                let mut holders = self.0.snapshot.load().holders();
                holders.retain(|holder| holder.issuer.name == issuer);
                self.0.ask(&holders, now, || self.find_of(issuer, kid, now)).await
            }
        }
    }

    /// Changes with every change of a set; what was proven under another generation is proven anew.
    pub fn generation(&self) -> u64 {
        self.0.snapshot.load().generation
    }

    /// What was found, as far as this policy says so: right after a reload the ring may serve the policy before it, or the
    /// one that asks may be judged by that one.
    pub fn under(&self, trust: &Trust, found: Found) -> Found {
        match found {
            Found::Key { issuer, key } if trust.issuer(&issuer.name) == Some(&*issuer) => Found::Key { issuer, key },
            Found::Key { issuer, .. } => Found::Unavailable {
                typ_optional: issuer.typ_optional,
            },
            Found::Unknown if self.0.snapshot.load().is_of(&trust.issuers) => Found::Unknown,
            Found::Unknown => Found::Unavailable { typ_optional: false },
            Found::Unavailable { typ_optional } => Found::Unavailable { typ_optional },
        }
    }

    /// Why some `kid` cannot be answered for now.
    pub fn unready(&self) -> Option<Unready> {
        self.0.snapshot.load().unready(self.0.clock.now())
    }

    /// Reads every file again and fetches what is due, and waits for that.
    pub async fn look(&self) {
        for mut flight in self.0.tick() {
            // The sender is gone only when its issuer is.
            let _gone = flight.changed().await;
        }
    }

    /// Keeps the sets fresh until `stop` turns true or nobody is left to turn it.
    pub async fn watch(self, mut stop: watch::Receiver<bool>) {
        loop {
            tokio::select! {
                () = sleep(TICK) => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
            // A slow issuer keeps nobody from looking at the others.
            drop(self.0.tick());
        }
    }

    /// A snapshot with these issuers and the sets that can be kept; gives the holders that have to load theirs.
    fn seat(&self, trust: &Trust) -> Vec<Arc<Holder>> {
        let _making = self.0.making.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.0.snapshot.load_full();
        let mut new = Vec::new();
        let seats = trust
            .issuers
            .iter()
            .map(|issuer| match before.heir(issuer) {
                Some(seat) => seat,
                None => {
                    let holder = Arc::new(Holder::new(issuer.clone()));
                    new.push(Arc::clone(&holder));
                    Seat { holder, keys: None }
                }
            })
            .collect();
        self.0.put(&before, seats);
        new
    }
}

impl Inner {
    /// Begins what is due.
    fn tick(self: &Arc<Self>) -> Vec<watch::Receiver<u64>> {
        let now = self.clock.now();
        let holders = self.snapshot.load().holders();
        for holder in holders.iter().filter(|holder| holder.turns_stale(now)) {
            self.tell(holder, now, What::Stale);
        }
        let due = holders.iter().filter(|holder| holder.is_due(now));
        due.filter_map(|holder| self.begin(holder, None)).collect()
    }

    /// Looks for what nobody knows, once for all who ask at the same time, and waits until it is found or no issuer is left
    /// to wait for.
    async fn ask(self: &Arc<Self>, holders: &[Arc<Holder>], now: Timestamp, find: impl Fn() -> Found) -> Found {
        let mut landed = self.landed.subscribe();
        let flights: Vec<_> = holders
            .iter()
            .filter_map(|holder| self.begin(holder, Some(now)))
            .collect();
        loop {
            // A flight that is over has brought what it could before this look.
            let is_over = flights.iter().all(|flight| flight.has_changed().unwrap_or(true));
            let found = find();
            if is_over || matches!(found, Found::Key { .. }) || landed.changed().await.is_err() {
                return found;
            }
        }
    }

    /// Begins an attempt or joins the one under way; `None` while an asker has to leave the issuer alone. The receiver
    /// changes when the attempt is over. The attempt goes on when whoever began it leaves.
    fn begin(self: &Arc<Self>, holder: &Arc<Holder>, asked: Option<Timestamp>) -> Option<watch::Receiver<u64>> {
        match holder.board(asked, &self.landed) {
            Flight::Joined(finished) => Some(finished),
            Flight::TooSoon => None,
            Flight::Begun(landing, finished) => {
                let (ring, holder) = (Arc::clone(self), Arc::clone(holder));
                self.runtime.spawn(async move {
                    let obtained = source::obtain(&holder.issuer.keys).await;
                    ring.settle(&holder, obtained);
                    drop(landing);
                });
                Some(finished)
            }
        }
    }

    /// Takes what an attempt brought, or keeps the last good set.
    fn settle(&self, holder: &Arc<Holder>, obtained: Result<Obtained, Trouble>) {
        let now = self.clock.now();
        let taken = obtained.and_then(|obtained| {
            let digest = sha256_hex(&obtained.bytes);
            match holder.confirm(&digest, now, obtained.lifetime) {
                Settled::Same => Ok(None),
                Settled::Recovered => Ok(Some(None)),
                Settled::Changed => match KeySet::parse(&obtained.bytes, &holder.issuer.algorithms) {
                    Ok(set) => Ok(Some(Some((set, digest, obtained.lifetime)))),
                    Err(error) => Err(Trouble::Malformed(error)),
                },
            }
        });
        match taken {
            Ok(None) => {}
            Ok(Some(None)) => {
                let keys = self.snapshot.load().keys_of(holder);
                self.tell(holder, now, What::Taken { keys });
            }
            Ok(Some(Some((set, digest, lifetime)))) => {
                let keys = set.len();
                if let Some(conflicts) = self.replace(holder, set) {
                    holder.take(digest, now, lifetime);
                    self.tell(holder, now, What::Taken { keys });
                    for (holder, what) in conflicts {
                        self.tell(&holder, now, what);
                    }
                }
            }
            Err(trouble) => {
                let keeps = self.snapshot.load().has_keys(holder) && !holder.is_stale(now);
                if holder.fails(&trouble, now) {
                    self.tell(holder, now, What::Failed { trouble, keeps });
                }
            }
        }
    }

    /// A snapshot with a new set of one issuer, and the conflicts that came with it; `None` when the policy does not
    /// name the issuer any more.
    fn replace(&self, holder: &Arc<Holder>, set: KeySet) -> Option<Vec<(Arc<Holder>, What)>> {
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.snapshot.load_full();
        let mut seats = before.seats.clone();
        let seat = seats.iter_mut().find(|seat| Arc::ptr_eq(&seat.holder, holder))?;
        seat.keys = Some(Arc::new(set));
        let after = self.put(&before, seats);
        Some(after.new_conflicts(&before))
    }

    fn put(&self, before: &Snapshot, seats: Vec<Seat>) -> Arc<Snapshot> {
        let generation = self.generation.fetch_add(1, Ordering::AcqRel).saturating_add(1);
        let snapshot = Arc::new(Snapshot::after(before, seats, generation));
        self.snapshot.store(Arc::clone(&snapshot));
        snapshot
    }

    fn tell(&self, holder: &Holder, at: Timestamp, what: What) {
        (self.tell)(&Event {
            at,
            issuer: holder.issuer.name.clone(),
            source: source::shown(&holder.issuer.keys),
            what,
        });
    }
}
