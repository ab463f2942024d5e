//! What is taken as a key and what is not, and what a key verifies.

use aws_lc_rs::signature::{RSA_PSS_SHA256, RsaEncoding, RsaPssSaltLength};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;

use super::*;
use crate::trust::testing::{Signer, encode, set, text};

/// Parses a set of one key and gives what came of it: the place and detail of the error.
fn refused(jwk: &str) -> (String, String) {
    let error = KeySet::parse(text(&[jwk.to_owned()]).as_bytes(), Algorithm::ALL)
        .map(|set| format!("{set:?}"))
        .unwrap_err();
    assert_eq!(error.to_string(), format!("`{}`: {}", error.place, error.detail));
    (error.place.to_string(), error.detail.into_owned())
}

/// The same JWK with the first `from` replaced.
fn with(jwk: &str, from: &str, to: &str) -> String {
    assert!(jwk.contains(from), "{from}");
    jwk.replacen(from, to, 1)
}

/// The same JWK with the value of one member replaced by these bytes.
fn with_bytes(jwk: &str, name: &str, bytes: &[u8]) -> String {
    let start = jwk.find(&format!("\"{name}\":\"")).unwrap() + name.len() + 4;
    let end = start + jwk[start..].find('"').unwrap();
    format!("{}{}{}", &jwk[..start], encode(bytes), &jwk[end..])
}

fn bytes_of(jwk: &str, name: &str) -> Vec<u8> {
    let value: serde_json::Value = serde_json::from_str(jwk).unwrap();
    BASE64_URL_SAFE_NO_PAD.decode(value[name].as_str().unwrap()).unwrap()
}

#[test]
fn a_key_of_every_algorithm_verifies_what_it_signed_and_nothing_else() {
    for algorithm in Algorithm::ALL.iter().copied() {
        let signer = Signer::of(algorithm);
        let key = signer.public("k1");
        let signature = signer.sign(algorithm, b"message");
        assert!(key.verify(algorithm, b"message", &signature), "{algorithm:?}");
        assert!(!key.verify(algorithm, b"massage", &signature), "{algorithm:?}");
        assert!(!key.verify(algorithm, b"message", &[]), "{algorithm:?}");
        assert!(
            !Signer::ed25519(9)
                .public("k1")
                .verify(algorithm, b"message", &signature)
        );
        for other in Algorithm::ALL.iter().copied().filter(|other| *other != algorithm) {
            assert!(!key.verify(other, b"message", &signature), "{algorithm:?} as {other:?}");
        }
        for broken in [
            &signature[1..],
            &[&signature[..], &[0]].concat(),
            &[&[0], &signature[..]].concat(),
        ] {
            assert!(!key.verify(algorithm, b"message", broken), "{algorithm:?}");
        }
    }
}

#[test]
fn ed25519_takes_no_second_form_of_a_signature() {
    // The order of the group, 2^252 + 27742317777372353535851937790883648493.
    const ORDER: [u8; 32] = [
        0xED, 0xD3, 0xF5, 0x5C, 0x1A, 0x63, 0x12, 0x58, 0xD6, 0x9C, 0xF7, 0xA2, 0xDE, 0xF9, 0xDE, 0x14, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
    ];
    let signer = Signer::ed25519(7);
    let key = signer.public("k1");
    let mut signature = signer.sign(Algorithm::Ed25519, b"message");
    assert!(key.verify(Algorithm::Ed25519, b"message", &signature));
    // S + L is the same number modulo L, so a lax verifier takes it.
    let mut carry = 0;
    for (byte, order) in signature[32..].iter_mut().zip(ORDER) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        *byte = sum.to_le_bytes()[0];
        carry = sum >> 8;
    }
    assert!(!key.verify(Algorithm::Ed25519, b"message", &signature));
}

