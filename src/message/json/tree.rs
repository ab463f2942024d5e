//! The tree that the reader builds: borrowed from the bytes, every node with its byte span.

use std::borrow::Cow;

use super::Number;
use crate::contract::Pointer;

/// Half-open byte range in the document read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset after the last byte.
    pub end: usize,
}

/// One JSON value and where it stood.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    /// The bytes of the value itself, without surrounding blanks.
    pub span: Span,
    /// The value.
    pub kind: Kind<'a>,
}

/// A JSON value. Depth is bounded by the reader, so dropping a tree cannot exhaust the stack.
#[derive(Clone, Debug)]
pub enum Kind<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, with its literal.
    Number(Number<'a>),
    /// Text, unescaped; borrowed where nothing was escaped.
    String(Cow<'a, str>),
    /// Elements in document order.
    Array(Vec<Node<'a>>),
    /// Members in document order; names are unique, also after Unicode NFC.
    Object(Vec<Member<'a>>),
}

/// One member of an object.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// The unescaped name.
    pub name: Cow<'a, str>,
    /// Offset of the opening quote of the name: the member's place in document order.
    pub at: usize,
    /// The value.
    pub value: Node<'a>,
}

impl<'a> Node<'a> {
    /// The members, when this is an object.
    pub fn members(&self) -> Option<&[Member<'a>]> {
        match &self.kind {
            Kind::Object(members) => Some(members),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) | Kind::Array(_) => None,
        }
    }

    /// The member of this name, when this is an object that has it.
    pub fn member(&self, name: &str) -> Option<&Member<'a>> {
        self.members()?.iter().find(|member| member.name == name)
    }

    /// The value of the member of this name.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.member(name).map(|member| &member.value)
    }

    /// The elements, when this is an array.
    pub fn elements(&self) -> Option<&[Self]> {
        match &self.kind {
            Kind::Array(elements) => Some(elements),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) | Kind::Object(_) => None,
        }
    }

    /// The text, when this is a string.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::String(text) => Some(text),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Array(_) | Kind::Object(_) => None,
        }
    }

    /// The truth value, when this is a boolean.
    pub fn truth(&self) -> Option<bool> {
        match &self.kind {
            Kind::Bool(truth) => Some(*truth),
            Kind::Null | Kind::Number(_) | Kind::String(_) | Kind::Array(_) | Kind::Object(_) => None,
        }
    }

    /// The number, when this is one.
    pub fn number(&self) -> Option<&Number<'a>> {
        match &self.kind {
            Kind::Number(number) => Some(number),
            Kind::Null | Kind::Bool(_) | Kind::String(_) | Kind::Array(_) | Kind::Object(_) => None,
        }
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Null)
    }

    /// The value at an RFC 6901 pointer.
    pub fn find(&self, pointer: &Pointer) -> Option<&Self> {
        let text = pointer.as_str();
        if text.is_empty() {
            return Some(self);
        }
        text.strip_prefix('/')?.split('/').try_fold(self, |node, part| {
            let name = part.replace("~1", "/").replace("~0", "~");
            match &node.kind {
                Kind::Object(_) => node.get(&name),
                Kind::Array(elements) => elements.get(name.parse::<usize>().ok()?),
                Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) => None,
            }
        })
    }
}
