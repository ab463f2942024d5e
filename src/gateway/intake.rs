//! Stages 1, 2 and 2b on the head alone (contract §4, §14): what can be refused before a body is read.
//!
//! Pure functions over the head and the policy. Each refusal carries every finding of its step, in row order.

mod fields;
mod framing;
mod media;

pub use media::form;

use http::request::Parts;
use http::{HeaderMap, Uri, header};

use super::target;
use crate::contract::{Finding, Rule};
use crate::decide::Refusal;
use crate::policy::{Policy, Route};

/// Stage 1 as far as it needs no route: framing, header fields, bounds, target.
///
/// # Errors
/// Every `http.*` finding about the head.
pub fn head(head: &Parts, policy: &Policy) -> Result<(), Refusal> {
    refuse([
        framing::check(head),
        fields::check(&head.headers),
        header_size(&head.headers, policy),
        target::length(&head.uri, policy.limits.target),
        target::check(head, policy),
        fields::method_override(&head.headers),
        fields::upgrade(head),
        fields::early_data(&head.headers),
    ])
}

/// The rest of stage 1, once the route is known, and the declared size of stage 2.
///
/// # Errors
/// `http.query`, `route.media-type`, `route.content-encoding`, then `json.size`.
pub fn declared(head: &Parts, route: &Route) -> Result<(), Refusal> {
    refuse([
        target::query(&head.uri),
        media::content_type(head, route),
        media::content_encoding(&head.headers),
    ])?;
    refuse([declared_size(&head.headers, route.body_limit)])
}

/// The query of a path that the gateway serves itself.
///
/// # Errors
/// `http.query`.
pub fn no_query(uri: &Uri) -> Result<(), Refusal> {
    refuse([target::query(uri)])
}

/// Stage 2b: what the client claims for itself (contract §14, "Headers in").
///
/// # Errors
/// `authority.asserted-header`.
pub fn claims(headers: &HeaderMap) -> Result<(), Refusal> {
    refuse([fields::asserted(headers)])
}

/// Whether trailers name a field that was judged in the head, so that a reader who merges them sees another request
/// (RFC 9110 §6.5.1).
pub fn names_what_was_judged(trailers: &HeaderMap) -> bool {
    trailers.keys().any(|name| fields::is_judged(name.as_str()))
}

/// `json.size` of a body of more than `limit` bytes.
pub fn too_large(limit: usize) -> Finding {
    Finding::new(Rule::JsonSize, format!("expected a body of at most {limit} bytes"))
}

fn declared_size(headers: &HeaderMap, limit: usize) -> Option<Finding> {
    let declared = headers.get(header::CONTENT_LENGTH)?.to_str().ok()?;
    // A length that does not fit is larger than any limit.
    let fits = declared.parse::<usize>().is_ok_and(|length| length <= limit);
    (!fits).then(|| too_large(limit))
}

fn header_size(headers: &HeaderMap, policy: &Policy) -> Option<Finding> {
    let (bytes, count) = (policy.limits.header_bytes, policy.limits.header_count);
    let sum = headers.iter().fold(0_usize, |sum, (name, value)| {
        sum.saturating_add(name.as_str().len()).saturating_add(value.len())
    });
    (sum > bytes || headers.len() > count).then(|| {
        Finding::new(
            Rule::HttpHeaderSize,
            format!("expected at most {count} header fields of {bytes} bytes in all"),
        )
    })
}

fn refuse<const N: usize>(findings: [Option<Finding>; N]) -> Result<(), Refusal> {
    let mut findings = findings.into_iter().flatten();
    match findings.next() {
        Some(deciding) => Err(Refusal::with_others(deciding, findings, false)),
        None => Ok(()),
    }
}
