//! Stage 17: what the client gets of the backend's answer (contract §5 "Two keys", §14 "The answer").

use bytes::Bytes;
use http::response::Parts;
use http::{HeaderMap, Response, header};

use super::Seat;
use super::answer;
use super::body::AnswerBody;
use super::case::Case;
use super::headers::answered;
use crate::contract::{BackendOutcome, Finding, Pointer, Rule};
use crate::decide::{self, Question, Refusal};
use crate::message::envelope::{Envelope, Form, KEYLESS_TYPE};
use crate::message::json;
use crate::policy::{BackendView, Integrity, Messages, Policy, ResultUrl, Route};
use crate::upstream::{self, Answer, Failure};

/// The refusal of a backend leg without an answer.
pub fn failed(failure: Failure) -> Refusal {
    let (rule, detail, outcome) = match failure {
        Failure::Unreachable => (
            Rule::BackendUnreachable,
            "no connection to the backend; the backend has not seen it",
            BackendOutcome::NotSent,
        ),
        Failure::Lost => (
            Rule::BackendLost,
            "the connection was lost; the backend may have seen it",
            BackendOutcome::Unknown,
        ),
        Failure::Timeout => (
            Rule::BackendTimeout,
            "no answer in time; the backend may have seen it",
            BackendOutcome::Unknown,
        ),
        Failure::TooLarge => return broken("expected an answer within `limits.answer`"),
    };
    Refusal::new(Finding::new(rule, detail)).after(outcome)
}

/// The answer that the client gets.
///
/// # Errors
/// `backend.contract` on an enforcing route; an observe route remembers what would have been said.
pub fn checked(
    case: &mut Case,
    route: &Route,
    question: &Question,
    answer: Answer,
    seat: Seat,
) -> Result<Response<AnswerBody>, Refusal> {
    let Answer { head, body } = answer;
    if head.status.is_informational() {
        return Err(broken("expected a final status"));
    }
    if head.status.is_server_error() && !route.pass_error_bodies {
        return finish(case, route, bare(&head), Bytes::new());
    }
    let bytes = match body {
        upstream::AnswerBody::Stream(body) => {
            return Ok(compose(
                &head,
                answered(&head.headers, false),
                AnswerBody::stream(body, seat),
            ));
        }
        upstream::AnswerBody::Whole(bytes) => bytes,
    };
    drop(seat);
    if claims_uai(&head.headers)
        && let Err(finding) = judge(case, route, question, &head, &bytes)
    {
        let refusal = Refusal::new(finding).after(BackendOutcome::Delivered);
        match &mut case.would {
            None => return Err(refusal),
            Some(would) => {
                would.get_or_insert(refusal);
            }
        }
    }
    finish(case, route, head, bytes)
}

fn judge(case: &Case, route: &Route, question: &Question, head: &Parts, bytes: &[u8]) -> Result<(), Finding> {
    if head.headers.contains_key(header::CONTENT_ENCODING) {
        return Err(Finding::new(
            Rule::BackendContract,
            "expected an answer without content coding",
        ));
    }
    // A route without an envelope declares nothing about messages: the answer's own checksum has to match.
    let undeclared = Messages {
        profiles: Vec::new(),
        extensions: Vec::new(),
        modes: Vec::new(),
        envelopes: vec![Envelope::Canonical],
        payload: None,
        backend_view: BackendView::Received,
        integrity: Integrity::Declared,
        operations: Vec::new(),
        relaxed_base: false,
    };
    let declared = route.messages().unwrap_or(&undeclared);
    decide::answer(bytes, form(&head.headers), &case.policy, route, declared, question)
}

/// The backend's answer as it is, or the two keys of levels L0 to L2.
fn finish(case: &Case, route: &Route, head: Parts, bytes: Bytes) -> Result<Response<AnswerBody>, Refusal> {
    if !route.level.answers_two_keys() {
        let fields = answered(&head.headers, true);
        return Ok(compose(&head, fields, AnswerBody::whole(bytes)));
    }
    let url = route
        .result_url
        .as_ref()
        .and_then(|declared| result_url(declared, &bytes, &case.policy))
        .ok_or_else(|| broken("expected an https URL on a public origin at `result_url_field`"))?;
    Ok(answer::two_keys_ok(case.id, case.passing(), head.status, &url).map(AnswerBody::whole))
}

/// The URL of a two-key `ok`.
fn result_url(declared: &ResultUrl, bytes: &[u8], policy: &Policy) -> Option<String> {
    let found = declared.field.as_ref().and_then(|field| {
        let root = json::read(bytes, &policy.json).ok()?;
        let pointer = Pointer::from_rfc6901(field.as_str());
        let url = root.find(&pointer)?.text()?;
        is_public(url, &policy.public_origins).then(|| url.to_owned())
    });
    found.or_else(|| declared.fixed.clone())
}

/// https, on one of the origins, in visible ASCII.
fn is_public(url: &str, origins: &[String]) -> bool {
    url.starts_with("https://")
        && url.bytes().all(|byte| byte.is_ascii_graphic())
        && origins.iter().any(|origin| {
            url.strip_prefix(origin.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#']))
        })
}

/// Whether an answer says that it is UAI: by one of the two media types, also when it says more beside it.
fn claims_uai(headers: &HeaderMap) -> bool {
    types(headers).any(|named| named.eq_ignore_ascii_case("application/uai+json") || is_keyless(named))
}

/// The form of an answer; one that names both types is read as keyless and refused when it is none.
fn form(headers: &HeaderMap) -> Form {
    if types(headers).any(is_keyless) {
        Form::Keyless
    } else {
        Form::Keyed
    }
}

fn is_keyless(named: &str) -> bool {
    named.eq_ignore_ascii_case(KEYLESS_TYPE)
}

/// The media types of every `Content-Type` field, without parameters.
fn types(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers
        .get_all(header::CONTENT_TYPE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .filter_map(|value| value.split([';', ',']).next())
        .map(str::trim)
}

/// A server error without its body and without the fields that describe it.
fn bare(head: &Parts) -> Parts {
    let mut head = head.clone();
    for name in [
        header::CONTENT_TYPE,
        header::CONTENT_ENCODING,
        header::CONTENT_LENGTH,
        header::CONTENT_LANGUAGE,
        header::CONTENT_LOCATION,
        header::CONTENT_RANGE,
        header::ETAG,
        header::LAST_MODIFIED,
    ] {
        head.headers.remove(name);
    }
    head
}

fn compose(head: &Parts, fields: HeaderMap, body: AnswerBody) -> Response<AnswerBody> {
    let mut response = Response::new(body);
    *response.status_mut() = head.status;
    *response.headers_mut() = fields;
    response
}

fn broken(detail: &'static str) -> Refusal {
    Refusal::new(Finding::new(Rule::BackendContract, detail)).after(BackendOutcome::Delivered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_url_stands_on_a_public_origin() {
        let origins = ["https://agent.example".to_owned()];
        for (url, public) in [
            ("https://agent.example/r/1", true),
            ("https://agent.example", true),
            ("https://agent.example?x", true),
            ("https://agent.example.evil/r", false),
            ("https://agent.example@evil/r", false),
            ("https://agent.example:8443/r", false),
            ("http://agent.example/r", false),
            ("https://agent.example/a b", false),
        ] {
            assert_eq!(is_public(url, &origins), public, "{url}");
        }
    }
}
