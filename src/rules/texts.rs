//! Every text of a message that says something, with the way to it.

use crate::contract::Pointer;
use crate::message::envelope::Message;
use crate::message::json::{Kind, Node};

/// One step of the way to a text; rendered only when something is found there.
pub(super) enum Part<'n> {
    Name(&'n str),
    Index(usize),
}

/// What is done with a text and the way to it.
pub(super) type Look<'l> = &'l mut dyn FnMut(&str, &[Part<'_>]);

/// Every text of `body` but `support_boundary`, and every `extensions[].purpose` (contract §9, "How claims are found").
pub(super) fn statements(message: &Message<'_>, look: Look<'_>) {
    for member in message.body().and_then(|body| body.members()).unwrap_or_default() {
        if member.name != "support_boundary" {
            below(
                &member.value,
                &mut vec![Part::Name("body"), Part::Name(&member.name)],
                look,
            );
        }
    }
    let extensions = message.at(&["extensions"]).and_then(|node| node.elements());
    for (index, extension) in extensions.unwrap_or_default().iter().enumerate() {
        if let Some(purpose) = extension.get("purpose") {
            let mut path = vec![Part::Name("extensions"), Part::Index(index), Part::Name("purpose")];
            below(purpose, &mut path, look);
        }
    }
}

/// Every text at or below a node. Depth is bounded by the reader.
pub(super) fn below<'n>(node: &'n Node<'_>, path: &mut Vec<Part<'n>>, look: Look<'_>) {
    match &node.kind {
        Kind::String(text) => look(text, path),
        Kind::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                path.push(Part::Index(index));
                below(element, path, look);
                path.pop();
            }
        }
        Kind::Object(members) => {
            for member in members {
                path.push(Part::Name(&member.name));
                below(&member.value, path, look);
                path.pop();
            }
        }
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => {}
    }
}

/// The way as a pointer. It may hold names that the sender chose.
pub(super) fn pointer(path: &[Part<'_>]) -> Pointer {
    path.iter().fold(Pointer::root(), |pointer, part| match part {
        Part::Name(name) => pointer.member(name),
        Part::Index(index) => pointer.element(*index),
    })
}
