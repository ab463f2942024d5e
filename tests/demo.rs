//! `portcullis demo` shows what the README promises, and ends by itself.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails is a test")]

use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Status, code and rule of every refusal that the tour has to show.
const REFUSALS: [(u16, &str, &str); 14] = [
    (422, "ERR_SCHEMA_VIOLATION", "schema.undeclared"),
    (400, "ERR_SCHEMA_VIOLATION", "json.duplicate-key"),
    (410, "ERR_MESSAGE_EXPIRED", "freshness.expired"),
    (422, "ERR_SCHEMA_VIOLATION", "report.evidence"),
    (422, "ERR_SCHEMA_VIOLATION", "profile.unknown"),
    (422, "ERR_ADDRESSING_VIOLATION", "addressing.not-here"),
    (404, "ERR_ROUTE_UNDECLARED", "route.undeclared"),
    (413, "ERR_SCHEMA_VIOLATION", "json.size"),
    (422, "ERR_JCS_INVALID", "integrity.mismatch"),
    (403, "ERR_HUMAN_REVIEW_REQUIRED", "hold.required"),
    (401, "ERR_JCS_INVALID", "signature.absent"),
    (401, "ERR_JCS_INVALID", "signature.wrong"),
    (401, "ERR_JCS_INVALID", "signature.key-unknown"),
    (409, "ERR_REPLAY_DETECTED", "replay.seen"),
];

fn demo(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_portcullis"))
        .arg("demo")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn the_tour_goes_as_it_says() {
    let output = demo(&[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(text.lines().last(), Some("backend saw 2 messages"), "{text}");
    let allowed: Vec<&str> = text.lines().filter(|line| line.contains(" allow ")).collect();
    assert!(
        matches!(allowed.as_slice(), [first, second]
            if first.contains("published final report") && second.contains("delivery envelope, signed")),
        "{text}"
    );
    for (status, code, rule) in REFUSALS {
        let told = text.lines().any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            [&status.to_string(), code, rule]
                .iter()
                .all(|word| words.contains(word))
        });
        assert!(told, "{status} {code} {rule} in\n{text}");
    }
}

#[test]
fn each_stop_is_one_object_for_a_machine() {
    let output = demo(&["--output", "json"]);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let stops: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told: Vec<(u64, &str, &str)> = stops
        .iter()
        .filter(|stop| stop["verdict"] != "allow")
        .map(|stop| {
            (
                stop["status"].as_u64().unwrap(),
                stop["code"].as_str().unwrap(),
                stop["rule"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        REFUSALS.map(|(status, code, rule)| (u64::from(status), code, rule))
    );
    assert_eq!(stops.len(), REFUSALS.len() + 2);
    assert!(
        stops.iter().all(|stop| stop.as_object().unwrap().len() == 7),
        "seven members each"
    );
    assert!(String::from_utf8_lossy(&output.stderr).contains("backend saw 2 messages"));
}
