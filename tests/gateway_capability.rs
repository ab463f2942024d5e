//! The gateway's own key: the capability document that it signs, when it signs it again, and what a bad key does.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails is a test"
)]

mod rig;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use portcullis::app::{Running, Setup};
use portcullis::clock::Clock;
use portcullis::config;
use portcullis::policy::{Algorithm, capability};
use portcullis::record::Sink;
use portcullis::trust::keys::KeySet;
use portcullis::trust::presented::{Unusable, verify};
use portcullis::trust::sign::{SigningKey, generate};
use rig::backend::Backend;
use rig::{Rig, get, request};
use serde_json::Value;

const PATH: &str = "/.well-known/uaix.json";

/// Writes a private key that only its owner may open.
fn key(directory: &Path, name: &str, kid: &str) -> PathBuf {
    let path = directory.join(name);
    let made = generate(Algorithm::Ed25519, Some(kid)).unwrap();
    fs::write(&path, made.reveal()).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

/// A gate with a key, and the clock that it goes by.
async fn keyed(directory: &Path) -> (Rig, Clock) {
    key(directory, "gate.json", "gate-1");
    let backend = Backend::start().await;
    let path = directory.join("policy.yaml");
    let settings = format!("signing_key: gate.json\n{}", rig::SETTINGS);
    fs::write(&path, rig::policy(&backend.url(), &settings, rig::ROUTES)).unwrap();
    let (sink, clock) = (Sink::memory(), rig::clock());
    let running = Running::start(Setup {
        config: config::load(&path).unwrap_or_else(|mistakes| panic!("{:?}", mistakes.mistakes)),
        watched: None,
        sink: sink.clone(),
        clock: clock.clone(),
        store: Some(rig::store()),
    })
    .await
    .unwrap();
    let rig = Rig {
        running,
        backend,
        sink,
        clock: clock.clone(),
    };
    (rig, clock)
}

/// The document as it is served now; its life ends no later than it may be kept.
async fn document(rig: &Rig, now: Timestamp) -> Value {
    let answer = rig.send(get(PATH, "")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.header("content-type").unwrap(), "application/json");
    let document = answer.json();
    let left = document["expiry"].as_i64().unwrap() - now.as_second();
    assert!((1..=3600).contains(&left), "{left}");
    assert_eq!(
        answer.header("cache-control").unwrap(),
        format!("public, max-age={left}")
    );
    document
}

fn own_keys(rig: &Rig) -> KeySet {
    let set = serde_json::json!({"keys": [rig.running.own().key().unwrap().public_jwk()]});
    KeySet::parse(set.to_string().as_bytes(), Algorithm::ALL).unwrap()
}

#[tokio::test]
async fn the_capability_document_is_signed_and_one_record_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let (rig, clock) = keyed(directory.path()).await;
    let document = document(&rig, clock.now()).await;
    let policy = rig.running.policy().current();
    let mut members: Vec<&str> = document.as_object().unwrap().keys().map(String::as_str).collect();
    members.sort_unstable();
    let expected = [
        "expiry",
        "input_schema_hash",
        "keys",
        "output_schema_hash",
        "revision",
        "schema_version",
        "schemas",
        "signature",
        "supported_modes",
    ];
    assert_eq!(members, expected);
    assert_eq!(document["revision"], capability::revision(&policy));
    // The document is a key set, too.
    let keys = KeySet::parse(document.to_string().as_bytes(), Algorithm::ALL).unwrap();
    let presented = verify(document.to_string().as_bytes(), &keys, clock.now()).unwrap();
    assert_eq!(
        (presented.kid.as_ref(), presented.revision.as_str()),
        ("gate-1", policy.capability_revision.as_str())
    );
    let record = rig.record().await;
    assert_eq!(
        (&record["route"], &record["verdict"], &record["status"]),
        (&"_capability".into(), &"allow".into(), &200.into())
    );
    assert_eq!(rig.backend.bytes(), 0);
}

#[tokio::test]
async fn it_is_signed_again_at_half_life_and_its_revision_stays() {
    let directory = tempfile::tempdir().unwrap();
    let (rig, clock) = keyed(directory.path()).await;
    let begin = clock.now();
    let first = document(&rig, begin).await;
    let after = |seconds| begin.checked_add(SignedDuration::from_secs(seconds)).unwrap();
    clock.set(after(1799));
    assert_eq!(document(&rig, after(1799)).await, first);
    clock.set(after(1800));
    let second = document(&rig, after(1800)).await;
    assert_eq!(second["expiry"].as_i64().unwrap(), after(1800 + 3600).as_second());
    assert_eq!(second["revision"], first["revision"]);
    assert_ne!(second["signature"], first["signature"]);
    // A clock that goes back finds no document from its future.
    clock.set(after(-10));
    document(&rig, after(-10)).await;
}

#[tokio::test]
async fn it_is_read_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let (rig, _clock) = keyed(directory.path()).await;
    let head = rig.send(request("HEAD", PATH, "", "")).await;
    assert_eq!((head.status, head.body()), (200, ""));
    let wrong = rig.refuses(request("POST", PATH, "", "{}"), "route.method", 405).await;
    assert_eq!(wrong.header("allow").unwrap(), "GET, HEAD");
    rig.refuses(get(&format!("{PATH}?a=b"), ""), "http.query", 400).await;
    rig.refuses(get(&format!("{PATH}/"), ""), "route.undeclared", 404).await;
}

