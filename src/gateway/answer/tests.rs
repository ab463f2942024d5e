//! Exact answers, one row each.

use std::sync::Arc;

use super::*;
use crate::contract::{BackendOutcome, Finding, Pointer};
use crate::message::envelope::Envelope;
use crate::message::json::{self, Bounds};
use crate::message::profile::Schemas;
use crate::policy::{
    Agent, Algorithm, Backend, BackendView, Body, Deadlines, Freshness, Idempotency, Integrity, Level, Limits,
    Messages, Mode, PathPattern, Proofs, Rates, Replay, ReviewActions, Scheme, Trust, Vocabulary,
};
use crate::trust::sign::generate;

const FINAL_REPORT: &[u8] = include_bytes!("../../../examples/final-report.keyed.json");

pub(super) fn route(level: Level) -> Route {
    Route {
        name: "inbox".to_owned(),
        path: PathPattern::parse("/v1/messages").unwrap(),
        methods: vec!["POST".to_owned()],
        body: Body::Messages(Messages {
            profiles: Vec::new(),
            extensions: Vec::new(),
            modes: Vec::new(),
            envelopes: vec![Envelope::Canonical],
            payload: None,
            backend_view: BackendView::Received,
            integrity: Integrity::Required,
            operations: Vec::new(),
            relaxed_base: false,
        }),
        mode: Mode::Enforce,
        level,
        media_types: vec!["application/uai+json".to_owned(), "application/json".to_owned()],
        body_limit: 1,
        deadline: std::time::Duration::ZERO,
        idempotency_required: true,
        forward_headers: None,
        pass_credentials: Vec::new(),
        pass_error_bodies: false,
        proofs: Proofs::default(),
        rate: None,
        human_review_url: Some("https://agent.example/review".to_owned()),
        result_url: None,
    }
}

pub(super) fn policy() -> Policy {
    Policy {
        revision: String::new(),
        agent: Agent {
            ids: vec!["agt_runtime.consumer".to_owned()],
            label: "Consumer".to_owned(),
        },
        public_url: None,
        public_hosts: Vec::new(),
        public_origins: Vec::new(),
        backend: Backend {
            authority: String::new(),
            h2c: false,
        },
        limits: Limits::default(),
        json: Bounds::default(),
        deadlines: Deadlines::default(),
        freshness: Freshness::default(),
        replay: Replay::default(),
        idempotency: Idempotency::default(),
        rates: Rates::default(),
        trust: Trust::default(),
        vocabulary: Vocabulary::default(),
        removed_headers: Vec::new(),
        hold: Vec::new(),
        review_actions: ReviewActions::default(),
        schemas: Arc::new(Schemas::builtin().unwrap()),
        routes: Vec::new(),
        dispatch_route: None,
        capability_revision: String::new(),
    }
}

pub(super) fn asked<'a>(policy: &'a Policy, route: Option<&'a Route>) -> Asked<'a> {
    Asked {
        id: Uuid::from_u128(7),
        policy,
        route,
        allowed: &[],
        accepts_uai: false,
        digest: None,
        message: None,
        key: None,
        now: jiff::Timestamp::UNIX_EPOCH,
        close: false,
        wants_nonce: false,
        recorded: true,
    }
}

pub(super) fn refusal(rule: Rule) -> Refusal {
    Refusal::new(Finding::new(rule, "expected otherwise"))
}

pub(super) fn text(response: &Response<Bytes>) -> &str {
    std::str::from_utf8(response.body()).unwrap()
}

fn field<'a>(response: &'a Response<Bytes>, name: &str) -> Option<&'a str> {
    response.headers().get(name).map(|value| value.to_str().unwrap())
}

