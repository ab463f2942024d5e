//! From what was typed to what it means. Every value that does not mean anything is reported, and then nothing is built.

mod addresses;
mod believable;
mod headers;
mod messages;
mod route;
mod schemas;
mod trust;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::check::Report;
use super::files::Gathered;
use super::{Overrides, Server, Tls, raw};
use crate::message::json::Bounds;
use crate::message::profile::Schemas;
use crate::policy::{
    Agent, Backend, Deadlines, Freshness, Idempotency, Limits, Policy, Rates, Replay, ReviewActions, Vocabulary,
    capability,
};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
const YEAR: Duration = Duration::from_secs(366 * 24 * 3600);

/// Builds everything; `None` when a part is missing or mistaken, which then is in the report.
pub(super) fn config(
    json: Value,
    gathered: &Gathered,
    overrides: &Overrides,
    report: &mut Report<'_>,
) -> Option<(Server, Policy)> {
    let Ok(raw) = serde_json::from_value::<raw::Policy>(json) else {
        report.value("", "the policy does not have the form of its schema");
        return None;
    };
    let schemas = schemas::build(&raw, gathered, report);
    let server = server(&raw, gathered, overrides, report);
    let policy = policy(&raw, schemas, gathered, overrides, report);
    Some((server?, policy?))
}

fn server(raw: &raw::Policy, gathered: &Gathered, overrides: &Overrides, report: &mut Report<'_>) -> Option<Server> {
    let listen = addresses::socket(
        raw.listen.as_deref(),
        "listen",
        "127.0.0.1:8080",
        &overrides.listen,
        report,
    );
    let admin = addresses::socket(
        raw.admin.as_deref(),
        "admin",
        "127.0.0.1:8081",
        &overrides.admin,
        report,
    );
    if let (Some(listen), Some(admin)) = (listen, admin)
        && listen.port() != 0
        && same_socket(listen, admin)
    {
        report.value("/admin", "`admin`: expected another address than that of `listen`");
    }
    let tls = tls(raw.tls.as_ref(), gathered, report)?;
    Some(Server {
        listen: listen?,
        admin: admin?,
        tls,
        ledger_required: raw.ledger.unwrap_or(raw::Ledger::Required) == raw::Ledger::Required,
    })
}

fn same_socket(left: SocketAddr, right: SocketAddr) -> bool {
    let any = left.ip().is_unspecified() || right.ip().is_unspecified();
    left.port() == right.port() && (any || left.ip() == right.ip())
}

/// The outer `None` says that it cannot be built.
fn tls(raw: Option<&raw::Tls>, gathered: &Gathered, report: &mut Report<'_>) -> Option<Option<Tls>> {
    let Some(raw) = raw else { return Some(None) };
    let mut path = |name: &str, path: Option<&str>, readable: Option<bool>| {
        if path.is_some() && readable != Some(true) {
            report.value(
                &format!("/tls/{name}"),
                &format!("`{name}`: expected a file that can be read and is not empty"),
            );
        }
        gathered.resolve(path?)
    };
    let [certificate_readable, key_readable] = gathered.tls_readable;
    let certificate = path("certificate", raw.certificate.as_deref(), certificate_readable);
    let key = path("key", raw.key.as_deref(), key_readable);
    Some(Some(Tls {
        certificate: certificate?,
        key: key?,
    }))
}

