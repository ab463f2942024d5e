//! What a signature costs beside what cannot be left out, and what the canonical text costs beside another writer of it.
//!
//! `cargo bench --bench trust`. Each `verify/…/gate` does all that stage 9 does with the bytes of a JWS; it has to stay
//! within 1.1 times of `verify/…/bare`, which is the cryptographic library alone over the same signing input with the
//! same parsed key. `canonical/gate` has to stay within 0.2 times of `canonical/other`, which begins with the same parsed
//! document.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "a bench that cannot be set up has nothing to measure"
)]

use std::hint::black_box;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ED25519, EcdsaKeyPair, Ed25519KeyPair, KeyPair,
    ParsedPublicKey,
};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use jiff::Timestamp;
use portcullis::message::canonical::{canonical_bytes, jcs};
use portcullis::message::json::{Bounds, read};
use portcullis::policy::Algorithm;
use portcullis::trust::jws::{Found, Kind, Place, judge, parse_header, signing_input, split_detached};
use portcullis::trust::keys::KeySet;
use serde_json::Value;

const REPORT: &str = include_str!("../examples/final-report.keyed.json");

fn benches(criterion: &mut Criterion) {
    let root = read(REPORT.as_bytes(), &Bounds::default()).unwrap();
    let canonical = canonical_bytes(&root);

    let ed25519 = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let x = encode(ed25519.public_key().as_ref());
    verify(
        criterion,
        Algorithm::Ed25519,
        &format!(r#""kty":"OKP","crv":"Ed25519","x":"{x}""#),
        &ParsedPublicKey::new(&ED25519, ed25519.public_key().as_ref()).unwrap(),
        &canonical,
        |input| ed25519.sign(input).as_ref().to_vec(),
    );

    let p256 = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
    let (x, y) = p256.public_key().as_ref().split_at(33);
    let (x, y) = (encode(x.get(1..).unwrap()), encode(y));
    verify(
        criterion,
        Algorithm::Es256,
        &format!(r#""kty":"EC","crv":"P-256","x":"{x}","y":"{y}""#),
        &ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, p256.public_key().as_ref()).unwrap(),
        &canonical,
        |input| p256.sign(&SystemRandom::new(), input).unwrap().as_ref().to_vec(),
    );

    let mut group = criterion.benchmark_group("canonical");
    group.throughput(Throughput::Bytes(REPORT.len().try_into().unwrap()));
    let value: Value = serde_json::from_str(REPORT).unwrap();
    assert_eq!(jcs(&root), serde_json_canonicalizer::to_vec(&value).unwrap());
    group.bench_function("gate", |bencher| bencher.iter(|| jcs(black_box(&root))));
    group.bench_function("other", |bencher| {
        bencher.iter(|| serde_json_canonicalizer::to_vec(black_box(&value)).unwrap());
    });
    group.finish();
}

/// One algorithm: `members` are those of the JWK, `bare` is the same key without the gate.
fn verify(
    criterion: &mut Criterion,
    algorithm: Algorithm,
    members: &str,
    bare: &ParsedPublicKey,
    canonical: &[u8],
    sign: impl Fn(&[u8]) -> Vec<u8>,
) {
    let set = format!(r#"{{"keys":[{{"kid":"key-1",{members}}}]}}"#);
    let set = KeySet::parse(set.as_bytes(), Algorithm::DEFAULT).unwrap();
    let name = algorithm.name();
    let header = format!(r#"{{"alg":"{name}","kid":"key-1","typ":"uai-message+jws","iat":1780000000}}"#);
    let header = encode(header.as_bytes());
    let input = signing_input(&header, canonical);
    let signature = sign(input.as_bytes());
    let jws = format!("{header}..{}", encode(&signature));
    let place = Place {
        now: Timestamp::from_second(1_780_000_000).unwrap(),
        audiences: &[],
        audience_required: false,
    };

    let mut group = criterion.benchmark_group(format!("verify/{name}"));
    group.throughput(Throughput::Bytes(canonical.len().try_into().unwrap()));
    group.bench_function("gate", |bencher| {
        bencher.iter(|| {
            let jws = split_detached(black_box(&jws)).unwrap();
            let header = parse_header(&jws, &Kind::MESSAGE).unwrap();
            let key = set.get(header.kid.as_deref().unwrap()).unwrap();
            let found = Found::Key {
                key,
                typ_optional: false,
            };
            judge(&jws, &header, found, place, black_box(canonical), None).unwrap();
        });
    });
    group.bench_function("bare", |bencher| {
        bencher.iter(|| {
            bare.verify_sig(black_box(input.as_bytes()), black_box(&signature))
                .unwrap()
        });
    });
    group.finish();
}

fn encode(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

criterion_group!(group, benches);
criterion_main!(group);
