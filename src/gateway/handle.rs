//! The story of one request, read from top to bottom. Every `?` ends it with a typed refusal.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response};
use http_body::Body as _;
use hyper::body::Incoming;
use tokio::sync::oneshot;

use super::admit::{self, Passage};
use super::body::{self, AnswerBody, Unread};
use super::case::{Case, Ending, Place, Stop};
use super::guard::guarded;
use super::headers::{Own, forwarded};
use super::judge::{Judged, judge};
use super::{Gate, Seat, answer, credentials, gather, intake, reply};
use crate::contract::{Finding, Rule, Stage};
use crate::decide::{Permit, Question, Refusal};
use crate::policy::Route;
use crate::state::plan::Plan;
use crate::upstream::{Outgoing, Wanted};

/// What becomes of one request.
#[derive(Debug)]
pub struct Handled {
    /// The answer.
    pub response: Response<AnswerBody>,
    /// The client may still be sending a body that nobody reads.
    pub unread: bool,
}

/// Answers one request and leaves its one record, whatever happens; `None` when the client left.
pub async fn handle(gate: &Arc<Gate>, peer: IpAddr, request: Request<Incoming>) -> Option<Handled> {
    let mut case = Case::open(gate, peer);
    let judged = match guarded(judged(&mut case, request)).await {
        Ok(Ok(Step::Go(judged))) => judged,
        Ok(Ok(Step::Answer(response))) => return end(case, Ok(Ok(response))),
        Ok(Err(stop)) => return end(case, Ok(Err(stop))),
        Err(panicked) => return end(case, Err(panicked)),
    };
    if !judged.runs_alone(&case) {
        let ending = guarded(admitted(&mut case, *judged)).await;
        return end(case, ending);
    }
    // What is remembered is brought to its end, also when its client leaves: its answer is what a retry gets.
    let permit = gate.detach().await;
    let (answer, client) = oneshot::channel();
    tokio::spawn(async move {
        let ending = guarded(admitted(&mut case, *judged)).await;
        if answer.is_closed() {
            drop(case);
        } else {
            drop(answer.send(end(case, ending)));
        }
        drop(permit);
    });
    client.await.ok().flatten()
}

fn end(mut case: Case, ending: Ending) -> Option<Handled> {
    case.settle(&ending);
    let unread = case.is_unread();
    let response = case.close(ending)?;
    Some(Handled { response, unread })
}

/// Answers a head that HTTP itself could not read.
pub fn refuse_head(gate: &Arc<Gate>, peer: IpAddr, rule: Rule, detail: &'static str) -> Response<Bytes> {
    Case::open(gate, peer).refuse(&Refusal::new(Finding::new(rule, detail)))
}

/// Records a request that ended inside its head.
pub fn abandon(gate: &Arc<Gate>, peer: IpAddr) {
    drop(Case::open(gate, peer));
}

/// Where a request stands once stages 1 to 12 passed.
enum Step {
    /// It is answered without the backend.
    Answer(Response<AnswerBody>),
    /// It may be admitted.
    Go(Box<Ready>),
}

/// A request that was judged, with everything its way to the backend needs.
struct Ready {
    route: Arc<Route>,
    seat: Seat,
    permit: Permit,
    question: Question,
    plan: Option<Plan>,
    outgoing: Outgoing,
    wanted: Wanted,
    deadline: Duration,
}

impl Ready {
    /// Whether it goes on without its client: something is remembered of it that has to be settled.
    fn runs_alone(&self, case: &Case) -> bool {
        case.would.is_none() && self.plan.as_ref().is_some_and(Plan::runs)
    }
}

