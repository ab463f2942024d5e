//! The restart fence (contract §8): nothing is admitted that a store which forgets may have admitted before.
//!
//! Without a file the fence is the start of the process and the skew: a message issued before the start, and one that a
//! clock ahead by the skew had issued, are refused. With a file the highest time of issue that was admitted is written
//! ahead in steps of 5 s, and on the disk before a message beyond it is admitted. A file that is missing, unreadable or
//! later than any message could be says that nobody knows, until an operator resets it.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;

use super::plan::millis;
use super::store::Millis;
use crate::facts::Fact;

/// How far the mark is written ahead.
const STEP: Millis = 5_000;

/// What the file begins with.
const MAGIC: &str = "portcullis-fence-1 ";

/// The largest file that is read.
const FILE_MAX: u64 = 64;

/// What the mark is while the file cannot be believed.
const LOST: Millis = Millis::MAX;

/// The fence of one process.
#[derive(Debug)]
pub enum Fence {
    /// The store survives a restart by itself.
    None,
    /// The store began to remember at this time.
    Start(Timestamp),
    /// The same, with a file that is written ahead.
    Written(Box<Written>),
}

/// A fence with a file.
#[derive(Debug)]
pub struct Written {
    started: Timestamp,
    path: PathBuf,
    /// The fence of this process: what the file said at the start.
    before: AtomicU64,
    /// Every time of issue up to here may be admitted without a write; [`LOST`] says that none may.
    mark: AtomicU64,
    writing: Arc<Mutex<()>>,
}

/// Why a fence file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FenceError {
    /// The file cannot be read or written.
    #[error("the fence file {} cannot be used: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The mark is lost, so nothing may be admitted.
    #[error("the fence is lost")]
    Lost,
}

impl Fence {
    /// A fence with a file, as a process that starts now finds it.
    pub fn open(path: &Path, now: Timestamp) -> Self {
        let found = read(path).unwrap_or(LOST);
        Self::Written(Box::new(Written {
            started: now,
            path: path.to_owned(),
            before: AtomicU64::new(found),
            mark: AtomicU64::new(found),
            writing: Arc::default(),
        }))
    }

    /// Nothing issued at or before this may be admitted; `Unavailable` while nobody knows.
    pub fn at(&self, now: Timestamp, skew: Duration) -> Fact<Timestamp> {
        let started = match self {
            Self::None => return Fact::Absent,
            Self::Start(started) => *started,
            Self::Written(written) => {
                let before = written.before.load(Ordering::Acquire);
                let believable = millis(ahead(now, skew));
                let Some(mark) = timestamp(before).filter(|_| before <= believable) else {
                    return Fact::Unavailable;
                };
                return Fact::Known(written.started.max(mark));
            }
        };
        Fact::Known(ahead(started, skew))
    }

    /// Makes the admission of a message issued at this time safe: the mark is beyond it, on the disk.
    ///
    /// # Errors
    /// Then it must not be admitted.
    pub async fn cover(&self, issued: Timestamp, now: Timestamp, skew: Duration) -> Result<(), FenceError> {
        let Self::Written(written) = self else {
            return Ok(());
        };
        let issued = millis(issued);
        if written.covers(issued)? {
            return Ok(());
        }
        // The write goes on to its end when the request that began it does not.
        let lock = Arc::clone(&written.writing).lock_owned().await;
        if written.covers(issued)? {
            return Ok(());
        }
        // Never beyond what a clock may say: a restart right after this has to be able to believe it.
        let mark = issued.saturating_add(STEP).min(millis(ahead(now, skew))).max(issued);
        let path = written.path.clone();
        let wrote = tokio::task::spawn_blocking(move || {
            let wrote = write(&path, mark);
            drop(lock);
            wrote
        });
        match wrote.await {
            Ok(Ok(())) => {
                written.mark.fetch_max(mark, Ordering::AcqRel);
                Ok(())
            }
            Ok(Err(source)) => Err(written.failed(source)),
            Err(_) => Err(FenceError::Lost),
        }
    }

    /// Looks at a file that cannot be believed again, for an operator may have reset it. Until then nothing is admitted,
    /// so nothing that was admitted is taken back.
    pub fn look_again(&self, now: Timestamp, skew: Duration) {
        if let Self::Written(written) = self
            && written.before.load(Ordering::Acquire) > millis(ahead(now, skew))
            && let Ok(found) = read(&written.path)
        {
            written.before.store(found, Ordering::Release);
            written.mark.store(found, Ordering::Release);
        }
    }
}

impl Written {
    fn covers(&self, issued: Millis) -> Result<bool, FenceError> {
        let mark = self.mark.load(Ordering::Acquire);
        if mark == LOST {
            return Err(FenceError::Lost);
        }
        Ok(issued <= mark)
    }

    fn failed(&self, source: io::Error) -> FenceError {
        FenceError::File {
            path: self.path.clone(),
            source,
        }
    }
}

