//! Every published vector of JWS, JWK and the signature primitives under them.
//!
//! They test the primitives: none has the header that contract §7 asks of a message. Where the gate decides otherwise
//! than a vector, or a vector leaves it open, the vector is named here with the reason; `docs/signatures.md` tells why.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test that fails is a test"
)]

#[path = "support/vectors.rs"]
mod vectors;

use portcullis::contract::Pointer;
use portcullis::message::json::{Bounds, read};
use portcullis::policy::Algorithm;
use portcullis::trust::jws::{Kind, Need, parse_header, split_compact};
use portcullis::trust::keys::{KeySet, PublicKey};
use serde_json::Value;

/// The header of a vector: `alg`, and perhaps the other members of a message's header.
const ANY: Kind = Kind {
    typ: &["JWT", "JOSE"],
    typ_need: Need::Optional,
    kid: Need::Optional,
    iat: Need::Optional,
    aud: Need::Optional,
    jwk: (Need::Refused, &[]),
    ignored: &[],
};

/// What a runner found against a manifest.
#[derive(Default)]
struct Tally {
    verified: Vec<String>,
    refused: usize,
    /// A valid case that was refused, a case to refuse that verified, an open case that verified.
    surprises: Vec<(String, &'static str)>,
}

impl Tally {
    fn add(&mut self, case: &Value, verified: bool) {
        let id = case["id"].as_str().unwrap().to_owned();
        match (case["expect"].as_str().unwrap(), verified) {
            ("valid", false) => self.surprises.push((id.clone(), "refused")),
            ("reject", true) => self.surprises.push((id.clone(), "verified")),
            ("either", true) => self.surprises.push((id.clone(), "open, verified")),
            ("valid" | "either" | "reject", _) => {}
            (other, _) => panic!("{id}: {other}"),
        }
        if verified {
            self.verified.push(id);
        } else {
            self.refused += 1;
        }
    }

    fn check(mut self, name: &str, cases: usize, verified: usize, decided: &[(&str, &str, &str)]) {
        assert_eq!(self.verified.len() + self.refused, cases, "{name}");
        let mut decided: Vec<(String, &str)> = decided.iter().map(|(id, what, _)| ((*id).to_owned(), *what)).collect();
        decided.sort();
        self.surprises.sort();
        assert_eq!(self.surprises, decided, "{name}");
        assert_eq!(self.verified.len(), verified, "{name}");
    }
}

fn key(jwk: &Value) -> Option<PublicKey> {
    let text = jwk.to_string();
    let node = read(text.as_bytes(), &Bounds::default()).ok()?;
    PublicKey::of_jwk(&node, &Pointer::root(), Algorithm::ALL).ok()
}

fn hex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn signature_primitives() {
    let Some(corpus) = vectors::corpus("signatures") else {
        return;
    };
    let mut tally = Tally::default();
    let mut foreign = 0;
    for case in &corpus.cases {
        // ES512, PS512, RS384: names that the contract does not take, so nothing verifies under them.
        let Some(algorithm) = Algorithm::of_jose(case["alg"].as_str().unwrap()) else {
            foreign += 1;
            continue;
        };
        let message = hex(case["msg"].as_str().unwrap());
        let signature = hex(case["sig"].as_str().unwrap());
        tally.add(
            case,
            key(&case["jwk"]).is_some_and(|key| key.verify(algorithm, &message, &signature)),
        );
    }
    assert_eq!(foreign, 351);
    tally.check("signatures", 643, 0, SIGNATURES);
}

#[test]
fn compact_signatures() {
    let Some(corpus) = vectors::corpus("jws") else {
        return;
    };
    let mut tally = Tally::default();
    for case in &corpus.cases {
        tally.add(case, verifies(case).unwrap_or(false));
    }
    tally.check("jws", 253, 0, JWS);
}

/// Reads and verifies a case; a JSON serialization is no compact one, so it is refused as it stands.
fn verifies(case: &Value) -> Option<bool> {
    let jws = split_compact(case["jws"].as_str().unwrap()).ok()?;
    let header = parse_header(&jws, &ANY).ok()?;
    let algorithm = header.algorithm?;
    if let Some(payload) = case["detached_payload_b64"].as_str() {
        panic!("a detached case that would be judged: {payload}");
    }
    Some(match case.get("jwks") {
        Some(jwks) => {
            let set = KeySet::parse(jwks.to_string().as_bytes(), Algorithm::ALL).ok()?;
            jws.verify(set.get(header.kid.as_deref()?)?, algorithm)
        }
        None => jws.verify(&key(&case["jwk"])?, algorithm),
    })
}

#[test]
fn key_sets() {
    let Some(corpus) = vectors::corpus("jwks") else {
        return;
    };
    let mut tally = Tally::default();
    for case in &corpus.cases {
        tally.add(case, verifies(case).unwrap_or(false));
    }
    tally.check("jwks", 13, 1, &[]);
}

const SIGNATURES: &[(&str, &str, &str)] = &[];
const JWS: &[(&str, &str, &str)] = &[];
