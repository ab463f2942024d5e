//! One route of the policy, and the routes beside each other.

use super::{DAY, addresses, duration, headers, messages, trust, unique};
use crate::config::check::Report;
use crate::config::raw::{self, Method, Takes};
use crate::message::envelope::KEYLESS_TYPE;
use crate::message::profile::Schemas;
use crate::policy::{Body, Deadlines, Level, Limits, Mode, PathPattern, ResultUrl, Route, Vocabulary};

/// Paths under this prefix are the gateway's own.
const RESERVED: &str = "/.well-known/uai/";

/// So is its capability document.
const CAPABILITY: &str = "/.well-known/uaix.json";

/// Media types that a route for messages may take; all but the last when it names none.
const MESSAGE_TYPES: &[&str] = &["application/uai+json", "application/json", KEYLESS_TYPE];

/// What a route is held against.
pub(super) struct Around<'a> {
    pub schemas: Option<&'a Schemas>,
    pub vocabulary: &'a Vocabulary,
    pub limits: &'a Limits,
    pub deadlines: &'a Deadlines,
    pub removed_headers: &'a [String],
    pub public_origins: &'a [String],
    pub client_bundles: &'a [&'a str],
    pub has_public_url: bool,
}

/// Builds every route; `None` when one of them cannot be built.
pub(super) fn all(raw: &[raw::Route], around: &Around<'_>, report: &mut Report<'_>) -> Option<Vec<Route>> {
    beside_each_other(raw, report);
    // Every route is looked at before the first that cannot be built ends it.
    let routes: Vec<Option<Route>> = raw
        .iter()
        .enumerate()
        .map(|(index, raw)| one(raw, &format!("/routes/{index}"), around, report))
        .collect();
    routes.into_iter().collect()
}

/// Names are unique, and no request matches two routes.
fn beside_each_other(raw: &[raw::Route], report: &mut Report<'_>) {
    let patterns: Vec<Option<PathPattern>> = raw
        .iter()
        .map(|route| PathPattern::parse(route.path.as_deref()?).ok())
        .collect();
    for (index, (route, pattern)) in raw.iter().zip(&patterns).enumerate() {
        let pointer = format!("/routes/{index}");
        let mut earlier = raw.iter().zip(&patterns).take(index);
        if route.name.is_some() && raw.iter().take(index).any(|other| other.name == route.name) {
            report.value(
                &format!("{pointer}/name"),
                "`name`: expected a name that no other route has",
            );
        }
        let overlapping = earlier.position(|(other, other_pattern)| {
            let paths = pattern
                .as_ref()
                .zip(other_pattern.as_ref())
                .is_some_and(|(one, other)| one.overlaps(other));
            paths && methods(route).iter().any(|method| methods(other).contains(method))
        });
        if let Some(other) = overlapping {
            let other = match raw.get(other).and_then(|route| route.name.as_ref()) {
                Some(name) => format!("that of route `{}`", name.0),
                None => format!("/routes/{other}/path"),
            };
            let message = format!("`path`: expected a path that does not overlap {other} with the same method");
            report.value(&format!("{pointer}/path"), &message);
        }
    }
}

fn one(raw: &raw::Route, at: &str, around: &Around<'_>, report: &mut Report<'_>) -> Option<Route> {
    let path = path(raw, at, report);
    let methods = takes_methods(raw, at, report);
    let media_types = media_types(raw, at, report);
    let messages = messages::declared(raw, at, &media_types, around, report);
    let level = level(raw, at, report);
    let result_url = result_url(raw, at, around, report);
    let body_limit = body_limit(raw, at, around, report);
    let deadline = duration(raw.deadline.as_ref(), &format!("{at}/deadline"), DAY, report);
    let idempotency_required = idempotency(raw, at, report);
    let proofs = trust::proofs(raw, at, around, report);
    let review = format!("{at}/human_review_url");
    let human_review_url = addresses::https_url(raw.human_review_url.as_deref(), &review, "human_review_url", report);
    let forward_headers = headers::forwarded(raw.headers.as_ref(), at, around.removed_headers, report);
    let pass_credentials = headers::credentials(raw.headers.as_ref(), at, report);
    let mode = match raw.mode.unwrap_or(raw::Mode::Enforce) {
        raw::Mode::Enforce => Mode::Enforce,
        raw::Mode::Observe => {
            report.warn(
                &format!("{at}/mode"),
                "`mode: observe` forwards requests that would be refused",
            );
            Mode::Observe
        }
    };
    Some(Route {
        name: raw.name.clone()?.0,
        path: path?,
        methods: methods.iter().map(|method| method.name().to_owned()).collect(),
        body: match raw.takes? {
            Takes::Messages => Body::Messages(messages?),
            Takes::Legacy => Body::Legacy,
            Takes::Read => Body::Read,
        },
        mode,
        level,
        media_types,
        body_limit,
        deadline: deadline.unwrap_or(around.deadlines.backend),
        idempotency_required,
        forward_headers,
        pass_credentials,
        pass_error_bodies: raw.error_bodies.unwrap_or(raw::ErrorBodies::Withhold) == raw::ErrorBodies::Pass,
        proofs,
        rate: raw.rate,
        human_review_url,
        result_url,
    })
}

