//! Keys of issuers: from files and https servers, rotation, cut-off, and what a message gets meanwhile (contract §7).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that fails is a test"
)]

mod rig;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use jiff::Timestamp;
use portcullis::app::{Running, Setup, Watched};
use portcullis::config::{self, Overrides};
use portcullis::record::Sink;
use portcullis::trust::ring::Unready;
use rig::backend::Backend;
use rig::jwks::{Jwks, Says, answer, set};
use rig::keys::{Key, jwks};
use rig::{Answer, ROUTES, Rig, SETTINGS, post, report, soon, until};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// A message of its own, issued now.
fn message(now: Timestamp) -> Value {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let mut message = report();
    message["message_id"] = format!("msg_{number}").into();
    message["delivery"]["idempotency_key"] = format!("key_{number}").into();
    message["provenance"]["issued_at"] = now.to_string().into();
    message
}

/// A post of the message with this signature.
fn signed(message: &Value, jws: &str) -> Bytes {
    post(
        "/v1/messages",
        &format!("UAI-Signature: {jws}\r\n"),
        message.to_string(),
    )
}

/// A good post of a message issued now.
fn good(key: &Key, now: Timestamp) -> Bytes {
    let message = message(now);
    signed(&message, &key.signs(&key.header(now.as_second()), &message))
}

/// A gate that knows these issuers.
async fn knowing(issuers: &str) -> Rig {
    Rig::with(&format!("{SETTINGS}issuers:\n{issuers}"), ROUTES).await
}

/// The policy's lines of an issuer whose keys are in a file.
fn of_file(name: &str, path: &Path, more: &str) -> String {
    format!(
        "  - {{name: {name}, keys: \"{}\", senders: [\"agt_*\"]{more}}}\n",
        path.display()
    )
}

/// What the gate tells of its keys.
fn told(rig: &Rig) -> Vec<(String, bool, String)> {
    let told = rig.events("keys").into_iter().map(|event| {
        (
            event["issuer"].as_str().unwrap().to_owned(),
            event["taken"].as_bool().unwrap(),
            event["mistake"].as_str().unwrap_or_default().to_owned(),
        )
    });
    told.collect()
}

/// What `/readyz` says.
async fn ready(rig: &Rig) -> Answer {
    let mut stream = TcpStream::connect(rig.running.admin()).await.unwrap();
    stream.write_all(rig::get("/readyz", "").as_bytes()).await.unwrap();
    Answer::read(&mut stream).await
}

fn now() -> Timestamp {
    rig::clock().now()
}

#[tokio::test]
async fn a_message_is_verified_with_a_key_of_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("keys.json");
    let (edwards, nist, stranger) = (Key::ed25519("a"), Key::es256("b"), Key::ed25519("c"));
    fs::write(&file, jwks(&[&edwards, &nist])).unwrap();
    let rig = knowing(&of_file("partner", &file, "")).await;
    for key in [&edwards, &nist] {
        let answered = rig.send(good(key, now())).await;
        assert_eq!(answered.status, 200, "{}", answered.text);
    }
    assert_eq!(rig.backend.requests().len(), 2);
    let mut changed = message(now());
    let jws = edwards.signs(&edwards.header(now().as_second()), &changed);
    changed["body"]["summary"] = "another".into();
    rig.refuses(signed(&changed, &jws), "signature.wrong", 401).await;
    rig.refuses(good(&stranger, now()), "signature.key-unknown", 401).await;
    let swapped = Key::ed25519("a");
    rig.refuses(good(&swapped, now()), "signature.wrong", 401).await;
    let message = message(now());
    let mut elsewhere = edwards.header(now().as_second());
    elsewhere["aud"] = "https://other.example/v1/messages".into();
    let jws = edwards.signs(&elsewhere, &message);
    rig.refuses(signed(&message, &jws), "signature.wrong-audience", 401)
        .await;
    let mut here = edwards.header(now().as_second());
    here["aud"] = "agt_runtime.consumer".into();
    let answered = rig.send(signed(&message, &edwards.signs(&here, &message))).await;
    assert_eq!(answered.status, 200, "{}", answered.text);
}

