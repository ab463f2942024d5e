//! One request from its first byte to its record: what is known of it so far, and how it is closed.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, Version};
use uuid::Uuid;

use super::answer::{self, Asked};
use super::body::AnswerBody;
use super::guard::Panicked;
use super::headers::accepts;
use super::{Gate, intake};
use crate::contract::{BackendOutcome, Finding, Outcome, Rule, Stage};
use crate::decide::{self, Refusal};
use crate::message::envelope::Form;
use crate::policy::{Policy, Route, RouteMatch};
use crate::record::{Closing, Entry, Subject};
use crate::state::plan::OneUse;
use crate::trust::own::Signed;
use crate::trust::principal::Presented;

/// Pages of codes, served before the routes (contract §5).
const PROBLEMS: &str = "/.well-known/uai/problems/";

/// What records call the problem pages: a name that no route of a policy can have.
const PROBLEMS_ROUTE: &str = "_problems";

/// The signed capability document, served before the routes by a gate that has a key (contract §2.4).
const CAPABILITY: &str = "/.well-known/uaix.json";

/// What records call it.
const CAPABILITY_ROUTE: &str = "_capability";

/// The field by which a client and the gateway name a revision of the capability document.
const REVISION: HeaderName = HeaderName::from_static("uai-capability-revision");

/// The field by which the gateway gives a nonce for DPoP proofs.
const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// One request. Closed by value; dropped, its record says `aborted`.
#[derive(Debug)]
pub struct Case {
    /// What every request shares.
    pub gate: Arc<Gate>,
    /// The policy that judges this request to its end.
    pub policy: Arc<Policy>,
    /// Verdict id.
    pub id: Uuid,
    /// Who sent it; a proxy in front is one peer.
    pub peer: IpAddr,
    /// The bytes that were judged, once they are read.
    pub bytes: Bytes,
    /// The form that their media type announces.
    pub form: Form,
    /// What an enforcing route would have said, on an observe route.
    pub would: Option<Option<Refusal>>,
    /// The answer is a stored one (contract §8).
    pub replayed: bool,
    /// The transport's proof that is good once, which the admit commit spends.
    pub proof: Option<OneUse>,
    /// Who presents the request, once stage 2b passed.
    pub presented: Option<Arc<Presented>>,
    /// The nonce that DPoP proofs have to use, when the answer gives it.
    pub nonce: Option<String>,
    /// Time at the backend.
    pub backend: Option<Duration>,
    began: Instant,
    decided: Option<Duration>,
    route: Option<Arc<Route>>,
    allowed: Vec<String>,
    accepts_uai: bool,
    asks_revision: bool,
    unread: bool,
    is_http1: bool,
    entry: Entry,
    tally: Tally,
}

/// How a story ends before an answer of the backend.
#[derive(Debug)]
pub enum Stop {
    /// With a typed refusal.
    Refused(Refusal),
    /// With a refusal whose answer is made already, as it is also what is stored.
    Made(Box<(Refusal, Response<Bytes>)>),
    /// The client left.
    Left,
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// An answer, a stop, or a panic.
pub type Ending = Result<Result<Response<AnswerBody>, Stop>, Panicked>;

/// What a path and method ask for.
#[derive(Debug)]
pub enum Place {
    /// A route of the policy.
    Route(Arc<Route>),
    /// The page of the code with this name.
    Problem(String),
    /// The signed capability document.
    Capability(Arc<Signed>),
}

impl Case {
    /// Opens the one record of a request.
    pub fn open(gate: &Arc<Gate>, peer: IpAddr) -> Self {
        let id = gate.clock.id();
        let policy = gate.policy.current();
        let mut entry = Entry::open(&gate.sink, id, gate.clock.now());
        entry.subject.policy_revision = Some(policy.revision.clone());
        entry.subject.stage = Some(Stage::Route);
        Self {
            tally: Tally(Some(Arc::clone(gate))),
            gate: Arc::clone(gate),
            policy,
            id,
            peer,
            bytes: Bytes::new(),
            form: Form::Keyed,
            asks_revision: false,
            would: None,
            replayed: false,
            proof: None,
            presented: None,
            nonce: None,
            backend: None,
            began: gate.clock.instant(),
            decided: None,
            route: None,
            allowed: Vec::new(),
            accepts_uai: false,
            unread: false,
            is_http1: true,
            entry,
        }
    }

    /// Looks at the head as far as the answer depends on it.
    pub fn meet(&mut self, head: &Parts, has_body: bool) {
        self.accepts_uai = accepts(&head.headers, "application/uai+json");
        self.asks_revision = head.headers.contains_key(REVISION);
        self.form = intake::form(&head.headers);
        self.is_http1 = head.version != Version::HTTP_2;
        self.unread = has_body && self.is_http1;
    }

