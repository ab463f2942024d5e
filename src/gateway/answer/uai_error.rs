//! `uai.error.v1`: the refusal as a sealed message from the gateway's agent to the sender (contract §5), signed when the
//! gateway has a key; the signature travels in `trust.signature_ref`.

use serde::Serialize;

use super::Asked;
use super::problem::{Document, Problem};
use crate::contract::Stage;
use crate::decide::Refusal;
use crate::message::json::{self, Bounds};
use crate::message::{canonical, is_id};

/// The sealed envelope, or `None` when the client did not ask for one, stage 7 did not pass or the request is no
/// message. Only ids that match the id pattern are copied; a request with another one gets a problem document.
pub(super) fn seal(problem: &Problem<'_>, refusal: &Refusal, asked: &Asked<'_>) -> Option<Vec<u8>> {
    if !asked.accepts_uai || !is_after_schema(refusal.rule().stage()) {
        return None;
    }
    let mut envelope = Envelope::new(problem, asked)?;
    let bare = super::json(&envelope);
    let root = json::read(&bare, &Bounds::default()).ok()?;
    let canonical = canonical::canonical_bytes(&root);
    envelope.integrity.checksum = Some(format!("sha256:{}", canonical::sha256_hex(&canonical)));
    if let Some(key) = asked.key {
        // Neither checksum nor this reference is part of what is signed. An answer that cannot be signed is not sent.
        let jws = key.sign_detached(MESSAGE_TYP, asked.now, None, &canonical).ok()?;
        envelope.trust.signature_ref = Some(format!("{SIGNATURE_REF}{jws}"));
    }
    Some(super::json(&envelope))
}

/// `typ` of the signature of a message.
const MESSAGE_TYP: &str = "uai-message+jws";

/// What a signature that travels in `trust.signature_ref` begins with (contract §7).
const SIGNATURE_REF: &str = "data:application/jose,";

/// Whether stage 7 passed when this stage decides. A fault that can strike anywhere proves nothing.
const fn is_after_schema(stage: Stage) -> bool {
    match stage {
        Stage::Route
        | Stage::Limits
        | Stage::Credentials
        | Stage::Json
        | Stage::Envelope
        | Stage::Addressing
        | Stage::Capability
        | Stage::Schema
        | Stage::Any => false,
        Stage::Integrity
        | Stage::Signature
        | Stage::Authority
        | Stage::Freshness
        | Stage::Semantics
        | Stage::Replay
        | Stage::Guards
        | Stage::Firewall
        | Stage::Forward
        | Stage::Answer => true,
    }
}

#[derive(Serialize)]
struct Envelope<'a> {
    uai_version: &'static str,
    profile: &'static str,
    message_id: String,
    source: Party<'a>,
    target: Party<'a>,
    conversation: Conversation<'a>,
    delivery: Delivery,
    trust: Trust,
    body: Document<'a>,
    provenance: Provenance<'a>,
    integrity: Integrity,
    extensions: [(); 0],
}

#[derive(Serialize)]
struct Party<'a> {
    r#type: &'a str,
    id: &'a str,
    label: &'a str,
}

#[derive(Serialize)]
struct Conversation<'a> {
    conversation_id: &'a str,
    turn_id: String,
    parent_message_id: &'a str,
    sequence: u32,
    correlation_id: &'a str,
}

#[derive(Serialize)]
struct Delivery {
    mode: &'static str,
    priority: &'static str,
    reply_requested: bool,
    ack_required: bool,
    idempotency_key: String,
    fallback_directive: &'static str,
}

#[derive(Serialize)]
struct Trust {
    channel: &'static str,
    auth_scheme: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature_ref: Option<String>,
}

#[derive(Serialize)]
struct Provenance<'a> {
    trace_id: String,
    issued_at: String,
    agent_id: &'a str,
    lineage: [(); 0],
}

#[derive(Serialize)]
struct Integrity {
    version: u32,
    algorithm: &'static str,
    canonicalization: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    checksum: Option<String>,
}

impl<'a> Envelope<'a> {
    fn new(problem: &'a Problem<'_>, asked: &Asked<'a>) -> Option<Self> {
        let message = asked.message?;
        let id = |path: &[&str]| message.text(path).filter(|text| is_id(text));
        let agent = &asked.policy.agent;
        let own_id = agent.ids.first()?;
        let sender = id(&["source", "id"])?;
        let message_id = id(&["message_id"])?;
        let sender_type = message.text(&["source", "type"]);
        let words = &asked.policy.vocabulary.party_type;
        let is_https = asked
            .policy
            .public_url
            .as_deref()
            .is_some_and(|url| url.starts_with("https:"));
        Some(Self {
            uai_version: "1.0",
            profile: "uai.error.v1",
            message_id: format!("msg_{}", asked.id),
            source: Party {
                r#type: "agent",
                id: own_id,
                label: &agent.label,
            },
            target: Party {
                r#type: words.iter().find(|word| Some(word.as_str()) == sender_type)?,
                id: sender,
                label: sender,
            },
            conversation: Conversation {
                conversation_id: id(&["conversation", "conversation_id"])?,
                turn_id: format!("turn_{}", asked.id),
                parent_message_id: message_id,
                sequence: 0,
                correlation_id: id(&["conversation", "correlation_id"]).unwrap_or(message_id),
            },
            delivery: Delivery {
                mode: "sync",
                priority: "interactive",
                reply_requested: false,
                ack_required: false,
                idempotency_key: format!("idem_{}", asked.id),
                fallback_directive: problem.retry.how,
            },
            trust: match asked.key {
                Some(_) => Trust {
                    channel: "signed-envelope",
                    auth_scheme: "jws",
                    signature_ref: None,
                },
                None => Trust {
                    channel: "public-web",
                    auth_scheme: if is_https { "https" } else { "none" },
                    signature_ref: None,
                },
            },
            body: problem.body(),
            provenance: Provenance {
                trace_id: format!("trace_{}", asked.id),
                issued_at: format!("{:.6}", asked.now),
                agent_id: own_id,
                lineage: [],
            },
            integrity: Integrity {
                version: 1,
                algorithm: "sha256",
                canonicalization: "jcs",
                checksum: None,
            },
            extensions: [],
        })
    }
}