#[tokio::test]
async fn the_url_of_the_route_is_an_audience() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("keys.json");
    let key = Key::ed25519("a");
    fs::write(&file, jwks(&[&key])).unwrap();
    let settings = format!(
        "{SETTINGS}public_url: https://gate.example\nissuers:\n{}",
        of_file("partner", &file, "")
    );
    let rig = Rig::with(&settings, ROUTES).await;
    let message = message(now());
    for (aud, is_good) in [
        ("https://gate.example/v1/messages", true),
        ("https://gate.example/v1/other", false),
        ("https://gate.example/v1/messages/", false),
        ("https://gate.example", false),
    ] {
        let mut header = key.header(now().as_second());
        header["aud"] = aud.into();
        let post = signed(&message, &key.signs(&header, &message));
        if is_good {
            assert_eq!(rig.send(post).await.status, 200, "{aud}");
        } else {
            rig.refuses(post, "signature.wrong-audience", 401).await;
        }
    }
}

#[tokio::test]
async fn a_failed_signature_leaves_a_security_record_and_a_flood_of_them_ten() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("keys.json");
    let key = Key::ed25519("a");
    fs::write(&file, jwks(&[&key])).unwrap();
    let rig = knowing(&of_file("partner", &file, "")).await;
    let forged = Key::ed25519("a");
    let message = message(now());
    let jws = forged.signs(&forged.header(now().as_second()), &message);
    let answered = rig.refuses(signed(&message, &jws), "signature.wrong", 401).await;
    let record = rig.record().await;
    let security = rig.events("signature_failed").remove(0);
    assert_eq!(security["rule"], "signature.wrong");
    assert_eq!(security["kid"], "a");
    assert_eq!(security["alg"], "Ed25519");
    assert_eq!(security["id"], record["id"]);
    assert_eq!(security["message_digest"], record["message_digest"]);
    assert_eq!(security["suppressed"], 0);
    let signature = jws.rsplit('.').next().unwrap();
    assert!(!rig.sink.lines().iter().any(|line| line.contains(signature)));
    assert!(!answered.text.contains(signature));
    for _ in 0..14 {
        rig.refuses(good(&forged, now()), "signature.wrong", 401).await;
    }
    assert_eq!(rig.events("signature_failed").len(), 10);
    rig.pass(60);
    let later = rig.clock.now();
    rig.refuses(good(&forged, later), "signature.wrong", 401).await;
    let last = rig.events("signature_failed").pop().unwrap();
    assert_eq!(last["suppressed"], 5);
    let metrics = rig.running.metrics().text(0);
    assert!(
        metrics.contains("portcullis_security_records_suppressed_total 5"),
        "{metrics}"
    );
    // A message without a signature, or whose signature nobody could check, is no failed signature.
    rig.refuses(
        post(
            "/v1/messages",
            "UAI-Signature: a\r\nUAI-Signature: b\r\n",
            report().to_string(),
        ),
        "signature.malformed",
        401,
    )
    .await;
    assert_eq!(rig.events("signature_failed").len(), 12);
}

