//! DPoP proofs (contract §7, "DPoP"; RFC 9449): that a client has the key which its token is bound to, for this request.
//!
//! A nonce is an HMAC of the minute, so that the gateway remembers none; the one before is good too. Its key is made
//! anew by every process: a client that meets another replica is given that one's nonce and asks again.

use std::fmt;
use std::time::Duration;

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};

use super::jws::Kind;
use super::jwt::{Expected, Jwt, hash, seconds};
use super::uri;
use crate::contract::{Finding, Rule};

/// How old a proof may be (contract §17).
const AGE_MAX: Duration = Duration::from_secs(60);

/// The longest `jti` in characters.
const JTI_MAX: usize = 128;

/// How long one nonce is given out.
const NONCE_STEP: i64 = 60;

/// Bytes of a nonce.
const NONCE_LENGTH: usize = 16;

/// What a proof is judged by.
#[derive(Clone, Copy)]
pub struct Judge<'a> {
    /// Now.
    pub now: Timestamp,
    /// How far clocks may differ.
    pub skew: Duration,
    /// The method of the request.
    pub method: &'a str,
    /// `public_url` and the path of the request; `None` when the policy has no `public_url`, and then no proof is good.
    pub url: Option<&'a str>,
    /// The access token beside it.
    pub token: &'a str,
    /// Where the route asks for a nonce: those that are given out.
    pub nonces: Option<&'a Nonces>,
}

/// Shows all but the token.
impl fmt::Debug for Judge<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Judge")
            .field("now", &self.now)
            .field("method", &self.method)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// A proof that was verified, except for the single use of its `jti`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proven {
    /// RFC 7638 thumbprint of its key.
    pub thumbprint: String,
    /// Its `jti`.
    pub jti: Jti,
}

/// What may be used once (RFC 9449 §11.1): judged where the message is admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jti {
    /// Thumbprint of the key: a `jti` is unique among the proofs of one key only.
    pub thumbprint: String,
    /// The `jti`, 1 to 128 characters of any kind.
    pub id: String,
    /// Its `iat`, in whole seconds or a little before.
    pub issued: Timestamp,
    /// From then on a proof with it is too old to be taken.
    pub until: Timestamp,
}

/// Why a proof is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is not good.
    Proof(Expected),
    /// It is good but for its nonce, which the answer gives.
    Nonce,
}

impl Refused {
    /// `auth.dpop`.
    pub fn finding(self) -> Finding {
        let expected = match self {
            Self::Proof(expected) => expected,
            Self::Nonce => "expected a DPoP proof with the nonce in `DPoP-Nonce`".into(),
        };
        Finding::new(Rule::AuthDpop, expected)
    }
}

impl From<Expected> for Refused {
    fn from(expected: Expected) -> Self {
        Self::Proof(expected)
    }
}

impl From<&'static str> for Refused {
    fn from(expected: &'static str) -> Self {
        Self::Proof(expected.into())
    }
}

/// Verifies one proof.
///
/// # Errors
/// What was expected. The nonce is judged last, so that only a client who has the key is given one.
pub fn verify(text: &str, judge: &Judge<'_>) -> Result<Proven, Refused> {
    let jwt = Jwt::open(text, &Kind::DPOP)?;
    let proof = jwt.claims()?;
    let key = jwt.header.jwk.as_ref().ok_or("expected `jwk`")?;
    if !jwt.is_signed_by(key, judge.now) {
        return Err("expected a signature by the key in `jwk`, which has to fit `alg`".into());
    }
    if proof.text("htm")? != Some(judge.method) {
        return Err("expected `htm` to be the method".into());
    }
    let htu = proof.text("htu")?.and_then(uri::normal);
    if htu.is_none() || htu != judge.url.and_then(uri::normal) {
        return Err("expected `htu` to be the public URL of this path".into());
    }
    if proof.text("ath")? != Some(hash(judge.token.as_bytes()).as_str()) {
        return Err("expected `ath` to be the hash of the token".into());
    }
    let iat = proof.seconds("iat")?.ok_or("expected `iat`")?;
    let (now, skew) = (seconds(judge.now), judge.skew.as_secs_f64());
    if iat > now + skew || iat < now - AGE_MAX.as_secs_f64() - skew {
        return Err("expected `iat` within 60 s and the skew".into());
    }
    let jti = proof.text("jti")?.unwrap_or_default();
    if !(1..=JTI_MAX).contains(&jti.chars().count()) {
        return Err("expected `jti` of 1 to 128 characters".into());
    }
    let nonce = proof.text("nonce")?;
    if let Some(nonces) = judge.nonces
        && !nonce.is_some_and(|nonce| nonces.takes(nonce, judge.now))
    {
        return Err(Refused::Nonce);
    }
    Ok(Proven {
        thumbprint: key.thumbprint().to_owned(),
        jti: Jti {
            thumbprint: key.thumbprint().to_owned(),
            id: jti.to_owned(),
            issued: issued(judge, now - iat),
            until: end(judge),
        },
    })
}

/// The time of an `iat` that is so many seconds old; no later than it is, so that a fence is never passed by rounding.
fn issued(judge: &Judge<'_>, age: f64) -> Timestamp {
    let age = SignedDuration::try_from_secs_f64(age.ceil()).unwrap_or(SignedDuration::MAX);
    judge.now.checked_sub(age).unwrap_or(Timestamp::MIN)
}

/// A proof taken now, of whatever `iat`, is too old from then on.
fn end(judge: &Judge<'_>) -> Timestamp {
    // `iat` is at most `skew` ahead, and too old when `AGE_MAX` and the skew have passed since. One second more, as
    // `iat` may have a fraction.
    let longest = AGE_MAX
        .saturating_add(judge.skew)
        .saturating_add(judge.skew)
        .saturating_add(Duration::from_secs(1));
    judge.now.checked_add(longest).unwrap_or(Timestamp::MAX)
}

/// The nonces of one process.
#[derive(Debug)]
pub struct Nonces(hmac::Key);

/// The system gives no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("no random bytes")]
pub struct NoRandom;

impl Nonces {
    /// Under a fresh key.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn new() -> Result<Self, NoRandom> {
        hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())
            .map(Self)
            .map_err(|_| NoRandom)
    }

    /// The nonce to use from now on.
    pub fn current(&self, now: Timestamp) -> String {
        let tag = self.tag(step(now));
        URL_SAFE_NO_PAD.encode(tag.as_ref().get(..NONCE_LENGTH).unwrap_or_default())
    }

    /// Whether it is the one of now or the one before.
    fn takes(&self, nonce: &str, now: Timestamp) -> bool {
        let before = now
            .checked_sub(Duration::from_secs(NONCE_STEP.unsigned_abs()))
            .unwrap_or(now);
        [now, before].iter().any(|time| self.current(*time) == nonce)
    }

    fn tag(&self, step: i64) -> hmac::Tag {
        hmac::sign(&self.0, &step.to_be_bytes())
    }
}

fn step(now: Timestamp) -> i64 {
    now.as_second().div_euclid(NONCE_STEP)
}
