//! Stage 13: what of a request is remembered, the one commit that admits it, and what becomes of it after the backend
//! was called (contract §8).

use std::time::Duration;

use http::request::Parts;
use http::{Response, header};

use super::answer;
use super::body::AnswerBody;
use super::case::{Case, Stop};
use crate::contract::{Finding, Rule};
use crate::decide::Refusal;
use crate::facts::{Fact, Facts};
use crate::message::canonical::sha256_hex;
use crate::message::envelope::Message;
use crate::policy::{Body, Route};
use crate::rules::idempotency;
use crate::state::admission::Admitted;
use crate::state::answer::Answer;
use crate::state::fingerprint;
use crate::state::plan::{Around, Plan};
use crate::state::ticket::{Ticket, Unsettled};
use crate::upstream::Failure;

/// What is remembered of a message; `None` while the time is not known, which only an observe route lets pass.
pub fn of_message(
    case: &Case,
    route: &Route,
    facts: &Facts<'_>,
    timeout: Option<Duration>,
    message: &Message<'_>,
) -> Option<Plan> {
    let around = around(case, route, facts, deadline(route, timeout))?;
    Some(Plan::of_message(&around, message, idempotency::key(facts).as_deref()))
}

/// What is remembered of a request without an envelope: the key, where the route wants one, and a proof.
pub fn of_request(case: &Case, route: &Route, facts: &Facts<'_>, head: &Parts) -> Option<Plan> {
    let around = around(case, route, facts, route.deadline)?;
    let key = match route.body {
        Body::Legacy if route.idempotency_required => idempotency::key(facts),
        Body::Legacy | Body::Read | Body::Messages(_) => None,
    };
    let fingerprint = match key {
        None => [0; 16],
        Some(_) => fingerprint::of_request(
            head.method.as_str(),
            head.uri.path(),
            &media_type(head),
            &sha256_hex(&case.bytes),
        ),
    };
    Some(Plan::of_request(&around, key.as_deref(), fingerprint))
}

/// How long the backend has: what the route gives, or less where the message asks for less.
pub fn deadline(route: &Route, timeout: Option<Duration>) -> Duration {
    timeout.map_or(route.deadline, |timeout| timeout.min(route.deadline))
}

fn around<'a>(case: &'a Case, route: &'a Route, facts: &'a Facts<'a>, deadline: Duration) -> Option<Around<'a>> {
    let Fact::Known(now) = facts.now else {
        return None;
    };
    // The last eight bytes of a version 7 id are random.
    let (_, random) = case.id.as_bytes().split_last_chunk::<8>()?;
    Some(Around {
        policy: &case.policy,
        route,
        facts,
        now,
        deadline,
        owner: *random,
        proof: case.proof,
    })
}

/// The media type without its parameters, in lower case.
fn media_type(head: &Parts) -> String {
    let field = head.headers.get(header::CONTENT_TYPE);
    let essence = field.and_then(|value| value.as_bytes().split(|byte| *byte == b';').next());
    String::from_utf8_lossy(essence.unwrap_or_default().trim_ascii()).to_ascii_lowercase()
}

/// A request that stage 13 let through: with a ticket where something has to be settled, without one on an observe route.
#[derive(Debug)]
pub enum Passage {
    /// It may run.
    Run(Option<Ticket>),
    /// The stored answer.
    Stored(Response<AnswerBody>),
}

/// Stage 13. An observe route is only looked at.
///
/// # Errors
/// `auth.dpop`, `idempotency.*`, `replay.*`, `state.*`; `clock.unsteady` when something has to be remembered at a time that
/// nobody knows.
pub async fn admit(case: &mut Case, plan: Option<Plan>, deadline: Duration) -> Result<Passage, Refusal> {
    let is_observed = case.would.is_some();
    let Some(plan) = plan else {
        if is_observed {
            return Ok(Passage::Run(None));
        }
        let detail = "expected a clock that does not run backwards";
        return Err(Refusal::new(Finding::new(Rule::ClockUnsteady, detail)));
    };
    if plan.is_empty() {
        return Ok(Passage::Run(None));
    }
    if is_observed {
        observe(case, &plan, deadline).await;
        return Ok(Passage::Run(None));
    }
    match case.gate.keeper.admit(plan, deadline).await.map_err(Refusal::new)? {
        Admitted::Run(ticket) => Ok(Passage::Run(Some(*ticket))),
        Admitted::Replayed(stored) => {
            case.replayed = true;
            Ok(Passage::Stored(answer::stored(&stored).map(AnswerBody::whole)))
        }
    }
}

/// What stage 13 would have said, unless an earlier one would have said something.
async fn observe(case: &mut Case, plan: &Plan, deadline: Duration) {
    if !matches!(case.would, Some(None)) {
        return;
    }
    match case.gate.keeper.look(plan, deadline).await {
        Ok(None) => {}
        Ok(Some(_)) => case.subject().would_replay = true,
        Err(finding) => case.would = Some(Some(Refusal::new(finding))),
    }
}

/// The backend gave no answer: what was not sent is free again, what may have been seen is not.
pub async fn unanswered(case: &Case, ticket: Option<Ticket>, failure: Failure, refusal: Refusal) -> Stop {
    let Some(ticket) = ticket else {
        return Stop::Refused(refusal);
    };
    let now = case.gate.clock.now();
    match failure {
        Failure::Unreachable => told(case, ticket.withdraw(now).await),
        Failure::Lost | Failure::Timeout => told(case, ticket.lost(now).await),
        Failure::TooLarge => return withheld(case, Some(ticket), refusal).await,
    }
    Stop::Refused(refusal)
}

/// The backend answered, and its answer is not passed on: the refusal is what the client and every retry gets.
pub async fn withheld(case: &Case, ticket: Option<Ticket>, refusal: Refusal) -> Stop {
    let made = case.made(&refusal);
    if let Some(ticket) = ticket {
        let (status, max) = (made.status().as_u16(), ticket.max_body());
        let answer = Answer::of(status, made.headers(), made.body(), max);
        told(case, ticket.finish(answer, case.gate.clock.now()).await);
    }
    Stop::Made(Box::new((refusal, made)))
}

/// The backend answered: its answer is stored before the client gets it.
pub async fn finished(case: &Case, ticket: Option<Ticket>, response: &Response<AnswerBody>) {
    if let Some(ticket) = ticket
        && let Some(body) = response.body().bytes()
    {
        let (status, max) = (response.status().as_u16(), ticket.max_body());
        let answer = Answer::of(status, response.headers(), body, max);
        told(case, ticket.finish(answer, case.gate.clock.now()).await);
    }
}

/// What could not be settled is an event: the client gets its answer all the same, as it is true, and every later request
/// with the key is told that the outcome is unknown.
fn told(case: &Case, settled: Result<(), Unsettled>) {
    if let Err(error) = settled {
        let fields = [("verdict_id", case.id.to_string()), ("reason", error.to_string())];
        let fields = fields.map(|(name, text)| (name.to_owned(), serde_json::Value::String(text)));
        let now = case.gate.clock.now();
        case.gate
            .sink
            .event("unsettled", now, serde_json::Map::from_iter(fields));
    }
}
