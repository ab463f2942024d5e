//! The canonical envelope (contract §2.2, §2.3): which envelope the bytes are, and typed access to what rules read.

use super::canonical;
use super::json::Node;
use crate::contract::{Finding, Pointer, Rule};

/// A message that passed stages 3 and 4: strict JSON, and known to be a canonical envelope of version `1.0`.
///
/// Later stages have not run yet, so every accessor answers `None` for a member that is missing or mistyped.
#[derive(Debug)]
pub struct Message<'a> {
    bytes: &'a [u8],
    root: Node<'a>,
    digest: String,
}

impl<'a> Message<'a> {
    /// Stage 4: decides which envelope this is (contract §2.2) and takes the digest of its canonical bytes (§7).
    ///
    /// # Errors
    /// `envelope.ambiguous`, `envelope.version`, or `envelope.not-here` for an envelope that no route can list yet.
    pub fn open(bytes: &'a [u8], root: Node<'a>) -> Result<Self, Finding> {
        let canonical = root.member("uai_version");
        let delivery = root.member("version");
        match (canonical, delivery) {
            (Some(version), None) => {
                if version.value.text() != Some("1.0") {
                    return Err(Finding::at(
                        Rule::EnvelopeVersion,
                        Pointer::root().member("uai_version"),
                        version.at,
                        "expected the string \"1.0\"",
                    ));
                }
            }
            (None, Some(version)) => {
                let (rule, detail) = if version.value.text() == Some("1.0.0") {
                    (Rule::EnvelopeNotHere, "this route takes canonical envelopes only")
                } else {
                    (Rule::EnvelopeVersion, "expected the string \"1.0.0\"")
                };
                return Err(Finding::at(rule, Pointer::root().member("version"), version.at, detail));
            }
            (Some(_), Some(_)) | (None, None) => {
                return Err(Finding::at(
                    Rule::EnvelopeAmbiguous,
                    Pointer::root(),
                    root.span.start,
                    "expected an object with exactly one of `uai_version` and `version`",
                ));
            }
        }
        let digest = canonical::digest(&root);
        Ok(Self { bytes, root, digest })
    }

    /// The bytes read, unchanged.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The root object.
    pub fn root(&self) -> &Node<'a> {
        &self.root
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

    /// The profile id, when it is a string.
    pub fn profile(&self) -> Option<&str> {
        self.text(&["profile"])
    }

    /// The message id, when it is a string.
    pub fn id(&self) -> Option<&str> {
        self.text(&["message_id"])
    }

    /// The sender the envelope names, when it is a string.
    pub fn sender(&self) -> Option<&str> {
        self.text(&["source", "id"])
    }

    /// The profile's own body, when there is one.
    pub fn body(&self) -> Option<&Node<'a>> {
        self.root.get("body")
    }
}
