//! The ring without a gateway, over files and a clock that stands still.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;

use super::holder::{Flight, Holder};
use super::*;
use crate::policy::{Algorithm, KeySource};

fn issuer(name: &str, file: PathBuf) -> Issuer {
    Issuer {
        name: name.to_owned(),
        keys: KeySource::File(file),
        algorithms: Algorithm::DEFAULT.to_vec(),
        typ_optional: false,
        senders: Vec::new(),
        token_issuer: None,
        refresh: Duration::from_secs(300),
        unknown_kid_cooldown: Duration::from_secs(30),
        max_stale: Duration::from_secs(3600),
    }
}

/// The key of RFC 8037, Appendix A.2, under these names.
fn jwks(kids: &[&str]) -> String {
    let keys: Vec<_> = kids
        .iter()
        .map(|kid| {
            serde_json::json!({
                "kty": "OKP", "crv": "Ed25519", "kid": kid,
                "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
            })
        })
        .collect();
    serde_json::json!({ "keys": keys }).to_string()
}

fn trust(issuers: Vec<Issuer>) -> Trust {
    Trust {
        issuers,
        ..Trust::default()
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).unwrap()
}

fn word(found: &Found) -> String {
    match found {
        Found::Key { issuer, key } => format!("{} {}", issuer.name, key.kid().unwrap()),
        Found::Unknown => "unknown".to_owned(),
        Found::Unavailable { .. } => "unavailable".to_owned(),
    }
}

#[tokio::test]
async fn a_token_finds_keys_of_its_issuer_only() {
    let directory = tempfile::tempdir().unwrap();
    let (one, two) = (directory.path().join("1"), directory.path().join("2"));
    fs::write(&one, jwks(&["a", "both"])).unwrap();
    fs::write(&two, jwks(&["b", "both"])).unwrap();
    let clock = Clock::manual(at(0));
    let trust = trust(vec![
        issuer("one", one.clone()),
        issuer("two", two),
        issuer("none", directory.path().join("3")),
    ]);
    let ring = KeyRing::start(&trust, clock.clone(), |_| {}).await;
    for (issuer, kid, expected) in [
        ("one", "a", "one a"),
        ("one", "b", "unknown"),
        ("one", "both", "one both"),
        ("two", "both", "unknown"),
        ("two", "b", "two b"),
        ("none", "a", "unavailable"),
        ("stranger", "a", "unavailable"),
    ] {
        assert_eq!(word(&ring.find_of(issuer, kid, at(0))), expected, "{issuer} {kid}");
    }
    assert_eq!(word(&ring.find("both", at(0))), "one both");
    assert_eq!(word(&ring.find("c", at(0))), "unavailable", "one set was never loaded");
    // A new key is found by asking for it.
    fs::write(&one, jwks(&["a", "new"])).unwrap();
    assert_eq!(word(&ring.find_of("one", "new", at(0))), "unknown");
    assert_eq!(word(&ring.find_of_or_fetch("one", "new", at(0)).await), "one new");
    assert_eq!(word(&ring.find_of("two", "both", at(0))), "two both");
    assert_eq!(word(&ring.find("a", at(3600))), "one a");
    assert_eq!(word(&ring.find("a", at(3601))), "unavailable");
    assert_eq!(word(&ring.find_of("one", "c", at(3601))), "unavailable");
}

#[tokio::test]
async fn without_issuers_every_key_is_unknown() {
    let ring = KeyRing::start(&Trust::default(), Clock::manual(at(0)), |_| {}).await;
    assert_eq!(word(&ring.find_or_fetch("a", at(0)).await), "unknown");
    assert_eq!(ring.unready(), None);
    let found = ring.find("a", at(0));
    assert_eq!(word(&ring.under(&Trust::default(), found)), "unknown");
}

#[tokio::test]
async fn the_ring_stops_when_it_is_told_to() {
    let ring = KeyRing::start(&Trust::default(), Clock::manual(at(0)), |_| {}).await;
    let (stop, stopped) = watch::channel(false);
    let watching = tokio::spawn(ring.clone().watch(stopped));
    stop.send(true).unwrap();
    watching.await.unwrap();
    // Nobody is left who could stop it.
    let (stop, stopped) = watch::channel(false);
    drop(stop);
    ring.watch(stopped).await;
}

#[tokio::test]
async fn what_is_no_file_is_not_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let big = directory.path().join("big");
    fs::write(&big, " ".repeat(256 * 1024 + 1)).unwrap();
    for (path, expected) in [
        (directory.path().to_owned(), "the file is no regular file"),
        (PathBuf::from("/dev/zero"), "the file is no regular file"),
        (directory.path().join("none"), "the file does not exist"),
        (big, "expected at most 256 KiB"),
    ] {
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let tell = {
            let told = Arc::clone(&told);
            move |event: &Event| told.lock().unwrap().push(event.warning().unwrap())
        };
        let ring = KeyRing::start(&trust(vec![issuer("one", path)]), Clock::manual(at(0)), tell).await;
        assert_eq!(ring.unready(), Some(Unready::NeverLoaded));
        let told = told.lock().unwrap();
        assert_eq!(told.len(), 1);
        assert!(
            told[0].contains(expected) && told[0].contains("until then"),
            "{}",
            told[0]
        );
    }
}

