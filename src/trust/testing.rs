//! What the tests of this floor share: signers of every algorithm, each with its JWK.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
    RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaEncoding, RsaKeyPair,
};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::jws::signing_input;
use super::keys::{KeySet, PublicKey};
use crate::contract::Pointer;
use crate::message::json::{Bounds, read};
use crate::policy::Algorithm;

pub(crate) fn encode(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// A private key and what it signs with.
pub(crate) enum Signer {
    Ed25519(Ed25519KeyPair),
    Ecdsa(Algorithm, EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

impl Signer {
    /// An Ed25519 key made of one byte; every other one is random.
    pub(crate) fn ed25519(seed: u8) -> Self {
        Self::Ed25519(Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap())
    }

    pub(crate) fn of(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Ed25519 => Self::ed25519(7),
            Algorithm::Es256 => Self::Ecdsa(
                algorithm,
                EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap(),
            ),
            Algorithm::Es384 => Self::Ecdsa(
                algorithm,
                EcdsaKeyPair::generate(&ECDSA_P384_SHA384_FIXED_SIGNING).unwrap(),
            ),
            Algorithm::Ps256 | Algorithm::Rs256 => Self::rsa(KeySize::Rsa2048),
        }
    }

    pub(crate) fn rsa(size: KeySize) -> Self {
        Self::Rsa(RsaKeyPair::generate(size).unwrap())
    }

    /// The members of its public JWK, without braces, for a test to add to.
    pub(crate) fn members(&self) -> String {
        match self {
            Self::Ed25519(pair) => format!(
                r#""kty":"OKP","crv":"Ed25519","x":"{}""#,
                encode(pair.public_key().as_ref())
            ),
            Self::Ecdsa(algorithm, pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(pair.public_key().as_ref().len() / 2);
                let crv = if *algorithm == Algorithm::Es256 {
                    "P-256"
                } else {
                    "P-384"
                };
                format!(r#""kty":"EC","crv":"{crv}","x":"{}","y":"{}""#, encode(x), encode(y))
            }
            Self::Rsa(pair) => {
                // RFC 8017 A.1.1: a sequence of two integers, the modulus with a zero before its first bit; the
                // exponent, 65537, takes the last three bytes.
                let der = pair.public_key().as_ref();
                let modulus = &der[9..der.len() - 5];
                format!(r#""kty":"RSA","n":"{}","e":"AQAB""#, encode(modulus))
            }
        }
    }

    /// Its public JWK with `kid` and more members, each led by a comma.
    pub(crate) fn jwk(&self, kid: &str, more: &str) -> String {
        format!(r#"{{"kid":"{kid}",{}{more}}}"#, self.members())
    }

    /// Its public key, for every algorithm.
    pub(crate) fn public(&self, kid: &str) -> PublicKey {
        let jwk = self.jwk(kid, "");
        let node = read(jwk.as_bytes(), &Bounds::default()).unwrap();
        PublicKey::of_jwk(&node, &Pointer::root(), Algorithm::ALL).unwrap()
    }

    pub(crate) fn sign(&self, algorithm: Algorithm, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
            Self::Ecdsa(_, pair) => pair.sign(&SystemRandom::new(), message).unwrap().as_ref().to_vec(),
            Self::Rsa(_) if algorithm == Algorithm::Ps256 => self.sign_as(&RSA_PSS_SHA256, message),
            Self::Rsa(_) => self.sign_as(&RSA_PKCS1_SHA256, message),
        }
    }

    /// An RSA signature with this padding.
    pub(crate) fn sign_as(&self, padding: &'static dyn RsaEncoding, message: &[u8]) -> Vec<u8> {
        let Self::Rsa(pair) = self else {
            panic!("no RSA key");
        };
        let mut signature = vec![0; pair.public_modulus_len()];
        pair.sign(padding, &SystemRandom::new(), message, &mut signature)
            .unwrap();
        signature
    }

    /// A JWS over the payload, which it does not carry. The header is JSON text.
    pub(crate) fn detached(&self, algorithm: Algorithm, header: &str, payload: &[u8]) -> String {
        let header = encode(header.as_bytes());
        let signature = self.sign(algorithm, signing_input(&header, payload).as_bytes());
        format!("{header}..{}", encode(&signature))
    }

    /// A JWS that carries its payload.
    pub(crate) fn compact(&self, algorithm: Algorithm, header: &str, payload: &[u8]) -> String {
        let signed = signing_input(&encode(header.as_bytes()), payload);
        format!("{signed}.{}", encode(&self.sign(algorithm, signed.as_bytes())))
    }
}

/// The set of these JWKs, for every algorithm.
pub(crate) fn set(jwks: &[String]) -> KeySet {
    KeySet::parse(text(jwks).as_bytes(), Algorithm::ALL).unwrap()
}

/// The text of a set of these JWKs.
pub(crate) fn text(jwks: &[String]) -> String {
    format!(r#"{{"keys":[{}]}}"#, jwks.join(","))
}
