//! What comes of the signature that a message carries (contract §7): it is verified once, over the canonical bytes, with
//! a key of the ring. The rules of stage 9 and 10 make findings of it.

use std::sync::Arc;

use jiff::Timestamp;

use super::case::Case;
use crate::contract::Rule;
use crate::facts::{Fact, Facts, Fault, Proof, Signed};
use crate::message::envelope::{Envelope, Message};
use crate::policy::{Credential, Policy, Route};
use crate::rules::signature::carried;
use crate::trust::jws::{self, Before, Kind, Place};
use crate::trust::remembered::Remembered;
use crate::trust::ring::{Found, KeyRing};

/// Signatures remembered at once; a retry is what finds its signature again.
const REMEMBERED: u64 = 4096;

/// What signatures are verified with.
#[derive(Debug)]
pub struct Verifier {
    keys: KeyRing,
    remembered: Remembered,
    window: std::time::Duration,
}

impl Verifier {
    /// Remembers what held for the freshness window of the policy in force at the start.
    pub fn new(keys: KeyRing, policy: &Policy) -> Self {
        Self {
            keys,
            remembered: Remembered::new(REMEMBERED, policy.freshness.window),
            window: policy.freshness.window,
        }
    }

    /// The memory, unless a reload has made the window shorter than what it keeps.
    fn remembered(&self, policy: &Policy) -> Option<&Remembered> {
        (self.window <= policy.freshness.window).then_some(&self.remembered)
    }
}

/// Verifies the one well-formed signature of a message, which came to this path; `Absent` when there is none. May wait
/// for one fetch of keys, no longer than [`KeyRing::find_or_fetch`] does.
pub async fn proof(case: &Case, route: &Route, path: &str, message: &Message<'_>, facts: &Facts<'_>) -> Fact<Proof> {
    let Some(text) = carried(message, facts.signature) else {
        return Fact::Absent;
    };
    // While the clock runs backwards a later stage refuses, whatever a key's own times say of it.
    let now = match facts.now {
        Fact::Known(now) => now,
        Fact::Absent | Fact::Unavailable => case.gate.clock.now(),
    };
    Fact::Known(match verified(case, route, path, message, text, now).await {
        Ok(signed) => Proof::Signed(signed),
        Err(fault) => Proof::Failed(fault),
    })
}

async fn verified(
    case: &Case,
    route: &Route,
    path: &str,
    message: &Message<'_>,
    text: &str,
    now: Timestamp,
) -> Result<Signed, Fault> {
    let (verifier, policy) = (&case.gate.verifier, &case.policy);
    let jws = jws::split_detached(text)?;
    let kind = match message.envelope() {
        Envelope::Canonical => Kind::MESSAGE,
        Envelope::Delivery => Kind::DELIVERY,
    };
    let header = jws::parse_header(&jws, &kind)?;
    let Some(kid) = header.kid.as_deref() else {
        return Err(header.fault(Rule::SignatureHeader, "expected `kid`"));
    };
    let found = match header.algorithm {
        Some(_) => verifier.keys.find_or_fetch(kid, now).await,
        // Nothing that is fetched would make this `alg` a good one.
        None => verifier.keys.find(kid, now),
    };
    let found = verifier.keys.under(&policy.trust, found);
    let url = policy.public_url.as_ref().map(|origin| format!("{origin}{path}"));
    let audiences: Vec<&str> = policy.agent.ids.iter().chain(&url).map(String::as_str).collect();
    let before = verifier.remembered(policy).map(|remembered| Before {
        remembered,
        digest: message.digest(),
        generation: verifier.keys.generation(),
    });
    jws::judge(
        &jws,
        &header,
        match &found {
            Found::Key { issuer, key } => jws::Found::Key {
                key,
                typ_optional: issuer.typ_optional,
            },
            Found::Unknown => jws::Found::Unknown,
            Found::Unavailable { typ_optional } => jws::Found::Unavailable {
                typ_optional: *typ_optional,
            },
        },
        Place {
            now,
            audiences: &audiences,
            audience_required: route.proofs.audience_required,
        },
        message.canonical(),
        before,
    )?;
    let Found::Key { issuer, .. } = found else {
        return Err(header.fault(Rule::SignatureKeyUnknown, "expected the `kid` of a known key"));
    };
    let credential = Credential::Key {
        issuer: issuer.name.clone(),
        kid: kid.to_owned(),
    };
    let principal = policy.trust.proven_by(&credential);
    Ok(Signed {
        issuer: Arc::from(issuer.name.as_str()),
        kid: Arc::from(kid),
        issued_at: header.issued_at,
        has_audience: header.aud.is_some(),
        principal: principal.map(|principal| Arc::from(principal.name.as_str())),
    })
}
