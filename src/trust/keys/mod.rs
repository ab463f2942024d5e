//! Public keys (RFC 7517), read once when a set is loaded and never while a message is judged.
//!
//! A set is taken whole or not at all: what is malformed, weak or secret refuses it, with the place and what was
//! expected. A key that is well formed and of no use here is left out, and [`KeySet::remarks`] names it.

mod edwards;
mod jwk;
mod rsa;
mod set;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use aws_lc_rs::signature::ParsedPublicKey;
use jiff::Timestamp;

use crate::contract::Pointer;
use crate::policy::Algorithm;

pub use set::{KEYS_MAX, KeySet, Remark, TEXT_MAX};

/// Why a key or a set is not taken. Never holds a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{place}`: {detail}")]
pub struct KeyError {
    /// Where, such as `/keys/3/crv`.
    pub place: Pointer,
    /// What was expected.
    pub detail: Cow<'static, str>,
}

/// One public key, parsed and ready to verify.
pub struct PublicKey {
    kid: Option<Arc<str>>,
    thumbprint: String,
    /// Every algorithm it may be used with.
    verifiers: Vec<(Algorithm, ParsedPublicKey)>,
    /// `nbf`, seconds since 1970.
    not_before: Option<i64>,
    /// `exp`, seconds since 1970.
    expires: Option<i64>,
}

impl PublicKey {
    /// Its `kid`. A key of a [`KeySet`] has one; a key that travels in a header need not.
    pub fn kid(&self) -> Option<&Arc<str>> {
        self.kid.as_ref()
    }

    /// RFC 7638 thumbprint with SHA-256, base64url: what `jkt` names (RFC 9449).
    pub fn thumbprint(&self) -> &str {
        &self.thumbprint
    }

    /// The algorithms that `kty`, `crv`, its own `alg` and the issuer's list leave; perhaps none.
    pub fn algorithms(&self) -> impl Iterator<Item = Algorithm> {
        self.verifiers.iter().map(|(algorithm, _)| *algorithm)
    }

    /// Whether it may be used with this algorithm at all.
    pub fn fits(&self, algorithm: Algorithm) -> bool {
        self.algorithms().any(|fits| fits == algorithm)
    }

    /// Whether `nbf` has come and `exp` has not; no skew is granted, as whoever makes a key can date it.
    pub fn is_in_time(&self, now: Timestamp) -> bool {
        let now = now.as_second();
        self.not_before.is_none_or(|begin| begin <= now) && self.expires.is_none_or(|end| now < end)
    }

    /// Whether it may verify a signature of this algorithm now. `use` and `key_ops` were honoured when it was loaded.
    pub fn usable(&self, now: Timestamp, algorithm: Algorithm) -> bool {
        self.fits(algorithm) && self.is_in_time(now)
    }

    /// Whether the signature is one of this key over the message. ECDSA signatures are `r || s` of fixed length (RFC
    /// 7518 §3.4), the salt of PS256 is as long as its hash, and Ed25519 is strict: `S` below the order, `R` as encoded.
    /// An algorithm that the key does not fit verifies nothing.
    pub fn verify(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        self.verifiers
            .iter()
            .find(|(fits, _)| *fits == algorithm)
            .is_some_and(|(_, key)| key.verify_sig(message, signature).is_ok())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PublicKey")
            .field("kid", &self.kid)
            .field("algorithms", &self.algorithms().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
