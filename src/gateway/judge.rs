//! From bytes to a permit: reads the message, notes what the record says of it, and asks `decide`.

use std::time::Duration;

use bytes::Bytes;

use super::case::Case;
use super::proven::{self, Proven};
use super::{prove, security};
use crate::contract::Stage;
use crate::decide::{self, Observed, Permit, Question, Refusal, Verdict};
use crate::facts::{Fact, Facts, Proof};
use crate::message::canonical::sha256_hex;
use crate::message::envelope::{Envelope, Form, Message};
use crate::message::is_id;
use crate::policy::{BackendView, Body, Route};
use crate::record::Subject;
use crate::rules::Input;

/// A request that may pass, and what the backend leg needs to know of its message.
#[derive(Debug)]
pub struct Judged {
    /// The right to forward it.
    pub permit: Permit,
    /// What it asks of its answer.
    pub question: Question,
    /// `delivery.timeout_ms`.
    pub timeout: Option<Duration>,
    /// Its profile, once stages 5 to 8 found nothing.
    pub profile: Option<String>,
    /// Its digest, once stages 5 to 8 found nothing.
    pub digest: Option<String>,
    /// The keyed form of a keyless message, where the route says that the backend gets that.
    pub keyed: Option<Bytes>,
    /// Whose authority it has; nobody's, where stages 5 to 10 would refuse it.
    pub proven: Option<Proven>,
}

/// Stages 3 to 15, of a request to this path.
///
/// # Errors
/// The refusal of the first stage that fails.
pub async fn judge(case: &mut Case, route: &Route, path: &str, facts: &Facts<'_>) -> Result<Judged, Refusal> {
    let bytes = case.bytes.clone();
    let policy = std::sync::Arc::clone(&case.policy);
    case.subject().body_digest = Some(sha256_hex(&bytes));
    proven::note(case.subject(), &policy, facts);
    let mut proof = Fact::Absent;
    let (verdict, mut judged) = match &route.body {
        Body::Messages(declared) => {
            case.reach(Stage::Json);
            let message = decide::read(&bytes, &policy, case.form, &declared.envelopes)?;
            note(case.subject(), &message, facts, |profile| {
                policy
                    .schemas
                    .knows(profile)
                    .then(|| policy.schemas.digest(profile).map(str::to_owned))
            });
            if message.envelope() == Envelope::Delivery {
                let schema = declared.payload_schema();
                case.subject().schema_digest = schema
                    .and_then(|name| policy.schemas.payload_digest(name))
                    .map(str::to_owned);
            }
            case.reach(Stage::Addressing);
            let input = Input {
                policy: &policy,
                route,
                declared,
                message: &message,
                facts,
            };
            let verdict = match decide::screen(&input) {
                Ok(screened) => {
                    case.reach(Stage::Signature);
                    proof = prove::proof(case, route, path, &message, facts).await;
                    let facts = Facts {
                        proof: by_reference(&proof),
                        ..*facts
                    };
                    let facts = &facts;
                    decide::conclude(&Input { facts, ..input }, screened)
                }
                Err(verdict) => verdict,
            };
            (verdict, Unpermitted::of(&message, declared.backend_view))
        }
        Body::Legacy | Body::Read => {
            if let Fact::Known(key) = facts.idempotency_key {
                case.subject().idempotency_key = Some(key.to_owned());
            }
            case.reach(Stage::Schema);
            (decide::decide_plain(&policy, route, facts), Unpermitted::default())
        }
    };
    let facts = &Facts {
        proof: by_reference(&proof),
        ..*facts
    };
    proven::note(case.subject(), &policy, facts);
    let mut authority = Proven::of(&policy, facts);
    let permit = match verdict {
        Verdict::Allow(permit) => permit,
        Verdict::Observed(Observed { permit, would }) => {
            // Of a message that would be refused, nothing is proven but what stands before the refusal.
            if would
                .as_ref()
                .is_some_and(|refusal| refusal.rule().stage() <= Stage::Integrity)
            {
                judged.profile = None;
                judged.digest = None;
            }
            if let Some(refusal) = &would {
                security::note(case, refusal, &proof);
            }
            let is_judged = route.messages().is_some();
            if would.as_ref().is_some_and(|refusal| unproven_by(refusal, is_judged)) {
                authority = None;
            }
            case.would = Some(would);
            permit
        }
        Verdict::Refused(refusal) => {
            security::note(case, &refusal, &proof);
            return Err(refusal);
        }
    };
    case.decided();
    Ok(Judged {
        permit,
        question: judged.question,
        timeout: judged.timeout,
        profile: judged.profile,
        digest: judged.digest,
        keyed: judged.keyed,
        proven: authority,
    })
}

fn by_reference(proof: &Fact<Proof>) -> Fact<&Proof> {
    match proof {
        Fact::Known(proof) => Fact::Known(proof),
        Fact::Absent => Fact::Absent,
        Fact::Unavailable => Fact::Unavailable,
    }
}

/// Whether what an enforcing route would have refused leaves it open whose authority the request has: of a message that
/// fails before stage 9 the signature was not verified, and without an envelope there is none.
fn unproven_by(refusal: &Refusal, is_message: bool) -> bool {
    let stage = refusal.rule().stage();
    stage == Stage::Authority || (is_message && stage < Stage::Authority)
}

/// What is taken from a message before it is known whether it may pass.
#[derive(Default)]
struct Unpermitted {
    question: Question,
    timeout: Option<Duration>,
    profile: Option<String>,
    digest: Option<String>,
    keyed: Option<Bytes>,
}

impl Unpermitted {
    fn of(message: &Message<'_>, view: BackendView) -> Self {
        let timeout = message
            .at(&["delivery", "timeout_ms"])
            .and_then(|node| node.number()?.integer())
            .and_then(|millis| u64::try_from(millis).ok())
            .filter(|millis| *millis > 0);
        Self {
            question: Question::of(message),
            timeout: timeout.map(Duration::from_millis),
            profile: message.profile().map(str::to_owned),
            digest: Some(message.digest().to_owned()),
            keyed: match (message.form(), view) {
                (Form::Keyless, BackendView::Keyed) => Some(message.keyed().into()),
                (Form::Keyless, BackendView::Received) | (Form::Keyed, _) => None,
            },
        }
    }
}

/// What the record says of a message: only what is known to be a name or an id (contract §15).
fn note(
    subject: &mut Subject,
    message: &Message<'_>,
    facts: &Facts<'_>,
    known: impl Fn(&str) -> Option<Option<String>>,
) {
    let id = |text: Option<&str>| text.filter(|text| is_id(text)).map(str::to_owned);
    subject.envelope = Some(message.envelope().name());
    subject.message_digest = Some(message.digest().to_owned());
    subject.message_id = id(message.id());
    subject.sender = id(message.sender());
    // Of a delivery envelope the field is the key, else its own (contract §8).
    subject.idempotency_key = match (message.envelope(), facts.idempotency_key) {
        (Envelope::Delivery, Fact::Known(key)) => Some(key.to_owned()),
        (Envelope::Delivery | Envelope::Canonical, _) => id(message.text(message.key_path())),
    };
    if let Some((profile, digest)) = message.profile().and_then(|profile| Some((profile, known(profile)?))) {
        subject.profile = Some(profile.to_owned());
        subject.schema_digest = digest;
    }
}
