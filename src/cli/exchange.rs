//! One HTTP/1.1 exchange over a connection of its own: for the demo and the conformance cases.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// Longer than any deadline of a gate under the fixture policy would let an answer take; longer means that it is stuck.
const PATIENCE: Duration = Duration::from_secs(40);
const ANSWER_MAX: usize = 1024 * 1024;

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The header fields.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// The word in `UAI-Verdict: "<id>";verdict=<word>`.
    pub fn verdict(&self) -> Option<&str> {
        let field = self.headers.get("uai-verdict")?.to_str().ok()?;
        field.split_once(";verdict=").map(|(_, word)| word)
    }

    /// The body as JSON; `null` when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// Sends a request, whose target is path and query, to `authority` (host and port).
///
/// # Errors
/// In words, when no answer came.
pub async fn exchange(authority: &str, request: Request<Bytes>) -> Result<Answer, String> {
    match tokio::time::timeout(PATIENCE, talk(authority, request)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(failure)) => Err(failure.to_string()),
        Err(_) => Err(format!("no answer within {PATIENCE:?}")),
    }
}

async fn talk(
    authority: &str,
    mut request: Request<Bytes>,
) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
    let stream = TcpStream::connect(authority).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let running = tokio::spawn(connection);
    request.headers_mut().insert(header::HOST, authority.parse()?);
    let (head, body) = sender.send_request(request.map(Full::new)).await?.into_parts();
    let body = Limited::new(body, ANSWER_MAX).collect().await?.to_bytes();
    running.abort();
    Ok(Answer {
        status: head.status.as_u16(),
        headers: head.headers,
        body,
    })
}
