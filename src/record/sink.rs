//! Where records go: standard output or memory. A reader that is stuck costs records, never the process.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde_json::{Map, Value};

use super::line;

/// How long a full pipe may keep the gateway waiting.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Not at all.
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// A pipe that has room takes this many bytes without a wait, and in one piece (POSIX `PIPE_BUF` on Linux).
const PIECE: usize = 4096;

/// Where records go. Cloning shares it.
///
/// A write happens in the thread that closes the entry, before the answer is sent. When nobody reads standard output
/// and its pipe is full, the gateway waits for a second, then counts the record as lost; as long as it is lost, further
/// writes do not wait.
#[derive(Clone, Debug)]
pub struct Sink(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    target: Target,
    /// Whether the last write succeeded.
    is_sound: AtomicBool,
    /// Whether the last write left half a line, so that the next one must begin a new line.
    is_torn: AtomicBool,
    lost: AtomicU64,
}

#[derive(Debug)]
enum Target {
    /// Written in turn: room that one thread saw is not taken by another.
    File(Mutex<File>),
    Memory(Mutex<Vec<String>>),
    /// Standard output is closed: every record is lost, and counted.
    Nowhere,
}

impl Sink {
    /// JSON lines on standard output, one `write` a line.
    pub fn stdout() -> Self {
        match std::io::stdout().as_fd().try_clone_to_owned() {
            Ok(descriptor) => Self::file(File::from(descriptor)),
            Err(_closed) => Self::on(Target::Nowhere),
        }
    }

    /// JSON lines on an open file, pipe or socket, one `write` a line.
    pub fn file(file: File) -> Self {
        Self::on(Target::File(Mutex::new(file)))
    }

    /// Lines kept in memory, for tests and the demo.
    pub fn memory() -> Self {
        Self::on(Target::Memory(Mutex::new(Vec::new())))
    }

    /// The lines kept so far by a memory sink; empty for any other.
    pub fn lines(&self) -> Vec<String> {
        match &self.0.target {
            Target::Memory(lines) => lines.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            Target::File(_) | Target::Nowhere => Vec::new(),
        }
    }

    /// Whether the last write succeeded; true before the first. With `ledger: required` new requests are refused
    /// (`state.unavailable`) while it is false; the record of such a refusal is the next attempt.
    pub fn is_sound(&self) -> bool {
        self.0.is_sound.load(Ordering::Acquire)
    }

    /// How many records could not be written.
    pub fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }

    /// Writes a record that is not a verdict, such as a policy reload: `{"kind": kind, "time": …, …fields}`.
    pub fn event(&self, kind: &str, time: Timestamp, fields: Map<String, Value>) {
        self.write(line::event(kind, time, fields));
    }

    /// Writes one line, its line feed included.
    pub(super) fn write(&self, line: Vec<u8>) {
        let written = match &self.0.target {
            Target::File(file) => {
                let file = file.lock().unwrap_or_else(PoisonError::into_inner);
                let written = self.write_to(&file, &line);
                // Told before the next thread's turn, so that only one waits.
                self.0.is_sound.store(written, Ordering::Release);
                written
            }
            Target::Memory(lines) => {
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                lines.lock().unwrap_or_else(PoisonError::into_inner).push(text);
                true
            }
            Target::Nowhere => false,
        };
        if !written {
            self.0.lost.fetch_add(1, Ordering::Relaxed);
        }
        self.0.is_sound.store(written, Ordering::Release);
    }

    fn on(target: Target) -> Self {
        let is_sound = !matches!(target, Target::Nowhere);
        Self(Arc::new(Shared {
            target,
            is_sound: AtomicBool::new(is_sound),
            is_torn: AtomicBool::new(false),
            lost: AtomicU64::new(0),
        }))
    }

    /// One `write` in the ordinary case; what a full disk or an interrupted call left out is tried again at once.
    fn write_to(&self, mut file: &File, line: &[u8]) -> bool {
        let patience = if self.is_sound() { PATIENCE } else { AT_ONCE };
        if self.0.is_torn.load(Ordering::Acquire) {
            if !has_room(file, &patience) || !matches!(file.write(b"\n"), Ok(1)) {
                return false;
            }
            self.0.is_torn.store(false, Ordering::Release);
        }
        let mut rest = line;
        while !rest.is_empty() && has_room(file, &patience) {
            match file.write(rest.get(..PIECE).unwrap_or(rest)) {
                Ok(0) => break,
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_lost) => break,
            }
        }
        if !rest.is_empty() && rest.len() < line.len() {
            self.0.is_torn.store(true, Ordering::Release);
        }
        rest.is_empty()
    }
}

/// Whether a piece can be written, or an error be learnt, without a wait.
fn has_room(file: &File, patience: &Timespec) -> bool {
    loop {
        match poll(&mut [PollFd::new(file, PollFlags::OUT)], Some(patience)) {
            Ok(ready) => return ready > 0,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    fn probe(sink: &Sink) {
        sink.event("probe", Timestamp::UNIX_EPOCH, Map::new());
    }

    #[test]
    fn a_full_device_is_counted_and_not_sound() {
        let sink = Sink::file(File::options().write(true).open("/dev/full").unwrap());
        assert!(sink.is_sound());
        probe(&sink);
        probe(&sink);
        assert!(!sink.is_sound());
        assert_eq!(sink.lost(), 2);
    }

    #[test]
    fn a_pipe_that_nobody_reads_does_not_hold_the_gateway() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let sink = Sink::file(File::from(OwnedFd::from(writer)));
        while sink.is_sound() {
            probe(&sink);
        }
        probe(&sink);
        assert_eq!(sink.lost(), 2);
        let mut some = vec![0; 8 * PIECE];
        reader.read_exact(&mut some).unwrap();
        probe(&sink);
        assert!(sink.is_sound());
    }

    #[test]
    fn a_sink_that_recovers_is_sound_again_and_begins_a_new_line() {
        let (writer, mut reader) = UnixStream::pair().unwrap();
        writer.set_nonblocking(true).unwrap();
        reader.set_nonblocking(true).unwrap();
        let sink = Sink::file(File::from(OwnedFd::from(writer)));
        let mut sent = 0;
        while sink.is_sound() {
            let field = Value::from("x".repeat(50_000));
            sink.event(
                "probe",
                Timestamp::UNIX_EPOCH,
                Map::from_iter([("x".to_owned(), field)]),
            );
            sent += 1;
        }
        assert_eq!(sink.lost(), 1);
        let mut text = Vec::new();
        reader.read_to_end(&mut text).unwrap_err();
        probe(&sink);
        assert!(sink.is_sound());
        reader.read_to_end(&mut text).unwrap_err();
        let text = String::from_utf8(text).unwrap();
        let last = text.lines().last().unwrap();
        assert_eq!(last, r#"{"kind":"probe","time":"1970-01-01T00:00:00.000000Z"}"#);
        let whole = text
            .lines()
            .filter(|line| serde_json::from_str::<Value>(line).is_ok())
            .count();
        assert_eq!(whole, sent, "all but the torn one, and the last");
    }

    #[test]
    fn a_field_cannot_stand_in_for_kind_or_time() {
        let sink = Sink::memory();
        let fields = Map::from_iter([
            ("kind".to_owned(), Value::from("verdict")),
            ("a".to_owned(), Value::from(1)),
        ]);
        sink.event("reload", Timestamp::UNIX_EPOCH, fields);
        assert_eq!(
            sink.lines(),
            [r#"{"kind":"reload","time":"1970-01-01T00:00:00.000000Z","a":1}"#]
        );
    }
}