fn methods(raw: &raw::Route) -> &[Method] {
    raw.method.as_ref().map_or(&[], raw::OneOrMany::list)
}

fn path(raw: &raw::Route, at: &str, report: &mut Report<'_>) -> Option<PathPattern> {
    let text = raw.path.as_deref()?;
    let pointer = format!("{at}/path");
    let pattern = match PathPattern::parse(text) {
        Ok(pattern) => pattern,
        Err(problem) => {
            report.value(&pointer, &format!("`path`: {problem}"));
            return None;
        }
    };
    if reserved(text) {
        report.value(
            &pointer,
            &format!("`path`: expected a path outside `{RESERVED}`, which is the gateway's own"),
        );
    }
    // A path of variables alone may stand beside it: the gateway's own is served first.
    let own = PathPattern::parse(CAPABILITY).ok();
    if text.starts_with("/.well-known/") && own.is_some_and(|own| own.overlaps(&pattern)) {
        report.value(
            &pointer,
            &format!("`path`: expected another path than `{CAPABILITY}`, which is the gateway's own"),
        );
    }
    Some(pattern)
}

/// Whether a pattern can match a path under the reserved prefix.
fn reserved(pattern: &str) -> bool {
    let mut segments = pattern.split('/').skip(1);
    let matches = |segment: Option<&str>, literal: &str| segment.is_some_and(|s| s == literal || s.starts_with('{'));
    matches(segments.next(), ".well-known") && matches(segments.next(), "uai") && segments.next().is_some()
}

fn takes_methods<'a>(raw: &'a raw::Route, at: &str, report: &mut Report<'_>) -> &'a [Method] {
    let methods = methods(raw);
    let names: Vec<String> = methods.iter().map(|method| method.name().to_owned()).collect();
    unique(&names, &format!("{at}/method"), "method", report);
    let (fits, words): (fn(Method) -> bool, &str) = match raw.takes {
        Some(Takes::Read) => (is_read, "GET or HEAD with `takes: read`"),
        Some(Takes::Messages) => (is_message, "POST, PUT or PATCH with `takes: messages`"),
        Some(Takes::Legacy) => (
            is_write,
            "another method than GET and HEAD with `takes: legacy`; those are `takes: read`",
        ),
        None => return methods,
    };
    if !methods.iter().all(|method| fits(*method)) {
        report.value(&format!("{at}/method"), &format!("`method`: expected {words}"));
    }
    methods
}

const fn is_read(method: Method) -> bool {
    matches!(method, Method::Get | Method::Head)
}

const fn is_write(method: Method) -> bool {
    !is_read(method)
}

const fn is_message(method: Method) -> bool {
    matches!(method, Method::Post | Method::Put | Method::Patch)
}

fn media_types(raw: &raw::Route, at: &str, report: &mut Report<'_>) -> Vec<String> {
    let pointer = format!("{at}/content_type");
    let written: Option<Vec<String>> = raw
        .content_type
        .as_ref()
        .map(|types| types.iter().map(|text| text.to_ascii_lowercase()).collect());
    unique(written.as_deref().unwrap_or_default(), &pointer, "content_type", report);
    for (index, media_type) in written.iter().flatten().enumerate() {
        let at = format!("{pointer}/{index}");
        if !is_media_type(media_type) {
            report.value(
                &at,
                "`content_type`: expected a media type such as application/json, without parameters",
            );
        } else if raw.takes == Some(Takes::Messages) && !MESSAGE_TYPES.contains(&media_type.as_str()) {
            report.value(
                &at,
                &format!("`content_type`: expected one of {}", MESSAGE_TYPES.join(", ")),
            );
        }
    }
    match (raw.takes, written) {
        (Some(Takes::Messages), None) => {
            let keyed = MESSAGE_TYPES.iter().filter(|text| **text != KEYLESS_TYPE);
            keyed.map(|text| (*text).to_owned()).collect()
        }
        (Some(Takes::Legacy), None) => {
            if report.is_missing(&pointer) {
                report.value(
                    at,
                    "expected the key `content_type` here, as the route says `takes: legacy`",
                );
            }
            Vec::new()
        }
        (Some(Takes::Read), Some(_)) => {
            report.key(
                &pointer,
                "`content_type`: expected on no route with `takes: read`, which has no body",
                None,
            );
            Vec::new()
        }
        (_, written) => written.unwrap_or_default(),
    }
}

