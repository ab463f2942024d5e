//! The files of a store, to be cut, turned and taken away.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use portcullis::state::store::{Committed, Entry, Key, Space, Store, Txn};

use crate::child::{Step, life, now, runtime};

/// A batch a life: id and key together.
pub fn fill(place: &Path, lives: u64) {
    let store = crate::open(place).unwrap();
    let now = now();
    for number in 0..lives {
        let txn = life(now, number, Step::Admit);
        assert_eq!(runtime().block_on(store.commit(txn)), Ok(Committed::Done));
    }
}

/// So much that there are tables, and then the lives once more, so that they stand in the journal too.
pub fn fill_tables(place: &Path) {
    let store = crate::open(place).unwrap();
    let now = now();
    for number in 0..36_u8 {
        let txn = Txn {
            now,
            put: (0..8_u8)
                .map(|part| Entry {
                    key: Key::of(Space::Answered, &[&[number, part]]),
                    value: Bytes::from(vec![number; 64 * 1024]),
                    until: now + 600_000,
                })
                .collect(),
            ..Txn::default()
        };
        assert_eq!(runtime().block_on(store.commit(txn)), Ok(Committed::Done));
    }
}

fn found(store: &dyn Store, number: u64) -> Result<bool, portcullis::state::store::StoreError> {
    let now = now();
    let txn = life(now, number, Step::Admit);
    let mut there = Vec::new();
    for entry in &txn.put {
        let found = runtime().block_on(store.get(entry.key, now))?;
        assert!(
            found.as_ref().is_none_or(|found| found.value == entry.value),
            "another value"
        );
        there.push(found.is_some());
    }
    assert_eq!(there[0], there[1], "half of a commit");
    Ok(there[0])
}

pub fn is_there(store: &dyn Store, number: u64) -> bool {
    found(store, number).unwrap()
}

pub fn is_there_or_unreadable(store: &dyn Store, number: u64) -> bool {
    found(store, number).unwrap_or(true)
}

/// Every file, relative.
pub fn all(place: &Path) -> Vec<PathBuf> {
    fn walk(root: &Path, at: &Path, into: &mut Vec<PathBuf>) {
        for found in fs::read_dir(at).unwrap() {
            let path = found.unwrap().path();
            if path.is_dir() {
                walk(root, &path, into);
            } else {
                into.push(path.strip_prefix(root).unwrap().to_owned());
            }
        }
    }
    let mut into = Vec::new();
    walk(place, place, &mut into);
    into.sort();
    into
}

pub fn journals(place: &Path) -> Vec<PathBuf> {
    let all = all(place).into_iter();
    all.filter(|path| path.extension().is_some_and(|kind| kind == "jnl"))
        .collect()
}

/// How much of a file is not the empty end that was reserved.
pub fn used(path: &Path) -> u64 {
    u64::try_from(used_bytes(&fs::read(path).unwrap())).unwrap()
}

fn used_bytes(bytes: &[u8]) -> usize {
    const PIECE: usize = 64 * 1024;
    let empty = [0; PIECE];
    let mut pieces = bytes.chunks(PIECE).enumerate();
    let last = pieces.rfind(|(_, piece)| **piece != empty[..piece.len()]);
    last.map_or(0, |(number, piece)| {
        number * PIECE + piece.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
    })
}

/// A copy: journals without the reserved end, tables as second names, for these are never changed.
pub fn copy(from: &Path, to: &Path) {
    if to.exists() {
        fs::remove_dir_all(to).unwrap();
    }
    for file in all(from) {
        let (source, target) = (from.join(&file), to.join(&file));
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        if file.components().any(|part| part.as_os_str() == "tables") {
            fs::hard_link(source, target).unwrap();
        } else if file.extension().is_some_and(|kind| kind == "jnl") {
            let bytes = fs::read(source).unwrap();
            let length = bytes.len().min(used_bytes(&bytes) + 4_096);
            fs::write(target, &bytes[..length]).unwrap();
        } else {
            fs::copy(source, target).unwrap();
        }
    }
}

pub fn truncate(path: &Path, length: u64) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_len(length).unwrap();
}

pub fn turn(path: &Path, place: u64) {
    // Away from its second name.
    let bytes = fs::read(path).unwrap();
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
    let mut file = File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.seek(SeekFrom::Start(place)).unwrap();
    file.read_exact(&mut byte).unwrap();
    file.seek(SeekFrom::Start(place)).unwrap();
    file.write_all(&[byte[0] ^ 0x55]).unwrap();
}
