//! The stops of the tour: what is sent where, and what has to come back.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::cli::seal::seal;
use crate::contract::{Finding, Outcome, Rule};
use crate::decide::Refusal;

/// One request and the answer it must get.
#[derive(Clone, Debug)]
pub struct Stop {
    /// What is sent, in words.
    pub what: &'static str,
    /// The path it is sent to.
    pub path: String,
    /// The bytes sent.
    pub body: Vec<u8>,
    /// The rule that has to refuse it; `None` must be allowed.
    pub refused_by: Option<Rule>,
}

impl Stop {
    /// The verdict word that has to come back.
    pub fn outcome(&self) -> Outcome {
        self.refused_by
            .map_or(Outcome::Allow, |rule| Refusal::new(Finding::new(rule, "")).outcome)
    }
}

/// The whole tour for a route at `path` that takes bodies of at most `limit` bytes, as of `now`; `id` makes its messages
/// like no others.
pub fn stops(path: &str, limit: usize, now: Timestamp, id: Uuid) -> Vec<Stop> {
    let good = report(now, id);
    let edited = |pointer: &str, value: Value| {
        let mut message = good.clone();
        set(&mut message, pointer, value);
        message
    };
    let sealed = |what, message: Value, refused_by| Stop {
        what,
        path: path.to_owned(),
        body: text(&seal(message)).into_bytes(),
        refused_by,
    };

    let mut expired = edited("/provenance/issued_at", time(now, -120));
    set(&mut expired, "/delivery/expires_at", time(now, -60));
    let mut empty = good.clone();
    for list in ["tests_run", "skipped_checks", "validation_evidence"] {
        set(&mut empty, &format!("/body/{list}"), json!([]));
    }
    let mut tampered = seal(good.clone());
    set(&mut tampered, "/body/summary", json!("Something else was reported."));
    let duplicate = text(&seal(good.clone())).replacen('{', r#"{"profil\u0065":"uai.agent.ack.v1","#, 1);
    let mut oversize = text(&seal(good.clone()));
    oversize.extend(std::iter::repeat_n(
        ' ',
        limit.saturating_add(1).saturating_sub(oversize.len()),
    ));

    vec![
        sealed("the published final report, issued now and sealed", good.clone(), None),
        sealed(
            "with a member that no schema declares",
            edited("/body/approved_by", json!("nobody")),
            Some(Rule::SchemaUndeclared),
        ),
        Stop {
            what: "with a second `profile`, its name escaped",
            path: path.to_owned(),
            body: duplicate.into_bytes(),
            refused_by: Some(Rule::JsonDuplicateKey),
        },
        sealed("expired a minute ago", expired, Some(Rule::FreshnessExpired)),
        sealed("a report without tests or evidence", empty, Some(Rule::ReportEvidence)),
        sealed(
            "of a profile without a schema",
            edited("/profile", json!("uai.agent.rumour.v1")),
            Some(Rule::ProfileUnknown),
        ),
        sealed(
            "for another agent",
            edited("/target/id", json!("agt_somebody.else")),
            Some(Rule::AddressingNotHere),
        ),
        Stop {
            path: format!("{path}/undeclared"),
            ..sealed(
                "to a path that no route declares",
                good.clone(),
                Some(Rule::RouteUndeclared),
            )
        },
        Stop {
            what: "one byte over the size limit",
            path: path.to_owned(),
            body: oversize.into_bytes(),
            refused_by: Some(Rule::JsonSize),
        },
        Stop {
            what: "changed after it was sealed",
            path: path.to_owned(),
            body: text(&tampered).into_bytes(),
            refused_by: Some(Rule::IntegrityMismatch),
        },
        sealed(
            "proposing a change of memory",
            edited("/body/memory_updates_proposed", json!(["Remember this."])),
            Some(Rule::HoldRequired),
        ),
        sealed(
            "saying that it is signed, without a signature",
            edited("/trust/channel", json!("signed-envelope")),
            Some(Rule::SignatureAbsent),
        ),
    ]
}

/// The published final report, issued now, its memory proposals emptied, not sealed.
fn report(now: Timestamp, id: Uuid) -> Value {
    let mut message: Value =
        serde_json::from_str(include_str!("../../../examples/final-report.keyed.json")).unwrap_or_default();
    set(&mut message, "/provenance/issued_at", time(now, 0));
    set(&mut message, "/delivery/expires_at", time(now, 600));
    set(&mut message, "/body/memory_updates_proposed", json!([]));
    let id = id.simple();
    set(&mut message, "/message_id", json!(format!("msg_tour_{id}")));
    set(
        &mut message,
        "/delivery/idempotency_key",
        json!(format!("idem_tour_{id}")),
    );
    message
}

/// Sets the member at a pointer; its parent must be an object that is there.
fn set(message: &mut Value, pointer: &str, value: Value) {
    let member = pointer.rsplit_once('/');
    if let Some((parent, name)) = member
        && let Some(object) = message.pointer_mut(parent).and_then(Value::as_object_mut)
    {
        object.insert(name.to_owned(), value);
    }
}

fn time(now: Timestamp, seconds: i64) -> Value {
    let moved = now.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(now);
    json!(moved.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

fn text(message: &Value) -> String {
    message.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_differ_from_the_good_message_and_stay_below_the_limit_but_one() {
        let now = "2026-06-01T00:00:00Z".parse().unwrap();
        let stops = stops("/v1/messages", 65_536, now, Uuid::from_u128(7));
        let (good, others) = stops.split_first().unwrap();
        assert_eq!(good.outcome(), Outcome::Allow);
        assert!(
            others
                .iter()
                .all(|stop| stop.body != good.body || stop.path != good.path)
        );
        let over: Vec<_> = stops.iter().filter(|stop| stop.body.len() > 65_536).collect();
        assert_eq!(over.len(), 1);
        assert_eq!(over[0].body.len(), 65_537);
        assert_eq!(over[0].refused_by, Some(Rule::JsonSize));
    }
}
