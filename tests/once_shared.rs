//! Replicas over one Redis: what one of them admitted, none admits again; without the server nobody admits anything.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that fails is a test"
)]

mod rig;
#[path = "support/servers.rs"]
mod servers;

use std::sync::Arc;

use jiff::SignedDuration;
use portcullis::record::Sink;
use rig::backend::Backend;
use rig::{ROUTES, Rig, SETTINGS, post, report, sealed};
use servers::RedisServer;

/// Requests at the same instant.
const AT_ONCE: usize = 24;

/// A gate over this server, in front of this backend, past the fence of a store that is new.
async fn replica(server: &RedisServer, backend: &Backend) -> Rig {
    let settings = format!("{SETTINGS}state: {{engine: redis, url: \"{}\"}}\n", server.url());
    let routes = ROUTES.replace("idempotency: none", "idempotency: required");
    let text = rig::policy(&backend.url(), &settings, &routes);
    let (sink, clock) = (Sink::memory(), rig::clock());
    let running = rig::run_over(&text, sink.clone(), clock.clone(), None).await;
    clock.set(clock.now() + SignedDuration::from_secs(90));
    Rig {
        running,
        backend: backend.clone(),
        sink,
        clock,
    }
}

/// A message issued after the fence.
fn message() -> String {
    let mut message = report();
    message["provenance"]["issued_at"] = "2026-05-31T18:02:00Z".into();
    sealed(message).to_string()
}

#[tokio::test]
async fn of_the_same_message_at_two_replicas_exactly_one_reaches_the_backend() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let backend = Backend::start().await;
    let replicas = [
        Arc::new(replica(&server, &backend).await),
        Arc::new(replica(&server, &backend).await),
    ];
    let legacy = post("/api/orders", "Idempotency-Key: \"order-1\"\r\n", "{\"n\":1}");
    for request in [post("/v1/messages", "", message()), legacy] {
        let seen = backend.requests().len();
        let sent: Vec<_> = (0..AT_ONCE)
            .map(|number| {
                let (rig, request) = (Arc::clone(&replicas[number % 2]), request.clone());
                tokio::spawn(async move { rig.send(request).await })
            })
            .collect();
        let mut passed = 0;
        for answer in sent {
            let answer = answer.await.unwrap();
            if answer.status == 200 {
                passed += 1;
            } else {
                let rule = answer.rule();
                assert!(
                    ["replay.seen", "idempotency.in-flight"].contains(&rule.as_str()),
                    "{}",
                    answer.text
                );
            }
        }
        assert_eq!((passed, backend.requests().len()), (1, seen + 1));
    }
    let records = replicas.iter().map(|rig| rig.records().len()).sum::<usize>();
    assert_eq!(records, 2 * AT_ONCE);
}

/// `state.unavailable`: nothing passes that cannot be remembered.
#[tokio::test]
async fn without_its_server_a_gate_admits_nothing_until_it_is_back() {
    let Some(mut server) = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]) else {
        return;
    };
    let backend = Backend::start().await;
    let gate = replica(&server, &backend).await;
    server.kill();
    gate.refuses(post("/v1/messages", "", message()), "state.unavailable", 503)
        .await;
    server.start_again();
    loop {
        let answer = gate.send(post("/v1/messages", "", message())).await;
        match (answer.status, answer.rule().as_str()) {
            (200, _) => break,
            (503, "state.unavailable") => {}
            _ => panic!("{}", answer.text),
        }
    }
    assert_eq!(backend.requests().len(), 1);
    gate.refuses(post("/v1/messages", "", message()), "replay.seen", 409)
        .await;
}

/// An emptied store has forgotten what was admitted, so the gate that knew it admits nothing more.
#[tokio::test]
async fn a_store_that_was_emptied_is_not_believed() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let backend = Backend::start().await;
    let gate = replica(&server, &backend).await;
    assert_eq!(gate.send(post("/v1/messages", "", message())).await.status, 200);
    server.say(&["FLUSHALL"]);
    gate.refuses(post("/v1/messages", "", message()), "state.unavailable", 503)
        .await;
    assert_eq!(backend.requests().len(), 1);
}
