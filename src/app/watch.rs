//! What is read again while the process runs: the policy, the certificate, the keys of issuers and the gate's own. Every
//! attempt that changes something or fails is a record.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::sleep;

use super::{Watched, bundles};
use crate::clock::Clock;
use crate::config::Server;
use crate::config::{Reloader, Watcher};
use crate::message::is_id;
use crate::policy::{Attempt, InForce, Mode, Policy};
use crate::record::Sink;
use crate::state::Keeper;
use crate::telemetry::Metrics;
use crate::trust::mtls::Clients;
use crate::trust::own::Own;
use crate::trust::ring::{Event, KeyRing, What};
use crate::trust::tls::{Certificates, TlsError};

/// How often the certificate's files are looked at.
const POLL: Duration = Duration::from_secs(2);

/// How often what has ended is removed from the store.
const SWEEP: Duration = Duration::from_secs(10);

/// What has ended stays this much longer: a request is admitted a while after it was judged fresh, and the clock of
/// another process of the same store may be behind.
const MARGIN: Duration = Duration::from_secs(60);

/// What follows the policy: the files and places it names.
#[derive(Clone, Debug)]
pub struct Believed {
    /// Keys of issuers.
    pub keys: KeyRing,
    /// Bundles of client certificates.
    pub clients: Arc<Clients>,
}

/// Watches the policy until the returned value is dropped.
pub fn policy(
    watched: &Watched,
    server: &Server,
    policy: &Arc<InForce>,
    believed: &Believed,
    clock: &Clock,
    sink: &Sink,
    metrics: &Metrics,
) -> std::io::Result<Watcher> {
    let (sink, metrics, notice) = (sink.clone(), metrics.clone(), watched.notice);
    let (in_force, believed, times) = (Arc::clone(policy), believed.clone(), clock.clone());
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
            if good {
                believed.keys.adopt(&policy.trust);
                bundles::look(&believed.clients, &in_force, &times, &sink);
            }
            recorded(&sink, "reload", attempt, &policy);
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
                told(&sink, &clock, "certificate_reload", None);
            }
            // Files that cannot be read look the same every time, so they are told once.
            Err(TlsError::Unreadable { .. }) if unreadable => {}
            Err(mistake) => {
                unreadable = matches!(mistake, TlsError::Unreadable { .. });
                told(&sink, &clock, "certificate_reload", Some(mistake.to_string()));
            }
        }
    }
}

/// Looks at the file of the gateway's own key, which the policy in force names, until the gate stops.
pub async fn own_key(own: Arc<Own>, policy: Arc<InForce>, clock: Clock, sink: Sink, mut stop: watch::Receiver<bool>) {
    let mut lost = false;
    loop {
        tokio::select! {
            () = sleep(POLL) => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
        let (looking, path) = (Arc::clone(&own), policy.current().trust.key.clone());
        let Ok(looked) = tokio::task::spawn_blocking(move || looking.look(path.as_deref())).await else {
            continue;
        };
        match looked {
            Ok(false) => lost = false,
            Ok(true) => {
                lost = false;
                told(&sink, &clock, "signing_key_reload", None);
            }
            // A file that cannot be opened looks the same every time, so it is told once.
            Err(mistake) if lost && !mistake.is_about_content() => {}
            Err(mistake) => {
                lost = !mistake.is_about_content();
                told(&sink, &clock, "signing_key_reload", Some(mistake.to_string()));
            }
        }
    }
}

/// Records what becomes of the keys of an issuer, and tells a person what is wrong with them.
pub fn keys(sink: Sink, notice: Option<fn(&str)>) -> impl Fn(&Event) + Send + Sync + 'static {
    move |event| {
        let number = |count: usize| Value::from(u64::try_from(count).unwrap_or(u64::MAX));
        let text = |text: &str| Value::String(text.to_owned());
        let (taken, keys, mistake, conflicts) = match &event.what {
            What::Taken { keys } => (true, number(*keys), Value::Null, Value::Null),
            What::Failed { trouble, .. } => (false, Value::Null, Value::String(trouble.to_string()), Value::Null),
            What::Stale => (
                false,
                Value::Null,
                text("the set is older than `max_stale`"),
                Value::Null,
            ),
            What::Conflict { with, kids } => {
                // What is no id could hold anything.
                let kids = kids
                    .iter()
                    .map(|kid| text(if is_id(kid) { kid } else { "(not an id)" }));
                let mistake = Value::String(format!("these `kid`s belong to the issuer `{with}`"));
                (true, Value::Null, mistake, Value::Array(kids.collect()))
            }
        };
        sink.event(
            "keys",
            event.at,
            Map::from_iter([
                ("issuer".to_owned(), text(&event.issuer)),
                ("taken".to_owned(), Value::Bool(taken)),
                ("keys".to_owned(), keys),
                ("mistake".to_owned(), mistake),
                ("conflicts".to_owned(), conflicts),
            ]),
        );
        if let (Some(notice), Some(words)) = (notice, event.warning()) {
            notice(&words);
        }
    }
}

/// Removes what has ended from the store until the gate stops.
pub async fn sweep(keeper: Arc<Keeper>, clock: Clock, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = sleep(SWEEP) => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
        let ended = clock.now().saturating_sub(MARGIN).unwrap_or(Timestamp::MIN);
        keeper.sweep(ended).await;
    }
}

/// Completes once the value is true, or nobody is left to make it so.
pub async fn until_true(mut value: watch::Receiver<bool>) {
    let _gone = value.wait_for(|value| *value).await;
}

fn told(sink: &Sink, clock: &Clock, kind: &str, mistake: Option<String>) {
    let mistake = mistake.map_or(Value::Null, Value::String);
    sink.event(
        kind,
        clock.now(),
        Map::from_iter([
            ("taken".to_owned(), Value::Bool(mistake.is_null())),
            ("mistake".to_owned(), mistake),
        ]),
    );
}
