//! What the admin listener answers.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::Body;
use axum::extract;
use axum::routing::get;
use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderMap, Response, StatusCode};
use serde::Serialize;

use super::{State, failmodes};
use crate::discovery::page;
use crate::telemetry;

/// Every page.
pub(super) fn router(state: State) -> Router {
    Router::new()
        .route("/livez", get(livez))
        .route("/startupz", get(startupz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .route("/policy", get(policy))
        .route("/failmodes", get(fail_modes))
        .with_state(state)
}

async fn livez() -> Response<Body> {
    send(page::text("ok\n".to_owned()))
}

async fn startupz(extract::State(state): extract::State<State>) -> Response<Body> {
    let reasons: &[&str] = if state.has_started() { &[] } else { &["not started"] };
    health(reasons)
}

async fn readyz(extract::State(state): extract::State<State>) -> Response<Body> {
    health(&state.reasons_not_ready())
}

async fn metrics(extract::State(state): extract::State<State>) -> Response<Body> {
    let inner = &state.0;
    send(page::own(inner.metrics.text(inner.sink.lost()), telemetry::MEDIA_TYPE))
}

async fn policy(extract::State(state): extract::State<State>) -> Response<Body> {
    let policy = state.0.policy.current();
    let attempt = state.0.policy.last_attempt();
    let profiles = policy.schemas.profiles();
    send(json(&PolicyPage {
        revision: &policy.revision,
        last_attempt: AttemptPage {
            at: format!("{:.6}", attempt.at),
            taken: attempt.mistakes.is_empty(),
            mistakes: &attempt.mistakes,
        },
        routes: policy
            .routes
            .iter()
            .map(|route| RoutePage {
                name: &route.name,
                path: route.path.as_str(),
                methods: &route.methods,
                mode: route.mode.name(),
                level: route.level.name(),
            })
            .collect(),
        schemas: profiles
            .iter()
            .filter_map(|profile| Some((*profile, policy.schemas.digest(profile)?)))
            .collect(),
    }))
}

async fn fail_modes(headers: HeaderMap) -> Response<Body> {
    let accept = headers
        .get(ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    send(if accept.contains("text/html") {
        page::html("Fail modes", &failmodes::html())
    } else if accept.contains("text/plain") {
        page::text(failmodes::markdown())
    } else {
        json(&failmodes::rows())
    })
}

/// The policy in force, without anything secret in it.
#[derive(Serialize)]
struct PolicyPage<'a> {
    revision: &'a str,
    last_attempt: AttemptPage<'a>,
    routes: Vec<RoutePage<'a>>,
    schemas: BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
struct AttemptPage<'a> {
    at: String,
    taken: bool,
    mistakes: &'a [String],
}

#[derive(Serialize)]
struct RoutePage<'a> {
    name: &'a str,
    path: &'a str,
    methods: &'a [String],
    mode: &'static str,
    level: &'static str,
}

/// 200 when there is no reason against it, else 503 with the reasons.
fn health(reasons: &[&str]) -> Response<Body> {
    #[derive(Serialize)]
    struct Health<'a> {
        ok: bool,
        reasons: &'a [&'a str],
    }
    let ok = reasons.is_empty();
    let mut response = send(json(&Health { ok, reasons }));
    if !ok {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    response
}

/// JSON for people and programs. Strings always serialise, so the empty body stands for what cannot happen.
fn json(value: &impl Serialize) -> Response<Bytes> {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    page::own(text, "application/json")
}

fn send(response: Response<Bytes>) -> Response<Body> {
    response.map(Body::from)
}
