//! The gateway's own key and the capability document that it signs (contract §2.4). The last good key is kept.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::sign::{self, SigningError, SigningKey};
use crate::message::canonical::sha256_hex;
use crate::policy::{Policy, capability};

/// `typ` of the signature of a capability document.
pub const CAPABILITY_TYP: &str = "uai-capability+jws";

/// A document is signed again when half of its life is over.
const HALF_LIFE: SignedDuration = SignedDuration::from_secs(1800);

/// Why the gateway's own key cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("`{path}` {source}")]
pub struct OwnKeyError {
    /// The file.
    pub path: String,
    /// What is wrong with it.
    pub source: SigningError,
    is_content: bool,
}

impl OwnKeyError {
    /// Whether the file was read, and what it holds is unfit; such a mistake is told once for each content.
    pub const fn is_about_content(&self) -> bool {
        self.is_content
    }
}

/// The key in use, and what it signed last.
#[derive(Debug)]
pub struct Own {
    key: ArcSwapOption<SigningKey>,
    /// The file at the last attempt, whatever came of it, and the digest of what it held.
    seen: ArcSwap<Option<(PathBuf, String)>>,
    document: ArcSwapOption<Signed>,
}

/// A signed capability document.
#[derive(Debug)]
pub struct Signed {
    /// The JSON text, in one line.
    pub text: String,
    /// After this it is not used.
    pub expires: Timestamp,
    at: Timestamp,
    policy: String,
    key: Arc<SigningKey>,
}

impl Own {
    /// Reads the key of the policy; without one nothing is signed.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn load(path: Option<&Path>) -> Result<Arc<Self>, OwnKeyError> {
        let own = Self {
            key: ArcSwapOption::empty(),
            seen: ArcSwap::from_pointee(None),
            document: ArcSwapOption::empty(),
        };
        own.look(path)?;
        Ok(Arc::new(own))
    }

    /// Takes the key that the policy names now when name or content changed since the last attempt; tells whether it
    /// did. A bad key is told once, not at every look; a file that cannot be read is told every time.
    ///
    /// # Errors
    /// Why the changed key cannot be used; the last good one stays in use.
    pub fn look(&self, path: Option<&Path>) -> Result<bool, OwnKeyError> {
        let Some(path) = path else {
            self.seen.store(Arc::new(None));
            return Ok(self.key.swap(None).is_some());
        };
        let told = |source, is_content| OwnKeyError {
            path: path.display().to_string(),
            source,
            is_content,
        };
        let bytes = sign::read(path).map_err(|source| told(source, false))?;
        let seen = Some((path.to_owned(), sha256_hex(&bytes)));
        if **self.seen.load() == seen {
            return Ok(false);
        }
        self.seen.store(Arc::new(seen));
        let key = SigningKey::parse(&bytes).map_err(|source| told(source, true))?;
        self.key.store(Some(Arc::new(key)));
        Ok(true)
    }

    /// The key in use.
    pub fn key(&self) -> Option<Arc<SigningKey>> {
        self.key.load_full()
    }

    /// The capability document of a policy, signed; again at half life, and when policy or key change. `None` without a
    /// key, and when the crypto library makes no signature.
    pub fn document(&self, policy: &Policy, now: Timestamp) -> Option<Arc<Signed>> {
        let key = self.key()?;
        if let Some(signed) = self.document.load_full()
            && signed.is_good(policy, &key, now)
        {
            return Some(signed);
        }
        let signed = Arc::new(Signed::new(policy, key, now)?);
        self.document.store(Some(Arc::clone(&signed)));
        Some(signed)
    }
}

impl Signed {
    fn new(policy: &Policy, key: Arc<SigningKey>, now: Timestamp) -> Option<Self> {
        let mut document = capability::document(policy, now);
        let expires = document.get("expiry").and_then(Value::as_i64)?;
        let members = document.as_object_mut()?;
        // An object with `keys` is a JWKS, so the document is one, too (RFC 7517 §5).
        members.insert("keys".to_owned(), json!([key.public_jwk()]));
        let canonical = capability::canonical(&document);
        let jws = key.sign_detached(CAPABILITY_TYP, now, None, &canonical).ok()?;
        document
            .as_object_mut()?
            .insert("signature".to_owned(), Value::String(jws));
        Some(Self {
            text: document.to_string(),
            expires: Timestamp::from_second(expires).ok()?,
            at: now,
            policy: policy.revision.clone(),
            key,
        })
    }

    /// Whether it is still the one to serve; one of a later time was signed before the clock went back.
    fn is_good(&self, policy: &Policy, key: &Arc<SigningKey>, now: Timestamp) -> bool {
        let age = now.duration_since(self.at);
        self.policy == policy.revision && Arc::ptr_eq(&self.key, key) && age >= SignedDuration::ZERO && age < HALF_LIFE
    }
}
