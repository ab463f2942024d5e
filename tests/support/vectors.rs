//! The published test vectors beside the crate, when they are there.

use std::path::PathBuf;

use serde_json::Value;

/// One folder of vectors.
pub struct Corpus {
    folder: PathBuf,
    /// The lines of its manifest.
    pub cases: Vec<Value>,
}

/// The corpus of this name, or `None` when the vectors are absent, which is printed. With the environment variable
/// `PORTCULLIS_REQUIRE_VECTORS` set, absence fails the test.
pub fn corpus(name: &str) -> Option<Corpus> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../shared/vectors")
        .join(name);
    let manifest = match std::fs::read_to_string(folder.join("manifest.jsonl")) {
        Ok(manifest) => manifest,
        Err(error) => {
            let required = std::env::vars_os().any(|(key, _)| key == "PORTCULLIS_REQUIRE_VECTORS");
            assert!(!required, "{}: {error}", folder.display());
            eprintln!("SKIPPED: no vectors in {} ({error})", folder.display());
            return None;
        }
    };
    let cases = manifest
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    Some(Corpus { folder, cases })
}

impl Corpus {
    /// The bytes of a case: in a file named by one member, or in base64 in another.
    pub fn bytes(&self, case: &Value, file: &str, base64: &str) -> Vec<u8> {
        match case[file].as_str() {
            Some(path) => std::fs::read(self.folder.join(path)).unwrap(),
            None => decode(case[base64].as_str().unwrap()),
        }
    }
}

/// Base64 with padding, as the manifests have it.
fn decode(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').map(digit).collect();
    let mut bytes = Vec::new();
    for group in digits.chunks(4) {
        let bits = group.iter().fold(0_u32, |bits, digit| (bits << 6) | u32::from(*digit)) << (6 * (4 - group.len()));
        bytes.extend(&bits.to_be_bytes()[1..group.len()]);
    }
    bytes
}
