//! Whether an override closes every object that the built-in schema closes (contract §3).
//!
//! The question is asked for each place that the built-in schema describes: may a value there be an object with members
//! that nobody declared? Whatever cannot be made out counts as open.

use serde_json::Value;

/// One step down into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Member(String),
    Element,
}

/// How many schemas one question may visit; a schema that refers to itself ends here and counts as open.
const BUDGET: u32 = 500;

/// The first place that the built-in closes and the override leaves open, as a path such as `/corrections[]`.
pub(super) fn reopened(builtin: &Value, replacement: &Value) -> Option<String> {
    let mut places = Vec::new();
    collect(builtin, builtin, &mut Vec::new(), &mut places);
    places
        .into_iter()
        .filter(|place| !may_be_open(builtin, place))
        .find(|place| may_be_open(replacement, place))
        .map(|place| describe(&place))
}

/// Every place that a schema of ours describes, by the few keywords that ours use.
fn collect(root: &Value, schema: &Value, here: &mut Vec<Step>, places: &mut Vec<Vec<Step>>) {
    if !places.contains(here) {
        places.push(here.clone());
    }
    let mut down = |step: Step, schema: &Value| {
        here.push(step);
        collect(root, schema, here, places);
        here.pop();
    };
    for (name, schema) in schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        down(Step::Member(name.clone()), schema);
    }
    if let Some(items) = schema.get("items") {
        down(Step::Element, items);
    }
    let same_value = ["then", "else"].iter().filter_map(|keyword| schema.get(keyword));
    for schema in same_value.chain(target(root, schema)) {
        collect(root, schema, here, places);
    }
}

fn may_be_open(root: &Value, place: &[Step]) -> bool {
    is_open(root, root, place, &mut { BUDGET })
}

/// Whether `schema` lets a value at `place` be an object with undeclared members.
fn is_open(root: &Value, schema: &Value, place: &[Step], budget: &mut u32) -> bool {
    let Some(left) = budget.checked_sub(1) else {
        return true;
    };
    *budget = left;
    let Some(keywords) = schema.as_object() else {
        return schema.as_bool() != Some(false);
    };
    if !own_is_open(root, schema, place, budget) {
        return false;
    }
    if keywords.contains_key("$ref") && target(root, schema).is_some_and(|schema| !is_open(root, schema, place, budget))
    {
        return false;
    }
    let mut list = |keyword: &str| -> Vec<bool> {
        let schemas = schema.get(keyword).and_then(Value::as_array).into_iter().flatten();
        schemas.map(|schema| is_open(root, schema, place, budget)).collect()
    };
    let (all, any, one) = (list("allOf"), list("anyOf"), list("oneOf"));
    let closed_by_branches = |open: &[bool]| !open.is_empty() && open.iter().all(|open| !open);
    if all.contains(&false) || closed_by_branches(&any) || closed_by_branches(&one) {
        return false;
    }
    match (schema.get("if"), schema.get("then"), schema.get("else")) {
        (Some(_), Some(then), Some(other)) => is_open(root, then, place, budget) || is_open(root, other, place, budget),
        (Some(_) | None, _, _) => true,
    }
}

/// The same question of the schema's own keywords, those that hold other schemas for the same value aside.
fn own_is_open(root: &Value, schema: &Value, place: &[Step], budget: &mut u32) -> bool {
    if schema.get("const").is_some() || schema.get("enum").is_some() {
        return false;
    }
    let Some((step, rest)) = place.split_first() else {
        return allows(schema, "object") && !closes(schema);
    };
    match step {
        Step::Element => {
            let listed = schema
                .get("prefixItems")
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            let mut schemas = listed.chain(schema.get("items"));
            allows(schema, "array")
                && (schema.get("items").is_none() || schemas.any(|schema| is_open(root, schema, rest, budget)))
        }
        Step::Member(name) => {
            allows(schema, "object")
                && match schema.get("properties").and_then(|properties| properties.get(name)) {
                    Some(schema) => is_open(root, schema, rest, budget),
                    None => !closes(schema),
                }
        }
    }
}

/// Whether undeclared members are refused by this schema itself.
fn closes(schema: &Value) -> bool {
    let refuses = |keyword: &str| schema.get(keyword).and_then(Value::as_bool) == Some(false);
    (refuses("additionalProperties") || refuses("unevaluatedProperties")) && schema.get("patternProperties").is_none()
}

fn allows(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|one| one.as_str() == Some(kind)),
        Some(_) | None => true,
    }
}

/// The schema that a local `$ref` names by a JSON Pointer.
fn target<'a>(root: &'a Value, schema: &Value) -> Option<&'a Value> {
    root.pointer(schema.get("$ref")?.as_str()?.strip_prefix('#')?)
}

fn describe(place: &[Step]) -> String {
    let mut text = String::new();
    for step in place {
        match step {
            Step::Member(name) => {
                text.push('/');
                text.push_str(name);
            }
            Step::Element => text.push_str("[]"),
        }
    }
    if text.is_empty() { "the root".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn builtin() -> Value {
        json!({
            "type": "object", "additionalProperties": false,
            "properties": {
                "text": {"type": "string"},
                "open": {"type": "object"},
                "list": {"type": "array", "items": {"$ref": "#/$defs/entry"}},
            },
            "$defs": {"entry": {"type": "object", "additionalProperties": false, "properties": {"a": {"type": "string"}}}},
        })
    }

    #[test]
    fn an_override_may_change_anything_but_what_is_closed() {
        let with = |pointer: &str, value: Value| {
            let mut schema = builtin();
            *schema.pointer_mut(pointer).unwrap() = value;
            schema
        };
        let closed = json!({"type": "object", "additionalProperties": false});
        let table = [
            ("the same", builtin(), None),
            ("a member less", with("/properties", json!({})), None),
            (
                "another open object",
                with("/properties/open", json!({"type": "object", "minProperties": 1})),
                None,
            ),
            (
                "closed by allOf",
                with("/$defs/entry", json!({"allOf": [{"type": "object"}, closed]})),
                None,
            ),
            (
                "closed in every branch",
                with("/$defs/entry", json!({"oneOf": [{"type": "string"}, closed]})),
                None,
            ),
            (
                "root open",
                with("/additionalProperties", json!(true)),
                Some("the root"),
            ),
            (
                "root open by pattern",
                {
                    let mut schema = builtin();
                    schema["patternProperties"] = json!({"^x": true});
                    schema
                },
                Some("the root"),
            ),
            (
                "element open",
                with("/$defs/entry", json!({"type": "object"})),
                Some("/list[]"),
            ),
            ("anything", with("/properties/list", json!(true)), Some("/list")),
            (
                "elements open",
                with("/properties/list", json!({"type": "array"})),
                Some("/list[]"),
            ),
            (
                "open in one branch",
                with("/$defs/entry", json!({"anyOf": [{"type": "object"}, closed]})),
                Some("/list[]"),
            ),
            (
                "a text becomes an object",
                with("/properties/text", json!({"type": "object"})),
                Some("/text"),
            ),
            (
                "refers to itself",
                with("/$defs/entry", json!({"$ref": "#/$defs/entry"})),
                Some("/list[]"),
            ),
        ];
        for (name, replacement, expected) in table {
            assert_eq!(reopened(&builtin(), &replacement).as_deref(), expected, "{name}");
        }
    }
}
