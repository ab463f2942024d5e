//! The corpus: one JSON file is one test, with the exact verdict, code, rule, status and pointer (contract §4 to §10).
//!
//! A case is a base message with changes (`base`, `set`, `remove`, then sealed unless `seal` is false, then `edit`ed as
//! text), or raw input (`text`, `hex`). With `form: keyless` a base message is made an array after it is sealed, then
//! `places` changes that, and any input is read as keyless. `policy` and `facts` change what `Case` describes below.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    clippy::wildcard_enum_match_arm,
    reason = "a test that fails is a test"
)]

#[path = "support/believed.rs"]
mod believed;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use believed::{Believed, Found, Proven};
use portcullis::contract::{Rule, Stage};
use portcullis::decide::{self, Refusal, Verdict};
use portcullis::facts::{Fact, Facts};
use portcullis::message::envelope::{Envelope, Form};
use portcullis::message::json::{self, Bounds};
use portcullis::message::{canonical, keyless, profile::Schemas};
use portcullis::policy::{
    Agent, Backend, BackendView, Body, Deadlines, Freshness, Idempotency, Integrity, Level, Limits, Messages, Mode,
    PathPattern, Payload, Policy, Rates, Replay, ReviewActions, Route, Vocabulary,
};
use portcullis::rules::Input;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    about: String,
    base: Option<String>,
    #[serde(default)]
    set: BTreeMap<String, Value>,
    #[serde(default)]
    remove: Vec<String>,
    #[serde(default = "yes")]
    seal: bool,
    #[serde(default)]
    edit: Vec<(String, String)>,
    form: Option<String>,
    #[serde(default)]
    places: BTreeMap<String, Value>,
    text: Option<String>,
    hex: Option<String>,
    #[serde(default)]
    policy: PolicyChange,
    #[serde(default)]
    facts: FactsChange,
    expect: Expect,
}

/// What a case says differently from a strict route that takes every shipped profile, `async`, one extension.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyChange {
    takes: Option<String>,
    mode: Option<String>,
    integrity: Option<String>,
    idempotency: Option<String>,
    agent_ids: Option<Vec<String>>,
    envelopes: Option<Vec<String>>,
    payload: Option<String>,
    capability_revision: Option<String>,
    dispatch: Option<bool>,
    profiles: Option<Vec<String>>,
    extensions: Option<Vec<String>>,
    modes: Option<Vec<String>>,
    #[serde(default)]
    operations: Vec<String>,
    #[serde(default)]
    relax_base: bool,
    level: Option<String>,
    #[serde(default)]
    review_actions: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    hold: Vec<String>,
    max_lifetime_s: Option<u64>,
    #[serde(default)]
    vocabulary: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    trust: Believed,
}

/// Absent: a minute after the messages were issued, and no field. A list: several fields, so nobody can know.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct FactsChange {
    #[serde(default)]
    now: Value,
    #[serde(default)]
    signature: Value,
    #[serde(default)]
    capability_revision: Value,
    #[serde(default)]
    idempotency_key: Value,
    #[serde(default)]
    proven: Found,
}

/// Absent members are `null`: an allowed message has no code.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    verdict: String,
    code: Option<String>,
    rule: Option<String>,
    status: Option<u16>,
    pointer: Option<String>,
}

const fn yes() -> bool {
    true
}

