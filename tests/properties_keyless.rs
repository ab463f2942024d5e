//! Encoding and decoding undo each other, whatever the values are (contract §2.5).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails is a test"
)]

use std::sync::LazyLock;

use portcullis::contract::Rule;
use portcullis::message::canonical::{canonical_bytes, digest};
use portcullis::message::json::{Bounds, Node, minified, read};
use portcullis::message::keyless::{Field, ROOT, Slot, flatten, rebuild};
use portcullis::message::profile::Schemas;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Map, Value};

static SCHEMAS: LazyLock<Schemas> = LazyLock::new(|| Schemas::builtin().unwrap());

/// Any JSON value of a few levels; numbers as the gate takes them.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-1000_i32..1000).prop_map(Value::from),
        "[ -~é\u{1F600}]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,3}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A message of a shipped profile whose members are there or not and hold anything.
fn message() -> impl Strategy<Value = Value> {
    let profiles: Vec<&str> = Schemas::shipped().collect();
    (prop::sample::select(profiles), prop::collection::vec(value(), 80..90)).prop_map(|(profile, values)| {
        let mut values = values.into_iter().cycle();
        let mut next = move || values.next().unwrap();
        let mut root = object(ROOT, profile, &mut next);
        root.insert("profile".to_owned(), profile.into());
        Value::Object(root)
    })
}

fn object(fields: &[Field], profile: &str, next: &mut impl FnMut() -> Value) -> Map<String, Value> {
    let mut members = Map::new();
    for field in fields {
        let value = match field.slot {
            Slot::Value => next(),
            Slot::Object(fields) => Value::Object(object(fields, profile, next)),
            Slot::List(fields) => vec![Value::Object(object(fields, profile, next)); 2].into(),
            Slot::Body => {
                let order = SCHEMAS.order(profile).unwrap();
                Value::Object(order.iter().map(|name| (name.clone(), next())).collect())
            }
        };
        // Among the values of the envelope itself `null` is no way to leave a member out.
        if !value.is_null() || !std::ptr::eq(fields, ROOT) {
            members.insert(field.name.to_owned(), value);
        }
    }
    members
}

fn tree(text: &str) -> Node<'_> {
    read(text.as_bytes(), &Bounds::default()).unwrap()
}

/// Whether the contract reads these places as a set of recipients; such a target has no keyless form.
fn is_set(target: &Value) -> bool {
    let mut given = target
        .as_object()
        .unwrap()
        .values()
        .filter(|value| !value.is_null())
        .peekable();
    given.peek().is_some() && given.all(|value| value.is_array() || value.is_object())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        rng_seed: RngSeed::Fixed(25),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn keyed_to_keyless_and_back_is_the_same_message(message in message()) {
        let keyed = message.to_string();
        let flattened = flatten(tree(&keyed), &SCHEMAS);
        if is_set(&message["target"]) {
            prop_assert_eq!(flattened.unwrap_err().rule, Rule::SchemaType);
            return Ok(());
        }
        let array = String::from_utf8(minified(&flattened.unwrap())).unwrap();
        let again = rebuild(tree(&array), &SCHEMAS).unwrap();
        prop_assert_eq!(canonical_bytes(&again), canonical_bytes(&tree(&keyed)));
        prop_assert_eq!(digest(&again), digest(&tree(&keyed)));
        prop_assert_eq!(minified(&flatten(again, &SCHEMAS).unwrap()), array.into_bytes());
    }
}
