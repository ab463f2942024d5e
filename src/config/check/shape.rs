//! The tree against the JSON Schema of the policy: unknown keys, missing keys, wrong types, words and forms.

use std::sync::LazyLock;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use super::{Report, did_you_mean};
use crate::config::raw;
use crate::config::tree::{Node, escape};

static SCHEMA: LazyLock<Value> = LazyLock::new(raw::schema);

/// `None` cannot happen, as a test shows; then every policy is refused.
static VALIDATOR: LazyLock<Option<Validator>> = LazyLock::new(|| jsonschema::draft202012::new(&SCHEMA).ok());

/// Reports every mistake of shape, and returns the policy as JSON without the members that are mistaken, so that the
/// rest can still be understood and checked.
pub(in crate::config) fn check(tree: &Node, report: &mut Report<'_>) -> Value {
    let mut bad = Vec::new();
    let mut json = tree.to_json("", &mut bad);
    let broken = bad.clone();
    match &*VALIDATOR {
        Some(validator) => {
            let mut shape = Shape {
                schema: &SCHEMA,
                report,
                bad: &mut bad,
                broken: &broken,
            };
            // Unknown keys first: one that was probably meant to be a required one speaks for both.
            let (unknown, others): (Vec<_>, Vec<_>) = validator
                .iter_errors(&json)
                .partition(|error| matches!(error.kind(), ValidationErrorKind::AdditionalProperties { .. }));
            unknown.iter().chain(&others).for_each(|error| shape.take(error));
        }
        None => {
            report.value(
                "",
                "the schema of the policy does not compile; this is a fault of Portcullis",
            );
            bad.push(String::new());
        }
    }
    for pointer in &bad {
        prune(&mut json, pointer);
    }
    json
}

struct Shape<'a, 'r> {
    schema: &'a Value,
    report: &'a mut Report<'r>,
    /// Pointers of values that cannot be understood.
    bad: &'a mut Vec<String>,
    /// Those of them that the reader reported.
    broken: &'a [String],
}

impl Shape<'_, '_> {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the keywords of another crate; what is not named here is said of one value"
    )]
    fn take(&mut self, error: &ValidationError<'_>) {
        let at = error.instance_path().as_str();
        if self.broken.iter().any(|pointer| pointer == at) {
            return;
        }
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                let known = self.known(error);
                let missing = self.missing(error);
                for name in unexpected {
                    let near = near_key(name, &known, &missing);
                    self.report.unknown_key(at, name, near);
                    self.bad.push(format!("{at}/{}", escape(name)));
                }
            }
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                if self.report.is_missing(&format!("{at}/{name}")) {
                    self.report.value(at, &format!("expected the key `{name}` here"));
                }
            }
            ValidationErrorKind::AnyOf { context } => match fitting(at, context) {
                // A mistake inside the alternative is told as such; one of the value itself names all alternatives.
                Some(errors) if errors.iter().all(|error| error.instance_path().as_str() != at) => {
                    errors.iter().for_each(|error| self.take(error));
                }
                Some(errors) => self.bad_value(error, errors.iter().find_map(near)),
                None => self.bad_value(error, None),
            },
            ValidationErrorKind::Enum { .. } => self.bad_value(error, near(error)),
            _ => self.bad_value(error, None),
        }
    }

    fn bad_value(&mut self, error: &ValidationError<'_>, near: Option<String>) {
        let at = error.instance_path().as_str();
        let key = at.split('/').rfind(|step| step.parse::<usize>().is_err());
        let subject = key.filter(|key| !key.is_empty()).unwrap_or("policy");
        let expected = self.expected(error);
        self.report.near(at, &format!("`{subject}`: expected {expected}"), near);
        self.bad.push(at.to_owned());
    }

    /// What stands behind "expected" for one failing keyword.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the keywords of another crate; what is not named here is said of one value"
    )]
    fn expected(&self, error: &ValidationError<'_>) -> String {
        if let Some(words) = self.definition(error) {
            return words;
        }
        match error.kind() {
            ValidationErrorKind::Enum { options } => {
                let words: Vec<String> = options
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|word| format!("`{}`", word.as_str().unwrap_or_default()))
                    .collect();
                format!("one of {}", words.join(", "))
            }
            ValidationErrorKind::MinItems { limit } => format!("at least {limit} element"),
            ValidationErrorKind::MaxItems { limit } => format!("at most {limit} elements"),
            ValidationErrorKind::MinLength { limit } => format!("at least {limit} character"),
            ValidationErrorKind::MaxLength { limit } => format!("at most {limit} characters"),
            ValidationErrorKind::Minimum { limit } => format!("at least {limit}"),
            ValidationErrorKind::Maximum { limit } => format!("at most {limit}"),
            _ => match self
                .parent(error)
                .and_then(|schema| schema.get("type"))
                .and_then(Value::as_str)
            {
                Some("object") => "a mapping",
                Some("array") => "a list",
                Some("string") => "text",
                Some("integer") => "a whole number",
                Some("boolean") => "`true` or `false`",
                _ => "another form",
            }
            .to_owned(),
        }
    }

    /// The comment of the type in `raw::units` or `raw::route` that a value should have had. Those comments are
    /// written in lower case so that they can be read here.
    fn definition(&self, error: &ValidationError<'_>) -> Option<String> {
        let name = error
            .schema_path()
            .as_str()
            .strip_prefix("/$defs/")?
            .split('/')
            .next()?;
        let words = self.schema.pointer(&format!("/$defs/{name}/description"))?.as_str()?;
        words.starts_with(char::is_lowercase).then(|| words.replace('\n', " "))
    }

    fn known(&self, error: &ValidationError<'_>) -> Vec<String> {
        let properties = self.parent(error).and_then(|schema| schema.get("properties"));
        properties
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// Keys that the mapping has to have and has not.
    fn missing(&self, error: &ValidationError<'_>) -> Vec<String> {
        let required = self.parent(error).and_then(|schema| schema.get("required"));
        required
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .chain(needed_with(error.instance()).iter().copied())
            .filter(|name| error.instance().get(name).is_none())
            .map(str::to_owned)
            .collect()
    }

    /// The schema that holds the failing keyword.
    fn parent(&self, error: &ValidationError<'_>) -> Option<&Value> {
        let (parent, _) = error.schema_path().as_str().rsplit_once('/')?;
        self.schema.pointer(parent)
    }
}

