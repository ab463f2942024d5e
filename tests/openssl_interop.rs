//! Debian's `openssl` and this program verify each other's signatures, Ed25519 and ES256. `scripts/test` installs it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that fails is a test"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portcullis::policy::Algorithm;
use portcullis::trust::jws::{Found, Kind, Place, judge, parse_header, split_detached};
use portcullis::trust::keys::KeySet;
use serde_json::{Value, json};

/// SubjectPublicKeyInfo up to the key itself (RFC 8410; RFC 5480, with the byte of an uncompressed point).
const ED25519_PREFIX: &[u8] = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";
const P256_PREFIX: &[u8] =
    b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00\x04";

const REPORT: &str = "examples/final-report.keyed.json";
const AT: &str = "2026-05-31T18:00:00Z";

fn run(program: &str, directory: &Path, arguments: &[&str]) -> Output {
    let output = Command::new(program).current_dir(directory).args(arguments).output();
    output.unwrap_or_else(|error| panic!("{program}: {error}"))
}

/// What `openssl` printed; it has to be content.
fn openssl(directory: &Path, arguments: &[&str]) -> String {
    let output = run("openssl", directory, arguments);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{arguments:?}: {said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    said
}

fn portcullis(arguments: &[&str]) -> Vec<u8> {
    let output = run(
        env!("CARGO_BIN_EXE_portcullis"),
        Path::new(env!("CARGO_MANIFEST_DIR")),
        arguments,
    );
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

fn decoded(value: &Value) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(value.as_str().unwrap()).unwrap()
}

/// ECDSA-Sig-Value of RFC 3279 §2.2.3 from r and s side by side.
fn to_der(signature: &[u8]) -> Vec<u8> {
    let integer = |bytes: &[u8]| {
        let start = bytes.iter().position(|byte| *byte != 0).unwrap();
        let mut value = bytes[start..].to_vec();
        if value[0] >= 0x80 {
            value.insert(0, 0);
        }
        [vec![2, u8::try_from(value.len()).unwrap()], value].concat()
    };
    let (r, s) = signature.split_at(32);
    let body = [integer(r), integer(s)].concat();
    [vec![0x30, u8::try_from(body.len()).unwrap()], body].concat()
}

fn from_der(der: &[u8]) -> Vec<u8> {
    let mut rest = &der[2..];
    let mut both = Vec::new();
    for _ in 0..2 {
        let (value, after) = rest[2..].split_at(usize::from(rest[1]));
        let start = value.iter().position(|byte| *byte != 0).unwrap();
        both.extend(std::iter::repeat_n(0, 32 - value[start..].len()));
        both.extend(&value[start..]);
        rest = after;
    }
    both
}

/// `seal` signs, and `openssl` alone says whether the signature is good.
#[test]
fn openssl_verifies_what_seal_signs() {
    for alg in ["Ed25519", "ES256"] {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        let key = at.join("key.json");
        let key = key.to_str().unwrap();
        let public: Value = serde_json::from_slice(&portcullis(&[
            "keys", "new", "--alg", alg, "--out", key, "--output", "json",
        ]))
        .unwrap();
        let sealed: Value = serde_json::from_slice(&portcullis(&[
            "seal", REPORT, "--key", key, "--place", "header", "--output", "json",
        ]))
        .unwrap();
        fs::write(at.join("sealed.json"), sealed["message"].as_str().unwrap()).unwrap();
        let canonical = portcullis(&["canonicalize", at.join("sealed.json").to_str().unwrap()]);
        let jws = sealed["uai_signature"].as_str().unwrap();
        let (header, signature) = jws.split_once("..").unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let point = match alg {
            "Ed25519" => [ED25519_PREFIX, &decoded(&public["x"])].concat(),
            _ => [P256_PREFIX, &decoded(&public["x"]), &decoded(&public["y"])].concat(),
        };
        fs::write(at.join("public.der"), point).unwrap();
        fs::write(
            at.join("signature"),
            if alg == "ES256" { to_der(&signature) } else { signature },
        )
        .unwrap();
        let verify = |input: String| {
            fs::write(at.join("input"), input).unwrap();
            let tail = ["-sigfile", "signature", "-in", "input", "-rawin"];
            let head = [
                "pkeyutl",
                "-verify",
                "-pubin",
                "-keyform",
                "DER",
                "-inkey",
                "public.der",
            ];
            let digest: &[&str] = if alg == "ES256" { &["-digest", "sha256"] } else { &[] };
            run("openssl", at, &[&head[..], &tail[..], digest].concat())
                .status
                .success()
        };
        assert!(
            verify(format!("{header}.{}", URL_SAFE_NO_PAD.encode(&canonical))),
            "{alg}"
        );
        assert!(!verify(format!("{header}.{}", URL_SAFE_NO_PAD.encode(b"{}"))), "{alg}");
    }
}

/// `openssl` makes the key and the signature over the canonical bytes; the gate's own verification takes it.
#[test]
fn what_openssl_signs_verifies_here() {
    let canonical = portcullis(&["canonicalize", REPORT]);
    for alg in ["Ed25519", "ES256"] {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        let kind: &[&str] = match alg {
            "Ed25519" => &["-algorithm", "ed25519"],
            _ => &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
        };
        openssl(at, &[&["genpkey", "-out", "key.pem"][..], kind].concat());
        openssl(
            at,
            &[
                "pkey",
                "-in",
                "key.pem",
                "-pubout",
                "-outform",
                "DER",
                "-out",
                "public.der",
            ],
        );
        let public = fs::read(at.join("public.der")).unwrap();
        let encoded = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let jwk = match alg {
            "Ed25519" => {
                let x = public.strip_prefix(ED25519_PREFIX).unwrap();
                json!({"kty": "OKP", "crv": "Ed25519", "kid": "openssl", "x": encoded(x)})
            }
            _ => {
                let (x, y) = public.strip_prefix(P256_PREFIX).unwrap().split_at(32);
                json!({"kty": "EC", "crv": "P-256", "kid": "openssl", "x": encoded(x), "y": encoded(y)})
            }
        };
        let header = json!({"alg": alg, "kid": "openssl", "typ": "uai-message+jws", "iat": 1_780_250_400});
        let header = encoded(header.to_string().as_bytes());
        fs::write(at.join("input"), format!("{header}.{}", encoded(&canonical))).unwrap();
        let digest: &[&str] = if alg == "ES256" { &["-digest", "sha256"] } else { &[] };
        let sign = [
            "pkeyutl",
            "-sign",
            "-inkey",
            "key.pem",
            "-rawin",
            "-in",
            "input",
            "-out",
            "signature",
        ];
        openssl(at, &[&sign[..], digest].concat());
        let signature = fs::read(at.join("signature")).unwrap();
        let signature = if alg == "ES256" {
            from_der(&signature)
        } else {
            signature
        };

        let keys = json!({"keys": [jwk]}).to_string();
        let keys = KeySet::parse(keys.as_bytes(), Algorithm::DEFAULT).unwrap();
        let text = format!("{header}..{}", encoded(&signature));
        let jws = split_detached(&text).unwrap();
        let header = parse_header(&jws, &Kind::MESSAGE).unwrap();
        let found = || Found::Key {
            key: keys.get("openssl").unwrap(),
            typ_optional: false,
        };
        let place = || Place {
            now: AT.parse().unwrap(),
            audiences: &[],
            audience_required: false,
        };
        judge(&jws, &header, found(), place(), &canonical, None).unwrap();
        let fault = judge(&jws, &header, found(), place(), b"{}", None).unwrap_err();
        assert_eq!(fault.rule.id(), "signature.wrong", "{alg}");
    }
}
