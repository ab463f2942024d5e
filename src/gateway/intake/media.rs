//! `route.media-type` and `route.content-encoding` (contract §2).

use http::request::Parts;
use http::{HeaderMap, header};

use super::framing;
use crate::contract::{Finding, Rule};
use crate::message::envelope::{Form, KEYLESS_TYPE};
use crate::policy::{Body, Route};

/// Exactly one `Content-Type`, declared by the route, with no parameter but `charset=utf-8`. A read has no body to
/// describe, and neither has a request without an envelope that announces none.
pub fn content_type(head: &Parts, route: &Route) -> Option<Finding> {
    let mut values = head.headers.get_all(header::CONTENT_TYPE).iter();
    let value = values.next();
    match &route.body {
        Body::Read => return None,
        Body::Legacy if value.is_none() && !framing::has_body(head) => return None,
        Body::Legacy | Body::Messages(_) => {}
    }
    let named = value.and_then(|value| value.to_str().ok()).and_then(essence);
    let declared = named.is_some_and(|named| route.media_types.contains(&named)) && values.next().is_none();
    (!declared).then(|| {
        Finding::new(
            Rule::RouteMediaType,
            format!(
                "expected one `Content-Type` of: {}; no parameter but `charset=utf-8`",
                route.media_types.join(", ")
            ),
        )
    })
}

/// The form that the media type announces; whether the route takes that type is [`content_type`]'s to say.
pub fn form(headers: &HeaderMap) -> Form {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    match value.and_then(essence) {
        Some(named) if named == KEYLESS_TYPE => Form::Keyless,
        Some(_) | None => Form::Keyed,
    }
}

/// No content coding at all: what is judged is what is forwarded.
pub fn content_encoding(headers: &HeaderMap) -> Option<Finding> {
    headers
        .contains_key(header::CONTENT_ENCODING)
        .then(|| Finding::new(Rule::RouteContentEncoding, "expected no `Content-Encoding`"))
}

/// The type and subtype in lower case, when the only parameter, if any, is `charset=utf-8`.
fn essence(value: &str) -> Option<String> {
    let mut parts = value.split(';').map(str::trim);
    let essence = parts.next()?.to_ascii_lowercase();
    let parameter = parts.next();
    let is_utf8 = |parameter: &str| {
        parameter.split_once('=').is_some_and(|(name, value)| {
            name.eq_ignore_ascii_case("charset") && value.trim_matches('"').eq_ignore_ascii_case("utf-8")
        })
    };
    (parameter.is_none_or(is_utf8) && parts.next().is_none()).then_some(essence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_charset_of_utf_8_stands_beside_a_type() {
        for (value, expected) in [
            ("application/json", Some("application/json")),
            ("Application/JSON; Charset=UTF-8", Some("application/json")),
            ("application/json;charset=\"utf-8\"", Some("application/json")),
            ("application/json; charset=utf-16", None),
            ("application/json; version=1", None),
            ("application/json; charset=utf-8; charset=utf-8", None),
        ] {
            assert_eq!(essence(value).as_deref(), expected, "{value}");
        }
    }
}
