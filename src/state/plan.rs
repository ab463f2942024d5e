//! What one request wants remembered: which entries, for how long, and to whom a stored answer may go (contract §8).

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::entry::Owner;
use super::fingerprint::{self, Short, short};
use super::scope::{self, Named, Who};
use super::store::{Key, Millis};
use crate::facts::{Fact, Facts, Proof};
use crate::message::envelope::{Envelope, Message};
use crate::policy::{Freshness, Idempotency, Policy, Replay, Route};
use crate::rules::authority;

/// Added to the backend's deadline where the policy sets no `idempotency.running_lease`.
const LEASE_BEYOND: Duration = Duration::from_secs(30);

/// What is remembered of one request. Nothing of it is written before every stateless stage has passed.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Now.
    pub now: Timestamp,
    /// A proof that is good once.
    pub proof: Option<OneUse>,
    /// The idempotency key.
    pub key: Option<Keyed>,
    /// The message id.
    pub id: Option<Id>,
    /// Digest of this message; of a request without an envelope its fingerprint.
    pub digest: Short,
    /// Whose run it is.
    pub owner: Owner,
    /// The time of issue that the fence has to cover.
    pub issued: Option<Timestamp>,
    /// Bounds of what is remembered.
    pub bounds: Bounds,
}

/// How much may be remembered.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Of messages.
    pub replay: Replay,
    /// Of keys and answers.
    pub idempotency: Idempotency,
    /// The furthest that clocks may differ.
    pub skew: Duration,
}

/// A message id that may be admitted once.
#[derive(Clone, Copy, Debug)]
pub struct Id {
    /// Its entry.
    pub key: Key,
    /// The count of its sender.
    pub share: Key,
    /// Somebody is proven to have sent it.
    pub is_proven: bool,
    /// As long as the message is fresh to any replica.
    pub until: Millis,
}

/// An idempotency key.
#[derive(Clone, Copy, Debug)]
pub struct Keyed {
    /// Its entry.
    pub key: Key,
    /// What makes two requests the same.
    pub fingerprint: Short,
    /// As long as the key and its answer are kept.
    pub until: Millis,
    /// A run that is still going then has lost its owner.
    pub lease: Millis,
    /// Who gets the stored answer.
    pub reuse: Reuse,
}

/// Who gets a stored answer (contract §8, "Idempotency scope").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// Whoever proves to be the same presenter.
    Presenter,
    /// A message that was not seen before, byte for byte: issued and signed anew by the same signer.
    NewMessage,
    /// Nobody, as nobody is proven.
    Nobody,
}

/// A proof that is good once: the `jti` of a DPoP proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneUse {
    /// Its entry.
    pub key: Key,
    /// The count of its principal.
    pub share: Key,
    /// When it was made, which the fence has to lie before.
    pub issued: Timestamp,
    /// As long as the proof could be accepted.
    pub until: Millis,
}

impl OneUse {
    /// A DPoP proof of this principal that nobody accepts any more from `until` on.
    pub fn dpop(presenter: &str, thumbprint: &str, jti: &str, issued: Timestamp, until: Timestamp) -> Self {
        Self {
            key: scope::proof(thumbprint, jti),
            share: scope::proof_share(presenter),
            issued,
            until: millis(until),
        }
    }
}

/// What a plan is made from, besides the request itself.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// The policy in force.
    pub policy: &'a Policy,
    /// The route.
    pub route: &'a Route,
    /// Who is proven.
    pub facts: &'a Facts<'a>,
    /// A clock that runs.
    pub now: Timestamp,
    /// How long the backend has.
    pub deadline: Duration,
    /// Whose run it is.
    pub owner: Owner,
    /// The proof that was presented.
    pub proof: Option<OneUse>,
}

impl Plan {
    /// What is remembered of a message. `key` is the `Idempotency-Key` field, unquoted.
    pub fn of_message(around: &Around<'_>, message: &Message<'_>, key: Option<&str>) -> Self {
        let (who, tenant) = who(around, message.sender().unwrap_or_default());
        let digest = short(message.digest().as_bytes());
        let named = Named {
            tenant,
            sender: message.sender().unwrap_or_default(),
            id: message.id().unwrap_or_default(),
            target: match message.envelope() {
                Envelope::Canonical => message.text(message.address_path()),
                Envelope::Delivery => message.text(message.key_path()),
            }
            .unwrap_or_default(),
        };
        let issued = match (message.envelope(), around.facts.proof) {
            (Envelope::Canonical, _) => message
                .text(&["provenance", "issued_at"])
                .and_then(|text| text.parse().ok()),
            (Envelope::Delivery, Fact::Known(Proof::Signed(signed))) => signed.issued_at,
            (Envelope::Delivery, Fact::Known(Proof::Failed(_)) | Fact::Absent | Fact::Unavailable) => None,
        };
        let key = match message.envelope() {
            Envelope::Canonical => message.text(message.key_path()),
            Envelope::Delivery => key.or_else(|| message.text(message.key_path())),
        };
        Self {
            id: Some(Id {
                key: scope::replay(who, &named, digest),
                share: scope::share(who, tenant, named.sender),
                is_proven: who != Who::Nobody,
                until: remembered_until(issued, around.now, &around.policy.freshness),
            }),
            key: key.map(|key| keyed(around, who, key, fingerprint::of_message(message))),
            issued,
            ..Self::empty(around, digest)
        }
    }

