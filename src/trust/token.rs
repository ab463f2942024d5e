//! Access tokens (contract §7, "Bearer", "binding", "delegation"; RFC 6750, RFC 9068, RFC 7800, RFC 8693).
//!
//! A token is read first, believed later: who issued it says which key set its key has to be in. A token without `kid`
//! names no key and is refused. `exp` gets no skew, as nothing is gained by taking what has ended; `nbf` and `iat` get
//! it, as clocks differ.

use std::time::Duration;

use jiff::Timestamp;

use super::jws::Kind;
use super::jwt::{Claims, Expected, Jwt, seconds};
use super::keys::PublicKey;
use crate::contract::{Finding, Rule};
use crate::message::json::Node;
use crate::policy::{Issuer, Trust};

/// The longest `sub`, as in the policy.
const SUBJECT_MAX: usize = 256;

/// base64url of 32 bytes.
const HASH_LENGTH: usize = 43;

/// What a token is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a> {
    /// Now.
    pub now: Timestamp,
    /// How far clocks may differ.
    pub skew: Duration,
    /// How far ahead `exp` may be.
    pub max_life: Duration,
    /// What `aud` has to name.
    pub resource: &'a str,
}

/// A token as it says it is.
#[derive(Debug)]
pub struct Claimed<'a, 'p> {
    jwt: &'a Jwt<'a>,
    claims: Claims<'a>,
    /// Who says it issued it.
    pub issuer: &'p Issuer,
    /// Its key.
    pub kid: &'a str,
}

/// A token that was verified.
#[derive(Debug, PartialEq, Eq)]
pub struct Token {
    /// Name of its issuer.
    pub issuer: String,
    /// `sub`.
    pub subject: String,
    /// `act.sub`.
    pub actor: Option<String>,
    /// What it is bound to.
    pub bound: Bound,
}

/// What a token is bound to (`cnf`).
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Bound {
    /// `x5t#S256`: base64url of the SHA-256 of a client certificate (RFC 8705 §3.1).
    pub certificate: Option<String>,
    /// `jkt`: RFC 7638 thumbprint of a key (RFC 9449 §6.1).
    pub key: Option<String>,
}

/// Reads a token's header.
///
/// # Errors
/// `auth.token`.
pub fn open(text: &str) -> Result<Jwt<'_>, Finding> {
    Jwt::open(text, &Kind::ACCESS_TOKEN).map_err(refused)
}

impl<'a, 'p> Claimed<'a, 'p> {
    /// Reads a token as far as it says whose it is.
    ///
    /// # Errors
    /// `auth.token`.
    pub fn read(jwt: &'a Jwt<'a>, trust: &'p Trust) -> Result<Self, Finding> {
        let claims = jwt.claims().map_err(refused)?;
        let iss = claims.text("iss").map_err(refused)?;
        let is_it = |issuer: &&Issuer| issuer.token_issuer.is_some() && issuer.token_issuer.as_deref() == iss;
        let issuer = trust.issuers.iter().find(is_it);
        let issuer = issuer.ok_or_else(|| refused("expected `iss` of an issuer of tokens"))?;
        if !issuer.algorithms.contains(&jwt.algorithm) {
            return Err(refused("expected an `alg` of the issuer's list"));
        }
        let kid = jwt.header.kid.as_deref().ok_or_else(|| refused("expected `kid`"))?;
        Ok(Self {
            jwt,
            claims,
            issuer,
            kid,
        })
    }

    /// Verifies it by the key that its issuer has under its `kid`.
    ///
    /// # Errors
    /// `auth.token`, `auth.binding`, or `authority.disagree` for an actor who acts for another one.
    pub fn verify(&self, key: &PublicKey, judge: &Judge<'_>) -> Result<Token, Finding> {
        if !self.jwt.is_signed_by(key, judge.now) {
            return Err(refused(
                "expected a signature by a key that its issuer may use with this `alg` now",
            ));
        }
        self.times(judge).map_err(refused)?;
        let subject = self.subject(judge.resource).map_err(refused)?;
        Ok(Token {
            issuer: self.issuer.name.clone(),
            subject,
            bound: self.bound()?,
            actor: self.actor()?,
        })
    }