#[test]
fn every_rule_has_its_own_status_and_the_fields_of_every_answer() {
    let policy = policy();
    let mut route = route(Level::L3);
    // Without a scheme there is no challenge to give, and 401 needs one.
    route.proofs.schemes = vec![Scheme::Bearer];
    for rule in Rule::ALL {
        let response = refuse(&refusal(*rule), &asked(&policy, Some(&route)));
        assert_eq!(response.status().as_u16(), rule.status(), "{}", rule.id());
        assert_eq!(
            field(&response, "content-type"),
            Some("application/problem+json"),
            "{}",
            rule.id()
        );
        assert_eq!(field(&response, "cache-control"), Some("no-store"));
        assert_eq!(field(&response, "x-content-type-options"), Some("nosniff"));
        let word = refusal(*rule).outcome.name();
        let verdict = format!("\"00000000-0000-0000-0000-000000000007\";verdict={word}");
        assert_eq!(field(&response, "uai-verdict"), Some(verdict.as_str()));
        assert_eq!(
            field(&response, "www-authenticate").is_some(),
            rule.status() == 401,
            "{}",
            rule.id()
        );
        let is_late = matches!(rule.status(), 429 | 503) || *rule == Rule::IdempotencyInFlight;
        assert_eq!(field(&response, "retry-after").is_some(), is_late, "{}", rule.id());
        assert_eq!(
            text(&response).contains(r#""outcome":"not_sent""#),
            word == "unavailable",
            "{}",
            rule.id()
        );
    }
}

/// The members every row has, filled in.
fn document(code: &str, title: &str, status: u16, detail: &str, rest: &str) -> String {
    format!(
        r#"{{"type":"/.well-known/uai/problems/{code}","title":"{title}","status":{status},"detail":"{detail}","instance":"urn:uuid:00000000-0000-0000-0000-000000000007","code":"{code}",{rest}}}"#
    )
}

#[test]
fn problem_documents_are_exact() {
    let policy = policy();
    let route = route(Level::L3);
    let placed = |rule, pointer: &str| Finding::at(rule, Pointer::from_rfc6901(pointer), 9, "expected otherwise");
    let table = [
        (
            refusal(Rule::RouteUndeclared),
            document(
                "ERR_ROUTE_UNDECLARED",
                "The policy declares no such path or method",
                404,
                "expected otherwise",
                r#""rule":"route.undeclared","errors":[{"rule":"route.undeclared","detail":"expected otherwise"}],"retry":{"allowed":false,"how":"ask the operator of the agent which paths and methods are declared"},"evidence":{"recorded":true}"#,
            ),
        ),
        (
            Refusal::with_others(
                placed(Rule::SchemaRequired, "/target"),
                [placed(Rule::SchemaValue, "/delivery/mode")],
                false,
            ),
            document(
                "ERR_SCHEMA_VIOLATION",
                "The message breaks its schema or is not strict JSON",
                422,
                "expected otherwise",
                r#""rule":"schema.required","trigger":"malformed_schema","errors":[{"pointer":"/target","rule":"schema.required","detail":"expected otherwise"},{"pointer":"/delivery/mode","rule":"schema.value","detail":"expected otherwise"}],"retry":{"allowed":false,"how":"correct the message and send it again"},"evidence":{"recorded":true}"#,
            ),
        ),
        (
            refusal(Rule::HoldRequired),
            document(
                "ERR_HUMAN_REVIEW_REQUIRED",
                "A person must decide",
                403,
                "expected otherwise",
                r#""rule":"hold.required","errors":[{"rule":"hold.required","detail":"expected otherwise"}],"retry":{"allowed":false,"how":"ask the person who reviews for this agent"},"evidence":{"recorded":true},"no_op":true,"review_url":"https://agent.example/review""#,
            ),
        ),
        (
            refusal(Rule::BackendUnreachable),
            document(
                "ERR_BACKEND_UNAVAILABLE",
                "No answer from the agent",
                502,
                "expected otherwise",
                r#""rule":"backend.unreachable","errors":[{"rule":"backend.unreachable","detail":"expected otherwise"}],"retry":{"allowed":true,"after_s":5,"how":"wait, then send the same request again"},"evidence":{"recorded":true},"outcome":"not_sent""#,
            ),
        ),
        (
            refusal(Rule::BackendContract).after(BackendOutcome::Delivered),
            document(
                "ERR_BACKEND_CONTRACT",
                "The agent answered outside the contract",
                502,
                "expected otherwise",
                r#""rule":"backend.contract","errors":[{"rule":"backend.contract","detail":"expected otherwise"}],"retry":{"allowed":false,"how":"the agent has it; do not send it again"},"evidence":{"recorded":true},"outcome":"delivered""#,
            ),
        ),
    ];
    for (refusal, expected) in table {
        assert_eq!(text(&refuse(&refusal, &asked(&policy, Some(&route)))), expected);
    }
}

#[test]
fn a_public_url_makes_the_type_absolute_and_a_message_shows_its_digest() {
    let policy = Policy {
        public_url: Some("https://agent.example".to_owned()),
        ..policy()
    };
    let root = json::read(FINAL_REPORT, &Bounds::default()).unwrap();
    let message = Message::open(FINAL_REPORT, root).unwrap();
    let asked = Asked {
        digest: Some(message.digest()),
        message: Some(&message),
        recorded: false,
        ..asked(&policy, None)
    };
    let response = refuse(&refusal(Rule::AddressingNotHere), &asked);
    let expected = r#""type":"https://agent.example/.well-known/uai/problems/ERR_ADDRESSING_VIOLATION""#;
    assert!(text(&response).contains(expected));
    let evidence = format!(
        r#""evidence":{{"recorded":false,"message_digest":"{}"}}"#,
        message.digest()
    );
    assert!(text(&response).contains(&evidence));
}

#[test]
fn fields_follow_the_status() {
    let policy = policy();
    let route = route(Level::L3);
    let asked = Asked {
        allowed: &["GET", "HEAD"],
        close: true,
        ..asked(&policy, Some(&route))
    };
    let table = [
        (Rule::RouteMethod, "allow", "GET, HEAD"),
        (Rule::RouteMediaType, "accept", "application/uai+json, application/json"),
        (Rule::RouteContentEncoding, "accept-encoding", "identity"),
        (Rule::JsonSize, "connection", "close"),
        (Rule::LimitsRate, "retry-after", "1"),
        (
            Rule::LimitsRate,
            "ratelimit-policy",
            r#""in-flight";q=512;qu="concurrent-requests""#,
        ),
        (Rule::LimitsRate, "ratelimit", r#""in-flight";r=0"#),
        (Rule::ClockUnsteady, "retry-after", "5"),
        (
            Rule::SignatureAbsent,
            "www-authenticate",
            r#"UAI-Signature realm="agt_runtime.consumer""#,
        ),
        (
            Rule::AuthToken,
            "www-authenticate",
            r#"Bearer realm="agt_runtime.consumer", error="invalid_token""#,
        ),
    ];
    for (rule, name, expected) in table {
        assert_eq!(
            field(&refuse(&refusal(rule), &asked), name),
            Some(expected),
            "{}",
            rule.id()
        );
    }
}

#[test]
fn two_keys_on_low_levels_and_nothing_else() {
    let policy = policy();
    let page = "/.well-known/uai/problems/";
    let table = [
        (
            Rule::HoldRequired,
            "human_review_required",
            "https://agent.example/review".to_owned(),
        ),
        (Rule::SchemaType, "rejected", format!("{page}ERR_SCHEMA_VIOLATION")),
        (Rule::LimitsRate, "rejected", format!("{page}ERR_RATE_LIMITED")),
        (
            Rule::BackendTimeout,
            "rejected",
            format!("{page}ERR_BACKEND_UNAVAILABLE"),
        ),
    ];
    for (rule, code, url) in table {
        for level in [Level::L0, Level::L1, Level::L2] {
            let route = route(level);
            let response = refuse(&refusal(rule), &asked(&policy, Some(&route)));
            assert_eq!(text(&response), format!(r#"{{"code":"{code}","url":"{url}"}}"#));
            assert_eq!(response.status().as_u16(), rule.status());
            assert_eq!(field(&response, "content-type"), Some("application/json"));
        }
    }
    let ok = two_keys_ok(
        Uuid::nil(),
        Outcome::Allow,
        StatusCode::CREATED,
        "https://agent.example/r/1",
    );
    assert_eq!(ok.status(), StatusCode::CREATED);
    assert_eq!(text(&ok), r#"{"code":"ok","url":"https://agent.example/r/1"}"#);
    assert_eq!(
        field(&ok, "uai-verdict"),
        Some(r#""00000000-0000-0000-0000-000000000000";verdict=allow"#)
    );
}

#[test]
fn a_uai_error_is_sealed_and_addressed_to_the_sender() {
    let policy = policy();
    let route = route(Level::L3);
    let root = json::read(FINAL_REPORT, &Bounds::default()).unwrap();
    let message = Message::open(FINAL_REPORT, root).unwrap();
    let asked = Asked {
        accepts_uai: true,
        digest: Some(message.digest()),
        message: Some(&message),
        ..asked(&policy, Some(&route))
    };
    let response = refuse(&refusal(Rule::BackendTimeout).after(BackendOutcome::Unknown), &asked);
    assert_eq!(field(&response, "content-type"), Some("application/uai+json"));
    let root = json::read(response.body(), &Bounds::default()).unwrap();
    let error = Message::open(response.body(), root).unwrap();
    let sealed = format!("sha256:{}", error.digest());
    assert_eq!(error.text(&["integrity", "checksum"]), Some(sealed.as_str()));
    assert_eq!(policy.schemas.violations(&error), []);
    let id = "00000000-0000-0000-0000-000000000007";
    let expected = format!(
        r#"{{"uai_version":"1.0","profile":"uai.error.v1","message_id":"msg_{id}","source":{{"type":"agent","id":"agt_runtime.consumer","label":"Consumer"}},"target":{{"type":"agent","id":"agt_uaix.publisher","label":"agt_uaix.publisher"}},"conversation":{{"conversation_id":"conv_20260531_agent_standard","turn_id":"turn_{id}","parent_message_id":"msg_uaix_agent_final_0007","sequence":0,"correlation_id":"corr_20260531_agent_standard"}},"delivery":{{"mode":"sync","priority":"interactive","reply_requested":false,"ack_required":false,"idempotency_key":"idem_{id}","fallback_directive":"find out from the agent whether it acted before you send it again"}},"trust":{{"channel":"public-web","auth_scheme":"none"}},"body":{{"title":"No answer from the agent","status":504,"detail":"expected otherwise (outcome: unknown)","instance":"urn:uuid:{id}","code":"ERR_BACKEND_UNAVAILABLE","rule":"backend.timeout","errors":[],"retry":{{"allowed":false,"how":"find out from the agent whether it acted before you send it again"}},"evidence":{{"recorded":true,"message_digest":"{}"}}}},"provenance":{{"trace_id":"trace_{id}","issued_at":"1970-01-01T00:00:00.000000Z","agent_id":"agt_runtime.consumer","lineage":[]}},"integrity":{{"version":1,"algorithm":"sha256","canonicalization":"jcs","checksum":"{sealed}"}},"extensions":[]}}"#,
        message.digest()
    );
    assert_eq!(text(&response), expected);
}

/// Contract §5: signed when the gateway has a key; the signature travels with the record and is part of no digest.
#[test]
fn a_uai_error_is_signed_by_a_gateway_with_a_key() {
    let policy = policy();
    let route = route(Level::L3);
    let root = json::read(FINAL_REPORT, &Bounds::default()).unwrap();
    let message = Message::open(FINAL_REPORT, root).unwrap();
    let key = generate(Algorithm::Ed25519, Some("gate-1")).unwrap();
    let key = SigningKey::parse(key.reveal().as_bytes()).unwrap();
    let asked = Asked {
        accepts_uai: true,
        message: Some(&message),
        key: Some(&key),
        ..asked(&policy, Some(&route))
    };
    let response = refuse(&refusal(Rule::FreshnessExpired), &asked);
    let root = json::read(response.body(), &Bounds::default()).unwrap();
    let error = Message::open(response.body(), root).unwrap();
    assert_eq!(policy.schemas.violations(&error), []);
    let sealed = format!("sha256:{}", error.digest());
    assert_eq!(error.text(&["integrity", "checksum"]), Some(sealed.as_str()));
    assert_eq!(error.text(&["trust", "channel"]), Some("signed-envelope"));
    // Ed25519 makes one signature only, so what is expected can be made again.
    let jws = key
        .sign_detached("uai-message+jws", asked.now, None, error.canonical())
        .unwrap();
    let reference = format!("data:application/jose,{jws}");
    assert_eq!(error.text(&["trust", "signature_ref"]), Some(reference.as_str()));
}

#[test]
fn no_uai_error_before_stage_7_passed_or_with_what_is_no_id() {
    let policy = policy();
    let spoilt = String::from_utf8(FINAL_REPORT.to_vec())
        .unwrap()
        .replace("conv_20260531", "<b>conv</b>");
    let table = [
        (FINAL_REPORT, Rule::SchemaValue),
        (FINAL_REPORT, Rule::InternalPanic),
        (spoilt.as_bytes(), Rule::BackendTimeout),
    ];
    for (bytes, rule) in table {
        let root = json::read(bytes, &Bounds::default()).unwrap();
        let message = Message::open(bytes, root).unwrap();
        let asked = Asked {
            accepts_uai: true,
            digest: Some(message.digest()),
            message: Some(&message),
            ..asked(&policy, None)
        };
        let response = refuse(&refusal(rule), &asked);
        assert_eq!(
            field(&response, "content-type"),
            Some("application/problem+json"),
            "{}",
            rule.id()
        );
    }
}

#[test]
fn every_uai_error_is_a_valid_message() {
    let policy = policy();
    let route = route(Level::L3);
    let root = json::read(FINAL_REPORT, &Bounds::default()).unwrap();
    let message = Message::open(FINAL_REPORT, root).unwrap();
    let asked = Asked {
        accepts_uai: true,
        digest: Some(message.digest()),
        message: Some(&message),
        ..asked(&policy, Some(&route))
    };
    let mut sealed = 0_u32;
    for rule in Rule::ALL {
        let placed = |pointer: &str| Finding::at(*rule, Pointer::from_rfc6901(pointer), 9, "expected otherwise");
        let others = [
            placed(""),
            placed("/body/a~1b"),
            Finding::new(*rule, "expected otherwise"),
        ];
        let response = refuse(&Refusal::with_others(placed("/body/summary"), others, true), &asked);
        if field(&response, "content-type") == Some("application/uai+json") {
            let root = json::read(response.body(), &Bounds::default()).unwrap();
            let error = Message::open(response.body(), root).unwrap();
            assert_eq!(policy.schemas.violations(&error), [], "{}", rule.id());
            sealed += 1;
        }
    }
    assert!(sealed > 30, "only {sealed} rules answer with a `uai.error.v1`");
}
