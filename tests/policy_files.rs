//! The policies and the schema that are shipped: each loads without a mistake, and the schema is the one of the types.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails is a test"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use portcullis::config::{self, Config};
use portcullis::policy::{Body, Integrity, Level};

const SHIPPED: [&str; 5] = ["strict", "legacy-api", "read-only", "multi-agent", "fixture"];

fn policies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("policies")
}

fn load(name: &str) -> Config {
    config::load(&policies().join(format!("{name}.yaml")))
        .unwrap_or_else(|mistakes| panic!("{}", mistakes.render(false)))
}

#[test]
fn every_shipped_policy_loads_without_a_mistake_or_warning() {
    for name in SHIPPED {
        assert_eq!(load(name).warnings, [], "{name}");
    }
    let files: BTreeSet<String> = std::fs::read_dir(policies())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let keys = ["fixture-keys.json", "fixture-tokens.json"].map(str::to_owned);
    let expected: BTreeSet<String> = SHIPPED.iter().map(|name| format!("{name}.yaml")).chain(keys).collect();
    assert_eq!(files, expected, "a shipped policy without a test");
}

#[test]
fn the_strict_policy_needs_few_keys() {
    let text = std::fs::read_to_string(policies().join("strict.yaml")).unwrap();
    let keys: BTreeSet<&str> = text
        .lines()
        .map(|line| line.trim().trim_start_matches("- "))
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(':'))
        .map(|(key, _)| key)
        .collect();
    assert!(keys.len() <= 12, "{keys:?}");
}

#[test]
fn the_strict_policy_says_what_its_comments_say() {
    let config = load("strict");
    let policy = &config.policy;
    assert!(config.server.ledger_required);
    assert_eq!(policy.agent.ids, ["agt_runtime.consumer"]);
    assert_eq!(policy.backend.authority, "127.0.0.1:9000");
    let [route] = policy.routes.as_slice() else {
        panic!("one route");
    };
    let messages = route.messages().unwrap();
    assert_eq!(messages.profiles.len(), 8);
    assert!(
        messages
            .profiles
            .iter()
            .all(|profile| profile.starts_with("uai.agent."))
    );
    assert_eq!(messages.integrity, Integrity::Required);
    assert!(route.idempotency_required && !route.pass_error_bodies && !messages.relaxed_base);
    assert_eq!(route.level, Level::L3);
    assert_eq!(route.media_types, ["application/uai+json", "application/json"]);
    assert_eq!(route.body_limit, 256 * 1024);
}

#[test]
fn the_other_policies_are_of_their_kind() {
    let read_only = load("read-only").policy;
    assert!(read_only.routes.iter().all(|route| route.is_read()));

    let legacy = load("legacy-api").policy;
    let write = &legacy.routes[0];
    assert!(matches!(write.body, Body::Legacy) && write.idempotency_required);
    assert_eq!(write.forward_headers, None);
    assert!(legacy.routes.iter().any(|route| route.is_read()));

    let many = load("multi-agent").policy;
    assert!(many.agent.ids.len() > 1 && many.backend.h2c);
    assert!(many.holds_profile("uai.agent.handoff.v1"));
    assert!(many.routes.iter().any(|route| route.level.answers_two_keys()));

    let fixture = load("fixture").policy;
    assert_eq!(fixture.agent.ids.len(), 2);
    let of = |path: &str| fixture.routes.iter().find(|route| route.path.as_str() == path).unwrap();
    assert_eq!(of("/v1/open").messages().unwrap().integrity, Integrity::Required);
    assert_eq!(of("/v1/declared").messages().unwrap().integrity, Integrity::Declared);
    let words = |path: &str| of(path).messages().unwrap().modes.clone();
    assert_eq!(words("/v1/delivery"), ["async_durable", "sync_rpc"]);
    assert_eq!(words("/v1/async-only"), ["async_durable"]);
    let keyless = "application/uai-keyless+json";
    assert!(
        of("/v1/open")
            .media_types
            .iter()
            .any(|media_type| media_type == keyless)
    );
    let extensions = &of("/v1/open").messages().unwrap().extensions;
    assert_eq!(*extensions, ["urn:uaix:ext:agent-communication-standard"]);
}

/// To write the file anew: `PORTCULLIS_WRITE_SCHEMA=1 cargo test --test policy_files`.
#[test]
fn the_committed_schema_is_that_of_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/policy.json");
    let text = format!("{}\n", serde_json::to_string_pretty(&config::schema_json()).unwrap());
    #[expect(clippy::disallowed_methods, reason = "a test may be told to write the file")]
    if std::env::var_os("PORTCULLIS_WRITE_SCHEMA").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap() == text,
        "schemas/policy.json is stale"
    );
}

#[test]
fn a_policy_is_shown_with_its_effective_values() {
    for name in SHIPPED {
        let config = load(name);
        let effective = config::describe(&config);
        let mut out = Vec::new();
        effective.write(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.contains(&config.policy.revision) && text.contains("limits.body"),
            "{text}"
        );
        let json = serde_json::to_value(&effective).unwrap();
        assert_eq!(json["routes"].as_array().unwrap().len(), config.policy.routes.len());
    }
}
