//! The two envelopes (contract §2.2 to §2.5): which one the bytes are, and typed access to what rules read.

use super::canonical;
use super::json::{Node, minified};
use super::keyless;
use super::profile::Schemas;
use crate::contract::{Finding, Pointer, Rule};

/// Which envelope a message is (contract §1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Envelope {
    /// `uai_version` `"1.0"`.
    Canonical,
    /// `version` `"1.0.0"`.
    Delivery,
}

impl Envelope {
    /// The word used in the policy file and in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Canonical => "canonical",
            Self::Delivery => "delivery",
        }
    }
}

/// The form in which a message comes; its media type says which (contract §2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// An object.
    #[default]
    Keyed,
    /// An array in the order of contract §2.5.
    Keyless,
}

/// The media type of the keyless form.
pub const KEYLESS_TYPE: &str = "application/uai-keyless+json";

/// A message that passed stages 3 and 4: strict JSON in its keyed form, and one envelope of a known version.
///
/// Later stages have not run yet, so every accessor answers `None` for a member that is missing or mistyped.
#[derive(Debug)]
pub struct Message<'a> {
    bytes: &'a [u8],
    root: Node<'a>,
    canonical: Vec<u8>,
    digest: String,
    envelope: Envelope,
    form: Form,
}

impl<'a> Message<'a> {
    /// Stage 4 for a keyed message: decides which envelope this is and takes the digest of its canonical bytes (§7).
    ///
    /// # Errors
    /// `envelope.ambiguous` or `envelope.version`.
    pub fn open(bytes: &'a [u8], root: Node<'a>) -> Result<Self, Finding> {
        let canonical = root.member("uai_version");
        let delivery = root.member("version");
        let (member, name, expected, envelope) = match (canonical, delivery) {
            (Some(member), None) => (member, "uai_version", "1.0", Envelope::Canonical),
            (None, Some(member)) => (member, "version", "1.0.0", Envelope::Delivery),
            (Some(_), Some(_)) | (None, None) => {
                let detail = "expected an object with exactly one of `uai_version` and `version`";
                return Err(ambiguous(&root, detail));
            }
        };
        if member.value.text() != Some(expected) {
            return Err(wrong_version(name, member.at, expected));
        }
        let canonical = match envelope {
            Envelope::Canonical => canonical::canonical_bytes(&root),
            Envelope::Delivery => canonical::delivery_bytes(&root),
        };
        Ok(Self {
            bytes,
            root,
            digest: canonical::sha256_hex(&canonical),
            canonical,
            envelope,
            form: Form::Keyed,
        })
    }

    /// Stage 4 for a keyless message: the version first, then the keyed form is rebuilt (contract §2.5).
    ///
    /// # Errors
    /// `envelope.ambiguous`, `envelope.version`, or every `keyless.*` finding.
    pub fn open_keyless(bytes: &'a [u8], root: Node<'a>, schemas: &Schemas) -> Result<Self, Vec<Finding>> {
        let Some(places) = root.elements() else {
            let detail = "expected an array, as the media type is that of the keyless form";
            return Err(vec![ambiguous(&root, detail)]);
        };
        if let Some(version) = places.first().filter(|version| version.text() != Some("1.0")) {
            return Err(vec![wrong_version("uai_version", version.span.start, "1.0")]);
        }
        let root = keyless::rebuild(root, schemas)?;
        let canonical = canonical::canonical_bytes(&root);
        Ok(Self {
            bytes,
            root,
            digest: canonical::sha256_hex(&canonical),
            canonical,
            envelope: Envelope::Canonical,
            form: Form::Keyless,
        })
    }

