//! From keyed to keyless.

use super::is_set;
use super::order::{Field, ROOT, Slot};
use crate::contract::{Finding, Pointer, Rule};
use crate::message::json::{Kind, Node, Span};
use crate::message::profile::Schemas;

/// The keyless form of a canonical envelope. An absent member becomes `null` in its place.
///
/// # Errors
/// The first thing that has no place: an undeclared member (`schema.undeclared`), a value that is no object where the
/// contract has one, or a target that would read as a set of recipients (`schema.type`), a member of the envelope that is `null` (`schema.required`), a profile whose order
/// nobody knows (`profile.unknown`).
pub fn flatten<'a>(root: Node<'a>, schemas: &Schemas) -> Result<Node<'a>, Finding> {
    let profile = root.get("profile").and_then(Node::text);
    let Some(body) = profile.and_then(|profile| schemas.order(profile)) else {
        let detail = "expected a profile whose schema gives an order";
        return Err(fault(
            Rule::ProfileUnknown,
            &Pointer::root().member("profile"),
            &root,
            detail,
        ));
    };
    if let Some(member) = root
        .members()
        .into_iter()
        .flatten()
        .find(|member| member.value.is_null())
    {
        let at = Pointer::root().member(&member.name);
        return Err(fault(Rule::SchemaRequired, &at, &member.value, "expected this member"));
    }
    object(root, ROOT, body, &Pointer::root())
}

fn object<'a>(node: Node<'a>, fields: &[Field], body: &[String], at: &Pointer) -> Result<Node<'a>, Finding> {
    let names = fields.iter().map(|field| field.name);
    places(node, names, at, |name, value| {
        let at = at.member(name);
        match fields.iter().find(|field| field.name == name).map(|field| field.slot) {
            Some(Slot::Object(fields)) => {
                let places = object(value, fields, body, &at)?;
                if name == "target" && is_set(&places) {
                    return Err(fault(Rule::SchemaType, &at, &places, "expected members that are text"));
                }
                Ok(places)
            }
            Some(Slot::List(fields)) => list(value, fields, body, &at),
            Some(Slot::Body) => places(value, body.iter().map(String::as_str), &at, |_, value| Ok(value)),
            Some(Slot::Value) | None => Ok(value),
        }
    })
}

fn list<'a>(node: Node<'a>, fields: &[Field], body: &[String], at: &Pointer) -> Result<Node<'a>, Finding> {
    if node.is_null() {
        return Ok(node);
    }
    let Kind::Array(elements) = node.kind else {
        return Err(fault(Rule::SchemaType, at, &node, "expected an array"));
    };
    let elements: Result<Vec<Node<'a>>, Finding> = elements
        .into_iter()
        .enumerate()
        .map(|(index, element)| object(element, fields, body, &at.element(index)))
        .collect();
    Ok(Node {
        span: node.span,
        kind: Kind::Array(elements?),
    })
}

/// An array of the members with these names, in their order.
fn places<'a, 'n>(
    node: Node<'a>,
    names: impl Iterator<Item = &'n str>,
    at: &Pointer,
    encode: impl Fn(&str, Node<'a>) -> Result<Node<'a>, Finding>,
) -> Result<Node<'a>, Finding> {
    let span = node.span;
    let Kind::Object(mut members) = node.kind else {
        return Err(fault(Rule::SchemaType, at, &node, "expected an object"));
    };
    let mut elements = Vec::new();
    for name in names {
        let place = members.iter().position(|member| member.name == name);
        elements.push(match place {
            Some(place) => encode(name, members.swap_remove(place).value)?,
            None => nothing(),
        });
    }
    if let Some(member) = members.first() {
        // The name may be anything, so the object is named instead.
        return Err(fault(
            Rule::SchemaUndeclared,
            at,
            &member.value,
            "expected declared members only",
        ));
    }
    Ok(Node {
        span,
        kind: Kind::Array(elements),
    })
}

const fn nothing() -> Node<'static> {
    Node {
        span: Span { start: 0, end: 0 },
        kind: Kind::Null,
    }
}

fn fault(rule: Rule, at: &Pointer, node: &Node<'_>, detail: &'static str) -> Finding {
    Finding::at(rule, at.clone(), node.span.start, detail)
}