#[test]
fn ecdsa_takes_r_and_s_of_fixed_length_within_the_order() {
    let order_256 = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
    let order_384 = "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973";
    for (algorithm, order) in [(Algorithm::Es256, order_256), (Algorithm::Es384, order_384)] {
        let order: Vec<u8> = (0..order.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&order[at..at + 2], 16).unwrap())
            .collect();
        let signer = Signer::of(algorithm);
        let key = signer.public("k1");
        let signature = signer.sign(algorithm, b"message");
        let (r, s) = signature.split_at(order.len());
        assert!(key.verify(algorithm, b"message", &[r, s].concat()));
        let zero = vec![0; order.len()];
        let most = vec![0xFF; order.len()];
        for wrong in [&zero, &order, &most] {
            assert!(
                !key.verify(algorithm, b"message", &[wrong, s].concat()),
                "{algorithm:?} r"
            );
            assert!(
                !key.verify(algorithm, b"message", &[r, wrong].concat()),
                "{algorithm:?} s"
            );
            assert!(
                !key.verify(algorithm, b"message", &[&wrong[..], wrong].concat()),
                "{algorithm:?}"
            );
        }
        let der = |number: &[u8]| [&[0x02, 1 + u8::try_from(number.len()).unwrap(), 0], number].concat();
        let body = [der(r), der(s)].concat();
        let der = [&[0x30, u8::try_from(body.len()).unwrap()], &body[..]].concat();
        assert!(!key.verify(algorithm, b"message", &der), "DER");
    }
}

#[test]
fn ps256_has_a_salt_as_long_as_its_hash() {
    let signer = Signer::of(Algorithm::Ps256);
    let key = signer.public("k1");
    let of = |padding: &'static dyn RsaEncoding| {
        key.verify(Algorithm::Ps256, b"message", &signer.sign_as(padding, b"message"))
    };
    assert!(of(&RSA_PSS_SHA256));
    assert!(of(&const {
        RSA_PSS_SHA256.with_pss_salt_length(RsaPssSaltLength::Custom(32))
    }));
    assert!(!of(&const {
        RSA_PSS_SHA256.with_pss_salt_length(RsaPssSaltLength::Custom(0))
    }));
    assert!(!of(&const {
        RSA_PSS_SHA256.with_pss_salt_length(RsaPssSaltLength::Custom(20))
    }));
    assert!(!of(
        &const { RSA_PSS_SHA256.with_pss_salt_length(RsaPssSaltLength::Max) }
    ));
}

#[test]
fn every_encoding_of_a_point_of_small_order_and_every_second_encoding_is_refused() {
    let eighth = "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05";
    let other_eighth = "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a";
    let number = |hex: &str| {
        let mut bytes = [0_u8; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap();
        }
        bytes
    };
    let small = |first: u8| {
        let mut bytes = [0; 32];
        bytes[0] = first;
        bytes
    };
    // From 2^255 - 20, which is -1, to 2^255 - 1; from 2^255 - 19 on every number has a smaller one that is the same.
    let near_prime = |first: u8| {
        let mut bytes = [0xFF; 32];
        (bytes[0], bytes[31]) = (first, 0x7F);
        bytes
    };
    let jwk = Signer::ed25519(7).jwk("k1", "");
    let mut seen = 0;
    let mut check = |y: [u8; 32], expected: &str| {
        for sign in [0, 0x80] {
            let mut point = y;
            point[31] |= sign;
            let found = refused(&with_bytes(&jwk, "x", &point));
            assert_eq!(found, ("/keys/0/x".to_owned(), expected.to_owned()), "{point:02x?}");
            seen += 1;
        }
    };
    for y in [
        small(1),
        near_prime(0xEC),
        small(0),
        number(eighth),
        number(other_eighth),
    ] {
        check(y, "expected a point of large order");
    }
    for first in 0xED..=0xFF {
        check(near_prime(first), "expected a point in its one canonical encoding");
    }
    assert_eq!(seen, 10 + 38);
}