    /// After a request of doubtful framing nothing on its connection can be told apart any more.
    pub fn settle(&mut self, ending: &Ending) {
        if matches!(ending, Ok(Err(Stop::Refused(refusal))) if refusal.rule() == Rule::HttpFraming) {
            self.unread = self.is_http1;
        }
    }

    /// Whether the client's body is left unread, so that the connection has to end with the answer.
    pub const fn is_unread(&self) -> bool {
        self.unread
    }

    /// The body was read to its end.
    pub fn has_read(&mut self, bytes: Bytes) {
        self.unread = false;
        self.bytes = bytes;
    }

    /// What the record says of the request.
    pub const fn subject(&mut self) -> &mut Subject {
        &mut self.entry.subject
    }

    /// The story goes on to this stage.
    pub const fn reach(&mut self, stage: Stage) {
        self.entry.subject.stage = Some(stage);
    }

    /// The verdict stands; what follows is the backend's time.
    pub fn decided(&mut self) {
        self.decided = Some(self.elapsed());
    }

    /// The end of stage 1 that finds a place for a path and method (contract §12).
    ///
    /// # Errors
    /// `route.undeclared` or `route.method`.
    pub fn place(&mut self, head: &Parts) -> Result<Place, Refusal> {
        let path = head.uri.path();
        let method = head.method.as_str();
        if let Some(name) = path.strip_prefix(PROBLEMS) {
            self.own_place(head, PROBLEMS_ROUTE)?;
            return Ok(Place::Problem(name.to_owned()));
        }
        let policy = Arc::clone(&self.policy);
        if path == CAPABILITY {
            // Without a key there is no document: what is unsigned is not served.
            let signed = self.gate.own.document(&policy, self.gate.clock.now());
            let signed = signed.ok_or_else(undeclared)?;
            self.own_place(head, CAPABILITY_ROUTE)?;
            return Ok(Place::Capability(signed));
        }
        match policy.route(path, method) {
            RouteMatch::Found(route) => {
                let subject = &mut self.entry.subject;
                subject.route = Some(route.name.clone());
                subject.mode = Some(route.mode.name());
                subject.level = Some(route.level.name());
                self.route = Some(Arc::clone(route));
                Ok(Place::Route(Arc::clone(route)))
            }
            RouteMatch::WrongMethod(allowed) => {
                Err(self.wrong_method(allowed.into_iter().map(str::to_owned).collect()))
            }
            RouteMatch::Undeclared => Err(undeclared()),
        }
    }

    /// A document of the gateway's own is read, without a query.
    fn own_place(&mut self, head: &Parts, route: &str) -> Result<(), Refusal> {
        self.entry.subject.route = Some(route.to_owned());
        if head.method != Method::GET && head.method != Method::HEAD {
            return Err(self.wrong_method(vec!["GET".to_owned(), "HEAD".to_owned()]));
        }
        intake::no_query(&head.uri)
    }

    /// The signed capability document.
    pub fn capability(&self, signed: &Signed) -> Response<AnswerBody> {
        (self.gate.pages.capability)(signed, self.gate.clock.now()).map(AnswerBody::whole)
    }

    /// The page of a code.
    ///
    /// # Errors
    /// `route.undeclared` for a name that is no code.
    pub fn problem(&self, name: &str, head: &Parts) -> Result<Response<AnswerBody>, Refusal> {
        (self.gate.pages.problem)(name, accepts(&head.headers, "text/html"))
            .map(|page| page.map(AnswerBody::whole))
            .ok_or_else(undeclared)
    }

    /// `allow`, `replayed`, or `observed` on an observe route.
    pub const fn passing(&self) -> Outcome {
        match self.would {
            Some(_) => Outcome::Observed,
            None if self.replayed => Outcome::Replayed,
            None => Outcome::Allow,
        }
    }

    /// Closes the record, then gives the answer; `None` when nobody waits for one.
    pub fn close(self, ending: Ending) -> Option<Response<AnswerBody>> {
        let refusal = match ending {
            Ok(Ok(mut response)) => {
                let outcome = self.passing();
                let field = answer::verdict_field(self.id, outcome);
                response.headers_mut().insert(answer::UAI_VERDICT, field);
                self.tell_revision(response.headers_mut());
                self.tell_nonce(response.headers_mut());
                self.write(outcome, None, response.status().as_u16());
                return Some(response);
            }
            Ok(Err(Stop::Refused(refusal))) => refusal,
            Ok(Err(Stop::Made(made))) => {
                let (refusal, response) = *made;
                return Some(self.refused(&refusal, response).map(AnswerBody::whole));
            }
            Ok(Err(Stop::Left)) => return None,
            Err(Panicked) => self.panicked(),
        };
        Some(self.refuse(&refusal).map(AnswerBody::whole))
    }

