//! The PostgreSQL engine over a real server, and everything that can go wrong with one.

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
use portcullis::state::engine::Remote;
use portcullis::state::postgres::Postgres;
use portcullis::state::store::{Committed, Store, StoreError};
use servers::PostgresServer;
use state_suite::suite;
use store::{NOW, clock, first, key, remote, taken};

const TIMEOUT: Duration = Duration::from_secs(10);

fn here(server: &PostgresServer) -> Remote {
    remote(&server.url(), Some(server.password_file()), None)
}

async fn open(server: &PostgresServer) -> Postgres {
    open_at(&here(server)).await.unwrap()
}

async fn open_at(remote: &Remote) -> Result<Postgres, String> {
    Postgres::open(remote, TIMEOUT, &clock(), &Freshness::default())
        .await
        .map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_passes_the_suite() {
    let Some(server) = PostgresServer::start(&["-c", "fsync=on"]) else {
        return;
    };
    suite::run(async |name| {
        let namespace = name.chars().take(32).collect::<String>();
        let remote = store::named(&namespace, &server.url(), Some(server.password_file()));
        Arc::new(open_at(&remote).await.unwrap()) as suite::Shared
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_processes_exactly_one_is_done() {
    let Some(server) = PostgresServer::start(&[]) else {
        return;
    };
    store::exactly_one_is_done(Arc::new(open(&server).await), Arc::new(open(&server).await)).await;
    assert_eq!(server.say("SELECT commits FROM gate_test_mark"), "21");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_crashes_is_unreachable_and_comes_back_with_all() {
    let Some(mut server) = PostgresServer::start(&[]) else {
        return;
    };
    let store = open(&server).await;
    assert_eq!(store.commit(first("a")).await, Ok(Committed::Done));
    server.kill();
    assert!(matches!(
        store.commit(first("b")).await,
        Err(StoreError::Unreachable(_))
    ));
    assert!(matches!(
        store.get(key("a"), NOW).await,
        Err(StoreError::Unreachable(_))
    ));
    assert!(open_at(&here(&server)).await.is_err());
    server.start_again();
    assert_eq!(store.commit(first("a")).await, Ok(taken()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_that_are_gone_or_behind_are_forgotten_until_an_operator_resets_the_fence() {
    let Some(server) = PostgresServer::start(&[]) else {
        return;
    };
    let store = open(&server).await;
    let forgot = async |store: &Postgres| {
        let answer = store.commit(first("a")).await;
        assert!(matches!(answer, Err(StoreError::Forgot(_))), "{answer:?}");
    };
    let reset = async || {
        Postgres::reset_fence(&here(&server), TIMEOUT, &clock(), &Freshness::default())
            .await
            .unwrap()
    };
    for name in ["a", "b"] {
        assert_eq!(store.commit(first(name)).await, Ok(Committed::Done));
    }
    server.say("UPDATE gate_test_mark SET commits = 1");
    forgot(&store).await;
    assert!(store.fence().is_err());
    forgot(&open(&server).await).await;
    reset().await;
    assert_eq!(store.commit(first("a")).await, Ok(taken()));
    server.say("DELETE FROM gate_test_mark; DELETE FROM gate_test_entry");
    forgot(&store).await;
    assert_eq!(
        open(&server).await.commit(first("c")).await,
        Ok(Committed::Done),
        "behind a fence"
    );
    forgot(&store).await;
    let fence = reset().await;
    assert_eq!(store.commit(first("d")).await, Ok(Committed::Done));
    assert_eq!(store.fence(), Ok(Some(fence)));
    server.say("DROP TABLE gate_test_entry CASCADE");
    forgot(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_write_or_not_to_its_disk_is_refused() {
    for (setting, told) in [
        ("default_transaction_read_only=on", "read only"),
        ("fsync=off", "fsync"),
        ("full_page_writes=off", "full_page_writes"),
    ] {
        let Some(server) = PostgresServer::start(&["-c", setting]) else {
            return;
        };
        let refused = open_at(&here(&server)).await.unwrap_err();
        assert!(refused.contains(told), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_is_durable_whatever_the_session_says() {
    let Some(mut server) = PostgresServer::start(&["-c", "synchronous_commit=off", "-c", "wal_writer_delay=10s"])
    else {
        return;
    };
    let store = open(&server).await;
    assert_eq!(store.commit(first("a")).await, Ok(Committed::Done));
    server.kill();
    server.start_again();
    let mut answer = store.commit(first("a")).await;
    while matches!(answer, Err(StoreError::Unreachable(_))) {
        answer = store.commit(first("a")).await;
    }
    assert_eq!(answer, Ok(taken()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_room_is_exhausted_and_nothing_of_the_commit_is_left() {
    let Some(server) = PostgresServer::start(&[]) else {
        return;
    };
    let store = open(&server).await;
    // The database raises for a row what it raises when its disk is full.
    server.say(
        "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE disk_full; END $$; \
         CREATE TRIGGER no_room BEFORE INSERT ON gate_test_entry FOR EACH ROW EXECUTE FUNCTION no_room()",
    );
    let answer = store.commit(store::counted("a", 9)).await;
    assert!(matches!(answer, Err(StoreError::Exhausted(_))), "{answer:?}");
    assert_eq!(server.say("SELECT count(*) FROM gate_test_count"), "0");
    server.say("DROP TRIGGER no_room ON gate_test_entry");
    assert_eq!(store.commit(store::counted("a", 9)).await, Ok(Committed::Done));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_is_held_is_waited_for_so_long() {
    let Some(server) = PostgresServer::start(&[]) else {
        return;
    };
    let store = Postgres::open(&here(&server), Duration::from_secs(3), &clock(), &Freshness::default())
        .await
        .unwrap();
    assert_eq!(store.commit(first("a")).await, Ok(Committed::Done));
    std::thread::scope(|scope| {
        let lock =
            scope.spawn(|| server.say("BEGIN; SELECT 1 FROM gate_test_mark FOR UPDATE; SELECT pg_sleep(7); COMMIT"));
        let held =
            "SELECT count(*) FROM pg_locks WHERE relation = 'gate_test_mark'::regclass AND mode = 'RowShareLock'";
        while server.say(held) == "0" {}
        let answer =
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(store.commit(first("b"))));
        assert!(matches!(answer, Err(StoreError::Unreachable(_))), "{answer:?}");
        lock.join().unwrap();
    });
    assert_eq!(store.get(key("b"), NOW).await, Ok(None), "it did not happen later");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_or_url_is_told_and_never_shown() {
    let Some(server) = PostgresServer::start(&[]) else {
        return;
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "hunter2\n").unwrap();
    let wrong = remote(&server.url(), Some(file.path().to_owned()), None);
    let error = open_at(&wrong).await.unwrap_err();
    assert!(error.contains("password") && !error.contains("hunter2"), "{error}");
    let error = open_at(&remote("postgres://gate:hunter2@127.0.0.1/postgres", None, None))
        .await
        .unwrap_err();
    assert!(error.contains("password_file") && !error.contains("hunter2"), "{error}");
    assert!(!format!("{:?}", open(&server).await).contains("right"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_documented_user_may_do_all_that_is_needed() {
    let Some(server) = PostgresServer::start(&[]) else {
        return;
    };
    let text = std::fs::read_to_string("docs/state.md").unwrap();
    let sql = text.split("```sql\n").nth(1).unwrap().split("```").next().unwrap();
    server.say(
        &sql.replace("<password>", "right")
            .replace("DATABASE gate", "DATABASE postgres"),
    );
    let url = server.url().replace("gate@", "portcullis@");
    let remote = remote(&url, Some(server.password_file()), None);
    let store = open_at(&remote).await.unwrap();
    store::all_that_is_asked(&store).await;
    Postgres::reset_fence(&remote, TIMEOUT, &clock(), &Freshness::default())
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_is_taken_from_the_right_ca_only() {
    let Some(server) = PostgresServer::start(&[]) else {
        return;
    };
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    server.secret_file("server.crt", &own.cert.pem());
    server.secret_file("server.key", &own.signing_key.serialize_pem());
    server.say("ALTER SYSTEM SET ssl = on");
    server.say("SELECT pg_reload_conf()");
    while server.say("SHOW ssl") != "on" {}
    let folder = tempfile::TempDir::new().unwrap();
    let open = async |pem: String| {
        let ca = folder.path().join("ca.pem");
        std::fs::write(&ca, pem).unwrap();
        let url = format!("postgres://gate@localhost:{}/postgres", server.port);
        open_at(&remote(&url, Some(server.password_file()), Some(ca))).await
    };
    let error = open(other.cert.pem()).await.unwrap_err();
    assert!(error.contains("reached"), "{error}");
    let store = open(own.cert.pem()).await.unwrap();
    assert_eq!(store.commit(first("a")).await, Ok(Committed::Done));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_of_this_version_is_refused() {
    let Some(server) = PostgresServer::start(&[]) else {
        return;
    };
    open(&server).await;
    server.say("UPDATE gate_test_mark SET format = '2'");
    let refused = open_at(&here(&server)).await.unwrap_err();
    assert!(refused.contains("format"), "{refused}");
}

/// A figure for the documentation: `cargo test --test state_postgres -- --ignored --nocapture`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn a_round_trip_takes() {
    let Some(server) = PostgresServer::start(&[]) else {
        return;
    };
    let store: Arc<dyn Store> = Arc::new(open(&server).await);
    store::measure(store).await;
}
