//! From parts, header and key to a finding.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::super::*;
use super::{HEADER, now};
use crate::trust::remembered::{Mark, Remembered};
use crate::trust::testing::{Signer, encode};

const PAYLOAD: &[u8] = br#"{"a":1}"#;

fn place() -> Place<'static> {
    Place {
        now: now(),
        audiences: &["https://gate.example/uai", "agt_runtime.consumer"],
        audience_required: false,
    }
}

/// What comes of a message signed with this header by a key of this algorithm.
fn judged(
    header: &str,
    algorithm: Algorithm,
    found: fn(&PublicKey) -> Found<'_>,
    place: Place<'_>,
) -> Result<(), Fault> {
    let signer = Signer::of(algorithm);
    let text = signer.detached(algorithm, header, PAYLOAD);
    let jws = split_detached(&text)?;
    let header = parse_header(&jws, &Kind::MESSAGE)?;
    let key = signer.public("k1");
    judge(&jws, &header, found(&key), place, PAYLOAD, None)
}

fn strict(key: &PublicKey) -> Found<'_> {
    Found::Key {
        key,
        typ_optional: false,
    }
}

fn lenient(key: &PublicKey) -> Found<'_> {
    Found::Key {
        key,
        typ_optional: true,
    }
}

fn rule(result: Result<(), Fault>) -> Option<Rule> {
    result.err().map(|fault| {
        assert!(fault.detail.starts_with("expected"), "{fault:?}");
        fault.rule
    })
}