#[tokio::test]
async fn a_file_that_turns_bad_keeps_the_last_good_set() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("keys.json");
    let (first, second) = (Key::ed25519("a"), Key::ed25519("b"));
    fs::write(&file, jwks(&[&first])).unwrap();
    let rig = knowing(&of_file("partner", &file, "")).await;
    assert_eq!(told(&rig), [("partner".to_owned(), true, String::new())]);
    let generation = rig.running.keys().generation();
    fs::write(&file, "{\"keys\": [").unwrap();
    for _ in 0..3 {
        rig.running.keys().look().await;
    }
    assert_eq!(told(&rig).len(), 2, "told once");
    let (_, taken, mistake) = told(&rig).remove(1);
    assert!(!taken && mistake.starts_with("expected a JWK Set: "), "{mistake}");
    assert_eq!(rig.running.keys().generation(), generation);
    assert_eq!(rig.send(good(&first, now())).await.status, 200);
    fs::remove_file(&file).unwrap();
    rig.running.keys().look().await;
    assert_eq!(told(&rig)[2].2, "the file does not exist");
    assert_eq!(rig.send(good(&first, now())).await.status, 200);
    // The new set comes by a link that is swapped, as Kubernetes does it.
    let beside = directory.path().join("..data");
    fs::write(&beside, jwks(&[&second])).unwrap();
    std::os::unix::fs::symlink(&beside, &file).unwrap();
    rig.running.keys().look().await;
    assert!(told(&rig)[3].1);
    assert_ne!(rig.running.keys().generation(), generation);
    assert_eq!(rig.send(good(&second, now())).await.status, 200);
    rig.refuses(good(&first, now()), "signature.key-unknown", 401).await;
}

#[tokio::test]
async fn nothing_passes_while_an_issuer_was_never_loaded() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("keys.json");
    let key = Key::ed25519("a");
    let rig = knowing(&of_file("partner", &file, "")).await;
    assert_eq!(rig.running.keys().unready(), Some(Unready::NeverLoaded));
    assert_eq!(told(&rig).len(), 1);
    let ready = ready(&rig).await;
    assert_eq!(ready.status, 503);
    assert!(
        ready.text.contains("the keys of an issuer were never loaded"),
        "{}",
        ready.text
    );
    rig.refuses(good(&key, now()), "keys.unavailable", 503).await;
    assert_eq!(rig.events("signature_failed").len(), 0, "no fault of the signature");
    // A message without a signature needs no key.
    let plain = post("/v1/messages", "", report().to_string());
    assert_eq!(rig.send(plain).await.status, 200);
    fs::write(&file, jwks(&[&key])).unwrap();
    rig.running.keys().look().await;
    assert_eq!(rig.running.keys().unready(), None);
    assert_eq!(self::ready(&rig).await.status, 200);
    assert_eq!(rig.send(good(&key, now())).await.status, 200);
}

#[tokio::test]
async fn a_server_that_is_not_there_at_the_start_is_asked_again() {
    let key = Key::ed25519("a");
    let server = Jwks::start(Says::Nothing).await;
    let rig = knowing(&server.issuer("partner", "")).await;
    assert_eq!(server.asked(), 1);
    assert_eq!(rig.running.keys().unready(), Some(Unready::NeverLoaded));
    rig.refuses(good(&key, now()), "keys.unavailable", 503).await;
    assert_eq!(server.asked(), 2, "a message that needs it asks once");
    rig.refuses(good(&key, now()), "keys.unavailable", 503).await;
    assert_eq!(server.asked(), 2, "the cool-down holds");
    server.says(set(&jwks(&[&key]), ""));
    rig.running.keys().look().await;
    assert_eq!(server.asked(), 2, "not due yet");
    rig.pass(10);
    rig.running.keys().look().await;
    assert_eq!(server.asked(), 3);
    assert_eq!(rig.running.keys().unready(), None);
    assert_eq!(rig.send(good(&key, rig.clock.now())).await.status, 200);
}

