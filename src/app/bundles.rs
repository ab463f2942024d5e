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

#[cfg(test)]
mod tests {
    use std::fs;

    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

    use super::*;
    use crate::policy::ClientBundle;
    use crate::rules::testing::Case;

    fn authority() -> String {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap());
        issuer.unwrap().pem()
    }

    /// Waits for so many records; time passes only while nothing else does.
    async fn events(sink: &Sink, count: usize) -> Vec<Value> {
        while sink.lines().len() < count {
            sleep(POLL).await;
        }
        let lines = sink.lines();
        lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn every_change_of_a_file_is_seen_and_told_once() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("ca.pem");
        fs::write(&file, authority()).unwrap();
        let mut policy = Case::new().policy;
        policy.trust.clients = vec![ClientBundle {
            name: "mesh".to_owned(),
            file: file.clone(),
            trust_domain: None,
            crl: None,
        }];
        let clock = Clock::manual("2026-05-31T18:00:00Z".parse().unwrap());
        let clients = Clients::load(&policy.trust.clients).unwrap();
        let policy = Arc::new(InForce::new(policy, clock.now()));
        let sink = Sink::memory();
        let (stop, stopped) = watch::channel(false);
        let watching = tokio::spawn(super::watch(clients, policy, clock, sink.clone(), stopped));
        fs::write(&file, authority()).unwrap();
        let first = events(&sink, 1).await;
        assert_eq!(
            (&first[0]["bundle"], &first[0]["taken"]),
            (&"mesh".into(), &true.into())
        );
        fs::write(&file, "nothing").unwrap();
        let second = events(&sink, 2).await;
        assert_eq!(second[1]["taken"], false);
        assert!(second[1]["mistake"].as_str().unwrap().contains("no CA certificates"));
        // As long as it stays so, it is not told again.
        sleep(POLL * 5).await;
        assert_eq!(sink.lines().len(), 2);
        stop.send_replace(true);
        watching.await.unwrap();
    }
}
