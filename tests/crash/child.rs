//! The child that is killed, the lines it tells, and what has to be so after them.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{self, ChildStdout, Command, Stdio};

use bytes::Bytes;
use portcullis::state::embedded::Embedded;
use portcullis::state::store::{Committed, Count, Entry, Expect, Key, Millis, Space, Store, Txn};

/// A step in the life of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Message id and key, running.
    Admit,
    /// The answer is stored, or the request was not sent and everything is taken back: every third one.
    Settle,
}

impl Step {
    const ALL: [Self; 2] = [Self::Admit, Self::Settle];

    const fn name(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::Settle => "settle",
        }
    }
}

/// `begin`, `done` or `refused`; which message; which step.
pub type Line = (String, u64, String);

/// The real time.
pub fn now() -> Millis {
    u64::try_from(portcullis::clock::Clock::system().now().as_millisecond()).unwrap()
}

/// When everything of these tests ends.
const fn end(now: Millis) -> Millis {
    now + 600_000
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

fn keys(number: u64) -> (Key, Key) {
    let id = number.to_be_bytes();
    (Key::of(Space::Replay, &[&id]), Key::of(Space::Idempotency, &[&id]))
}

fn running(number: u64) -> Bytes {
    Bytes::from(format!("running {number}"))
}

fn answer(number: u64) -> Bytes {
    Bytes::from(format!("answer {number} ").repeat(20))
}

const fn is_taken_back(number: u64) -> bool {
    number % 3 == 2
}

/// The commit of a step.
pub fn life(now: Millis, number: u64, step: Step) -> Txn {
    let (id, key) = keys(number);
    let until = end(now);
    let put = |key, value| Entry { key, value, until };
    let count = |add| Count {
        key: Key::of(Space::Count, &[b"all"]),
        add,
        until: u64::MAX,
        max: u64::MAX,
    };
    match step {
        Step::Admit => Txn {
            now,
            expect: vec![Expect::Absent(key), Expect::Absent(id)],
            count: vec![count(1)],
            put: vec![put(id, Bytes::new()), put(key, running(number))],
            ..Txn::default()
        },
        Step::Settle if is_taken_back(number) => Txn {
            now,
            expect: vec![Expect::Equals(key, running(number))],
            count: vec![count(-1)],
            delete: vec![id, key],
            ..Txn::default()
        },
        Step::Settle => Txn {
            now,
            expect: vec![Expect::Equals(key, running(number))],
            put: vec![put(key, answer(number))],
            ..Txn::default()
        },
    }
}

/// What the child does: lives from `CRASH_FROM` on, each step told before and after.
pub fn main() {
    let path = std::env::var("CRASH_PLACE").unwrap();
    let from: u64 = std::env::var("CRASH_FROM").unwrap().parse().unwrap();
    let how = std::env::var("CRASH_HOW").unwrap();
    let store = crate::open(Path::new(&path)).unwrap();
    let (tasks, lives) = match how.as_str() {
        "storm" => (16, 100_000),
        "few" => (1, 6),
        "full" => (1, 60),
        _ => (1, 100_000),
    };
    runtime().block_on(async {
        let store = &*Box::leak(Box::new(store));
        let tasks: Vec<_> = (0..tasks)
            .map(|task| {
                tokio::spawn(async move {
                    for number in (0..lives).map(|life| from + task + life * tasks) {
                        for step in Step::ALL {
                            tell("begin", number, step);
                            match store.commit(life(now(), number, step)).await {
                                Ok(Committed::Done) => tell("done", number, step),
                                Ok(_) | Err(_) => tell("refused", number, step),
                            }
                        }
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

fn tell(word: &str, number: u64, step: Step) {
    let mut out = std::io::stdout().lock();
    // A parent that is gone reads nothing any more.
    let _ = writeln!(out, "{word} {number} {}", step.name());
    let _ = out.flush();
}

/// Every line so far holds; gives the first number that was never begun.
pub fn check(store: &Embedded, told: &[Line]) -> u64 {
    let runtime = runtime();
    let now = now();
    let get = |key| runtime.block_on(store.get(key, now)).unwrap().map(|entry| entry.value);
    let next = told.iter().map(|(_, number, _)| number + 1).max().unwrap_or(0);
    let mut admitted = 0;
    for number in 0..next {
        let was = |word: &str, step: Step| {
            told.iter()
                .any(|line| *line == (word.to_owned(), number, step.name().to_owned()))
        };
        let (id, key) = keys(number);
        let found = (get(id).is_some(), get(key));
        let nothing = (false, None);
        let begun = (true, Some(running(number)));
        let settled = if is_taken_back(number) {
            nothing.clone()
        } else {
            (true, Some(answer(number)))
        };
        admitted += u64::from(found.0);
        let allowed = if was("done", Step::Settle) {
            vec![settled]
        } else if was("begin", Step::Settle) && was("done", Step::Admit) {
            vec![begun, settled]
        } else if was("done", Step::Admit) {
            vec![begun]
        } else {
            vec![nothing, begun]
        };
        assert!(
            allowed.contains(&found),
            "message {number}: {found:?} and not {allowed:?}"
        );
    }
    // The count is that of the entries: exactly this bound lets one more through.
    let one_more = |max| {
        let mut txn = life(now, u64::MAX, Step::Admit);
        txn.put.clear();
        txn.count[0].max = max;
        txn.count.push(Count {
            max: 0,
            key: Key::of(Space::Count, &[b"never"]),
            ..txn.count[0]
        });
        runtime.block_on(store.commit(txn)).unwrap()
    };
    assert_eq!(one_more(admitted), Committed::Full { index: 0 });
    assert_eq!(one_more(admitted + 1), Committed::Full { index: 1 });
    next
}

/// A child that runs.
pub struct Child {
    process: process::Child,
    lines: BufReader<ChildStdout>,
}

impl Child {
    pub fn start(place: &Path, from: u64, how: &str) -> Self {
        Self::spawn(Command::new(std::env::current_exe().unwrap()), place, from, how)
    }

    /// Under `strace`, which writes to `trace`; ends by itself.
    pub fn traced(place: &Path, trace: &Path) -> Self {
        let mut command = Command::new("strace");
        command
            .args(["-f", "-s", "40", "-e", "trace=write,fsync,fdatasync", "-o"])
            .arg(trace);
        command.arg(std::env::current_exe().unwrap());
        Self::spawn(command, place, 0, "few")
    }

    /// No file may grow beyond so many KiB; ends by itself.
    pub fn limited(place: &Path, kib: usize) -> Self {
        let mut command = Command::new("sh");
        // Blocks of `ulimit -f` are 512 bytes in sh.
        let script = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"", kib * 2);
        command.args(["-c", &script]).arg(std::env::current_exe().unwrap());
        Self::spawn(command, place, 0, "full")
    }

    fn spawn(mut command: Command, place: &Path, from: u64, how: &str) -> Self {
        let mut process = command
            .args(["--exact", "child", "--ignored", "--nocapture", "--test-threads=1"])
            .env("CRASH_PLACE", place)
            .env("CRASH_FROM", from.to_string())
            .env("CRASH_HOW", how)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap());
        Self { process, lines }
    }

    fn line(&mut self) -> Option<Line> {
        loop {
            let mut text = String::new();
            if self.lines.read_line(&mut text).unwrap() == 0 {
                return None;
            }
            // The harness prints `test child ... ` before the first line, on the same line.
            let from = ["begin ", "done ", "refused "].iter().find_map(|word| text.find(word));
            // A line that was cut off by the end of the child was not told.
            let (Some(from), true) = (from, text.ends_with('\n')) else {
                continue;
            };
            let mut words = text[from..].split_whitespace();
            let line = (
                words.next()?.to_owned(),
                words.next()?.parse().unwrap(),
                words.next()?.to_owned(),
            );
            return Some(line);
        }
    }

    /// So many lines.
    pub fn read(&mut self, lines: usize) -> Vec<Line> {
        (0..lines)
            .map(|_| self.line().expect("the child ended early"))
            .collect()
    }

    /// All that is left.
    pub fn rest(&mut self) -> Vec<Line> {
        std::iter::from_fn(|| self.line()).collect()
    }

    /// `kill -9`, and waits until it is gone.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    pub fn wait(&mut self) {
        self.process.wait().unwrap();
    }
}
