//! From the text of a schema to a validator over our own tree.

use std::collections::BTreeMap;

use jsonschema::{Draft, PatternCache, PatternOptions, ValidationOptions, Validator};
use serde_json::Value;

use super::formats::{FORMATS, Format};
use super::violation::{self, Violation};
use super::{closed, lint};
use crate::contract::Pointer;
use crate::message::canonical;
use crate::message::json::{self, Bounds, Node, Tree};

/// A schema ready to judge.
#[derive(Debug)]
pub(super) struct Schema {
    validator: Validator<Tree>,
    /// SHA-256 of the JCS text, 64 lowercase hex digits.
    pub(super) digest: String,
    /// The names of `properties` in the order of the text: the keyless order of a body (contract §2.5). Empty when the
    /// schema has none.
    pub(super) order: Vec<String>,
    /// The JCS text.
    pub(super) canonical: String,
}

/// Bytes that one compiled pattern may take.
const PATTERN_MAX: usize = 1 << 20;

/// The same settings for every schema: draft 2020-12, formats asserted, unknown ones refused, nothing fetched, no
/// pattern that needs backtracking.
pub(super) struct Compiler(ValidationOptions<'static, std::sync::Arc<dyn jsonschema::Retrieve>, Tree>);

impl Compiler {
    pub(super) fn new() -> Self {
        let options = jsonschema::options_for::<Tree>()
            .with_draft(Draft::Draft202012)
            .offline()
            .should_validate_formats(true)
            .should_ignore_unknown_formats(false)
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_MAX))
            .with_pattern_cache(PatternCache::new());
        let with_format =
            |options: ValidationOptions<'static, _, Tree>, (name, check): &Format| options.with_format(*name, *check);
        Self(FORMATS.iter().fold(options, with_format))
    }

    /// One schema from its text.
    ///
    /// # Errors
    /// What is wrong, in words, with a JSON Pointer into the schema where there is one.
    pub(super) fn compile(&self, text: &str) -> Result<Schema, String> {
        let node = strict(text)?;
        let canonical = canonical::jcs(&node);
        let digest = canonical::sha256_hex(&canonical);
        let order = order(&node);
        let value = parse(text)?;
        if let Some(problem) = lint::problem(&value) {
            return Err(problem);
        }
        let validator = self.0.build(&value).map_err(|error| {
            let place = error.instance_path();
            format!("{place}: {}", error.masked())
        })?;
        Ok(Schema {
            validator,
            digest,
            order,
            canonical: String::from_utf8_lossy(&canonical).into_owned(),
        })
    }
}

impl Schema {
    /// Everything in which a value that stands at `place` breaks this schema.
    pub(super) fn violations(&self, node: &Node<'_>, place: &Pointer) -> Vec<Violation> {
        if self.validator.is_valid(node) {
            return Vec::new();
        }
        let violations = violation::list(self.validator.iter_errors(node), place);
        if violations.is_empty() {
            return vec![violation::unexplained(place)];
        }
        violations
    }
}

/// Whether a replacement closes what the built-in closes.
///
/// # Errors
/// The first place that it leaves open, in words.
pub(super) fn keeps_closed(builtin: &str, replacement: &str) -> Result<(), String> {
    match closed::reopened(&parse(builtin)?, &parse(replacement)?) {
        None => Ok(()),
        Some(place) => Err(format!(
            "expected `additionalProperties: false` at {place}, which the built-in closes"
        )),
    }
}

fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str(text)
        .map_err(|error| format!("line {}, column {}: expected JSON", error.line(), error.column()))
}

/// SHA-256 of the JCS text of an object of JCS texts. Names are ids, in ASCII, which sorts like UTF-16.
pub(super) fn combined_digest(members: &BTreeMap<&str, &str>) -> String {
    let members: Vec<String> = members
        .iter()
        .map(|(id, text)| format!("{}:{text}", Value::from(*id)))
        .collect();
    canonical::sha256_hex(format!("{{{}}}", members.join(",")).as_bytes())
}

/// Reads the text as strictly as a message, so that digest, order and validator mean the same members.
fn strict(text: &str) -> Result<Node<'_>, String> {
    let bounds = Bounds {
        depth: 64,
        ..Bounds::default()
    };
    json::read(text.as_bytes(), &bounds).map_err(|finding| {
        let place = finding.pointer.unwrap_or_default();
        format!("{place}: {}", finding.detail)
    })
}

fn order(schema: &Node<'_>) -> Vec<String> {
    let properties = schema.get("properties").and_then(Node::members).unwrap_or_default();
    properties.iter().map(|member| member.name.to_string()).collect()
}
