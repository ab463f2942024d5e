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
use crate::policy::InForce;
use crate::record::Sink;
use crate::telemetry::Metrics;
use crate::trust::tls::{Certificates, TlsError};

/// How often the certificate's files are looked at.
const POLL: Duration = Duration::from_secs(2);

/// Watches the policy until the returned value is dropped.
pub fn policy(
    watched: &Watched,
    server: &Server,
    policy: &Arc<InForce>,
    clock: &Clock,
    sink: &Sink,
    metrics: &Metrics,
) -> std::io::Result<Watcher> {
    let (sink, metrics) = (sink.clone(), metrics.clone());
    Watcher::start(Reloader::new(
        &watched.path,
        watched.overrides.clone(),
        server.clone(),
        Arc::clone(policy),
        clock.clone(),
        move |attempt| {
            let good = attempt.mistakes.is_empty();
            metrics.policy(&attempt.revision, good);
            let mistakes = attempt.mistakes.iter().cloned().map(Value::String).collect();
            sink.event(
                "policy_reload",
                attempt.at,
                Map::from_iter([
                    ("taken".to_owned(), Value::Bool(good)),
                    ("policy_revision".to_owned(), Value::String(attempt.revision.clone())),
                    ("mistakes".to_owned(), Value::Array(mistakes)),
                ]),
            );
        },
    ))
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
