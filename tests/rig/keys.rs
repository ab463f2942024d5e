//! Keys of a test: made anew, their public JWK, signatures over messages.

use aws_lc_rs::encoding::AsBigEndian;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as URL;
use portcullis::message::envelope::Message;
use portcullis::message::json::{Bounds, read};
use serde_json::{Value, json};

/// A key pair with its name.
pub struct Key {
    pub kid: String,
    pair: Pair,
}

enum Pair {
    Ed25519(Ed25519KeyPair),
    Es256(EcdsaKeyPair),
}

impl Key {
    /// A new Ed25519 key.
    pub fn ed25519(kid: &str) -> Self {
        let pair = Pair::Ed25519(Ed25519KeyPair::generate().unwrap());
        Self {
            kid: kid.to_owned(),
            pair,
        }
    }

    /// A new key on P-256.
    pub fn es256(kid: &str) -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        Self {
            kid: kid.to_owned(),
            pair: Pair::Es256(pair),
        }
    }

    /// The public half (RFC 7517, RFC 8037).
    pub fn jwk(&self) -> Value {
        match &self.pair {
            Pair::Ed25519(pair) => json!({
                "kty": "OKP", "crv": "Ed25519", "kid": self.kid, "x": URL.encode(pair.public_key().as_ref()),
            }),
            Pair::Es256(pair) => {
                // Uncompressed point: 0x04, x, y.
                let point = pair.public_key().as_ref();
                json!({
                    "kty": "EC", "crv": "P-256", "kid": self.kid,
                    "x": URL.encode(&point[1..33]), "y": URL.encode(&point[33..65]),
                })
            }
        }
    }

    /// The private half of an Ed25519 key as a JWK.
    pub fn private_jwk(&self) -> Value {
        let mut jwk = self.jwk();
        match &self.pair {
            Pair::Ed25519(pair) => jwk["d"] = URL.encode(pair.seed().unwrap().as_be_bytes().unwrap().as_ref()).into(),
            Pair::Es256(_) => panic!("only the private half of an Ed25519 key is asked for"),
        }
        jwk
    }

    /// The `alg` of this key.
    pub const fn alg(&self) -> &'static str {
        match self.pair {
            Pair::Ed25519(_) => "Ed25519",
            Pair::Es256(_) => "ES256",
        }
    }

    /// A header as a good signature has it, dated at this second.
    pub fn header(&self, iat: i64) -> Value {
        json!({"alg": self.alg(), "kid": self.kid, "typ": "uai-message+jws", "iat": iat})
    }

    /// Signs bytes.
    pub fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        match &self.pair {
            Pair::Ed25519(pair) => pair.sign(bytes).as_ref().to_vec(),
            Pair::Es256(pair) => pair.sign(&SystemRandom::new(), bytes).unwrap().as_ref().to_vec(),
        }
    }

    /// `header.payload.signature` over a payload that it carries.
    pub fn compact(&self, header: &Value, payload: &[u8]) -> String {
        let input = format!("{}.{}", URL.encode(header.to_string()), URL.encode(payload));
        format!("{input}.{}", URL.encode(self.sign(input.as_bytes())))
    }

    /// `header..signature` over these canonical bytes.
    pub fn detached(&self, header: &Value, canonical: &[u8]) -> String {
        let header = URL.encode(header.to_string());
        let input = format!("{header}.{}", URL.encode(canonical));
        format!("{header}..{}", URL.encode(self.sign(input.as_bytes())))
    }

    /// `header..signature` over the canonical bytes of a message.
    pub fn signs(&self, header: &Value, message: &Value) -> String {
        self.detached(header, &canonical(message))
    }
}

/// The canonical bytes of a message in either envelope.
pub fn canonical(message: &Value) -> Vec<u8> {
    let text = message.to_string();
    let root = read(text.as_bytes(), &Bounds::default()).unwrap();
    Message::open(text.as_bytes(), root).unwrap().canonical().to_vec()
}

/// A JWK Set of these keys.
pub fn jwks(keys: &[&Key]) -> String {
    json!({"keys": keys.iter().map(|key| key.jwk()).collect::<Vec<_>>()}).to_string()
}
