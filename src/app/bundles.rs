//! Looks at the files of client certificates while the process runs. Every change is a record.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::clock::Clock;
use crate::policy::InForce;
use crate::record::Sink;
use crate::trust::mtls::Clients;

/// How often the files are looked at.
const POLL: Duration = Duration::from_secs(2);

/// Looks until the gate stops.
pub async fn watch(
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
        let own = (Arc::clone(&clients), Arc::clone(&policy), clock.clone(), sink.clone());
        let look = move || self::look(&own.0, &own.1, &own.2, &own.3);
        // A look that fails on itself is made again at the next turn.
        let _panicked = tokio::task::spawn_blocking(look).await;
    }
}

/// Looks once: one record for each bundle of the policy that is new or has changed.
pub fn look(clients: &Clients, policy: &InForce, clock: &Clock, sink: &Sink) {
    for change in clients.look(policy) {
        let mistake = change.fault.map_or(Value::Null, Value::String);
        sink.event(
            "client_bundle",
            clock.now(),
            Map::from_iter([
                ("bundle".to_owned(), Value::String(change.name)),
                ("taken".to_owned(), Value::Bool(mistake.is_null())),
                ("mistake".to_owned(), mistake),
            ]),
        );
    }
}
