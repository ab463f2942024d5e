//! What was acknowledged is there after a crash, and nothing is there by half (contract §8, "durable before").
//!
//! Children are this test binary, run again. `CRASH_ROUNDS` makes it longer (`scripts/soak`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::disallowed_methods,
    reason = "a test that fails is a test, and a child is told what to do by its environment"
)]

#[path = "crash/child.rs"]
mod child;
#[path = "crash/files.rs"]
mod files;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use jiff::Timestamp;
use portcullis::state::embedded::{Embedded, Opening};
use portcullis::state::engine::OpenError;
use portcullis::state::store::{Committed, Store, StoreError};

use child::{Child, Step, check, life, now, runtime};

/// Opens a store now.
fn open(path: &Path) -> Result<Embedded, OpenError> {
    Embedded::open(path, opening())
}

fn opening() -> Opening {
    Opening {
        now: Timestamp::from_millisecond(i64::try_from(now()).unwrap()).unwrap(),
        window: Duration::from_secs(300),
        skew: Duration::from_secs(30),
    }
}

fn rounds(least: usize) -> usize {
    let asked = std::env::var("CRASH_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok());
    asked.map_or(least, |asked: usize| asked.max(least))
}

/// Not a test of its own: what a child does.
#[test]
#[ignore = "run by the others"]
fn child() {
    child::main();
}

#[test]
fn killed_at_every_step_nothing_acknowledged_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    // Each round goes on with the files of the one before, and kills one line later.
    let mut told = Vec::new();
    let mut next = 0;
    for line in 1..=rounds(16) {
        let mut child = Child::start(directory.path(), next, "steps");
        told.extend(child.read(line));
        child.kill();
        told.extend(child.rest());
        next = check(&open(directory.path()).unwrap(), &told);
    }
}

#[test]
fn killed_among_many_at_once_nothing_acknowledged_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let mut told = Vec::new();
    let mut next = 0;
    for round in 1..=rounds(4) {
        let mut child = Child::start(directory.path(), next, "storm");
        told.extend(child.read(23 * round));
        child.kill();
        told.extend(child.rest());
        next = check(&open(directory.path()).unwrap(), &told);
    }
}

#[test]
fn a_commit_is_synced_before_it_is_acknowledged() {
    if Command::new("strace").arg("-V").output().is_err() {
        assert!(std::env::var("CI").is_err(), "strace is not installed");
        println!("SKIPPED: strace is not installed");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace");
    let mut child = Child::traced(&directory.path().join("state"), &trace);
    let told = child.rest();
    child.wait();
    let text = std::fs::read_to_string(&trace).unwrap();
    let mut synced = 0;
    let mut open = None;
    for line in text.lines() {
        if line.contains("\"begin ") {
            open = Some(false);
        } else if (line.contains("fdatasync(") || line.contains("fdatasync resumed")) && line.contains("= 0") {
            open = open.map(|_| true);
        } else if line.contains("\"done ") {
            assert_eq!(open.take(), Some(true), "acknowledged before it was synced: {line}");
            synced += 1;
        }
    }
    assert_eq!(synced, told.iter().filter(|(word, _, _)| word == "done").count());
    assert!(synced >= 8, "{synced} commits were traced");
}

#[test]
fn a_full_disk_is_refused_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()).unwrap());
    // The journal may grow by a few commits; the signal that would end the process is ignored, as with a full disk.
    let mut child = Child::limited(directory.path(), 16);
    let told = child.rest();
    child.wait();
    assert!(told.iter().any(|(word, _, _)| word == "refused"), "{told:?}");
    let after = told.iter().skip_while(|(word, _, _)| word != "refused");
    assert!(after.clone().count() > 1, "nothing was asked after the refusal");
    assert!(
        after.clone().all(|(word, _, _)| word != "done"),
        "trusted after a failed write: {told:?}"
    );
    check(&open(directory.path()).unwrap(), &told);
}

#[test]
fn a_place_that_cannot_be_written_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    for place in [file.join("state"), "/proc/portcullis-state".into()] {
        let opened = open(&place);
        assert!(matches!(opened, Err(OpenError::Place { .. })), "{opened:?}");
    }
}