    fn times(&self, judge: &Judge<'_>) -> Result<(), Expected> {
        let (now, skew) = (seconds(judge.now), judge.skew.as_secs_f64());
        let exp = self.claims.seconds("exp")?.ok_or("expected `exp`")?;
        if exp <= now {
            return Err("expected a token that has not ended".into());
        }
        if exp > now + judge.max_life.as_secs_f64() {
            return Err("expected `exp` at most `max_token_life` ahead".into());
        }
        for name in ["nbf", "iat"] {
            if self.claims.seconds(name)?.is_some_and(|begin| begin > now + skew) {
                return Err(format!("expected `{name}` not to be ahead").into());
            }
        }
        Ok(())
    }

    /// `sub`, once `aud` names this place and no other registered claim is of a wrong type.
    fn subject(&self, resource: &str) -> Result<String, Expected> {
        let expected = "expected `aud` to be text or a list of it, with the resource of this route in it";
        let audience = self.claims.get("aud").ok_or(expected)?;
        let names_it = match (audience.text(), audience.elements()) {
            (Some(one), _) => one == resource,
            (None, Some(several)) => {
                let several: Option<Vec<&str>> = several.iter().map(Node::text).collect();
                several.ok_or(expected)?.contains(&resource)
            }
            (None, None) => false,
        };
        if !names_it {
            return Err(expected.into());
        }
        for name in ["jti", "client_id", "scope"] {
            self.claims.text(name)?;
        }
        let subject = self.claims.text("sub")?.unwrap_or_default();
        if !(1..=SUBJECT_MAX).contains(&subject.len()) {
            return Err("expected `sub`".into());
        }
        Ok(subject.to_owned())
    }

    /// `cnf`: what is not understood cannot be proven, and a confirmation that is not proven is none.
    fn bound(&self) -> Result<Bound, Finding> {
        let Some(cnf) = self.claims.get("cnf") else {
            return Ok(Bound::default());
        };
        let members = cnf.members().ok_or_else(|| refused("expected `cnf` as an object"))?;
        let mut bound = Bound::default();
        for member in members {
            let place = match &*member.name {
                "x5t#S256" => &mut bound.certificate,
                "jkt" => &mut bound.key,
                _ => return Err(unbound("expected no member of `cnf` but `x5t#S256` and `jkt`")),
            };
            let hash = member.value.text().filter(|text| text.len() == HASH_LENGTH);
            *place = Some(
                hash.ok_or_else(|| refused("expected a SHA-256 in base64url in `cnf`"))?
                    .to_owned(),
            );
        }
        if bound == Bound::default() {
            return Err(unbound("expected `x5t#S256` or `jkt` in `cnf`"));
        }
        Ok(bound)
    }

    /// `act.sub`. A chain of actors proves nothing about those behind the first (RFC 8693 §4.1), so none is taken.
    fn actor(&self) -> Result<Option<String>, Finding> {
        let Some(act) = self.claims.get("act") else {
            return Ok(None);
        };
        if act.members().is_none() {
            return Err(refused("expected `act` as an object"));
        }
        if act.get("act").is_some() {
            let expected = "expected an actor who acts for nobody else";
            return Err(Finding::new(Rule::AuthorityDisagree, expected));
        }
        if let Some(iss) = act.get("iss")
            && iss.text() != self.issuer.token_issuer.as_deref()
        {
            let expected = "expected an actor of the issuer of the token";
            return Err(Finding::new(Rule::AuthorityDisagree, expected));
        }
        let subject = act
            .get("sub")
            .and_then(Node::text)
            .filter(|subject| !subject.is_empty());
        Ok(Some(subject.ok_or_else(|| refused("expected `act.sub`"))?.to_owned()))
    }
}

fn refused(expected: impl Into<Expected>) -> Finding {
    Finding::new(Rule::AuthToken, expected)
}

fn unbound(expected: &'static str) -> Finding {
    Finding::new(Rule::AuthBinding, expected)
}
