//! Bodies: a request's read whole within its bounds, an answer's sent whole or streamed.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::Seat;
use super::intake::{names_what_was_judged, too_large};
use super::pulse::Open;
use crate::contract::{Finding, Rule};

/// Reads a request body of at most `limit` bytes within `deadline`; trailers are dropped. One frame is taken as it is,
/// several are put into one buffer.
///
/// # Errors
/// `json.size`, `http.timeout`, or `http.framing` for a malformed body; or the client left before its end.
pub async fn read(body: Incoming, limit: usize, deadline: Duration) -> Result<Bytes, Unread> {
    match tokio::time::timeout(deadline, read_frames(body, limit)).await {
        Ok(read) => read,
        Err(_) => Err(Unread::Refused(Finding::new(
            Rule::HttpTimeout,
            format!("expected the whole body within {} ms", deadline.as_millis()),
        ))),
    }
}

/// Why a body was not read to its end.
#[derive(Debug)]
pub enum Unread {
    /// It breaks a rule.
    Refused(Finding),
    /// The client left, so that nobody waits for an answer.
    Left,
}

/// Whether the client left, told from a body that is malformed.
fn left(error: &hyper::Error) -> bool {
    let mut source = std::error::Error::source(error);
    let mut kind = None;
    while let Some(cause) = source {
        kind = kind.or_else(|| cause.downcast_ref::<io::Error>().map(io::Error::kind));
        source = cause.source();
    }
    match kind {
        Some(kind) => [
            io::ErrorKind::UnexpectedEof,
            io::ErrorKind::ConnectionReset,
            io::ErrorKind::ConnectionAborted,
            io::ErrorKind::BrokenPipe,
        ]
        .contains(&kind),
        // Without an error of the socket or the chunked coding, HTTP/2 reset the stream or the connection ended.
        None => true,
    }
}

async fn read_frames(mut body: Incoming, limit: usize) -> Result<Bytes, Unread> {
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = match frame {
            Ok(frame) => frame,
            Err(error) if left(&error) => return Err(Unread::Left),
            Err(_) => return Err(malformed("expected a well-formed body")),
        };
        let data = match frame.into_data() {
            Ok(data) => data,
            Err(frame) => {
                if frame.trailers_ref().is_some_and(names_what_was_judged) {
                    return Err(malformed("expected no field after the body that was judged before it"));
                }
                continue;
            }
        };
        let so_far = first.len().max(all.len());
        if so_far.saturating_add(data.len()) > limit {
            return Err(Unread::Refused(too_large(limit)));
        }
        if so_far == 0 {
            first = data;
        } else {
            if all.is_empty() {
                let rest = body.size_hint().exact().and_then(|rest| usize::try_from(rest).ok());
                let whole = so_far.saturating_add(data.len()).saturating_add(rest.unwrap_or(so_far));
                all.reserve(whole.min(limit));
                all.extend_from_slice(&first);
            }
            all.extend_from_slice(&data);
        }
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}

fn malformed(detail: &'static str) -> Unread {
    Unread::Refused(Finding::new(Rule::HttpFraming, detail))
}

/// The body of an answer, and what is held until its last byte is handed over.
#[derive(Debug)]
pub struct AnswerBody {
    kind: Kind,
    /// Held by a stream only: a buffered answer needs nothing of the gate any more.
    _seat: Option<Seat>,
    open: Option<Open>,
}

#[derive(Debug)]
enum Kind {
    Whole(Bytes),
    Stream(Incoming),
}

impl AnswerBody {
    /// A body in memory.
    pub const fn whole(bytes: Bytes) -> Self {
        Self {
            kind: Kind::Whole(bytes),
            _seat: None,
            open: None,
        }
    }

    /// The backend's body, passed on as it comes; dropping it ends the backend's request.
    pub(super) const fn stream(body: Incoming, seat: Seat) -> Self {
        Self {
            kind: Kind::Stream(body),
            _seat: Some(seat),
            open: None,
        }
    }

    /// The body, when it is in memory.
    pub const fn bytes(&self) -> Option<&Bytes> {
        match &self.kind {
            Kind::Whole(bytes) => Some(bytes),
            Kind::Stream(_) => None,
        }
    }

    /// The same body, keeping its connection's request open until it is sent.
    #[must_use]
    pub fn holding(mut self, mut open: Open) -> Self {
        open.waits_for_client();
        self.open = Some(open);
        self
    }

    fn poll_kind(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.kind {
            Kind::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Kind::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Kind::Stream(body) => match Pin::new(body).poll_frame(context) {
                // Trailers end the stream: they could name fields that only the gateway may set.
                Poll::Ready(Some(Ok(frame))) => Poll::Ready(frame.is_data().then_some(Ok(frame))),
                Poll::Ready(ended) => Poll::Ready(ended),
                Poll::Pending => Poll::Pending,
            },
        }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        // HTTP asks for more only once the client has taken what it got before.
        let polled = self.poll_kind(context);
        if let Some(open) = &mut self.open {
            match polled {
                Poll::Ready(_) => open.waits_for_client(),
                Poll::Pending => open.moves_on(),
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Whole(bytes) => bytes.is_empty(),
            Kind::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Whole(bytes) => SizeHint::with_exact(u64::try_from(bytes.len()).unwrap_or(u64::MAX)),
            Kind::Stream(body) => body.size_hint(),
        }
    }
}