#[test]
fn cut_at_any_length_it_is_a_beginning_or_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (whole, cut) = (directory.path().join("whole"), directory.path().join("cut"));
    let lives = 6;
    files::fill(&whole, lives);
    let journal = files::journals(&whole).pop().unwrap();
    let used = files::used(&whole.join(&journal));
    let step = (usize::try_from(used).unwrap() / rounds(40)).max(1);
    for length in (0..=used)
        .rev()
        .step_by(step)
        .chain([used - 1, used - 5, used - 9, used - 20])
    {
        files::copy(&whole, &cut);
        files::truncate(&cut.join(&journal), length);
        let Ok(store) = open(&cut) else { continue };
        // What is left is whole lives, one after the other, and then nothing.
        let left: Vec<bool> = (0..lives).map(|number| files::is_there(&store, number)).collect();
        let there = left.iter().take_while(|there| **there).count();
        assert!(left[there..].iter().all(|there| !there), "cut at {length}: {left:?}");
        if length == used {
            assert_eq!(there, left.len(), "cut back to the last sync");
        }
    }
}

#[test]
fn a_turned_byte_is_found_or_harmless() {
    let directory = tempfile::tempdir().unwrap();
    let (whole, turned) = (directory.path().join("whole"), directory.path().join("turned"));
    let lives = 6;
    files::fill(&whole, lives);
    files::fill_tables(&whole);
    let mut refused = 0;
    for file in files::all(&whole) {
        let used = files::used(&whole.join(&file));
        let many = u64::try_from(rounds(if file.extension().is_some_and(|kind| kind == "jnl") {
            10
        } else {
            1
        }))
        .unwrap();
        for place in (0..many)
            .map(|number| used * (2 * number + 1) / (2 * many))
            .filter(|place| *place < used)
        {
            files::copy(&whole, &turned);
            files::turn(&turned.join(&file), place);
            let opening = opening();
            let store = match Embedded::open(&turned, opening) {
                Ok(store) => store,
                Err(error) => {
                    refused += 1;
                    // It stays refused.
                    assert!(open(&turned).is_err(), "{}: {error} and then not", file.display());
                    continue;
                }
            };
            let lost: Vec<u64> = (0..lives)
                .filter(|number| !files::is_there_or_unreadable(&store, *number))
                .collect();
            if lost.is_empty() {
                continue;
            }
            // Only the very last batch may look as if it had been torn; then nothing older is admitted.
            let place = format!("{} at {place} of {used}: {lost:?}", file.display());
            assert_eq!(lost, [lives - 1], "{place}");
            let fence = store.fence().unwrap().unwrap();
            assert!(fence >= opening.now.checked_add(opening.skew).unwrap(), "{place}");
        }
    }
    assert!(refused > 10, "only {refused} were found");
}

#[test]
fn a_missing_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (whole, less) = (directory.path().join("whole"), directory.path().join("less"));
    files::fill(&whole, 3);
    files::fill_tables(&whole);
    for file in files::all(&whole) {
        if file.ends_with("lock") {
            continue;
        }
        files::copy(&whole, &less);
        std::fs::remove_file(less.join(&file)).unwrap();
        let opened = open(&less);
        let harmless = opened
            .as_ref()
            .is_ok_and(|store| (0..3).all(|number| files::is_there(store, number)));
        assert!(harmless || opened.is_err(), "without {}", file.display());
    }
}

#[test]
fn many_orders_at_once_are_all_answered() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).unwrap();
    let answers: Vec<_> = (0..64_u64)
        .map(|number| store.commit(life(now(), number, Step::Admit)))
        .collect();
    let answers = runtime().block_on(async {
        let mut all = Vec::new();
        for answer in answers {
            all.push(answer.await);
        }
        all
    });
    assert!(
        answers
            .iter()
            .all(|answer| matches!(answer, Ok(Committed::Done) | Err(StoreError::Exhausted(_))))
    );
}
