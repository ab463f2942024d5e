//! From a private JWK to a key that signs. Strict: no name twice, no member that contradicts another, `kid` required.

use aws_lc_rs::rsa::KeyPair as RsaKeyPair;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
    Ed25519KeyPair,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use josekit::jwk::Jwk;
use josekit::jwk::alg::rsa::RsaKeyPair as RsaJwk;
use serde_json::{Map, Value, json};

use super::{Pair, SigningError, SigningKey};
use crate::message::is_id;
use crate::message::json::{self, Bounds, Node};
use crate::policy::Algorithm;

/// 2048 bits (contract §7).
const RSA_BYTES_MIN: usize = 256;

/// What a key of a kind is made of (RFC 7518 §6, RFC 8037 §2).
struct Kind {
    algorithm: Algorithm,
    public: &'static [&'static str],
    private: &'static [&'static str],
}

/// The key of a private JWK.
pub(super) fn parse(bytes: &[u8]) -> Result<SigningKey, SigningError> {
    let root =
        json::read(bytes, &Bounds::default()).map_err(|_finding| SigningError::Unfit("one JWK as strict JSON"))?;
    let kid = text(&root, "kid").filter(|kid| is_id(kid));
    let kid = kid.ok_or(SigningError::Unfit(
        "`kid`, an id of 1 to 128 characters of A-Z a-z 0-9 . _ : / @ -",
    ))?;
    let kind = kind(&root)?;
    purpose(&root)?;
    let pair = pair(&root, &kind)?;
    let mut public: Map<String, Value> = kind
        .public
        .iter()
        .map(|name| ((*name).to_owned(), json!(text(&root, name))))
        .collect();
    public.insert("alg".to_owned(), json!(kind.algorithm.name()));
    public.insert("use".to_owned(), json!("sig"));
    public.insert("kid".to_owned(), json!(kid));
    Ok(SigningKey {
        kid: kid.to_owned(),
        algorithm: kind.algorithm,
        pair,
        public,
    })
}

/// `kty`, `crv` and `alg` name one algorithm.
fn kind(root: &Node<'_>) -> Result<Kind, SigningError> {
    const OKP: &[&str] = &["kty", "crv", "x"];
    const EC: &[&str] = &["kty", "crv", "x", "y"];
    const RSA: &[&str] = &["kty", "n", "e"];
    const RSA_PRIVATE: &[&str] = &["d", "p", "q", "dp", "dq", "qi"];
    let alg = root.get("alg").map(|node| node.text().unwrap_or_default());
    let (algorithm, public, private) = match (text(root, "kty"), text(root, "crv"), alg) {
        (Some("OKP"), Some("Ed25519"), None | Some("Ed25519" | "EdDSA")) => (Algorithm::Ed25519, OKP, &["d"][..]),
        (Some("EC"), Some("P-256"), None | Some("ES256")) => (Algorithm::Es256, EC, &["d"][..]),
        (Some("EC"), Some("P-384"), None | Some("ES384")) => (Algorithm::Es384, EC, &["d"][..]),
        (Some("RSA"), None, Some("PS256")) => (Algorithm::Ps256, RSA, RSA_PRIVATE),
        (Some("RSA"), None, Some("RS256")) => (Algorithm::Rs256, RSA, RSA_PRIVATE),
        _ => {
            return Err(SigningError::Unfit(
                "a key for Ed25519, ES256 or ES384, or an RSA key whose `alg` is PS256 or RS256",
            ));
        }
    };
    Ok(Kind {
        algorithm,
        public,
        private,
    })
}

/// `use` and `key_ops`, when present, are for signing.
fn purpose(root: &Node<'_>) -> Result<(), SigningError> {
    let is_for_signing = match (root.get("use"), root.get("key_ops")) {
        (Some(node), _) if node.text() != Some("sig") => false,
        (_, Some(node)) => node
            .elements()
            .is_some_and(|list| list.iter().any(|operation| operation.text() == Some("sign"))),
        (_, None) => true,
    };
    if is_for_signing {
        Ok(())
    } else {
        Err(SigningError::Unfit("a key for signing: `use` sig, `key_ops` with sign"))
    }
}

/// The key in the library that signs. It holds the private members against the public ones and refuses what does not fit.
fn pair(root: &Node<'_>, kind: &Kind) -> Result<Pair, SigningError> {
    let unfit = || SigningError::Unfit("a private key whose members fit each other; of RSA, 2048 bits at least");
    let bytes = |name| {
        let decoded = text(root, name).and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
        decoded.ok_or(SigningError::Unfit(
            "a private JWK with every member of its kind, each in base64url",
        ))
    };
    match kind.algorithm {
        Algorithm::Ed25519 => Ed25519KeyPair::from_seed_and_public_key(&bytes("d")?, &bytes("x")?)
            .map(Pair::Ed25519)
            .map_err(|_rejected| unfit()),
        Algorithm::Es256 => ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING, &bytes).ok_or_else(unfit),
        Algorithm::Es384 => ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING, &bytes).ok_or_else(unfit),
        Algorithm::Ps256 | Algorithm::Rs256 => {
            let mut members = Map::new();
            for name in kind.public.iter().chain(kind.private) {
                members.insert((*name).to_owned(), json!(text(root, name)));
            }
            let jwk = Jwk::from_map(members).map_err(|_error| unfit())?;
            let made = RsaJwk::from_jwk(&jwk).map_err(|_error| unfit())?;
            let pair = RsaKeyPair::from_der(&made.to_raw_private_key()).map_err(|_rejected| unfit())?;
            if pair.public_modulus_len() < RSA_BYTES_MIN {
                return Err(unfit());
            }
            Ok(Pair::Rsa(pair))
        }
    }
}

fn ecdsa(
    signing: &'static EcdsaSigningAlgorithm,
    bytes: &impl Fn(&'static str) -> Result<Vec<u8>, SigningError>,
) -> Option<Pair> {
    // SEC 1 §2.3.3: an uncompressed point.
    let point = [vec![4], bytes("x").ok()?, bytes("y").ok()?].concat();
    let pair = EcdsaKeyPair::from_private_key_and_public_key(signing, &bytes("d").ok()?, &point);
    pair.ok().map(Pair::Ecdsa)
}

fn text<'n>(root: &'n Node<'_>, name: &str) -> Option<&'n str> {
    root.get(name)?.text()
}
