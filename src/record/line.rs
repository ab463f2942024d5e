//! The text of a record: one line of JSON, written straight from borrowed fields (contract §15).

use std::time::Duration;

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{Closing, Subject};
use crate::contract::Outcome;
use crate::decide::Refusal;
use crate::message::{canonical, is_id};

/// How the record ends: a verdict, a hang-up or a panic.
pub(super) struct End<'a> {
    outcome: Outcome,
    refusal: Option<&'a Refusal>,
    would: Option<Option<&'a Refusal>>,
    status: Option<u16>,
    decision: Option<Duration>,
    backend: Option<Duration>,
}

impl<'a> End<'a> {
    /// The ending of a request that was answered.
    pub(super) const fn of(closing: &Closing<'a>) -> Self {
        Self {
            outcome: closing.outcome,
            refusal: closing.refusal,
            would: closing.would,
            status: Some(closing.status),
            decision: Some(closing.decision),
            backend: closing.backend,
        }
    }

    /// The client left before an answer.
    pub(super) const fn aborted() -> Self {
        Self {
            outcome: Outcome::Aborted,
            refusal: None,
            would: None,
            status: None,
            decision: None,
            backend: None,
        }
    }

    /// A panic took the request.
    pub(super) fn panicked(refusal: &'a Refusal) -> Self {
        Self {
            outcome: refusal.outcome,
            refusal: Some(refusal),
            status: Some(refusal.rule().status()),
            ..Self::aborted()
        }
    }
}

/// A verdict record as a line of text, its line feed included.
pub(super) fn verdict(id: Uuid, time: Timestamp, subject: &Subject, end: &End<'_>) -> Vec<u8> {
    let key = subject.idempotency_key.as_deref().map(short_digest);
    line(&Verdict {
        id,
        time,
        kind: "verdict",
        route: subject.route.as_deref(),
        mode: subject.mode,
        envelope: subject.envelope,
        profile: subject.profile.as_deref(),
        message_id: subject.message_id.as_deref().filter(|id| is_id(id)),
        message_digest: subject.message_digest.as_deref(),
        body_digest: subject.body_digest.as_deref().unwrap_or(DIGEST_OF_NOTHING),
        sender: subject.sender.as_deref().filter(|id| is_id(id)),
        presenter: proven(subject.presenter.as_deref()),
        signer: proven(subject.signer.as_deref()),
        actor: proven(subject.actor.as_deref()),
        tenant: proven(subject.tenant.as_deref()),
        project: proven(subject.project.as_deref()),
        parent: subject.parent.as_deref(),
        branch_id: subject.branch_id.as_deref(),
        idempotency_key: key.as_deref(),
        reason: Reason::of(end.outcome, end.refusal),
        pointer: end
            .refusal
            .and_then(|refusal| refusal.deciding.pointer.as_ref())
            .map(|pointer| pointer.as_str()),
        status: end.status,
        would: end
            .would
            .map(|refusal| Reason::of(refusal.map_or(Outcome::Allow, |refusal| refusal.outcome), refusal)),
        aborted_stage: match end.outcome {
            Outcome::Aborted => subject.stage.map(|stage| stage.number()),
            Outcome::Allow
            | Outcome::Replayed
            | Outcome::Held
            | Outcome::NoOp
            | Outcome::Rejected
            | Outcome::Throttled
            | Outcome::Unavailable
            | Outcome::Observed => None,
        },
        decision_us: end.decision.map(micros),
        backend_us: end.backend.map(micros),
        policy_revision: subject.policy_revision.as_deref(),
        schema_digest: subject.schema_digest.as_deref(),
        gateway_version: env!("CARGO_PKG_VERSION"),
        level: subject.level,
        ladder: "uaix-executability-matrix",
    })
}

/// A record of another kind as a line of text; `kind` and `time` cannot be overwritten by a field.
pub(super) fn event(kind: &str, time: Timestamp, mut fields: Map<String, Value>) -> Vec<u8> {
    fields.remove("kind");
    fields.remove("time");
    line(&Event { kind, time, fields })
}

/// What stands for a principal until one is proven.
const UNPROVEN: &str = "unproven";

fn proven(name: Option<&str>) -> &str {
    name.unwrap_or(UNPROVEN)
}

/// SHA-256 of no bytes: the `body_digest` of a request of which no body was read.
const DIGEST_OF_NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

#[derive(Serialize)]
struct Verdict<'a> {
    #[serde(serialize_with = "as_text")]
    id: Uuid,
    #[serde(serialize_with = "as_micros")]
    time: Timestamp,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    envelope: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_digest: Option<&'a str>,
    body_digest: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sender: Option<&'a str>,
    presenter: &'a str,
    signer: &'a str,
    actor: &'a str,
    tenant: &'a str,
    project: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<&'a str>,
    #[serde(flatten)]
    reason: Reason,
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    would: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aborted_stage: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backend_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy_revision: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema_digest: Option<&'a str>,
    gateway_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<&'a str>,
    ladder: &'static str,
}

/// The verdict word and what decided; of the request, and of what an enforcing route would have said.
#[derive(Serialize)]
struct Reason {
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<&'static str>,
}

impl Reason {
    fn of(outcome: Outcome, refusal: Option<&Refusal>) -> Self {
        let rule = refusal.map(Refusal::rule);
        Self {
            verdict: outcome.name(),
            code: rule.map(|rule| rule.code().name()),
            rule: rule.map(|rule| rule.id()),
            trigger: rule.and_then(|rule| rule.trigger()).map(|trigger| trigger.name()),
        }
    }
}

#[derive(Serialize)]
struct Event<'a> {
    kind: &'a str,
    #[serde(serialize_with = "as_micros")]
    time: Timestamp,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