    /// What is remembered of a request without an envelope.
    pub fn of_request(around: &Around<'_>, key: Option<&str>, fingerprint: Short) -> Self {
        let (who, _) = who(around, "");
        Self {
            key: key.map(|key| keyed(around, who, key, fingerprint)),
            ..Self::empty(around, fingerprint)
        }
    }

    /// Whether nothing is remembered at all.
    pub const fn is_empty(&self) -> bool {
        self.proof.is_none() && self.key.is_none() && self.id.is_none()
    }

    /// Whether something of it has to be settled after the backend was called.
    pub const fn runs(&self) -> bool {
        self.key.is_some() || self.id.is_some()
    }

    fn empty(around: &Around<'_>, digest: Short) -> Self {
        Self {
            now: around.now,
            proof: around.proof,
            key: None,
            id: None,
            digest,
            owner: around.owner,
            issued: None,
            bounds: Bounds {
                replay: around.policy.replay.clone(),
                idempotency: around.policy.idempotency.clone(),
                skew: around.policy.freshness.skew,
            },
        }
    }
}

fn keyed(around: &Around<'_>, who: Who<'_>, key: &str, fingerprint: Short) -> Keyed {
    let idempotency = &around.policy.idempotency;
    let beyond = around.deadline.saturating_add(LEASE_BEYOND);
    // A run of which the backend still has time is never taken for lost, and never forgotten while it runs.
    let lease = idempotency.running_lease.unwrap_or(beyond).max(around.deadline);
    let now = millis(around.now);
    Keyed {
        key: scope::idempotency(who, &around.route.name, key, fingerprint),
        fingerprint,
        until: later(now, idempotency.retention.max(lease)),
        lease: later(now, lease),
        reuse: match who {
            Who::Presenter(_) => Reuse::Presenter,
            Who::Signer(..) | Who::Issuer(..) => Reuse::NewMessage,
            Who::Nobody => Reuse::Nobody,
        },
    }
}

/// Presenter, else signer; and the tenant of the principal whose authority counts, as a message is its signer's whoever
/// presents it.
fn who<'a>(around: &Around<'a>, sender: &'a str) -> (Who<'a>, &'a str) {
    let principal = authority::proven(around.policy, around.facts).principal();
    let tenant = principal.and_then(|principal| principal.tenant.as_deref());
    let who = match (around.facts.presenter, around.facts.proof) {
        (Fact::Known(presenter), _) => Who::Presenter(&presenter.principal),
        (Fact::Absent | Fact::Unavailable, Fact::Known(Proof::Signed(signed))) => match &signed.principal {
            Some(principal) => Who::Signer(principal, sender),
            None => Who::Issuer(&signed.issuer, sender),
        },
        (Fact::Absent | Fact::Unavailable, Fact::Known(Proof::Failed(_)) | Fact::Absent | Fact::Unavailable) => {
            Who::Nobody
        }
    };
    (who, tenant.unwrap_or_default())
}

/// `issued_at` + window + 2 × skew, as two replicas' clocks may differ by the skew; for a message whose time of issue is
/// not known, as if it were issued as late as it may be.
fn remembered_until(issued: Option<Timestamp>, now: Timestamp, freshness: &Freshness) -> Millis {
    let latest = now.saturating_add(signed(freshness.skew)).unwrap_or(Timestamp::MAX);
    let from = millis(issued.unwrap_or(latest).min(latest));
    let twice = freshness.skew.saturating_mul(2);
    later(from, freshness.window.saturating_add(twice))
}

/// Milliseconds since the epoch; a time before it counts as the epoch.
pub fn millis(time: Timestamp) -> Millis {
    Millis::try_from(time.as_millisecond()).unwrap_or(0)
}

/// A time later by this much, rounded up to the millisecond.
fn later(from: Millis, by: Duration) -> Millis {
    let by = Millis::try_from(by.as_millis()).unwrap_or(Millis::MAX);
    from.saturating_add(by).saturating_add(1)
}

fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{Case, judged, presented, principal, signed_by};

    /// What is remembered of the usual message after this change.
    fn plan(change: impl Fn(&mut Case)) -> Plan {
        judged(change, |input| {
            let now = "2026-05-31T18:01:00Z".parse().unwrap();
            let around = Around {
                policy: input.policy,
                route: input.route,
                facts: input.facts,
                now,
                deadline: Duration::from_secs(30),
                owner: [0; 8],
                proof: None,
            };
            Plan::of_message(&around, input.message, None)
        })
    }

    /// A signed message is the same message whoever carries it.
    #[test]
    fn the_tenant_is_that_of_the_signer() {
        let carried = |by: Option<&'static str>| {
            let plan = plan(move |case| {
                principal(case, "anna").tenant = Some("one".to_owned());
                principal(case, "bert").tenant = Some("two".to_owned());
                signed_by(case, Some("bert"));
                if let Some(by) = by {
                    presented(case, by);
                }
            });
            plan.id.unwrap().key
        };
        assert_eq!(carried(Some("anna")), carried(Some("bert")));
        assert_eq!(carried(None), carried(Some("bert")));
    }

    #[test]
    fn the_tenant_of_an_unsigned_message_is_that_of_its_presenter() {
        let of = |tenant: &'static str| {
            let plan = plan(move |case| {
                principal(case, "anna").tenant = Some(tenant.to_owned());
                presented(case, "anna");
            });
            plan.id.unwrap().key
        };
        assert_ne!(of("one"), of("two"));
    }
}
