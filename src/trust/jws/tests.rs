//! How a signature is read and judged, and that nothing but the signed bytes verifies.

use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;
use crate::trust::remembered::{Mark, Remembered};
use crate::trust::testing::{Signer, encode};

const HEADER: &str = r#"{"alg":"Ed25519","kid":"k1","typ":"uai-message+jws"}"#;
const PAYLOAD: &[u8] = br#"{"a":1}"#;

fn now() -> Timestamp {
    Timestamp::from_second(1_780_000_000).unwrap()
}

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
fn a_detached_jws_has_three_parts_of_strict_base64url() {
    for good in ["eyJ9..", "eyJ9..c2ln", "eyI..AA"] {
        assert!(split_detached(good).is_ok(), "{good}");
    }
    let malformed = [
        "",
        ".",
        "..",
        "...",
        "eyJ9",
        "eyJ9.",
        ".eyJ9",
        "eyJ9.c2ln",
        "..c2ln",
        "eyJ9.e30.c2ln",
        "eyJ9..c2ln.",
        "eyJ9..c2ln.c2ln",
        ".eyJ9..c2ln",
        "eyJ9=..c2ln",
        "eyI=..c2ln",
        "eyJ9..c2k=",
        "eyJ9..c2ln ",
        " eyJ9..c2ln",
        "eyJ9..c2\nln",
        "eyJ9..c+ln",
        "eyJ9..c/ln",
        "eyJ9..c2lné",
        "eyJ9\0..c2ln",
        // A length that no bytes have, and bits after the last byte.
        "eyJ9a..c2ln",
        "eyJ9..c",
        "eyJ..c2ln",
        "eyJ9..AB",
        "eyJ9..AAB",
    ];
    for text in malformed {
        assert_eq!(
            split_detached(text).unwrap_err().rule,
            Rule::SignatureMalformed,
            "{text:?}"
        );
    }
    assert_eq!(split_compact("eyJ9.e30.c2ln").unwrap().payload(), b"{}");
    assert_eq!(split_compact("eyJ9..c2ln").unwrap().payload(), b"");
    for text in [
        "eyJ9.e3.c2ln",
        "eyJ9.e30=.c2ln",
        ".e30.c2ln",
        "eyJ9.e30",
        "eyJ9.e30.c2ln.",
        "eyJ9.e30.c2ln.a.b",
    ] {
        assert_eq!(
            split_compact(text).unwrap_err().rule,
            Rule::SignatureMalformed,
            "{text:?}"
        );
    }
}