/// Strings and numbers always serialise; an empty line would show up as a lost record, never as a wrong one.
fn line(record: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1024);
    if serde_json::to_writer(&mut bytes, record).is_err() {
        bytes.clear();
    }
    bytes.push(b'\n');
    bytes
}

fn as_text<S: Serializer>(value: &Uuid, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn as_micros<S: Serializer>(value: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{value:.6}"))
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// The first 16 hex digits of the SHA-256.
fn short_digest(text: &str) -> String {
    let mut digest = canonical::sha256_hex(text.as_bytes());
    digest.truncate(16);
    digest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Finding, Pointer, Rule};

    const START: &str =
        r#"{"id":"00000000-0000-0000-0000-000000000007","time":"1970-01-01T00:00:00.000000Z","kind":"verdict""#;
    const UNPROVEN_ALL: &str =
        r#""presenter":"unproven","signer":"unproven","actor":"unproven","tenant":"unproven","project":"unproven""#;

    fn text(subject: &Subject, closing: &Closing<'_>) -> String {
        let line = verdict(Uuid::from_u128(7), Timestamp::UNIX_EPOCH, subject, &End::of(closing));
        String::from_utf8(line).unwrap()
    }

    fn closing(outcome: Outcome, status: u16) -> Closing<'static> {
        Closing {
            outcome,
            refusal: None,
            would: None,
            status,
            decision: Duration::from_micros(40),
            backend: None,
        }
    }

    fn end() -> String {
        format!(
            r#""gateway_version":"{}","ladder":"uaix-executability-matrix"}}"#,
            env!("CARGO_PKG_VERSION")
        )
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let refusal = Refusal::new(Finding::new(Rule::RouteUndeclared, "expected a declared path"));
        let closing = Closing {
            refusal: Some(&refusal),
            ..closing(Outcome::Rejected, 404)
        };
        let expected = format!(
            r#"{START},"body_digest":"{DIGEST_OF_NOTHING}",{UNPROVEN_ALL},"verdict":"rejected","code":"ERR_ROUTE_UNDECLARED","rule":"route.undeclared","status":404,"decision_us":40,{}"#,
            end() + "\n"
        );
        assert_eq!(text(&Subject::default(), &closing), expected);
    }

    #[test]
    fn a_whole_record_is_exact() {
        let subject = Subject {
            route: Some("inbox".to_owned()),
            mode: Some("observe"),
            envelope: Some("canonical"),
            profile: Some("uai.agent.ack.v1".to_owned()),
            message_id: Some("msg_1".to_owned()),
            message_digest: Some("d1".to_owned()),
            body_digest: Some("d2".to_owned()),
            sender: Some("agt_a".to_owned()),
            presenter: Some("relay".to_owned()),
            signer: Some("worker-7".to_owned()),
            actor: Some("user-1".to_owned()),
            tenant: Some("acme".to_owned()),
            project: Some("north".to_owned()),
            parent: Some("boss".to_owned()),
            branch_id: Some("b1".to_owned()),
            idempotency_key: Some("key".to_owned()),
            policy_revision: Some("r1".to_owned()),
            schema_digest: Some("d3".to_owned()),
            level: Some("L3"),
            stage: None,
        };
        let finding = Finding::at(
            Rule::IdentityMalformed,
            Pointer::from_rfc6901("/source/id"),
            3,
            "expected an id",
        );
        let would = Refusal::new(finding);
        let closing = Closing {
            would: Some(Some(&would)),
            backend: Some(Duration::from_millis(2)),
            ..closing(Outcome::Observed, 200)
        };
        let expected = format!(
            r#"{START},"route":"inbox","mode":"observe","envelope":"canonical","profile":"uai.agent.ack.v1","message_id":"msg_1","message_digest":"d1","body_digest":"d2","sender":"agt_a","presenter":"relay","signer":"worker-7","actor":"user-1","tenant":"acme","project":"north","parent":"boss","branch_id":"b1","idempotency_key":"2c70e12b7a0646f9","verdict":"observed","status":200,"would":{{"verdict":"rejected","code":"ERR_SCHEMA_VIOLATION","rule":"identity.malformed","trigger":"provenance_mismatch"}},"decision_us":40,"backend_us":2000,"policy_revision":"r1","schema_digest":"d3","gateway_version":"{}","level":"L3","ladder":"uaix-executability-matrix"}}"#,
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(text(&subject, &closing), expected + "\n");
    }

    #[test]
    fn an_observed_allow_would_have_been_one_and_a_refusal_has_its_place() {
        let observed = Closing {
            would: Some(None),
            ..closing(Outcome::Observed, 200)
        };
        assert!(text(&Subject::default(), &observed).contains(r#""would":{"verdict":"allow"}"#));
        let finding = Finding::at(
            Rule::SchemaType,
            Pointer::from_rfc6901("/body/a~1b"),
            3,
            "expected a string",
        );
        let refusal = Refusal::new(finding);
        let refused = Closing {
            refusal: Some(&refusal),
            ..closing(Outcome::Rejected, 422)
        };
        let text = text(&Subject::default(), &refused);
        assert!(
            text.contains(r#""trigger":"malformed_schema","pointer":"/body/a~1b","status":422"#),
            "{text}"
        );
        assert!(!text.contains("expected a string"));
    }

    #[test]
    fn what_is_no_id_is_not_written() {
        let subject = Subject {
            message_id: Some("\"}\n{".to_owned()),
            sender: Some("a sentence".to_owned()),
            ..Subject::default()
        };
        let text = text(&subject, &closing(Outcome::Allow, 200));
        assert!(!text.contains("message_id") && !text.contains("sender"), "{text}");
        assert_eq!(text.matches('\n').count(), 1);
    }
}
