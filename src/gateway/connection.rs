//! One connection: TLS, which HTTP it speaks, its requests, its end (contract §14, §17).

use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::Gate;
use super::body::AnswerBody;
use super::handle::{abandon, handle, refuse_head};
use super::pulse::Pulse;
use super::wire::{Patience, Socket, Waiting, Wire};
use crate::contract::Rule;
use crate::policy::Limits;
use crate::trust::peer::Peer;

/// What an HTTP/2 client that knows no better sends first (RFC 9113 §3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Requests at once on one HTTP/2 connection.
const STREAMS: u32 = 128;

/// Streams that a client may open and reset, unanswered, before its connection is closed (rapid reset).
const RESETS: usize = 20;

/// Bytes read and thrown away after a refusal, so that the client can read it.
const DRAIN: usize = 4 * 1024 * 1024;

/// The smallest read buffer that hyper takes.
const BUFFER_MIN: usize = 8 * 1024;

type Answered = Pin<Box<dyn Future<Output = Result<Response<AnswerBody>, Left>> + Send>>;

/// The client left, so HTTP closes its connection or stream without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the client left")]
struct Left;

/// Whose requests are answered.
#[derive(Clone)]
struct Served {
    gate: Arc<Gate>,
    peer: IpAddr,
    /// What the client presented in its handshake.
    certificate: Option<Arc<Peer>>,
}

/// Serves one connection of this peer to its end. `stop` turns true when the gate drains.
pub async fn serve(
    gate: Arc<Gate>,
    stream: TcpStream,
    peer: IpAddr,
    tls: Option<TlsAcceptor>,
    stop: watch::Receiver<bool>,
) {
    let policy = gate.policy.current();
    let mut served = Served {
        gate,
        peer,
        certificate: None,
    };
    let patience = Patience {
        idle: policy.deadlines.idle,
        head: policy.deadlines.head,
    };
    let limits = &policy.limits;
    // Small answers are not held back for an acknowledgement; a socket that cannot do that is still a socket.
    let _slower = stream.set_nodelay(true);
    let (socket, is_h2) = match tls {
        None => (Socket::Plain(stream), false),
        Some(acceptor) => {
            let Ok(Ok(stream)) = timeout(patience.head, acceptor.accept(stream)).await else {
                return;
            };
            let session = stream.get_ref().1;
            let is_h2 = session.alpn_protocol() == Some(b"h2");
            served.certificate = session.peer_certificates().and_then(Peer::of).map(Arc::new);
            (Socket::Tls(Box::new(stream)), is_h2)
        }
    };
    if is_h2 {
        return serve_http2(&served, socket, BytesMut::new(), patience, limits, stop).await;
    }
    match sniff(socket, patience, stop.clone()).await {
        Sniffed::Http1(socket, ahead) => serve_http1(&served, socket, ahead, patience, limits, stop).await,
        Sniffed::Http2(socket, ahead) => serve_http2(&served, socket, ahead, patience, limits, stop).await,
        Sniffed::TooSlow(socket, ahead) => {
            let answer = refuse_head(
                &served.gate,
                served.peer,
                Rule::HttpTimeout,
                "expected a whole head in time",
            );
            let wire = Wire::new(socket, ahead, Arc::default(), patience, true, 0);
            wire.close(Some(raw(&answer)), true, DRAIN).await;
        }
        Sniffed::Nothing => {}
    }
}

enum Sniffed {
    Http1(Socket, BytesMut),
    Http2(Socket, BytesMut),
    TooSlow(Socket, BytesMut),
    Nothing,
}

/// Reads until it is known which HTTP this is. A TLS client that wanted HTTP/2 has said so before.
async fn sniff(mut socket: Socket, patience: Patience, mut stop: watch::Receiver<bool>) -> Sniffed {
    let mut ahead = BytesMut::with_capacity(1024);
    let first = tokio::select! {
        read = timeout(patience.idle, socket.read_buf(&mut ahead)) => read,
        _ = stop.wait_for(|stopping| *stopping) => return Sniffed::Nothing,
    };
    let Ok(Ok(1..)) = first else {
        return Sniffed::Nothing;
    };
    let may_be_h2 = matches!(socket, Socket::Plain(_));
    let rest = timeout(patience.head, async {
        while may_be_h2 && ahead.len() < PREFACE.len() && PREFACE.starts_with(&ahead) {
            if !matches!(socket.read_buf(&mut ahead).await, Ok(1..)) {
                break;
            }
        }
    });
    if rest.await.is_err() {
        return Sniffed::TooSlow(socket, ahead);
    }
    if may_be_h2 && ahead.starts_with(PREFACE) {
        Sniffed::Http2(socket, ahead)
    } else {
        Sniffed::Http1(socket, ahead)
    }
}

async fn serve_http1(
    served: &Served,
    socket: Socket,
    ahead: BytesMut,
    patience: Patience,
    limits: &Limits,
    mut stop: watch::Receiver<bool>,
) {
    let head_max = head_max(limits);
    let pulse = Arc::new(Pulse::default());
    let wire = Wire::new(socket, ahead, Arc::clone(&pulse), patience, true, head_max);
    let mut connection = http1::Builder::new()
        // The wire has the deadlines; hyper's own would count idle time as part of a head.
        .header_read_timeout(None)
        .timer(TokioTimer::new())
        .max_headers(limits.header_count)
        .max_header_size(head_max)
        .max_buf_size(head_max.max(BUFFER_MIN))
        .half_close(false)
        .serve_connection(TokioIo::new(wire), service(served, &pulse));
    let mut stopping = false;
    let ended = loop {
        tokio::select! {
            ended = poll_fn(|context| connection.poll_without_shutdown(context)) => break ended,
            _ = stop.wait_for(|stop| *stop), if !stopping => {
                if pulse.is_silent() {
                    break Ok(());
                }
                stopping = true;
                Pin::new(&mut connection).graceful_shutdown();
            }
        }
    };
    let wire = connection.into_parts().io.into_inner();
    let answer = ended.err().and_then(|error| unread_head(served, &wire, &error));
    let drain = answer.is_some() || pulse.is_unread();
    wire.close(answer.as_ref().map(raw), drain, DRAIN).await;
}

