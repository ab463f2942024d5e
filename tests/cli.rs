//! The command line as a person or a script meets it: exit codes, streams, shapes.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test that fails is a test"
)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

const REPORT: &str = "examples/final-report.keyed.json";
const MEMBERS: [&str; 7] = ["verdict", "code", "rule", "pointer", "status", "message_id", "digest"];

fn portcullis(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
    command
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null());
    command
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

fn exit(output: &Output) -> i32 {
    output.status.code().unwrap()
}

/// The one object a judged message leaves.
fn object(output: &Output) -> Value {
    let lines: Vec<&str> = stdout(output).lines().collect();
    assert_eq!(lines.len(), 1, "{}", stdout(output));
    serde_json::from_str(lines[0]).unwrap()
}

fn report() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(REPORT);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Writes a file of its own into a directory of its own.
fn file(directory: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = directory.path().join(name);
    fs::write(&path, text).unwrap();
    path
}

fn edited(edit: impl FnOnce(&mut Value)) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let mut message = report();
    edit(&mut message);
    let path = file(&directory, "message.json", &message.to_string());
    let path = path.to_str().unwrap().to_owned();
    (directory, path)
}

#[test]
fn the_published_report_is_valid_as_printed() {
    let output = portcullis(&["validate", "--output", "json", REPORT]);
    assert_eq!(exit(&output), 0, "{}{}", stdout(&output), stderr(&output));
    let object = object(&output);
    assert_eq!(object["verdict"], "allow");
    for absent in ["code", "rule", "pointer", "status"] {
        assert_eq!(object[absent], Value::Null, "{absent}");
    }
    assert_eq!(object["message_id"], "msg_uaix_agent_final_0007");
    assert_eq!(object["digest"].as_str().unwrap().len(), 64);
    assert_eq!(object.as_object().unwrap().len(), MEMBERS.len());
    assert!(stderr(&output).contains("the checksum is a placeholder; accepted because integrity is `declared`"));
}

#[test]
fn the_members_stand_in_their_order() {
    let output = portcullis(&["--output", "json", "validate", REPORT]);
    let line = stdout(&output);
    let places: Vec<usize> = MEMBERS
        .iter()
        .map(|name| line.find(&format!("\"{name}\":")).unwrap())
        .collect();
    assert!(places.is_sorted(), "{line}");
}

#[test]
fn a_renamed_member_is_named_by_its_pointer() {
    let (_directory, path) = edited(|message| {
        let body = message["body"].as_object_mut().unwrap();
        let summary = body.remove("summary").unwrap();
        body.insert("sumary".to_owned(), summary);
    });
    let output = portcullis(&["validate", "--output", "json", &path]);
    assert_eq!(exit(&output), 1, "{}", stderr(&output));
    let object = object(&output);
    assert_eq!(object["verdict"], "rejected");
    assert_eq!(object["code"], "ERR_SCHEMA_VIOLATION");
    assert_eq!(object["status"], 422);
    let pair = (object["rule"].as_str().unwrap(), object["pointer"].as_str().unwrap());
    assert!(
        [
            ("schema.required", "/body/summary"),
            ("schema.undeclared", "/body/sumary")
        ]
        .contains(&pair),
        "{pair:?}"
    );
    let text = portcullis(&["validate", &path]);
    assert_eq!(exit(&text), 1);
    for pointer in ["/body/summary", "/body/sumary"] {
        assert!(stdout(&text).contains(pointer), "{}", stdout(&text));
    }
}

#[test]
fn each_message_leaves_one_line_and_the_worst_decides() {
    let (_directory, bad) = edited(|message| message["uai_version"] = json!("9"));
    let output = portcullis(&["validate", "--output", "json", REPORT, &bad]);
    assert_eq!(exit(&output), 1);
    let verdicts: Vec<Value> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(verdicts.len(), 2);
    assert_eq!(verdicts[0]["verdict"], "allow");
    assert_eq!(verdicts[1]["rule"], "envelope.version");
    assert_eq!(verdicts[1]["pointer"], "/uai_version");
    assert_eq!(verdicts[1]["digest"], Value::Null);

    let output = portcullis(&["validate", REPORT, "no-such-message.json", &bad]);
    assert_eq!(exit(&output), 3);
    assert!(stderr(&output).contains("no-such-message.json"));
    assert!(
        stdout(&output).contains("envelope.version"),
        "the others are judged all the same"
    );
}

