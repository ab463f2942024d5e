//! The thread around [`Reloader`]: it looks every two seconds, and at once when the file system says that something
//! changed. The file system's word only makes it quick; without it nothing is missed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::Reloader;

/// How the thread waits.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// How often the files are looked at, whatever the file system says.
    poll: Duration,
    /// How long the files must rest before a change is taken: somebody may be half done writing.
    rest: Duration,
    /// How often a change that does not come to rest is waited for; then it is taken as it is.
    rests: u32,
}

const PACE: Pace = Pace {
    poll: Duration::from_secs(2),
    rest: Duration::from_millis(100),
    rests: 20,
};

/// Watches until it is dropped.
#[derive(Debug)]
pub struct Watcher {
    signals: Sender<Signal>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    /// Something in a watched directory may have changed.
    Changed,
    /// The watcher was dropped.
    Stop,
}

impl Watcher {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(reloader: Reloader) -> std::io::Result<Self> {
        Self::start_with(reloader, PACE, true)
    }

    fn start_with(reloader: Reloader, pace: Pace, notified: bool) -> std::io::Result<Self> {
        let (signals, received) = channel();
        let eyes = if notified { open(signals.clone()) } else { None };
        let watch = Watch {
            reloader,
            eyes,
            watched: Vec::new(),
            received,
            pace,
        };
        thread::Builder::new()
            .name("policy-watch".to_owned())
            .spawn(|| watch.run())?;
        Ok(Self { signals })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // A thread that is gone needs no signal.
        let _ = self.signals.send(Signal::Stop);
    }
}

struct Watch {
    reloader: Reloader,
    /// The file system's notifications; `None` where it gives none.
    eyes: Option<RecommendedWatcher>,
    watched: Vec<PathBuf>,
    received: Receiver<Signal>,
    pace: Pace,
}

impl Watch {
    fn run(mut self) {
        loop {
            // A panic must cost one look, not the watching.
            match catch_unwind(AssertUnwindSafe(|| self.look())) {
                Ok(true) => {}
                Ok(false) => return,
                // Whoever is told may be what panicked.
                Err(_) => drop(catch_unwind(AssertUnwindSafe(|| self.reloader.failed()))),
            }
            if !self.wait(self.pace.poll) {
                return;
            }
        }
    }

    /// Waits until the files rest, then looks. `false` when it is time to stop.
    fn look(&mut self) -> bool {
        self.watch_again();
        let mut last = self.reloader.fingerprint();
        for _ in 0..self.pace.rests {
            if self.reloader.has_seen(&last) {
                return true;
            }
            if !self.wait_whole(self.pace.rest) {
                return false;
            }
            let now = self.reloader.fingerprint();
            if now == last {
                break;
            }
            last = now;
        }
        self.reloader.look();
        true
    }

    /// Watches every directory anew: a watch stays with a directory that was moved away or removed, and says nothing
    /// of the one that took its place.
    fn watch_again(&mut self) {
        let Some(eyes) = &mut self.eyes else { return };
        for directory in self.watched.drain(..) {
            let _ = eyes.unwatch(&directory);
        }
        for directory in self.reloader.directories() {
            // A directory that cannot be watched is polled.
            if eyes.watch(&directory, RecursiveMode::NonRecursive).is_ok() {
                self.watched.push(directory);
            }
        }
    }

    /// Waits for a change, but not for ever. `false` when it is time to stop.
    fn wait(&self, longest: Duration) -> bool {
        let first = match self.received.recv_timeout(longest) {
            Ok(signal) => signal,
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        };
        // One look answers everything that comes in meanwhile, so that a busy directory does not keep us busy.
        first != Signal::Stop && self.wait_whole(self.pace.rest)
    }

    /// Waits the whole time, whatever changes. `false` when it is time to stop.
    fn wait_whole(&self, time: Duration) -> bool {
        thread::sleep(time);
        !self.received.try_iter().any(|signal| signal == Signal::Stop)
    }
}

