//! Header fields on their way to the backend and back (contract §14, "Headers in", "The answer").

use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::proven::Proven;
use super::trace;
use crate::policy::{Policy, Route};

/// Fields that belong to one connection, and those that the gateway writes itself when it frames the request.
const OWN_CONNECTION: &[&str] = &[
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
    "expect",
    "host",
    "content-length",
];

/// Fields by which a proxy speaks for a client; a client that sends them speaks for itself.
const REMOVED: &[&str] = &["forwarded", "x-real-ip", "x-original-url", "x-rewrite-url", "baggage"];

/// Fields that prove somebody to the gateway, beside `proxy-*`; passed on only where the route names them.
const CONSUMED: &[&str] = &["authorization", "dpop", "cookie"];

/// Passed on when the route names no list of its own.
const ALWAYS: &[&str] = &["content-type", "uai-signature"];

/// What the gateway says of a request in its own fields.
#[derive(Debug)]
pub struct Own<'a> {
    /// `"<id>";verdict=allow`.
    pub verdict: HeaderValue,
    /// The message's profile, once stage 7 passed.
    pub profile: Option<&'a str>,
    /// The message's digest, once stage 8 passed.
    pub digest: Option<&'a str>,
    /// Whose authority it has, once stage 10 passed.
    pub proven: Option<&'a Proven>,
    /// Trace id for a trace that begins here: 32 lowercase hex digits.
    pub new_trace: String,
    /// The gateway's span: 16 lowercase hex digits.
    pub span: String,
    /// The backend gets the keyed form of a keyless message.
    pub is_keyed_view: bool,
}

/// The fields that the backend gets, in the order of the table in contract §14.
pub fn forwarded(received: &HeaderMap, route: &Route, policy: &Policy, own: &Own<'_>) -> HeaderMap {
    let named: Vec<String> = connection_names(received).map(str::to_ascii_lowercase).collect();
    let mut fields = HeaderMap::with_capacity(received.len().saturating_add(4));
    for (name, value) in received {
        let text = name.as_str();
        let stays = !OWN_CONNECTION.contains(&text)
            && !named.iter().any(|named| named == text)
            && !is_removed(text, policy)
            && (!is_consumed(text) || route.pass_credentials.iter().any(|passed| passed == text))
            && is_listed(text, route);
        if stays {
            fields.append(name.clone(), value.clone());
        }
    }
    join_cookies(&mut fields);
    let trace = trace::continued(received, &own.new_trace, &own.span);
    if !trace.state_is_kept {
        fields.remove("tracestate");
    }
    put(&mut fields, "traceparent", Some(trace.parent));
    if own.is_keyed_view {
        fields.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/uai+json"));
    }
    fields.insert("uai-verdict", own.verdict.clone());
    let part = |part: Option<&String>| part.map(|text| quoted(text));
    let proven = own.proven;
    put(
        &mut fields,
        "uai-principal",
        part(proven.map(|proven| &proven.principal)),
    );
    put(
        &mut fields,
        "uai-tenant",
        part(proven.and_then(|proven| proven.tenant.as_ref())),
    );
    put(
        &mut fields,
        "uai-project",
        part(proven.and_then(|proven| proven.project.as_ref())),
    );
    put(&mut fields, "uai-profile", own.profile.map(quoted));
    put(&mut fields, "uai-message-digest", own.digest.map(quoted));
    fields
}

/// HTTP/2 may send a cookie in crumbs; HTTP/1.1 knows one field only (RFC 9113 §8.2.3).
fn join_cookies(fields: &mut HeaderMap) {
    let crumbs: Vec<&[u8]> = fields
        .get_all(header::COOKIE)
        .iter()
        .map(HeaderValue::as_bytes)
        .collect();
    if crumbs.len() > 1
        && let Ok(whole) = HeaderValue::from_bytes(&crumbs.join(&b"; "[..]))
    {
        fields.insert(header::COOKIE, whole);
    }
}

/// The fields of a backend's answer that the client gets; `whole` tells whether the gateway frames the body itself.
pub fn answered(received: &HeaderMap, whole: bool) -> HeaderMap {
    let named: Vec<String> = connection_names(received).map(str::to_ascii_lowercase).collect();
    // Beside a transfer coding a length means nothing (RFC 9112 §6.3).
    let has_length = !whole && !received.contains_key(header::TRANSFER_ENCODING);
    let mut fields = HeaderMap::with_capacity(received.len());
    for (name, value) in received {
        let text = name.as_str();
        let is_framing = text == "content-length";
        let goes = (OWN_CONNECTION.contains(&text) && !is_framing)
            || (is_framing && !has_length)
            || named.iter().any(|named| named == text)
            || text.replace('_', "-").starts_with("uai-")
            || text.starts_with("proxy-")
            || text == "idempotency-replayed";
        if !goes {
            fields.append(name.clone(), value.clone());
        }
    }
    fields
}

/// The names in every `Connection` field.
pub fn connection_names(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|name| !name.is_empty())
}

/// Whether `Accept` names this media type, and not with a weight of zero.
pub fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|range| {
            let mut parts = range.split(';').map(str::trim);
            parts.next().is_some_and(|named| named.eq_ignore_ascii_case(media_type)) && !parts.any(is_zero_weight)
        })
}

