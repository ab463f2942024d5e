//! Policies with mistakes: every mistake is listed at once, with its place, and each semantic check has both its sides.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that fails is a test"
)]

use std::fs;
use std::path::Path;

use portcullis::config::{self, Config, Mistakes, Overrides};
use proptest::prelude::*;

/// A policy that every test changes in one place.
const GOOD: &str = "\
agent:
  ids: [a.b]
backend:
  url: http://127.0.0.1:9000
routes:
  - name: inbox
    path: /v1/messages
    method: POST
    takes: messages
    profiles: [uai.agent.message.v1]
    modes: [async]
    integrity: required
  - name: write
    path: /v1/write
    method: POST
    takes: legacy
    content_type: [application/json]
  - name: look
    path: /v1/look
    method: GET
    takes: read
";

fn judge(text: &str) -> Result<Config, Mistakes> {
    config::from_text("policy.yaml", text)
}

fn mistakes(text: &str) -> Vec<(String, String)> {
    match judge(text) {
        Ok(_) => Vec::new(),
        Err(mistakes) => mistakes
            .mistakes
            .into_iter()
            .map(|one| (one.pointer, one.message))
            .collect(),
    }
}

/// `GOOD` with a line added at the end of a block: the root, or the route of that name.
fn with(place: &str, line: &str) -> String {
    let anchor = match place {
        "inbox" => "    integrity: required\n",
        "write" => "    content_type: [application/json]\n",
        "look" => "    takes: read\n",
        _ => return format!("{GOOD}{line}\n"),
    };
    GOOD.replacen(anchor, &format!("{anchor}    {line}\n"), 1)
}

/// `GOOD` with one thing replaced by another.
fn instead(old: &str, new: &str) -> String {
    assert!(GOOD.contains(old), "{old}");
    GOOD.replacen(old, new, 1)
}

#[test]
fn the_good_policy_is_good() {
    assert_eq!(mistakes(GOOD), []);
    assert_eq!(judge(GOOD).unwrap().warnings, []);
}