#[test]
fn what_is_malformed_weak_or_secret_refuses_the_set() {
    let ed = Signer::ed25519(7).jwk("k1", "");
    let p256 = Signer::of(Algorithm::Es256).jwk("k1", "");
    let p384 = Signer::of(Algorithm::Es384).jwk("k1", "");
    let rsa = Signer::of(Algorithm::Rs256).jwk("k1", "");
    let n = bytes_of(&rsa, "n");
    let mut even = n.clone();
    *even.last_mut().unwrap() &= 0xFE;
    let mut off = bytes_of(&p256, "y");
    off[31] ^= 1;
    // A power of 65537 of 2065 bits.
    let power = (0..129).fold(vec![1_u8], |number, _| {
        let shifted = [&number[..], &[0, 0]].concat();
        let padded = [&[0, 0], &number[..]].concat();
        let mut carry = 0;
        let mut sum: Vec<u8> = (0..shifted.len())
            .rev()
            .map(|at| {
                let digit = u16::from(shifted[at]) + u16::from(padded[at]) + carry;
                carry = digit >> 8;
                digit.to_le_bytes()[0]
            })
            .collect();
        sum.push(u8::try_from(carry).unwrap());
        let start = sum.iter().rposition(|byte| *byte != 0).unwrap();
        sum.truncate(start + 1);
        sum.reverse();
        sum
    });
    let add = |jwk: &str, member: &str| with(jwk, "{", &format!("{{{member},"));
    let table = vec![
        (with(&ed, r#""kty":"OKP","#, ""), "/kty", "a key type"),
        (with(&ed, r#""OKP""#, "1"), "/kty", "a string"),
        (with(&ed, r#""crv":"Ed25519","#, ""), "/crv", "a curve"),
        (with(&p256, r#""P-256""#, "null"), "/crv", "a string"),
        (with(&ed, r#""k1""#, "1"), "/kid", "a string"),
        (with_bytes(&ed, "x", &[1; 31]), "/x", "32 bytes"),
        (with(&ed, r#""x":""#, r#""x":"="#), "/x", "base64url"),
        (with(&ed, r#""x":""#, r#""z":""#), "/x", "base64url"),
        (with_bytes(&p256, "y", &off), "/x", "a point of the curve"),
        (with_bytes(&p256, "x", &[0; 32]), "/x", "a point of the curve"),
        (with_bytes(&p256, "x", &[0xFF; 32]), "/x", "a point of the curve"),
        (with_bytes(&p256, "x", &[1; 31]), "/x", "32 bytes"),
        (with_bytes(&p384, "y", &[1; 49]), "/y", "48 bytes"),
        (with(&p384, "P-384", "P-256"), "/x", "32 bytes"),
        (with(&p256, "P-256", "P-384"), "/x", "48 bytes"),
        (with_bytes(&rsa, "n", &n[1..]), "/n", "2048 to 8192"),
        (with_bytes(&rsa, "n", &[0x7F; 256]), "/n", "2048 to 8192"),
        (with_bytes(&rsa, "n", &[0xFF; 1025]), "/n", "2048 to 8192"),
        (with_bytes(&rsa, "n", &[&[0], &n[..]].concat()), "/n", "leading zeros"),
        (with_bytes(&rsa, "n", &[]), "/n", "leading zeros"),
        (with_bytes(&rsa, "n", &even), "/n", "odd primes"),
        (with_bytes(&rsa, "n", &power), "/n", "CVE-2017-15361"),
        (with_bytes(&rsa, "e", &[1]), "/e", "odd exponent"),
        (with_bytes(&rsa, "e", &[1, 0, 0]), "/e", "odd exponent"),
        (with_bytes(&rsa, "e", &[1, 0, 0, 0, 1]), "/e", "odd exponent"),
        (with_bytes(&rsa, "e", &[0, 3]), "/e", "leading zeros"),
        (add(&ed, r#""d":"""#), "/d", "without secret"),
        (add(&rsa, r#""qi":1"#), "/qi", "without secret"),
        (r#"{"kty":"oct","k":"c2VjcmV0"}"#.to_owned(), "/k", "without secret"),
        (r#"{"kty":"oct"}"#.to_owned(), "/kty", "not a shared secret"),
        (
            r#"{"kty":"AKP","priv":"c2VjcmV0"}"#.to_owned(),
            "/priv",
            "without secret",
        ),
        (add(&ed, r#""use":true"#), "/use", "a string"),
        (add(&ed, r#""key_ops":"verify""#), "/key_ops", "an array of strings"),
        (add(&ed, r#""key_ops":["verify",1]"#), "/key_ops", "an array of strings"),
        (
            add(&ed, r#""key_ops":["verify","verify"]"#),
            "/key_ops",
            "every operation once",
        ),
        (add(&ed, r#""alg":7"#), "/alg", "a string"),
        (add(&ed, r#""alg":"ES256""#), "/alg", "fits `kty` and `crv`"),
        (add(&rsa, r#""alg":"EdDSA""#), "/alg", "fits `kty` and `crv`"),
        (add(&p256, r#""alg":"ES384""#), "/alg", "fits `kty` and `crv`"),
        (add(&ed, r#""nbf":"1""#), "/nbf", "whole seconds"),
        (add(&ed, r#""exp":1.5"#), "/exp", "whole seconds"),
        ("[]".to_owned(), "", "an object"),
    ];
    for (jwk, place, expected) in table {
        let found = refused(&jwk);
        assert_eq!(found.0, format!("/keys/0{place}"), "{jwk}");
        assert!(
            found.1.starts_with("expected") && found.1.contains(expected),
            "{found:?}"
        );
    }
}

#[test]
fn a_set_is_small_strict_and_names_every_key_once() {
    let parse = |text: &str| {
        let error = KeySet::parse(text.as_bytes(), Algorithm::ALL).map(|_| ()).unwrap_err();
        (error.place.to_string(), error.detail.into_owned())
    };
    let many = |keys: usize| {
        text(
            &(0..keys)
                .map(|at| Signer::ed25519(7).jwk(&format!("k{at}"), ""))
                .collect::<Vec<_>>(),
        )
    };
    let large = format!("{{\"keys\":[]{}}}", " ".repeat(TEXT_MAX));
    let twice = text(&[
        Signer::ed25519(1).jwk("k1", ""),
        Signer::of(Algorithm::Es256).jwk("k1", ""),
    ]);
    let twice_unused = text(&[
        Signer::ed25519(1).jwk("k1", r#","use":"enc""#),
        Signer::ed25519(2).jwk("k1", ""),
    ]);
    let member_twice = text(&[Signer::ed25519(1).jwk("k1", r#","kid":"k2""#)]);
    let escaped = text(&[Signer::ed25519(1).jwk("k1", ""), Signer::ed25519(2).jwk("k\\u0031", "")]);
    for (text, place, expected) in [
        ("", "", "expected a value"),
        ("{}", "/keys", "an array of keys"),
        ("[]", "/keys", "an array of keys"),
        (r#"{"keys":{}}"#, "/keys", "an array of keys"),
        (r#"{"keys":[],"keys":[]}"#, "", "expected"),
        (&many(101), "/keys", "at most 100 keys"),
        (&large, "", "at most 256 KiB"),
        (&member_twice, "/keys/0", "expected"),
        (&twice, "/keys/1/kid", "no other key"),
        (&twice_unused, "/keys/1/kid", "no other key"),
        (&escaped, "/keys/1/kid", "no other key"),
    ] {
        let found = parse(text);
        assert!(found.0.starts_with(place) && found.1.contains(expected), "{found:?}");
    }
    assert_eq!(KeySet::parse(many(100).as_bytes(), Algorithm::ALL).unwrap().len(), 100);
    let empty = set(&[]);
    assert!(empty.is_empty() && empty.remarks().is_empty() && empty.get("k1").is_none());
}

#[test]
fn a_key_of_no_use_here_is_left_out_and_named() {
    let ed = Signer::ed25519(7);
    let long = "k".repeat(129);
    let keys = [
        ed.jwk(
            "good",
            r#","use":"sig","key_ops":["verify","sign"],"alg":"EdDSA","x5c":["AA=="],"other":{"d":1}"#,
        ),
        format!("{{{}}}", ed.members()),
        ed.jwk("", ""),
        ed.jwk(&long, ""),
        ed.jwk("enc", r#","use":"enc""#),
        ed.jwk("sign", r#","key_ops":["sign"]"#),
        ed.jwk("x", "").replace("Ed25519", "X25519"),
        Signer::of(Algorithm::Es256).jwk("p521", "").replace("P-256", "P-521"),
        Signer::of(Algorithm::Rs256).jwk("rs512", r#","alg":"RS512""#),
        r#"{"kty":"LMS","kid":"not an id"}"#.to_owned(),
        Signer::of(Algorithm::Es384).jwk("p384", ""),
    ];
    let set = KeySet::parse(text(&keys).as_bytes(), Algorithm::DEFAULT).unwrap();
    let mut kids: Vec<&str> = set.kids().map(|kid| &**kid).collect();
    kids.sort_unstable();
    // A key that no algorithm of the issuer fits is still known: its signatures have a wrong `alg`, not a strange key.
    assert_eq!(kids, ["good", "p384"]);
    assert_eq!(set.get("p384").unwrap().algorithms().count(), 0);
    assert_eq!(set.get("good").unwrap().kid().map(|kid| &**kid), Some("good"));
    let named: Vec<(&str, Option<&str>)> = set
        .remarks()
        .iter()
        .map(|remark| (remark.place.as_str(), remark.kid.as_deref()))
        .collect();
    let expected = [
        ("/keys/1", None),
        ("/keys/2", None),
        ("/keys/3", None),
        ("/keys/4", Some("enc")),
        ("/keys/5", Some("sign")),
        ("/keys/6", Some("x")),
        ("/keys/7", Some("p521")),
        ("/keys/8", Some("rs512")),
        ("/keys/9", None),
        ("/keys/10", Some("p384")),
    ];
    assert_eq!(named, expected);
    assert!(set.remarks().iter().all(|remark| remark.detail.starts_with("expected")));
}

#[test]
fn alg_and_times_of_a_key_are_honoured() {
    let rsa = Signer::of(Algorithm::Ps256);
    let at = |seconds| Timestamp::from_second(seconds).unwrap();
    let set = set(&[
        rsa.jwk("any", ""),
        rsa.jwk("ps", r#","alg":"PS256","nbf":100,"exp":200"#),
    ]);
    let (any, ps) = (set.get("any").unwrap(), set.get("ps").unwrap());
    assert!(any.fits(Algorithm::Rs256) && any.fits(Algorithm::Ps256) && !any.fits(Algorithm::Es256));
    assert!(ps.fits(Algorithm::Ps256) && !ps.fits(Algorithm::Rs256));
    assert!(!ps.verify(Algorithm::Rs256, b"m", &rsa.sign(Algorithm::Rs256, b"m")));
    for (now, usable) in [(99, false), (100, true), (199, true), (200, false)] {
        assert_eq!(ps.usable(at(now), Algorithm::Ps256), usable, "{now}");
        assert!(any.usable(at(now), Algorithm::Ps256) && !ps.usable(at(now), Algorithm::Rs256));
    }
}

#[test]
fn thumbprints_are_those_of_rfc_7638_and_8037() {
    let of = |jwk: &str| {
        let set = set(&[jwk.to_owned()]);
        set.get("k").unwrap().thumbprint().to_owned()
    };
    // RFC 8037 A.3.
    assert_eq!(
        of(r#"{"kid":"k","kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#),
        "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
    );
    // RFC 7638 §3.1.
    let n = "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMs\
             tn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1\
             n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw";
    assert_eq!(
        of(&format!(r#"{{"kid":"k","kty":"RSA","e":"AQAB","n":"{n}"}}"#)),
        "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
    );
}

#[test]
fn debug_shows_no_key() {
    let key = Signer::ed25519(7).public("k1");
    assert_eq!(
        format!("{key:?}"),
        r#"PublicKey { kid: Some("k1"), algorithms: [Ed25519], .. }"#
    );
}
