//! Every fuzz target over its seeds, and over a bounded number of mutations of each that are the same in every run.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that fails is a test"
)]

#[path = "../fuzz/entry.rs"]
mod entry;

use std::path::PathBuf;

/// Mutations of each seed. A policy compiles every schema, so there are fewer of them.
fn mutations(target: &str) -> u64 {
    match target {
        "policy" => 20,
        _ => 200,
    }
}

#[test]
fn every_target_holds_on_its_seeds_and_on_mutations_of_them() {
    for (target, run) in entry::TARGETS {
        let seeds = seeds(target);
        assert!(seeds.len() >= 5, "{target} has {} seeds", seeds.len());
        for seed in &seeds {
            run(seed);
            for number in 1..=mutations(target) {
                run(&mutated(seed, number));
            }
        }
    }
}

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(target);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// A copy with up to four bytes changed, removed, repeated or put in, chosen by the number alone.
fn mutated(seed: &[u8], number: u64) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    let mut state = number;
    let mut next = |bound: usize| {
        // Knuth's MMIX generator; the high bits are the good ones.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % bound.max(1)
    };
    for _ in 0..=next(4) {
        let at = next(bytes.len());
        match next(4) {
            _ if bytes.is_empty() => bytes.push(b'{'),
            0 => bytes[at] = u8::try_from(next(256)).unwrap(),
            1 => drop(bytes.remove(at)),
            2 => bytes.extend_from_within(at..),
            _ => bytes.insert(at, b"{}[]\",:\\u0e-.\xff "[next(15)]),
        }
    }
    bytes
}
