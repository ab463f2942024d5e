//! What makes two requests the same one (contract §8, "Fingerprint"): SHA-256 of the JCS of a few members.
//!
//! A true retry may raise `retry_count`, be issued anew and be signed anew; none of that is in here. The members stand
//! in one flat object under their dotted names; one that is missing is left out.

use aws_lc_rs::digest::{SHA256, digest};

use crate::message::canonical;
use crate::message::envelope::{Envelope, Message};

/// The first 16 bytes of a SHA-256.
pub type Short = [u8; 16];

/// Members of a canonical envelope, in the order of their names.
const CANONICAL: &[&[&str]] = &[
    &["body"],
    &["delivery", "mode"],
    &["delivery", "task_ref"],
    &["extensions"],
    &["profile"],
    &["source", "id"],
    &["target", "id"],
];

/// Members of a delivery envelope, in the order of their names.
const DELIVERY: &[&[&str]] = &[
    &["delivery_mode"],
    &["extensions"],
    &["payload"],
    &["recipient"],
    &["sender", "logical_agent_id"],
];

/// The fingerprint of a message.
pub fn of_message(message: &Message<'_>) -> Short {
    short(&match message.envelope() {
        Envelope::Canonical => canonical::canonical_members(message.root(), CANONICAL),
        Envelope::Delivery => canonical::delivery_members(message.root(), DELIVERY),
    })
}

/// The fingerprint of a request without an envelope: its method, its path as forwarded, its media type without
/// parameters in lower case, the SHA-256 of its body in hex.
pub fn of_request(method: &str, path: &str, media_type: &str, body_digest: &str) -> Short {
    let object = canonical::object(&[
        ("body", body_digest),
        ("media_type", media_type),
        ("method", method),
        ("target", path),
    ]);
    short(&object)
}

/// The first 16 bytes of the SHA-256 of these bytes.
pub fn short(bytes: &[u8]) -> Short {
    let mut out = [0; 16];
    for (to, from) in out.iter_mut().zip(digest(&SHA256, bytes).as_ref()) {
        *to = *from;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::json::{Bounds, read};

    const CANONICAL: &str = r#"{"uai_version":"1.0","profile":"p","message_id":"m","source":{"id":"a"},"target":{"id":"b"},
        "delivery":{"mode":"async","task_ref":"t","retry_count":0},"body":{"x":1,"y":[]},"extensions":[],
        "provenance":{"issued_at":"2026-01-01T00:00:00Z"},"trust":{"signature_ref":"data:application/jose,a..b"}}"#;
    const DELIVERY: &str = r#"{"version":"1.0.0","logical_message_id":"m","sender":{"logical_agent_id":"a","signature":"x..y"},
        "recipient":{"logical_agent_id":"b","delivery_id":"d"},"delivery_mode":"sync_rpc","payload":{"n":1}}"#;

    fn of(text: &str) -> Short {
        let root = read(text.as_bytes(), &Bounds::default()).unwrap();
        of_message(&Message::open(text.as_bytes(), root).unwrap())
    }

    #[test]
    fn a_true_retry_has_the_same_and_another_request_has_not() {
        let first = of(CANONICAL);
        for (old, new, same) in [
            ("\"retry_count\":0", "\"retry_count\":1", true),
            ("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z", true),
            ("data:application/jose,a..b", "data:application/jose,c..d", true),
            ("\"message_id\":\"m\"", "\"message_id\":\"n\"", true),
            ("{\"x\":1,\"y\":[]}", "{ \"y\": [], \"x\": 1.0 }", true),
            ("{\"x\":1,", "{\"x\":1,\"z\":null,", true),
            ("\"x\":1", "\"x\":2", false),
            ("\"profile\":\"p\"", "\"profile\":\"q\"", false),
            ("{\"id\":\"a\"}", "{\"id\":\"c\"}", false),
            ("{\"id\":\"b\"}", "{\"id\":\"c\"}", false),
            ("\"async\"", "\"sync\"", false),
            ("\"task_ref\":\"t\"", "\"task_ref\":\"u\"", false),
            ("\"extensions\":[]", "\"extensions\":[{\"namespace\":\"n\"}]", false),
        ] {
            assert!(CANONICAL.contains(old), "{old}");
            assert_eq!(of(&CANONICAL.replace(old, new)) == first, same, "{new}");
        }
    }

    #[test]
    fn a_delivery_envelope_counts_by_its_own_members() {
        let first = of(DELIVERY);
        for (old, new, same) in [
            ("x..y", "x..z", true),
            ("\"logical_message_id\":\"m\"", "\"logical_message_id\":\"n\"", true),
            ("\"logical_agent_id\":\"a\"", "\"logical_agent_id\":\"c\"", false),
            ("\"delivery_id\":\"d\"", "\"delivery_id\":\"e\"", false),
            ("sync_rpc", "async", false),
            ("\"n\":1", "\"n\":2", false),
            ("\"n\":1}", "\"n\":1,\"o\":null}", false),
        ] {
            assert!(DELIVERY.contains(old), "{old}");
            assert_eq!(of(&DELIVERY.replace(old, new)) == first, same, "{new}");
        }
    }

    #[test]
    fn the_object_is_flat_and_in_the_order_of_jcs() {
        let root = read(CANONICAL.as_bytes(), &Bounds::default()).unwrap();
        assert_eq!(
            String::from_utf8(canonical::canonical_members(&root, super::CANONICAL)).unwrap(),
            r#"{"body":{"x":1,"y":[]},"delivery.mode":"async","delivery.task_ref":"t","extensions":[],"profile":"p","source.id":"a","target.id":"b"}"#
        );
        let expected = short(br#"{"body":"00","media_type":"application/json","method":"POST","target":"/a"}"#);
        assert_eq!(of_request("POST", "/a", "application/json", "00"), expected);
    }

    #[test]
    fn a_request_counts_by_its_four_parts() {
        let first = of_request("POST", "/a", "application/json", "00");
        assert_ne!(of_request("PUT", "/a", "application/json", "00"), first);
        assert_ne!(of_request("POST", "/b", "application/json", "00"), first);
        assert_ne!(of_request("POST", "/a", "text/plain", "00"), first);
        assert_ne!(of_request("POST", "/a", "application/json", "01"), first);
    }
}
