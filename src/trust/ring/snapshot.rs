//! Every set at one moment, and which of them a `kid` belongs to. Pure: made anew with every change.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::holder::Holder;
use super::{Found, Unready, What};
use crate::policy::Issuer;
use crate::trust::keys::{KeySet, PublicKey};

/// `kid`s that one event names.
pub(super) const CONFLICTS_SHOWN: usize = 20;

/// The sets of all issuers.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    /// Greater than that of every snapshot before.
    pub generation: u64,
    /// One a issuer, in file order.
    pub seats: Vec<Seat>,
    /// The one key that a `kid` names, and the seat it is in.
    owners: HashMap<Arc<str>, (usize, Arc<PublicKey>)>,
    /// `kid`s that a seat holds and another one owns: (seat, owner, kid), sorted.
    conflicts: Vec<(usize, usize, Arc<str>)>,
}

/// One issuer's place.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    pub holder: Arc<Holder>,
    /// The last good set; `None` before the first.
    pub keys: Option<Arc<KeySet>>,
}

impl Seat {
    fn is_usable(&self, now: Timestamp) -> bool {
        self.keys.is_some() && !self.holder.is_stale(now)
    }
}

impl Snapshot {
    /// These seats. A `kid` in two sets stays with the issuer that it belonged to before; among sets that bring it at
    /// once, it is the first issuer's.
    pub fn after(before: &Self, seats: Vec<Seat>, generation: u64) -> Self {
        let mut owners: HashMap<Arc<str>, (usize, Arc<PublicKey>)> = HashMap::new();
        let mut conflicts = Vec::new();
        let belonged = |kid: &str, seat: &Seat| {
            let owner = before.owners.get(kid).and_then(|(index, _)| before.seats.get(*index));
            owner.is_some_and(|owner| owner.holder.issuer.name == seat.holder.issuer.name)
        };
        for (index, seat) in seats.iter().enumerate() {
            let keys = seat.keys.as_deref();
            for kid in keys.into_iter().flat_map(KeySet::kids) {
                let Some(key) = keys.and_then(|keys| keys.get(kid)) else {
                    continue;
                };
                match owners.get(kid).map(|(owner, _)| *owner) {
                    None => {
                        owners.insert(Arc::clone(kid), (index, Arc::clone(key)));
                    }
                    Some(owner) if belonged(kid, seat) => {
                        owners.insert(Arc::clone(kid), (index, Arc::clone(key)));
                        conflicts.push((owner, index, Arc::clone(kid)));
                    }
                    Some(owner) => conflicts.push((index, owner, Arc::clone(kid))),
                }
            }
        }
        // Of three sets with one `kid`, the owner may have changed after the first conflict was noted.
        for (_, owner, kid) in &mut conflicts {
            if let Some((index, _)) = owners.get(kid) {
                *owner = *index;
            }
        }
        conflicts.sort();
        Self {
            generation,
            seats,
            owners,
            conflicts,
        }
    }

    /// See [`super::KeyRing::find`].
    pub fn find(&self, kid: &str, now: Timestamp) -> Found {
        match self.owner(kid) {
            Some((seat, key)) => of_owner(seat, key, now),
            None => self.missing(now),
        }
    }

    /// See [`super::KeyRing::find_of`].
    pub fn find_of(&self, issuer: &str, kid: &str, now: Timestamp) -> Found {
        let Some(own) = self.seats.iter().find(|seat| seat.holder.issuer.name == issuer) else {
            // The policy knows the issuer, and the ring will in a moment.
            return Found::Unavailable { typ_optional: false };
        };
        match self.owner(kid) {
            Some((seat, key)) if Arc::ptr_eq(&seat.holder, &own.holder) => of_owner(seat, key, now),
            Some(_) | None if own.is_usable(now) => Found::Unknown,
            Some(_) | None => unavailable(own),
        }
    }

    fn owner(&self, kid: &str) -> Option<(&Seat, &Arc<PublicKey>)> {
        let (index, key) = self.owners.get(kid)?;
        Some((self.seats.get(*index)?, key))
    }

