//! The Redis engine over a real server, and everything that can go wrong with one.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that fails is a test"
)]

#[path = "support/servers.rs"]
mod servers;
#[allow(dead_code, reason = "the model is for engines that need no server")]
mod state_suite;
#[path = "support/store.rs"]
mod store;

use std::sync::Arc;
use std::time::Duration;

use portcullis::policy::Freshness;
use portcullis::state::redis::Redis;
use portcullis::state::store::{Committed, Store, StoreError};
use servers::RedisServer;
use state_suite::suite;
use store::{NOW, clock, first, key, remote, taken};

const TIMEOUT: Duration = Duration::from_secs(5);

async fn open(server: &RedisServer) -> Redis {
    open_with(&server.url(), 0, TIMEOUT).await.unwrap()
}

async fn open_with(url: &str, wait: u32, timeout: Duration) -> Result<Redis, String> {
    Redis::open(&remote(url, None, None), wait, timeout, &clock(), &Freshness::default())
        .await
        .map_err(|error| error.to_string())
}

/// Until the engine answers again.
async fn again(store: &Redis) -> Committed {
    for round in 0.. {
        match store.commit(first(&format!("again {round}"))).await {
            Ok(done) => return done,
            Err(StoreError::Unreachable(_)) => tokio::task::yield_now().await,
            Err(other) => panic!("{other}"),
        }
    }
    panic!("never")
}

#[tokio::test]
async fn redis_passes_the_suite() {
    let Some(server) = RedisServer::start(&[]) else { return };
    suite::run(async |name| {
        let namespace = name.chars().take(32).collect::<String>();
        let remote = store::named(&namespace, &server.url(), None);
        let store = Redis::open(&remote, 0, TIMEOUT, &clock(), &Freshness::default())
            .await
            .unwrap();
        Arc::new(store) as suite::Shared
    })
    .await;
}

#[tokio::test]
async fn of_two_processes_exactly_one_is_done() {
    let Some(server) = RedisServer::start(&[]) else { return };
    store::exactly_one_is_done(Arc::new(open(&server).await), Arc::new(open(&server).await)).await;
}

#[tokio::test]
async fn a_server_that_stops_and_one_that_is_not_there_are_unreachable() {
    let Some(mut server) = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]) else {
        return;
    };
    let store = open(&server).await;
    assert_eq!(store.commit(first("a")).await, Ok(Committed::Done));
    server.kill();
    assert!(matches!(
        store.commit(first("b")).await,
        Err(StoreError::Unreachable(_))
    ));
    assert!(open_with(&server.url(), 0, TIMEOUT).await.is_err());
    server.start_again();
    assert_eq!(again(&store).await, Committed::Done, "it connects again");
    // Each of its connections has to notice for itself.
    let mut answer = store.commit(first("a")).await;
    while matches!(answer, Err(StoreError::Unreachable(_))) {
        tokio::task::yield_now().await;
        answer = store.commit(first("a")).await;
    }
    assert_eq!(answer, Ok(taken()), "the file held it");
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_unreachable_in_time() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let store = open_with(&server.url(), 0, Duration::from_secs(2)).await.unwrap();
    server.halt(true);
    assert!(matches!(
        store.commit(first("a")).await,
        Err(StoreError::Unreachable(_))
    ));
    assert!(matches!(
        store.get(key("a"), NOW).await,
        Err(StoreError::Unreachable(_))
    ));
    server.halt(false);
    again(&store).await;
}

#[tokio::test]
async fn a_server_that_comes_back_empty_has_forgotten() {
    let Some(mut server) = RedisServer::start(&[]) else {
        return;
    };
    let store = open(&server).await;
    assert_eq!(store.commit(first("a")).await, Ok(Committed::Done));
    server.kill();
    server.start_again();
    let mut answer = store.commit(first("a")).await;
    while matches!(answer, Err(StoreError::Unreachable(_))) {
        tokio::task::yield_now().await;
        answer = store.commit(first("a")).await;
    }
    assert!(matches!(answer, Err(StoreError::Forgot(_))), "{answer:?}");
    assert!(matches!(store.fence(), Err(StoreError::Forgot(_))));
}

#[tokio::test]
async fn a_flushed_store_stays_forgotten_until_an_operator_resets_the_fence() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let store = open(&server).await;
    assert_eq!(store.commit(first("a")).await, Ok(Committed::Done));
    server.say(&["FLUSHALL"]);
    assert!(matches!(store.commit(first("a")).await, Err(StoreError::Forgot(_))));
    assert!(matches!(store.get(key("a"), NOW).await, Err(StoreError::Forgot(_))));
    let fresh = open(&server).await;
    assert_eq!(
        fresh.commit(first("b")).await,
        Ok(Committed::Done),
        "a fresh one begins behind a fence"
    );
    assert!(
        matches!(store.commit(first("c")).await, Err(StoreError::Forgot(_))),
        "begun anew by another"
    );
    let later = clock();
    later.set(jiff::Timestamp::from_millisecond(1_800_000_100_000).unwrap());
    let here = remote(&server.url(), None, None);
    let fence = Redis::reset_fence(&here, TIMEOUT, &later, &Freshness::default())
        .await
        .unwrap();
    assert_eq!(fence.as_millisecond(), 1_800_000_130_000);
    assert_eq!(store.commit(first("c")).await, Ok(Committed::Done));
    assert_eq!(store.fence(), Ok(Some(fence)));
}

