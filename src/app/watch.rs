//! What is read again while the process runs: the policy and the certificate. Every attempt is a record.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::sleep;

use super::Watched;
use crate::clock::Clock;
use crate::config::Server;
use crate::config::{Reloader, Watcher};
use crate::policy::{Attempt, InForce, Mode, Policy};
use crate::record::Sink;
use crate::telemetry::Metrics;
use crate::trust::mtls::{Change, Clients};
use crate::trust::tls::{Certificates, TlsError};

/// How often the certificate's files are looked at.
const POLL: Duration = Duration::from_secs(2);

/// Watches the policy until the returned value is dropped.
pub fn policy(
    watched: &Watched,
    server: &Server,
    policy: &Arc<InForce>,
    clients: &Arc<Clients>,
    clock: &Clock,
    sink: &Sink,
    metrics: &Metrics,
) -> std::io::Result<Watcher> {
    let (sink, metrics, notice) = (sink.clone(), metrics.clone(), watched.notice);
    let (in_force, clients, times) = (Arc::clone(policy), Arc::clone(clients), clock.clone());
    Watcher::start(Reloader::new(
        &watched.path,
        watched.overrides.clone(),
        server.clone(),
        Arc::clone(policy),
        clock.clone(),
        move |attempt| {
            let good = attempt.mistakes.is_empty();
            metrics.policy(&attempt.revision, good);
            let policy = in_force.current();
            recorded(&sink, "reload", attempt, &policy);
            told_clients(&sink, &times, &clients.look(&in_force));
            for route in observed(&policy).into_iter().filter(|_| good) {
                notice(&format!(
                    "warning: route `{route}`: `mode: observe` forwards requests that would be refused"
                ));
            }
        },
    ))
}

/// Records the policy that the process began with.
pub fn begun(policy: &InForce, sink: &Sink) {
    recorded(sink, "start", &policy.last_attempt(), &policy.current());
}

/// One record an attempt: what was tried, and what is in force after it.
fn recorded(sink: &Sink, cause: &str, attempt: &Attempt, policy: &Policy) {
    let texts = |list: Vec<String>| Value::Array(list.into_iter().map(Value::String).collect());
    sink.event(
        "policy",
        attempt.at,
        Map::from_iter([
            ("cause".to_owned(), Value::String(cause.to_owned())),
            ("taken".to_owned(), Value::Bool(attempt.mistakes.is_empty())),
            ("policy_revision".to_owned(), Value::String(attempt.revision.clone())),
            ("observe".to_owned(), texts(observed(policy))),
            ("mistakes".to_owned(), texts(attempt.mistakes.clone())),
        ]),
    );
}

/// Names of the routes that only observe, in file order.
fn observed(policy: &Policy) -> Vec<String> {
    let observe = policy.routes.iter().filter(|route| route.mode == Mode::Observe);
    observe.map(|route| route.name.clone()).collect()
}

/// Looks at the certificate's files until the gate stops.
pub async fn certificates(certificates: Arc<Certificates>, clock: Clock, sink: Sink, mut stop: watch::Receiver<bool>) {
    let mut unreadable = false;
    loop {
        tokio::select! {
            () = sleep(POLL) => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
        let own = Arc::clone(&certificates);
        let Ok(looked) = tokio::task::spawn_blocking(move || own.look()).await else {
            continue;
        };
        match looked {
            Ok(false) => unreadable = false,
            Ok(true) => {
                unreadable = false;
                told(&sink, &clock, None);
            }
            // Files that cannot be read look the same every time, so they are told once.
            Err(TlsError::Unreadable { .. }) if unreadable => {}
            Err(mistake) => {
                unreadable = matches!(mistake, TlsError::Unreadable { .. });
                told(&sink, &clock, Some(&mistake));
            }
        }
    }
}

/// Looks at the files of client certificates until the gate stops.
pub async fn clients(
    clients: Arc<Clients>,
    policy: Arc<InForce>,
    clock: Clock,
    sink: Sink,
    mut stop: watch::Receiver<bool>,
) {
    loop {
        tokio::select! {
            () = sleep(POLL) => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
        let (own, policy) = (Arc::clone(&clients), Arc::clone(&policy));
        let look = move || own.look(&policy);
        if let Ok(changes) = tokio::task::spawn_blocking(look).await {
            told_clients(&sink, &clock, &changes);
        }
    }
}

/// One record a bundle that is new or has changed.
fn told_clients(sink: &Sink, clock: &Clock, changes: &[Change]) {
    for change in changes {
        let mistake = change.fault.clone().map_or(Value::Null, Value::String);
        sink.event(
            "client_bundle",
            clock.now(),
            Map::from_iter([
                ("bundle".to_owned(), Value::String(change.name.clone())),
                ("taken".to_owned(), Value::Bool(mistake.is_null())),
                ("mistake".to_owned(), mistake),
            ]),
        );
    }
}

/// Completes once the value is true, or nobody is left to make it so.
pub async fn until_true(mut value: watch::Receiver<bool>) {
    let _gone = value.wait_for(|value| *value).await;
}

fn told(sink: &Sink, clock: &Clock, mistake: Option<&TlsError>) {
    let mistake = mistake.map_or(Value::Null, |mistake| Value::String(mistake.to_string()));
    sink.event(
        "certificate_reload",
        clock.now(),
        Map::from_iter([
            ("taken".to_owned(), Value::Bool(mistake.is_null())),
            ("mistake".to_owned(), mistake),
        ]),
    );
}