#[tokio::test]
async fn an_unknown_kid_fetches_once_for_all_who_ask_and_then_the_cool_down_holds() {
    let (old, new) = (Key::ed25519("a"), Key::ed25519("b"));
    let server = Jwks::start(set(&jwks(&[&old]), "")).await;
    let rig = knowing(&server.issuer("partner", "")).await;
    assert_eq!(server.asked(), 1);
    let Says::Bytes(both) = set(&jwks(&[&old, &new]), "") else {
        panic!("a set");
    };
    server.says(Says::Held(both));
    let asking = async {
        let posts = [0; 8].map(|_| good(&new, now()));
        let (a, b, c, d, e, f, g, h) = tokio::join!(
            rig.send(&posts[0]),
            rig.send(&posts[1]),
            rig.send(&posts[2]),
            rig.send(&posts[3]),
            rig.send(&posts[4]),
            rig.send(&posts[5]),
            rig.send(&posts[6]),
            rig.send(&posts[7]),
        );
        [a, b, c, d, e, f, g, h].map(|answer| answer.status)
    };
    let letting = async {
        until(|| server.asked() == 2).await;
        // A known key waits for nobody.
        assert_eq!(rig.send(good(&old, now())).await.status, 200);
        server.release();
    };
    let (statuses, ()) = soon(async { tokio::join!(asking, letting) }).await;
    assert_eq!(statuses, [200; 8]);
    assert_eq!(server.asked(), 2);
    // Unknown ones, one and many, ask no more until the cool-down ends.
    server.says(set(&jwks(&[&old, &new]), ""));
    for kid in ["c", "d", "c"] {
        rig.refuses(good(&Key::ed25519(kid), now()), "signature.key-unknown", 401)
            .await;
    }
    assert_eq!(server.asked(), 2);
    rig.pass(30);
    for _ in 0..2 {
        let stranger = Key::ed25519("c");
        rig.refuses(good(&stranger, rig.clock.now()), "signature.key-unknown", 401)
            .await;
    }
    assert_eq!(server.asked(), 3);
}

#[tokio::test]
async fn a_client_that_hangs_up_does_not_end_the_fetch() {
    let (old, new) = (Key::ed25519("a"), Key::ed25519("b"));
    let server = Jwks::start(set(&jwks(&[&old]), "")).await;
    let rig = knowing(&server.issuer("partner", "")).await;
    let Says::Bytes(both) = set(&jwks(&[&old, &new]), "") else {
        panic!("a set");
    };
    server.says(Says::Held(both));
    {
        let mut stream = rig.connect().await;
        stream.write_all(&good(&new, now())).await.unwrap();
        until(|| server.asked() == 2).await;
    }
    let record = rig.record().await;
    assert_eq!(
        (&record["verdict"], &record["aborted_stage"]),
        (&"aborted".into(), &"9".into())
    );
    server.release();
    until(|| told(&rig).len() == 2).await;
    assert_eq!(rig.send(good(&new, now())).await.status, 200);
    assert_eq!(server.asked(), 2);
}

#[tokio::test]
async fn keys_rotate_under_load_without_a_false_verdict() {
    let (first, second, third) = (Key::ed25519("a"), Key::ed25519("b"), Key::es256("c"));
    let server = Jwks::start(set(&jwks(&[&first]), "cache-control: max-age=60\r\n")).await;
    let rig = knowing(&server.issuer("partner", "")).await;
    let forged = Key::ed25519("a");
    for (keys, begins, remains) in [
        (vec![&first, &second], &second, &first),
        (vec![&second, &third], &third, &second),
    ] {
        server.says(set(&jwks(&keys), "cache-control: max-age=60\r\n"));
        rig.pass(60);
        let at = rig.clock.now();
        let load = async {
            for _ in 0..20 {
                assert_eq!(rig.send(good(remains, at)).await.status, 200);
                assert_eq!(rig.send(good(begins, at)).await.status, 200);
                let answered = rig.send(good(&forged, at)).await;
                assert_eq!(answered.status, 401, "{}", answered.text);
            }
        };
        let rotation = async {
            for _ in 0..5 {
                rig.running.keys().look().await;
            }
        };
        tokio::join!(load, rotation);
    }
    let withdrawn = good(&first, rig.clock.now());
    rig.refuses(withdrawn, "signature.key-unknown", 401).await;
}

