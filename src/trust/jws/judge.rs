//! The signature of a message, once its key was looked for: every finding of stage 9 that is left, the first in the order
//! of contract §6.2.

use jiff::Timestamp;

use super::{Header, Jws};
use crate::contract::Rule;
use crate::facts::Fault;
use crate::trust::keys::PublicKey;
use crate::trust::remembered::{Mark, Remembered};

/// What came of looking for the key.
#[derive(Clone, Copy, Debug)]
pub enum Found<'a> {
    /// It is this one.
    Key {
        /// The key.
        key: &'a PublicKey,
        /// Its issuer's messages may leave out `typ`.
        typ_optional: bool,
    },
    /// No set that can be relied on holds it.
    Unknown,
    /// A set that may hold it cannot be relied on.
    Unavailable {
        /// Some issuer of such a set lets `typ` be left out.
        typ_optional: bool,
    },
}

/// When and where the message was received.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The wall clock, for `nbf` and `exp` of the key.
    pub now: Timestamp,
    /// What `aud` may be: the route's absolute URL and the ids of the agent.
    pub audiences: &'a [&'a str],
    /// The route asks for an `aud`.
    pub audience_required: bool,
}

/// What was verified before.
#[derive(Clone, Copy, Debug)]
pub struct Before<'a> {
    /// The memory.
    pub remembered: &'a Remembered,
    /// SHA-256 of the canonical bytes, as the message has it.
    pub digest: &'a str,
    /// The generation of the key sets that the key was found in.
    pub generation: u64,
}

/// Judges a detached JWS over the canonical bytes of a message.
///
/// # Errors
/// The first of `signature.header` (`typ` is missing and this issuer wants it), `signature.algorithm`,
/// `signature.key-unknown` (also of a key that is not good at this time), `keys.unavailable`,
/// `signature.wrong-audience`, `signature.wrong`.
pub fn judge(
    jws: &Jws<'_>,
    header: &Header,
    found: Found<'_>,
    place: Place<'_>,
    canonical: &[u8],
    before: Option<Before<'_>>,
) -> Result<(), Fault> {
    let typ_optional = match found {
        Found::Key { typ_optional, .. } | Found::Unavailable { typ_optional } => typ_optional,
        Found::Unknown => false,
    };
    if header.typ.is_none() && !typ_optional {
        return Err(header.fault(Rule::SignatureHeader, "expected `typ`"));
    }
    let wrong_algorithm = "expected an `alg` that the contract, the issuer and the key allow";
    let algorithm = header
        .algorithm
        .ok_or_else(|| header.fault(Rule::SignatureAlgorithm, wrong_algorithm))?;
    let key = match found {
        Found::Key { key, .. } if !key.fits(algorithm) => {
            return Err(header.fault(Rule::SignatureAlgorithm, wrong_algorithm));
        }
        Found::Key { key, .. } if !key.is_in_time(place.now) => {
            let detail = "expected a key that is good at this time, by its `nbf` and `exp`";
            return Err(header.fault(Rule::SignatureKeyUnknown, detail));
        }
        Found::Key { key, .. } => key,
        Found::Unknown => {
            let detail = "expected the `kid` of a key that an issuer of the policy publishes";
            return Err(header.fault(Rule::SignatureKeyUnknown, detail));
        }
        Found::Unavailable { .. } => {
            let detail = "expected key sets that are recent enough to be relied on";
            return Err(header.fault(Rule::KeysUnavailable, detail));
        }
    };
    let for_here = match header.aud.as_deref() {
        Some(aud) => place.audiences.contains(&aud),
        None => !place.audience_required,
    };
    if !for_here {
        let detail = "expected `aud` to be the URL of this route or an id of its agent";
        return Err(header.fault(Rule::SignatureWrongAudience, detail));
    }
    let mark = before.map(|before| (before, Mark::of(before.digest, jws.text, key, before.generation)));
    if mark.is_some_and(|(before, mark)| before.remembered.holds(&mark, place.now)) {
        return Ok(());
    }
    if !jws.verify_detached(key, algorithm, canonical) {
        return Err(header.fault(Rule::SignatureWrong, "expected a signature over the canonical bytes"));
    }
    if let Some((before, mark)) = mark {
        before.remembered.keep(mark, place.now);
    }
    Ok(())
}
