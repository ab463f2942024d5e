//! `seal`, `keys` and `canonicalize` as a person runs them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails is a test"
)]

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use portcullis::message::canonical::sha256_hex;
use serde_json::{Value, json};

const REPORT: &str = "examples/final-report.keyed.json";
const AT: &str = "2026-05-31T18:00:00Z";

fn portcullis(arguments: &[&str]) -> Output {
    with_input(arguments, b"")
}

fn with_input(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_portcullis"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that reads nothing closes its end.
    drop(child.stdin.take().unwrap().write_all(input));
    child.wait_with_output().unwrap()
}

/// What a command printed that has to end well.
fn fine(arguments: &[&str]) -> String {
    let output = portcullis(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json_of(arguments: &[&str]) -> Value {
    serde_json::from_str(&fine(&[arguments, &["--output", "json"]].concat())).unwrap()
}

/// A new key in a directory; the path of its file.
fn key(directory: &Path, alg: &str, kid: &str) -> String {
    let path = directory.join(format!("{kid}.json")).to_str().unwrap().to_owned();
    fine(&["keys", "new", "--alg", alg, "--kid", kid, "--out", &path]);
    path
}

fn kept(directory: &Path, name: &str, text: &str) -> String {
    let path = directory.join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_sealed_message_validates_in_both_forms() {
    let directory = tempfile::tempdir().unwrap();
    let keyed = json_of(&["seal", REPORT]);
    let message: Value = serde_json::from_str(keyed["message"].as_str().unwrap()).unwrap();
    let digest = keyed["digest"].as_str().unwrap();
    assert_eq!(message["integrity"]["checksum"], format!("sha256:{digest}"));
    assert_eq!(keyed["uai_signature"], Value::Null);
    // One line, which is the message; sealing it again changes nothing.
    let text = fine(&["seal", REPORT]);
    assert_eq!(text.trim_end(), keyed["message"].as_str().unwrap());
    let again = with_input(&["seal", "-"], text.as_bytes());
    assert_eq!(String::from_utf8(again.stdout).unwrap(), text);
    // The keyless form stays keyless and has the same digest.
    let keyless = kept(directory.path(), "keyless.json", &fine(&["convert", "keyless", REPORT]));
    let keyless = json_of(&["seal", &keyless]);
    assert!(keyless["message"].as_str().unwrap().starts_with('['));
    assert_eq!(keyless["digest"], keyed["digest"]);
    let sealed = kept(directory.path(), "sealed.json", keyless["message"].as_str().unwrap());
    let validated = json_of(&["validate", &sealed]);
    assert_eq!(
        (&validated["verdict"], &validated["digest"]),
        (&json!("allow"), &keyed["digest"])
    );
}

#[test]
fn a_number_is_sealed_as_it_was_written() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(REPORT)).unwrap();
    let mut message: Value = serde_json::from_str(&text).unwrap();
    message["provenance"]["confidence"] = json!(0.25);
    let text = message.to_string().replace("0.25", "2.50e-1");
    let sealed = with_input(&["seal", "-"], text.as_bytes());
    assert!(String::from_utf8(sealed.stdout).unwrap().contains("2.50e-1"));
}

#[test]
fn the_signature_goes_where_it_is_asked_to() {
    let directory = tempfile::tempdir().unwrap();
    let key = key(directory.path(), "Ed25519", "me-1");
    let mut report: Value =
        serde_json::from_str(&fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(REPORT)).unwrap()).unwrap();
    report["trust"].as_object_mut().unwrap().remove("signature_ref");
    let report = kept(directory.path(), "report.json", &report.to_string());
    let arguments = ["--key", &key, "--at", AT, "--aud", "agt_runtime.consumer"];
    let seal = |more: &[&'static str]| [&["seal", report.as_str()][..], &arguments, more].concat();

    let carried = json_of(&seal(&[]));
    let message: Value = serde_json::from_str(carried["message"].as_str().unwrap()).unwrap();
    let reference = message["trust"]["signature_ref"].as_str().unwrap().to_owned();
    assert_eq!(carried["uai_signature"], Value::Null);
    let lines = fine(&seal(&["--place", "header"]));
    let (first, field) = lines.trim_end().split_once('\n').unwrap();
    let jws = field.strip_prefix("UAI-Signature: ").unwrap();
    // The same canonical bytes, so with Ed25519 the same signature.
    assert_eq!(reference, format!("data:application/jose,{jws}"));
    assert!(
        serde_json::from_str::<Value>(first).unwrap()["trust"]
            .get("signature_ref")
            .is_none()
    );
    // A signature that the message carried gives way to the new one.
    let carried = kept(directory.path(), "carried.json", carried["message"].as_str().unwrap());
    let moved = fine(&[&["seal", carried.as_str()][..], &arguments, &["--place", "header"]].concat());
    assert_eq!(moved, lines);

    let delivery = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/base/delivery.json");
    let delivery = delivery.to_str().unwrap();
    let sealed = json_of(&[&["seal", delivery][..], &arguments].concat());
    let message: Value = serde_json::from_str(sealed["message"].as_str().unwrap()).unwrap();
    assert_eq!(
        message["sender"]["signature"].as_str().unwrap().matches("..").count(),
        1
    );
    for wrong in [
        [&["seal", delivery][..], &arguments, &["--place", "header"]].concat(),
        [&["seal", report.as_str()][..], &arguments, &["--place", "sender"]].concat(),
        // A URL there is signed itself, and is not overwritten.
        [&["seal", REPORT][..], &arguments, &["--place", "reference"]].concat(),
        vec!["seal", delivery],
    ] {
        let output = portcullis(&wrong);
        assert_eq!(output.status.code(), Some(1), "{wrong:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
    assert_eq!(
        portcullis(&["seal", REPORT, "--place", "header"]).status.code(),
        Some(2)
    );
    assert_eq!(
        portcullis(&["seal", REPORT, "--key", "no-such-file"]).status.code(),
        Some(3)
    );
    assert_eq!(portcullis(&["seal", "no-such-file"]).status.code(), Some(3));
    assert_eq!(with_input(&["seal", "-"], b"{}").status.code(), Some(1));
}

#[test]
fn a_key_is_written_once_for_its_owner_alone() {
    let directory = tempfile::tempdir().unwrap();
    for alg in ["Ed25519", "ES256", "ES384", "PS256", "rs256"] {
        let path = directory.path().join(alg);
        let path_text = path.to_str().unwrap();
        let public = json_of(&["keys", "new", "--alg", alg, "--out", path_text]);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let written = fs::read_to_string(&path).unwrap();
        assert!(written.contains("\"d\"") && public.get("d").is_none());
        let again = portcullis(&["keys", "new", "--alg", alg, "--out", path_text]);
        assert_eq!(again.status.code(), Some(3));
        assert_eq!(fs::read_to_string(&path).unwrap(), written);
        let set = json_of(&["keys", "public", path_text]);
        assert_eq!(set, json!({"keys": [public]}));
    }
    let (one, other) = (directory.path().join("Ed25519"), directory.path().join("ES256"));
    let (one, other) = (one.to_str().unwrap(), other.to_str().unwrap());
    assert_eq!(
        json_of(&["keys", "public", one, other])["keys"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(portcullis(&["keys", "public", one, one]).status.code(), Some(1));
    fs::set_permissions(one, fs::Permissions::from_mode(0o644)).unwrap();
    let exposed = portcullis(&["keys", "public", one]);
    assert_eq!(exposed.status.code(), Some(3));
    assert!(
        stderr(&exposed).contains("may be opened by anybody"),
        "{}",
        stderr(&exposed)
    );
    let nowhere = directory.path().join("new");
    let nowhere = nowhere.to_str().unwrap();
    let bad = [
        "keys",
        "new",
        "--alg",
        "Ed25519",
        "--kid",
        "not an id",
        "--out",
        nowhere,
    ];
    assert_eq!(portcullis(&bad).status.code(), Some(2));
    assert!(!Path::new(nowhere).exists());
    assert_eq!(
        portcullis(&["keys", "new", "--alg", "HS256", "--out", nowhere])
            .status
            .code(),
        Some(2)
    );
    assert_eq!(portcullis(&["keys", "public"]).status.code(), Some(2));
}

#[test]
fn canonical_bytes_are_what_is_hashed() {
    let sealed = json_of(&["seal", REPORT]);
    let canonical = fine(&["canonicalize", REPORT]);
    assert!(!canonical.ends_with('\n'));
    assert_eq!(sha256_hex(canonical.as_bytes()), sealed["digest"].as_str().unwrap());
    let object = json_of(&["canonicalize", REPORT]);
    assert_eq!(object, json!({"canonical": canonical, "digest": sealed["digest"]}));
    // Without a file it reads standard input.
    let piped = with_input(&["canonicalize"], fine(&["convert", "keyless", REPORT]).as_bytes());
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), canonical);
    let jcs = with_input(&["canonicalize", "--jcs"], b"{\"b\": null, \"a\": 1.50}");
    assert_eq!(jcs.stdout, br#"{"a":1.5,"b":null}"#);
    for (arguments, input) in [
        (&["canonicalize"][..], &b"{}"[..]),
        (&["canonicalize", "--jcs"], b"{\"a\":1,\"a\":2}"),
    ] {
        let output = with_input(arguments, input);
        assert_eq!(output.status.code(), Some(1));
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
    assert_eq!(portcullis(&["canonicalize", "no-such-file"]).status.code(), Some(3));
}
