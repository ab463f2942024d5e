//! A JWK Set (RFC 7517 §5) of one issuer.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::jwk::{self, Jwk};
use super::{KeyError, PublicKey};
use crate::contract::Pointer;
use crate::message::is_id;
use crate::message::json::{Bounds, Node, read};
use crate::policy::Algorithm;

/// The most bytes of a set (contract §17).
pub const TEXT_MAX: usize = 256 * 1024;

/// The most keys of a set (contract §17).
pub const KEYS_MAX: usize = 100;

/// Bytes of a `kid` that the policy can name.
const KID_MAX: usize = 128;

/// A set is small and flat; certificates (`x5c`), which are not read, are its longest strings.
const BOUNDS: Bounds = Bounds {
    depth: 8,
    string: 16 * 1024,
    members: 64,
    elements: 1024,
    values: 20_000,
};

/// The keys of one issuer, by `kid`.
#[derive(Debug, Default)]
pub struct KeySet {
    keys: HashMap<Arc<str>, Arc<PublicKey>>,
    remarks: Vec<Remark>,
}

/// A key that is of no use here; the set was taken without it, or with it and for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Where, such as `/keys/3`.
    pub place: Pointer,
    /// Its `kid`, when that is an id.
    pub kid: Option<String>,
    /// What would have been needed.
    pub detail: &'static str,
}

impl KeySet {
    /// Reads a JWK Set. `algorithms` are the issuer's.
    ///
    /// # Errors
    /// Text that is not strict JSON (contract §2.1), too large, or holds more than 100 keys; a `kid` twice; a key with
    /// secret members; a key of a kind that could be used here and that is malformed, weak, or contradicts itself.
    pub fn parse(text: &[u8], algorithms: &[Algorithm]) -> Result<Self, KeyError> {
        if text.len() > TEXT_MAX {
            return Err(error(Pointer::root(), "expected at most 256 KiB"));
        }
        let root = read(text, &BOUNDS).map_err(|finding| KeyError {
            place: finding.pointer.unwrap_or_default(),
            detail: finding.detail,
        })?;
        let place = Pointer::root().member("keys");
        let keys = root
            .get("keys")
            .and_then(Node::elements)
            .ok_or_else(|| error(place.clone(), "expected an array of keys"))?;
        if keys.len() > KEYS_MAX {
            return Err(error(place, "expected at most 100 keys"));
        }
        let mut set = Self::default();
        let mut kids = HashSet::new();
        for (index, node) in keys.iter().enumerate() {
            set.take(node, &place.element(index), algorithms, &mut kids)?;
        }
        Ok(set)
    }

    fn take<'n>(
        &mut self,
        node: &'n Node<'_>,
        place: &Pointer,
        algorithms: &[Algorithm],
        kids: &mut HashSet<&'n str>,
    ) -> Result<(), KeyError> {
        let read = jwk::read(node, place, algorithms)?;
        let kid = jwk::text(node, place, "kid")?;
        if let Some(kid) = kid
            && !kids.insert(kid)
        {
            return Err(error(place.member("kid"), "expected a `kid` that no other key has"));
        }
        let mut remark = |detail| {
            self.remarks.push(Remark {
                place: place.clone(),
                kid: kid.filter(|kid| is_id(kid)).map(str::to_owned),
                detail,
            });
        };
        let key = match read {
            Jwk::Key(key) => key,
            Jwk::Unused(detail) => {
                remark(detail);
                return Ok(());
            }
        };
        match &key.kid {
            Some(kid) if (1..=KID_MAX).contains(&kid.len()) => {
                if key.verifiers.is_empty() {
                    remark("expected a key that fits an algorithm of the issuer");
                }
                self.keys.insert(Arc::clone(kid), Arc::new(key));
            }
            Some(_) | None => remark("expected a `kid` of 1 to 128 bytes, as signatures name their key by it"),
        }
        Ok(())
    }

    /// The key of this `kid`.
    pub fn get(&self, kid: &str) -> Option<&Arc<PublicKey>> {
        self.keys.get(kid)
    }

    /// Every `kid`, in no order.
    pub fn kids(&self) -> impl Iterator<Item = &Arc<str>> {
        self.keys.keys()
    }

    /// How many keys can be looked up.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether it holds no key; then it verifies nothing.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// What is of no use here, in the order of the set; for a record and a counter.
    pub fn remarks(&self) -> &[Remark] {
        &self.remarks
    }
}

fn error(place: Pointer, detail: &'static str) -> KeyError {
    KeyError {
        place,
        detail: detail.into(),
    }
}
