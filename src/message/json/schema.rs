//! The tree as the schema validator sees it: borrowed, never copied.
//!
//! `jsonschema::options_for::<Tree>()` builds validators over `&Node`. Two things differ from a plain JSON value:
//! `type: integer` asks for a literal without fraction and exponent (contract §2.1), and errors carry `null` in place of
//! the value they are about, so that nothing of a message can leave through them.

use std::borrow::Cow;
use std::collections::BTreeSet;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, JsonNumber, Node as JsonNode, NodeIdentity, Object};
use serde_json::Value;

use super::{Kind, Member, Node, Number, Span};
use crate::message::canonical;

/// Marker type for `jsonschema::options_for::<Tree>()`.
#[derive(Debug)]
pub struct Tree;

/// Holds a member name while `propertyNames` looks at it.
#[derive(Debug)]
pub struct NameNode(Node<'static>);

impl Default for NameNode {
    fn default() -> Self {
        Self(Node {
            span: Span { start: 0, end: 0 },
            kind: Kind::Null,
        })
    }
}

impl Json for Tree {
    type Node<'a> = &'a Node<'a>;
    type PreparedKey = String;
    type StringBuffer = NameNode;

    /// A lookup walks the members, so one pass over all of them is cheaper than several lookups.
    const KEYS_PER_LOOKUP: usize = 4;
    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut NameNode, string: &str, f: impl FnOnce(Self::Node<'_>) -> T) -> T {
        buffer.0.kind = Kind::String(Cow::Owned(string.to_owned()));
        f(&buffer.0)
    }
}

impl<'a> JsonNode<'a, Tree> for &'a Node<'a> {
    type Object = &'a [Member<'a>];
    type Array = &'a [Node<'a>];
    type Number = &'a Number<'a>;

    fn as_object(&self) -> Option<Self::Object> {
        self.members()
    }

    fn as_array(&self) -> Option<Self::Array> {
        self.elements()
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.text().map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<Self::Number> {
        self.number()
    }

    fn as_boolean(&self) -> Option<bool> {
        self.truth()
    }

    fn is_null(&self) -> bool {
        Node::is_null(self)
    }

    fn json_type(&self) -> JsonType {
        match self.kind {
            Kind::Null => JsonType::Null,
            Kind::Bool(_) => JsonType::Boolean,
            Kind::Number(_) => JsonType::Number,
            Kind::String(_) => JsonType::String,
            Kind::Array(_) => JsonType::Array,
            Kind::Object(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        equal(self, expected)
    }

    /// Read for error texts only, as equality and uniqueness are answered here: see the module's header.
    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Borrowed(&Value::Null)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(std::ptr::from_ref::<Node<'_>>(self).addr()))
    }
}

impl<'a> Object<'a, Tree> for &'a [Member<'a>] {
    type Node = &'a Node<'a>;
    type MemberName = &'a str;
    type MembersIter = std::iter::Map<std::slice::Iter<'a, Member<'a>>, fn(&'a Member<'a>) -> (&'a str, &'a Node<'a>)>;

    fn len(&self) -> usize {
        <[Member<'_>]>::len(self)
    }

    fn get(&self, key: &String) -> Option<Self::Node> {
        self.iter()
            .find(|member| member.name == *key)
            .map(|member| &member.value)
    }

    fn members(&self) -> Self::MembersIter {
        self.iter().map(|member| (&member.name, &member.value))
    }
}

impl<'a> Array<'a, Tree> for &'a [Node<'a>] {
    type Node = &'a Node<'a>;
    type ElementsIter = std::slice::Iter<'a, Node<'a>>;

    fn len(&self) -> usize {
        <[Node<'_>]>::len(self)
    }

    fn elements(&self) -> Self::ElementsIter {
        self.iter()
    }

    /// Equal values have equal canonical texts, and no others have.
    fn is_unique(&self) -> bool {
        let mut seen = BTreeSet::new();
        self.iter().all(|element| seen.insert(canonical::jcs(element)))
    }
}

impl JsonNumber for &Number<'_> {
    fn as_u64(&self) -> Option<u64> {
        self.integer()?.try_into().ok()
    }

    fn as_i64(&self) -> Option<i64> {
        self.integer()
    }

    fn as_f64(&self) -> Option<f64> {
        Some(self.value)
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.literal)
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        let double = || serde_json::Number::from_f64(self.value);
        let number = self.integer().map(serde_json::Number::from).or_else(double);
        Cow::Owned(number.unwrap_or_else(|| 0.into()))
    }

    fn is_integer(&self) -> bool {
        Number::is_written_as_integer(self)
    }

    fn is_written_as_integer(&self) -> bool {
        Number::is_written_as_integer(self)
    }
}

/// JSON equality with a value of a schema; numbers compare by value. Recurses as deep as the schema's value.
fn equal(node: &Node<'_>, expected: &Value) -> bool {
    match (&node.kind, expected) {
        (Kind::Null, Value::Null) => true,
        (Kind::Bool(left), Value::Bool(right)) => left == right,
        (Kind::Number(left), Value::Number(right)) => jsonschema::json::cmp::equal_numbers(&left, right),
        (Kind::String(left), Value::String(right)) => left == right,
        (Kind::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Kind::Object(left), Value::Object(right)) => {
            let same = |member: &Member<'_>| {
                right
                    .get(&*member.name)
                    .is_some_and(|value| equal(&member.value, value))
            };
            left.len() == right.len() && left.iter().all(same)
        }
        (
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) | Kind::Array(_) | Kind::Object(_),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_),
        ) => false,
    }
}