fn open(signals: Sender<Signal>) -> Option<RecommendedWatcher> {
    notify::recommended_watcher(move |event: notify::Result<Event>| {
        // Our own reading is an access too; it must not wake us.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            let _ = signals.send(Signal::Changed);
        }
    })
    .ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::mpsc::RecvTimeoutError;

    use jiff::Timestamp;

    use super::*;
    use crate::clock::Clock;
    use crate::config::Overrides;
    use crate::policy::{Attempt, InForce};

    const LONG: Duration = Duration::from_secs(30);

    fn text(path: &str) -> String {
        format!(
            "agent: {{ids: [a.b]}}\nbackend: {{url: \"http://127.0.0.1:9000\"}}\n\
             routes:\n  - {{name: look, path: {path}, method: GET, takes: read}}\n"
        )
    }

    fn pace(poll: Duration) -> Pace {
        Pace {
            poll,
            rest: Duration::from_millis(1),
            rests: 20,
        }
    }

    fn watch(path: &Path, pace: Pace, notified: bool, tell: impl Fn(&Attempt) + Send + 'static) -> Watcher {
        fs::write(path, text("/one")).unwrap();
        let config = crate::config::load(path).unwrap();
        let clock = Clock::manual(Timestamp::UNIX_EPOCH);
        let policy = Arc::new(InForce::new(config.policy, clock.now()));
        let reloader = Reloader::new(path, Overrides::default(), config.server, policy, clock, tell);
        Watcher::start_with(reloader, pace, notified).unwrap()
    }

    /// Replaces the policy as a careful writer does.
    fn put(path: &Path, content: &str) {
        let beside = path.with_extension("new");
        fs::write(&beside, content).unwrap();
        fs::rename(&beside, path).unwrap();
    }

    #[test]
    fn polling_alone_misses_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.yaml");
        let (tell, told) = channel();
        let _watcher = watch(&path, pace(Duration::from_millis(1)), false, move |attempt| {
            tell.send(attempt.mistakes.len()).unwrap();
        });
        put(&path, &text("/two"));
        assert_eq!(told.recv_timeout(LONG), Ok(0));
        put(&path, "agent: {}");
        assert!(told.recv_timeout(LONG).unwrap() > 0);
        put(&path, &text("/one"));
        assert_eq!(told.recv_timeout(LONG), Ok(0));
    }

    #[test]
    fn the_file_system_makes_it_quick() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.yaml");
        let (tell, told) = channel();
        let _watcher = watch(&path, pace(LONG.saturating_mul(100)), true, move |attempt| {
            tell.send(attempt.mistakes.len()).unwrap();
        });
        put(&path, &text("/two"));
        assert_eq!(told.recv_timeout(LONG), Ok(0));
        put(&path, &text("/three"));
        assert_eq!(told.recv_timeout(LONG), Ok(0));
    }

    #[test]
    fn a_panic_costs_one_look_and_not_the_watching() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.yaml");
        let (tell, told) = channel();
        let _watcher = watch(&path, pace(Duration::from_millis(1)), false, move |attempt| {
            tell.send(attempt.mistakes.len()).unwrap();
            assert!(attempt.mistakes.is_empty(), "planted");
        });
        put(&path, "agent: {}");
        // The attempt itself, then that it could not be told.
        assert!(told.recv_timeout(LONG).unwrap() > 1);
        assert_eq!(told.recv_timeout(LONG), Ok(1));
        put(&path, &text("/two"));
        assert_eq!(told.recv_timeout(LONG), Ok(0));
    }

    #[test]
    fn it_stops_when_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.yaml");
        let (tell, told) = channel::<()>();
        let watcher = watch(&path, pace(LONG.saturating_mul(100)), true, move |_| drop(tell.clone()));
        drop(watcher);
        // The thread owned the sender.
        assert_eq!(told.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
    }
}
