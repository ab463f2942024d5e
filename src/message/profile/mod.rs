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
use crate::contract::Pointer;

/// The compiled envelope schema and every profile's body schema.
#[derive(Debug)]
pub struct Schemas {
    envelope: Schema,
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
        Ok(Self {
            envelope: builtin("envelope", shipped::ENVELOPE)?,
            profiles,
        })
    }

    /// The text of a shipped schema: `envelope` or a profile id.
    pub fn shipped_text(name: &str) -> Option<&'static str> {
        if name == "envelope" {
            return Some(shipped::ENVELOPE);
        }
        shipped::PROFILES
            .iter()
            .find(|(id, _)| *id == name)
            .map(|(_, text)| *text)
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

    /// The ids of the profiles shipped in the binary, sorted.
    pub fn shipped() -> impl Iterator<Item = &'static str> {
        shipped::PROFILES.iter().map(|(profile, _)| *profile)
    }

    /// Everything in which envelope and body break their schemas; empty when both are valid. A profile without a schema
    /// is a violation too, so that nothing passes unjudged.
    pub fn violations(&self, message: &Message<'_>) -> Vec<Violation> {
        let mut violations = self.envelope.violations(message.root(), &Pointer::root());
        let Some(profile) = message.profile() else {
            return violations;
        };
        let at = |name: &str| Pointer::root().member(name);
        match (self.profiles.get(profile), message.body()) {
            (Some(schema), Some(body)) => {
                if body.members().is_some() {
                    violations.extend(schema.violations(body, &at("body")));
                }
            }
            (Some(_), None) => {}
            (None, Some(_) | None) => violations.push(Violation {
                place: at("profile"),
                fault: Fault::Value("a profile that has a schema".to_owned()),
            }),
        }
        violations
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
