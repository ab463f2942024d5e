//! A stored answer: what a true retry gets (contract §8, "After the commit").
//!
//! Status, `content-type`, `location`, `etag`, `uaix-revision-hash`, and the body up to `idempotency.max_body`; of a longer
//! one its SHA-256, which a replay sends as `Repr-Digest` (RFC 9530) without a body.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderName, LOCATION};
use http::{HeaderMap, HeaderValue};

/// The fields that are stored.
const FIELDS: [HeaderName; 4] = [
    CONTENT_TYPE,
    LOCATION,
    ETAG,
    HeaderName::from_static("uaix-revision-hash"),
];

/// A field that is longer is left out.
const FIELD_MAX: usize = 8 * 1024;

/// Says that a field is not there.
const NO_FIELD: u16 = u16::MAX;

/// A body of which only the digest was stored.
const DIGEST: HeaderName = HeaderName::from_static("repr-digest");

const WHOLE: u8 = 1;
const HASHED: u8 = 2;

/// An answer as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status that the first request got.
    pub status: u16,
    /// The stored fields; `Repr-Digest` too where the body is not stored.
    pub fields: HeaderMap,
    /// The body; `None` where only its digest is stored.
    pub body: Option<Bytes>,
}

impl Answer {
    /// What is stored of an answer with these fields and this body.
    pub fn of(status: u16, received: &HeaderMap, body: &Bytes, max_body: usize) -> Self {
        let mut fields = HeaderMap::new();
        for name in FIELDS {
            if let Some(value) = received.get(&name).filter(|value| value.len() <= FIELD_MAX) {
                fields.insert(name, value.clone());
            }
        }
        let whole = Self {
            status,
            fields,
            body: Some(body.clone()),
        };
        // What the coding of a body is would not be told with it.
        if body.len() > max_body || received.contains_key(CONTENT_ENCODING) {
            whole.without_body()
        } else {
            whole
        }
    }

    /// The same with the digest in place of the body. A type without a body would promise one that is not there.
    #[must_use]
    pub fn without_body(mut self) -> Self {
        if let Some(body) = self.body.take() {
            let text = STANDARD.encode(digest(&SHA256, &body).as_ref());
            self.fields.remove(CONTENT_TYPE);
            if let Ok(value) = HeaderValue::try_from(format!("sha-256=:{text}:")) {
                self.fields.insert(DIGEST, value);
            }
        }
        self
    }

    /// As bytes.
    pub fn encode(&self) -> Bytes {
        let body = self.body.as_deref().unwrap_or_default();
        let mut out = BytesMut::with_capacity(body.len().saturating_add(64));
        out.put_u8(if self.body.is_some() { WHOLE } else { HASHED });
        out.put_u16(self.status);
        for name in FIELDS.iter().chain([&DIGEST]) {
            let value = self.fields.get(name).map(HeaderValue::as_bytes);
            match value.and_then(|value| Some((u16::try_from(value.len()).ok()?, value))) {
                Some((length, value)) => {
                    out.put_u16(length);
                    out.put_slice(value);
                }
                None => out.put_u16(NO_FIELD),
            }
        }
        out.put_slice(body);
        out.freeze()
    }

    /// From bytes; `None` for what was not written here.
    pub fn decode(mut bytes: Bytes) -> Option<Self> {
        let kind = bytes.try_get_u8().ok()?;
        let status = bytes.try_get_u16().ok().filter(|status| (200..=999).contains(status))?;
        let mut fields = HeaderMap::new();
        for name in FIELDS.iter().chain([&DIGEST]) {
            let length = bytes.try_get_u16().ok()?;
            if length == NO_FIELD {
                continue;
            }
            let length = usize::from(length);
            if bytes.len() < length {
                return None;
            }
            fields.insert(name.clone(), HeaderValue::from_bytes(&bytes.split_to(length)).ok()?);
        }
        let body = match kind {
            WHOLE => Some(bytes),
            HASHED if bytes.is_empty() => None,
            _ => return None,
        };
        Some(Self { status, fields, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received() -> HeaderMap {
        HeaderMap::from_iter(
            [
                ("content-type", "application/json"),
                ("location", "/tasks/1"),
                ("etag", "\"e\""),
                ("uaix-revision-hash", "sha256:00"),
                ("set-cookie", "a=b"),
                ("x-own", "1"),
            ]
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))),
        )
    }

    #[test]
    fn four_fields_and_the_body_are_stored() {
        let body = Bytes::from_static(b"{}");
        let answer = Answer::of(201, &received(), &body, 2);
        assert_eq!(answer.fields.len(), 4);
        assert_eq!(answer.body.as_ref(), Some(&body));
        assert_eq!(Answer::decode(answer.encode()), Some(answer));
    }

    /// The digest of `{"hello": "world"}` and a line feed stands in RFC 9530, appendix B.1.
    #[test]
    fn of_a_long_body_the_digest_is_stored() {
        let body = Bytes::from_static(b"{\"hello\": \"world\"}\n");
        let answer = Answer::of(200, &received(), &body, 3);
        assert_eq!(answer.body, None);
        assert_eq!(
            answer.fields.get("repr-digest").unwrap(),
            "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"
        );
        assert!(!answer.fields.contains_key("content-type") && answer.fields.contains_key("etag"));
        assert_eq!(Answer::decode(answer.encode()), Some(answer.clone()));
        assert_eq!(answer.clone().without_body(), answer);
    }

    #[test]
    fn of_a_coded_body_the_digest_is_stored() {
        let mut fields = received();
        fields.insert("content-encoding", HeaderValue::from_static("gzip"));
        let answer = Answer::of(200, &fields, &Bytes::from_static(b"\x1f\x8b"), 1_000);
        assert_eq!(answer.body, None, "its coding is not stored");
        assert!(answer.fields.contains_key("repr-digest"));
    }

    #[test]
    fn a_field_that_is_too_long_is_left_out() {
        let mut fields = received();
        fields.insert("location", HeaderValue::try_from("x".repeat(FIELD_MAX + 1)).unwrap());
        let answer = Answer::of(200, &fields, &Bytes::new(), 1);
        assert!(!answer.fields.contains_key("location"));
        assert_eq!(Answer::decode(answer.encode()), Some(answer));
    }

    #[test]
    fn nothing_else_is_an_answer() {
        let bytes = Answer::of(200, &received(), &Bytes::new(), 1).encode();
        for length in 0..bytes.len() {
            assert_eq!(Answer::decode(bytes.slice(..length)), None, "{length}");
        }
        assert_eq!(Answer::decode(Bytes::from_static(b"\x03\x00\xc8")), None);
        assert_eq!(Answer::decode(Bytes::from_static(b"\x01\x00\x00")), None);
    }
}