#[test]
fn the_first_finding_in_the_order_of_rules_decides() {
    let typeless = HEADER.replace(r#","typ":"uai-message+jws""#, "");
    let expired = |_: &PublicKey| Found::Unknown;
    let stale = |_: &PublicKey| Found::Unavailable { typ_optional: false };
    let stale_lenient = |_: &PublicKey| Found::Unavailable { typ_optional: true };
    let there = HEADER.replacen('{', r#"{"aud":"https://gate.example/uai","#, 1);
    let elsewhere = HEADER.replacen('{', r#"{"aud":"https://gate.example/uai/","#, 1);
    let none = |header: &str| header.replace("Ed25519", "none");
    let strictly_placed = Place {
        audience_required: true,
        ..place()
    };
    type Row<'a> = (
        &'a str,
        String,
        Algorithm,
        fn(&PublicKey) -> Found<'_>,
        Place<'a>,
        Option<Rule>,
    );
    let ed = Algorithm::Ed25519;
    let table: &[Row<'_>] = &[
        ("good", HEADER.to_owned(), ed, strict, place(), None),
        (
            "EdDSA is Ed25519",
            HEADER.replace("Ed25519", "EdDSA"),
            ed,
            strict,
            place(),
            None,
        ),
        (
            "no typ, and none asked for",
            typeless.clone(),
            ed,
            lenient,
            place(),
            None,
        ),
        (
            "no typ",
            typeless.clone(),
            ed,
            strict,
            place(),
            Some(Rule::SignatureHeader),
        ),
        (
            "no typ before alg",
            none(&typeless),
            ed,
            strict,
            place(),
            Some(Rule::SignatureHeader),
        ),
        (
            "no typ, no key",
            typeless.clone(),
            ed,
            expired,
            place(),
            Some(Rule::SignatureHeader),
        ),
        (
            "no typ, no set",
            typeless.clone(),
            ed,
            stale,
            place(),
            Some(Rule::SignatureHeader),
        ),
        (
            "no typ, no set, perhaps not asked for",
            typeless,
            ed,
            stale_lenient,
            place(),
            Some(Rule::KeysUnavailable),
        ),
        (
            "alg none",
            none(HEADER),
            ed,
            strict,
            place(),
            Some(Rule::SignatureAlgorithm),
        ),
        (
            "alg before key",
            none(HEADER),
            ed,
            expired,
            place(),
            Some(Rule::SignatureAlgorithm),
        ),
        (
            "HMAC",
            HEADER.replace("Ed25519", "HS256"),
            ed,
            strict,
            place(),
            Some(Rule::SignatureAlgorithm),
        ),
        (
            "alg in another case",
            HEADER.replace("Ed25519", "ed25519"),
            ed,
            strict,
            place(),
            Some(Rule::SignatureAlgorithm),
        ),
        (
            "not the key's alg",
            HEADER.to_owned(),
            Algorithm::Es256,
            strict,
            place(),
            Some(Rule::SignatureAlgorithm),
        ),
        (
            "not the key's hash",
            HEADER.replace("Ed25519", "ES256"),
            Algorithm::Es384,
            strict,
            place(),
            Some(Rule::SignatureAlgorithm),
        ),
        (
            "no key",
            elsewhere.clone(),
            ed,
            expired,
            place(),
            Some(Rule::SignatureKeyUnknown),
        ),
        (
            "no set",
            elsewhere.clone(),
            ed,
            stale,
            place(),
            Some(Rule::KeysUnavailable),
        ),
        ("for here", there, ed, strict, strictly_placed, None),
        (
            "for elsewhere",
            elsewhere,
            ed,
            strict,
            place(),
            Some(Rule::SignatureWrongAudience),
        ),
        (
            "for nowhere",
            HEADER.to_owned(),
            ed,
            strict,
            strictly_placed,
            Some(Rule::SignatureWrongAudience),
        ),
        (
            "another padding",
            HEADER.replace("Ed25519", "PS256"),
            Algorithm::Rs256,
            strict,
            place(),
            Some(Rule::SignatureWrong),
        ),
    ];
    for (name, header, algorithm, found, place, expected) in table {
        assert_eq!(rule(judged(header, *algorithm, *found, *place)), *expected, "{name}");
    }
}

#[test]
fn an_empty_signature_is_wrong_and_judged_after_alg() {
    let key = Signer::ed25519(7).public("k1");
    for (header, expected) in [
        (HEADER.to_owned(), Rule::SignatureWrong),
        (HEADER.replace("Ed25519", "none"), Rule::SignatureAlgorithm),
    ] {
        let text = format!("{}..", encode(header.as_bytes()));
        let jws = split_detached(&text).unwrap();
        let header = parse_header(&jws, &Kind::MESSAGE).unwrap();
        let found = judge(&jws, &header, strict(&key), place(), PAYLOAD, None);
        assert_eq!(rule(found), Some(expected));
    }
}

#[test]
fn a_key_out_of_its_time_is_unknown() {
    let signer = Signer::ed25519(7);
    let text = signer.detached(Algorithm::Ed25519, HEADER, PAYLOAD);
    let jws = split_detached(&text).unwrap();
    let header = parse_header(&jws, &Kind::MESSAGE).unwrap();
    let seconds = now().as_second();
    for (member, expected) in [
        (format!(r#","nbf":{}"#, seconds + 1), Some(Rule::SignatureKeyUnknown)),
        (format!(r#","exp":{seconds}"#), Some(Rule::SignatureKeyUnknown)),
        (format!(r#","nbf":{seconds},"exp":{}"#, seconds + 1), None),
    ] {
        let set = crate::trust::testing::set(&[signer.jwk("k1", &member)]);
        let found = strict(set.get("k1").unwrap());
        assert_eq!(
            rule(judge(&jws, &header, found, place(), PAYLOAD, None)),
            expected,
            "{member}"
        );
    }
}

#[test]
fn only_the_arithmetic_of_what_held_is_remembered() {
    let signer = Signer::ed25519(7);
    let key = signer.public("k1");
    let remembered = Remembered::new(10, Duration::from_secs(300));
    let good = signer.detached(Algorithm::Ed25519, HEADER, PAYLOAD);
    let mut wrong = good.clone();
    wrong.truncate(good.len() - 86);
    let at = |seconds| now() + Duration::from_secs(seconds);
    // The digest given is that of the message; the bytes are only looked at when nothing is remembered, which shows here.
    let judged = |text: &str, digest, generation, place, bytes: &[u8]| {
        let jws = split_detached(text).unwrap();
        let header = parse_header(&jws, &Kind::MESSAGE).unwrap();
        let before = Before {
            remembered: &remembered,
            digest,
            generation,
        };
        rule(judge(&jws, &header, strict(&key), place, bytes, Some(before)))
    };
    let later = |seconds| Place {
        now: at(seconds),
        ..place()
    };
    assert_eq!(judged(&good, "d1", 1, later(0), b"other"), Some(Rule::SignatureWrong));
    assert_eq!(
        judged(&good, "d1", 1, later(0), b"other"),
        Some(Rule::SignatureWrong),
        "a wrong one is not remembered"
    );
    assert_eq!(judged(&good, "d1", 1, later(0), PAYLOAD), None);
    assert_eq!(judged(&good, "d1", 1, later(299), b"other"), None, "remembered");
    assert_eq!(
        judged(&good, "d1", 1, later(300), b"other"),
        Some(Rule::SignatureWrong),
        "for a window"
    );
    assert_eq!(
        judged(&good, "d2", 1, later(1), b"other"),
        Some(Rule::SignatureWrong),
        "of another message"
    );
    assert_eq!(
        judged(&wrong, "d1", 1, later(1), b"other"),
        Some(Rule::SignatureWrong),
        "another signature"
    );
    assert_eq!(
        judged(&good, "d1", 2, later(1), b"other"),
        Some(Rule::SignatureWrong),
        "other key sets"
    );
    let backwards = Place {
        now: now() - Duration::from_secs(1),
        ..place()
    };
    assert_eq!(
        judged(&good, "d1", 1, backwards, b"other"),
        Some(Rule::SignatureWrong),
        "before it held"
    );
    let elsewhere = Place {
        audience_required: true,
        ..later(1)
    };
    assert_eq!(
        judged(&good, "d1", 1, elsewhere, PAYLOAD),
        Some(Rule::SignatureWrongAudience),
        "the rest is judged anew"
    );
    let mark = |digest, text, generation| Mark::of(digest, text, &key, generation);
    assert_ne!(mark("ab", "c", 1), mark("a", "bc", 1));
    assert_ne!(
        mark("a", "b", 1),
        Mark::of("a", "b", &Signer::ed25519(8).public("k1"), 1)
    );
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 32,
        rng_seed: RngSeed::Fixed(7515),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn one_bit_more_or_less_never_verifies(
        payload in prop::collection::vec(any::<u8>(), 0..200),
        flips in prop::collection::vec(any::<prop::sample::Index>(), 16),
    ) {
        thread_local! {
            static SIGNERS: Vec<(Algorithm, Signer, PublicKey)> = Algorithm::ALL
                .iter()
                .map(|algorithm| {
                    let signer = Signer::of(*algorithm);
                    let key = signer.public("k1");
                    (*algorithm, signer, key)
                })
                .collect();
        }
        SIGNERS.with(|signers| {
            for (algorithm, signer, key) in signers {
                let input = signing_input(&encode(HEADER.as_bytes()), &payload).into_bytes();
                let signature = signer.sign(*algorithm, &input);
                prop_assert!(key.verify(*algorithm, &input, &signature));
                for flip in &flips {
                    let bit = flip.index((input.len() + signature.len()) * 8);
                    let mut all = [&input[..], &signature].concat();
                    all[bit / 8] ^= 1 << (bit % 8);
                    let (input, signature) = all.split_at(input.len());
                    prop_assert!(!key.verify(*algorithm, input, signature), "{algorithm:?}, bit {bit}");
                }
                // The text as it travels: any other character in any place.
                let text = signer.detached(*algorithm, HEADER, &payload);
                for flip in &flips {
                    let at = flip.index(text.len());
                    let mut bytes = text.clone().into_bytes();
                    bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
                    let changed = String::from_utf8(bytes).unwrap();
                    let holds = split_detached(&changed).is_ok_and(|jws| jws.verify_detached(key, *algorithm, &payload));
                    prop_assert!(!holds, "{algorithm:?}, character {at}");
                }
            }
            Ok(())
        })?;
    }
}