#[tokio::test]
async fn a_survey_names_what_is_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let (one, two) = (directory.path().join("1"), directory.path().join("2"));
    fs::write(&one, jwks(&["a", "both"])).unwrap();
    fs::write(&two, jwks(&["both"])).unwrap();
    let url = Issuer {
        keys: KeySource::Url {
            url: "https://issuer.example/keys?token=1".to_owned(),
            ca: None,
        },
        ..issuer("url", PathBuf::new())
    };
    let trust = trust(vec![
        issuer("one", one),
        issuer("two", two),
        issuer("none", directory.path().join("3")),
        url,
    ]);
    let found = survey(&trust, false).await;
    assert_eq!(found[0].keys.as_ref().unwrap(), &Some(2));
    assert_eq!(found[1].conflicts, [("one".to_owned(), Arc::from("both"))]);
    assert_eq!(
        found[2].keys.as_ref().unwrap_err().to_string(),
        "the file does not exist"
    );
    assert_eq!(found[3].keys.as_ref().unwrap(), &None, "not asked for");
    assert_eq!(found[3].source, "`https://issuer.example/keys`");
}

fn of_url() -> Holder {
    let keys = KeySource::Url {
        url: "https://issuer.example/keys".to_owned(),
        ca: None,
    };
    Holder::new(Issuer {
        keys,
        ..issuer("one", PathBuf::new())
    })
}

#[test]
fn one_attempt_is_under_way_at_a_time_and_a_panic_ends_it() {
    let holder = of_url();
    let landed = watch::Sender::new(0);
    let Flight::Begun(landing, finished) = holder.board(None, &landed) else {
        panic!("nobody else is asking");
    };
    assert!(matches!(holder.board(Some(at(0)), &landed), Flight::Joined(_)));
    assert!(!finished.has_changed().unwrap());
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _landing = landing;
        panic!("an attempt panics");
    }));
    assert!(caught.is_err());
    assert!(finished.has_changed().unwrap());
    // Whoever joined did not use up the issuer's cool-down.
    assert!(matches!(holder.board(Some(at(0)), &landed), Flight::Begun(..)));
    assert!(matches!(holder.board(Some(at(29)), &landed), Flight::TooSoon));
    assert!(
        matches!(holder.board(None, &landed), Flight::Begun(..)),
        "a refresh does not wait"
    );
    assert!(matches!(holder.board(Some(at(30)), &landed), Flight::Begun(..)));
}

#[test]
fn a_lifetime_is_bounded_below_and_above() {
    for (lifetime, due) in [(None, 300), (Some(0), 30), (Some(120), 120), (Some(86_400), 3600)] {
        let holder = of_url();
        assert!(holder.is_due(at(0)));
        holder.take("digest".to_owned(), at(0), lifetime.map(Duration::from_secs));
        assert!(!holder.is_due(at(due - 1)), "{lifetime:?}");
        assert!(holder.is_due(at(due)), "{lifetime:?}");
    }
}

#[test]
fn failures_are_farther_and_farther_apart() {
    let holder = of_url();
    let mut now = 0;
    for wait in [5, 10, 20, 40, 80, 160, 300, 300] {
        assert!(holder.fails(&Trouble::TooSlow, at(now)), "a URL is told of every time");
        assert!(!holder.is_due(at(now + wait - 1)));
        now += wait;
        assert!(holder.is_due(at(now)));
    }
}

#[test]
fn a_set_turns_stale_once() {
    let holder = of_url();
    assert!(!holder.turns_stale(at(0)), "it was never loaded");
    assert!(holder.is_stale(at(0)));
    holder.take("digest".to_owned(), at(0), None);
    assert!(!holder.turns_stale(at(3600)));
    assert!(holder.turns_stale(at(3601)));
    assert!(!holder.turns_stale(at(3602)));
}

#[tokio::test]
async fn between_a_policy_and_its_keys_nothing_can_be_relied_on() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("1");
    fs::write(&file, jwks(&["a"])).unwrap();
    let own = issuer("one", file);
    let ring = KeyRing::start(&trust(vec![own.clone()]), Clock::manual(at(0)), |_| {}).await;
    let changed = Issuer {
        typ_optional: true,
        ..own.clone()
    };
    for (issuers, kid, expected) in [
        (vec![own.clone()], "a", "one a"),
        (vec![own.clone()], "b", "unknown"),
        (vec![changed.clone()], "a", "unavailable"),
        (vec![changed], "b", "unavailable"),
        (vec![], "a", "unavailable"),
        (vec![], "b", "unavailable"),
    ] {
        let found = ring.under(&trust(issuers), ring.find(kid, at(0)));
        assert_eq!(word(&found), expected, "{kid}");
    }
}
