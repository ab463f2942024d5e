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
    let found = under(policy, &verifier.keys, found);
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

/// What was found, as far as it is the policy's of this request: right after a reload the ring may serve the policy before
/// it, or the request may be judged by that one.
fn under(policy: &Policy, keys: &KeyRing, found: Found) -> Found {
    match found {
        Found::Key { issuer, key } if policy.trust.issuer(&issuer.name) == Some(&*issuer) => Found::Key { issuer, key },
        Found::Key { issuer, .. } => Found::Unavailable {
            typ_optional: issuer.typ_optional,
        },
        Found::Unknown if keys.is_of(&policy.trust) => Found::Unknown,
        Found::Unknown => Found::Unavailable { typ_optional: false },
        Found::Unavailable { typ_optional } => Found::Unavailable { typ_optional },
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;
    use crate::clock::Clock;
    use crate::policy::{Algorithm, Issuer, KeySource, Trust};
    use crate::rules::testing::judged;
    use crate::trust::keys::KeySet;

    /// The key of RFC 8037, Appendix A.2.
    const SET: &[u8] =
        br#"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

    fn issuer() -> Issuer {
        Issuer {
            name: "partner".to_owned(),
            keys: KeySource::File(PathBuf::from("none")),
            algorithms: Algorithm::DEFAULT.to_vec(),
            typ_optional: false,
            senders: Vec::new(),
            token_issuer: None,
            refresh: Duration::from_secs(300),
            unknown_kid_cooldown: Duration::from_secs(30),
            max_stale: Duration::from_secs(3600),
        }
    }

    #[tokio::test]
    async fn between_a_policy_and_its_keys_nothing_can_be_relied_on() {
        let clock = Clock::manual(Timestamp::UNIX_EPOCH);
        let same = KeyRing::start(&Trust::default(), clock.clone(), |_| {}).await;
        let trust = Trust {
            issuers: vec![issuer()],
            ..Trust::default()
        };
        let other = KeyRing::start(&trust, clock, |_| {}).await;
        let key = Arc::clone(KeySet::parse(SET, Algorithm::DEFAULT).unwrap().get("k").unwrap());
        let found = |issuer: Issuer| Found::Key {
            issuer: Arc::new(issuer),
            key: Arc::clone(&key),
        };
        judged(
            |_| {},
            |input| {
                let policy = input.policy;
                assert!(policy.trust.issuers.is_empty());
                assert!(matches!(under(policy, &same, Found::Unknown), Found::Unknown));
                assert!(matches!(
                    under(policy, &other, Found::Unknown),
                    Found::Unavailable { .. }
                ));
                assert!(matches!(
                    under(policy, &other, found(issuer())),
                    Found::Unavailable { .. }
                ));
            },
        );
        judged(
            |case| case.policy.trust.issuers = vec![issuer()],
            |input| {
                let policy = input.policy;
                assert!(matches!(under(policy, &other, found(issuer())), Found::Key { .. }));
                let changed = Issuer {
                    typ_optional: true,
                    ..issuer()
                };
                assert!(matches!(
                    under(policy, &other, found(changed)),
                    Found::Unavailable { typ_optional: true }
                ));
            },
        );
    }
}
