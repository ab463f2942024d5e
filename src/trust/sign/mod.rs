//! Signing with a private key that stands in a JWK file: detached JWS for messages and documents (contract §7, RFC 7515).
//!
//! josekit makes keys and reads RSA from JWK; aws-lc-rs signs. Nothing here prints a key: errors name what was expected,
//! and `Debug` shows the name of a key alone.

mod import;
mod make;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair as RsaKeyPair;
use aws_lc_rs::signature::{EcdsaKeyPair, Ed25519KeyPair, RSA_PKCS1_SHA256, RSA_PSS_SHA256};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

pub use make::{PrivateJwk, generate};

use crate::policy::Algorithm;

/// The largest file that is read as a key; an RSA key of 16,384 bits has about 13 KB.
const FILE_MAX: u64 = 64 * 1024;

/// Permission bits of those who neither own the file nor belong to its group.
const OTHERS: u32 = 0o007;

/// Why a private key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SigningError {
    /// The file cannot be read.
    #[error("cannot be read")]
    Unreadable(#[source] io::Error),
    /// Everybody on the machine may read or change the file. Its group may: Kubernetes mounts secrets so.
    #[error("may be opened by anybody: expected a file mode such as 0600 or 0440")]
    Exposed,
    /// It is no private key that this program can sign with.
    #[error("is unfit: expected {0}")]
    Unfit(&'static str),
    /// The crypto library made no signature or no key.
    #[error("is not used, as the crypto library failed")]
    Failed,
}

/// A private key that can sign.
pub struct SigningKey {
    kid: String,
    algorithm: Algorithm,
    pair: Pair,
    public: Map<String, Value>,
}

/// The private part, in the hands of the library that signs.
enum Pair {
    Ed25519(Ed25519KeyPair),
    Ecdsa(EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("SigningKey");
        shown.field("kid", &self.kid).finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Reads a private JWK file.
    ///
    /// # Errors
    /// Why it cannot be used; a file that others than its owner and its group may open is refused.
    pub fn load(path: &Path) -> Result<Self, SigningError> {
        Self::parse(&read(path)?)
    }

    /// Reads a private JWK (RFC 7517): `kty` OKP with Ed25519, EC with P-256 or P-384, or RSA with `alg` PS256 or RS256 and
    /// 2048 bits at least. `kid` is required.
    ///
    /// # Errors
    /// What was expected of it.
    pub fn parse(bytes: &[u8]) -> Result<Self, SigningError> {
        import::parse(bytes)
    }

    /// `kid`.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// What it signs with.
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The public part as a JWK: `kty`, its public members, `alg`, `use` and `kid`.
    pub fn public_jwk(&self) -> Value {
        Value::Object(self.public.clone())
    }

    /// The signature of some bytes, as JWS writes it: r and s side by side for ECDSA.
    ///
    /// # Errors
    /// When the crypto library fails.
    pub fn sign(&self, input: &[u8]) -> Result<Vec<u8>, SigningError> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Ed25519(pair) => pair.try_sign(input).map(|made| made.as_ref().to_vec()),
            Pair::Ecdsa(pair) => pair.sign(&random, input).map(|made| made.as_ref().to_vec()),
            Pair::Rsa(pair) => {
                let padding = match self.algorithm {
                    Algorithm::Ps256 => &RSA_PSS_SHA256,
                    Algorithm::Rs256 | Algorithm::Ed25519 | Algorithm::Es256 | Algorithm::Es384 => &RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(padding, &random, input, &mut signature).map(|()| signature)
            }
        }
        .map_err(|_unspecified| SigningError::Failed)
    }

    /// A compact JWS over `payload`, under a header that the caller makes.
    ///
    /// # Errors
    /// When the crypto library fails.
    pub fn sign_compact(&self, header: &Value, payload: &[u8]) -> Result<String, SigningError> {
        let [header, payload, signature] = self.parts(header, payload)?;
        Ok(format!("{header}.{payload}.{signature}"))
    }

    /// The detached JWS of contract §7 over canonical bytes: `header..signature`.
    ///
    /// # Errors
    /// When the crypto library fails.
    pub fn sign_detached(
        &self,
        typ: &str,
        issued_at: Timestamp,
        audience: Option<&str>,
        canonical: &[u8],
    ) -> Result<String, SigningError> {
        let mut header =
            json!({"alg": self.algorithm.name(), "kid": self.kid, "typ": typ, "iat": issued_at.as_second()});
        if let (Some(audience), Some(members)) = (audience, header.as_object_mut()) {
            members.insert("aud".to_owned(), json!(audience));
        }
        self.sign_under(&header, canonical)
    }

    /// A detached JWS over `payload`, under a header that the caller makes.
    ///
    /// # Errors
    /// When the crypto library fails.
    pub fn sign_under(&self, header: &Value, payload: &[u8]) -> Result<String, SigningError> {
        let [header, _payload, signature] = self.parts(header, payload)?;
        Ok(format!("{header}..{signature}"))
    }

    /// The three parts of RFC 7515 §3.1, encoded.
    fn parts(&self, header: &Value, payload: &[u8]) -> Result<[String; 3], SigningError> {
        let header = URL_SAFE_NO_PAD.encode(header.to_string());
        let payload = URL_SAFE_NO_PAD.encode(payload);
        let signature = self.sign(format!("{header}.{payload}").as_bytes())?;
        Ok([header, payload, URL_SAFE_NO_PAD.encode(signature)])
    }
}

/// The bytes of a key file that only its owner and its group may open.
pub fn read(path: &Path) -> Result<Vec<u8>, SigningError> {
    let metadata = std::fs::metadata(path).map_err(SigningError::Unreadable)?;
    // A pipe would block for ever.
    if !metadata.is_file() {
        return Err(SigningError::Unfit("a file"));
    }
    let file = File::open(path).map_err(SigningError::Unreadable)?;
    // Of the file that was opened, not of the name: the two can differ by now.
    let opened = file.metadata().map_err(SigningError::Unreadable)?;
    if opened.mode() & OTHERS != 0 {
        return Err(SigningError::Exposed);
    }
    let mut bytes = Vec::new();
    let mut bounded = file.take(FILE_MAX.saturating_add(1));
    bounded.read_to_end(&mut bytes).map_err(SigningError::Unreadable)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > FILE_MAX) {
        return Err(SigningError::Unfit("a file of at most 64 KiB"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
