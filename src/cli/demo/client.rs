//! Sends one stop over a connection of its own and reads what the gate says.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use super::tour::Stop;
use crate::cli::report::Report;

/// Everything here is on loopback; longer means that something is stuck.
const PATIENCE: Duration = Duration::from_secs(10);
const ANSWER_MAX: usize = 64 * 1024;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Sends a stop; the verdict, as the answer tells it.
///
/// # Errors
/// In words, when no answer came.
pub async fn send(gate: SocketAddr, stop: &Stop) -> Result<Report, String> {
    match tokio::time::timeout(PATIENCE, exchange(gate, stop)).await {
        Ok(Ok(report)) => Ok(report),
        Ok(Err(failure)) => Err(failure.to_string()),
        Err(_) => Err(format!("no answer within {PATIENCE:?}")),
    }
}

async fn exchange(gate: SocketAddr, stop: &Stop) -> Result<Report, Failure> {
    let stream = TcpStream::connect(gate).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let running = tokio::spawn(connection);
    let request = Request::post(&stop.path)
        .header(header::HOST, gate.to_string())
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(stop.body.clone())))?;
    let (head, body) = sender.send_request(request).await?.into_parts();
    let body = Limited::new(body, ANSWER_MAX).collect().await?.to_bytes();
    running.abort();
    Ok(report(&head.headers, head.status.as_u16(), &body, &stop.body))
}

/// The seven members: from the answer what the gate decided, from the bytes sent which message it was.
fn report(headers: &HeaderMap, status: u16, answer: &[u8], sent: &[u8]) -> Report {
    let problem: Value = serde_json::from_slice(answer).unwrap_or_default();
    let sent: Value = serde_json::from_slice(sent).unwrap_or_default();
    let rule = word(&problem, "/rule");
    let pointer = problem.get("errors").and_then(Value::as_array).and_then(|errors| {
        let deciding = errors.iter().find(|error| word(error, "/rule") == rule)?;
        word(deciding, "/pointer")
    });
    Report {
        verdict: verdict(headers).unwrap_or_default(),
        code: word(&problem, "/code"),
        rule,
        pointer,
        status: Some(status),
        message_id: word(&sent, "/message_id"),
        digest: word(&problem, "/evidence/message_digest"),
    }
}

/// The word in `UAI-Verdict: "<id>";verdict=<word>`.
fn verdict(headers: &HeaderMap) -> Option<String> {
    let field = headers.get("uai-verdict")?.to_str().ok()?;
    let (_, word) = field.split_once(";verdict=")?;
    Some(word.to_owned())
}

fn word(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer)?.as_str().map(str::to_owned)
}