#[test]
fn a_dash_is_standard_input() {
    let mut child = command(&["validate", "--output", "json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(br#"{"a":1,"\u0061":2}"#).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(exit(&output), 1);
    assert_eq!(object(&output)["rule"], "json.duplicate-key");
}

#[test]
fn with_a_policy_the_target_counts_and_a_hold_is_a_note() {
    let policy = "policies/fixture.yaml";
    let sealed = |message: &mut Value| {
        message.as_object_mut().unwrap()["integrity"]
            .as_object_mut()
            .unwrap()
            .remove("checksum");
        let (_directory, path) = edited(|fresh| *fresh = message.clone());
        let digest = object(&portcullis(&["validate", "--output", "json", &path]))["digest"].clone();
        message["integrity"]["checksum"] = json!(format!("sha256:{}", digest.as_str().unwrap()));
    };

    let (_directory, path) = edited(sealed);
    let output = portcullis(&["validate", "--policy", policy, &path]);
    assert_eq!(exit(&output), 0, "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("would be held"), "{}", stdout(&output));

    let (_directory, path) = edited(|message| message["target"]["id"] = json!("agt_somebody.else"));
    let output = portcullis(&[
        "validate", "--output", "json", "--policy", policy, "--route", "declared", &path,
    ]);
    assert_eq!(exit(&output), 1);
    assert_eq!(object(&output)["rule"], "addressing.not-here");
    assert_eq!(
        exit(&portcullis(&["validate", &path])),
        0,
        "without a policy any target will do"
    );
}

#[test]
fn freshness_is_judged_at_a_time_only() {
    let late = portcullis(&["validate", "--output", "json", "--at", "2031-01-01T00:00:00Z", REPORT]);
    assert_eq!(exit(&late), 1);
    assert_eq!(object(&late)["rule"], "freshness.expired");
    assert_eq!(object(&late)["status"], 410);
    let then = portcullis(&["validate", "--at", "2026-05-31T18:00:10Z", REPORT]);
    assert_eq!(exit(&then), 0, "{}", stdout(&then));
}

#[test]
fn explain_tells_every_rule() {
    let rows = portcullis::contract::Rule::ALL;
    let output = portcullis(&["explain", REPORT]);
    assert_eq!(exit(&output), 0, "{}", stdout(&output));
    let text = stdout(&output);
    assert!(text.starts_with("verdict: allow\n"), "{text}");
    let line = |id: &str| {
        let found = text.lines().find(|line| line.split_whitespace().nth(1) == Some(id));
        found.unwrap_or_else(|| panic!("no line for {id}"))
    };
    for rule in rows {
        line(rule.id());
    }
    for (rule, outcome) in [
        ("json.duplicate-key", "passed"),
        ("schema.undeclared", "passed"),
        ("report.evidence", "passed"),
        ("addressing.not-here", "not run"),
        ("freshness.expired", "not run"),
        ("backend.unreachable", "not run"),
        ("lease.held", "not built"),
    ] {
        assert!(line(rule).ends_with(outcome), "{}", line(rule));
    }

    // In brief: what ran, in the same order.
    let brief = portcullis(&["explain", "--brief", REPORT]);
    let brief = stdout(&brief);
    let ran = |text: &str| -> Vec<String> {
        let passed = text.lines().filter(|line| line.ends_with("passed"));
        passed.map(str::to_owned).collect()
    };
    assert_eq!(ran(brief), ran(text));
    let left_out = rows.len() - ran(text).len();
    let note = format!("{left_out} rules not run or not built");
    assert!(brief.contains(&note), "{brief}");
    assert!(!brief.contains("lease.held"), "{brief}");

    let output = portcullis(&["explain", "--output", "json", "--at", "2031-01-01T00:00:00Z", REPORT]);
    assert_eq!(exit(&output), 1);
    let object = object(&output);
    for member in MEMBERS {
        assert!(object.get(member).is_some(), "{member}");
    }
    let told = object["rules"].as_array().unwrap();
    assert_eq!(told.len(), rows.len());
    let expired = told.iter().find(|row| row["rule"] == "freshness.expired").unwrap();
    assert_eq!(expired["outcome"], "refused");
    assert_eq!(expired["findings"][0]["pointer"], "/delivery/expires_at");
}

#[test]
fn explain_of_what_cannot_be_read_stops_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, "broken.json", "{\"uai_version\": tru}");
    let output = portcullis(&["explain", path.to_str().unwrap()]);
    assert_eq!(exit(&output), 1);
    let text = stdout(&output);
    assert!(text.contains("json.syntax") && text.contains("refused"), "{text}");
    assert!(!text.contains("passed"), "{text}");
}

#[test]
fn check_lists_every_mistake() {
    let directory = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/strict.yaml")).unwrap();
    let text = text
        .replace("integrity: required", "integrity: requird")
        .replace("method: POST", "metod: POST")
        .replace("url: http://127.0.0.1:9000", "url: https://127.0.0.1:9000/path");
    let path = file(&directory, "gate.yaml", &text);
    let path = path.to_str().unwrap();

    let output = portcullis(&["check", path]);
    assert_eq!(exit(&output), 3);
    for word in ["metod", "integrity", "url"] {
        assert!(stderr(&output).contains(word), "{word} in {}", stderr(&output));
    }
    assert!(stderr(&output).contains("did you mean `method`"), "{}", stderr(&output));

    let output = portcullis(&["check", "--policy", path, "--output", "json"]);
    assert_eq!(exit(&output), 3);
    let mistakes: Value = serde_json::from_str(stdout(&output)).unwrap();
    let pointers: Vec<&str> = mistakes["mistakes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mistake| mistake["pointer"].as_str().unwrap())
        .collect();
    for expected in ["/backend/url", "/routes/0/metod", "/routes/0/integrity"] {
        assert!(pointers.contains(&expected), "{expected} in {pointers:?}");
    }

    for arguments in [
        ["validate", "--policy", path, REPORT],
        ["explain", "--policy", path, REPORT],
        ["run", "--policy", path, "--listen=127.0.0.1:0"],
    ] {
        let output = portcullis(&arguments);
        assert_eq!(exit(&output), 3, "{arguments:?}");
        assert!(stderr(&output).contains("metod"), "{arguments:?}");
    }
    assert_eq!(exit(&portcullis(&["check", "no-such-policy.yaml"])), 3);
}

#[test]
fn check_prints_what_a_policy_means() {
    for policy in ["strict", "legacy-api", "read-only", "multi-agent", "fixture"] {
        let path = format!("policies/{policy}.yaml");
        let output = portcullis(&["check", &path]);
        assert_eq!(exit(&output), 0, "{path}: {}", stderr(&output));
        let object: Value = serde_json::from_str(stdout(&portcullis(&["check", &path, "--output", "json"]))).unwrap();
        let revision = object["revision"].as_str().unwrap();
        assert_eq!(revision.len(), 64);
        assert!(stdout(&output).contains(revision));
        for route in object["routes"].as_array().unwrap() {
            assert!(stdout(&output).contains(route["name"].as_str().unwrap()));
        }
    }
}

#[test]
fn check_shows_everything_that_a_policy_sets() {
    let directory = tempfile::tempdir().unwrap();
    file(&directory, "gate.crt", "x");
    file(&directory, "gate.key", "x");
    let text = "
agent: {ids: [a.b]}
backend: {url: 'http://127.0.0.1:9000'}
tls: {certificate: gate.crt, key: gate.key}
public_origins: ['https://results.example']
vocabulary: {priority: [whenever], channel: [pigeon]}
hold: [uai.agent.ack.v1]
limits: {body: 96KiB, answer: 1000000}
routes:
  - name: inbox
    path: /v1/messages
    method: POST
    takes: messages
    profiles: [uai.agent.message.v1]
    modes: [async]
    relax_base: true
    level: L2
    error_bodies: pass
    human_review_url: https://people.example/review
    result_url: https://results.example/all
    result_url_field: /result/url
";
    let path = file(&directory, "gate.yaml", text);
    let path = path.to_str().unwrap();
    let output = portcullis(&["check", path]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    for words in [
        "/gate.crt, key ",
        "origins   https://results.example",
        "words     priority: whenever, beside",
        "words     channel: pigeon, beside",
        "hold      uai.agent.ack.v1, beside the profiles of §10",
        "relax_base       true",
        "error_bodies     pass",
        "human_review_url https://people.example/review",
        "result_url       https://results.example/all",
        "result_url_field /result/url",
        "96KiB",
        "1000000B",
    ] {
        assert!(stdout(&output).contains(words), "{words} in {}", stdout(&output));
    }
    let object = object(&portcullis(&["check", path, "--output", "json"]));
    assert!(object["tls"]["certificate"].as_str().unwrap().ends_with("/gate.crt"));
    assert!(object["tls"]["key"].as_str().unwrap().ends_with("/gate.key"));
    assert_eq!(object["public_origins"], json!(["https://results.example"]));
    assert_eq!(
        object["vocabulary"],
        json!({"channel": ["pigeon"], "priority": ["whenever"]})
    );
    let route = &object["routes"][0];
    assert_eq!(route["relax_base"], true);
    assert_eq!(route["human_review_url"], "https://people.example/review");
    assert_eq!(route["result_url"], "https://results.example/all");
    assert_eq!(route["result_url_field"], "/result/url");
    let limits = object["limits"].as_array().unwrap();
    assert!(
        limits.contains(&json!({"key": "limits.body", "value": "98304"})),
        "{limits:?}"
    );
}

#[test]
fn a_refused_override_is_told_once() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("own")).unwrap();
    file(&directory, "own/uai.agent.ack.v1.json", "{");
    let text = "
agent: {ids: [a.b]}
backend: {url: 'http://127.0.0.1:9000'}
schemas: {dir: own, override: [uai.agent.ack.v1]}
routes:
  - {name: look, path: /look, method: GET, takes: read}
";
    let path = file(&directory, "gate.yaml", text);
    let output = portcullis(&["check", path.to_str().unwrap(), "--output", "json"]);
    assert_eq!(exit(&output), 3);
    let object = object(&output);
    let mistakes = object["mistakes"].as_array().unwrap();
    assert_eq!(mistakes.len(), 1, "{mistakes:?}");
    assert_eq!(mistakes[0]["pointer"], "/schemas/dir");
}

#[test]
fn a_reload_that_lets_a_route_observe_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let text = "
agent: {ids: [a.b]}
backend: {url: 'http://127.0.0.1:9000'}
listen: 127.0.0.1:0
admin: 127.0.0.1:0
state: {engine: memory}
routes:
  - {name: look, path: /look, method: GET, takes: read}
";
    let path = file(&directory, "gate.yaml", text);
    let mut child = command(&["run", "--policy", path.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap())
        .lines()
        .map_while(Result::ok);
    assert!(said.by_ref().any(|line| line.contains("gate on ")));
    let observing = text.replace("takes: read", "takes: read, mode: observe");
    let beside = file(&directory, "new.yaml", &observing);
    fs::rename(beside, &path).unwrap();
    assert!(
        said.by_ref()
            .any(|line| line.contains("warning: route `look`: `mode: observe`"))
    );
    let kill = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let records: Vec<Value> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told: Vec<(&Value, &Value)> = records.iter().map(|one| (&one["cause"], &one["observe"])).collect();
    assert_eq!(
        told,
        [(&json!("start"), &json!([])), (&json!("reload"), &json!(["look"]))]
    );
    assert!(
        records
            .iter()
            .all(|one| one["kind"] == "policy" && one["taken"] == true)
    );
}

#[test]
fn run_refuses_what_it_cannot_listen_on() {
    let output = portcullis(&["run", "--policy", "policies/strict.yaml", "--listen", "nowhere"]);
    assert_eq!(exit(&output), 3, "{}", stderr(&output));
    assert!(stderr(&output).contains("listen"), "{}", stderr(&output));
}

#[test]
fn run_does_not_start_without_its_store() {
    let directory = tempfile::tempdir().unwrap();
    file(&directory, "taken", "no directory");
    let text = "
agent: {ids: [a.b]}
backend: {url: 'http://127.0.0.1:9000'}
listen: 127.0.0.1:0
admin: 127.0.0.1:0
state: {engine: embedded, path: taken}
routes:
  - {name: look, path: /look, method: GET, takes: read}
";
    let path = file(&directory, "gate.yaml", text);
    let output = portcullis(&["run", "--policy", path.to_str().unwrap()]);
    assert_eq!(exit(&output), 3);
    let said = stderr(&output);
    assert!(said.contains("error: ") && !said.contains("gate on"), "{said}");
}

#[test]
fn run_serves_until_it_is_told_to_end() {
    let directory = tempfile::tempdir().unwrap();
    let strict = std::fs::read_to_string("policies/strict.yaml").unwrap();
    // A memory store, whose restart fence passes at once.
    let text = format!("{strict}\nstate: {{engine: memory}}\nfreshness: {{skew: 1ms}}\n");
    let policy = file(&directory, "strict.yaml", &text);
    let arguments = [
        "run",
        "--policy",
        policy.to_str().unwrap(),
        "--listen",
        "127.0.0.1:0",
        "--admin",
        "127.0.0.1:0",
    ];
    let mut child = command(&arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = said
        .by_ref()
        .map_while(Result::ok)
        .find(|line| line.contains("gate on "))
        .unwrap_or_else(|| panic!("it never said where it listens"));
    let (_, addresses) = line.split_once("gate on ").unwrap();
    let (gate, admin) = addresses.split_once(", admin on ").unwrap();
    let ask = |address: &str, path: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    while !ask(admin, "/readyz").starts_with("HTTP/1.1 200") {}
    assert!(ask(gate, "/nowhere").contains("route.undeclared"));

    let kill = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(exit(&output), 0);
    let record: Value = serde_json::from_str(stdout(&output).lines().nth(1).unwrap()).unwrap();
    assert_eq!(
        record["rule"], "route.undeclared",
        "records are what standard output is for"
    );
}

#[test]
fn a_message_is_converted_both_ways() {
    let keyless = portcullis(&["convert", "keyless", REPORT]);
    assert_eq!(exit(&keyless), 0, "{}", stderr(&keyless));
    let array: Value = serde_json::from_str(stdout(&keyless)).unwrap();
    assert_eq!(array[1], "uai.agent.final-report.v1");
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, "keyless.json", stdout(&keyless));
    let path = path.to_str().unwrap();
    let keyed = portcullis(&["convert", "keyed", path]);
    assert_eq!(serde_json::from_str::<Value>(stdout(&keyed)).unwrap(), report());
    assert_eq!(stdout(&portcullis(&["convert", "keyless", path])), stdout(&keyless));
    // An array is judged as keyless, with the digest of its keyed form.
    let digest = |message: &str| object(&portcullis(&["validate", "--output", "json", message]))["digest"].clone();
    assert_eq!(digest(path), digest(REPORT));

    let (_directory, undeclared) = edited(|message| message["trust"]["x"] = json!("secret-value"));
    let refused = portcullis(&["convert", "keyless", &undeclared]);
    assert_eq!(exit(&refused), 1);
    assert!(
        stderr(&refused).contains("schema.undeclared at \"/trust\""),
        "{}",
        stderr(&refused)
    );
    assert!(!stderr(&refused).contains("secret-value"));
    assert_eq!(exit(&portcullis(&["convert", "keyed", "no-such-file.json"])), 3);
    assert_eq!(exit(&portcullis(&["convert", "sideways", REPORT])), 2);
}

#[test]
fn the_capability_document_is_that_of_a_policy() {
    let document = object(&portcullis(&[
        "schema",
        "capability",
        "--policy",
        "policies/fixture.yaml",
        "--output",
        "json",
    ]));
    assert_eq!(
        document["supported_modes"],
        json!(["async", "async_durable", "sync_rpc"])
    );
    let check = portcullis(&["check", "policies/fixture.yaml", "--output", "json"]);
    assert_eq!(object(&check)["capability_revision"], document["revision"]);
    assert_eq!(exit(&portcullis(&["schema", "capability"])), 2);
}

#[test]
fn schemas_are_printed() {
    for name in ["policy", "envelope", "uai.agent.final-report.v1"] {
        let output = portcullis(&["schema", name]);
        assert_eq!(exit(&output), 0, "{name}: {}", stderr(&output));
        let schema: Value = serde_json::from_str(stdout(&output)).unwrap();
        assert!(schema.get("$schema").is_some(), "{name}");
        let line = portcullis(&["schema", name, "--output", "json"]);
        assert_eq!(serde_json::from_str::<Value>(stdout(&line)).unwrap(), schema);
        assert_eq!(stdout(&line).lines().count(), 1);
    }
    let output = portcullis(&["schema", "uai.agent.final-raport.v1"]);
    assert_eq!(exit(&output), 2);
    assert!(
        stderr(&output).contains("uai.agent.final-report.v1"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn wrong_usage_is_exit_code_2() {
    for arguments in [
        &["fly"][..],
        &[],
        &["validate"],
        &["check"],
        &["check", "a.yaml", "--policy", "b.yaml"],
        &["run"],
        &["validate", "--at", "yesterday", REPORT],
        &["validate", "--route", "open", REPORT],
        &[
            "validate",
            "--policy",
            "policies/fixture.yaml",
            "--route",
            "opne",
            REPORT,
        ],
        &["completions", "cmd"],
    ] {
        assert_eq!(exit(&portcullis(arguments)), 2, "{arguments:?}");
    }
    assert_eq!(exit(&portcullis(&["--help"])), 0);
    assert_eq!(exit(&portcullis(&["--version"])), 0);
}

#[test]
fn nothing_is_coloured_away_from_a_terminal() {
    for arguments in [
        &["explain", REPORT][..],
        &["check", "policies/strict.yaml"],
        &["validate", REPORT],
    ] {
        for no_color in [None, Some("1")] {
            let mut command = command(arguments);
            command.env_remove("NO_COLOR");
            command.envs(no_color.map(|value| ("NO_COLOR", value)));
            let output = command.output().unwrap();
            assert!(
                !output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b),
                "{arguments:?}"
            );
        }
    }
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = portcullis(&["completions", shell]);
        assert_eq!(exit(&output), 0);
        for word in ["validate", "explain", "completions"] {
            assert!(stdout(&output).contains(word), "{shell}: {word}");
        }
    }
}