    /// The bytes read, unchanged.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The root object, in its keyed form.
    pub fn root(&self) -> &Node<'a> {
        &self.root
    }

    /// The root object itself.
    pub fn into_root(self) -> Node<'a> {
        self.root
    }

    /// The keyed form as JSON text without blanks.
    pub fn keyed(&self) -> Vec<u8> {
        minified(&self.root)
    }

    /// Which envelope it is.
    pub const fn envelope(&self) -> Envelope {
        self.envelope
    }

    /// In which form it came.
    pub const fn form(&self) -> Form {
        self.form
    }

    /// The canonical bytes, made once: what the checksum and every signature are over (contract §7).
    pub fn canonical(&self) -> &[u8] {
        &self.canonical
    }

    /// SHA-256 of the canonical bytes, 64 lowercase hex digits (contract §7).
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The member at a path of names below the root, when every step is there.
    pub fn at(&self, path: &[&str]) -> Option<&Node<'a>> {
        path.iter().try_fold(&self.root, |node, name| node.get(name))
    }

    /// The text at a path of names below the root, when it is a string.
    pub fn text(&self, path: &[&str]) -> Option<&str> {
        self.at(path)?.text()
    }

    /// The profile id of a canonical envelope, when it is a string.
    pub fn profile(&self) -> Option<&str> {
        self.text(self.of(&["profile"], &[])?)
    }

    /// The message id, when it is a string.
    pub fn id(&self) -> Option<&str> {
        self.text(self.of(&["message_id"], &["logical_message_id"])?)
    }

    /// The sender the envelope names, when it is a string.
    pub fn sender(&self) -> Option<&str> {
        self.text(self.of(&["source", "id"], &["sender", "logical_agent_id"])?)
    }

    /// Where the envelope names its one recipient.
    pub const fn address_path(&self) -> &'static [&'static str] {
        match self.envelope {
            Envelope::Canonical => &["target", "id"],
            Envelope::Delivery => &["recipient", "logical_agent_id"],
        }
    }

    /// Where the envelope names its delivery mode.
    pub const fn mode_path(&self) -> &'static [&'static str] {
        match self.envelope {
            Envelope::Canonical => &["delivery", "mode"],
            Envelope::Delivery => &["delivery_mode"],
        }
    }

    /// Where the envelope carries an idempotency key of its own (contract §8).
    pub const fn key_path(&self) -> &'static [&'static str] {
        match self.envelope {
            Envelope::Canonical => &["delivery", "idempotency_key"],
            Envelope::Delivery => &["recipient", "delivery_id"],
        }
    }

    /// The profile's own body, when there is one.
    pub fn body(&self) -> Option<&Node<'a>> {
        self.at(self.of(&["body"], &[])?)
    }

    /// The one of two paths that belongs to this envelope; `None` when it has no such member.
    fn of(
        &self,
        canonical: &'static [&'static str],
        delivery: &'static [&'static str],
    ) -> Option<&'static [&'static str]> {
        let path = match self.envelope {
            Envelope::Canonical => canonical,
            Envelope::Delivery => delivery,
        };
        (!path.is_empty()).then_some(path)
    }
}

fn ambiguous(root: &Node<'_>, detail: &'static str) -> Finding {
    Finding::at(Rule::EnvelopeAmbiguous, Pointer::root(), root.span.start, detail)
}

fn wrong_version(name: &str, at: usize, expected: &str) -> Finding {
    let detail = format!("expected the string \"{expected}\"");
    Finding::at(Rule::EnvelopeVersion, Pointer::root().member(name), at, detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::json::{Bounds, read};

    const DELIVERY: &str = r#"{"version":"1.0.0","logical_message_id":"m","sender":{"logical_agent_id":"urn:a","signature":"h..s"},
        "recipient":{"logical_agent_id":"urn:b","delivery_id":"d"},"delivery_mode":"sync_rpc","payload":{"n":null},"profile":"p"}"#;

    fn tree(text: &str) -> Node<'_> {
        read(text.as_bytes(), &Bounds::default()).unwrap()
    }

    #[test]
    fn a_delivery_envelope_answers_in_its_own_members() {
        let message = Message::open(DELIVERY.as_bytes(), tree(DELIVERY)).unwrap();
        assert_eq!(message.envelope(), Envelope::Delivery);
        assert_eq!((message.id(), message.sender()), (Some("m"), Some("urn:a")));
        assert_eq!(message.text(message.address_path()), Some("urn:b"));
        assert_eq!(message.text(message.mode_path()), Some("sync_rpc"));
        assert_eq!(message.text(message.key_path()), Some("d"));
        assert_eq!(message.profile(), None);
        assert!(message.body().is_none());
    }

    /// Contract §7: `sender.signature` is removed, nothing else.
    #[test]
    fn the_digest_of_a_delivery_envelope_leaves_out_its_signature_alone() {
        let digest = |text: &str| Message::open(text.as_bytes(), tree(text)).unwrap().digest().to_owned();
        let same = digest(&DELIVERY.replace("h..s", "h..t"));
        assert_eq!(same, digest(DELIVERY));
        assert_ne!(digest(&DELIVERY.replace("\"n\":null", "\"m\":1")), same);
        assert_ne!(digest(&DELIVERY.replace("{\"n\":null}", "{}")), same);
    }

    #[test]
    fn a_keyless_root_is_an_array_of_this_version() {
        let schemas = Schemas::builtin().unwrap();
        let rules = |text: &str| -> Vec<Rule> {
            let opened = Message::open_keyless(text.as_bytes(), tree(text), &schemas);
            opened.unwrap_err().iter().map(|finding| finding.rule).collect()
        };
        assert_eq!(rules("{\"uai_version\":\"1.0\"}"), [Rule::EnvelopeAmbiguous]);
        assert_eq!(rules("\"1.0\""), [Rule::EnvelopeAmbiguous]);
        assert_eq!(rules("[\"1.1\"]"), [Rule::EnvelopeVersion]);
        assert_eq!(rules("[null]"), [Rule::EnvelopeVersion]);
        assert_eq!(rules("[\"1.0\"]"), [Rule::KeylessOverflow]);
        assert_eq!(rules("[]"), [Rule::KeylessOverflow]);
    }
}
