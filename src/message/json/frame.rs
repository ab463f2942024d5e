//! The containers that are open while the reader reads: its stack, on the heap.

use std::borrow::Cow;

use super::names::Names;
use super::{Kind, Member, Node};
use crate::contract::Pointer;
use crate::message::secrets;

/// A container that is not closed yet.
pub(super) struct Frame<'a> {
    /// Offset of its opening bracket.
    pub start: usize,
    /// What it holds so far.
    pub items: Items<'a>,
}

pub(super) enum Items<'a> {
    Array {
        elements: Vec<Node<'a>>,
        /// Whether an element is being read, rather than what follows one.
        inside: bool,
    },
    Object {
        members: Vec<Member<'a>>,
        names: Names<'a>,
        /// Name and offset of the member being read.
        current: Option<(Cow<'a, str>, usize)>,
    },
}

/// Where the reader is, as far as the names on the way may be printed (contract §5).
pub(super) fn place(stack: &[Frame<'_>]) -> Pointer {
    let mut place = Pointer::root();
    for frame in stack {
        match &frame.items {
            Items::Array { elements, inside: true } => place = place.element(elements.len()),
            Items::Object {
                current: Some((name, _)),
                ..
            } if secrets::is_safe_name(name) => place = place.member(name),
            Items::Array { inside: false, .. } | Items::Object { .. } => break,
        }
    }
    place
}

impl<'a> Items<'a> {
    pub const fn array() -> Self {
        Self::Array {
            elements: Vec::new(),
            inside: false,
        }
    }

    pub fn object() -> Self {
        Self::Object {
            members: Vec::new(),
            names: Names::default(),
            current: None,
        }
    }

    /// The bracket that ends it.
    pub const fn closing(&self) -> u8 {
        match self {
            Self::Array { .. } => b']',
            Self::Object { .. } => b'}',
        }
    }

    /// Takes the value of the item that was begun.
    pub fn put(&mut self, value: Node<'a>) {
        match self {
            Self::Array { elements, inside } => {
                elements.push(value);
                *inside = false;
            }
            Self::Object { members, current, .. } => {
                if let Some((name, at)) = current.take() {
                    members.push(Member { name, at, value });
                }
            }
        }
    }

    /// The whole container.
    pub fn into_kind(self) -> Kind<'a> {
        match self {
            Self::Array { elements, .. } => Kind::Array(elements),
            Self::Object { members, .. } => Kind::Object(members),
        }
    }
}