async fn judged(case: &mut Case, request: Request<Incoming>) -> Result<Step, Stop> {
    let (head, body) = request.into_parts();
    case.meet(&head, !body.is_end_stream());

    // Stage 1: one reading of the head, one declared place.
    intake::head(&head, &case.policy)?;
    let route = match case.place(&head)? {
        Place::Problem(name) => return Ok(Step::Answer(case.problem(&name, &head)?)),
        Place::Capability(signed) => return Ok(Step::Answer(case.capability(&signed))),
        Place::Route(route) => route,
    };
    intake::declared(&head, &route)?;

    // Stage 2: the rates of peer and route, and a seat among the requests in progress.
    case.reach(Stage::Limits);
    case.gate
        .rates
        .ask(&case.gate.policy.current(), case.peer, &route.name)?;
    let seat = case.gate.seat(case.policy.limits.in_flight)?;

    // Stage 2b: nobody claims an authority by header, and who presents the request is proven.
    case.reach(Stage::Credentials);
    intake::claims(&head.headers)?;
    credentials::prove(case, &head, &route).await?;

    // The body, bounded in size and time.
    let bytes = read(body, &route, case).await?;
    case.has_read(bytes);

    // Stages 3 to 12 and 15: the message, the facts, its signature, the verdict.
    let gate = Arc::clone(&case.gate);
    let presented = case.presented.clone();
    let facts = gather::facts(&gate, &head.headers, &case.policy, presented.as_deref());
    let judged = judge(case, &route, &head, &facts).await?;
    gate.ledger()?;

    let outgoing = outgoing(case, &head, &route, &judged);
    let limit = case.policy.limits.answer;
    let wanted = match (route.is_read(), head.method == Method::HEAD) {
        (false, _) => Wanted::Whole(limit),
        (true, false) => Wanted::Stream {
            is_judged: reply::is_message,
            limit,
        },
        (true, true) => Wanted::Stream {
            is_judged: |_| false,
            limit,
        },
    };
    Ok(Step::Go(Box::new(Ready {
        deadline: admit::deadline(&route, judged.timeout),
        route,
        seat,
        permit: judged.permit,
        question: judged.question,
        plan: judged.plan,
        outgoing,
        wanted,
    })))
}

async fn admitted(case: &mut Case, ready: Ready) -> Result<Response<AnswerBody>, Stop> {
    // Stage 13: what was seen before does not go on; what is new is remembered first.
    case.reach(Stage::Replay);
    let ticket = match admit::admit(case, ready.plan, ready.deadline).await? {
        Passage::Run(ticket) => ticket,
        Passage::Stored(response) => {
            case.decided();
            return Ok(response);
        }
    };
    case.decided();

    // Stage 16: the permit and the very bytes that were judged.
    case.reach(Stage::Forward);
    let gate = Arc::clone(&case.gate);
    let sent = gate.clock.instant();
    let answered = gate
        .upstream
        .forward(
            ready.permit,
            &case.policy.backend,
            ready.outgoing,
            ready.wanted,
            ready.deadline,
        )
        .await;
    case.backend = Some(gate.clock.instant().saturating_duration_since(sent));

    // Stage 17: what the backend said is judged too, and stored before anybody is told.
    case.reach(Stage::Answer);
    let answer = match answered {
        Ok(answer) => answer,
        Err(failure) => return Err(admit::unanswered(case, ticket, failure, reply::failed(failure)).await),
    };
    match reply::checked(case, &ready.route, &ready.question, answer, ready.seat) {
        Ok(response) => {
            admit::finished(case, ticket, &response).await;
            Ok(response)
        }
        Err(refusal) => Err(admit::withheld(case, ticket, refusal).await),
    }
}

/// A read brings no body; anything else brings at most what its route takes.
async fn read(body: Incoming, route: &Route, case: &Case) -> Result<Bytes, Stop> {
    let limit = if route.is_read() { 0 } else { route.body_limit };
    let finding = match body::read(body, limit, case.policy.deadlines.body).await {
        Ok(bytes) => return Ok(bytes),
        Err(Unread::Left) => return Err(Stop::Left),
        Err(Unread::Refused(finding)) if route.is_read() && finding.rule == Rule::JsonSize => {
            Finding::new(Rule::HttpFraming, "expected no body on a route that is read")
        }
        Err(Unread::Refused(finding)) => finding,
    };
    Err(Stop::Refused(Refusal::new(finding)))
}

fn outgoing(case: &Case, head: &Parts, route: &Route, judged: &Judged) -> Outgoing {
    let clock = &case.gate.clock;
    let own = Own {
        verdict: answer::verdict_field(case.id, case.passing()),
        profile: judged.profile.as_deref(),
        digest: judged.digest.as_deref(),
        proven: judged.proven.as_ref(),
        new_trace: clock.id().simple().to_string(),
        // The second half of a version 7 id is random.
        span: clock.id().simple().to_string().chars().skip(16).collect(),
        is_keyed_view: judged.keyed.is_some(),
    };
    Outgoing {
        method: head.method.clone(),
        path: head.uri.path().to_owned(),
        headers: forwarded(&head.headers, route, &case.policy, &own),
        body: judged.keyed.as_ref().unwrap_or(&case.bytes).clone(),
    }
}
