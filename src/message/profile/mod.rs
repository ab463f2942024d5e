//! Profiles: one JSON Schema 2020-12 a profile, compiled once (contract §3).
//!
//! The envelope and the profiles' bodies are judged by files in `schemas/`, embedded here. A valid message costs one
//! yes-or-no pass over envelope and body; only an invalid one is looked at again, to say what is wrong.

mod closed;
mod compile;
mod formats;
mod lint;
mod shipped;
mod violation;

use std::collections::BTreeMap;

use compile::Schema;
pub use formats::{is_time, is_uri};
pub use violation::{Fault, Violation};

use super::envelope::Message;
use super::json::Node;
use crate::contract::Pointer;

/// The compiled schemas of both envelopes, of every profile's body, and of the acknowledgement payload.
#[derive(Debug)]
pub struct Schemas {
    envelope: Schema,
    delivery: Schema,
    ack_payload: Schema,
    profiles: BTreeMap<String, Schema>,
}

/// Why a schema file cannot be taken; carries the profile id and a JSON Pointer into the schema.
#[derive(Debug, thiserror::Error)]
#[error("schema `{profile}`: {problem}")]
pub struct SchemaError {
    /// The profile id, which is the file name without `.json`.
    pub profile: String,
    /// What is wrong.
    pub problem: String,
}

impl Schemas {
    /// The schemas shipped in the binary.
    ///
    /// # Errors
    /// Only if a shipped schema does not compile, which a test rules out.
    pub fn builtin() -> Result<Self, SchemaError> {
        Self::with(&[], &[])
    }

    /// The shipped schemas with an operator's files added: `(profile id, JSON text)`. A built-in profile is replaced
    /// only when `overrides` names it, and every object that the built-in closes must be closed in the override.
    ///
    /// # Errors
    /// The first file that cannot be taken.
    pub fn with(files: &[(String, String)], overrides: &[String]) -> Result<Self, SchemaError> {
        let compiler = compile::Compiler::new();
        let mut profiles = BTreeMap::new();
        for (profile, text) in files {
            let builtin = shipped::PROFILES.iter().find(|(id, _)| id == profile);
            let error = |problem: String| SchemaError {
                profile: profile.clone(),
                problem,
            };
            if builtin.is_some() && !overrides.contains(profile) {
                return Err(error(
                    "replaces a built-in profile that `override` does not name".to_owned(),
                ));
            }
            let schema = compiler.compile(text).map_err(error)?;
            if let Some((_, builtin)) = builtin {
                compile::keeps_closed(builtin, text).map_err(error)?;
            }
            if profiles.insert(profile.clone(), schema).is_some() {
                return Err(error("expected one file a profile".to_owned()));
            }
        }
        if let Some(profile) = overrides.iter().find(|id| !profiles.contains_key(*id)) {
            return Err(SchemaError {
                profile: profile.clone(),
                problem: "is overridden by no file".to_owned(),
            });
        }
        let builtin = |profile: &str, text: &str| {
            compiler.compile(text).map_err(|problem| SchemaError {
                profile: profile.to_owned(),
                problem,
            })
        };
        for (profile, text) in shipped::PROFILES {
            if !profiles.contains_key(*profile) {
                profiles.insert((*profile).to_owned(), builtin(profile, text)?);
            }
        }
        let [envelope, delivery, ack_payload] = shipped::OTHERS.map(|(name, text)| builtin(name, text));
        Ok(Self {
            envelope: envelope?,
            delivery: delivery?,
            ack_payload: ack_payload?,
            profiles,
        })
    }

    /// The text of a shipped schema: `envelope`, `delivery`, `ack-payload` or a profile id.
    pub fn shipped_text(name: &str) -> Option<&'static str> {
        let mut shipped = shipped::OTHERS.iter().chain(shipped::PROFILES);
        shipped.find(|(id, _)| *id == name).map(|(_, text)| *text)
    }

    /// Whether a profile has a schema.
    pub fn knows(&self, profile: &str) -> bool {
        self.profiles.contains_key(profile)
    }

    /// Every profile id, sorted.
    pub fn profiles(&self) -> Vec<&str> {
        self.profiles.keys().map(String::as_str).collect()
    }

    /// SHA-256 of the JCS text of the schema in force (contract §1, "schema digest").
    pub fn digest(&self, profile: &str) -> Option<&str> {
        self.profiles.get(profile).map(|schema| schema.digest.as_str())
    }

    /// The members of a body in keyless order, which is that of the `properties` in its schema (contract §2.5); `None`
    /// for a profile without a schema.
    pub fn order(&self, profile: &str) -> Option<&[String]> {
        self.profiles.get(profile).map(|schema| schema.order.as_slice())
    }

    /// The ids of the profiles shipped in the binary, sorted.
    pub fn shipped() -> impl Iterator<Item = &'static str> {
        shipped::PROFILES.iter().map(|(profile, _)| *profile)
    }

    /// Everything in which a canonical envelope and its body break their schemas; empty when both are valid. A profile
    /// without a schema is a violation too, so that nothing passes unjudged.
    pub fn violations(&self, message: &Message<'_>) -> Vec<Violation> {
        let mut violations = self.envelope.violations(message.root(), &Pointer::root());
        let Some(profile) = message.profile() else {
            return violations;
        };
        match (self.profiles.get(profile), message.body()) {
            (Some(schema), Some(body)) => inner(schema, body, "body", &mut violations),
            (Some(_), None) => {}
            (None, Some(_) | None) => violations.push(unjudged("profile", "a profile that has a schema")),
        }
        violations
    }

    /// Everything in which a delivery envelope breaks its schema, and its payload the schema of this name; without a name
    /// any object is a payload. A name without a schema is a violation too.
    pub fn delivery_violations(&self, message: &Message<'_>, payload: Option<&str>) -> Vec<Violation> {
        let mut violations = self.delivery.violations(message.root(), &Pointer::root());
        if let (Some(name), Some(value)) = (payload, message.at(&["payload"])) {
            match self.payload(name) {
                Some(schema) => inner(schema, value, "payload", &mut violations),
                None => violations.push(unjudged("payload", "a payload whose schema is known")),
            }
        }
        violations
    }

    /// SHA-256 of the JCS text of the schema that a route names for a payload; `None` for a name that is unknown.
    pub fn payload_digest(&self, name: &str) -> Option<&str> {
        self.payload(name).map(|schema| schema.digest.as_str())
    }

    /// SHA-256 of the JCS text of the object {id: schema} of the schemas with these ids, profiles or payloads (contract
    /// §2.4, "Capability document").
    pub fn combined_digest<'a>(&self, ids: impl IntoIterator<Item = &'a str>) -> String {
        let schemas: BTreeMap<&str, &str> = ids
            .into_iter()
            .filter_map(|id| Some((id, self.payload(id)?.canonical.as_str())))
            .collect();
        compile::combined_digest(&schemas)
    }

    fn payload(&self, name: &str) -> Option<&Schema> {
        match name {
            "ack" => Some(&self.ack_payload),
            other => self.profiles.get(other),
        }
    }
}