    /// Closes the record with a refusal, then gives the answer.
    pub fn refuse(self, refusal: &Refusal) -> Response<Bytes> {
        let response = self.made(refusal);
        self.refused(refusal, response)
    }

    fn refused(mut self, refusal: &Refusal, response: Response<Bytes>) -> Response<Bytes> {
        self.would = None;
        self.write(refusal.outcome, Some(refusal), response.status().as_u16());
        response
    }

    /// The answer to a refusal.
    pub fn made(&self, refusal: &Refusal) -> Response<Bytes> {
        let route = self.route.clone();
        let policy = Arc::clone(&self.policy);
        let bytes = self.bytes.clone();
        let allowed: Vec<&str> = self.allowed.iter().map(String::as_str).collect();
        // Only this rare answer speaks of the message once more, so it is read once more.
        let wants_message = self.accepts_uai && refusal.rule().stage() > Stage::Schema && self.passed_schema();
        let declared = route.as_ref().and_then(|route| route.messages());
        let envelopes = declared.map_or(&[][..], |declared| &declared.envelopes);
        let message = wants_message
            .then(|| decide::read(&bytes, &policy, self.form, envelopes).ok())
            .flatten();
        let digest = self.entry.subject.message_digest.clone();
        let key = message.is_some().then(|| self.gate.own.key()).flatten();
        let mut response = answer::refuse(
            refusal,
            &Asked {
                id: self.id,
                policy: &policy,
                route: route.as_deref(),
                allowed: &allowed,
                accepts_uai: self.accepts_uai,
                digest: digest.as_deref(),
                message: message.as_ref(),
                key: key.as_deref(),
                now: self.gate.clock.now(),
                close: self.unread,
                wants_nonce: self.presented.is_none() && self.nonce.is_some(),
                recorded: self.gate.sink.is_sound(),
            },
        );
        self.tell_revision(response.headers_mut());
        self.tell_nonce(response.headers_mut());
        response
    }

    /// A client that names a capability revision learns the current one (contract §2.4).
    fn tell_revision(&self, headers: &mut HeaderMap) {
        if self.asks_revision
            && let Ok(current) = HeaderValue::try_from(self.policy.capability_revision.as_str())
        {
            headers.insert(REVISION, current);
        }
    }

    /// A client whose proofs need a nonce learns the one to use next (RFC 9449 §8).
    fn tell_nonce(&self, headers: &mut HeaderMap) {
        if let Some(Ok(nonce)) = self.nonce.as_deref().map(HeaderValue::try_from) {
            headers.insert(DPOP_NONCE, nonce);
        }
    }

    /// Whether what was read is a message that nothing up to stage 7 would refuse, once a later stage decides.
    fn passed_schema(&self) -> bool {
        let would = self.would.as_ref().and_then(Option::as_ref);
        self.route.as_ref().is_some_and(|route| route.messages().is_some())
            && would.is_none_or(|refusal| refusal.rule().stage() > Stage::Schema)
    }

    fn panicked(&self) -> Refusal {
        let backend = match self.entry.subject.stage {
            Some(stage) if stage >= Stage::Forward => BackendOutcome::Unknown,
            Some(_) | None => BackendOutcome::NotSent,
        };
        Refusal::new(Finding::new(
            Rule::InternalPanic,
            "the gateway failed on this request; it serves on",
        ))
        .after(backend)
    }

    fn write(mut self, outcome: Outcome, refusal: Option<&Refusal>, status: u16) {
        self.tally.0 = None;
        let decision = self.decided.unwrap_or_else(|| self.elapsed());
        self.gate.metrics.verdict(
            outcome,
            refusal.map(|refusal| refusal.rule().code()),
            self.entry.subject.route.as_deref(),
            self.entry.subject.profile.as_deref(),
            decision,
        );
        self.entry.close(&Closing {
            outcome,
            refusal,
            would: self.would.as_ref().map(Option::as_ref),
            status,
            decision,
            backend: self.backend,
        });
    }

    fn wrong_method(&mut self, allowed: Vec<String>) -> Refusal {
        let detail = format!("expected one of: {}", allowed.join(", "));
        self.allowed = allowed;
        Refusal::new(Finding::new(Rule::RouteMethod, detail))
    }

    fn elapsed(&self) -> Duration {
        self.gate.clock.instant().saturating_duration_since(self.began)
    }
}

fn undeclared() -> Refusal {
    Refusal::new(Finding::new(
        Rule::RouteUndeclared,
        "expected a path that the policy declares",
    ))
}

/// Counts a case that is dropped without an answer; emptied when the case is closed.
#[derive(Debug)]
struct Tally(Option<Arc<Gate>>);

impl Drop for Tally {
    fn drop(&mut self) {
        if let Some(gate) = self.0.take() {
            gate.metrics.verdict(Outcome::Aborted, None, None, None, Duration::ZERO);
        }
    }
}
