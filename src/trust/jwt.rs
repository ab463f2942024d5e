//! What access tokens and DPoP proofs share: a JWS that carries claims (RFC 7519), believed in nothing until verified.

use std::borrow::Cow;
use std::fmt;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;

use super::jws::{Header, Jws, Kind, parse_header, split_compact};
use super::keys::PublicKey;
use crate::message::json::{self, Bounds, Node};
use crate::policy::Algorithm;

/// A claim set is small; its bytes are bounded by those of the header fields.
const BOUNDS: Bounds = Bounds {
    depth: 8,
    string: 16 * 1024,
    members: 128,
    elements: 256,
    values: 2048,
};

/// What was expected; never a value.
pub type Expected = Cow<'static, str>;

/// A JWT whose header is one of its kind.
pub struct Jwt<'a> {
    /// The header.
    pub header: Header,
    /// `alg`; never `none` or an HMAC.
    pub algorithm: Algorithm,
    jws: Jws<'a>,
    payload: Vec<u8>,
}

/// The claims of a JWT.
pub struct Claims<'a>(Node<'a>);

/// Shows the header alone.
impl fmt::Debug for Jwt<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Jwt");
        shown.field("header", &self.header).finish_non_exhaustive()
    }
}

/// Shows nothing: claims are values of somebody else.
impl fmt::Debug for Claims<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Claims").finish_non_exhaustive()
    }
}

impl<'a> Jwt<'a> {
    /// Splits it and reads its header.
    ///
    /// # Errors
    /// What was expected.
    pub fn open(text: &'a str, kind: &Kind) -> Result<Self, Expected> {
        let jws = split_compact(text).map_err(|fault| fault.detail)?;
        let header = parse_header(&jws, kind).map_err(|fault| fault.detail)?;
        Ok(Self {
            algorithm: header.algorithm.ok_or("expected an asymmetric `alg`")?,
            header,
            payload: jws.payload(),
            jws,
        })
    }

    /// Reads its claims as strict JSON.
    ///
    /// # Errors
    /// What was expected.
    pub fn claims(&self) -> Result<Claims<'_>, Expected> {
        match json::read(&self.payload, &BOUNDS) {
            Ok(node) if node.members().is_some() => Ok(Claims(node)),
            Ok(_) | Err(_) => Err("expected claims to be a strict JSON object".into()),
        }
    }

    /// Whether this key may be used now with `alg`, and signed it.
    pub fn is_signed_by(&self, key: &PublicKey, now: Timestamp) -> bool {
        key.usable(now, self.algorithm) && self.jws.verify(key, self.algorithm)
    }
}

impl<'a> Claims<'a> {
    /// A claim of any type.
    pub fn get(&self, name: &str) -> Option<&Node<'a>> {
        self.0.get(name)
    }

    /// A claim that is text, or absent.
    ///
    /// # Errors
    /// Another type.
    pub fn text(&self, name: &str) -> Result<Option<&str>, Expected> {
        match self.get(name).map(Node::text) {
            None => Ok(None),
            Some(Some(text)) => Ok(Some(text)),
            Some(None) => Err(format!("expected `{name}` as text").into()),
        }
    }

    /// A claim that is a NumericDate (RFC 7519 §2), or absent: seconds since 1970, with a fraction perhaps.
    ///
    /// # Errors
    /// Another type.
    pub fn seconds(&self, name: &str) -> Result<Option<f64>, Expected> {
        match self.get(name).map(Node::number) {
            None => Ok(None),
            Some(Some(number)) => Ok(Some(number.value)),
            Some(None) => Err(format!("expected `{name}` as a number").into()),
        }
    }
}

/// Seconds since 1970.
pub fn seconds(time: Timestamp) -> f64 {
    time.as_duration().as_secs_f64()
}

/// base64url of the SHA-256: `ath` (RFC 9449 §4.2), `x5t#S256` (RFC 8705 §3.1).
pub fn hash(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, bytes))
}
