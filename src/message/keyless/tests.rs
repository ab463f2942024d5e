//! The published pair both ways, one digest for every form, and each fault in its place.

use super::*;
use crate::message::canonical;
use crate::message::json::{Bounds, minified, read};
use serde_json::Value;

const KEYED: &str = include_str!("../../../examples/final-report.keyed.json");

fn schemas() -> Schemas {
    Schemas::builtin().unwrap()
}

fn tree(text: &str) -> Node<'_> {
    read(text.as_bytes(), &Bounds::default()).unwrap()
}

fn keyless() -> String {
    String::from_utf8(minified(&flatten(tree(KEYED), &schemas()).unwrap())).unwrap()
}

/// The faults of the published report after its keyless form is changed at a pointer.
fn faults(pointer: &str, value: &str) -> Vec<(Rule, String)> {
    let mut array: Value = serde_json::from_str(&keyless()).unwrap();
    *array.pointer_mut(pointer).unwrap() = serde_json::from_str(value).unwrap();
    let text = array.to_string();
    match rebuild(tree(&text), &schemas()) {
        Ok(_) => Vec::new(),
        Err(findings) => findings
            .into_iter()
            .map(|finding| {
                assert!(finding.at.is_some_and(|at| at < text.len()));
                (finding.rule, finding.pointer.unwrap().as_str().to_owned())
            })
            .collect(),
    }
}

#[test]
fn keyed_minified_and_keyless_give_one_digest() {
    let keyed = tree(KEYED);
    let small = String::from_utf8(minified(&keyed)).unwrap();
    let array = keyless();
    let rebuilt = rebuild(tree(&array), &schemas()).unwrap();
    assert_eq!(canonical::digest(&rebuilt), canonical::digest(&keyed));
    assert_eq!(canonical::digest(&tree(&small)), canonical::digest(&keyed));
    assert_eq!(canonical::jcs(&rebuilt), canonical::jcs(&keyed));
}

#[test]
fn both_directions_undo_each_other() {
    let array = keyless();
    let rebuilt = rebuild(tree(&array), &schemas()).unwrap();
    assert_eq!(minified(&flatten(rebuilt, &schemas()).unwrap()), array.as_bytes());
}

#[test]
fn offsets_are_those_of_the_array() {
    let array = keyless();
    let rebuilt = rebuild(tree(&array), &schemas()).unwrap();
    let summary = rebuilt.get("body").unwrap().member("summary").unwrap();
    assert_eq!(summary.at, array.find("\"UAIX agent communication").unwrap());
    let members = rebuilt.members().unwrap();
    assert!(members.windows(2).all(|pair| pair[0].at < pair[1].at));
}

#[test]
fn each_fault_has_its_rule_and_the_pointer_of_the_keyed_form() {
    let table: &[(&str, &str, &str, Rule, &str)] = &[
        ("a text for a party", "/3", "\"agt\"", Rule::KeylessShape, "/source"),
        ("a number for the body", "/8", "7", Rule::KeylessShape, "/body"),
        (
            "a text for the extensions",
            "/11",
            "\"x\"",
            Rule::KeylessShape,
            "/extensions",
        ),
        (
            "null among the extensions",
            "/11/0",
            "null",
            Rule::KeylessShape,
            "/extensions/0",
        ),
        (
            "a place too many",
            "/5",
            "[1,2,3,4,5,6,7]",
            Rule::KeylessOverflow,
            "/conversation",
        ),
        (
            "a place too few",
            "/10",
            "[1,\"sha256\",\"jcs\"]",
            Rule::KeylessOverflow,
            "/integrity",
        ),
        ("no place at all", "/4", "[]", Rule::KeylessOverflow, "/target"),
        ("a body of another length", "/8", "[1]", Rule::KeylessOverflow, "/body"),
        ("a keyed party", "/4", "{\"id\":\"a\"}", Rule::KeylessAlias, "/target"),
        ("a keyed body", "/8", "{}", Rule::KeylessAlias, "/body"),
        ("a keyed list", "/9/7", "{}", Rule::KeylessAlias, "/provenance/lineage"),
        (
            "a keyed entry",
            "/9/7/0",
            "{}",
            Rule::KeylessAlias,
            "/provenance/lineage/0",
        ),
    ];
    for (name, pointer, value, rule, place) in table {
        assert_eq!(faults(pointer, value), [(*rule, (*place).to_owned())], "{name}");
    }
    assert_eq!(faults("", "[]"), [(Rule::KeylessOverflow, String::new())]);
}

