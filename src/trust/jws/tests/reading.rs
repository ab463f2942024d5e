//! From text to parts and header.

use super::super::*;
use super::{HEADER, now};
use crate::trust::testing::{Signer, encode};

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
