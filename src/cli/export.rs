//! What `validate` found out, as a sealed `uai.conformance.result.v1` message (contract §3).
//!
//! `results` are the rules that were judged, in contract order: `pass`, `fail` with every finding, `warning` for what
//! would refuse the message under another policy. A rule that was not run has no result.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::offline::Judged;
use super::seal::seal;
use crate::clock::Clock;
use crate::contract::{Finding, Rule};
use crate::decide::Heard;
use crate::message::canonical::sha256_hex;
use crate::policy::Policy;
use crate::rules::addressing::is_several;

/// Who says it, where no policy names an agent.
const SELF: &str = "portcullis";

/// The message about `judged`, which was read from `bytes`, as text.
pub fn message(judged: &Judged, bytes: &[u8], policy: &Policy, clock: &Clock) -> String {
    seal(envelope(judged, bytes, policy, clock)).to_string()
}

fn envelope(judged: &Judged, bytes: &[u8], policy: &Policy, clock: &Clock) -> Value {
    let id = clock.id();
    let agent = policy.agent.ids.first().map_or(SELF, String::as_str);
    // A sender whose name stands for a group can be sent nothing.
    let sender = judged.sender.as_deref().filter(|sender| !is_several(sender));
    let receiver = sender.unwrap_or(agent);
    json!({
        "uai_version": "1.0",
        "profile": "uai.conformance.result.v1",
        "message_id": format!("msg_{id}"),
        "source": {"type": "tool", "id": agent, "label": "Portcullis, as a validator", "implementation": SELF},
        "target": {"type": "agent", "id": receiver, "label": "The sender of the judged message"},
        "conversation": {
            "conversation_id": format!("conv_{id}"),
            "turn_id": "turn_1",
            "sequence": 0,
            "correlation_id": format!("corr_{id}"),
        },
        "delivery": {
            "mode": "async",
            "priority": "background",
            "reply_requested": false,
            "ack_required": false,
            "idempotency_key": format!("key_{id}"),
            "fallback_directive": "Nothing has to be done; keep it as evidence.",
        },
        "trust": {"channel": "public-web", "auth_scheme": "none"},
        "body": body(judged, bytes),
        "provenance": {
            "trace_id": format!("trace_{id}"),
            "issued_at": time(clock.now()),
            "agent_id": agent,
            "lineage": [{"stage": "validation", "actor_id": agent, "model_id": "none", "note": "Judged offline by every rule that bytes alone can answer."}],
        },
        "integrity": {"version": 1, "algorithm": "sha256", "canonicalization": "jcs"},
        "extensions": [],
    })
}

fn body(judged: &Judged, bytes: &[u8]) -> Value {
    // A message without a readable id is named by its bytes.
    let subject = judged.report.message_id.clone();
    let subject = subject.unwrap_or_else(|| format!("sha256:{}", sha256_hex(bytes)));
    let results = results(judged);
    let count = |word: &str| {
        let of_word = results
            .iter()
            .filter(|result| result.get("outcome") == Some(&json!(word)));
        of_word.count()
    };
    json!({
        "subject_message_id": subject,
        "outcome": if judged.report.is_allow() { "pass" } else { "fail" },
        "summary": {"passed": count("pass"), "failed": count("fail"), "warnings": count("warning")},
        "results": results,
    })
}

/// One result for each rule that was judged, one for each finding of a rule that refused.
fn results(judged: &Judged) -> Vec<Value> {
    let mut results = Vec::new();
    for (rule, heard) in &judged.heard {
        let warning = judged.notes.iter().find(|note| note.rule == Some(*rule));
        match (heard, warning) {
            (Heard::Found(findings), _) => results.extend(findings.iter().map(failed)),
            (Heard::Passed | Heard::NotRun | Heard::NotBuilt, Some(note)) => {
                results.push(result(*rule, "warning", None, Some(&note.text)));
            }
            (Heard::Passed, None) => results.push(result(*rule, "pass", None, None)),
            (Heard::NotRun | Heard::NotBuilt, None) => {}
        }
    }
    results
}

fn failed(finding: &Finding) -> Value {
    let pointer = finding.pointer.as_ref().map(|pointer| pointer.as_str());
    result(
        finding.rule,
        "fail",
        pointer.filter(|pointer| !pointer.is_empty()),
        Some(&finding.detail),
    )
}

fn result(rule: Rule, outcome: &str, pointer: Option<&str>, detail: Option<&str>) -> Value {
    let members = [
        ("rule", Some(rule.id())),
        ("outcome", Some(outcome)),
        ("pointer", pointer),
        ("detail", detail),
    ];
    let present = members
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), json!(value?))));
    Value::Object(Map::from_iter(present))
}

fn time(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
