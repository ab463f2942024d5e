//! What the command line says as evidence: exported results, explanations in contract order, conformance reports.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test that fails is a test"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as URL;
use portcullis::contract::Rule;
use portcullis::message::envelope::Message;
use portcullis::message::json::{Bounds, read};
use serde_json::{Value, json};

const REPORT: &str = "examples/final-report.keyed.json";

fn portcullis(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR"));
    command.output().unwrap()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn exit(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn report() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(REPORT);
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// What `validate --export` writes about a text, with `validate`'s exit code; the export is valid itself.
fn exported(text: &str) -> (Value, i32) {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (message, export) = (place("message.json"), place("export.json"));
    fs::write(&message, text).unwrap();
    let judged = portcullis(&["validate", "--export", &export, &message]);
    let again = portcullis(&["validate", &export]);
    assert_eq!(exit(&again), 0, "{}{}", stdout(&judged), stdout(&again));
    // Sealed, not only shaped: a changed byte is found.
    let sealed = fs::read_to_string(&export).unwrap();
    fs::write(&export, sealed.replacen("Portcullis", "portcullis", 1)).unwrap();
    assert!(stdout(&portcullis(&["validate", &export])).contains("integrity.mismatch"));
    (serde_json::from_str(&sealed).unwrap(), exit(&judged))
}

/// The rules of the results with this outcome; they stand in contract order.
fn rules(export: &Value, outcome: &str) -> Vec<Rule> {
    let results = export["body"]["results"].as_array().unwrap();
    let named = |result: &Value| {
        let id = result["rule"].as_str().unwrap();
        *Rule::ALL.iter().find(|rule| rule.id() == id).unwrap()
    };
    let all: Vec<Rule> = results.iter().map(named).collect();
    assert!(all.is_sorted(), "{all:?}");
    let some = results.iter().filter(|result| result["outcome"] == outcome);
    some.map(named).collect()
}

#[test]
fn the_export_of_a_valid_message_is_valid() {
    let (export, code) = exported(&report().to_string());
    assert_eq!(code, 0);
    assert_eq!(export["body"]["subject_message_id"], report()["message_id"]);
    assert_eq!(export["target"]["id"], report()["source"]["id"]);
    assert_eq!(export["body"]["outcome"], "pass");
    assert_eq!(rules(&export, "warning"), [Rule::IntegrityPlaceholder]);
    assert_eq!(rules(&export, "fail"), []);
    assert!(rules(&export, "pass").contains(&Rule::ReportEvidence));
    // What was not judged is not claimed.
    assert!(!rules(&export, "pass").contains(&Rule::FreshnessExpired));
}

#[test]
fn the_export_of_a_refused_message_is_valid_and_names_every_finding() {
    let mut message = report();
    message["zzz"] = json!(1);
    message["body"]["summary"] = json!(null);
    message["delivery"]["priority"] = json!("whenever");
    let (export, code) = exported(&message.to_string());
    assert_eq!(code, 1);
    assert_eq!(export["body"]["outcome"], "fail");
    let failed = rules(&export, "fail");
    assert_eq!(
        failed,
        [Rule::SchemaRequired, Rule::SchemaUndeclared, Rule::SchemaValue]
    );
    assert_eq!(export["body"]["summary"]["failed"], 3);
    // The stage that failed decides; nothing after it was judged.
    assert!(
        rules(&export, "pass")
            .iter()
            .all(|rule| rule.stage() <= Rule::SchemaValue.stage())
    );
}

#[test]
fn the_export_goes_to_no_group() {
    let mut message = report();
    message["source"]["id"] = json!("urn:group:x");
    message["provenance"]["agent_id"] = json!("urn:group:x");
    let (export, _) = exported(&message.to_string());
    assert_eq!(export["target"]["id"], export["source"]["id"]);
}

/// What a finding says about a message must not be what the next reader refuses.
#[test]
fn the_export_may_tell_of_what_no_message_may_say() {
    let cases = [
        (
            "/body/summary",
            json!("UAIX certifies and hosts this agent."),
            "claims.unsupported",
        ),
        ("/target/uri", json!("http://10.0.0.1/report"), "probe.private-network"),
        ("/body/tests_run", json!("none"), "schema.type"),
    ];
    for (pointer, value, rule) in cases {
        let mut message = report();
        *message.pointer_mut(pointer).unwrap() = value;
        let (export, _) = exported(&message.to_string());
        let failed = rules(&export, "fail");
        assert!(failed.iter().any(|failed| failed.id() == rule), "{rule}: {failed:?}");
    }
}

#[test]
fn the_export_of_what_cannot_be_read_names_it_by_its_bytes() {
    let (export, code) = exported("{\"uai_version\": tru}");
    assert_eq!(code, 1);
    let subject = export["body"]["subject_message_id"].as_str().unwrap();
    assert_eq!(subject.len(), "sha256:".len() + 64);
    assert_eq!(rules(&export, "fail"), [Rule::JsonSyntax]);
    assert_eq!(rules(&export, "pass"), []);
}

#[test]
fn an_export_tells_of_one_message_and_says_where_it_cannot_go() {
    let two = portcullis(&["validate", "--export", "-", REPORT, REPORT]);
    assert_eq!(exit(&two), 2);
    let printed = portcullis(&["validate", "--export", "-", REPORT]);
    assert_eq!(exit(&printed), 0);
    let message: Value = serde_json::from_str(stdout(&printed)).unwrap();
    assert_eq!(message["profile"], "uai.conformance.result.v1");
    let nowhere = portcullis(&["validate", "--export", "no-such-folder/export.json", REPORT]);
    assert_eq!(exit(&nowhere), 3);
}

#[test]
fn explain_tells_the_rules_in_contract_order_with_stage_and_section() {
    let output = portcullis(&["explain", REPORT]);
    let text = stdout(&output);
    let told: Vec<[&str; 3]> = text
        .lines()
        .skip_while(|line| !line.starts_with("stage"))
        .skip(1)
        .take_while(|line| !line.starts_with("note:"))
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            [words[0], words[1], words[2]]
        })
        .collect();
    let sections: Vec<String> = Rule::ALL.iter().map(|rule| format!("§{}", rule.section())).collect();
    let rules = Rule::ALL.iter().zip(&sections);
    let expected: Vec<[&str; 3]> = rules
        .map(|(rule, section)| [rule.stage().number(), rule.id(), section])
        .collect();
    assert_eq!(told, expected);

    let output = portcullis(&["explain", "--output", "json", REPORT]);
    let object: Value = serde_json::from_str(stdout(&output)).unwrap();
    let told: Vec<[&str; 3]> = object["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| ["stage", "rule", "section"].map(|member| row[member].as_str().unwrap()))
        .collect();
    let expected: Vec<[&str; 3]> = Rule::ALL
        .iter()
        .map(|rule| [rule.stage().number(), rule.id(), rule.section()])
        .collect();
    assert_eq!(told, expected);
}

#[test]
fn conformance_prints_every_case_and_a_junit_file() {
    let directory = tempfile::tempdir().unwrap();
    let junit = directory.path().join("junit.xml");
    let output = portcullis(&["conformance", "--output", "json", "--junit", junit.to_str().unwrap()]);
    assert_eq!(exit(&output), 0, "{}", stdout(&output));
    let lines: Vec<Value> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 46);
    let count = |outcome: &str| lines.iter().filter(|line| line["outcome"] == outcome).count();
    let closing = String::from_utf8(output.stderr).unwrap();
    let (passed, pending) = (count("passed"), count("pending"));
    assert!(
        closing.contains(&format!("{passed} passed, 0 failed, {pending} pending (V07 ")),
        "{closing}"
    );
    for line in &lines {
        let is_told = line["outcome"] == "passed" || !line["reasons"].as_array().unwrap().is_empty();
        assert!(is_told, "{line}");
        if line["outcome"] == "passed" {
            assert_eq!(line["expected"], line["got"], "{line}");
        }
    }
    let junit = fs::read_to_string(junit).unwrap();
    assert_eq!(junit.matches("<testcase ").count(), lines.len());
    assert_eq!(junit.matches("<skipped ").count(), pending);
    assert_eq!(junit.matches("<failure ").count(), 0);
}