#[test]
fn what_a_later_stage_judges_is_left_to_it() {
    let table = [
        ("a set of recipients", "/4", "[[\"agent\"],[\"agent\"]]"),
        (
            "a set of keyed recipients",
            "/4",
            "[{\"id\":\"a\"},{\"id\":\"b\"},null]",
        ),
        ("a missing object", "/3", "null"),
        ("a missing list", "/9/7", "null"),
        ("another type", "/2", "[1]"),
        ("a profile without a schema", "/1", "\"uai.agent.none.v1\""),
        ("a profile that is no text", "/1", "7"),
        ("an open object", "/6/12", "{\"profile\":null,\"x\":[null]}"),
    ];
    for (name, pointer, value) in table {
        assert_eq!(faults(pointer, value), [], "{name}");
    }
}

#[test]
fn what_has_no_place_is_not_encoded() {
    let table: &[(&str, &str, &str, Rule, &str)] = &[
        ("an undeclared root member", "/x", "1", Rule::SchemaUndeclared, ""),
        (
            "an undeclared member",
            "/trust/x",
            "1",
            Rule::SchemaUndeclared,
            "/trust",
        ),
        (
            "an undeclared member of the body",
            "/body/x",
            "1",
            Rule::SchemaUndeclared,
            "/body",
        ),
        ("no object", "/source", "[]", Rule::SchemaType, "/source"),
        ("no list", "/extensions", "{}", Rule::SchemaType, "/extensions"),
        ("a null object", "/trust", "null", Rule::SchemaRequired, "/trust"),
        (
            "an unknown profile",
            "/profile",
            "\"x\"",
            Rule::ProfileUnknown,
            "/profile",
        ),
    ];
    for (name, pointer, value, rule, place) in table {
        let mut message: Value = serde_json::from_str(KEYED).unwrap();
        let (parent, member) = pointer.rsplit_once('/').unwrap();
        message.pointer_mut(parent).unwrap()[member] = serde_json::from_str(value).unwrap();
        let text = message.to_string();
        let finding = flatten(tree(&text), &schemas()).unwrap_err();
        assert_eq!(
            (finding.rule, finding.pointer.unwrap().as_str()),
            (*rule, *place),
            "{name}"
        );
    }
}

/// Contract §2.5: the schemas and the table tell one order.
#[test]
fn the_envelope_schema_has_the_order_of_the_table() {
    let schema = tree(Schemas::shipped_text("envelope").unwrap());
    same_order(&schema, &schema, ROOT);
}

fn same_order(root: &Node<'_>, schema: &Node<'_>, fields: &[Field]) {
    let schema = target(root, schema);
    let properties = schema.get("properties").unwrap();
    let names: Vec<&str> = properties
        .members()
        .unwrap()
        .iter()
        .map(|member| &*member.name)
        .collect();
    assert_eq!(names, fields.iter().map(|field| field.name).collect::<Vec<_>>());
    for field in fields {
        let property = properties.get(field.name).unwrap();
        match field.slot {
            Slot::Value | Slot::Body => {}
            Slot::Object(fields) => same_order(root, property, fields),
            Slot::List(fields) => same_order(root, target(root, property).get("items").unwrap(), fields),
        }
    }
}

fn target<'n, 'a>(root: &'n Node<'a>, schema: &'n Node<'a>) -> &'n Node<'a> {
    match schema.get("$ref").and_then(Node::text) {
        Some(reference) => root
            .find(&Pointer::from_rfc6901(reference.trim_start_matches('#')))
            .unwrap(),
        None => schema,
    }
}