/// An object inside the envelope against its own schema; of what is no object the envelope's schema says so.
fn inner(schema: &Schema, value: &Node<'_>, name: &str, violations: &mut Vec<Violation>) {
    if value.members().is_some() {
        violations.extend(schema.violations(value, &Pointer::root().member(name)));
    }
}

fn unjudged(name: &str, expected: &str) -> Violation {
    Violation {
        place: Pointer::root().member(name),
        fault: Fault::Value(expected.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACK: &str = "uai.agent.ack.v1";

    fn file(profile: &str, text: &str) -> Vec<(String, String)> {
        vec![(profile.to_owned(), text.to_owned())]
    }

    fn problem(files: &[(String, String)], overrides: &[&str]) -> String {
        let overrides: Vec<String> = overrides.iter().map(|id| (*id).to_owned()).collect();
        Schemas::with(files, &overrides).unwrap_err().to_string()
    }

    #[test]
    fn the_shipped_schemas_compile() {
        let schemas = Schemas::builtin().unwrap();
        assert_eq!(schemas.profiles().len(), 22);
        assert!(schemas.profiles().iter().eq(&Schemas::shipped().collect::<Vec<_>>()));
        assert_eq!(schemas.digest(ACK).unwrap().len(), 64);
        assert!(!schemas.knows("uai.agent.ack.v2"));
    }

    #[test]
    fn a_file_adds_a_profile() {
        let schemas = Schemas::with(
            &file("my.v1", r#"{"type": "object", "additionalProperties": false}"#),
            &[],
        )
        .unwrap();
        assert!(schemas.knows("my.v1") && schemas.knows(ACK));
    }

    #[test]
    fn a_built_in_is_replaced_only_by_name_and_never_opened() {
        let closed = r#"{"type": "object", "properties": {"note": {"type": "string"}}, "additionalProperties": false}"#;
        assert!(problem(&file(ACK, closed), &[]).contains("`override`"));
        assert!(problem(&file(ACK, r#"{"type": "object"}"#), &[ACK]).contains("the root"));
        assert!(problem(&[], &[ACK]).contains("no file"));
        let schemas = Schemas::with(&file(ACK, closed), &[ACK.to_owned()]).unwrap();
        assert_ne!(schemas.digest(ACK), Schemas::builtin().unwrap().digest(ACK));
    }

    #[test]
    fn a_file_that_cannot_be_trusted_is_refused() {
        let table = [
            ("not JSON", "{"),
            ("a duplicate member", r#"{"type": "object", "type": "string"}"#),
            ("remote reference", r#"{"$ref": "https://example.org/a.json"}"#),
            (
                "bundled reference",
                r#"{"$ref": "https://json-schema.org/draft/2020-12/schema"}"#,
            ),
            ("dynamic reference", r#"{"$dynamicRef": "other.json#a"}"#),
            ("dangling reference", r##"{"$ref": "#/$defs/nothing"}"##),
            (
                "another dialect",
                r#"{"$schema": "http://json-schema.org/draft-07/schema#"}"#,
            ),
            ("a keyword of a wrong type", r#"{"type": 7}"#),
            ("unknown format", r#"{"format": "no-such-format"}"#),
            ("look-ahead", r#"{"pattern": "^(?=a)b"}"#),
            ("back reference", r#"{"pattern": "(a)\\1"}"#),
            ("a huge pattern", r#"{"pattern": "(([a-z]{1,500}){1,500}){1,500}"}"#),
        ];
        for (name, text) in table {
            assert!(Schemas::with(&file("my.v1", text), &[]).is_err(), "{name} is taken");
        }
    }

    #[test]
    fn the_digest_is_of_the_meaning_not_of_the_layout() {
        let digest = |text| {
            Schemas::with(&file("my.v1", text), &[])
                .unwrap()
                .digest("my.v1")
                .unwrap()
                .to_owned()
        };
        assert_eq!(
            digest(r#"{"type":"object","title":"t"}"#),
            digest("{ \"title\": \"\\u0074\",\n \"type\": \"object\" }")
        );
    }
}
