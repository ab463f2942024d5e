//! Signatures and tokens of the cases, made with test keys that everybody can read (contract §16, "Runner").
//!
//! `{{sign:kid}}` is a detached JWS over the message; `{{sign:kid:variant}}` one that is wrong in one way: `not-canonical`
//! is over other bytes of the same message, `alg-none` names no algorithm and has no signature, `jwk` carries the key in
//! its header. `{{token:subject}}` is an access token of the fixture policy's token issuer.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::trust::sign::{SigningError, SigningKey};

/// The published keys, private parts and all. `fixture-unknown` stands in no key set.
const KEYS: &[&str] = &[
    include_str!("../../../tests/conformance/keys/fixture-ed25519.json"),
    include_str!("../../../tests/conformance/keys/fixture-es256.json"),
    include_str!("../../../tests/conformance/keys/fixture-beta.json"),
    include_str!("../../../tests/conformance/keys/fixture-tokens.json"),
    include_str!("../../../tests/conformance/keys/fixture-unknown.json"),
];

/// `iss` and `aud` of tokens, as `policies/fixture.yaml` has them, and the key that signs them.
const TOKEN_ISSUER: &str = "https://issuer.example";
const TOKEN_AUDIENCE: &str = "urn:uaix:fixture:signed";
const TOKEN_KEY: &str = "fixture-tokens";

/// How long a token is good for, in seconds.
const TOKEN_LIFE: i64 = 300;

/// What a signature stands for in a filled text until the text is known.
const SIGN: &str = "{{sign:";

/// The test keys, ready to sign.
#[derive(Debug)]
pub struct Keys(Vec<SigningKey>);

impl Keys {
    /// Reads them.
    ///
    /// # Errors
    /// One that cannot sign, which a test rules out.
    pub fn published() -> Result<Self, String> {
        let keys = KEYS.iter().map(|text| SigningKey::parse(text.as_bytes()));
        let keys: Result<Vec<_>, _> = keys.collect();
        keys.map(Self).map_err(|error| format!("a test key {error}"))
    }

    /// The text with every signature filled in. `canonical` are the canonical bytes of the message, when there is one.
    ///
    /// # Errors
    /// What cannot be signed.
    pub fn sign(&self, text: &str, canonical: Option<&[u8]>, now: Timestamp) -> Result<String, String> {
        let mut signed = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(SIGN) {
            let (name, after) = after.split_once("}}").ok_or("expected `}}` after `{{sign:`")?;
            let canonical = canonical.ok_or("there is no message to sign")?;
            let (kid, variant) = match name.split_once(':') {
                Some((kid, variant)) => (kid, Some(variant)),
                None => (name, None),
            };
            signed.push_str(before);
            signed.push_str(&self.detached(kid, variant, canonical, now)?);
            rest = after;
        }
        signed.push_str(rest);
        Ok(signed)
    }

    fn detached(&self, kid: &str, variant: Option<&str>, canonical: &[u8], now: Timestamp) -> Result<String, String> {
        let key = self.get(kid)?;
        let header = |alg: &str| json!({"alg": alg, "kid": kid, "typ": "uai-message+jws", "iat": now.as_second()});
        let good = header(key.algorithm().name());
        let made = match variant {
            None => key.sign_under(&good, canonical),
            Some("not-canonical") => {
                // A blank after the opening brace: the same message in other bytes.
                let (first, rest) = canonical.split_first().ok_or("there is no message to sign")?;
                key.sign_under(&good, &[&[*first, b' '], rest].concat())
            }
            Some("alg-none") => Ok(format!("{}..", URL_SAFE_NO_PAD.encode(header("none").to_string()))),
            Some("jwk") => {
                let mut header = good;
                if let Some(members) = header.as_object_mut() {
                    members.insert("jwk".to_owned(), key.public_jwk());
                }
                key.sign_under(&header, canonical)
            }
            Some(_) => return Err(format!("this runner cannot fill {SIGN}{kid}:…}}}}")),
        };
        told(made)
    }

    /// An access token (RFC 9068) of this subject.
    ///
    /// # Errors
    /// When the crypto library fails.
    pub fn token(&self, subject: &str, id: &str, now: Timestamp) -> Result<String, String> {
        let key = self.get(TOKEN_KEY)?;
        let now = now.as_second();
        let claims: Value = json!({
            "iss": TOKEN_ISSUER,
            "sub": subject,
            "aud": TOKEN_AUDIENCE,
            "iat": now,
            "exp": now.saturating_add(TOKEN_LIFE),
            "jti": id,
            "client_id": subject,
        });
        let header = json!({"alg": key.algorithm().name(), "kid": key.kid(), "typ": "at+jwt"});
        told(key.sign_compact(&header, claims.to_string().as_bytes()))
    }

    fn get(&self, kid: &str) -> Result<&SigningKey, String> {
        let key = self.0.iter().find(|key| key.kid() == kid);
        key.ok_or_else(|| format!("there is no test key `{kid}`"))
    }
}

fn told(made: Result<String, SigningError>) -> Result<String, String> {
    made.map_err(|error| format!("a test key {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-06-01T00:00:00Z";

    fn header(jws: &str) -> Value {
        let header = jws.split('.').next().unwrap();
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap()
    }

    #[test]
    fn each_variant_is_wrong_in_its_own_way() {
        let keys = Keys::published().unwrap();
        let sign = |name: &str| {
            let text = format!("a {{{{sign:{name}}}}} b");
            let signed = keys.sign(&text, Some(b"{}"), NOW.parse().unwrap()).unwrap();
            signed
                .strip_prefix("a ")
                .unwrap()
                .strip_suffix(" b")
                .unwrap()
                .to_owned()
        };
        let good = sign("fixture-ed25519");
        assert_eq!(header(&good)["alg"], "Ed25519");
        assert_eq!(sign("fixture-ed25519"), good);
        let other = sign("fixture-ed25519:not-canonical");
        assert_eq!(header(&other), header(&good));
        assert_ne!(other, good);
        assert_eq!(header(&sign("fixture-ed25519:alg-none"))["alg"], "none");
        assert!(sign("fixture-ed25519:alg-none").ends_with(".."));
        assert_eq!(header(&sign("fixture-es256:jwk"))["jwk"]["kid"], "fixture-es256");
        for text in [
            "{{sign:nobody}}",
            "{{sign:fixture-ed25519:odd}}",
            "{{sign:fixture-ed25519",
        ] {
            assert!(keys.sign(text, Some(b"{}"), NOW.parse().unwrap()).is_err(), "{text}");
        }
        assert!(
            keys.sign("{{sign:fixture-ed25519}}", None, NOW.parse().unwrap())
                .is_err()
        );
    }

    /// Whoever reads the repository can sign with these, so only the fixture policy may believe them.
    #[test]
    fn the_published_key_sets_are_the_public_parts() {
        let keys = Keys::published().unwrap();
        let set = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
        let public = |kids: &[&str]| -> Value {
            json!({"keys": kids.iter().map(|kid| keys.get(kid).unwrap().public_jwk()).collect::<Vec<_>>()})
        };
        let of_messages = set(include_str!("../../../policies/fixture-keys.json"));
        assert_eq!(
            of_messages,
            public(&["fixture-ed25519", "fixture-es256", "fixture-beta"])
        );
        let of_tokens = set(include_str!("../../../policies/fixture-tokens.json"));
        assert_eq!(of_tokens, public(&["fixture-tokens"]));
    }
}
