//! A fresh private key as JWK text.

use std::fmt;

use josekit::jwk::KeyPair;
use josekit::jwk::alg::ec::{EcCurve, EcKeyPair};
use josekit::jwk::alg::ed::{EdCurve, EdKeyPair};
use josekit::jwk::alg::rsa::RsaKeyPair;
use serde_json::{Map, Value, json};

use super::SigningError;
use crate::message::canonical::sha256_hex;
use crate::policy::Algorithm;

/// Members in the order of a file that people read; what a kind has not is left out.
const ORDER: &[&str] = &["kty", "crv", "x", "y", "n", "e", "d", "p", "q", "dp", "dq", "qi"];

/// Bits of a fresh RSA key: longer ones do not fit the 512 characters of `sender.signature` (contract §7).
const RSA_BITS: u32 = 2048;

/// The text of a private JWK. `Debug` prints nothing of it.
pub struct PrivateJwk(String);

impl PrivateJwk {
    /// The text, for the file that keeps it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PrivateJwk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PrivateJwk").finish_non_exhaustive()
    }
}

/// Makes a key. Without a `kid` it is called by its algorithm and the first 16 hex digits of its RFC 7638 thumbprint.
///
/// # Errors
/// When the crypto library fails.
pub fn generate(algorithm: Algorithm, kid: Option<&str>) -> Result<PrivateJwk, SigningError> {
    let made = match algorithm {
        Algorithm::Ed25519 => EdKeyPair::generate(EdCurve::Ed25519).map(|pair| pair.to_jwk_key_pair()),
        Algorithm::Es256 => EcKeyPair::generate(EcCurve::P256).map(|pair| pair.to_jwk_key_pair()),
        Algorithm::Es384 => EcKeyPair::generate(EcCurve::P384).map(|pair| pair.to_jwk_key_pair()),
        Algorithm::Ps256 | Algorithm::Rs256 => RsaKeyPair::generate(RSA_BITS).map(|pair| pair.to_jwk_key_pair()),
    };
    let made = made.map_err(|_error| SigningError::Failed)?;
    let made: &Map<String, Value> = made.as_ref();
    let mut jwk: Map<String, Value> = ORDER
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), made.get(*name)?.clone())))
        .collect();
    let kid = kid.map_or_else(|| named(algorithm, &jwk), str::to_owned);
    jwk.insert("alg".to_owned(), json!(algorithm.name()));
    jwk.insert("use".to_owned(), json!("sig"));
    jwk.insert("kid".to_owned(), json!(kid));
    Ok(PrivateJwk(format!("{:#}\n", Value::Object(jwk))))
}

/// A name that no other key has, and that is an id of contract §2.3.
fn named(algorithm: Algorithm, jwk: &Map<String, Value>) -> String {
    // RFC 7638 §3.2: the required public members, in lexicographic order, without blanks.
    let required: &[&str] = match algorithm {
        Algorithm::Ed25519 => &["crv", "kty", "x"],
        Algorithm::Es256 | Algorithm::Es384 => &["crv", "kty", "x", "y"],
        Algorithm::Ps256 | Algorithm::Rs256 => &["e", "kty", "n"],
    };
    let members: Vec<String> = required
        .iter()
        .filter_map(|name| Some(format!("\"{name}\":{}", jwk.get(*name)?)))
        .collect();
    let thumbprint = sha256_hex(format!("{{{}}}", members.join(",")).as_bytes());
    let short: String = thumbprint.chars().take(16).collect();
    format!("{}-{short}", algorithm.name().to_ascii_lowercase())
}