#[test]
fn conformance_says_when_nobody_is_there() {
    let output = portcullis(&["conformance", "--target", "https://gate.example"]);
    assert_eq!(exit(&output), 3);
    let output = portcullis(&["conformance", "--backend", "127.0.0.1:0"]);
    assert_eq!(exit(&output), 2);
}

/// Contract §4, "Offline": stage 9 runs when keys are given.
#[test]
fn a_signature_is_verified_by_the_keys_that_are_given() {
    let directory = tempfile::tempdir().unwrap();
    let pair = Ed25519KeyPair::generate().unwrap();
    let public = URL.encode(pair.public_key().as_ref());
    let keys = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "k1", "x": public}]}).to_string();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/base/delivery.json");
    let text = fs::read_to_string(path).unwrap();
    let message = Message::open(text.as_bytes(), read(text.as_bytes(), &Bounds::default()).unwrap()).unwrap();
    // 2026-05-31T18:00:00Z
    let header = URL.encode(r#"{"alg":"EdDSA","kid":"k1","typ":"uai-message+jws","iat":1780250400}"#);
    let signature = pair.sign(format!("{header}.{}", URL.encode(message.canonical())).as_bytes());
    let jws = format!("{header}..{}", URL.encode(signature.as_ref()));
    let signed = text.replace("eyJhbGciOiJFZERTQSJ9..c2ln", &jws);
    let place = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (keys, none) = (place("keys.json", &keys), place("none.json", r#"{"keys":[]}"#));
    let good = place("good.json", &signed);
    let changed = place("changed.json", &signed.replace("is rebuilt", "is broken"));
    for (keys, message, at, rule) in [
        (&keys, &good, "2026-05-31T18:01:00Z", None),
        (&keys, &good, "2026-05-31T18:06:00Z", Some("freshness.too-old")),
        (&keys, &changed, "2026-05-31T18:01:00Z", Some("signature.wrong")),
        (&none, &good, "2026-05-31T18:01:00Z", Some("signature.key-unknown")),
    ] {
        let output = portcullis(&["validate", "--output", "json", "--keys", keys, "--at", at, message]);
        let judged: Value = serde_json::from_str(stdout(&output)).unwrap();
        assert_eq!(judged["rule"], json!(rule), "{message} {at}");
        assert_eq!(exit(&output), i32::from(rule.is_some()));
    }
    let output = portcullis(&["explain", "--keys", &place("no-keys.json", "{"), &good]);
    assert_eq!(exit(&output), 3);
}
