//! The directory of an embedded store: locked, marked with its format, and witnessed.
//!
//! ```text
//! lock             held by the process that has the store open
//! store/format     format version and the name of this store; its presence says that the store is complete
//! store/damaged    written once damage was seen, so that no later opening overlooks it
//! store/db/        the files of fjall
//! new/             a store that is being made; nothing in it was ever promised to anybody
//! ```
//!
//! fjall takes the first thing in a journal that it cannot read for the torn end of it and cuts the rest off. That is
//! right after a crash and wrong after a bit has turned: what follows was promised. So every batch carries a mark of this
//! store, and opening compares the marks that stood in the journals before with what is left of these after.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use aho_corasick::AhoCorasick;
use aws_lc_rs::rand;

use crate::state::engine::OpenError;

/// The format that this program writes, and the newest that it reads.
pub(super) const FORMAT: u32 = 1;

/// Keyspaces of fjall, numbered from 1; 0 is its own.
const KEYSPACES: usize = 4;

const TITLE: &str = "portcullis state";

/// What a mark begins with: the name of a store, by chance.
pub(super) type Name = [u8; 16];

/// Whether there is a store in a directory.
pub(super) fn is_made(root: &Path) -> bool {
    root.join("store").exists()
}

/// A directory that this process has locked.
#[derive(Debug)]
pub(super) struct Place {
    root: PathBuf,
    /// Locked as long as it is open.
    _lock: File,
}

impl Place {
    /// Locks the directory, which is made if it is not there.
    pub(super) fn lock(root: &Path) -> Result<Self, OpenError> {
        fs::create_dir_all(root).map_err(|source| place(root, source))?;
        let path = root.join("lock");
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|source| place(&path, source))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                root: root.to_owned(),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(OpenError::InUse { path: root.to_owned() }),
            Err(TryLockError::Error(source)) => Err(place(&path, source)),
        }
    }

    fn store(&self) -> PathBuf {
        self.root.join("store")
    }

    /// Where the files of fjall are.
    pub(super) fn database(&self) -> PathBuf {
        self.store().join("db")
    }

    /// Makes a store: `fill` makes the files of fjall and closes them, then all of it appears at once.
    pub(super) fn make(&self, fill: impl FnOnce(&Path) -> Result<(), OpenError>) -> Result<(), OpenError> {
        let new = self.root.join("new");
        if new.exists() {
            fs::remove_dir_all(&new).map_err(|source| place(&new, source))?;
        }
        fs::create_dir(&new).map_err(|source| place(&new, source))?;
        fill(&new.join("db"))?;
        let mut name: Name = [0; 16];
        rand::fill(&mut name).map_err(|_| self.damaged("the system gives no random bytes"))?;
        let text = format!("{TITLE} {FORMAT}\n{:032x}\n", u128::from_be_bytes(name));
        write_synced(&new.join("format"), &text).map_err(|source| place(&new, source))?;
        let publish = || {
            sync(&new)?;
            fs::rename(&new, self.store())?;
            sync(&self.root)
        };
        publish().map_err(|source| place(&self.root, source))
    }

    /// The name of the store, if this program can read it.
    pub(super) fn name(&self) -> Result<Name, OpenError> {
        if self.store().join("damaged").exists() {
            return Err(self.damaged("it was found damaged when it was opened before"));
        }
        let path = self.store().join("format");
        let text = fs::read_to_string(&path).map_err(|source| place(&path, source))?;
        let mut lines = text.lines();
        let version = lines
            .next()
            .and_then(|line| line.strip_prefix(TITLE))
            .and_then(|version| version.trim().parse::<u32>().ok());
        match version {
            Some(FORMAT) => {}
            Some(newer) if newer > FORMAT => {
                return Err(OpenError::Foreign(format!(
                    "its format is {newer}, this program reads {FORMAT}"
                )));
            }
            Some(_) | None => return Err(self.damaged("its format file cannot be read")),
        }
        lines
            .next()
            .filter(|name| name.len() == 32)
            .and_then(|name| u128::from_str_radix(name, 16).ok())
            .map(u128::to_be_bytes)
            .ok_or_else(|| self.damaged("its format file cannot be read"))
    }

    /// Sees to it that no later opening takes the store for whole.
    pub(super) fn mark_damaged(&self, why: &'static str) -> OpenError {
        // Without the mark a later opening may find what is left in order; the store is refused now in any case.
        let _ = write_synced(&self.store().join("damaged"), why).and_then(|()| sync(&self.store()));
        self.damaged(why)
    }

    pub(super) fn damaged(&self, why: &'static str) -> OpenError {
        OpenError::Damaged {
            path: self.root.clone(),
            why,
        }
    }

    /// Reads the marks in every journal, before fjall opens them.
    pub(super) fn witness(&self, name: &Name) -> Result<Witness, OpenError> {
        let database = self.database();
        let mut journals = Vec::new();
        let read = || -> io::Result<Vec<(u64, PathBuf)>> {
            let mut found = Vec::new();
            for file in fs::read_dir(&database)? {
                let path = file?.path();
                let number = path
                    .file_name()
                    .and_then(|name| name.to_str())
                    .and_then(|name| name.strip_suffix(".jnl"))
                    .and_then(|number| number.parse().ok());
                found.extend(number.map(|number| (number, path)));
            }
            found.sort_unstable();
            Ok(found)
        };
        let found = read().map_err(|source| place(&database, source))?;
        let gap = found
            .iter()
            .zip(found.iter().skip(1))
            .any(|((before, _), (after, _))| before.checked_add(1) != Some(*after));
        if found.is_empty() || gap {
            return Err(self.mark_damaged("a journal is missing"));
        }
        // fjall takes a keyspace without it for one that was never finished, and removes it.
        let keyspaces = (0..=KEYSPACES).map(|number| database.join("keyspaces").join(number.to_string()));
        if !keyspaces.into_iter().all(|keyspace| keyspace.join("current").is_file()) {
            return Err(self.mark_damaged("a keyspace is missing"));
        }
        for (_, path) in found {
            let journal = File::open(&path)
                .and_then(|file| Journal::read(file, name))
                .map_err(|source| place(&path, source))?;
            journals.push(journal);
        }
        Ok(Witness(journals))
    }
}

