//! Header names of the policy, held against contract §14: what a policy may pass on and what it may not.

use crate::config::check::Report;
use crate::config::raw;

/// Consumed by the gateway; a route may pass them on under `headers.credentials` only.
const CREDENTIALS: &[&str] = &["authorization", "cookie", "dpop", "proxy-authorization"];

/// Never passed on as they came: hop by hop, re-framed, or about who the client is.
const NEVER_FORWARDED: &[&str] = &[
    "connection",
    "content-length",
    "forwarded",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-original-url",
    "x-real-ip",
    "x-rewrite-url",
];

/// Passed on by every route that does not say otherwise.
const DEFAULT_FORWARD: &[&str] = &[
    "accept",
    "accept-language",
    "content-type",
    "user-agent",
    "idempotency-key",
    "traceparent",
    "tracestate",
];

/// The names that are removed, lower case.
pub(super) fn removed(raw: &[raw::HeaderName], report: &mut Report<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for (index, name) in raw.iter().enumerate() {
        let name = name.0.to_ascii_lowercase();
        if name.starts_with("uai-") {
            let message = "`remove`: expected a name that is not the gateway's own `UAI-*`";
            report.value(&format!("/headers/remove/{index}"), message);
        }
        names.push(name);
    }
    names
}

/// The names that a route passes on; `None` passes on all that is not removed or consumed.
pub(super) fn forwarded(
    raw: Option<&raw::RouteHeaders>,
    pointer: &str,
    removed: &[String],
    report: &mut Report<'_>,
) -> Option<Vec<String>> {
    let names = match raw.and_then(|headers| headers.forward.as_ref()) {
        Some(raw::Forward::All(_)) => return None,
        Some(raw::Forward::Names(names)) => names,
        None => {
            let kept = |name: &&&str| !removed.iter().any(|removed| removed == **name);
            return Some(
                DEFAULT_FORWARD
                    .iter()
                    .filter(kept)
                    .map(|name| (*name).to_owned())
                    .collect(),
            );
        }
    };
    let mut list = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let name = name.0.to_ascii_lowercase();
        if let Some(problem) = not_forwardable(&name, removed) {
            report.value(
                &format!("{pointer}/headers/forward/{index}"),
                &format!("`forward`: {problem}"),
            );
        }
        list.push(name);
    }
    Some(list)
}

/// The consumed names that a route passes on all the same.
pub(super) fn credentials(raw: Option<&raw::RouteHeaders>, pointer: &str, report: &mut Report<'_>) -> Vec<String> {
    let mut list = Vec::new();
    for (index, name) in raw.iter().flat_map(|headers| &headers.credentials).enumerate() {
        let name = name.0.to_ascii_lowercase();
        if !CREDENTIALS.contains(&name.as_str()) {
            let message = format!("`credentials`: expected one of {}", CREDENTIALS.join(", "));
            report.value(&format!("{pointer}/headers/credentials/{index}"), &message);
        }
        list.push(name);
    }
    list
}

fn not_forwardable(name: &str, removed: &[String]) -> Option<&'static str> {
    if name.starts_with("uai-") {
        Some("expected a name that is not the gateway's own `UAI-*`")
    } else if CREDENTIALS.contains(&name) {
        Some("expected a name that carries no credential; those stand under `credentials`")
    } else if NEVER_FORWARDED.contains(&name) || name.starts_with("x-forwarded-") || name.starts_with("proxy-") {
        Some("expected a name that may be passed on; this one never is")
    } else if removed.iter().any(|removed| removed == name) {
        Some("expected a name that `headers.remove` does not remove")
    } else {
        None
    }
}
