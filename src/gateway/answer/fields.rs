//! The HTTP fields that depend on the refusal (contract §5, "HTTP fields").

use http::header::{ACCEPT, ACCEPT_ENCODING, ALLOW, CONNECTION, HeaderName, LINK, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};

use super::{Asked, challenge, retry, status};
use crate::contract::Rule;
use crate::decide::Refusal;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Adds what the status asks for.
pub(super) fn add(headers: &mut HeaderMap, refusal: &Refusal, asked: &Asked<'_>) {
    let rule = refusal.rule();
    if asked.close {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    match status(rule) {
        StatusCode::UNAUTHORIZED => {
            for challenge in challenge::of(rule, asked) {
                if let Ok(challenge) = HeaderValue::try_from(challenge) {
                    headers.append(WWW_AUTHENTICATE, challenge);
                }
            }
        }
        StatusCode::METHOD_NOT_ALLOWED => insert(headers, ALLOW, asked.allowed.join(", ")),
        StatusCode::UNSUPPORTED_MEDIA_TYPE if matches!(rule, Rule::RouteContentEncoding) => {
            insert(headers, ACCEPT_ENCODING, "identity".to_owned());
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            let taken = asked
                .route
                .map_or_else(String::new, |route| route.media_types.join(", "));
            insert(headers, ACCEPT, taken);
        }
        StatusCode::TOO_MANY_REQUESTS => rate_limit(headers, refusal, asked),
        _other => {}
    }
    if matches!(rule, Rule::AddressingImplicit)
        && let Some(url) = dispatch(asked)
    {
        insert(headers, LINK, format!("<{url}>; rel=\"alternate\""));
    }
    if let Some(seconds) = retry::of(refusal).after_s
        && matches!(
            status(rule),
            StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
        )
    {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
}

/// Which quota is used up (draft-ietf-httpapi-ratelimit-headers): that of a bucket, or the requests in progress.
fn rate_limit(headers: &mut HeaderMap, refusal: &Refusal, asked: &Asked<'_>) {
    let quota = refusal.wait.and_then(|wait| Some((wait.seconds, wait.quota?)));
    let (policy, left) = match quota {
        Some((seconds, (name, limit))) => (
            format!("\"{name}\";q={limit};w=1"),
            format!("\"{name}\";r=0;t={seconds}"),
        ),
        None if matches!(refusal.rule(), Rule::ReplayShare) => {
            let limit = asked.policy.replay.per_sender_max;
            (
                format!("\"replay-share\";q={limit};qu=\"messages\""),
                "\"replay-share\";r=0".to_owned(),
            )
        }
        None => {
            let limit = asked.policy.limits.in_flight;
            (
                format!("\"in-flight\";q={limit};qu=\"concurrent-requests\""),
                "\"in-flight\";r=0".to_owned(),
            )
        }
    };
    insert(headers, RATE_LIMIT_POLICY, policy);
    insert(headers, RATE_LIMIT, left);
}

/// Where an intent to fan out goes; not told to a client that is there already.
fn dispatch(asked: &Asked<'_>) -> Option<String> {
    let here = asked.route.map(|route| route.name.as_str());
    let there = asked.policy.dispatch_route.as_deref();
    asked.policy.dispatch_url().filter(|_url| here != there)
}

/// Ids, methods and media types of a policy are visible ASCII, so no value is left out.
fn insert(headers: &mut HeaderMap, name: HeaderName, value: String) {
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(name, value);
    }
}
