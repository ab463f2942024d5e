//! How a signature is read and judged, and that nothing but the signed bytes verifies.

mod judging;
mod reading;

use jiff::Timestamp;

const HEADER: &str = r#"{"alg":"Ed25519","kid":"k1","typ":"uai-message+jws"}"#;

fn now() -> Timestamp {
    Timestamp::from_second(1_780_000_000).unwrap()
}
