//! A backend that keeps what it was sent, so that the demo can show what came through.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

/// A running backend on a loopback port of its own. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Backend {
    /// Where it listens.
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Bytes>>>,
}

impl Backend {
    /// Starts one; it runs until the runtime ends.
    ///
    /// # Errors
    /// No loopback port could be had.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await?;
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

    /// The bodies received so far.
    pub fn seen(&self) -> Vec<Bytes> {
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
        if let Ok(body) = request.into_body().collect().await {
            self.seen
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(body.to_bytes());
        }
        let mut response = Response::new(Full::from(r#"{"received":true}"#));
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(response)
    }
}
