//! The keyless form: nested arrays whose places stand for names (contract §2.5), both directions.
//!
//! Positional are only the envelope, the objects of contract §2.3, the body's own members, `lineage[]` and
//! `extensions[]`. Everything below them is keyed and passes unchanged. What is judged, hashed and validated is the keyed
//! form that [`rebuild`] makes; its byte offsets are those of the array, so document order is the order received.

mod encode;
mod order;

use std::borrow::Cow;

pub use encode::flatten;
pub use order::{Field, ROOT, Slot};

use super::json::{Kind, Member, Node};
use super::profile::Schemas;
use crate::contract::{Finding, Pointer, Rule};

/// The keyed form of a keyless root. A `null` in a place becomes an absent member. The body of a profile that no schema
/// knows stays as it is, for stage 6 to refuse; so does a `target` that holds a set of recipients, for stage 5.
///
/// # Errors
/// Every place at fault, in document order: `keyless.shape` for a value that is no array where one has to be,
/// `keyless.overflow` for an array with a place too many or too few, `keyless.alias` for an object in its keyed form.
pub fn rebuild<'a>(root: Node<'a>, schemas: &Schemas) -> Result<Node<'a>, Vec<Finding>> {
    let mut rebuilder = Rebuilder {
        body: profile(&root).and_then(|profile| schemas.order(profile)),
        findings: Vec::new(),
    };
    let keyed = rebuilder.object(root, ROOT, &Pointer::root());
    if rebuilder.findings.is_empty() {
        Ok(keyed)
    } else {
        Err(rebuilder.findings)
    }
}

/// The text in the place of `profile`.
fn profile<'n>(root: &'n Node<'_>) -> Option<&'n str> {
    let place = ROOT.iter().position(|field| field.name == "profile")?;
    root.elements()?.get(place)?.text()
}

struct Rebuilder<'s> {
    /// The order of the body, when the profile has one.
    body: Option<&'s [String]>,
    findings: Vec<Finding>,
}

impl Rebuilder<'_> {
    fn object<'a>(&mut self, node: Node<'a>, fields: &[Field], at: &Pointer) -> Node<'a> {
        self.places(node, fields.len(), at, |rebuilder, index, value| {
            let field = fields.get(index)?;
            let at = at.member(field.name);
            let value = match field.slot {
                Slot::Value => value,
                Slot::Object(_) if field.name == "target" && is_set(&value) => value,
                Slot::Object(fields) => rebuilder.object(value, fields, &at),
                Slot::List(fields) => rebuilder.list(value, fields, &at),
                Slot::Body => rebuilder.body(value, &at),
            };
            Some((Cow::Borrowed(field.name), value))
        })
    }

    fn body<'a>(&mut self, node: Node<'a>, at: &Pointer) -> Node<'a> {
        let Some(names) = self.body else {
            return node;
        };
        self.places(node, names.len(), at, |_, index, value| {
            Some((Cow::Owned(names.get(index)?.clone()), value))
        })
    }

    fn list<'a>(&mut self, node: Node<'a>, fields: &[Field], at: &Pointer) -> Node<'a> {
        let Kind::Array(elements) = node.kind else {
            return self.no_array(node, at);
        };
        let elements = elements
            .into_iter()
            .enumerate()
            .map(|(index, element)| self.object(element, fields, &at.element(index)))
            .collect();
        Node {
            span: node.span,
            kind: Kind::Array(elements),
        }
    }

    /// An object from an array of exactly `count` places; `member` names and rebuilds what stands in one.
    fn places<'a>(
        &mut self,
        node: Node<'a>,
        count: usize,
        at: &Pointer,
        mut member: impl FnMut(&mut Self, usize, Node<'a>) -> Option<(Cow<'a, str>, Node<'a>)>,
    ) -> Node<'a> {
        let Kind::Array(elements) = node.kind else {
            return self.no_array(node, at);
        };
        if elements.len() != count {
            // Which place is too many cannot be known, so none of them is looked at.
            self.find(
                Rule::KeylessOverflow,
                at,
                node.span.start,
                format!("expected exactly {count} places"),
            );
            return Node {
                span: node.span,
                kind: Kind::Array(elements),
            };
        }
        let members = elements
            .into_iter()
            .enumerate()
            .filter(|(_, value)| !value.is_null())
            .filter_map(|(index, value)| {
                let start = value.span.start;
                let (name, value) = member(self, index, value)?;
                Some(Member { name, at: start, value })
            })
            .collect();
        Node {
            span: node.span,
            kind: Kind::Object(members),
        }
    }

    fn no_array<'a>(&mut self, node: Node<'a>, at: &Pointer) -> Node<'a> {
        let (rule, detail) = match node.kind {
            Kind::Object(_) => (Rule::KeylessAlias, "expected values in order, without names"),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) | Kind::Array(_) => {
                (Rule::KeylessShape, "expected an array")
            }
        };
        self.find(rule, at, node.span.start, detail.to_owned());
        node
    }

    fn find(&mut self, rule: Rule, at: &Pointer, offset: usize, detail: String) {
        self.findings.push(Finding::at(rule, at.clone(), offset, detail));
    }
}

/// Whether a value is a set of recipients: an array of nothing but arrays and objects.
fn is_set(node: &Node<'_>) -> bool {
    node.elements().is_some_and(|elements| {
        let mut given = elements.iter().filter(|element| !element.is_null()).peekable();
        given.peek().is_some() && given.all(|element| element.elements().is_some() || element.members().is_some())
    })
}

#[cfg(test)]
mod tests;
