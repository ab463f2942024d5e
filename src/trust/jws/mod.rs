//! JSON Web Signatures in compact form (RFC 7515): detached for messages, attached for tokens and proofs.
//!
//! Reading and verifying are apart, as the key is looked up between: [`split_detached`] or [`split_compact`], then
//! [`parse_header`], then the key, then [`judge`] for messages or [`Jws::verify`] for the rest. The payload is always
//! part of what is signed as base64url (RFC 7515 §5.1); RFC 7797 is not used.

mod header;
mod judge;
#[cfg(test)]
mod tests;

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::keys::PublicKey;
use crate::contract::Rule;
use crate::facts::Fault;
use crate::policy::Algorithm;

pub use header::{HEADER_MAX, Header, Kind, Need, parse_header};
pub use judge::{Before, Found, Place, judge};

/// A compact JWS in its three parts, every one of them base64url as RFC 7515 wants it.
#[derive(Clone, PartialEq, Eq)]
pub struct Jws<'a> {
    text: &'a str,
    /// Header and payload with the point between them, as they came: what is signed, when the payload is attached.
    signed: &'a str,
    header: &'a str,
    payload: &'a str,
    signature: Vec<u8>,
}

/// Shows nothing: a token is a credential.
impl fmt::Debug for Jws<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Jws").finish_non_exhaustive()
    }
}

/// Splits a detached JWS, `header..signature`.
///
/// # Errors
/// `signature.malformed`: not three parts, an empty header, a payload, or a part that is padded or not base64url in its
/// one canonical form. An empty signature is well formed, and wrong.
pub fn split_detached(text: &str) -> Result<Jws<'_>, Fault> {
    split(text)
        .filter(|jws| jws.payload.is_empty())
        .ok_or_else(|| malformed("expected one detached compact JWS, `header..signature`, in unpadded base64url"))
}

/// Splits a JWS that carries its payload, `header.payload.signature`; the payload may be empty.
///
/// # Errors
/// As [`split_detached`]; whoever asks gives it a rule of its own.
pub fn split_compact(text: &str) -> Result<Jws<'_>, Fault> {
    split(text).ok_or_else(|| malformed("expected one compact JWS, `header.payload.signature`, in unpadded base64url"))
}

fn split(text: &str) -> Option<Jws<'_>> {
    let (signed, signature) = text.rsplit_once('.')?;
    let (header, payload) = signed.split_once('.')?;
    if header.is_empty() || payload.contains('.') {
        return None;
    }
    let jws = Jws {
        text,
        signed,
        header,
        payload,
        signature: decode(signature)?,
    };
    (decode(header).is_some() && decode(payload).is_some()).then_some(jws)
}

/// Unpadded base64url; bits after the last byte have to be zero, so that no two texts mean the same bytes.
fn decode(part: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(part).ok()
}

fn malformed(detail: &str) -> Fault {
    Fault {
        rule: Rule::SignatureMalformed,
        detail: detail.to_owned(),
        kid: None,
        alg: None,
    }
}

impl Jws<'_> {
    /// The text it was split from.
    pub const fn text(&self) -> &str {
        self.text
    }

    /// The payload it carries; empty when it is detached.
    pub fn payload(&self) -> Vec<u8> {
        decode(self.payload).unwrap_or_default()
    }

    /// Whether its signature is one of this key over the payload that it carries.
    pub fn verify(&self, key: &PublicKey, algorithm: Algorithm) -> bool {
        key.verify(algorithm, self.signed.as_bytes(), &self.signature)
    }

    /// Whether its signature is one of this key over a payload that it does not carry.
    pub fn verify_detached(&self, key: &PublicKey, algorithm: Algorithm, payload: &[u8]) -> bool {
        self.payload.is_empty()
            && key.verify(
                algorithm,
                signing_input(self.header, payload).as_bytes(),
                &self.signature,
            )
    }
}

/// What is signed (RFC 7515 §5.1): the encoded header, a point, and the payload in base64url.
pub fn signing_input(encoded_header: &str, payload: &[u8]) -> String {
    let length = base64::encoded_len(payload.len(), false).unwrap_or_default();
    let mut text = String::with_capacity(length.saturating_add(encoded_header.len()).saturating_add(1));
    text.push_str(encoded_header);
    text.push('.');
    BASE64_URL_SAFE_NO_PAD.encode_string(payload, &mut text);
    text
}
