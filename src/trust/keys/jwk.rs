//! One JSON Web Key (RFC 7517, 7518 §6, 8037, 9864) as a key to verify by.

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA256, RsaParameters, RsaPublicKeyComponents, VerificationAlgorithm,
};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::{KeyError, PublicKey, edwards, rsa};
use crate::contract::Pointer;
use crate::message::json::Node;
use crate::policy::Algorithm;

/// What a JWK turned out to be.
pub(super) enum Jwk {
    /// A key to verify by.
    Key(PublicKey),
    /// Well formed, and of no use here: what would have been needed.
    Unused(&'static str),
}

/// Members that only a secret or private key has (RFC 7518 §6, RFC 8037, RFC 9864's `AKP`).
const SECRET: &[&str] = &["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"];

impl PublicKey {
    /// Reads one JWK that travels in a header; `place` is where it stands there.
    ///
    /// # Errors
    /// It is malformed, weak, secret, contradicts itself, or is of no use with these algorithms.
    pub fn of_jwk(node: &Node<'_>, place: &Pointer, algorithms: &[Algorithm]) -> Result<Self, KeyError> {
        match read(node, place, algorithms)? {
            Jwk::Key(key) if key.verifiers.is_empty() => {
                Err(error(place.clone(), "expected a key that fits an algorithm taken here"))
            }
            Jwk::Key(key) => Ok(key),
            Jwk::Unused(detail) => Err(error(place.clone(), detail)),
        }
    }
}

/// Reads one JWK; it keeps those of the algorithms that it fits.
pub(super) fn read(node: &Node<'_>, place: &Pointer, algorithms: &[Algorithm]) -> Result<Jwk, KeyError> {
    let members = node
        .members()
        .ok_or_else(|| error(place.clone(), "expected an object"))?;
    if let Some(secret) = members.iter().find(|member| SECRET.contains(&&*member.name)) {
        return Err(error(
            place.member(&secret.name),
            "expected a public key, without secret members",
        ));
    }
    let kty = text(node, place, "kty")?.ok_or_else(|| error(place.member("kty"), "expected a key type"))?;
    if kty == "oct" {
        return Err(error(place.member("kty"), "expected a public key, not a shared secret"));
    }
    let kid = text(node, place, "kid")?;
    let times = (time(node, place, "nbf")?, time(node, place, "exp")?);
    let verifies = is_for_verifying(node, place)?;
    let alg = text(node, place, "alg")?;
    let crv = text(node, place, "crv")?;
    let kind = match (kty, crv) {
        ("OKP", Some("Ed25519")) => Kind::Ed25519,
        ("EC", Some("P-256")) => Kind::P256,
        ("EC", Some("P-384")) => Kind::P384,
        ("RSA", _) => Kind::Rsa,
        ("OKP" | "EC", None) => return Err(error(place.member("crv"), "expected a curve")),
        _ => return Ok(Jwk::Unused("expected OKP with Ed25519, EC with P-256 or P-384, or RSA")),
    };
    if !verifies {
        return Ok(Jwk::Unused("expected a key for verifying, by `use` and `key_ops`"));
    }
    let own = match alg.map(Algorithm::of_jose) {
        Some(None) => {
            return Ok(Jwk::Unused(
                "expected `alg` Ed25519, EdDSA, ES256, ES384, PS256 or RS256",
            ));
        }
        Some(Some(own)) => Some(own),
        None => None,
    };
    let material = Material::read(kind, node, place)?;
    if own.is_some_and(|own| material.verifiers.iter().all(|(fits, _)| *fits != own)) {
        return Err(error(
            place.member("alg"),
            "expected an algorithm that fits `kty` and `crv`",
        ));
    }
    let mut verifiers = material.verifiers;
    verifiers.retain(|(fits, _)| own.is_none_or(|own| own == *fits) && algorithms.contains(fits));
    let (not_before, expires) = times;
    Ok(Jwk::Key(PublicKey {
        kid: kid.map(Arc::from),
        thumbprint: BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, material.members.as_bytes())),
        verifiers,
        not_before,
        expires,
    }))
}

/// Whether `use` and `key_ops` let it verify signatures.
fn is_for_verifying(node: &Node<'_>, place: &Pointer) -> Result<bool, KeyError> {
    let by_use = text(node, place, "use")?.is_none_or(|word| word == "sig");
    let Some(operations) = node.get("key_ops") else {
        return Ok(by_use);
    };
    let words: Option<Vec<&str>> = operations
        .elements()
        .and_then(|operations| operations.iter().map(Node::text).collect());
    let mut words = words.ok_or_else(|| error(place.member("key_ops"), "expected an array of strings"))?;
    let named = words.len();
    let verifies = words.contains(&"verify");
    words.sort_unstable();
    words.dedup();
    if words.len() != named {
        return Err(error(place.member("key_ops"), "expected every operation once"));
    }
    Ok(by_use && verifies)
}

#[derive(Clone, Copy)]
enum Kind {
    Ed25519,
    P256,
    P384,
    Rsa,
}

