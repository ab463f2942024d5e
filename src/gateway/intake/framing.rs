//! `http.framing`: where a body begins and ends has one reading (contract §14, "Framing and head").

use http::request::Parts;
use http::{Version, header};

use crate::contract::{Finding, Rule};
use crate::gateway::pulse::RawHead;

/// What hyper lets through although two implementations could read it in two ways.
pub fn check(head: &Parts) -> Option<Finding> {
    fault(head).map(|detail| Finding::new(Rule::HttpFraming, detail))
}

/// Whether the head announces a body.
pub fn has_body(head: &Parts) -> bool {
    head.headers.contains_key(header::TRANSFER_ENCODING)
        || head
            .headers
            .get(header::CONTENT_LENGTH)
            .is_some_and(|length| length.as_bytes() != b"0")
}

fn fault(head: &Parts) -> Option<&'static str> {
    if head.version != Version::HTTP_2 {
        // hyper drops a second `Content-Length` and one beside a `Transfer-Encoding`: the names of the fields tell.
        let Some(raw) = head.extensions.get::<RawHead>() else {
            return Some("expected each request after the answer to the one before");
        };
        if !raw.has_clean_line_ends() {
            return Some("expected every line to end in CR LF");
        }
        if !raw.has_the_fields_of(&head.headers) {
            return Some("expected `Content-Length` or `Transfer-Encoding` once, and no head ahead of its turn");
        }
    }
    let mut lengths = head.headers.get_all(header::CONTENT_LENGTH).iter();
    let length = lengths.next();
    let mut codings = head.headers.get_all(header::TRANSFER_ENCODING).iter();
    let coding = codings.next();
    if lengths.next().is_some() || codings.next().is_some() || (length.is_some() && coding.is_some()) {
        return Some("expected at most one of `Content-Length` and `Transfer-Encoding`, once");
    }
    if coding.is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"chunked")) {
        return Some("expected no transfer coding but `chunked`");
    }
    let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    length
        .is_some_and(|length| !is_number(length.as_bytes()))
        .then_some("expected a `Content-Length` of digits")
}