/// A weight of RFC 9110 §12.4.2 that says "never".
fn is_zero_weight(parameter: &str) -> bool {
    parameter
        .split_once('=')
        .is_some_and(|(name, weight)| name.eq_ignore_ascii_case("q") && weight.parse() == Ok(0_f32))
}

/// An RFC 9651 string; a character outside %x20–7E is percent-encoded.
pub fn quoted(text: &str) -> String {
    let mut value = String::with_capacity(text.len().saturating_add(2));
    value.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                value.push('\\');
                value.push(char::from(byte));
            }
            0x20..=0x7e => value.push(char::from(byte)),
            other => value.push_str(&format!("%{other:02X}")),
        }
    }
    value.push('"');
    value
}

fn is_removed(name: &str, policy: &Policy) -> bool {
    REMOVED.contains(&name)
        || (name.starts_with("uai-") && name != "uai-signature")
        || name.starts_with("x-forwarded-")
        || policy.removed_headers.iter().any(|removed| removed == name)
}

fn is_consumed(name: &str) -> bool {
    CONSUMED.contains(&name) || name.starts_with("proxy-")
}

fn is_listed(name: &str, route: &Route) -> bool {
    ALWAYS.contains(&name)
        || route.pass_credentials.iter().any(|passed| passed == name)
        || route
            .forward_headers
            .as_ref()
            .is_none_or(|list| list.iter().any(|listed| listed == name))
}

/// Sets a field of the gateway's own; a value that no header can carry sets nothing.
fn put(fields: &mut HeaderMap, name: &'static str, value: Option<String>) {
    if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
        fields.insert(HeaderName::from_static(name), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_carries_any_text() {
        assert_eq!(quoted("a\"b\\c"), r#""a\"b\\c""#);
        assert_eq!(quoted("é\n"), "\"%C3%A9%0A\"");
    }

    #[test]
    fn who_is_proven_is_told_last_and_only_then() {
        crate::rules::testing::judged(
            |_| {},
            |input| {
                let proven = Proven {
                    principal: "anna".to_owned(),
                    tenant: Some("Müller & \"Co\"".to_owned()),
                    project: None,
                };
                let mut own = Own {
                    verdict: HeaderValue::from_static("\"7\";verdict=allow"),
                    profile: None,
                    digest: None,
                    proven: Some(&proven),
                    new_trace: "0".repeat(32),
                    span: "0".repeat(16),
                    is_keyed_view: false,
                };
                // What stage 2b would not have let come here is not passed on either.
                let received = HeaderMap::from_iter([(
                    HeaderName::from_static("uai-principal"),
                    HeaderValue::from_static("\"boss\""),
                )]);
                let fields = forwarded(&received, input.route, input.policy, &own);
                assert_eq!(fields.get_all("uai-principal").iter().count(), 1);
                assert_eq!(fields["uai-principal"], "\"anna\"");
                assert_eq!(fields["uai-tenant"], "\"M%C3%BCller & \\\"Co\\\"\"");
                assert!(!fields.contains_key("uai-project"));
                own.proven = None;
                let fields = forwarded(&received, input.route, input.policy, &own);
                assert!(!fields.contains_key("uai-principal"));
                assert!(!fields.contains_key("uai-tenant"));
            },
        );
    }

    #[test]
    fn crumbs_make_one_cookie() {
        let mut fields = HeaderMap::new();
        for crumb in ["a=1", "b=2"] {
            fields.append("cookie", HeaderValue::from_static(crumb));
        }
        join_cookies(&mut fields);
        assert_eq!(fields.len(), 1);
        assert_eq!(fields["cookie"], "a=1; b=2");
    }

    #[test]
    fn a_type_with_a_weight_of_zero_is_not_accepted() {
        for (accept, accepted) in [
            ("application/uai+json", true),
            ("text/html, Application/UAI+json;q=0.5", true),
            ("application/uai+json;q=0", false),
            ("application/uai+json; Q=0.000, */*", false),
            ("application/json", false),
        ] {
            let fields = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!(accepts(&fields, "application/uai+json"), accepted, "{accept}");
        }
    }

    #[test]
    fn an_answer_loses_what_only_the_gateway_may_say() {
        let mut received = HeaderMap::new();
        for name in [
            "uai-verdict",
            "uai_principal",
            "idempotency-replayed",
            "connection",
            "x-hop",
            "content-type",
        ] {
            received.insert(HeaderName::from_static(name), HeaderValue::from_static("x-hop"));
        }
        let fields = answered(&received, true);
        assert_eq!(
            fields.keys().map(HeaderName::as_str).collect::<Vec<_>>(),
            ["content-type"]
        );
    }

    #[test]
    fn a_streamed_answer_keeps_a_length_that_means_something() {
        let mut received = HeaderMap::new();
        received.insert("content-length", HeaderValue::from_static("9"));
        assert!(answered(&received, false).contains_key("content-length"));
        assert!(!answered(&received, true).contains_key("content-length"));
        received.insert("transfer-encoding", HeaderValue::from_static("chunked"));
        assert!(!answered(&received, false).contains_key("content-length"));
    }
}