/// The marks that stood in the journals.
#[derive(Debug)]
pub(super) struct Witness(Vec<Journal>);

impl Witness {
    /// How many marks were cut off, now that fjall has opened the journals.
    pub(super) fn lost(&self) -> io::Result<usize> {
        let mut lost = 0_usize;
        for journal in &self.0 {
            // The open file, not the name: a journal that is not needed any more may be gone already.
            let length = journal.file.metadata()?.len();
            let cut = journal.marks.iter().filter(|mark| **mark >= length).count();
            lost = lost.saturating_add(cut);
        }
        Ok(lost)
    }
}

#[derive(Debug)]
struct Journal {
    file: File,
    /// Where the marks begin.
    marks: Vec<u64>,
}

impl Journal {
    fn read(mut file: File, name: &Name) -> io::Result<Self> {
        const PIECE: usize = 64 * 1024;
        let search = AhoCorasick::new([name]).map_err(io::Error::other)?;
        let empty = vec![0_u8; PIECE.saturating_mul(2)];
        let mut piece = vec![0_u8; PIECE];
        // The end of the piece before, in which a mark may begin, and where it begins.
        let mut text: Vec<u8> = Vec::with_capacity(PIECE.saturating_mul(2));
        let mut start = 0_u64;
        let mut marks = Vec::new();
        loop {
            let length = file.read(&mut piece)?;
            let read = piece.get(..length).unwrap_or_default();
            if read.is_empty() {
                break;
            }
            text.extend_from_slice(read);
            // Most of a young journal is room that was reserved.
            if Some(text.as_slice()) != empty.get(..text.len()) {
                let found = search
                    .find_iter(&text)
                    .filter_map(|found| u64::try_from(found.start()).ok());
                marks.extend(found.map(|found| start.saturating_add(found)));
            }
            let done = text.len().saturating_sub(name.len().saturating_sub(1));
            text.drain(..done);
            start = start.saturating_add(u64::try_from(done).unwrap_or(u64::MAX));
        }
        Ok(Self { file, marks })
    }
}

fn place(path: &Path, source: io::Error) -> OpenError {
    OpenError::Place {
        path: path.to_owned(),
        source,
    }
}

fn write_synced(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_wherever_they_stand() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("0.jnl");
        let name: Name = *b"sixteen bytes ..";
        let mut text = vec![0_u8; 300_000];
        let places = [0_u64, 70, 65_530, 131_072 - 15, 200_000, 299_984];
        for place in places {
            let place = usize::try_from(place).unwrap();
            text[place..][..16].copy_from_slice(&name);
        }
        fs::write(&path, &text).unwrap();
        let journal = Journal::read(File::open(&path).unwrap(), &name).unwrap();
        assert_eq!(journal.marks, places);
    }

    #[test]
    fn one_process_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let first = Place::lock(directory.path()).unwrap();
        assert!(matches!(Place::lock(directory.path()), Err(OpenError::InUse { .. })));
        drop(first);
        assert!(Place::lock(directory.path()).is_ok());
    }
}