fn policy(
    raw: &raw::Policy,
    schemas: Option<Schemas>,
    gathered: &Gathered,
    overrides: &Overrides,
    report: &mut Report<'_>,
) -> Option<Policy> {
    let vocabulary = vocabulary(&raw.vocabulary);
    let review_actions = review_actions(&raw.review_actions);
    let limits = limits(&raw.limits, report);
    let deadlines = deadlines(&raw.deadlines, report);
    let removed_headers = headers::removed(&raw.headers.remove, report);
    let public_origins = addresses::public_origins(&raw.public_origins, report);
    for (index, profile) in raw.hold.iter().enumerate() {
        schemas::known(profile, &format!("/hold/{index}"), "hold", schemas.as_ref(), report);
    }
    let client_bundles: Vec<&str> = raw
        .clients
        .iter()
        .filter_map(|bundle| Some(bundle.name.as_ref()?.0.as_str()))
        .collect();
    let trust = trust::believed(raw, gathered, report);
    let routes = route::all(
        raw.routes.as_deref().unwrap_or_default(),
        &route::Around {
            schemas: schemas.as_ref(),
            vocabulary: &vocabulary,
            limits: &limits,
            deadlines: &deadlines,
            removed_headers: &removed_headers,
            public_origins: &raw.public_origins,
            client_bundles: &client_bundles,
            has_public_url: raw.public_url.is_some(),
        },
        report,
    );
    let agent = agent(raw.agent.as_ref(), report);
    let backend = backend(raw.backend.as_ref(), overrides, report);
    let public_url = addresses::public_url(raw.public_url.as_deref(), report);
    let public_hosts = addresses::public_hosts(&raw.public_hosts, report);
    let json = bounds(&raw.json, report);
    let freshness = freshness(&raw.freshness, report);
    let dispatch_route = dispatch_route(raw, report);
    let mut policy = Policy {
        revision: gathered.revision(),
        agent: agent?,
        public_url,
        public_hosts,
        public_origins,
        backend: backend?,
        limits,
        json,
        deadlines,
        freshness,
        replay: Replay::default(),
        idempotency: Idempotency::default(),
        rates: Rates::default(),
        trust: trust?,
        vocabulary,
        removed_headers,
        hold: raw.hold.iter().map(|id| id.0.clone()).collect(),
        review_actions,
        schemas: Arc::new(schemas?),
        routes: routes?.into_iter().map(Arc::new).collect(),
        dispatch_route,
        capability_revision: String::new(),
    };
    policy.capability_revision = capability::revision(&policy);
    Some(policy)
}

/// The route that takes intents to fan out: one of the file, at a path that can be linked to.
fn dispatch_route(raw: &raw::Policy, report: &mut Report<'_>) -> Option<String> {
    let name = raw.dispatch_route.as_ref()?;
    let mut routes = raw.routes.iter().flatten();
    let route = routes.find(|route| route.name.as_ref() == Some(name));
    let fits = route.is_some_and(|route| route.path.as_ref().is_some_and(|path| !path.contains('{')));
    if !fits {
        let message = "`dispatch_route`: expected the name of a route whose path has no `{name}` segment";
        report.value("/dispatch_route", message);
    }
    Some(name.0.clone())
}

fn agent(raw: Option<&raw::Agent>, report: &mut Report<'_>) -> Option<Agent> {
    let raw = raw?;
    let ids: Vec<String> = raw.ids.iter().flatten().map(|id| id.0.clone()).collect();
    unique(&ids, "/agent/ids", "ids", report);
    let label = raw.label.clone().or_else(|| ids.first().cloned())?;
    Some(Agent { ids, label })
}

fn backend(raw: Option<&raw::Backend>, overrides: &Overrides, report: &mut Report<'_>) -> Option<Backend> {
    let raw = raw?;
    Some(Backend {
        authority: addresses::backend(raw.url.as_deref(), overrides.backend.as_deref(), report)?,
        h2c: raw.protocol.unwrap_or(raw::Protocol::Http1) == raw::Protocol::H2c,
    })
}

/// Reports every element that stands in a list before.
fn unique(list: &[String], pointer: &str, key: &str, report: &mut Report<'_>) {
    for (index, item) in list.iter().enumerate() {
        if list.iter().take(index).any(|earlier| earlier == item) {
            report.value(
                &format!("{pointer}/{index}"),
                &format!("`{key}`: expected each element once"),
            );
        }
    }
}

fn vocabulary(raw: &raw::Vocabulary) -> Vocabulary {
    let mut words = Vocabulary::default();
    for (list, added) in [
        (&mut words.party_type, &raw.party_type),
        (&mut words.mode, &raw.mode),
        (&mut words.delivery_mode, &raw.delivery_mode),
        (&mut words.priority, &raw.priority),
        (&mut words.lifecycle, &raw.lifecycle),
        (&mut words.channel, &raw.channel),
        (&mut words.auth_scheme, &raw.auth_scheme),
    ] {
        extend(list, added);
    }
    words
}

