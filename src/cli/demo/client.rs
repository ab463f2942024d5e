//! Sends one stop and reads what the gate says.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, header};
use serde_json::Value;

use super::tour::Stop;
use crate::cli::exchange::{Answer, exchange};
use crate::cli::report::Report;

/// Sends a stop; the verdict, as the answer tells it.
///
/// # Errors
/// In words, when no answer came.
pub async fn send(gate: SocketAddr, stop: &Stop) -> Result<Report, String> {
    let request = Request::post(&stop.path)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Bytes::from(stop.body.clone()))
        .map_err(|error| error.to_string())?;
    let answer = exchange(&gate.to_string(), request).await?;
    Ok(report(&answer, &stop.body))
}

/// The seven members: from the answer what the gate decided, from the bytes sent which message it was.
fn report(answer: &Answer, sent: &[u8]) -> Report {
    let problem = answer.json();
    let sent: Value = serde_json::from_slice(sent).unwrap_or_default();
    let rule = word(&problem, "/rule");
    let pointer = problem.get("errors").and_then(Value::as_array).and_then(|errors| {
        let deciding = errors.iter().find(|error| word(error, "/rule") == rule)?;
        word(deciding, "/pointer")
    });
    Report {
        verdict: answer.verdict().unwrap_or_default().to_owned(),
        code: word(&problem, "/code"),
        rule,
        pointer,
        status: Some(answer.status),
        message_id: word(&sent, "/message_id"),
        digest: word(&problem, "/evidence/message_digest"),
    }
}

fn word(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer)?.as_str().map(str::to_owned)
}