#[test]
fn every_case_gets_its_exact_verdict() {
    let mut wrong = Vec::new();
    let files = files_below(&corpus());
    for file in files.iter().filter(|file| !file.starts_with(corpus().join("base"))) {
        let case = read_case(file);
        assert!(!case.about.is_empty(), "{}", file.display());
        let actual = judge(&case);
        if actual != case.expect {
            wrong.push(format!(
                "{}\n  expected {:?}\n  actual   {actual:?}",
                file.display(),
                case.expect
            ));
        }
    }
    assert!(files.len() > 150, "only {} cases found", files.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_built_rule_of_stages_3_to_15_has_cases_on_both_sides() {
    // Stage 13 is judged by the admit commit, which no message causes alone.
    let judged = |rule: &&Rule| {
        rule.is_built() && (Stage::Json..=Stage::Firewall).contains(&rule.stage()) && rule.stage() != Stage::Replay
    };
    let built: BTreeSet<String> = Rule::ALL
        .iter()
        .filter(judged)
        .map(|rule| rule.id().to_owned())
        .collect();
    assert_eq!(names_in(&corpus().join("rules")), built);
    for rule in built {
        let folder = corpus().join("rules").join(&rule);
        for (side, is_refused) in [("accept", false), ("reject", true)] {
            let files = files_below(&folder.join(side));
            assert!(!files.is_empty(), "{rule} has no {side} case");
            for file in files {
                let decided_by = read_case(&file).expect.rule;
                assert_eq!(
                    decided_by.as_deref() == Some(rule.as_str()),
                    is_refused,
                    "{}",
                    file.display()
                );
            }
        }
    }
}

#[test]
fn every_shipped_profile_has_valid_and_invalid_messages() {
    let shipped: BTreeSet<String> = Schemas::shipped().map(str::to_owned).collect();
    assert_eq!(names_in(&corpus().join("profiles")), shipped);
    for profile in shipped {
        let count = |kind: &str| files_below(&corpus().join("profiles").join(&profile).join(kind)).len();
        assert!(count("valid") >= 2 && count("invalid") >= 4, "{profile}");
    }
}

fn judge(case: &Case) -> Expect {
    let bytes = bytes(case);
    let policy = policy(&case.policy);
    let route = &policy.routes[0];
    let proven = case.facts.proven.proven();
    let facts = facts(&case.facts, &proven);
    let Some(declared) = route.messages() else {
        return describe(&decide::decide_plain(&policy, route, &facts));
    };
    match decide::read(&bytes, &policy, form(case), &declared.envelopes) {
        Err(refusal) => refused(&refusal, refusal.outcome.name()),
        Ok(message) => describe(&decide::decide(&Input {
            policy: &policy,
            route,
            declared,
            message: &message,
            facts: &facts,
        })),
    }
}

fn describe(verdict: &Verdict) -> Expect {
    let plain = |verdict: &str| Expect {
        verdict: verdict.to_owned(),
        ..Expect::default()
    };
    match verdict {
        Verdict::Allow(_) => plain("allow"),
        Verdict::Observed(observed) => observed
            .would
            .as_ref()
            .map_or_else(|| plain("observed"), |would| refused(would, "observed")),
        Verdict::Refused(refusal) => refused(refusal, refusal.outcome.name()),
    }
}

fn refused(refusal: &Refusal, verdict: &str) -> Expect {
    let rule = refusal.rule();
    Expect {
        verdict: verdict.to_owned(),
        code: Some(rule.code().name().to_owned()),
        rule: Some(rule.id().to_owned()),
        status: Some(rule.status()),
        pointer: refusal
            .deciding
            .pointer
            .as_ref()
            .map(|pointer| pointer.as_str().to_owned()),
    }
}

fn bytes(case: &Case) -> Vec<u8> {
    if let Some(text) = &case.text {
        return text.clone().into_bytes();
    }
    if let Some(hex) = &case.hex {
        let digits: Vec<char> = hex.chars().collect();
        let byte = |pair: &[char]| u8::from_str_radix(&String::from_iter(pair), 16).unwrap();
        return digits.chunks(2).map(byte).collect();
    }
    let Some(base) = &case.base else {
        return Vec::new();
    };
    let base = fs::read_to_string(corpus().join("base").join(format!("{base}.json"))).unwrap();
    let mut message: Value = serde_json::from_str(&base).unwrap();
    for pointer in &case.remove {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let object = message.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        assert!(object.remove(name).is_some(), "{}: {pointer} is not there", case.about);
    }
    for (pointer, value) in &case.set {
        set(&mut message, pointer, value.clone());
    }
    if case.seal && message["integrity"].is_object() {
        let text = message.to_string();
        let digest = canonical::digest(&json::read(text.as_bytes(), &Bounds::default()).unwrap());
        message["integrity"]["checksum"] = Value::String(format!("sha256:{digest}"));
    }
    let mut text = message.to_string();
    if form(case) == Form::Keyless {
        let root = json::read(text.as_bytes(), &Bounds::default()).unwrap();
        let array = json::minified(&keyless::flatten(root, &schemas()).unwrap());
        let mut array: Value = serde_json::from_slice(&array).unwrap();
        for (pointer, value) in &case.places {
            *array.pointer_mut(pointer).unwrap() = value.clone();
        }
        text = array.to_string();
    }
    for (from, to) in &case.edit {
        assert!(text.contains(from), "{}: nothing to edit", case.about);
        text = text.replace(from, to);
    }
    text.into_bytes()
}

fn form(case: &Case) -> Form {
    match case.form.as_deref() {
        None => Form::Keyed,
        Some("keyless") => Form::Keyless,
        Some(other) => panic!("form `{other}`"),
    }
}

fn schemas() -> Arc<Schemas> {
    static SCHEMAS: OnceLock<Arc<Schemas>> = OnceLock::new();
    SCHEMAS.get_or_init(|| Arc::new(Schemas::builtin().unwrap())).clone()
}

fn set(message: &mut Value, pointer: &str, value: Value) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match message.pointer_mut(parent).unwrap() {
        Value::Array(elements) => elements[name.parse::<usize>().unwrap()] = value,
        object => object[name] = value,
    }
}

fn policy(change: &PolicyChange) -> Policy {
    let words = |given: &Option<Vec<String>>, default: &[&str]| {
        let default = || default.iter().map(|word| (*word).to_owned()).collect();
        given.clone().unwrap_or_else(default)
    };
    let messages = Messages {
        profiles: words(&change.profiles, &Schemas::shipped().collect::<Vec<_>>()),
        extensions: words(&change.extensions, &["urn:uaix:ext:agent-communication-standard"]),
        modes: words(&change.modes, &["async"]),
        envelopes: words(&change.envelopes, &["canonical"])
            .iter()
            .map(|word| match word.as_str() {
                "canonical" => Envelope::Canonical,
                "delivery" => Envelope::Delivery,
                other => panic!("envelope `{other}`"),
            })
            .collect(),
        payload: change.payload.as_ref().map(|word| match word.as_str() {
            "any" => Payload::Any,
            name => Payload::Schema(name.to_owned()),
        }),
        backend_view: BackendView::Received,
        integrity: match change.integrity.as_deref() {
            None | Some("required") => Integrity::Required,
            Some("declared") => Integrity::Declared,
            Some(other) => panic!("integrity `{other}`"),
        },
        operations: change.operations.clone(),
        relaxed_base: change.relax_base,
    };
    let route = Route {
        name: "case".to_owned(),
        path: PathPattern::parse("/").unwrap(),
        methods: vec!["POST".to_owned()],
        body: match change.takes.as_deref() {
            None => Body::Messages(messages),
            Some("legacy") => Body::Legacy,
            Some("read") => Body::Read,
            Some(other) => panic!("takes `{other}`"),
        },
        mode: match change.mode.as_deref() {
            None => Mode::Enforce,
            Some("observe") => Mode::Observe,
            Some(other) => panic!("mode `{other}`"),
        },
        level: match change.level.as_deref() {
            None => Level::L3,
            Some("L4") => Level::L4,
            Some("L6") => Level::L6,
            Some(other) => panic!("level `{other}`"),
        },
        media_types: vec!["application/json".to_owned()],
        body_limit: 256 * 1024,
        deadline: Duration::from_secs(30),
        idempotency_required: change.idempotency.as_deref() != Some("none"),
        forward_headers: None,
        pass_credentials: Vec::new(),
        pass_error_bodies: false,
        proofs: change.trust.proofs(),
        rate: None,
        human_review_url: None,
        result_url: None,
    };
    Policy {
        revision: "0".repeat(64),
        agent: Agent {
            ids: words(&change.agent_ids, &["agt_runtime.consumer"]),
            label: "corpus".to_owned(),
        },
        public_url: None,
        public_hosts: Vec::new(),
        public_origins: Vec::new(),
        backend: Backend {
            authority: "127.0.0.1:9".to_owned(),
            h2c: false,
        },
        limits: Limits::default(),
        json: Bounds::default(),
        deadlines: Deadlines::default(),
        freshness: Freshness {
            max_lifetime: change.max_lifetime_s.map(Duration::from_secs),
            ..Freshness::default()
        },
        replay: Replay::default(),
        idempotency: Idempotency::default(),
        rates: Rates::default(),
        trust: change.trust.trust(),
        vocabulary: vocabulary(&change.vocabulary),
        removed_headers: Vec::new(),
        hold: change.hold.clone(),
        review_actions: review_actions(&change.review_actions),
        schemas: schemas(),
        routes: vec![Arc::new(route)],
        dispatch_route: change.dispatch.is_some_and(|is| is).then(|| "case".to_owned()),
        capability_revision: change.capability_revision.clone().unwrap_or_default(),
    }
}

fn review_actions(added: &BTreeMap<String, Vec<String>>) -> ReviewActions {
    let mut actions = ReviewActions::default();
    for (kind, words) in added {
        match kind.as_str() {
            "execution" => actions.execution.extend(words.iter().cloned()),
            "credential" => actions.credential.extend(words.iter().cloned()),
            other => panic!("review_actions `{other}`"),
        }
    }
    actions
}

fn vocabulary(added: &BTreeMap<String, Vec<String>>) -> Vocabulary {
    let mut vocabulary = Vocabulary::default();
    for (member, words) in added {
        match member.as_str() {
            "mode" => vocabulary.mode.extend(words.iter().cloned()),
            "priority" => vocabulary.priority.extend(words.iter().cloned()),
            other => panic!("vocabulary `{other}`"),
        }
    }
    vocabulary
}

fn facts<'a>(change: &'a FactsChange, proven: &'a Proven) -> Facts<'a> {
    let now = match &change.now {
        Value::Null => Fact::Known("2026-05-31T18:01:00Z".parse().unwrap()),
        Value::String(word) if word == "unsteady" => Fact::Unavailable,
        Value::String(time) => Fact::Known(time.parse().unwrap()),
        other => panic!("now `{other}`"),
    };
    Facts {
        signature: field(&change.signature),
        capability_revision: field(&change.capability_revision),
        idempotency_key: field(&change.idempotency_key),
        presenter: proven.presenter(),
        proof: proven.proof(),
        fence: proven.fence,
        ..Facts::at(now)
    }
}

fn field(value: &Value) -> Fact<&str> {
    match value {
        Value::Null => Fact::Absent,
        Value::String(text) => Fact::Known(text),
        Value::Array(_) => Fact::Unavailable,
        other => panic!("field `{other}`"),
    }
}

fn read_case(file: &Path) -> Case {
    let text = fs::read_to_string(file).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

fn names_in(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
    files
}