    fn missing(&self, now: Timestamp) -> Found {
        let mut unusable = self.seats.iter().filter(|seat| !seat.is_usable(now)).peekable();
        if unusable.peek().is_none() {
            return Found::Unknown;
        }
        Found::Unavailable {
            typ_optional: unusable.any(|seat| seat.holder.issuer.typ_optional),
        }
    }

    /// See [`super::KeyRing::unready`].
    pub fn unready(&self, now: Timestamp) -> Option<Unready> {
        if self.seats.iter().any(|seat| seat.keys.is_none()) {
            return Some(Unready::NeverLoaded);
        }
        self.seats
            .iter()
            .any(|seat| seat.holder.is_stale(now))
            .then_some(Unready::Stale)
    }

    /// Whether these are its issuers. Between a new policy and its keys there is a moment in which they are not.
    pub fn is_of(&self, issuers: &[Issuer]) -> bool {
        self.seats.len() == issuers.len()
            && self
                .seats
                .iter()
                .zip(issuers)
                .all(|(seat, issuer)| *seat.holder.issuer == *issuer)
    }

    /// Every holder, in file order.
    pub fn holders(&self) -> Vec<Arc<Holder>> {
        self.seats.iter().map(|seat| Arc::clone(&seat.holder)).collect()
    }

    /// The seat of an issuer of a new policy whose keys come from the same place for the same use.
    pub fn heir(&self, issuer: &Issuer) -> Option<Seat> {
        let seat = self.seats.iter().find(|seat| seat.holder.issuer.name == issuer.name)?;
        let old = &seat.holder.issuer;
        if **old == *issuer {
            return Some(seat.clone());
        }
        (seat.keys.is_some() && old.keys == issuer.keys && old.algorithms == issuer.algorithms).then(|| Seat {
            holder: Arc::new(seat.holder.heir(issuer.clone())),
            keys: seat.keys.clone(),
        })
    }

    /// How many keys the holder's set holds.
    pub fn keys_of(&self, holder: &Arc<Holder>) -> usize {
        self.seat_of(holder)
            .and_then(|seat| seat.keys.as_ref())
            .map_or(0, |keys| keys.len())
    }

    /// Whether a set of this holder was ever taken.
    pub fn has_keys(&self, holder: &Arc<Holder>) -> bool {
        self.seat_of(holder).is_some_and(|seat| seat.keys.is_some())
    }

    fn seat_of(&self, holder: &Arc<Holder>) -> Option<&Seat> {
        self.seats.iter().find(|seat| Arc::ptr_eq(&seat.holder, holder))
    }

    /// What was not in conflict before: one event for each pair of issuers.
    pub fn new_conflicts(&self, before: &Self) -> Vec<(Arc<Holder>, What)> {
        let fresh: Vec<_> = self
            .conflicts
            .iter()
            .filter(|conflict| !before.conflicts.contains(conflict))
            .collect();
        fresh
            .chunk_by(|left, right| (left.0, left.1) == (right.0, right.1))
            .filter_map(|pair| {
                let (later, owner, _) = pair.first()?;
                let kids = pair.iter().map(|(_, _, kid)| Arc::clone(kid));
                Some((
                    Arc::clone(&self.seats.get(*later)?.holder),
                    What::Conflict {
                        with: self.seats.get(*owner)?.holder.issuer.name.clone(),
                        kids: kids.take(CONFLICTS_SHOWN).collect(),
                    },
                ))
            })
            .collect()
    }
}

fn of_owner(seat: &Seat, key: &Arc<PublicKey>, now: Timestamp) -> Found {
    if seat.holder.is_stale(now) {
        return unavailable(seat);
    }
    Found::Key {
        issuer: Arc::clone(&seat.holder.issuer),
        key: Arc::clone(key),
    }
}

fn unavailable(seat: &Seat) -> Found {
    Found::Unavailable {
        typ_optional: seat.holder.issuer.typ_optional,
    }
}
