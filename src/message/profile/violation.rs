//! What the validator reports, in the words of the contract: missing, undeclared, wrong type, wrong value.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ErrorIterator, ValidationError};

use crate::contract::Pointer;

/// One way in which a message breaks its schema.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The value that is wrong, or the object that lacks a member or has one too many. May hold names that nobody
    /// declared, so it is not printed before every name is judged (contract §5).
    pub place: Pointer,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong with one value; the worst first. Texts say what was expected and come from the schema alone, except the
/// name in `Undeclared`, which the sender chose.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A required member of this name is not there.
    Missing(String),
    /// A member of this name is not declared.
    Undeclared(String),
    /// A wrong JSON type, or `null` where a value is required; what was expected.
    Type(String),
    /// Not of this format.
    Format(String),
    /// Outside pattern, enumeration, length or range; what was expected.
    Value(String),
}

impl Fault {
    /// Whether it is about the value itself, not about a member of it.
    pub const fn is_of_value(&self) -> bool {
        match self {
            Self::Type(_) | Self::Format(_) | Self::Value(_) => true,
            Self::Missing(_) | Self::Undeclared(_) => false,
        }
    }
}

/// The validator's errors about a value that stands at `place`: sorted, and only the worst for each value, as a `null`
/// that is no text is not also too short.
pub(super) fn list(errors: ErrorIterator<'_>, place: &Pointer) -> Vec<Violation> {
    let mut violations: Vec<Violation> = errors.flat_map(|error| of_error(&error, place)).collect();
    violations.sort();
    violations.dedup_by(|later, kept| {
        later.place == kept.place && (later == kept || (later.fault.is_of_value() && kept.fault.is_of_value()))
    });
    violations
}

/// For a value that is invalid although no error says why: it must not pass.
pub(super) fn unexplained(place: &Pointer) -> Violation {
    Violation {
        place: place.clone(),
        fault: Fault::Value("a value that the schema allows".to_owned()),
    }
}

fn of_error(error: &ValidationError<'_>, parent: &Pointer) -> Vec<Violation> {
    let place = Pointer::from_rfc6901(format!("{parent}{}", error.instance_path()));
    faults(error.kind())
        .into_iter()
        .map(|fault| Violation {
            place: place.clone(),
            fault,
        })
        .collect()
}

/// Every kind of error by name, so that a new one does not compile before somebody chose its rule.
fn faults(kind: &ValidationErrorKind) -> Vec<Fault> {
    use ValidationErrorKind as Kind;
    let value = |expected: String| vec![Fault::Value(expected)];
    match kind {
        Kind::Required { property } => vec![Fault::Missing(property.as_str().unwrap_or_default().to_owned())],
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unexpected.iter().cloned().map(Fault::Undeclared).collect()
        }
        Kind::Type { kind } => vec![Fault::Type(type_words(kind))],
        Kind::Format { format } => vec![Fault::Format(format.clone())],
        Kind::Constant { expected_value } => value(format!("the value {expected_value}")),
        Kind::Enum { options } => value(format!("one of {options}")),
        Kind::Pattern { pattern } => value(format!("text of the pattern `{pattern}`")),
        Kind::MinLength { limit } => value(format!("at least {limit} characters")),
        Kind::MaxLength { limit } => value(format!("at most {limit} characters")),
        Kind::Minimum { limit } => value(format!("at least {limit}")),
        Kind::Maximum { limit } => value(format!("at most {limit}")),
        Kind::ExclusiveMinimum { limit } => value(format!("more than {limit}")),
        Kind::ExclusiveMaximum { limit } => value(format!("less than {limit}")),
        Kind::MultipleOf { multiple_of } => value(format!("a multiple of {multiple_of}")),
        Kind::MinItems { limit } => value(format!("at least {limit} elements")),
        Kind::MaxItems { limit } => value(format!("at most {limit} elements")),
        Kind::AdditionalItems { limit } => value(format!("at most {limit} elements")),
        Kind::MinProperties { limit } => value(format!("at least {limit} members")),
        Kind::MaxProperties { limit } => value(format!("at most {limit} members")),
        Kind::UnevaluatedItems { .. } => value("no further elements".to_owned()),
        Kind::UniqueItems => value("elements that differ from each other".to_owned()),
        Kind::Contains => value("an element that the schema asks for".to_owned()),
        Kind::PropertyNames { .. } => value("member names that the schema allows".to_owned()),
        Kind::AnyOf { .. } | Kind::OneOfMultipleValid { .. } | Kind::OneOfNotValid { .. } | Kind::Not { .. } => {
            value("one of the alternatives of the schema".to_owned())
        }
        Kind::FalseSchema => value("nothing here".to_owned()),
        Kind::ContentEncoding { .. } | Kind::ContentMediaType { .. } | Kind::FromUtf8 { .. } => {
            value("content of the encoding and media type of the schema".to_owned())
        }
        // The validator could not find out: refused like a wrong value.
        Kind::BacktrackLimitExceeded { .. }
        | Kind::RegexEngineFailure { .. }
        | Kind::Custom { .. }
        | Kind::Referencing(_) => value("a value that the schema can judge".to_owned()),
    }
}

fn type_words(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(set) => {
            let names: Vec<String> = set.iter().map(|one| one.to_string()).collect();
            names.join(" or ")
        }
    }
}