#[test]
fn three_planted_mistakes_are_listed_at_once_with_their_places() {
    let text = "\
agent:
  ids: [a.b]
  lable: x
backend:
  url: http://127.0.0.1:9000
routes:
  - name: inbox
    path: /v1/messages
    method: POST
    takes: mesages
  - name: look
    path: /v1/look
    method: POST
    takes: read
";
    let found = judge(text).unwrap_err();
    let list: Vec<_> = found
        .mistakes
        .iter()
        .map(|one| (one.line, one.column, one.pointer.as_str(), one.suggestion.as_deref()))
        .collect();
    assert_eq!(
        list,
        [
            (3, 3, "/agent/lable", Some("label")),
            (10, 12, "/routes/0/takes", Some("messages")),
            (13, 13, "/routes/1/method", None),
        ]
    );
    let shown = found.render(false);
    for part in [
        "lable: x",
        "takes: mesages",
        "did you mean `label`?",
        "policy.yaml:13:13",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn every_mistake_of_shape_is_found() {
    let table = [
        (with("root", "routs: []"), "/routs", "unknown key `routs`"),
        (with("root", "listen:"), "/listen", "expected text"),
        (with("root", "limits: {body: yes}"), "/limits/body", "a size in bytes"),
        (with("root", "limits: {body: 0}"), "/limits/body", "a size in bytes"),
        (with("root", "limits: {body: 0KiB}"), "/limits/body", "a size in bytes"),
        (with("root", "limits: {body: 2GiB}"), "/limits/body", "at most 1 GiB"),
        (
            with("root", "limits: {in_flight: 0}"),
            "/limits/in_flight",
            "at least 1",
        ),
        (
            with("root", "limits: {in_flight: 1.5}"),
            "/limits/in_flight",
            "a whole number",
        ),
        (with("root", "json: {depth: 129}"), "/json/depth", "at most 128"),
        (with("root", "deadlines: {head: 0s}"), "/deadlines/head", "a duration"),
        (with("root", "deadlines: {head: 5}"), "/deadlines/head", "a duration"),
        (with("root", "deadlines: {head: 25h}"), "/deadlines/head", "at most 24h"),
        (with("root", "freshness: {skew: 2h}"), "/freshness/skew", "at most 1h"),
        (with("root", "state: {engine: sqlite}"), "/state/engine", "`memory`"),
        (with("root", "state: {timeout: 31s}"), "/state/timeout", "at most"),
        (
            with("root", "state: {engine: redis, wait: 17, url: \"redis://h\"}"),
            "/state/wait",
            "at most 16",
        ),
        (with("root", "replay: {max: 0}"), "/replay/max", "at least 1"),
        (
            with("root", "idempotency: {retention: 9000h}"),
            "/idempotency/retention",
            "at most",
        ),
        (with("root", "ledger: maybe"), "/ledger", "`required`, `best_effort`"),
        (with("root", "hold: uai.agent.ack.v1"), "/hold", "a list"),
        (
            with("root", "headers: {remove: [x_y]}"),
            "/headers/remove/0",
            "without `_`",
        ),
        (
            with("inbox", "relax_base: no"),
            "/routes/0/relax_base",
            "`true` or `false`",
        ),
        (with("inbox", "level: L4"), "/routes/0/level", "`L3`"),
        (
            with("inbox", "operations: []"),
            "/routes/0/operations",
            "at least 1 element",
        ),
        (
            with("root", "review_actions: {execution: [a b]}"),
            "/review_actions/execution/0",
            "an id of 1 to 128",
        ),
        (
            with("root", "review_actions: {executions: [a]}"),
            "/review_actions/executions",
            "unknown key",
        ),
        (with("inbox", "colour: red"), "/routes/0/colour", "unknown key"),
        (
            with("inbox", "headers: {forward: some}"),
            "/routes/0/headers/forward",
            "`all`, or a list",
        ),
        (instead("ids: [a.b]", "ids: []"), "/agent/ids", "at least 1 element"),
        (
            instead("ids: [a.b]", "ids: [\"\"]"),
            "/agent/ids/0",
            "an id of 1 to 128",
        ),
        (instead("ids: [a.b]", "ids: [-a]"), "/agent/ids/0", "an id of 1 to 128"),
        (instead("  ids: [a.b]\n", "  label: x\n"), "/agent", "the key `ids`"),
        (instead("agent:\n  ids: [a.b]\n", ""), "", "the key `agent`"),
        (
            instead("name: inbox", "name: In box"),
            "/routes/0/name",
            "a name of 1 to 64",
        ),
        (
            instead("method: POST", "method: FETCH"),
            "/routes/0/method",
            "a method or a list of methods",
        ),
        (
            instead("method: POST", "method: []"),
            "/routes/0/method",
            "a method or a list",
        ),
        (instead("    method: POST\n", ""), "/routes/0", "the key `method`"),
        (
            instead("profiles: [uai.agent.message.v1]", "profiles: [1]"),
            "/routes/0/profiles/0",
            "an id of 1 to 128",
        ),
        (instead("modes: [async]", "modes: 1"), "/routes/0/modes", "a list"),
        (
            with("inbox", "level: L1\n    result_url: 1"),
            "/routes/0/result_url",
            "text",
        ),
        (with("root", "hold: !x [uai.agent.ack.v1]"), "", "tags are not taken"),
        (with("root", "hold: [uai.agent.ack.v1]\nhold: []"), "", "a second time"),
    ];
    for (text, pointer, words) in table {
        let found = mistakes(&text);
        assert_eq!(found.len(), 1, "{words}: {found:?}");
        assert!(
            found[0].0 == pointer && found[0].1.contains(words),
            "{words}: {found:?}"
        );
    }
}

#[test]
fn an_unknown_key_speaks_for_the_missing_one_it_was_meant_to_be() {
    let table = [
        (
            instead("    takes: read\n", "    take: read\n"),
            "/routes/2/take",
            "takes",
        ),
        (instead("agent:\n", "agents:\n"), "/agents", "agent"),
        (
            instead("    modes: [async]\n", "    mods: [async]\n"),
            "/routes/0/mods",
            "modes",
        ),
        // As near to `mode` as to `modes`; the missing one was meant.
        (
            instead("    modes: [async]\n", "    moden: [async]\n"),
            "/routes/0/moden",
            "modes",
        ),
        (
            instead("    profiles: [", "    profile: ["),
            "/routes/0/profile",
            "profiles",
        ),
        (
            instead("    content_type: [", "    content_types: ["),
            "/routes/1/content_types",
            "content_type",
        ),
    ];
    for (text, pointer, meant) in table {
        let found = judge(&text).unwrap_err().mistakes;
        assert_eq!(found.len(), 1, "{pointer}: {found:?}");
        assert_eq!(
            (found[0].pointer.as_str(), found[0].suggestion.as_deref()),
            (pointer, Some(meant))
        );
    }
    // A key that is nothing near the missing one hides nothing.
    let found = mistakes(&instead("    modes: [async]\n", "    whatever: [async]\n"));
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn profiles_and_modes_are_looked_at_where_takes_is_mistyped() {
    let text = instead("takes: messages", "takes: mesages")
        .replace("uai.agent.message.v1", "uai.agent.mesage.v1")
        .replace("[async]", "[asink]");
    let pointers: Vec<String> = mistakes(&text).into_iter().map(|(pointer, _)| pointer).collect();
    assert_eq!(
        pointers,
        ["/routes/0/takes", "/routes/0/profiles/0", "/routes/0/modes/0"]
    );
}

#[test]
fn a_profile_that_is_like_none_is_told_which_there_are() {
    let found = judge(&instead("uai.agent.message.v1", "orders")).unwrap_err().mistakes;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].suggestion, None);
    let message = &found[0].message;
    assert!(message.contains("such as `uai.agent.ack.v1`, "), "{message}");
    assert!(message.ends_with(" more"), "{message}");
}

#[test]
fn every_semantic_mistake_is_found() {
    let table = [
        (
            instead("ids: [a.b]", "ids: [a.b, a.b]"),
            "/agent/ids/1",
            "each element once",
        ),
        (
            instead("http://127.0.0.1:9000", "https://127.0.0.1:9000"),
            "/backend/url",
            "an http origin",
        ),
        (
            instead("http://127.0.0.1:9000", "http://127.0.0.1:9000/x"),
            "/backend/url",
            "an http origin",
        ),
        (
            instead("http://127.0.0.1:9000", "http://u@127.0.0.1:9000"),
            "/backend/url",
            "an http origin",
        ),
        (
            instead("http://127.0.0.1:9000", "127.0.0.1:9000"),
            "/backend/url",
            "an http origin",
        ),
        (with("root", "listen: localhost:1"), "/listen", "an IP address and port"),
        (with("root", "admin: 127.0.0.1:8080"), "/admin", "another address"),
        (
            with("root", "public_url: https://a.example/"),
            "/public_url",
            "without trailing slash",
        ),
        (
            with("root", "public_url: ftp://a.example"),
            "/public_url",
            "a URL such as",
        ),
        (
            with("root", "public_hosts: [\"a.example/x\"]"),
            "/public_hosts/0",
            "`host` or `host:port`",
        ),
        (
            with("root", "public_hosts: [\"a.example:0\"]"),
            "/public_hosts/0",
            "`host` or `host:port`",
        ),
        (
            with("root", "public_hosts: [a.example, A.example]"),
            "/public_hosts/1",
            "each element once",
        ),
        (
            with("root", "public_origins: [http://a.example]"),
            "/public_origins/0",
            "an https origin",
        ),
        (
            with("root", "public_origins: [https://a.example/x]"),
            "/public_origins/0",
            "an https origin",
        ),
        (
            with("root", "hold: [uai.agent.mesage.v1]"),
            "/hold/0",
            "a profile that has a schema",
        ),
        (
            with("root", "headers: {remove: [UAI-Verdict]}"),
            "/headers/remove/0",
            "`UAI-*`",
        ),
        (
            with("root", "schemas: {override: [uai.agent.ack.v1]}"),
            "/schemas/override/0",
            "holds a file",
        ),
        (
            with("root", "tls: {certificate: a, key: b}"),
            "/tls/certificate",
            "can be read",
        ),
        (
            instead("name: write", "name: inbox"),
            "/routes/1/name",
            "no other route has",
        ),
        (
            instead("path: /v1/write", "path: /v1/{x}"),
            "/routes/1/path",
            "not overlap that of route `inbox`",
        ),
        (
            instead("path: /v1/write", "path: /v1//write"),
            "/routes/1/path",
            "segment",
        ),
        (
            instead("path: /v1/write", "path: /.well-known/uai/x"),
            "/routes/1/path",
            "the gateway's own",
        ),
        (
            instead("path: /v1/write", "path: \"/{a}/{b}/{c}\""),
            "/routes/1/path",
            "the gateway's own",
        ),
        (
            instead(
                "method: POST\n    takes: messages",
                "method: DELETE\n    takes: messages",
            ),
            "/routes/0/method",
            "POST, PUT or PATCH",
        ),
        (
            instead(
                "method: POST\n    takes: legacy",
                "method: [POST, GET]\n    takes: legacy",
            ),
            "/routes/1/method",
            "`takes: read`",
        ),
        (
            instead(
                "method: POST\n    takes: legacy",
                "method: [POST, POST]\n    takes: legacy",
            ),
            "/routes/1/method/1",
            "each element once",
        ),
        (
            instead("method: GET", "method: [GET, PUT]"),
            "/routes/2/method",
            "GET or HEAD",
        ),
        (
            instead("uai.agent.message.v1", "uai.agent.mesage.v1"),
            "/routes/0/profiles/0",
            "a profile that has a schema",
        ),
        (
            instead("modes: [async]", "modes: [asink]"),
            "/routes/0/modes/0",
            "the vocabulary's `mode`",
        ),
        (instead("    modes: [async]\n", ""), "/routes/0", "the key `modes`"),
        (
            with("inbox", "envelopes: [canonical, delivery]"),
            "/routes/0",
            "the key `payload`",
        ),
        (
            with("inbox", "envelopes: [canonical, canonical]"),
            "/routes/0/envelopes/1",
            "each element once",
        ),
        (
            with("inbox", "payload: any"),
            "/routes/0/payload",
            "only on a route that takes delivery envelopes",
        ),
        (
            with("inbox", "envelopes: [canonical, delivery]\n    payload: akc"),
            "/routes/0/payload",
            "the name of a schema in force",
        ),
        (
            with("inbox", "envelopes: [delivery]\n    payload: ack"),
            "/routes/0/profiles",
            "only on a route that takes canonical envelopes",
        ),
        (
            with("inbox", "envelopes: [delivery]\n    payload: ack"),
            "/routes/0/modes/0",
            "the vocabulary's `delivery_mode`",
        ),
        (
            with(
                "inbox",
                "envelopes: [delivery]\n    payload: ack\n    content_type: [application/uai-keyless+json]",
            ),
            "/routes/0/content_type",
            "only canonical envelopes have that form",
        ),
        (
            instead("    profiles: [uai.agent.message.v1]\n", ""),
            "/routes/0",
            "the key `profiles`",
        ),
        (
            with("write", "envelopes: [delivery]"),
            "/routes/1/envelopes",
            "only on a route with `takes: messages`",
        ),
        (
            with("inbox", "backend_view: keyed"),
            "/routes/0/backend_view",
            "lists application/uai-keyless+json",
        ),
        (
            with("root", "dispatch_route: nowhere"),
            "/dispatch_route",
            "the name of a route",
        ),
        (
            instead("path: /v1/write", "path: /v1/write/{id}") + "dispatch_route: write\n",
            "/dispatch_route",
            "no `{name}` segment",
        ),
        (
            instead("    profiles: [uai.agent.message.v1]\n", ""),
            "/routes/0",
            "the key `profiles`",
        ),
        (
            with("inbox", "content_type: [text/plain]"),
            "/routes/0/content_type/0",
            "application/uai+json",
        ),
        (
            with("inbox", "idempotency: none"),
            "/routes/0/idempotency",
            "`required`",
        ),
        (
            with("inbox", "level: L1"),
            "/routes/0/level",
            "`result_url` or `result_url_field`",
        ),
        (
            with("inbox", "result_url: http://a.example"),
            "/routes/0/result_url",
            "an absolute https URL",
        ),
        (
            with("inbox", "human_review_url: /review"),
            "/routes/0/human_review_url",
            "an absolute https URL",
        ),
        (
            with("inbox", "result_url_field: /url"),
            "/routes/0/result_url_field",
            "`public_origins`",
        ),
        (with("inbox", "body: 512KiB"), "/routes/0/body", "at most `limits.body`"),
        (with("inbox", "deadline: 25h"), "/routes/0/deadline", "at most 24h"),
        (
            with("inbox", "headers: {forward: [Cookie]}"),
            "/routes/0/headers/forward/0",
            "`credentials`",
        ),
        (
            with("inbox", "headers: {forward: [UAI-Principal]}"),
            "/routes/0/headers/forward/0",
            "`UAI-*`",
        ),
        (
            with("inbox", "headers: {forward: [x-forwarded-for]}"),
            "/routes/0/headers/forward/0",
            "never is",
        ),
        (
            with("inbox", "headers: {credentials: [accept]}"),
            "/routes/0/headers/credentials/0",
            "one of authorization",
        ),
        (
            with("write", "profiles: [uai.agent.ack.v1]"),
            "/routes/1/profiles",
            "only on a route",
        ),
        (
            with("write", "integrity: declared"),
            "/routes/1/integrity",
            "only on a route",
        ),
        (
            instead("    content_type: [application/json]\n", ""),
            "/routes/1",
            "the key `content_type`",
        ),
        (
            instead("[application/json]", "[\"application/json; q=1\"]"),
            "/routes/1/content_type/0",
            "a media type",
        ),
        (
            with("look", "content_type: [application/json]"),
            "/routes/2/content_type",
            "has no body",
        ),
        (
            with("look", "idempotency: required"),
            "/routes/2/idempotency",
            "no route with `takes: read`",
        ),
        (with("look", "body: 1KiB"), "/routes/2/body", "has no body"),
        (
            with("look", "level: L0"),
            "/routes/2/level",
            "whose answers are streamed",
        ),
    ];
    for (text, pointer, words) in table {
        let found = mistakes(&text);
        let there = found
            .iter()
            .any(|(at, message)| at == pointer && message.contains(words));
        assert!(there, "{pointer} {words}: {found:?}");
    }
}

#[test]
fn what_is_on_the_good_side_of_each_check_is_taken() {
    let good = [
        instead(
            "ids: [a.b]",
            "ids: [a.b, \"urn:uaix:agent:6f1c2f0e-0000-4000-8000-000000000001\"]",
        ),
        instead("http://127.0.0.1:9000", "http://backend.local/"),
        instead("http://127.0.0.1:9000", "http://[::1]:9000"),
        with("root", "listen: 0.0.0.0:9090"),
        with("root", "public_url: https://a.example/agent"),
        with("root", "public_hosts: [a.example, \"a.example:8443\", \"[::1]:80\"]"),
        with("root", "public_origins: [\"https://a.example:8443\"]"),
        with("root", "hold: [uai.agent.ack.v1]"),
        with("root", "ledger: best_effort"),
        with(
            "root",
            "limits: {body: 1MiB, header_count: 1}\njson: {depth: 128}\ndeadlines: {head: 1ms}",
        ),
        instead("path: /v1/write", "path: /v1/{x}").replace(
            "    method: POST\n    takes: legacy",
            "    method: PUT\n    takes: legacy",
        ),
        instead("path: /v1/write", "path: /.well-known/other"),
        with("inbox", "content_type: [application/json]"),
        with("inbox", "envelopes: [delivery, canonical]\n    payload: any"),
        with("inbox", "envelopes: [canonical, delivery]\n    payload: ack"),
        with(
            "inbox",
            "envelopes: [canonical, delivery]\n    payload: uai.agent.ack.v1",
        ),
        instead(
            "modes: [async]",
            "modes: [async, sync_rpc]\n    envelopes: [canonical, delivery]\n    payload: any",
        ),
        with(
            "inbox",
            "content_type: [application/uai-keyless+json]\n    backend_view: keyed",
        ),
        with("root", "dispatch_route: write"),
        with("inbox", "level: L1\n    result_url: https://a.example/result"),
        with(
            "inbox",
            "body: 256KiB\n    deadline: 10s\n    relax_base: true\n    error_bodies: pass",
        ),
        with(
            "inbox",
            "headers: {forward: [Accept, x-own], credentials: [Authorization, cookie]}",
        ),
        with("write", "idempotency: none\n    headers: {forward: all}"),
        with("look", "headers: {forward: []}"),
        format!(
            "{}vocabulary: {{mode: [asink]}}\n",
            instead("modes: [async]", "modes: [asink]")
        ),
        format!(
            "{}public_origins: [https://a.example]\n",
            with("inbox", "level: L2\n    result_url_field: /a~1b")
        ),
    ];
    for text in good {
        assert_eq!(mistakes(&text), [], "{text}");
    }
}

#[test]
fn names_are_understood_in_lower_case() {
    let text = with("inbox", "headers: {forward: [X-Own], credentials: [Authorization]}");
    let policy = judge(&format!(
        "{text}headers: {{remove: [X-Gone]}}\npublic_hosts: [A.Example]\n"
    ))
    .unwrap()
    .policy;
    assert_eq!(policy.removed_headers, ["x-gone"]);
    assert_eq!(policy.public_hosts, ["a.example"]);
    assert_eq!(
        policy.routes[0].forward_headers.as_deref(),
        Some(&["x-own".to_owned()][..])
    );
    assert_eq!(policy.routes[0].pass_credentials, ["authorization"]);
}

#[test]
fn the_policy_adds_words_and_lists_operations() {
    let text = with("inbox", "operations: [summarise, translate]");
    let policy = judge(&format!(
        "{text}review_actions: {{execution: [restart, shell], credential: [rotate_key]}}\n"
    ))
    .unwrap()
    .policy;
    let actions = &policy.review_actions;
    assert_eq!(
        actions.execution,
        ["execute", "deploy", "shell", "schedule", "repository_write", "restart"]
    );
    assert_eq!(
        actions.credential,
        ["authenticate", "validate_credential", "issue_token", "rotate_key"]
    );
    let of_route = |policy: &portcullis::policy::Policy| policy.routes[0].messages().unwrap().operations.clone();
    assert_eq!(of_route(&policy), ["summarise", "translate"]);
    assert_eq!(of_route(&judge(GOOD).unwrap().policy), <[&str; 0]>::default());
    let twice = mistakes(&with("inbox", "operations: [a, a]"));
    assert_eq!(twice[0].0, "/routes/0/operations/1");
    let elsewhere = mistakes(&with("write", "operations: [a]"));
    assert_eq!(elsewhere[0].0, "/routes/1/operations");
}

#[test]
fn what_should_not_be_overlooked_is_a_warning() {
    let text = with("inbox", "mode: observe");
    let warnings = judge(&format!("{text}public_url: http://a.example\n"))
        .unwrap()
        .warnings;
    let list: Vec<_> = warnings.iter().map(|one| (one.line, one.pointer.as_str())).collect();
    assert_eq!(list, [(13, "/routes/0/mode"), (23, "/public_url")]);
    assert!(config::render_warnings("p.yaml", GOOD, &warnings, false).contains("warning: `mode: observe`"));
}

#[test]
fn no_message_repeats_a_value() {
    let secret = "s3cr3t value";
    for (text, pointer) in [
        (with("root", &format!("listen: \"{secret}\"")), "/listen"),
        (with("root", &format!("ledger: \"{secret}\"")), "/ledger"),
        (with("root", &format!("limits: {{body: \"{secret}\"}}")), "/limits/body"),
        (
            instead("http://127.0.0.1:9000", &format!("\"http://u:{secret}@x\"")),
            "/backend/url",
        ),
        (instead("a.b", &format!("\"{secret}\"")), "/agent/ids/0"),
        (
            with("inbox", &format!("result_url: \"http://{secret}\"")),
            "/routes/0/result_url",
        ),
    ] {
        let found = judge(&text).unwrap_err();
        assert_eq!(found.mistakes[0].pointer, pointer);
        assert!(!found.to_json().to_string().contains("s3cr3t"), "{pointer}");
        assert!(!found.summaries().concat().contains("s3cr3t"), "{pointer}");
    }
}

#[test]
fn options_stand_above_the_file_and_are_judged_alike() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p.yaml");
    fs::write(&path, GOOD).unwrap();
    let option = |text: &str| Some(text.to_owned());
    let overrides = Overrides {
        listen: option("127.0.0.1:0"),
        admin: option("127.0.0.1:0"),
        backend: option("http://127.0.0.1:7"),
    };
    let config = config::load_with(&path, &overrides).unwrap();
    assert_eq!(config.server.listen.port(), 0);
    assert_eq!(config.policy.backend.authority, "127.0.0.1:7");

    let overrides = Overrides {
        listen: option("here"),
        admin: None,
        backend: option("https://x"),
    };
    let found = config::load_with(&path, &overrides).unwrap_err();
    let list: Vec<_> = found
        .mistakes
        .iter()
        .map(|one| (one.line, one.message.split(':').next().unwrap()))
        .collect();
    assert_eq!(list, [(0, "`--listen`"), (0, "`--backend`")]);
    assert!(found.render(false).contains("--listen"));
}

