//! What the documents show works: every policy in README and docs/policy.md loads, every example message is judged as told.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::arithmetic_side_effects,
    reason = "a test that fails is a test"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use portcullis::message::envelope::{Envelope, Form};
use portcullis::message::json::{self, Bounds};
use portcullis::message::keyless::{Field, ROOT, Slot};
use portcullis::message::profile::Schemas;
use portcullis::{config, decide};
use serde_json::Value;

#[test]
fn every_policy_shown_in_the_documents_loads() {
    for name in ["README.md", "docs/policy.md"] {
        let text = fs::read_to_string(root().join(name)).unwrap();
        let shown: Vec<&str> = text
            .split("```yaml\n")
            .skip(1)
            .filter_map(|rest| rest.split("```").next())
            .collect();
        assert!(!shown.is_empty(), "{name} shows no policy");
        for (number, policy) in shown.into_iter().enumerate() {
            let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}.yaml", name.replace('/', "-")));
            fs::write(&file, policy).unwrap();
            if let Err(mistakes) = config::load(&file) {
                panic!("{name}, policy {number}: {:?}", mistakes.mistakes);
            }
        }
    }
}

#[test]
fn every_key_of_the_policy_file_is_described() {
    let text = fs::read_to_string(root().join("docs/policy.md")).unwrap();
    let mut keys = BTreeSet::new();
    collect_keys(&config::schema_json(), &mut keys);
    assert!(keys.len() > 50, "only {} keys found in the schema", keys.len());
    let described = |key: &String| text.contains(&format!("`{key}`")) || text.contains(&format!(".{key}`"));
    let missing: Vec<&String> = keys
        .iter()
        .filter(|key| !described(key) && !GROUPS.contains(&key.as_str()))
        .collect();
    assert!(missing.is_empty(), "not in docs/policy.md: {missing:?}");
}

/// Keys that only group others; the others are described.
const GROUPS: &[&str] = &[
    "agent",
    "backend",
    "tls",
    "limits",
    "json",
    "deadlines",
    "freshness",
    "state",
    "replay",
    "headers",
    "review_actions",
    "schemas",
];

fn collect_keys(schema: &Value, keys: &mut BTreeSet<String>) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        keys.extend(properties.keys().cloned());
    }
    match schema {
        Value::Object(members) => members.values().for_each(|member| collect_keys(member, keys)),
        Value::Array(elements) => elements.iter().for_each(|element| collect_keys(element, keys)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_policy_in_the_repository_loads() {
    let mut count = 0_usize;
    for entry in fs::read_dir(root().join("policies")).expect("policies/") {
        let file = entry.unwrap().path();
        if let Err(mistakes) = config::load(&file) {
            panic!("{}: {:?}", file.display(), mistakes.mistakes);
        }
        count = count.saturating_add(1);
    }
    assert!(count >= 5, "only {count} policies");
}

#[test]
fn every_example_message_reads_and_the_handoff_carries_its_own_digest() {
    let policy = config::load(&root().join("policies/fixture.yaml")).unwrap().policy;
    for entry in fs::read_dir(root().join("examples")).expect("examples/") {
        let file = entry.unwrap().path();
        let bytes = fs::read(&file).unwrap();
        let message = decide::read(&bytes, &policy, Form::Keyed, &[Envelope::Canonical])
            .unwrap_or_else(|refusal| panic!("{}: {refusal:?}", file.display()));
        if file.ends_with("handoff.keyed.json") {
            let stated = message.text(&["integrity", "checksum"]).unwrap();
            assert_eq!(stated, format!("sha256:{}", message.digest()));
        }
    }
}

/// Contract §2.5: the tables of the document tell the order that the code goes by.
#[test]
fn the_contract_tells_the_order_of_the_keyless_form() {
    let text = fs::read_to_string(root().join("docs/contract.md")).unwrap();
    let row = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(&format!("| {name} |")));
        line.unwrap_or_else(|| panic!("no row for {name}"))
            .split('|')
            .nth(2)
            .unwrap()
    };
    let envelope = text
        .lines()
        .find(|line| line.starts_with("Twelve root members"))
        .unwrap();
    let at = text.find(envelope).unwrap();
    let sentence = text.get(at..).unwrap().split(". ").next().unwrap();
    assert_eq!(outer(sentence), names(ROOT));
    for field in ROOT {
        match field.slot {
            Slot::Value | Slot::Body => {}
            Slot::Object(fields) if field.name == "source" || field.name == "target" => {
                assert_eq!(outer(row("`source`, `target`")), names(fields));
            }
            Slot::Object(fields) => assert_eq!(outer(row(&format!("`{}`", field.name))), names(fields)),
            Slot::List(fields) => assert_eq!(outer(row(&format!("`{}[]`", field.name))), names(fields)),
        }
    }
}

fn names(fields: &[Field]) -> Vec<&str> {
    fields.iter().map(|field| field.name).collect()
}

/// The words in backticks that stand outside braces.
fn outer(cell: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let mut words = Vec::new();
    for (index, part) in cell.split('`').enumerate() {
        if index % 2 == 0 {
            let count = |brace| part.matches(brace).count();
            depth = (depth + count('{')) - count('}');
        } else if depth == 0 && !part.starts_with('{') {
            words.push(part);
        }
    }
    words
}

/// The keyless form is built from this order, so the contract and the schemas have to tell the same one.
#[test]
fn the_contract_lists_the_members_of_every_profile_in_their_order() {
    let text = fs::read_to_string(root().join("docs/contract.md")).unwrap();
    for profile in Schemas::shipped() {
        let row = text
            .lines()
            .find(|line| line.starts_with(&format!("| `{profile}` |")))
            .unwrap_or_else(|| panic!("no row for {profile}"));
        let schema = Schemas::shipped_text(profile).unwrap();
        let schema = json::read(schema.as_bytes(), &Bounds::default()).unwrap();
        let required = schema.get("required").unwrap().elements().unwrap();
        let is_required = |name: &str| required.iter().any(|other| other.text() == Some(name));
        let properties = schema.get("properties").unwrap().members().unwrap();
        let members: Vec<(String, bool)> = properties
            .iter()
            .map(|member| (member.name.to_string(), is_required(&member.name)))
            .collect();
        assert_eq!(members_in(row), members, "{profile}");
    }
}

/// The members that a row of the contract lists and whether they are required; what stands in brackets says more about
/// the member before it.
fn members_in(row: &str) -> Vec<(String, bool)> {
    let cell = row.trim_matches('|').split_once('|').unwrap().1;
    let mut depth = 0_i32;
    let top: String = cell
        .chars()
        .filter(|letter| {
            depth += i32::from("({".contains(*letter));
            let is_top = depth == 0;
            depth -= i32::from(")}".contains(*letter));
            is_top
        })
        .collect();
    top.split(',')
        .map(|member| {
            (
                member.split('`').nth(1).unwrap().to_owned(),
                !member.trim_end().ends_with('?'),
            )
        })
        .collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