#[tokio::test]
async fn a_gate_without_a_key_serves_no_document() {
    let rig = Rig::usual().await;
    rig.refuses(get(PATH, ""), "route.undeclared", 404).await;
    rig.refuses(request("POST", PATH, "", "{}"), "route.undeclared", 404)
        .await;
}

/// The last good key signs on; the new one takes its place whole.
#[tokio::test]
async fn a_changed_key_is_taken_and_a_bad_one_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let (rig, clock) = keyed(directory.path()).await;
    let own = rig.running.own();
    let path = directory.path().join("gate.json");
    assert!(!own.look(Some(&path)).unwrap());
    fs::write(&path, "{}").unwrap();
    assert!(own.look(Some(&path)).unwrap_err().is_about_content());
    assert!(!own.look(Some(&path)).unwrap(), "told once");
    assert_eq!(document(&rig, clock.now()).await["keys"][0]["kid"], "gate-1");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).unwrap();
    assert!(!own.look(Some(&path)).unwrap_err().is_about_content());
    key(directory.path(), "gate.json", "gate-2");
    assert!(own.look(Some(&path)).unwrap());
    let document = document(&rig, clock.now()).await;
    assert_eq!(document["keys"][0]["kid"], "gate-2");
    assert!(verify(document.to_string().as_bytes(), &own_keys(&rig), clock.now()).is_ok());
    // A policy that names no key any more has none.
    assert!(own.look(None).unwrap());
    rig.refuses(get(PATH, ""), "route.undeclared", 404).await;
}

#[test]
fn a_bad_key_is_a_mistake_of_the_policy() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("policy.yaml");
    let settings = "signing_key: gate.json\n";
    fs::write(&path, rig::policy("http://127.0.0.1:9", settings, rig::ROUTES)).unwrap();
    let mistake = || {
        let mistakes = config::load(&path).unwrap_err().mistakes;
        assert_eq!(mistakes.len(), 1, "{mistakes:?}");
        assert_eq!(mistakes[0].pointer, "/signing_key");
        mistakes[0].message.clone()
    };
    assert_eq!(mistake(), "`signing_key`: the file cannot be read");
    let file = key(directory.path(), "gate.json", "gate-1");
    assert!(config::load(&path).is_ok());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(mistake().contains("may be opened by anybody"), "{}", mistake());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let public = SigningKey::load(&file).unwrap().public_jwk();
    fs::write(&file, public.to_string()).unwrap();
    assert!(mistake().contains("private JWK"), "{}", mistake());
}

/// Contract §2.4: altered, it is ERR_JCS_INVALID; past its expiry it is not used.
#[tokio::test]
async fn a_document_that_somebody_presents_is_used_only_unaltered_and_in_time() {
    let directory = tempfile::tempdir().unwrap();
    let (rig, clock) = keyed(directory.path()).await;
    let good = document(&rig, clock.now()).await;
    let keys = own_keys(&rig);
    let rule = |text: &str| match verify(text.as_bytes(), &keys, clock.now()).unwrap_err() {
        Unusable::Altered(fault) => {
            assert_eq!(fault.rule.code().name(), "ERR_JCS_INVALID");
            fault.rule.id()
        }
        Unusable::Expired => "expired",
    };
    for name in ["schema_version", "supported_modes", "revision", "keys", "schemas"] {
        let mut altered = good.clone();
        altered[name] = "something else".into();
        assert_eq!(rule(&altered.to_string()), "signature.wrong", "{name}");
    }
    let mut longer = good.clone();
    longer["expiry"] = (good["expiry"].as_i64().unwrap() + 1).into();
    assert_eq!(rule(&longer.to_string()), "signature.wrong");
    let mut unsigned = good.clone();
    unsigned.as_object_mut().unwrap().remove("signature");
    assert_eq!(rule(&unsigned.to_string()), "signature.absent");
    assert_eq!(
        rule(&good.to_string().replacen('{', "{\"expiry\":1,", 1)),
        "signature.malformed"
    );
    assert_eq!(rule("[]"), "signature.absent");
    let stranger = generate(Algorithm::Ed25519, Some("stranger")).unwrap();
    let stranger = SigningKey::parse(stranger.reveal().as_bytes()).unwrap();
    let mut foreign = good.clone();
    foreign.as_object_mut().unwrap().remove("signature");
    let canonical = capability::canonical(&foreign);
    for (typ, key, expected) in [
        ("uai-capability+jws", &stranger, "signature.key-unknown"),
        (
            "uai-message+jws",
            &*rig.running.own().key().unwrap(),
            "signature.header",
        ),
    ] {
        let jws = key.sign_detached(typ, clock.now(), None, &canonical).unwrap();
        let mut presented = foreign.clone();
        presented["signature"] = jws.into();
        assert_eq!(rule(&presented.to_string()), expected, "{typ}");
    }
    clock.set(Timestamp::from_second(good["expiry"].as_i64().unwrap()).unwrap());
    let late = verify(good.to_string().as_bytes(), &keys, clock.now());
    assert!(matches!(late, Err(Unusable::Expired)));
}