#[tokio::test]
async fn a_cut_off_server_is_forgiven_until_the_set_is_too_old() {
    let key = Key::ed25519("a");
    let server = Jwks::start(set(&jwks(&[&key]), "")).await;
    let rig = knowing(&server.issuer("partner", ", max_stale: 1h, refresh: 300s")).await;
    server.says(Says::Nothing);
    rig.pass(300);
    rig.running.keys().look().await;
    assert_eq!(server.asked(), 2);
    assert_eq!(
        told(&rig)[1].2,
        "the connection was lost, or what came was not HTTP/1.1"
    );
    assert_eq!(rig.send(good(&key, rig.clock.now())).await.status, 200);
    rig.pass(3300);
    assert_eq!(rig.running.keys().unready(), None, "exactly as old as it may be");
    assert_eq!(rig.send(good(&key, rig.clock.now())).await.status, 200);
    rig.pass(1);
    assert_eq!(rig.running.keys().unready(), Some(Unready::Stale));
    let ready = ready(&rig).await;
    assert!(
        ready.status == 503 && ready.text.contains("older than `max_stale`"),
        "{}",
        ready.text
    );
    rig.refuses(good(&key, rig.clock.now()), "keys.unavailable", 503).await;
    let stranger = Key::ed25519("b");
    rig.refuses(good(&stranger, rig.clock.now()), "keys.unavailable", 503)
        .await;
    rig.running.keys().look().await;
    let stale = told(&rig).iter().filter(|told| told.2.contains("max_stale")).count();
    assert_eq!(stale, 1);
    server.says(set(&jwks(&[&key]), ""));
    rig.pass(300);
    rig.running.keys().look().await;
    assert_eq!(rig.running.keys().unready(), None);
    assert_eq!(rig.send(good(&key, rig.clock.now())).await.status, 200);
}

#[tokio::test]
async fn an_answer_that_is_no_set_is_not_taken() {
    let (good_key, bad) = (Key::ed25519("a"), Key::ed25519("b"));
    let server = Jwks::start(set(&jwks(&[&good_key]), "")).await;
    let rig = knowing(&server.issuer("partner", "")).await;
    let other = jwks(&[&bad]);
    let json = "content-type: application/json\r\n";
    let padded = format!("{}{}", other, " ".repeat(256 * 1024));
    let Says::Bytes(mut endless) = answer(200, json, &padded) else {
        panic!("an answer");
    };
    let text = String::from_utf8(endless.clone()).unwrap();
    let declared = format!("content-length: {}\r\n", padded.len());
    assert!(text.contains(&declared));
    endless = text.replace(&declared, "").into_bytes();
    let away = format!("{json}location: https://localhost/elsewhere\r\n");
    for (says, expected) in [
        (answer(200, json, &padded), "expected at most 256 KiB"),
        (Says::Bytes(endless), "expected at most 256 KiB"),
        (answer(302, &away, &other), "the status was 302, expected 200"),
        (answer(204, json, ""), "the status was 204, expected 200"),
        (answer(500, json, &other), "the status was 500, expected 200"),
        (
            answer(200, "content-type: text/html\r\n", &other),
            "expected one content type, application/json or application/jwk-set+json",
        ),
        (
            answer(200, "", &other),
            "expected one content type, application/json or application/jwk-set+json",
        ),
        (
            set("{\"keys\": 1}", ""),
            "expected a JWK Set: `/keys`: expected an array of keys",
        ),
        (Says::Nothing, "the connection was lost, or what came was not HTTP/1.1"),
        (
            Says::Bytes(b"no HTTP at all\r\n\r\n".to_vec()),
            "the connection was lost, or what came was not HTTP/1.1",
        ),
        (Says::Hangs, "the set did not come within 5 seconds"),
    ] {
        server.says(says);
        let before = (server.asked(), told(&rig).len());
        rig.pass(3600);
        rig.running.keys().look().await;
        assert_eq!((server.asked(), told(&rig).len()), (before.0 + 1, before.1 + 1));
        let (_, taken, mistake) = told(&rig).pop().unwrap();
        assert_eq!((taken, mistake.as_str()), (false, expected));
        let now = rig.clock.now();
        assert_eq!(rig.send(good(&good_key, now)).await.status, 200, "{expected}");
        // The unknown `kid` asks once more, as its cool-down is over, and gets no better answer.
        if expected.contains("256 KiB") {
            rig.refuses(good(&bad, now), "signature.key-unknown", 401).await;
        }
    }
}

