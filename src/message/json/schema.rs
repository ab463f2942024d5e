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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::json::{Bounds, read};

    fn valid(schema: &Value, text: &str) -> bool {
        let validator = jsonschema::options_for::<Tree>().build(schema).unwrap();
        let node = read(text.as_bytes(), &Bounds::default()).unwrap();
        validator.is_valid(&node)
    }

    #[test]
    fn keywords_hold_over_the_borrowed_tree() {
        let cases = [
            (json!({"type": "integer"}), "1", "1.0"),
            (json!({"type": "integer"}), "-0", "1e2"),
            (json!({"type": "number"}), "1e2", "\"1\""),
            (json!({"type": ["integer", "null"]}), "null", "0.5"),
            (json!({"minimum": 0}), "-0.0", "-1"),
            (json!({"exclusiveMinimum": 0, "maximum": 1}), "0.5", "1.5"),
            (json!({"multipleOf": 0.1}), "0.3", "0.35"),
            (json!({"const": 1}), "1.0", "true"),
            (
                json!({"const": {"a": [1, null, "x"], "b": false}}),
                r#"{"b":false,"a":[1,null,"x"]}"#,
                r#"{"a":[1,null,"x"]}"#,
            ),
            (json!({"enum": ["a", "\u{e9}"]}), r#""\u00e9""#, r#""b""#),
            (
                json!({"uniqueItems": true}),
                r#"[1,"1",{"a":1,"b":2},{"a":1}]"#,
                r#"[{"a":1,"b":2},{"b":2.0,"a":1}]"#,
            ),
            (json!({"required": ["a", "b"]}), r#"{"b":0,"a":0}"#, r#"{"a":0}"#),
            (
                json!({"properties": {"a": true}, "additionalProperties": false}),
                r#"{"a":0}"#,
                r#"{"b":0}"#,
            ),
            (
                json!({"propertyNames": {"maxLength": 2}}),
                r#"{"ab":0,"c":1}"#,
                r#"{"ab":0,"abc":1}"#,
            ),
            (
                json!({"minLength": 2, "maxLength": 2}),
                "\"\u{e9}\u{1F600}\"",
                "\"\u{1F600}\"",
            ),
            (
                json!({"items": {"$ref": "#/$defs/s"}, "$defs": {"s": {"type": "string"}}}),
                r#"["a"]"#,
                "[0]",
            ),
            (
                json!({"contains": {"type": "boolean"}, "maxItems": 2}),
                "[0,true]",
                "[0,1]",
            ),
            (json!({"pattern": "^a+$"}), r#""aa""#, r#""ab""#),
        ];
        for (schema, good, bad) in cases {
            assert!(valid(&schema, good), "{schema} {good}");
            assert!(!valid(&schema, bad), "{schema} {bad}");
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_walks_down_the_tree() {
        let schema = json!({"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": false});
        let deep = |end: &str| format!("{}{end}{}", "{\"next\":".repeat(30), "}".repeat(30));
        assert!(valid(&schema, &deep("{}")));
        assert!(!valid(&schema, &deep("0")));
    }

    #[test]
    fn an_error_names_the_place_and_never_the_value() {
        let schema = json!({"properties": {"a": {"items": {"type": "integer"}}}});
        let validator = jsonschema::options_for::<Tree>().build(&schema).unwrap();
        let node = read(br#"{"a":[1,"hunter2"]}"#, &Bounds::default()).unwrap();
        let error = validator.iter_errors(&node).next().unwrap();
        assert_eq!(error.instance_path().as_str(), "/a/1");
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }
}