fn review_actions(raw: &raw::ReviewActions) -> ReviewActions {
    let mut words = ReviewActions::default();
    extend(&mut words.execution, &raw.execution);
    extend(&mut words.credential, &raw.credential);
    words
}

/// Adds the words that are not there yet.
fn extend(list: &mut Vec<String>, added: &[raw::Id]) {
    for word in added {
        if !list.contains(&word.0) {
            list.push(word.0.clone());
        }
    }
}

fn limits(raw: &raw::Limits, report: &mut Report<'_>) -> Limits {
    let default = Limits::default();
    Limits {
        body: size(raw.body.as_ref(), "/limits/body", default.body, report),
        answer: size(raw.answer.as_ref(), "/limits/answer", default.answer, report),
        header_bytes: size(
            raw.header_bytes.as_ref(),
            "/limits/header_bytes",
            default.header_bytes,
            report,
        ),
        header_count: count(raw.header_count, default.header_count),
        target: size(raw.target.as_ref(), "/limits/target", default.target, report),
        connections: count(raw.connections, default.connections),
        in_flight: count(raw.in_flight, default.in_flight),
    }
}

fn bounds(raw: &raw::Json, report: &mut Report<'_>) -> Bounds {
    let default = Bounds::default();
    Bounds {
        depth: count(raw.depth, default.depth),
        string: size(raw.string.as_ref(), "/json/string", default.string, report),
        members: count(raw.members, default.members),
        elements: count(raw.elements, default.elements),
        values: count(raw.values, default.values),
    }
}

fn deadlines(raw: &raw::Deadlines, report: &mut Report<'_>) -> Deadlines {
    let default = Deadlines::default();
    let mut read = |raw: &Option<raw::Duration>, key: &str, default| {
        duration(raw.as_ref(), &format!("/deadlines/{key}"), DAY, report).unwrap_or(default)
    };
    Deadlines {
        head: read(&raw.head, "head", default.head),
        body: read(&raw.body, "body", default.body),
        backend: read(&raw.backend, "backend", default.backend),
        idle: read(&raw.idle, "idle", default.idle),
        drain: read(&raw.drain, "drain", default.drain),
    }
}

fn freshness(raw: &raw::Freshness, report: &mut Report<'_>) -> Freshness {
    let default = Freshness::default();
    let mut read = |raw: &Option<raw::Duration>, key: &str, longest| {
        duration(raw.as_ref(), &format!("/freshness/{key}"), longest, report)
    };
    Freshness {
        window: read(&raw.window, "window", DAY).unwrap_or(default.window),
        skew: read(&raw.skew, "skew", HOUR).unwrap_or(default.skew),
        max_lifetime: read(&raw.max_lifetime, "max_lifetime", YEAR),
    }
}

/// A size, or the default; one beyond 1 GiB is a mistake.
fn size(raw: Option<&raw::Size>, pointer: &str, default: usize, report: &mut Report<'_>) -> usize {
    let Some(raw) = raw else { return default };
    raw.bytes().unwrap_or_else(|| {
        let key = pointer.rsplit('/').next().unwrap_or_default();
        report.value(pointer, &format!("`{key}`: expected a size of at most 1 GiB"));
        default
    })
}

/// A duration; one that is longer than `longest` is a mistake.
fn duration(
    raw: Option<&raw::Duration>,
    pointer: &str,
    longest: Duration,
    report: &mut Report<'_>,
) -> Option<Duration> {
    let duration = raw?.at_most(longest);
    if duration.is_none() {
        let key = pointer.rsplit('/').next().unwrap_or_default();
        let hours = longest.as_secs() / 3600;
        report.value(pointer, &format!("`{key}`: expected a duration of at most {hours}h"));
    }
    duration
}

/// A count; the schema has bounded it.
fn count(raw: Option<u32>, default: usize) -> usize {
    raw.and_then(|count| usize::try_from(count).ok()).unwrap_or(default)
}
