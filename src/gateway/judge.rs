//! From bytes to a permit: reads the message, notes what the record says of it, and asks `decide`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;

use super::admit;
use super::case::Case;
use super::proven::{self, Proven};
use super::{prove, security};
use crate::contract::Stage;
use crate::decide::{self, Observed, Permit, Question, Refusal, Verdict};
use crate::facts::{Fact, Facts, Proof};
use crate::message::canonical::sha256_hex;
use crate::message::envelope::{Envelope, Form, Message};
use crate::message::is_id;
use crate::policy::{BackendView, Body, Messages, Route};
use crate::record::Subject;
use crate::rules::Input;
use crate::state::plan::Plan;

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
    /// What is remembered of it; `None` on an observe route that cannot tell the time.
    pub plan: Option<Plan>,
}

/// Stages 3 to 12 and 15.
///
/// # Errors
/// The refusal of the first stage that fails.
pub async fn judge(case: &mut Case, route: &Route, head: &Parts, facts: &Facts<'_>) -> Result<Judged, Refusal> {
    let policy = Arc::clone(&case.policy);
    case.subject().body_digest = Some(sha256_hex(&case.bytes));
    proven::note(case.subject(), &policy, facts);
    let Heard {
        verdict,
        mut judged,
        proof,
    } = match &route.body {
        Body::Messages(declared) => message(case, route, declared, head, facts).await?,
        Body::Legacy | Body::Read => request(case, route, head, facts),
    };
    let facts = &with(facts, &proof);
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
    Ok(Judged {
        permit,
        question: judged.question,
        timeout: judged.timeout,
        profile: judged.profile,
        digest: judged.digest,
        keyed: judged.keyed,
        proven: authority,
        plan: judged.plan,
    })
}

/// What was said of a request, and what was found out on the way.
struct Heard {
    verdict: Verdict,
    judged: Unpermitted,
    proof: Fact<Proof>,
}

/// Stages 3 to 15 of a message, with its signature verified where stages 5 to 8 found nothing.
async fn message(
    case: &mut Case,
    route: &Route,
    declared: &Messages,
    head: &Parts,
    facts: &Facts<'_>,
) -> Result<Heard, Refusal> {
    let bytes = case.bytes.clone();
    let policy = Arc::clone(&case.policy);
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
    let mut proof = Fact::Absent;
    let screened = decide::screen(&input);
    if screened.is_ok() {
        case.reach(Stage::Signature);
        proof = prove::proof(case, route, head.uri.path(), &message, facts).await;
    }
    let facts = &with(facts, &proof);
    let verdict = screened.map_or_else(
        |verdict| verdict,
        |screened| decide::conclude(&Input { facts, ..input }, screened),
    );
    let judged = match verdict {
        Verdict::Refused(_) => Unpermitted::default(),
        Verdict::Allow(_) | Verdict::Observed(_) => {
            let mut judged = Unpermitted::of(&message, declared.backend_view);
            judged.plan = admit::of_message(case, route, facts, judged.timeout, &message);
            judged
        }
    };
    Ok(Heard { verdict, judged, proof })
}

/// The same of a request without an envelope, whose body is not read.
fn request(case: &mut Case, route: &Route, head: &Parts, facts: &Facts<'_>) -> Heard {
    if let Fact::Known(key) = facts.idempotency_key {
        case.subject().idempotency_key = Some(key.to_owned());
    }
    case.reach(Stage::Schema);
    Heard {
        verdict: decide::decide_plain(&case.policy, route, facts),
        judged: Unpermitted {
            plan: admit::of_request(case, route, facts, head),
            ..Unpermitted::default()
        },
        proof: Fact::Absent,
    }
}

/// The facts with what came of the signature.
const fn with<'a>(facts: &Facts<'a>, proof: &'a Fact<Proof>) -> Facts<'a> {
    let proof = match proof {
        Fact::Known(proof) => Fact::Known(proof),
        Fact::Absent => Fact::Absent,
        Fact::Unavailable => Fact::Unavailable,
    };
    Facts { proof, ..*facts }
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
    plan: Option<Plan>,
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
            plan: None,
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