#[test]
fn a_header_has_exactly_the_members_of_its_kind() {
    let parse = |json: &str, kind: &Kind| {
        let text = format!("{}..", encode(json.as_bytes()));
        let jws = split_detached(&text).unwrap();
        parse_header(&jws, kind).map_err(|fault| (fault.rule, fault.detail))
    };
    let with = |member: &str| HEADER.replacen('{', &format!("{{{member},"), 1);
    let good = [
        HEADER.to_owned(),
        HEADER.replace(r#","typ":"uai-message+jws""#, ""),
        HEADER.replace("Ed25519", "none"),
        HEADER.replace("uai", r"\u0075ai"),
        with(r#""iat":1780000000,"aud":"agt_a""#),
        format!(" {HEADER}\n"),
    ];
    for json in good {
        let header = parse(&json, &Kind::MESSAGE).unwrap();
        assert_eq!(header.kid.as_deref(), Some("k1"));
        assert_eq!(header.algorithm.is_none(), json.contains("none"));
    }
    let header = parse(&with(r#""iat":1780000000,"aud":"agt_a""#), &Kind::DELIVERY).unwrap();
    assert_eq!((header.issued_at, header.aud.as_deref()), (Some(now()), Some("agt_a")));
    let long = with(&format!(r#""aud":"{}""#, "a".repeat(HEADER_MAX)));
    let bad = [
        (HEADER.replace(r#""alg":"Ed25519","#, ""), "`alg`"),
        (HEADER.replace(r#""Ed25519""#, "7"), "`alg` to be a string"),
        (HEADER.replace(r#""kid":"k1","#, ""), "`kid`"),
        (HEADER.replace(r#""k1""#, "null"), "`kid` to be a string"),
        (HEADER.replace(r#""uai-message+jws""#, "[]"), "`typ` to be a string"),
        (
            HEADER.replace("uai-message+jws", "UAI-message+jws"),
            "`typ` `uai-message+jws`",
        ),
        (
            HEADER.replace("uai-message+jws", "application/uai-message+jws"),
            "`typ` `uai-message+jws`",
        ),
        (
            HEADER.replace("uai-message+jws", "uai-fanout+jws"),
            "`typ` `uai-message+jws`",
        ),
        (HEADER.replace("uai-message+jws", "JWT"), "`typ` `uai-message+jws`"),
        (with(r#""iat":"1780000000""#), "`iat` in whole seconds"),
        (with(r#""iat":1780000000.5"#), "`iat` in whole seconds"),
        (with(r#""iat":9007199254740991"#), "`iat` in whole seconds"),
        (with(r#""aud":["agt_a"]"#), "`aud` to be a string"),
        (with(r#""crit":["exp"]"#), "no other header member"),
        (with(r#""crit":[]"#), "no other header member"),
        (with(r#""b64":false"#), "no other header member"),
        (with(r#""b64":true"#), "no other header member"),
        (with(r#""jku":"https://keys.example/""#), "no other header member"),
        (
            with(&format!(r#""jwk":{}"#, Signer::ed25519(7).jwk("k1", ""))),
            "no `jwk`",
        ),
        (with(r#""x5u":"https://keys.example/""#), "no other header member"),
        (with(r#""x5c":["AA=="]"#), "no other header member"),
        (with(r#""x5t":"AA""#), "no other header member"),
        (with(r#""cty":"json""#), "no other header member"),
        (with(r#""exp":1780000000"#), "no other header member"),
        (with(r#""":1"#), "no other header member"),
        (with(r#""alg":"none""#), "strict JSON"),
        (with(r#""\u0061lg":"none""#), "strict JSON"),
        (format!("{HEADER}{HEADER}"), "strict JSON"),
        (format!("\u{FEFF}{HEADER}"), "strict JSON"),
        (HEADER.replace("k1", r"k\ud800"), "strict JSON"),
        (HEADER.replace('"', "'"), "strict JSON"),
        ("[]".to_owned(), "a JSON object"),
        ("\"a\"".to_owned(), "a JSON object"),
        (long, "at most 4096 characters"),
    ];
    for (json, expected) in bad {
        let (rule, detail) = parse(&json, &Kind::MESSAGE).map(|_| ()).expect_err(&json);
        assert_eq!(rule, Rule::SignatureHeader, "{json}");
        assert!(
            detail.starts_with("expected") && detail.contains(expected),
            "{json}: {detail}"
        );
    }
    let (rule, detail) = parse(HEADER, &Kind::DELIVERY).map(|_| ()).unwrap_err();
    assert_eq!((rule, detail.as_str()), (Rule::SignatureHeader, "expected `iat`"));
}

#[test]
fn no_use_stands_for_another() {
    let uses = [
        ("uai-message+jws", Kind::MESSAGE),
        ("uai-fanout+jws", Kind::FANOUT),
        ("uai-capability+jws", Kind::CAPABILITY),
        ("uai-ledger+jws", Kind::LEDGER),
        ("uai-webhook+jws", Kind::WEBHOOK),
        ("at+jwt", Kind::ACCESS_TOKEN),
        ("JWT", Kind::ACCESS_TOKEN),
        ("dpop+jwt", Kind::DPOP),
    ];
    let jwk = Signer::ed25519(7).jwk("k1", "");
    for (typ, _) in uses {
        for (other, kind) in uses {
            let named = if kind.kid == Need::Refused {
                format!(r#""jwk":{jwk}"#)
            } else {
                r#""kid":"k1""#.to_owned()
            };
            let text = format!(
                "{}..",
                encode(format!(r#"{{"alg":"Ed25519",{named},"typ":"{typ}"}}"#).as_bytes())
            );
            let fits = parse_header(&split_detached(&text).unwrap(), &kind).is_ok();
            assert_eq!(fits, kind.typ.contains(&typ), "{typ} as {other}");
            let bare = format!("{}..", encode(format!(r#"{{"alg":"Ed25519",{named}}}"#).as_bytes()));
            let bare = parse_header(&split_detached(&bare).unwrap(), &kind).is_ok();
            assert_eq!(bare, other == "uai-message+jws", "without typ as {other}");
        }
    }
}

#[test]
fn a_proof_carries_one_good_public_key() {
    let signer = Signer::of(Algorithm::Es256);
    let header = |jwk: &str| format!(r#"{{"typ":"dpop+jwt","alg":"ES256","jwk":{jwk}}}"#);
    let text = signer.compact(Algorithm::Es256, &header(&format!("{{{}}}", signer.members())), b"{}");
    let jws = split_compact(&text).unwrap();
    let parsed = parse_header(&jws, &Kind::DPOP).unwrap();
    let key = parsed.jwk.unwrap();
    assert_eq!(key.thumbprint(), signer.public("k1").thumbprint());
    assert!(jws.verify(&key, Algorithm::Es256) && !jws.verify(&key, Algorithm::Es384));
    assert!(!jws.verify(&Signer::of(Algorithm::Es256).public("k1"), Algorithm::Es256));
    assert!(
        !jws.verify_detached(&key, Algorithm::Es256, b"{}"),
        "the payload is attached"
    );
    for (jwk, place) in [
        ("1".to_owned(), "`/jwk`"),
        (signer.jwk("k", r#","d":"AA""#), "`/jwk/d`"),
        (r#"{"kty":"oct","k":"AA"}"#.to_owned(), "`/jwk/k`"),
        (
            r#"{"kty":"OKP","crv":"Ed25519","x":"AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#.to_owned(),
            "`/jwk/x`",
        ),
        (signer.jwk("k", r#","use":"enc""#), "`/jwk`"),
    ] {
        let text = format!("{}..", encode(header(&jwk).as_bytes()));
        let fault = parse_header(&split_compact(&text).unwrap(), &Kind::DPOP).unwrap_err();
        assert!(
            fault.rule == Rule::SignatureHeader && fault.detail.contains(place),
            "{fault:?}"
        );
    }
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
fn a_fault_names_key_and_algorithm_only_when_they_are_plain() {
    let fault = |kid: &str, alg: &str| {
        let header = HEADER
            .replace("k1", kid)
            .replace("Ed25519", alg)
            .replace("message", "other");
        let text = format!("{}..", encode(header.as_bytes()));
        let fault = parse_header(&split_detached(&text).unwrap(), &Kind::MESSAGE).unwrap_err();
        (fault.kid, fault.alg)
    };
    assert_eq!(fault("k1", "ES256"), (Some("k1".to_owned()), Some("ES256")));
    assert_eq!(fault("k1", "EdDSA"), (Some("k1".to_owned()), Some("EdDSA")));
    assert_eq!(fault("a key", "HS256"), (None, Some("HS256")));
    assert_eq!(fault("k1", "my-own"), (Some("k1".to_owned()), None));
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