/// Declares that nothing issued up to now is to be admitted any more: what an operator does when the file is lost. A
/// mark that can be believed is never set back.
///
/// # Errors
/// When the file cannot be written.
pub fn reset(path: &Path, now: Timestamp, skew: Duration) -> Result<Timestamp, FenceError> {
    let believable = millis(ahead(now, skew));
    let old = read(path).ok().filter(|mark| *mark <= believable);
    let mark = millis(now).max(old.unwrap_or(0));
    write(path, mark).map_err(|source| FenceError::File {
        path: path.to_owned(),
        source,
    })?;
    Ok(timestamp(mark).unwrap_or(now))
}

/// The mark of a file.
fn read(path: &Path) -> io::Result<Millis> {
    let mut text = String::new();
    File::open(path)?.take(FILE_MAX).read_to_string(&mut text)?;
    let mark = text.strip_prefix(MAGIC).and_then(|rest| rest.strip_suffix('\n'));
    mark.and_then(|digits| digits.parse().ok())
        .filter(|mark| timestamp(*mark).is_some())
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Replaces the file, on the disk: a crash leaves the old one or the new one.
fn write(path: &Path, mark: Millis) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file = File::create(&beside)?;
    file.write_all(format!("{MAGIC}{mark}\n").as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

fn timestamp(mark: Millis) -> Option<Timestamp> {
    Timestamp::from_millisecond(i64::try_from(mark).ok()?).ok()
}

fn ahead(time: Timestamp, skew: Duration) -> Timestamp {
    let skew = SignedDuration::try_from(skew).unwrap_or(SignedDuration::MAX);
    time.saturating_add(skew).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SKEW: Duration = Duration::from_secs(30);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_780_000_000 + seconds).unwrap()
    }

    #[test]
    fn without_a_file_the_fence_is_start_and_skew() {
        assert_eq!(Fence::None.at(at(0), SKEW), Fact::Absent);
        assert_eq!(Fence::Start(at(0)).at(at(9), SKEW), Fact::Known(at(30)));
    }

    #[tokio::test]
    async fn the_mark_is_written_ahead_in_steps() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fence");
        reset(&path, at(0), SKEW).unwrap();
        let fence = Fence::open(&path, at(1));
        assert_eq!(fence.at(at(1), SKEW), Fact::Known(at(1)));
        let mark = || read(&path).unwrap();
        for (issued, expected) in [(0, 0), (1, 6), (6, 6), (7, 12), (3, 12), (31, 31)] {
            fence.cover(at(issued), at(1), SKEW).await.unwrap();
            assert_eq!(mark(), millis(at(expected)), "{issued}");
        }
        // The next process refuses what this one may have admitted, and can believe the mark at once.
        let next = Fence::open(&path, at(2));
        assert_eq!(next.at(at(2), SKEW), Fact::Known(at(31)));
        // A clock that stepped back across the restart opens no window.
        let earlier = Fence::open(&path, at(-100));
        assert_eq!(earlier.at(at(-100), SKEW), Fact::Unavailable);
        assert_eq!(earlier.at(at(1), SKEW), Fact::Known(at(31)));
    }

    #[tokio::test]
    async fn a_lost_or_damaged_file_is_unknown_until_it_is_reset() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fence");
        for content in [
            None,
            Some(""),
            Some("portcullis-fence-1 x\n"),
            Some("portcullis-fence-1 9"),
            Some("9\n"),
        ] {
            if let Some(content) = content {
                fs::write(&path, content).unwrap();
            }
            let fence = Fence::open(&path, at(0));
            assert_eq!(fence.at(at(0), SKEW), Fact::Unavailable, "{content:?}");
            assert!(matches!(fence.cover(at(0), at(0), SKEW).await, Err(FenceError::Lost)));
            fence.look_again(at(0), SKEW);
            assert_eq!(fence.at(at(0), SKEW), Fact::Unavailable, "{content:?}");
            assert_eq!(reset(&path, at(5), SKEW).unwrap(), at(5));
            fence.look_again(at(6), SKEW);
            assert_eq!(fence.at(at(6), SKEW), Fact::Known(at(5)));
            fence.cover(at(6), at(6), SKEW).await.unwrap();
        }
    }

    #[test]
    fn a_mark_in_the_future_that_is_reset_is_taken_by_a_running_process() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fence");
        write(&path, millis(at(900))).unwrap();
        let fence = Fence::open(&path, at(0));
        assert_eq!(fence.at(at(1), SKEW), Fact::Unavailable);
        assert_eq!(reset(&path, at(1), SKEW).unwrap(), at(1));
        fence.look_again(at(2), SKEW);
        assert_eq!(fence.at(at(2), SKEW), Fact::Known(at(1)));
    }

    #[test]
    fn a_reset_sets_no_mark_back_that_can_be_believed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fence");
        reset(&path, at(20), SKEW).unwrap();
        assert_eq!(reset(&path, at(0), SKEW).unwrap(), at(20));
        assert_eq!(reset(&path, at(-11), SKEW).unwrap(), at(-11));
    }

    #[tokio::test]
    async fn a_mark_that_cannot_be_written_admits_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fence");
        reset(&path, at(0), SKEW).unwrap();
        let fence = Fence::open(&path, at(0));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(matches!(
            fence.cover(at(1), at(1), SKEW).await,
            Err(FenceError::File { .. })
        ));
        fence.cover(at(0), at(1), SKEW).await.unwrap();
    }
}
