//! What one connection knows of its requests, shared between the socket below HTTP and the service above it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use arc_swap::ArcSwapOption;
use http::HeaderMap;

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
    /// Periods that passed.
    periods: AtomicUsize,
    /// Answers that wait for the client since an even period, and since an odd one.
    waiting: [AtomicUsize; 2],
}

impl Pulse {
    /// A request begins; it is open until the returned value is dropped.
    pub fn begin(self: &Arc<Self>) -> Open {
        self.open.fetch_add(1, Ordering::AcqRel);
        self.begun.fetch_add(1, Ordering::AcqRel);
        self.owed.store(true, Ordering::Release);
        self.head_began.store(false, Ordering::Release);
        Open {
            pulse: Arc::clone(self),
            since: None,
        }
    }

    /// A period ends. Tells whether an answer waited for the client all through it, as with HTTP/2 a client that opens
    /// no window can let one wait without the socket being full.
    pub fn period_ends(&self) -> bool {
        let ended = self.periods.fetch_add(1, Ordering::AcqRel);
        self.waiting_since(ended.wrapping_add(1)).load(Ordering::Acquire) > 0
    }

    /// The answers that began to wait in this period or in one an even number of periods away.
    const fn waiting_since(&self, period: usize) -> &AtomicUsize {
        let [even, odd] = &self.waiting;
        if period.is_multiple_of(2) { even } else { odd }
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
pub struct Open {
    pulse: Arc<Pulse>,
    /// The period in which its answer began to wait for the client.
    since: Option<usize>,
}

impl Open {
    /// The answer has bytes that the client has to take.
    pub fn waits_for_client(&mut self) {
        self.moves_on();
        let period = self.pulse.periods.load(Ordering::Acquire);
        self.pulse.waiting_since(period).fetch_add(1, Ordering::AcqRel);
        self.since = Some(period);
    }

    /// The client took what there was.
    pub fn moves_on(&mut self) {
        if let Some(period) = self.since.take() {
            self.pulse.waiting_since(period).fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.moves_on();
        self.pulse.open.fetch_sub(1, Ordering::AcqRel);
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

    /// Whether the header fields that arrived are these, name by name. A head of which a part came ahead of its turn,
    /// and was not noted, has more of them.
    pub fn has_the_fields_of(&self, headers: &HeaderMap) -> bool {
        let name = |line: &[u8]| line.split(|byte| *byte == b':').next().map(<[u8]>::to_ascii_lowercase);
        let fields = self.lines().skip(1).take_while(|line| !line.is_empty());
        let mut arrived: Vec<Vec<u8>> = fields.filter_map(name).collect();
        let mut read: Vec<&[u8]> = headers.iter().map(|(name, _)| name.as_str().as_bytes()).collect();
        arrived.sort_unstable();
        read.sort_unstable();
        arrived == read
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
    use http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn a_raw_head_tells_its_target_fields_and_line_ends() {
        let table = [
            (
                "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n",
                Some("/a#b"),
                &["host"][..],
                true,
            ),
            ("GET /a HTTP/1.1\nHost: h\r\n\r\n", Some("/a"), &["host"], false),
            ("GET  /a HTTP/1.1\r\n\r\n", None, &[], true),
            (
                "GET /a HTTP/1.1\r\nB: b\rc\r\nA: c\r\n\r\n",
                Some("/a"),
                &["a", "b"],
                false,
            ),
        ];
        for (text, target, names, clean) in table {
            let head = RawHead::new(text.as_bytes().to_vec());
            let mut fields: HeaderMap = names
                .iter()
                .map(|name| (HeaderName::from_static(name), HeaderValue::from_static("x")))
                .collect();
            assert_eq!(head.target(), target.map(str::as_bytes));
            assert!(head.has_the_fields_of(&fields));
            fields.append("a", HeaderValue::from_static("x"));
            assert!(!head.has_the_fields_of(&fields));
            assert_eq!(head.has_clean_line_ends(), clean);
        }
    }

    #[test]
    fn an_answer_that_waits_all_through_a_period_is_told() {
        let pulse = Arc::new(Pulse::default());
        let (mut slow, mut stuck) = (pulse.begin(), pulse.begin());
        slow.waits_for_client();
        stuck.waits_for_client();
        assert!(!pulse.period_ends());
        stuck.moves_on();
        slow.waits_for_client();
        assert!(!pulse.period_ends());
        stuck.waits_for_client();
        assert!(pulse.period_ends());
        drop(slow);
        assert!(pulse.period_ends());
        drop(stuck);
        assert!(!pulse.period_ends() && !pulse.period_ends() && pulse.is_idle());
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
