//! What the table tests of the rules share: the published final report, its policy and facts, ready to be changed.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;

use super::Input;
use crate::contract::{Finding, Rule};
use crate::facts::{Fact, Facts, Presenter, Proof, Signed};
use crate::message::envelope::{Envelope, Message};
use crate::message::json::{self, Bounds};
use crate::message::profile::Schemas;
use crate::policy::{
    Agent, Algorithm, Backend, BackendView, Body, Deadlines, Freshness, Idempotency, Integrity, Issuer, KeySource,
    Level, Limits, Messages, Mode, PathPattern, Pattern, Payload, Policy, Principal, Proofs, Rates, Replay,
    ReviewActions, Role, Route, Trust, Vocabulary,
};

pub(super) const REPORT: &str = include_str!("../../examples/final-report.keyed.json");

/// What a test changes in a case.
pub(crate) type Change = fn(&mut Case);

/// A row of a table test: its name, what is changed, what is found.
pub(super) type Row = (&'static str, Change, &'static [Rule]);

/// One message with everything that a check may look at.
pub(crate) struct Case {
    pub(crate) message: Value,
    pub(crate) policy: Policy,
    pub(crate) declared: Messages,
    pub(crate) proofs: Proofs,
    pub(crate) facts: Facts<'static>,
}

/// The transport proved this principal, by a token.
pub(crate) fn presented(case: &mut Case, name: &str) {
    case.facts.presenter = Fact::Known(Box::leak(Box::new(Presenter {
        principal: name.into(),
        by_certificate: false,
        by_token: true,
        by_dpop: false,
        actor: None,
    })));
}

/// The message is signed, half a minute before it is judged, by a key of the issuer `keys` that proves this principal.
pub(crate) fn signed_by(case: &mut Case, name: Option<&str>) {
    if case.message.pointer("/sender/signature").is_none() {
        case.facts.signature = Fact::Known("eyJhbGciOiJFZERTQSJ9..c2ln");
    }
    case.facts.proof = Fact::Known(Box::leak(Box::new(Proof::Signed(Signed {
        issuer: "keys".into(),
        kid: "k1".into(),
        issued_at: Some("2026-05-31T18:00:30Z".parse().unwrap()),
        has_audience: false,
        principal: name.map(Into::into),
    }))));
    case.policy.trust.issuers = vec![Issuer {
        name: "keys".to_owned(),
        keys: KeySource::File("/keys.json".into()),
        algorithms: Algorithm::DEFAULT.to_vec(),
        typ_optional: false,
        senders: senders(),
        token_issuer: None,
        refresh: Duration::from_secs(300),
        unknown_kid_cooldown: Duration::from_secs(30),
        max_stale: Duration::from_secs(86_400),
    }];
}

/// One of the principals that every case knows, `anna` and `bert`.
pub(crate) fn principal<'c>(case: &'c mut Case, name: &str) -> &'c mut Principal {
    let mut principals = case.policy.trust.principals.iter_mut();
    principals.find(|principal| principal.name == name).unwrap()
}

fn a_principal(name: &str) -> Principal {
    Principal {
        name: name.to_owned(),
        aliases: vec!["https://uaix.org".to_owned(), name.to_owned()],
        credentials: Vec::new(),
        role: Role::Worker,
        tenant: Some("acme".to_owned()),
        workspace: Some("north".to_owned()),
        project: Some("uaix.org".to_owned()),
        senders: senders(),
        uai_identity: None,
        routes: None,
        relays: Vec::new(),
        actors: Vec::new(),
        scopes: vec!["notes:read".to_owned(), "notes:write".to_owned()],
        parent: None,
        branch_id: None,
        rate: None,
    }
}

fn senders() -> Vec<Pattern> {
    vec![
        Pattern::Prefix("agt_uaix.".to_owned()),
        Pattern::Exact("urn:agent:one".to_owned()),
    ]
}

/// Makes the case one of a delivery envelope, with a signature that is well formed, on a route that takes it.
pub(super) fn delivery(case: &mut Case) {
    case.message = serde_json::from_str(DELIVERY).unwrap();
    case.declared.envelopes = vec![Envelope::Delivery];
    case.declared.payload = Some(Payload::Any);
    case.declared.modes = vec!["async_durable".to_owned()];
}

const DELIVERY: &str = r#"{
    "version": "1.0.0",
    "logical_message_id": "0f8fad5b-d9cb-469f-a165-70867728950e",
    "sender": {"logical_agent_id": "urn:agent:one", "uai_identity": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "signature": "eyJhbGciOiJFZERTQSJ9..c2ln"},
    "recipient": {"logical_agent_id": "urn:agent:two", "delivery_id": "7c9e6679-7425-40de-944b-e07fc1f90ae7"},
    "delivery_mode": "async_durable",
    "payload": {"text": "hello", "nothing": null},
    "extensions": {"https://portcullis.dev/ext/fanout/v1": {}}
}"#;

