//! Header fields that are refused by name or by what they ask for (contract §14).

use http::request::Parts;
use http::{HeaderMap, Method, header};

use crate::contract::{Finding, Rule};
use crate::gateway::headers::connection_names;

/// Fields that ask a server to act on another method than the one judged.
const METHOD_OVERRIDE: &[&str] = &["x-http-method-override", "x-http-method", "x-method-override"];

/// `http.header`.
pub fn check(headers: &HeaderMap) -> Option<Finding> {
    field_fault(headers).map(|detail| Finding::new(Rule::HttpHeader, detail))
}

/// `http.method-override`.
pub fn method_override(headers: &HeaderMap) -> Option<Finding> {
    METHOD_OVERRIDE
        .iter()
        .any(|name| headers.contains_key(*name))
        .then(|| Finding::new(Rule::HttpMethodOverride, "expected no method-override field"))
}

/// `http.upgrade`: no route declares an upgrade.
pub fn upgrade(head: &Parts) -> Option<Finding> {
    let asked = head.headers.contains_key(header::UPGRADE)
        || head.headers.contains_key("http2-settings")
        || head.method == Method::CONNECT
        || connection_names(&head.headers).any(|name| name.eq_ignore_ascii_case("upgrade"));
    asked.then(|| Finding::new(Rule::HttpUpgrade, "expected no change of protocol"))
}

/// `http.early-data`: a request that could be replayed by the network (RFC 8470).
pub fn early_data(headers: &HeaderMap) -> Option<Finding> {
    headers
        .contains_key("early-data")
        .then(|| Finding::new(Rule::HttpEarlyData, "expected a request outside TLS early data"))
}

/// `authority.asserted-header`: of `UAI-*`, a client sends its signature and the capability revision it knows.
pub fn asserted(headers: &HeaderMap) -> Option<Finding> {
    headers
        .keys()
        .any(|name| {
            let name = name.as_str().replace('_', "-");
            name.starts_with("uai-") && name != "uai-signature" && name != "uai-capability-revision"
        })
        .then(|| {
            Finding::new(
                Rule::AuthorityAssertedHeader,
                "expected no `UAI-*` field but `UAI-Signature` and `UAI-Capability-Revision`",
            )
        })
}

/// Whether a field takes part in a judgement, so that nothing may remove or repeat it.
pub fn is_judged(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let framing = ["host", "authorization", "transfer-encoding"];
    name.starts_with("uai-") || name.starts_with("content-") || framing.contains(&name.as_str())
}

fn field_fault(headers: &HeaderMap) -> Option<&'static str> {
    if headers.keys().any(|name| name.as_str().contains('_')) {
        return Some("expected field names without `_`");
    }
    let is_control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
    if headers.values().any(|value| value.as_bytes().iter().any(is_control)) {
        return Some("expected field values without control characters");
    }
    if headers
        .get_all(header::CONNECTION)
        .iter()
        .any(|value| value.to_str().is_err())
    {
        return Some("expected field names in `Connection`");
    }
    connection_names(headers)
        .any(is_judged)
        .then_some("expected `Connection` not to name `UAI-*`, `Authorization`, `Content-*` or `Host`")
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn fields(lines: &[(&str, &str)]) -> HeaderMap {
        lines
            .iter()
            .map(|(name, value)| {
                (
                    name.parse::<HeaderName>().unwrap(),
                    value.parse::<HeaderValue>().unwrap(),
                )
            })
            .collect()
    }

    #[test]
    fn a_client_claims_nothing_by_header() {
        for (name, refused) in [
            ("UAI-Signature", false),
            ("UAI-Capability-Revision", false),
            ("UAI-Verdict", true),
            ("uai-principal", true),
            ("uai_tenant", true),
            ("X-UAI-Verdict", false),
        ] {
            assert_eq!(asserted(&fields(&[(name, "x")])).is_some(), refused, "{name}");
        }
    }

    #[test]
    fn connection_names_no_field_that_was_judged() {
        for (value, refused) in [
            ("keep-alive", false),
            ("close, x-mine", false),
            ("Authorization", true),
            ("close,\tcontent-type", true),
            ("uai-signature", true),
            ("HOST", true),
        ] {
            assert_eq!(check(&fields(&[("connection", value)])).is_some(), refused, "{value}");
        }
        assert!(check(&fields(&[("x_y", "1")])).is_some());
    }
}
