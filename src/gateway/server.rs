//! The gate's listener: accepts connections within their limit, and drains within its bound.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::{Gate, connection};

/// After a failed accept, such as with too few file descriptors, the listener rests this long.
const REST: Duration = Duration::from_millis(50);

/// Accepts until `stop` turns true, then waits for the requests in progress, at most `deadlines.drain`. What is still
/// open then, an endless stream for example, is cut off.
pub async fn serve(gate: Arc<Gate>, listener: TcpListener, tls: Option<TlsAcceptor>, mut stop: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    while let Some(accepted) = next(&gate, &listener, &mut connections, &mut stop).await {
        let Ok((stream, peer)) = accepted else {
            sleep(REST).await;
            continue;
        };
        let (gate, tls, stop) = (Arc::clone(&gate), tls.clone(), stop.clone());
        connections.spawn(async move {
            let _counted = Counted::new(&gate);
            connection::serve(Arc::clone(&gate), stream, peer, tls, stop).await;
        });
    }
    drop(listener);
    let drain = gate.policy.current().deadlines.drain;
    let _cut = timeout(drain, async { while connections.join_next().await.is_some() {} }).await;
    connections.shutdown().await;
}

/// The next connection and who made it; `None` once the gate stops. Waits while the limit is reached, and buries those that ended.
async fn next(
    gate: &Gate,
    listener: &TcpListener,
    connections: &mut JoinSet<()>,
    stop: &mut watch::Receiver<bool>,
) -> Option<io::Result<(TcpStream, IpAddr)>> {
    loop {
        let has_room = connections.len() < gate.policy.current().limits.connections;
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => return None,
            _ = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept(), if has_room => {
                return Some(accepted.map(|(stream, peer)| (stream, peer.ip().to_canonical())));
            }
        }
    }
}

/// One open connection in the metrics.
struct Counted(Arc<Gate>);

impl Counted {
    fn new(gate: &Arc<Gate>) -> Self {
        gate.metrics.connections(1);
        Self(Arc::clone(gate))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.metrics.connections(-1);
    }
}