#[tokio::test]
async fn a_store_that_is_behind_has_forgotten_for_everybody() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let (store, other) = (open(&server).await, open(&server).await);
    for name in ["a", "b"] {
        assert_eq!(store.commit(first(name)).await, Ok(Committed::Done));
    }
    // As after a failover to a copy that has not got the last commit.
    server.say(&["HSET", "{gate_test}:mark", "n", "1"]);
    assert!(matches!(store.commit(first("c")).await, Err(StoreError::Forgot(_))));
    assert!(matches!(other.commit(first("c")).await, Err(StoreError::Forgot(_))));
    let fresh = open(&server).await;
    assert!(matches!(fresh.commit(first("c")).await, Err(StoreError::Forgot(_))));
    let here = remote(&server.url(), None, None);
    Redis::reset_fence(&here, TIMEOUT, &clock(), &Freshness::default())
        .await
        .unwrap();
    for store in [store, other, fresh] {
        assert!(store.commit(first("d")).await.is_ok());
    }
}

#[tokio::test]
async fn a_server_without_memory_is_exhausted_and_nothing_is_dropped() {
    let Some(server) = RedisServer::start(&["--maxmemory-policy", "noeviction"]) else {
        return;
    };
    let store = open(&server).await;
    assert_eq!(store.commit(first("a")).await, Ok(Committed::Done));
    server.say(&["CONFIG", "SET", "maxmemory", "1"]);
    assert!(matches!(store.commit(first("b")).await, Err(StoreError::Exhausted(_))));
    assert_eq!(store.commit(first("a")).await, Ok(taken()));
    server.say(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(
        store.commit(first("b")).await,
        Ok(Committed::Done),
        "nothing of it was left"
    );
}

#[tokio::test]
async fn a_server_that_drops_entries_is_refused() {
    let Some(server) = RedisServer::start(&["--maxmemory-policy", "allkeys-lru"]) else {
        return;
    };
    let refused = open_with(&server.url(), 0, TIMEOUT).await.unwrap_err();
    assert!(refused.contains("noeviction"), "{refused}");
    server.say(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    let store = open(&server).await;
    assert_eq!(store.sweep(NOW).await, Ok(0));
    server.say(&["CONFIG", "SET", "maxmemory-policy", "volatile-ttl"]);
    assert!(
        matches!(store.sweep(NOW).await, Err(StoreError::Exhausted(_))),
        "seen while it runs"
    );
    assert!(store.commit(first("a")).await.is_err());
}

#[tokio::test]
async fn a_replica_is_refused() {
    let Some(primary) = RedisServer::start(&[]) else { return };
    let port = primary.port.to_string();
    let Some(replica) = RedisServer::start(&["--replicaof", "127.0.0.1", &port]) else {
        return;
    };
    let refused = open_with(&replica.url(), 0, TIMEOUT).await.unwrap_err();
    assert!(refused.contains("replica"), "{refused}");
}

#[tokio::test]
async fn a_commit_waits_for_its_replicas() {
    let Some(primary) = RedisServer::start(&["--repl-diskless-sync-delay", "0"]) else {
        return;
    };
    let alone = open_with(&primary.url(), 1, Duration::from_secs(3)).await.unwrap();
    assert!(
        matches!(alone.commit(first("a")).await, Err(StoreError::Unreachable(_))),
        "there is none"
    );
    let port = primary.port.to_string();
    let Some(_replica) = RedisServer::start(&["--replicaof", "127.0.0.1", &port]) else {
        return;
    };
    let store = open_with(&primary.url(), 1, Duration::from_secs(10)).await.unwrap();
    assert_eq!(again(&store).await, Committed::Done);
}

#[tokio::test]
async fn a_wrong_password_is_told_and_never_shown() {
    let Some(server) = RedisServer::start(&[
        "--user",
        "gate",
        "on",
        ">right",
        "~{gate_test}:*",
        "+@all",
        "--user",
        "default",
        "off",
    ]) else {
        return;
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    let url = format!("redis://gate@127.0.0.1:{}", server.port);
    let remote = remote(&url, Some(file.path().to_owned()), None);
    std::fs::write(file.path(), "hunter2\n").unwrap();
    let error = Redis::open(&remote, 0, TIMEOUT, &clock(), &Freshness::default())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("password"), "{error}");
    assert!(!format!("{error} {error:?}").contains("hunter2"));
    std::fs::write(file.path(), "right\n").unwrap();
    let store = Redis::open(&remote, 0, TIMEOUT, &clock(), &Freshness::default())
        .await
        .unwrap();
    assert_eq!(store.commit(first("a")).await, Ok(Committed::Done));
    assert!(!format!("{store:?}").contains("right"));
    let in_url = store::remote("redis://gate:hunter2@127.0.0.1", None, None);
    let error = Redis::open(&in_url, 0, TIMEOUT, &clock(), &Freshness::default())
        .await
        .unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hunter2"));
}

#[tokio::test]
async fn the_documented_user_may_do_all_that_is_needed() {
    let text = std::fs::read_to_string("docs/state.md").unwrap();
    let line = text.lines().find(|line| line.starts_with("user portcullis ")).unwrap();
    let rules = line
        .trim_start_matches("user ")
        .replace("{portcullis}", "{gate_test}")
        .replace("<password>", "right");
    let words: Vec<_> = ["--user"]
        .into_iter()
        .chain(rules.split(' '))
        .chain(["--user", "default", "off"])
        .collect();
    let Some(server) = RedisServer::start(&words) else {
        return;
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "right").unwrap();
    let url = format!("redis://portcullis@127.0.0.1:{}", server.port);
    let remote = remote(&url, Some(file.path().to_owned()), None);
    let store = Redis::open(&remote, 0, TIMEOUT, &clock(), &Freshness::default())
        .await
        .unwrap();
    store::all_that_is_asked(&store).await;
    Redis::reset_fence(&remote, TIMEOUT, &clock(), &Freshness::default())
        .await
        .unwrap();
}

#[tokio::test]
async fn tls_is_taken_from_the_right_ca_only() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let server_key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = file("server.pem", &server_key.cert.pem());
    let key = file("server.key", &server_key.signing_key.serialize_pem());
    let wrong = file("other.pem", &other.cert.pem());
    let tls_port = servers::free_port();
    let Some(_server) = RedisServer::start(&[
        "--tls-port",
        &tls_port.to_string(),
        "--tls-cert-file",
        certificate.to_str().unwrap(),
        "--tls-key-file",
        key.to_str().unwrap(),
        "--tls-auth-clients",
        "no",
    ]) else {
        return;
    };
    let open = async |ca: &std::path::PathBuf| {
        let url = format!("rediss://localhost:{tls_port}");
        Redis::open(
            &remote(&url, None, Some(ca.clone())),
            0,
            TIMEOUT,
            &clock(),
            &Freshness::default(),
        )
        .await
    };
    let error = open(&wrong).await.unwrap_err().to_string();
    assert!(error.contains("TLS"), "{error}");
    let store = open(&certificate).await.unwrap();
    assert_eq!(store.commit(first("a")).await, Ok(Committed::Done));
}

#[tokio::test]
async fn what_is_not_of_this_version_is_refused() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let store = open(&server).await;
    server.say(&["SET", "{gate_test}:mark2", "x"]);
    server.say(&["HSET", "{gate_test}:mark", "format", "2"]);
    let refused = open_with(&server.url(), 0, TIMEOUT).await.unwrap_err();
    assert!(refused.contains("format"), "{refused}");
    server.say(&["DEL", "{gate_test}:mark"]);
    server.say(&["SET", "{gate_test}:mark", "x"]);
    assert!(matches!(store.commit(first("a")).await, Err(StoreError::Damaged(_))));
}

/// What a process with a narrower window forgets is fresh to one with a wider.
#[tokio::test]
async fn processes_with_another_window_do_not_share_a_store() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let here = remote(&server.url(), None, None);
    let wider = Freshness {
        window: Duration::from_secs(3_600),
        ..Freshness::default()
    };
    let store = open(&server).await;
    let error = Redis::open(&here, 0, TIMEOUT, &clock(), &wider).await.unwrap_err();
    assert!(error.to_string().contains("freshness.window"), "{error}");
    assert_eq!(store.commit(first("a")).await, Ok(Committed::Done));
    Redis::reset_fence(&here, TIMEOUT, &clock(), &wider).await.unwrap();
    assert!(matches!(store.commit(first("b")).await, Err(StoreError::Forgot(_))));
    let wide = Redis::open(&here, 0, TIMEOUT, &clock(), &wider).await.unwrap();
    assert_eq!(wide.commit(first("b")).await, Ok(Committed::Done));
}

/// A figure for the documentation: `cargo test --test state_redis -- --ignored --nocapture`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn a_round_trip_takes() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let store: Arc<dyn Store> = Arc::new(open(&server).await);
    store::measure(store).await;
}
