//! The one place that owns statuses and bodies of the gateway's own answers (contract §5).
//!
//! A refusal becomes problem+json, `uai.error.v1` or two keys. Nothing in an answer is a value from the message, except
//! ids that match the id pattern.

mod challenge;
mod fields;
mod problem;
mod retry;
mod uai_error;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Response, StatusCode};
use serde::Serialize;
use uuid::Uuid;

use crate::contract::{Outcome, Rule};
use crate::decide::Refusal;
use crate::message::envelope::Message;
use crate::policy::{Policy, Route};
use crate::state::answer::Answer;
use crate::trust::sign::SigningKey;
use problem::Problem;

/// The field that names the verdict, on every answer.
pub const UAI_VERDICT: HeaderName = HeaderName::from_static("uai-verdict");

/// Says that an answer was given before.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// What an answer needs to know besides the refusal.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Verdict id.
    pub id: Uuid,
    /// The policy that judged it.
    pub policy: &'a Policy,
    /// The route, once it is known.
    pub route: Option<&'a Route>,
    /// Methods the path is declared with, for 405.
    pub allowed: &'a [&'a str],
    /// Whether `Accept` asks for `application/uai+json`.
    pub accepts_uai: bool,
    /// Canonical digest of the message, once stage 4 passed; the evidence a sender can compare.
    pub digest: Option<&'a str>,
    /// The message, once stage 4 passed; `uai.error.v1` is used only for refusals after stage 7.
    pub message: Option<&'a Message<'a>>,
    /// The gateway's own key, when it has one, for a `uai.error.v1`.
    pub key: Option<&'a SigningKey>,
    /// Now, for `issued_at` of a `uai.error.v1`.
    pub now: jiff::Timestamp,
    /// Whether the client's body is left unread on HTTP/1.1, so that the connection must close.
    pub close: bool,
    /// Whether the client's DPoP proof was good but for its nonce, which the answer gives.
    pub wants_nonce: bool,
    /// Whether records can be written ([`crate::record::Sink::is_sound`]), for `evidence.recorded`.
    pub recorded: bool,
}

/// The answer to a refusal: problem+json, `uai.error.v1` or two keys, with every field contract §5 asks for.
pub fn refuse(refusal: &Refusal, asked: &Asked<'_>) -> Response<Bytes> {
    let problem = Problem::new(refusal, asked);
    let (media_type, body) = if asked.route.is_some_and(|route| route.level.answers_two_keys()) {
        let url = problem.review_url.map_or_else(|| problem.page.clone(), str::to_owned);
        ("application/json", two_keys(refusal.outcome, &url))
    } else {
        match uai_error::seal(&problem, refusal, asked) {
            Some(sealed) => ("application/uai+json", sealed),
            None => ("application/problem+json", json(&problem.document())),
        }
    };
    let mut response = own(
        asked.id,
        refusal.outcome,
        status_here(refusal.rule(), asked),
        media_type,
        body,
    );
    fields::add(response.headers_mut(), refusal, asked);
    response
}

/// The two-key answer to an allowed request on a route of level L0 to L2: `{"code":"ok","url":…}` with the backend's
/// status, or the observed one with `outcome` `observed`.
pub fn two_keys_ok(id: Uuid, outcome: Outcome, status: StatusCode, url: &str) -> Response<Bytes> {
    own(id, outcome, status, "application/json", two_keys(outcome, url))
}

/// A stored answer as a retry gets it (contract §8).
pub fn stored(answer: &Answer) -> Response<Bytes> {
    let mut response = Response::new(answer.body.clone().unwrap_or_default());
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.clone_from(&answer.fields);
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// The value of `UAI-Verdict`: `"<id>";verdict=<word>` (RFC 9651).
pub fn verdict_field(id: Uuid, outcome: Outcome) -> HeaderValue {
    let text = format!("\"{id}\";verdict={}", outcome.name());
    HeaderValue::try_from(text).unwrap_or_else(|_never| HeaderValue::from_static("\"\""))
}

/// The HTTP status of a rule; contract §6.2 gives each rule one.
pub fn status(rule: Rule) -> StatusCode {
    StatusCode::from_u16(rule.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// The status where it is told: 401 asks for credentials in a header field, so without a challenge to give, as on a
/// route that takes only client certificates, it is 403 (contract §5).
fn status_here(rule: Rule, asked: &Asked<'_>) -> StatusCode {
    match status(rule) {
        StatusCode::UNAUTHORIZED if challenge::of(rule, asked).is_empty() => StatusCode::FORBIDDEN,
        status => status,
    }
}

/// An answer that the gateway makes itself.
fn own(id: Uuid, outcome: Outcome, status: StatusCode, media_type: &'static str, body: Vec<u8>) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(UAI_VERDICT, verdict_field(id, outcome));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// The two keys of contract §5, nothing else.
fn two_keys(outcome: Outcome, url: &str) -> Vec<u8> {
    #[derive(Serialize)]
    struct TwoKeys<'a> {
        code: &'static str,
        url: &'a str,
    }
    let code = match outcome {
        Outcome::Allow | Outcome::Replayed | Outcome::Observed => "ok",
        Outcome::Held | Outcome::NoOp => "human_review_required",
        Outcome::Rejected | Outcome::Throttled | Outcome::Unavailable | Outcome::Aborted => "rejected",
    };
    json(&TwoKeys { code, url })
}

/// JSON text. Strings and numbers always serialise, so the empty body stands for what cannot happen.
fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

#[cfg(test)]
mod tests;