fn is_media_type(text: &str) -> bool {
    let token = |part: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte);
        !part.is_empty() && part.bytes().all(allowed)
    };
    text.split_once('/')
        .is_some_and(|(kind, sub)| token(kind) && token(sub))
}

fn level(raw: &raw::Route, at: &str, report: &mut Report<'_>) -> Level {
    let level = match raw.level.unwrap_or(raw::Level::L3) {
        raw::Level::L0 => Level::L0,
        raw::Level::L1 => Level::L1,
        raw::Level::L2 => Level::L2,
        raw::Level::L3 => Level::L3,
    };
    let pointer = format!("{at}/level");
    let points = ["result_url", "result_url_field"]
        .iter()
        .any(|key| !report.is_missing(&format!("{at}/{key}")));
    if level.answers_two_keys() && raw.takes == Some(Takes::Read) {
        report.value(
            &pointer,
            "`level`: expected L3 with `takes: read`, whose answers are streamed",
        );
    } else if level.answers_two_keys() && !points {
        report.value(
            &pointer,
            "`level`: expected `result_url` or `result_url_field` on a route of level L0 to L2",
        );
    }
    level
}

fn result_url(raw: &raw::Route, at: &str, around: &Around<'_>, report: &mut Report<'_>) -> Option<ResultUrl> {
    let fixed = addresses::https_url(
        raw.result_url.as_deref(),
        &format!("{at}/result_url"),
        "result_url",
        report,
    );
    let field = raw.result_url_field.as_deref();
    let pointer = format!("{at}/result_url_field");
    if field.is_some_and(|field| !is_pointer(field)) {
        report.value(
            &pointer,
            "`result_url_field`: expected an RFC 6901 pointer such as /status_url",
        );
    }
    if field.is_some() && around.public_origins.is_empty() {
        report.key(
            &pointer,
            "`result_url_field`: expected `public_origins` to name where it may point",
            None,
        );
    }
    (fixed.is_some() || field.is_some()).then(|| ResultUrl {
        field: field.map(str::to_owned),
        fixed,
    })
}

/// A pointer to a member: not the whole answer, `~` only as `~0` and `~1`.
pub(super) fn is_pointer(text: &str) -> bool {
    text.starts_with('/') && text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']))
}

fn body_limit(raw: &raw::Route, at: &str, around: &Around<'_>, report: &mut Report<'_>) -> usize {
    let pointer = format!("{at}/body");
    let limit = super::size(raw.body.as_ref(), &pointer, around.limits.body, report);
    if raw.body.is_some() && raw.takes == Some(Takes::Read) {
        report.key(
            &pointer,
            "`body`: expected on no route with `takes: read`, which has no body",
            None,
        );
    }
    if limit > around.limits.body {
        report.value(
            &pointer,
            &format!(
                "`body`: expected at most `limits.body`, which is {} bytes",
                around.limits.body
            ),
        );
    }
    limit
}

fn idempotency(raw: &raw::Route, at: &str, report: &mut Report<'_>) -> bool {
    let pointer = format!("{at}/idempotency");
    let required = raw.idempotency.unwrap_or(raw::Idempotency::Required) == raw::Idempotency::Required;
    match raw.takes {
        Some(Takes::Read) => {
            if raw.idempotency.is_some() {
                report.key(&pointer, "`idempotency`: expected on no route with `takes: read`", None);
            }
            false
        }
        Some(Takes::Messages) => {
            if !required {
                let message =
                    "`idempotency`: expected `required` with `takes: messages`, whose envelope carries the key";
                report.value(&pointer, message);
            }
            true
        }
        Some(Takes::Legacy) | None => required,
    }
}
