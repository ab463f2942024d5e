//! The one thing that talks to the backend.
//!
//! Nothing goes out without a [`Permit`], and nothing is sent twice: only a request of which no byte left the gateway
//! may take another connection (contract §14).

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::response::Parts;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, Method, Request, Uri};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::decide::Permit;
use crate::policy::Backend;

/// A connection that is not made by then counts as no connection.
const CONNECT: Duration = Duration::from_secs(5);

/// An unused connection to the backend is closed after this.
const POOL_IDLE: Duration = Duration::from_secs(30);

/// Unused connections kept.
const POOL_SIZE: usize = 64;

/// Pooled connections to the backend. Cloning shares the pool.
#[derive(Clone, Debug)]
pub struct Upstream {
    http1: Client<HttpConnector, Full<Bytes>>,
    h2c: Client<HttpConnector, Full<Bytes>>,
}

/// What goes to the backend: the path that was matched, the bytes that were judged.
#[derive(Debug)]
pub struct Outgoing {
    /// The method received.
    pub method: Method,
    /// The path received, character by character.
    pub path: String,
    /// The fields of contract §14.
    pub headers: HeaderMap,
    /// The very bytes that were judged.
    pub body: Bytes,
}

/// How much of the answer is waited for.
#[derive(Clone, Copy, Debug)]
pub enum Wanted {
    /// All of it, at most this many bytes; the deadline covers its last byte.
    Whole(usize),
    /// The head; the body is passed on as it comes, unless its head says that it has to be judged first.
    Stream {
        /// Whether an answer with this head is read whole.
        is_judged: fn(&Parts) -> bool,
        /// At most this many bytes of one that is.
        limit: usize,
    },
}

/// What the backend answered.
#[derive(Debug)]
pub struct Answer {
    /// Status and fields as received.
    pub head: Parts,
    /// The body.
    pub body: AnswerBody,
}

/// The body of an answer.
#[derive(Debug)]
pub enum AnswerBody {
    /// Read to its end.
    Whole(Bytes),
    /// Not read yet.
    Stream(Incoming),
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// No connection, so not one byte was sent.
    #[error("no connection to the backend")]
    Unreachable,
    /// The connection was lost after the first byte.
    #[error("the connection to the backend was lost")]
    Lost,
    /// The deadline passed.
    #[error("the backend did not answer in time")]
    Timeout,
    /// The answer is larger than asked for.
    #[error("the backend's answer is too large")]
    TooLarge,
}

impl Upstream {
    /// Empty pools.
    pub fn new() -> Self {
        Self {
            http1: client(false),
            h2c: client(true),
        }
    }

    /// Sends one request, once.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn forward(
        &self,
        _permit: Permit,
        backend: &Backend,
        outgoing: Outgoing,
        wanted: Wanted,
        deadline: Duration,
    ) -> Result<Answer, Failure> {
        let request = request(backend, outgoing).ok_or(Failure::Unreachable)?;
        let client = if backend.h2c { &self.h2c } else { &self.http1 };
        match tokio::time::timeout(deadline, exchange(client, request, wanted)).await {
            Ok(answered) => answered,
            Err(_) => Err(Failure::Timeout),
        }
    }
}

impl Default for Upstream {
    fn default() -> Self {
        Self::new()
    }
}

fn client(h2c: bool) -> Client<HttpConnector, Full<Bytes>> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT));
    Client::builder(TokioExecutor::new())
        .http2_only(h2c)
        .pool_timer(TokioTimer::new())
        .timer(TokioTimer::new())
        .pool_idle_timeout(POOL_IDLE)
        .pool_max_idle_per_host(POOL_SIZE)
        .build(connector)
}

async fn exchange(
    client: &Client<HttpConnector, Full<Bytes>>,
    request: Request<Full<Bytes>>,
    wanted: Wanted,
) -> Result<Answer, Failure> {
    let response = client.request(request).await.map_err(|error| {
        if error.is_connect() {
            Failure::Unreachable
        } else {
            Failure::Lost
        }
    })?;
    let (head, body) = response.into_parts();
    let body = match wanted {
        Wanted::Whole(limit) => AnswerBody::Whole(read(body, limit).await?),
        Wanted::Stream { is_judged, limit } if is_judged(&head) => AnswerBody::Whole(read(body, limit).await?),
        Wanted::Stream { .. } => AnswerBody::Stream(body),
    };
    Ok(Answer { head, body })
}

async fn read(mut body: Incoming, limit: usize) -> Result<Bytes, Failure> {
    let limit_u64 = u64::try_from(limit).unwrap_or(u64::MAX);
    if body.size_hint().lower() > limit_u64 {
        return Err(Failure::TooLarge);
    }
    let mut read = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Failure::Lost)?.into_data() else {
            continue;
        };
        if read.len().saturating_add(data.len()) > limit {
            return Err(Failure::TooLarge);
        }
        read.extend_from_slice(&data);
    }
    Ok(read.freeze())
}

fn request(backend: &Backend, outgoing: Outgoing) -> Option<Request<Full<Bytes>>> {
    let mut parts = http::uri::Parts::default();
    parts.scheme = Some(Scheme::HTTP);
    parts.authority = Some(Authority::try_from(backend.authority.as_str()).ok()?);
    parts.path_and_query = Some(PathAndQuery::try_from(outgoing.path).ok()?);
    let mut request = Request::new(Full::new(outgoing.body));
    *request.method_mut() = outgoing.method;
    *request.uri_mut() = Uri::from_parts(parts).ok()?;
    *request.headers_mut() = outgoing.headers;
    Some(request)
}
