//! The socket below HTTP: plain or TLS, with the deadlines of a connection and a look at each HTTP/1.1 head.
//!
//! hyper's own header timer counts a keep-alive connection's idle time as part of the next head, answers bad heads
//! without a body of ours, and hides parts of a head. So the timers stand here, an answer that hyper makes itself is
//! kept back, and the head is noted as it arrived.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep, timeout};
use tokio_rustls::server::TlsStream;

use super::pulse::{Pulse, RawHead};

/// A client's socket.
#[derive(Debug)]
pub enum Socket {
    /// Without TLS.
    Plain(TcpStream),
    /// With TLS.
    Tls(Box<TlsStream<TcpStream>>),
}

/// What the socket waits for, and which deadline that has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// The story of a request, which has its own deadlines.
    Story,
    /// The first byte of a head.
    Idle,
    /// The rest of a head.
    Head,
    /// A client that takes no more bytes.
    Write,
}

/// Deadlines of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Without a request.
    pub idle: Duration,
    /// From the first byte of a head to its last.
    pub head: Duration,
}

/// One connection's socket under HTTP.
#[derive(Debug)]
pub struct Wire {
    socket: Socket,
    /// Read before it was known which HTTP this is.
    ahead: BytesMut,
    pulse: Arc<Pulse>,
    patience: Patience,
    timer: Pin<Box<Sleep>>,
    waiting: Waiting,
    expired: Option<Waiting>,
    /// HTTP/1.1: heads are noted, hyper's own answers kept back.
    watches: bool,
    head: Vec<u8>,
    head_is_whole: bool,
    head_max: usize,
    kept_back: Option<u16>,
}

impl Wire {
    /// A wire for HTTP/1.1 (`watches`) or HTTP/2 over a socket of which `ahead` was read.
    pub fn new(
        socket: Socket,
        ahead: BytesMut,
        pulse: Arc<Pulse>,
        patience: Patience,
        watches: bool,
        head_max: usize,
    ) -> Self {
        let waiting = if watches { Waiting::Idle } else { Waiting::Story };
        Self {
            socket,
            ahead,
            pulse,
            timer: Box::pin(sleep(patience.idle)),
            patience,
            waiting,
            expired: None,
            watches,
            head: Vec::new(),
            head_is_whole: false,
            head_max,
            kept_back: None,
        }
    }

    /// The deadline that ended this connection.
    pub const fn expired(&self) -> Option<Waiting> {
        self.expired
    }

    /// The status of the answer that hyper made by itself and that was not sent.
    pub const fn kept_back(&self) -> Option<u16> {
        self.kept_back
    }

    /// Whether a head began to arrive and no request came of it.
    pub fn has_half_a_head(&self) -> bool {
        self.pulse.is_quiet() && !self.head.is_empty()
    }

    /// Ends the sending side, then reads on for a while so that the client can read the answer instead of a reset.
    pub async fn close(mut self, answer: Option<Vec<u8>>, drain: bool, drain_max: usize) {
        let patience = self.patience.head;
        let _gone = timeout(patience, async {
            if let Some(answer) = answer {
                self.socket.write_all(&answer).await?;
            }
            self.socket.shutdown().await?;
            let mut scratch = vec![0; if drain { 8 * 1024 } else { 0 }];
            let mut drained = 0_usize;
            while drain && drained < drain_max {
                match self.socket.read(&mut scratch).await? {
                    0 => break,
                    read => drained = drained.saturating_add(read),
                }
            }
            io::Result::Ok(())
        })
        .await;
    }

    fn wait_for(&mut self, waiting: Waiting) {
        let patience = match waiting {
            Waiting::Idle | Waiting::Write => self.patience.idle,
            Waiting::Head => self.patience.head,
            Waiting::Story => {
                self.waiting = waiting;
                return;
            }
        };
        self.waiting = waiting;
        self.timer.set(sleep(patience));
    }

    /// Ready with an error once the deadline of what is waited for has passed.
    fn poll_deadline(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        match self.waiting {
            Waiting::Story => Poll::Pending,
            Waiting::Idle | Waiting::Head | Waiting::Write => {
                ready!(self.timer.as_mut().poll(context));
                self.expired = Some(self.waiting);
                Poll::Ready(io::Error::from(io::ErrorKind::TimedOut))
            }
        }
    }

    /// Notes what arrived of a head. Bytes that arrive while a request is open are a body, or a request ahead of its
    /// turn, of which the head is then not noted.
    fn note(&mut self, arrived: &[u8]) {
        if !self.watches || self.head_is_whole || !self.pulse.is_quiet() {
            return;
        }
        for byte in arrived {
            // Blank lines before a request line are skipped, as RFC 9112 §2.2 allows.
            if self.head.is_empty() && matches!(byte, b'\r' | b'\n') {
                continue;
            }
            if self.head.is_empty() {
                self.pulse.head_begins();
                self.wait_for(Waiting::Head);
            }
            if self.head.len() > self.head_max {
                return;
            }
            self.head.push(*byte);
            if self.head.ends_with(b"\n\r\n") || self.head.ends_with(b"\n\n") {
                self.head_is_whole = true;
                self.pulse.put_head(RawHead::new(std::mem::take(&mut self.head)));
                return;
            }
        }
    }

    /// Whether bytes are hyper's own answer to a head that it could not read: no request is open, none is owed.
    fn keeps_back(&mut self, bytes: &[u8]) -> bool {
        let own = self.watches && self.pulse.is_quiet() && !bytes.is_empty();
        if own && self.kept_back.is_none() {
            let status = bytes.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok());
            self.kept_back = Some(status.and_then(|digits| digits.parse().ok()).unwrap_or(0));
        }
        own
    }

    fn wrote(&mut self, context: &mut Context<'_>, poll: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match poll {
            Poll::Ready(written) => {
                if self.waiting == Waiting::Write {
                    self.wait_for(Waiting::Story);
                }
                Poll::Ready(written)
            }
            Poll::Pending => {
                if self.waiting != Waiting::Write {
                    self.wait_for(Waiting::Write);
                }
                self.poll_deadline(context).map(Err)
            }
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        if this.ahead.is_empty() {
            match Pin::new(&mut this.socket).poll_read(context, buffer) {
                Poll::Ready(read) => read?,
                Poll::Pending if this.pulse.is_quiet() => return this.poll_deadline(context).map(Err),
                Poll::Pending => return Poll::Pending,
            }
        } else {
            let length = this.ahead.len().min(buffer.remaining());
            let ahead = this.ahead.split_to(length);
            buffer.put_slice(ahead.chunk());
        }
        let arrived = buffer.filled().get(before..).unwrap_or_default();
        this.note(arrived);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        if this.keeps_back(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        let poll = Pin::new(&mut this.socket).poll_write(context, bytes);
        this.wrote(context, poll)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let first = slices
            .iter()
            .find(|slice| !slice.is_empty())
            .map_or(&[][..], |slice| slice);
        if this.keeps_back(first) {
            return Poll::Ready(Ok(slices.iter().fold(0, |sum, slice| sum.saturating_add(slice.len()))));
        }
        let poll = Pin::new(&mut this.socket).poll_write_vectored(context, slices);
        this.wrote(context, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        ready!(Pin::new(&mut this.socket).poll_flush(context))?;
        if this.pulse.flushed() && this.watches {
            this.head.clear();
            this.head_is_whole = false;
            this.wait_for(Waiting::Idle);
            // Nobody may read before a byte arrives, so the timer has to know whom to wake.
            if this.timer.as_mut().poll(context).is_ready() {
                context.waker().wake_by_ref();
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(context, slices),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
