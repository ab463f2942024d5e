//! The admin server: few connections, one request each, every one with a deadline.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use super::{State, pages};

/// Connections at once: probes and a scraper. Further ones wait to be accepted.
const CONNECTIONS: usize = 32;

/// From the first byte of a head to its last.
const HEAD: Duration = Duration::from_secs(5);

/// A whole connection, so that a client that does not read cannot keep its place.
const CONNECTION: Duration = Duration::from_secs(15);

/// After a failed accept (no file descriptor left), so that the loop does not spin.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves the admin pages until `shutdown` completes. Keep it up while the gate drains: `/readyz` says so.
pub async fn serve(listener: TcpListener, state: State, shutdown: impl Future<Output = ()>) {
    let router = pages::router(state);
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => return,
            accepted = accept(&listener, &places) => accepted,
        };
        match accepted {
            Ok((stream, place)) => {
                tokio::spawn(connection(stream, router.clone(), place));
            }
            Err(_no_descriptor) => sleep(PAUSE).await,
        }
    }
}

async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _peer) = listener.accept().await?;
    Ok((stream, place))
}

/// One request, one answer. What becomes of the connection is the client's concern: nothing hangs on it.
async fn connection(stream: TcpStream, router: axum::Router, _place: OwnedSemaphorePermit) {
    let service = TowerToHyperService::new(router);
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    let _outcome = timeout(CONNECTION, served).await;
}
