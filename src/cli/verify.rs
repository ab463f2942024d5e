//! Verifying the signature of a message by a JWK Set on the command line (contract §4, "Offline").

use std::path::Path;

use jiff::Timestamp;

use crate::facts::{Fact, Fault, Proof, Signed};
use crate::message::envelope::{Envelope, Message};
use crate::policy::{Algorithm, Policy, Route};
use crate::rules::signature;
use crate::trust::jws::{Found, Header, Kind, Place, judge, parse_header, split_detached};
use crate::trust::keys::KeySet;

/// The largest JWK Set read.
const SET_MAX: u64 = 256 * 1024;

/// The keys that messages are verified by, as if they were of one issuer.
pub struct Keys(KeySet);

impl Keys {
    /// Reads a JWK Set for the algorithms that the policy's issuers take, or the default ones.
    ///
    /// # Errors
    /// Why it cannot be used, for the screen.
    pub fn read(file: &Path, policy: &Policy) -> Result<Self, String> {
        let named = || policy.trust.issuers.iter().flat_map(|issuer| &issuer.algorithms);
        let algorithms: Vec<Algorithm> = match policy.trust.issuers.is_empty() {
            true => Algorithm::DEFAULT.to_vec(),
            false => Algorithm::ALL
                .iter()
                .copied()
                .filter(|algorithm| named().any(|named| named == algorithm))
                .collect(),
        };
        let length = std::fs::metadata(file).map_err(|error| format!("{}: {error}", file.display()))?;
        if length.len() > SET_MAX {
            return Err(format!("{}: more than {SET_MAX} bytes", file.display()));
        }
        let text = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
        KeySet::parse(&text, &algorithms)
            .map(Self)
            .map_err(|error| format!("{}: {error}", file.display()))
    }

    /// What comes of the signature that stands in the message. `declared` tells whether the policy is the operator's, so
    /// that it is known what `aud` has to be.
    pub fn prove(
        &self,
        message: &Message<'_>,
        policy: &Policy,
        route: &Route,
        now: Timestamp,
        declared: bool,
    ) -> Option<Proof> {
        let text = signature::carried(message, Fact::Absent)?;
        let kind = match message.envelope() {
            Envelope::Canonical => &Kind::MESSAGE,
            Envelope::Delivery => &Kind::DELIVERY,
        };
        let judged = split_detached(text)
            .and_then(|jws| Ok((parse_header(&jws, kind)?, jws)))
            .and_then(|(header, jws)| {
                let url = policy
                    .public_url
                    .as_ref()
                    .map(|origin| format!("{origin}{}", route.path.as_str()));
                let ids = policy.agent.ids.iter().map(String::as_str);
                let own = header.aud.as_deref().filter(|_| !declared);
                let audiences: Vec<&str> = ids.chain(url.as_deref()).chain(own).collect();
                let place = Place {
                    now,
                    audiences: &audiences,
                    audience_required: route.proofs.audience_required,
                };
                judge(&jws, &header, self.find(&header), place, message.canonical(), None)?;
                Ok(header)
            });
        Some(match judged {
            Ok(header) => Proof::Signed(signed(header)),
            Err(fault) => Proof::Failed(Fault { kid: None, ..fault }),
        })
    }

    fn find(&self, header: &Header) -> Found<'_> {
        let key = header.kid.as_deref().and_then(|kid| self.0.get(kid));
        key.map_or(Found::Unknown, |key| Found::Key {
            key,
            typ_optional: false,
        })
    }
}

fn signed(header: Header) -> Signed {
    Signed {
        issuer: "--keys".into(),
        kid: header.kid.unwrap_or_default().into(),
        issued_at: header.issued_at,
        has_audience: header.aud.is_some(),
        principal: None,
    }
}
