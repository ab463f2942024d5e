//! A capability document that somebody else presents (contract §2.4): used only unaltered and in its time.

use std::sync::Arc;

use jiff::Timestamp;

use super::jws::{Found, Kind, Place, judge, parse_header, split_detached};
use super::keys::KeySet;
use crate::contract::Rule;
use crate::facts::Fault;
use crate::message::canonical::jcs;
use crate::message::json::{self, Bounds, Kind as Value, Node};

/// A document that may be used until it expires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presented {
    /// `kid` of the key that signed it.
    pub kid: Arc<str>,
    /// `revision`.
    pub revision: String,
    /// `expiry`.
    pub expires: Timestamp,
}

/// Why a document is not used.
#[derive(Debug)]
pub enum Unusable {
    /// Not signed, not as it was signed, or not by a known key: ERR_JCS_INVALID.
    Altered(Fault),
    /// Past its `expiry`.
    Expired,
}

/// Verifies a document by the keys of whoever it speaks for.
///
/// # Errors
/// [`Unusable`]; the signature is judged before the time.
pub fn verify(text: &[u8], keys: &KeySet, now: Timestamp) -> Result<Presented, Unusable> {
    let malformed = |detail: &str| Unusable::Altered(fault(Rule::SignatureMalformed, detail));
    let mut root = json::read(text, &Bounds::default()).map_err(|_finding| malformed("expected strict JSON"))?;
    let signature = take(&mut root, "signature")
        .ok_or_else(|| Unusable::Altered(fault(Rule::SignatureAbsent, "expected a `signature`")))?;
    let signature = signature
        .text()
        .ok_or_else(|| malformed("expected `signature` to be a string"))?;
    let jws = split_detached(signature).map_err(Unusable::Altered)?;
    let header = parse_header(&jws, &Kind::CAPABILITY).map_err(Unusable::Altered)?;
    let key = header.kid.as_deref().and_then(|kid| keys.get(kid));
    let found = key.map_or(Found::Unknown, |key| Found::Key {
        key,
        typ_optional: false,
    });
    let place = Place {
        now,
        audiences: &[],
        audience_required: false,
    };
    judge(&jws, &header, found, place, &jcs(&root), None).map_err(Unusable::Altered)?;
    let expiry = root.get("expiry").and_then(|node| node.number()?.integer());
    let expires = expiry.and_then(|seconds| Timestamp::from_second(seconds).ok());
    let expires = expires.ok_or_else(|| malformed("expected `expiry` in whole seconds since 1970"))?;
    let revision = root.get("revision").and_then(Node::text);
    let revision = revision.ok_or_else(|| malformed("expected `revision`"))?.to_owned();
    if expires <= now {
        return Err(Unusable::Expired);
    }
    let kid = key.and_then(|key| key.kid()).map(Arc::clone);
    Ok(Presented {
        kid: kid.ok_or_else(|| malformed("expected a key with a name"))?,
        revision,
        expires,
    })
}

/// Takes a member out of an object.
fn take<'a>(root: &mut Node<'a>, name: &str) -> Option<Node<'a>> {
    match &mut root.kind {
        Value::Object(members) => {
            let at = members.iter().position(|member| member.name == name)?;
            Some(members.remove(at).value)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}

fn fault(rule: Rule, detail: &str) -> Fault {
    Fault {
        rule,
        detail: detail.to_owned(),
        kid: None,
        alg: None,
    }
}
