//! A backend that keeps what it was sent, so that the demo and the conformance cases see what came through.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

/// A running backend. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Backend {
    /// Where it listens.
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// One request that came through.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its header fields.
    pub headers: HeaderMap,
    /// Its body; empty when it broke off.
    pub body: Bytes,
}

impl Backend {
    /// Starts one; it runs until the runtime ends. Port 0 takes any free port.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub async fn start(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let backend = Self {
            address: listener.local_addr()?,
            seen: Arc::default(),
        };
        let serving = backend.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serving.clone().serve(stream));
            }
        });
        Ok(backend)
    }

    /// What was received so far, in order.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn serve(self, stream: TcpStream) {
        let service = service_fn(|request: Request<Incoming>| self.answer(request));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .serve_connection(TokioIo::new(stream), service);
        // A connection that breaks shows in the verdict of the request that was on it.
        drop(connection.await);
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let (head, body) = request.into_parts();
        // A request whose body breaks off has reached the backend all the same.
        let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let headers = head.headers;
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Seen { headers, body });
        let mut response = Response::new(Full::from(r#"{"received":true}"#));
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(response)
    }
}