/// The key itself.
struct Material {
    /// The key under every algorithm that its type and curve allow.
    verifiers: Vec<(Algorithm, ParsedPublicKey)>,
    /// What is hashed into its thumbprint (RFC 7638 §3).
    members: String,
}

impl Material {
    fn read(kind: Kind, node: &Node<'_>, place: &Pointer) -> Result<Self, KeyError> {
        match kind {
            Kind::Ed25519 => {
                let x = octets(node, place, "x")?;
                edwards::check(&x).map_err(|detail| error(place.member("x"), detail))?;
                let key = parse(&ED25519, &x, &place.member("x"))?;
                Ok(Self {
                    verifiers: vec![(Algorithm::Ed25519, key)],
                    members: format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, encode(&x)),
                })
            }
            Kind::P256 => Self::of_curve("P-256", 32, Algorithm::Es256, &ECDSA_P256_SHA256_FIXED, node, place),
            Kind::P384 => Self::of_curve("P-384", 48, Algorithm::Es384, &ECDSA_P384_SHA384_FIXED, node, place),
            Kind::Rsa => {
                let n = octets(node, place, "n")?;
                let e = octets(node, place, "e")?;
                rsa::check_modulus(&n).map_err(|detail| error(place.member("n"), detail))?;
                rsa::check_exponent(&e).map_err(|detail| error(place.member("e"), detail))?;
                let parse = |parameters: &'static RsaParameters| {
                    RsaPublicKeyComponents { n: &n, e: &e }
                        .to_parsed_public_key(parameters)
                        .map_err(|_| error(place.clone(), "expected an RSA public key"))
                };
                Ok(Self {
                    verifiers: vec![
                        (Algorithm::Ps256, parse(&RSA_PSS_2048_8192_SHA256)?),
                        (Algorithm::Rs256, parse(&RSA_PKCS1_2048_8192_SHA256)?),
                    ],
                    members: format!(r#"{{"e":"{}","kty":"RSA","n":"{}"}}"#, encode(&e), encode(&n)),
                })
            }
        }
    }

    /// A point of a NIST curve; the coordinates are as long as the curve's field (RFC 7518 §6.2.1.2).
    fn of_curve(
        crv: &str,
        length: usize,
        algorithm: Algorithm,
        parameters: &'static dyn VerificationAlgorithm,
        node: &Node<'_>,
        place: &Pointer,
    ) -> Result<Self, KeyError> {
        let mut point = vec![0x04];
        for name in ["x", "y"] {
            let coordinate = octets(node, place, name)?;
            if coordinate.len() != length {
                return Err(error(
                    place.member(name),
                    format!("expected {length} bytes, as the curve has"),
                ));
            }
            point.extend(coordinate);
        }
        let key = parse(parameters, &point, &place.member("x"))?;
        let (x, y) = point
            .get(1..)
            .unwrap_or_default()
            .split_at_checked(length)
            .unwrap_or_default();
        Ok(Self {
            verifiers: vec![(algorithm, key)],
            members: format!(
                r#"{{"crv":"{crv}","kty":"EC","x":"{}","y":"{}"}}"#,
                encode(x),
                encode(y)
            ),
        })
    }
}

fn parse(
    parameters: &'static dyn VerificationAlgorithm,
    bytes: &[u8],
    place: &Pointer,
) -> Result<ParsedPublicKey, KeyError> {
    ParsedPublicKey::new(parameters, bytes).map_err(|_| error(place.clone(), "expected a point of the curve"))
}

/// A string member, when it is there.
pub(super) fn text<'n>(node: &'n Node<'_>, place: &Pointer, name: &str) -> Result<Option<&'n str>, KeyError> {
    match node.get(name).map(Node::text) {
        None => Ok(None),
        Some(Some(text)) => Ok(Some(text)),
        Some(None) => Err(error(place.member(name), "expected a string")),
    }
}

/// A NumericDate in whole seconds, when it is there.
fn time(node: &Node<'_>, place: &Pointer, name: &str) -> Result<Option<i64>, KeyError> {
    match node.get(name) {
        None => Ok(None),
        Some(value) => match value.number().and_then(|number| number.integer()) {
            Some(seconds) => Ok(Some(seconds)),
            None => Err(error(place.member(name), "expected whole seconds since 1970")),
        },
    }
}

/// A member of unpadded base64url, which has to be there.
fn octets(node: &Node<'_>, place: &Pointer, name: &str) -> Result<Vec<u8>, KeyError> {
    let text = text(node, place, name)?.ok_or_else(|| error(place.member(name), "expected base64url"))?;
    BASE64_URL_SAFE_NO_PAD
        .decode(text)
        .map_err(|_| error(place.member(name), "expected base64url without padding"))
}

fn encode(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

fn error(place: Pointer, detail: impl Into<std::borrow::Cow<'static, str>>) -> KeyError {
    KeyError {
        place,
        detail: detail.into(),
    }
}