#[tokio::test]
async fn a_server_that_nobody_vouches_for_is_not_believed() {
    let key = Key::ed25519("a");
    let (server, stranger) = (
        Jwks::start(set(&jwks(&[&key]), "")).await,
        Jwks::start(set(&jwks(&[&key]), "")).await,
    );
    let issuer = server
        .issuer("partner", "")
        .replace(&server.ca.display().to_string(), &stranger.ca.display().to_string());
    let rig = knowing(&issuer).await;
    assert!(
        told(&rig)[0].2.starts_with("the server's TLS is not"),
        "{:?}",
        told(&rig)
    );
    let missing = server
        .issuer("partner", "")
        .replace(&server.ca.display().to_string(), "/nowhere/ca.pem");
    let rig_without = knowing(&missing).await;
    assert_eq!(told(&rig_without)[0].2, "the file of `ca` does not exist");
    assert_eq!(server.asked(), 0);
    rig.refuses(good(&key, now()), "keys.unavailable", 503).await;
}

#[tokio::test]
async fn a_kid_in_two_sets_belongs_to_the_one_that_had_it_first() {
    let directory = tempfile::tempdir().unwrap();
    let (first_file, second_file) = (directory.path().join("1.json"), directory.path().join("2.json"));
    let (first, second, third) = (Key::ed25519("k"), Key::ed25519("k"), Key::ed25519("late"));
    fs::write(&first_file, jwks(&[&first])).unwrap();
    fs::write(&second_file, jwks(&[&second, &third])).unwrap();
    let rig = knowing(&format!(
        "{}{}",
        of_file("one", &first_file, ""),
        of_file("two", &second_file, "")
    ))
    .await;
    let conflicts = |rig: &Rig| {
        let events = rig.events("keys").into_iter();
        events
            .filter(|event| !event["conflicts"].is_null())
            .map(|event| {
                (
                    event["issuer"].clone(),
                    event["conflicts"].clone(),
                    event["mistake"].clone(),
                )
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(
        conflicts(&rig),
        [(
            "two".into(),
            serde_json::json!(["k"]),
            "these `kid`s belong to the issuer `one`".into()
        )]
    );
    assert_eq!(rig.send(good(&first, now())).await.status, 200);
    rig.refuses(good(&second, now()), "signature.wrong", 401).await;
    // What the second had first stays its own, though the other comes before it in the file.
    let usurper = Key::ed25519("late");
    fs::write(&first_file, jwks(&[&first, &usurper])).unwrap();
    rig.running.keys().look().await;
    assert_eq!(conflicts(&rig).len(), 2);
    assert_eq!(conflicts(&rig)[1].0, "one");
    assert_eq!(rig.send(good(&third, now())).await.status, 200);
    rig.refuses(good(&usurper, now()), "signature.wrong", 401).await;
    // Once the first gives the name up it is the second's.
    fs::write(&first_file, jwks(&[])).unwrap();
    rig.running.keys().look().await;
    assert_eq!(rig.send(good(&second, now())).await.status, 200);
    rig.refuses(good(&first, now()), "signature.wrong", 401).await;
}

/// A route that takes both envelopes.
const BOTH: &str = r#"
  - name: inbox
    path: /v1/messages
    method: POST
    takes: messages
    envelopes: [canonical, delivery]
    payload: any
    profiles: [uai.agent.final-report.v1]
    extensions: ["urn:uaix:ext:agent-communication-standard"]
    modes: [async, async_durable]
    integrity: declared
    body: 64KiB
"#;

/// A delivery envelope without its signature.
fn delivery() -> Value {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    serde_json::json!({
        "version": "1.0.0",
        "logical_message_id": format!("0f8fad5b-d9cb-469f-a165-{number:012x}"),
        "sender": {
            "logical_agent_id": "urn:agent:one",
            "uai_identity": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "signature": "",
        },
        "recipient": {
            "logical_agent_id": "urn:agent:two",
            "delivery_id": format!("7c9e6679-7425-40de-944b-{number:012x}"),
        },
        "delivery_mode": "async_durable",
        "payload": {"text": "hello"},
    })
}

#[tokio::test]
async fn a_signature_inside_the_message_is_verified_in_both_envelopes() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("keys.json");
    let key = Key::es256("a");
    fs::write(&file, jwks(&[&key])).unwrap();
    let issuers = of_file("partner", &file, "").replace("\"agt_*\"", "\"agt_*\", \"urn:agent:one\"");
    let rig = Rig::with(&format!("{SETTINGS}issuers:\n{issuers}"), BOTH).await;
    let header = key.header(now().as_second());
    let mut delivered = delivery();
    delivered["sender"]["signature"] = key.signs(&header, &delivered).into();
    let answered = rig.send(post("/v1/messages", "", delivered.to_string())).await;
    assert_eq!(answered.status, 200, "{}", answered.text);
    delivered["payload"]["text"] = "other".into();
    rig.refuses(post("/v1/messages", "", delivered.to_string()), "signature.wrong", 401)
        .await;
    let mut undated = delivery();
    let mut without = header.clone();
    without.as_object_mut().unwrap().remove("iat");
    undated["sender"]["signature"] = key.signs(&without, &undated).into();
    rig.refuses(post("/v1/messages", "", undated.to_string()), "signature.header", 401)
        .await;
    let mut canonical = message(now());
    canonical["trust"].as_object_mut().unwrap().remove("signature_ref");
    let jws = key.signs(&header, &canonical);
    canonical["trust"]["signature_ref"] = format!("data:application/jose,{jws}").into();
    let answered = rig.send(post("/v1/messages", "", canonical.to_string())).await;
    assert_eq!(answered.status, 200, "{}", answered.text);
    canonical["body"]["summary"] = "other".into();
    rig.refuses(post("/v1/messages", "", canonical.to_string()), "signature.wrong", 401)
        .await;
}

/// A gate whose policy file is watched.
async fn watched(path: &Path, sink: Sink) -> Running {
    Running::start(Setup {
        config: config::load(path).unwrap_or_else(|mistakes| panic!("{:?}", mistakes.mistakes)),
        watched: Some(Watched {
            path: path.to_owned(),
            overrides: Overrides::default(),
            notice: |_| {},
        }),
        sink,
        clock: rig::clock(),
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn a_reload_with_other_issuers_takes_their_keys_and_keeps_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("keys.json");
    let path = directory.path().join("policy.yaml");
    let (kept, new) = (Key::ed25519("a"), Key::ed25519("b"));
    fs::write(&file, jwks(&[&new])).unwrap();
    let server = Jwks::start(set(&jwks(&[&kept]), "")).await;
    let backend = Backend::start().await;
    let text = |issuers: &str| rig::policy(&backend.url(), &format!("{SETTINGS}issuers:\n{issuers}"), ROUTES);
    fs::write(&path, text(&server.issuer("partner", ""))).unwrap();
    let sink = Sink::memory();
    let running = watched(&path, sink.clone()).await;
    let rig = Rig {
        running,
        backend: backend.clone(),
        sink,
        clock: rig::clock(),
    };
    rig.refuses(good(&new, now()), "signature.key-unknown", 401).await;
    let asked = server.asked();
    // The server is gone, and its issuer has other words: its set is kept all the same.
    server.says(Says::Hangs);
    fs::write(
        &path,
        text(&format!(
            "{}{}",
            server.issuer("partner", ", max_stale: 2h"),
            of_file("other", &file, "")
        )),
    )
    .unwrap();
    until(|| rig.events("policy").len() == 2).await;
    assert_eq!(rig.send(good(&new, now())).await.status, 200);
    assert_eq!(rig.send(good(&kept, now())).await.status, 200);
    assert_eq!(server.asked(), asked);
    // An issuer that is gone is believed no more.
    fs::write(&path, text(&of_file("other", &file, ""))).unwrap();
    until(|| rig.events("policy").len() == 3).await;
    rig.refuses(good(&kept, now()), "signature.key-unknown", 401).await;
    assert_eq!(rig.send(good(&new, now())).await.status, 200);
}

/// `portcullis check` on a policy with these issuers: its exit code and what it says on standard error.
async fn check(directory: &Path, issuers: &str, more: &[&str]) -> (Option<i32>, String) {
    let path = directory.join("policy.yaml");
    let text = rig::policy("http://127.0.0.1:9", &format!("{SETTINGS}issuers:\n{issuers}"), ROUTES);
    fs::write(&path, text).unwrap();
    let (path, more): (_, Vec<String>) = (path, more.iter().map(|&word| word.to_owned()).collect());
    let done = tokio::task::spawn_blocking(move || {
        std::process::Command::new(env!("CARGO_BIN_EXE_portcullis"))
            .arg("check")
            .arg(path)
            .args(more)
            .output()
            .unwrap()
    });
    let output = soon(done).await.unwrap();
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

#[tokio::test]
async fn check_reads_key_files_and_fetches_only_when_asked() {
    let directory = tempfile::tempdir().unwrap();
    let (one, two) = (directory.path().join("1.json"), directory.path().join("2.json"));
    let (a, b) = (Key::ed25519("a"), Key::es256("b"));
    fs::write(&one, jwks(&[&a])).unwrap();
    let issuer = |name: &str, file: &str| format!("  - {{name: {name}, keys: {file}}}\n");
    let (code, said) = check(directory.path(), &issuer("one", "1.json"), &[]).await;
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let both = format!("{}{}", issuer("one", "1.json"), issuer("two", "2.json"));
    let (code, said) = check(directory.path(), &both, &[]).await;
    assert_eq!(code, Some(3));
    assert!(
        said.contains("error: issuer `two`, keys of `") && said.contains("the file does not exist; check the path"),
        "{said}"
    );
    let mut private = b.jwk();
    private["d"] = "c2VjcmV0".into();
    fs::write(&two, serde_json::json!({"keys": [private]}).to_string()).unwrap();
    let (code, said) = check(directory.path(), &both, &[]).await;
    assert_eq!(code, Some(3));
    assert!(
        said.contains("/keys/0") && said.contains("without private keys"),
        "{said}"
    );
    assert!(!said.contains("c2VjcmV0"), "{said}");
    fs::write(&two, jwks(&[&a, &b])).unwrap();
    let (code, said) = check(directory.path(), &both, &[]).await;
    assert_eq!(code, Some(0));
    assert!(
        said.contains("`kid` a is in the set of the issuer `one` before it"),
        "{said}"
    );
    let server = Jwks::start(Says::Nothing).await;
    let (code, said) = check(directory.path(), &server.issuer("far", ""), &[]).await;
    assert_eq!((code, said.as_str(), server.asked()), (Some(0), "", 0));
    let (code, said) = check(directory.path(), &server.issuer("far", ""), &["--fetch"]).await;
    assert_eq!((code, server.asked()), (Some(3), 1));
    assert!(
        said.contains(&server.url()) && said.contains("check host and port"),
        "{said}"
    );
    server.says(set(&jwks(&[&a]), ""));
    let (code, said) = check(directory.path(), &server.issuer("far", ""), &["--fetch"]).await;
    assert_eq!((code, said.as_str()), (Some(0), ""));
}