/// Keys that a route usually needs because of what it takes; the schema does not know of that.
fn needed_with(route: &Value) -> &'static [&'static str] {
    match route.get("takes").and_then(Value::as_str) {
        Some("messages") => &["profiles", "modes"],
        Some("legacy") => &["content_type"],
        Some(_) | None => &[],
    }
}

/// The key that was perhaps meant; of several as near, one that is missing.
fn near_key(name: &str, known: &[String], missing: &[String]) -> Option<String> {
    let near = did_you_mean(name, known.iter().map(String::as_str))?;
    let distance = |key: &str| strsim::damerau_levenshtein(&name.to_lowercase(), &key.to_lowercase());
    let missing = missing.iter().filter(|key| distance(key) <= distance(&near)).min();
    Some(missing.cloned().unwrap_or(near))
}

/// The word of an enumeration that was perhaps meant.
fn near(error: &ValidationError<'_>) -> Option<String> {
    let ValidationErrorKind::Enum { options } = error.kind() else {
        return None;
    };
    let words = options.as_array()?.iter().filter_map(Value::as_str);
    did_you_mean(error.instance().as_str()?, words)
}

/// Of several alternatives, the only one whose type fits.
fn fitting<'a>(at: &str, context: &'a [Vec<ValidationError<'static>>]) -> Option<&'a [ValidationError<'static>]> {
    let wrong_type = |error: &ValidationError<'_>| {
        matches!(error.kind(), ValidationErrorKind::Type { .. }) && error.instance_path().as_str() == at
    };
    let mut fitting = context.iter().filter(|errors| !errors.iter().any(wrong_type));
    let only = fitting.next()?;
    fitting.next().is_none().then_some(only)
}

/// Removes the member at a pointer; of an element in a list, the whole list.
fn prune(json: &mut Value, pointer: &str) {
    let Some((parent, last)) = pointer.rsplit_once('/') else {
        *json = Value::Object(serde_json::Map::new());
        return;
    };
    match json.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            members.remove(&last.replace("~1", "/").replace("~0", "~"));
        }
        Some(Value::Array(_)) => prune(json, parent),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => {}
    }
}
