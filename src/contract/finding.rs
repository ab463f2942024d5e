//! What a rule found: which rule, where, and what was expected. Never a value from the message.

use std::borrow::Cow;
use std::fmt;

use super::Rule;

/// A place in a document: a plain RFC 6901 string, `""` for the root.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer(String);

impl Pointer {
    /// The root.
    pub const fn root() -> Self {
        Self(String::new())
    }

    /// A pointer already in RFC 6901 form, such as `/delivery/expires_at`.
    pub fn from_rfc6901(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// This pointer with one member name more, escaped (`~` as `~0`, `/` as `~1`).
    #[must_use]
    pub fn member(&self, name: &str) -> Self {
        let mut text = self.0.clone();
        text.push('/');
        for character in name.chars() {
            match character {
                '~' => text.push_str("~0"),
                '/' => text.push_str("~1"),
                other => text.push(other),
            }
        }
        Self(text)
    }

    /// This pointer with one element index more.
    #[must_use]
    pub fn element(&self, index: usize) -> Self {
        Self(format!("{}/{index}", self.0))
    }

    /// The RFC 6901 text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// One thing that is wrong, precise enough to repair it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule that found it.
    pub rule: Rule,
    /// The place in the document, when it has one.
    pub pointer: Option<Pointer>,
    /// Byte offset of the member in the bytes read, for document order; `None` sorts last.
    pub at: Option<usize>,
    /// What was expected, in words; carries limits and declared names, never a value from the message.
    pub detail: Cow<'static, str>,
}

impl Finding {
    /// A finding without a place in the document.
    pub fn new(rule: Rule, detail: impl Into<Cow<'static, str>>) -> Self {
        Self {
            rule,
            pointer: None,
            at: None,
            detail: detail.into(),
        }
    }

    /// A finding at a place in the document.
    pub fn at(rule: Rule, pointer: Pointer, at: usize, detail: impl Into<Cow<'static, str>>) -> Self {
        Self {
            rule,
            pointer: Some(pointer),
            at: Some(at),
            detail: detail.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_rfc_6901_says() {
        assert_eq!(
            Pointer::root().member("a/b").member("m~n").element(3).as_str(),
            "/a~1b/m~0n/3"
        );
    }
}