#[test]
fn a_file_that_cannot_be_read_is_one_mistake() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p.yaml");
    let judge = |words: &str| {
        let found = config::load(&path).unwrap_err();
        assert_eq!(found.mistakes.len(), 1);
        let one = &found.mistakes[0];
        assert!(
            (one.line, one.column) == (1, 1) && one.message.contains(words),
            "{one:?}"
        );
        assert!(found.render(false).contains(words));
    };
    judge("does not exist");
    fs::write(&path, b"").unwrap();
    judge("is empty");
    fs::write(&path, b"a: \xff\n").unwrap();
    judge("is not UTF-8");
    fs::write(&path, vec![b'a'; 1024 * 1024 + 1]).unwrap();
    judge("larger than 1 MiB");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    judge("cannot be read");
}

#[test]
fn files_that_the_policy_names_are_read_from_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p.yaml");
    fs::write(
        &path,
        with("root", "tls: {certificate: a.crt, key: a.key}\nschemas: {dir: own}"),
    )
    .unwrap();
    let pointers = |path: &Path| -> Vec<String> {
        let list = config::load(path).unwrap_err().mistakes;
        list.into_iter().map(|one| one.pointer).collect()
    };
    assert_eq!(pointers(&path), ["/tls/certificate", "/tls/key", "/schemas/dir"]);

    fs::write(dir.path().join("a.crt"), "c").unwrap();
    fs::write(dir.path().join("a.key"), "k").unwrap();
    fs::create_dir(dir.path().join("own")).unwrap();
    let config = config::load(&path).unwrap();
    assert_eq!(config.server.tls.unwrap().certificate, dir.path().join("a.crt"));

    let own = dir.path().join("own/uai.agent.ack.v1.json");
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/uai.agent.ack.v1.json");
    fs::copy(shipped, &own).unwrap();
    assert_eq!(
        pointers(&path),
        ["/schemas/dir"],
        "a shipped profile is replaced only when it is named"
    );
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        text.replace("{dir: own}", "{dir: own, override: [uai.agent.ack.v1]}"),
    )
    .unwrap();
    let warnings = config::load(&path).unwrap().warnings;
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].pointer, "/schemas/override/0");
    assert_eq!(warnings[0].message.matches("digest").count(), 2);
    fs::remove_file(own).unwrap();
    fs::write(&path, text).unwrap();

    fs::write(dir.path().join("own/x.y.v1.json"), "no").unwrap();
    fs::write(dir.path().join("own/x.z.v1.json"), "no").unwrap();
    assert_eq!(pointers(&path), ["/schemas/dir", "/schemas/dir"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = judge(&text).map_err(|mistakes| mistakes.render(true));
    }

    #[test]
    fn no_yaml_like_text_panics(text in "([a-z]{1,4}: |- |[\\[\\]{},:?&*!|>'\"#%@`~<\\-]|  |\n|\t|\r|[0-9]|\u{feff}|ü|\\.\\.\\.\n|---\n){0,60}") {
        let _ = judge(&text).map_err(|mistakes| mistakes.render(true));
    }

    #[test]
    fn no_change_of_a_good_policy_panics(at in 0..GOOD.len(), cut in 0..40_usize, insert in "[ \\-\\[\\]{}:,&*!?'\"a-z0-9\n]{0,12}") {
        let end = (at + cut).min(GOOD.len());
        let text = [GOOD.get(..at), Some(&insert), GOOD.get(end..)].into_iter().flatten().collect::<String>();
        if let Err(mistakes) = judge(&text) {
            prop_assert!(!mistakes.mistakes.is_empty());
            prop_assert!(mistakes.mistakes.is_sorted_by_key(|one| (one.line, one.column)));
        }
    }
}