impl Case {
    /// The published final report a minute after it was issued, on a route that takes it.
    pub(crate) fn new() -> Self {
        let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect();
        Self {
            message: serde_json::from_str(REPORT).unwrap(),
            policy: policy(),
            declared: Messages {
                profiles: Schemas::shipped().map(str::to_owned).collect(),
                extensions: words(&["urn:uaix:ext:agent-communication-standard"]),
                modes: words(&["async"]),
                envelopes: vec![Envelope::Canonical],
                payload: None,
                backend_view: BackendView::Received,
                integrity: Integrity::Declared,
                operations: Vec::new(),
                relaxed_base: false,
            },
            proofs: Proofs::default(),
            facts: Facts::at(Fact::Known("2026-05-31T18:01:00Z".parse().unwrap())),
        }
    }

    /// Sets or adds the value at an RFC 6901 pointer.
    pub(crate) fn set(&mut self, pointer: &str, json: &str) {
        let value = serde_json::from_str(json).unwrap();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        match self.message.pointer_mut(parent).unwrap() {
            Value::Array(elements) => elements[name.parse::<usize>().unwrap()] = value,
            object => object[name] = value,
        }
    }

    /// Removes the member at an RFC 6901 pointer.
    pub(crate) fn remove(&mut self, pointer: &str) {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let object = self.message.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        object.remove(name).unwrap();
    }
}

/// What one check finds after `change`.
pub(super) fn found(check: fn(&Input<'_>, &mut Vec<Finding>), change: impl Fn(&mut Case)) -> Vec<Finding> {
    let mut findings = Vec::new();
    judged(change, |input| check(input, &mut findings));
    findings
}

/// What one check finds after `change` on a route of this level.
pub(super) fn found_at(
    level: Level,
    check: fn(&Input<'_>, &mut Vec<Finding>),
    change: impl Fn(&mut Case),
) -> Vec<Finding> {
    let mut findings = Vec::new();
    judged(change, |input| {
        let route = Route {
            level,
            ..input.route.clone()
        };
        let input = Input {
            route: &route,
            ..*input
        };
        check(&input, &mut findings);
    });
    findings
}

/// Lets `judge` see the case after `change`.
pub(crate) fn judged<T>(change: impl Fn(&mut Case), judge: impl FnOnce(&Input<'_>) -> T) -> T {
    let mut case = Case::new();
    change(&mut case);
    let text = case.message.to_string();
    let root = json::read(text.as_bytes(), &Bounds::default()).unwrap();
    let message = Message::open(text.as_bytes(), root).unwrap();
    judge(&Input {
        policy: &case.policy,
        route: &Route {
            proofs: case.proofs.clone(),
            ..route(case.declared.clone())
        },
        declared: &case.declared,
        message: &message,
        facts: &case.facts,
    })
}

/// The rules of what one check finds after `change`.
pub(super) fn rules_found(check: fn(&Input<'_>, &mut Vec<Finding>), change: impl Fn(&mut Case)) -> Vec<Rule> {
    found(check, change).iter().map(|finding| finding.rule).collect()
}

/// An enforcing route that takes messages.
pub(crate) fn route(declared: Messages) -> Route {
    Route {
        name: "open".to_owned(),
        path: PathPattern::parse("/messages").unwrap(),
        methods: vec!["POST".to_owned()],
        body: Body::Messages(declared),
        mode: Mode::Enforce,
        level: Level::L3,
        media_types: vec!["application/json".to_owned()],
        body_limit: 256 * 1024,
        deadline: Duration::from_secs(30),
        idempotency_required: true,
        forward_headers: None,
        pass_credentials: Vec::new(),
        pass_error_bodies: false,
        proofs: Proofs::default(),
        rate: None,
        human_review_url: None,
        result_url: None,
    }
}

fn policy() -> Policy {
    static SCHEMAS: OnceLock<Arc<Schemas>> = OnceLock::new();
    Policy {
        revision: "0".repeat(64),
        agent: Agent {
            ids: vec!["agt_runtime.consumer".to_owned(), "urn:agent:two".to_owned()],
            label: "test".to_owned(),
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
        freshness: Freshness::default(),
        replay: Replay::default(),
        idempotency: Idempotency::default(),
        rates: Rates::default(),
        trust: Trust {
            principals: vec![a_principal("anna"), a_principal("bert")],
            ..Trust::default()
        },
        vocabulary: Vocabulary::default(),
        removed_headers: Vec::new(),
        hold: Vec::new(),
        review_actions: ReviewActions::default(),
        schemas: SCHEMAS.get_or_init(|| Arc::new(Schemas::builtin().unwrap())).clone(),
        routes: Vec::new(),
        dispatch_route: None,
        capability_revision: "current".to_owned(),
    }
}