/// The record of a head that became no request, and its answer when the client still listens.
fn unread_head(served: &Served, wire: &Wire, error: &hyper::Error) -> Option<Response<Bytes>> {
    let refused = |rule, detail| refuse_head(&served.gate, served.peer, rule, detail);
    match (wire.kept_back(), wire.expired()) {
        (Some(414), _) => Some(refused(Rule::HttpTargetLength, "expected a shorter target")),
        (Some(431), _) => Some(refused(Rule::HttpHeaderSize, "expected fewer or shorter header fields")),
        (Some(_), _) => Some(refused(Rule::HttpFraming, "expected a head of RFC 9112 syntax")),
        (None, Some(Waiting::Head)) => Some(refused(Rule::HttpTimeout, "expected a whole head in time")),
        (None, Some(Waiting::Idle | Waiting::Write | Waiting::Story)) => None,
        (None, None) if error.is_parse() => {
            // The answer of a request before it was still on its way, so hyper's own went with it.
            let _sent = refused(Rule::HttpFraming, "expected a head of RFC 9112 syntax");
            None
        }
        (None, None) => {
            if wire.has_half_a_head() {
                abandon(&served.gate, served.peer);
            }
            None
        }
    }
}

async fn serve_http2(
    served: &Served,
    socket: Socket,
    ahead: BytesMut,
    patience: Patience,
    limits: &Limits,
    mut stop: watch::Receiver<bool>,
) {
    let pulse = Arc::new(Pulse::default());
    let wire = Wire::new(socket, ahead, Arc::clone(&pulse), patience, false, 0);
    // Larger than our own bound, so that a head somewhat over it still gets our answer and record.
    let list = u32::try_from(head_max(limits).saturating_mul(4)).unwrap_or(u32::MAX);
    let mut connection = pin!(
        http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(list)
            .max_pending_accept_reset_streams(RESETS)
            .max_local_error_reset_streams(RESETS)
            .keep_alive_interval(patience.idle)
            .keep_alive_timeout(patience.head)
            .serve_connection(TokioIo::new(wire), service(served, &pulse))
    );
    let mut idle = pin!(sleep(patience.idle));
    let mut begun = pulse.begun();
    let mut ending = false;
    loop {
        tokio::select! {
            _ = connection.as_mut() => return,
            _ = stop.wait_for(|stop| *stop), if !ending => {
                ending = true;
                idle.set(sleep(patience.head));
                connection.as_mut().graceful_shutdown();
            }
            () = idle.as_mut() => {
                // A client that takes nothing of an answer holds a connection, and perhaps a seat, from others.
                if pulse.period_ends() {
                    return;
                }
                let was_idle = pulse.is_idle() && pulse.begun() == begun;
                if was_idle && ending {
                    return;
                }
                if was_idle {
                    ending = true;
                    connection.as_mut().graceful_shutdown();
                }
                begun = pulse.begun();
                idle.set(sleep(if ending { patience.head } else { patience.idle }));
            }
        }
    }
}

/// The service of one connection: each request is open in the pulse until its answer is sent.
fn service(
    served: &Served,
    pulse: &Arc<Pulse>,
) -> impl Service<Request<Incoming>, Response = Response<AnswerBody>, Error = Left, Future = Answered> + Unpin + Send + use<>
{
    let (served, pulse) = (served.clone(), Arc::clone(pulse));
    service_fn(move |mut request: Request<Incoming>| -> Answered {
        let open = pulse.begin();
        if let Some(head) = pulse.take_head() {
            request.extensions_mut().insert(head);
        }
        if let Some(certificate) = &served.certificate {
            request.extensions_mut().insert(Arc::clone(certificate));
        }
        let (served, pulse) = (served.clone(), Arc::clone(&pulse));
        Box::pin(async move {
            let handled = handle(&served.gate, served.peer, request).await.ok_or(Left)?;
            if handled.unread {
                pulse.leave_unread();
            }
            Ok(handled.response.map(|body| body.holding(open)))
        })
    })
}

/// Bytes of a head within every bound: fields, their separators, the target, the rest of the request line.
fn head_max(limits: &Limits) -> usize {
    limits
        .header_bytes
        .saturating_add(limits.header_count.saturating_mul(4))
        .saturating_add(limits.target)
        .saturating_add(256)
}

/// An answer in HTTP/1.1, for a connection whose HTTP has given up.
fn raw(answer: &Response<Bytes>) -> Vec<u8> {
    let status = answer.status();
    let mut text = format!(
        "HTTP/1.1 {} {}\r\n",
        status.as_str(),
        status.canonical_reason().unwrap_or("")
    )
    .into_bytes();
    for (name, value) in answer.headers() {
        if name != http::header::CONNECTION && name != http::header::CONTENT_LENGTH {
            text.extend_from_slice(name.as_str().as_bytes());
            text.extend_from_slice(b": ");
            text.extend_from_slice(value.as_bytes());
            text.extend_from_slice(b"\r\n");
        }
    }
    text.extend_from_slice(format!("connection: close\r\ncontent-length: {}\r\n\r\n", answer.body().len()).as_bytes());
    text.extend_from_slice(answer.body());
    text
}
