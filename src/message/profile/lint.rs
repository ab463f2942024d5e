//! What a schema file may not contain, whatever the validator would make of it (contract §3).
//!
//! A schema stands alone: it refers to nothing outside of its file, names no other dialect, and holds no second resource
//! whose base would change what a reference means. Patterns that need backtracking and unknown formats are refused by
//! the compiler itself, see [`super::Schemas`].

use serde_json::Value;

use crate::contract::Pointer;

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Keywords whose value is a map from names to schemas.
const MAPS: &[&str] = &[
    "$defs",
    "definitions",
    "properties",
    "patternProperties",
    "dependentSchemas",
];

/// Keywords whose value is plain data, never a schema.
const DATA: &[&str] = &["const", "enum", "default", "examples"];

/// The first thing that is forbidden, in words, with its place in the schema; `None` when there is none.
pub(super) fn problem(schema: &Value) -> Option<String> {
    if !schema.is_object() {
        return Some("expected an object".to_owned());
    }
    in_schema(schema, &Pointer::root())
}

fn in_schema(schema: &Value, place: &Pointer) -> Option<String> {
    match schema {
        Value::Object(members) => members.iter().find_map(|(keyword, value)| {
            let here = place.member(keyword);
            forbidden(keyword, value, place)
                .map(|problem| format!("{here}: {problem}"))
                .or_else(|| {
                    if DATA.contains(&keyword.as_str()) {
                        None
                    } else if MAPS.contains(&keyword.as_str()) {
                        value.as_object().and_then(|map| {
                            map.iter()
                                .find_map(|(name, schema)| in_schema(schema, &here.member(name)))
                        })
                    } else {
                        in_schema(value, &here)
                    }
                })
        }),
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .find_map(|(index, element)| in_schema(element, &place.element(index))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn forbidden(keyword: &str, value: &Value, parent: &Pointer) -> Option<&'static str> {
    let at_root = parent.as_str().is_empty();
    match keyword {
        "$ref" | "$dynamicRef" => {
            let is_local = value.as_str().is_some_and(|target| target.starts_with('#'));
            (!is_local).then_some("expected a reference inside this file, beginning with `#`")
        }
        "$schema" => (!at_root || value.as_str() != Some(DIALECT))
            .then_some("expected JSON Schema 2020-12, named at the root only"),
        "$id" => (!at_root).then_some("expected no second schema resource in one file"),
        "$recursiveRef" | "$recursiveAnchor" | "$vocabulary" => Some("expected a keyword of JSON Schema 2020-12"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_stands_alone() {
        let table = [
            (
                "local reference",
                json!({"$defs": {"a": {}}, "$ref": "#/$defs/a"}),
                true,
            ),
            (
                "a member may be called `$ref`",
                json!({"properties": {"$ref": {"type": "string"}}}),
                true,
            ),
            (
                "data is no schema",
                json!({"const": {"$ref": "https://example.org/"}}),
                true,
            ),
            (
                "remote reference",
                json!({"items": {"$ref": "https://example.org/a"}}),
                false,
            ),
            (
                "reference to another file",
                json!({"properties": {"a": {"$ref": "other.json"}}}),
                false,
            ),
            (
                "bundled meta-schema",
                json!({"$ref": "https://json-schema.org/draft/2020-12/schema"}),
                false,
            ),
            (
                "dynamic reference",
                json!({"allOf": [{"$dynamicRef": "other#a"}]}),
                false,
            ),
            ("second resource", json!({"$defs": {"a": {"$id": "urn:x"}}}), false),
            (
                "another dialect",
                json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
                false,
            ),
            ("no object", json!(true), false),
        ];
        for (name, schema, is_fine) in table {
            assert_eq!(problem(&schema).is_none(), is_fine, "{name}");
        }
    }

    #[test]
    fn the_place_is_named() {
        let schema = json!({"properties": {"a/b": {"items": [{"$ref": "x"}]}}});
        assert!(problem(&schema).unwrap().starts_with("/properties/a~1b/items/0/$ref: "));
    }
}
