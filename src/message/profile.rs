//! Profiles: one JSON Schema 2020-12 a profile, compiled once (contract §3).

/// The compiled envelope schema and every profile's body schema.
#[derive(Debug)]
pub struct Schemas {}

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
        todo!()
    }

    /// The shipped schemas with an operator's files added: `(profile id, JSON text)`. A built-in profile is replaced
    /// only when `overrides` names it, and every object that the built-in closes must be closed in the override.
    ///
    /// # Errors
    /// The first file that cannot be taken.
    pub fn with(_files: &[(String, String)], _overrides: &[String]) -> Result<Self, SchemaError> {
        todo!()
    }

    /// Whether a profile has a schema.
    pub fn knows(&self, _profile: &str) -> bool {
        todo!()
    }

    /// Every profile id, sorted.
    pub fn profiles(&self) -> Vec<&str> {
        todo!()
    }

    /// SHA-256 of the JCS text of the schema in force (contract §1, "schema digest").
    pub fn digest(&self, _profile: &str) -> Option<&str> {
        todo!()
    }
}
