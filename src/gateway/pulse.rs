//! What one connection knows of its requests, shared between the socket below HTTP and the service above it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use arc_swap::ArcSwapOption;

/// The state of one connection. Written by the socket and the service, which run in turn; never a lock.
#[derive(Debug, Default)]
pub struct Pulse {
    /// Requests whose answer is not sent to its end.
    open: AtomicUsize,
    /// Requests begun since the connection was accepted.
    begun: AtomicU64,
    /// Bytes of an answer may still be on their way to the socket.
    owed: AtomicBool,
    /// Some bytes of a head arrived and no request began yet.
    head_began: AtomicBool,
    /// The head that arrived last, HTTP/1.1 only.
    head: ArcSwapOption<RawHead>,
    /// The client may still be sending a body that nobody reads.
    unread: AtomicBool,
}

impl Pulse {
    /// A request begins; it is open until the returned value is dropped.
    pub fn begin(self: &Arc<Self>) -> Open {
        self.open.fetch_add(1, Ordering::AcqRel);
        self.begun.fetch_add(1, Ordering::AcqRel);
        self.owed.store(true, Ordering::Release);
        self.head_began.store(false, Ordering::Release);
        Open(Arc::clone(self))
    }

    /// How many requests have begun.
    pub fn begun(&self) -> u64 {
        self.begun.load(Ordering::Acquire)
    }

    /// Whether no request is open.
    pub fn is_idle(&self) -> bool {
        self.open.load(Ordering::Acquire) == 0
    }

    /// Whether no request is open and every byte of every answer was sent.
    pub fn is_quiet(&self) -> bool {
        self.is_idle() && !self.owed.load(Ordering::Acquire)
    }

    /// Whether it is quiet and nothing of a next head arrived.
    pub fn is_silent(&self) -> bool {
        self.is_quiet() && !self.head_began.load(Ordering::Acquire)
    }

    /// Everything written so far reached the socket. Tells whether the connection fell quiet by that.
    pub fn flushed(&self) -> bool {
        self.is_idle() && self.owed.swap(false, Ordering::AcqRel)
    }

    /// The first byte of a head arrived.
    pub fn head_begins(&self) {
        self.head_began.store(true, Ordering::Release);
    }

    /// A whole head arrived.
    pub fn put_head(&self, head: RawHead) {
        self.head.store(Some(Arc::new(head)));
    }

    /// Takes the head that arrived last.
    pub fn take_head(&self) -> Option<RawHead> {
        self.head.swap(None).and_then(Arc::into_inner)
    }

    /// The client may still be sending a body that nobody reads.
    pub fn leave_unread(&self) {
        self.unread.store(true, Ordering::Release);
    }

    /// Whether a body was left unread.
    pub fn is_unread(&self) -> bool {
        self.unread.load(Ordering::Acquire)
    }
}

/// One open request of a connection.
#[derive(Debug)]
pub struct Open(Arc<Pulse>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The head of an HTTP/1.1 request as it arrived, blank line included. hyper drops a `Content-Length` beside a
/// `Transfer-Encoding`, takes a bare LF for a line end and cuts fragments off, so intake compares with this.
#[derive(Clone, Debug)]
pub struct RawHead(Vec<u8>);

impl RawHead {
    /// A head from its first byte to the end of its blank line.
    pub const fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The request target between the two blanks of the request line.
    pub fn target(&self) -> Option<&[u8]> {
        let line = self.lines().next()?;
        let mut words = line.split(|byte| *byte == b' ');
        let (_, target, _) = (words.next()?, words.next()?, words.next()?);
        words.next().is_none().then_some(target)
    }

    /// How many header fields arrived.
    pub fn fields(&self) -> usize {
        self.lines().skip(1).take_while(|line| !line.is_empty()).count()
    }

    /// Whether every line ends in CR LF, and CR stands nowhere else.
    pub fn has_clean_line_ends(&self) -> bool {
        let mut before = 0;
        self.0.iter().all(|byte| {
            let clean = (before == b'\r') == (*byte == b'\n');
            before = *byte;
            clean
        })
    }

    fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.0
            .split(|byte| *byte == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raw_head_tells_its_target_fields_and_line_ends() {
        let table = [
            ("GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n", Some("/a#b"), 1, true),
            ("GET /a HTTP/1.1\nHost: h\r\n\r\n", Some("/a"), 1, false),
            ("GET  /a HTTP/1.1\r\n\r\n", None, 0, true),
            ("GET /a HTTP/1.1\r\nA: b\rc\r\nB: c\r\n\r\n", Some("/a"), 2, false),
        ];
        for (text, target, fields, clean) in table {
            let head = RawHead::new(text.as_bytes().to_vec());
            assert_eq!(head.target(), target.map(str::as_bytes));
            assert_eq!(head.fields(), fields);
            assert_eq!(head.has_clean_line_ends(), clean);
        }
    }

    #[test]
    fn a_connection_is_quiet_once_the_answer_is_flushed() {
        let pulse = Arc::new(Pulse::default());
        assert!(pulse.is_silent());
        let open = pulse.begin();
        assert!(!pulse.flushed());
        drop(open);
        assert!(!pulse.is_quiet());
        assert!(pulse.flushed());
        assert!(pulse.is_silent());
    }
}
