//! Every algorithm signs what its public part verifies; what is no key for signing is refused without its value.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    RsaPublicKeyComponents, UnparsedPublicKey,
};

use super::*;
use crate::message::is_id;

fn decoded(value: &Value, name: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(value[name].as_str().unwrap()).unwrap()
}

/// Verification by the public members alone, through another door than the gate's own.
fn verifies(public: &Value, input: &[u8], signature: &[u8]) -> bool {
    let point = || [vec![4], decoded(public, "x"), decoded(public, "y")].concat();
    let rsa = |encoding| {
        let key = RsaPublicKeyComponents {
            n: decoded(public, "n"),
            e: decoded(public, "e"),
        };
        key.verify(encoding, input, signature).is_ok()
    };
    match public["alg"].as_str().unwrap() {
        "Ed25519" => UnparsedPublicKey::new(&ED25519, decoded(public, "x"))
            .verify(input, signature)
            .is_ok(),
        "ES256" => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point())
            .verify(input, signature)
            .is_ok(),
        "ES384" => UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, point())
            .verify(input, signature)
            .is_ok(),
        "PS256" => rsa(&RSA_PSS_2048_8192_SHA256),
        "RS256" => rsa(&RSA_PKCS1_2048_8192_SHA256),
        other => panic!("{other}"),
    }
}

#[test]
fn every_algorithm_signs_what_its_public_part_verifies() {
    let now = "2026-06-01T00:00:00Z".parse().unwrap();
    for algorithm in Algorithm::ALL {
        let key = SigningKey::parse(generate(*algorithm, None).unwrap().reveal().as_bytes()).unwrap();
        assert!(is_id(key.kid()) && key.kid().len() <= 64, "{}", key.kid());
        assert_eq!(key.algorithm(), *algorithm);
        let public = key.public_jwk();
        for secret in ["d", "p", "q", "dp", "dq", "qi"] {
            assert!(public.get(secret).is_none(), "{algorithm:?} {secret}");
        }
        let jws = key.sign_detached("uai-message+jws", now, Some("agt_a"), b"{}").unwrap();
        assert!(jws.len() <= 512, "{algorithm:?}: {}", jws.len());
        let [header, payload, signature] = <[&str; 3]>::try_from(jws.split('.').collect::<Vec<_>>()).unwrap();
        assert_eq!(payload, "");
        let named: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap();
        let expected = json!({
            "alg": algorithm.name(), "kid": key.kid(), "typ": "uai-message+jws", "iat": 1_780_272_000, "aud": "agt_a",
        });
        assert_eq!(named, expected);
        let input = format!("{header}.{}", URL_SAFE_NO_PAD.encode("{}"));
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        assert!(verifies(&public, input.as_bytes(), &signature), "{algorithm:?}");
        assert!(!verifies(&public, b"something else", &signature), "{algorithm:?}");
    }
}

#[test]
fn a_key_is_shown_by_its_name_alone() {
    let made = generate(Algorithm::Ed25519, Some("k1")).unwrap();
    let key = SigningKey::parse(made.reveal().as_bytes()).unwrap();
    assert_eq!(
        format!("{key:?} {made:?}"),
        "SigningKey { kid: \"k1\", .. } PrivateJwk { .. }"
    );
}

#[test]
fn what_cannot_sign_is_refused_without_its_value() {
    let good =
        |algorithm| -> Value { serde_json::from_str(generate(algorithm, Some("k1")).unwrap().reveal()).unwrap() };
    let (ed, ec, rsa) = (good(Algorithm::Ed25519), good(Algorithm::Es256), good(Algorithm::Rs256));
    let with = |key: &Value, name: &str, value: Value| {
        let mut key = key.clone();
        key[name] = value;
        key
    };
    let without = |key: &Value, name: &str| {
        let mut key = key.clone();
        key.as_object_mut().unwrap().remove(name);
        key
    };
    let other_ed = good(Algorithm::Ed25519);
    let other_ec = good(Algorithm::Es256);
    let bad = [
        without(&ed, "kid"),
        with(&ed, "kid", json!("not an id")),
        with(&ed, "kid", json!(7)),
        without(&ed, "d"),
        without(&ed, "x"),
        with(&ed, "x", other_ed["x"].clone()),
        with(&ed, "crv", json!("X25519")),
        with(&ed, "alg", json!("ES256")),
        with(&ed, "alg", json!(7)),
        with(&ed, "use", json!("enc")),
        with(&ed, "key_ops", json!(["verify"])),
        with(&ed, "key_ops", json!("sign")),
        with(&ed, "d", json!("AAAA")),
        with(&ec, "d", other_ec["d"].clone()),
        with(&ec, "crv", json!("P-384")),
        with(&ec, "x", json!("!")),
        without(&rsa, "alg"),
        with(&rsa, "alg", json!("RS512")),
        without(&rsa, "qi"),
        with(&rsa, "d", json!("AQAB")),
        json!({"kty": "oct", "k": "c2VjcmV0", "kid": "k1", "alg": "HS256"}),
        json!({"keys": [ed.clone()]}),
        json!([]),
    ];
    for key in bad {
        let error = SigningKey::parse(key.to_string().as_bytes()).unwrap_err();
        assert!(matches!(error, SigningError::Unfit(_)), "{error:?}");
        for value in [&ed["d"], &ec["d"], &rsa["d"]] {
            assert!(!error.to_string().contains(value.as_str().unwrap()));
        }
    }
    let twice = ed.to_string().replacen('{', r#"{"d":"AA","#, 1);
    assert!(SigningKey::parse(twice.as_bytes()).is_err());
    assert!(SigningKey::parse(with(&ed, "key_ops", json!(["sign", "verify"])).to_string().as_bytes()).is_ok());
    assert!(SigningKey::parse(with(&ed, "alg", json!("EdDSA")).to_string().as_bytes()).is_ok());
}

#[test]
fn a_key_file_is_closed_to_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key.json");
    fs::write(&path, generate(Algorithm::Ed25519, None).unwrap().reveal()).unwrap();
    for (mode, is_taken) in [
        (0o600, true),
        (0o440, true),
        (0o604, false),
        (0o602, false),
        (0o601, false),
    ] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let loaded = SigningKey::load(&path);
        assert_eq!(loaded.is_ok(), is_taken, "{mode:o}");
        assert!(
            loaded.is_ok() || matches!(loaded, Err(SigningError::Exposed)),
            "{mode:o}"
        );
    }
    assert!(matches!(
        SigningKey::load(directory.path()),
        Err(SigningError::Unfit(_))
    ));
    let nothing = SigningKey::load(&directory.path().join("nothing"));
    assert!(matches!(nothing, Err(SigningError::Unreadable(_))));
    fs::write(&path, vec![b' '; 70_000]).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(matches!(SigningKey::load(&path), Err(SigningError::Unfit(_))));
}
