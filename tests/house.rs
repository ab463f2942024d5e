//! The shape of the house: floors, headers, sizes, words. Reads text only, so it needs no crate and runs at once.
//!
//! A failing test lists every place at fault. Change a list here only together with `ARCHITECTURE.md`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::string_slice,
    reason = "a test that fails is a test"
)]

#[path = "house/scan.rs"]
mod scan;
#[path = "house/table.rs"]
mod table;

use std::fs;
use std::path::Path;

use scan::{
    before_tests, code, code_spans, documents, fenced, files_under, first_segments, identifier, links, named_files,
    names_place, none, reached_modules, read, root, sources, words,
};
use table::{Row, rules_in_code, rules_in_text};

/// The floors, lowest first. A module uses only modules below it.
const FLOORS: &[&str] = &[
    "clock",
    "contract",
    "message",
    "facts",
    "policy",
    "rules",
    "decide",
    "trust",
    "state",
    "upstream",
    "record",
    "telemetry",
    "gateway",
    "discovery",
    "admin",
    "config",
    "app",
    "cli",
    "main",
];

/// The pure floor: no runtime, network, log, file or environment.
const PURE: &[&str] = &["contract", "message", "facts", "policy", "rules", "decide"];

/// What the pure floor names nowhere: crates, and modules of `std`.
const IMPURE_CRATES: &[&str] = &[
    "tokio",
    "tokio_rustls",
    "hyper",
    "hyper_util",
    "tracing",
    "axum",
    "notify",
];
const IMPURE_STD: &[&str] = &["env", "fs", "net", "process", "thread"];

/// Where a status may be chosen. Everybody else passes on a status that was chosen there.
const STATUS_OWNERS: &[(&str, &str)] = &[
    ("src/gateway/answer", "every refusal and two-key answer (contract §5)"),
    ("src/discovery", "documents the gateway serves itself"),
    ("src/admin", "health, metrics and the fail-mode table"),
];

const LINES_MAX: usize = 500;

#[test]
fn every_source_file_has_a_header_and_fits_on_a_few_screens() {
    let mut faults = Vec::new();
    for file in sources() {
        let text = read(&file);
        if !text.starts_with("//! ") {
            faults.push(format!("{file}: begins without a `//!` header"));
        }
        let lines = text.lines().count();
        if lines > LINES_MAX {
            faults.push(format!("{file}: {lines} lines, at most {LINES_MAX}"));
        }
    }
    none(faults);
}

#[test]
fn a_module_uses_only_modules_below_it() {
    let mut faults = Vec::new();
    for file in sources() {
        let own = floor_of(&file);
        let Some(floor) = rank(&own) else {
            if own != "lib" {
                faults.push(format!("{file}: `{own}` has no floor"));
            }
            continue;
        };
        for used in reached_modules(&file, &code(&read(&file))) {
            if rank(&used) > Some(floor) {
                faults.push(format!("{file}: uses `{used}`, which stands above `{own}`"));
            }
        }
    }
    none(faults);
}

#[test]
fn the_pure_floor_touches_nothing_outside() {
    let mut faults = Vec::new();
    for file in sources() {
        if !PURE.contains(&floor_of(&file).as_str()) {
            continue;
        }
        let text = code(&read(&file));
        let text = before_tests(&text);
        for name in IMPURE_CRATES {
            if !words(text, &format!("{name}::")).is_empty() || !words(text, &format!("use {name};")).is_empty() {
                faults.push(format!("{file}: names `{name}`"));
            }
        }
        for name in first_segments(text, "std") {
            if IMPURE_STD.contains(&name.as_str()) {
                faults.push(format!("{file}: names `std::{name}`"));
            }
        }
    }
    none(faults);
}

/// Who may read files and who the environment; everybody else is handed what was read.
const FILE_READERS: &[(&str, &str)] = &[
    ("src/trust", "certificates and keys"),
    ("src/state", "stores and the fence; passwords and CAs of servers"),
    ("src/record", "standard output, as a file"),
    ("src/config", "the policy and the schemas it names"),
    ("src/app", "what is watched for a reload"),
    ("src/cli", "messages named on the command line"),
];

#[test]
fn only_the_top_floors_read_files_and_environment() {
    let mut faults = Vec::new();
    for file in sources() {
        let text = code(&read(&file));
        let named = first_segments(before_tests(&text), "std");
        let reads_files = named.contains("fs") || !words(before_tests(&text), "tokio::fs").is_empty();
        if reads_files && !FILE_READERS.iter().any(|(reader, _)| file.starts_with(reader)) {
            faults.push(format!("{file}: reads files"));
        }
        if named.contains("env") && !file.starts_with("src/cli") {
            faults.push(format!("{file}: reads the environment"));
        }
    }
    none(faults);
}

#[test]
fn nothing_is_left_for_later() {
    let marks = [
        ["TO", "DO"].concat(),
        ["FIX", "ME"].concat(),
        ["XX", "X"].concat(),
        ["to", "do!("].concat(),
        ["unimple", "mented!("].concat(),
    ];
    let mut faults = Vec::new();
    for file in files_under(&["src", "tests", "benches", "fuzz", "scripts"]) {
        for (number, line) in read(&file).lines().enumerate() {
            for mark in marks.iter().filter(|mark| !words(line, mark).is_empty()) {
                faults.push(format!("{file}:{}: `{mark}`", number + 1));
            }
        }
    }
    none(faults);
}

#[test]
fn no_file_names_a_place_on_somebodys_machine() {
    let places = ["work", "root", "tmp/pc"].map(|place| format!("/{place}"));
    let mut faults = Vec::new();
    for file in files_under(&["."]) {
        for (number, line) in read(&file).lines().enumerate() {
            for place in places.iter().filter(|place| names_place(line, place)) {
                faults.push(format!("{file}:{}: `{place}`", number + 1));
            }
        }
    }
    none(faults);
}

#[test]
fn a_permit_is_made_in_one_file_only() {
    let owner = "src/decide/verdict.rs";
    let mut faults = Vec::new();
    for file in sources() {
        if file != owner && !words(&code(&read(&file)), "Permit(").is_empty() {
            faults.push(format!("{file}: makes or opens a `Permit`"));
        }
    }
    let text = code(&read(owner));
    if words(&text, "pub struct Permit(());").len() != 1 {
        faults.push(format!(
            "{owner}: `Permit` has to be a tuple struct with one private field"
        ));
    }
    for maker in ["const fn allow(", "const fn observe("] {
        if words(&text, &format!("pub(super) {maker}")).len() != 1 {
            faults.push(format!("{owner}: `{maker}…)` has to be private to `decide`"));
        }
    }
    if text.matches("Permit(())").count() != 3 {
        faults.push(format!(
            "{owner}: expected the struct and exactly two places that make a `Permit`"
        ));
    }
    for derive in ["Clone", "Copy", "Default"] {
        let derived = text
            .split("pub struct Permit")
            .next()
            .and_then(|before| before.rsplit("#[derive(").next())
            .is_some_and(|list| !words(list, derive).is_empty());
        if derived {
            faults.push(format!("{owner}: `Permit` must not be {derive}"));
        }
    }
    none(faults);
}

#[test]
fn statuses_are_chosen_in_their_place() {
    let mut faults = Vec::new();
    for file in sources() {
        if STATUS_OWNERS.iter().any(|(owner, _)| file.starts_with(owner)) {
            continue;
        }
        let text = code(&read(&file));
        for (at, _) in before_tests(&text).match_indices("StatusCode::") {
            let name = identifier(&text[at + "StatusCode::".len()..]);
            if name == "from_u16" || name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_') {
                faults.push(format!("{file}: chooses `StatusCode::{name}`"));
            }
        }
    }
    none(faults);
}

#[test]
fn the_contract_text_and_the_rule_table_agree() {
    let built = rules_in_code();
    let written = rules_in_text();
    assert!(
        built.len() > 90,
        "only {} rows read from src/contract/rule.rs",
        built.len()
    );
    let mut faults = Vec::new();
    for row in &built {
        match written.iter().find(|other| other.id == row.id) {
            None => faults.push(format!("{}: not in docs/contract.md", row.id)),
            Some(other) if other != row => faults.push(format!("code {row:?}\n  text {other:?}")),
            Some(_) => {}
        }
    }
    for row in &written {
        if !built.iter().any(|other| other.id == row.id) {
            faults.push(format!("{}: not in src/contract/rule.rs", row.id));
        }
    }
    let order = |rows: &[Row]| rows.iter().map(|row| row.id.clone()).collect::<Vec<_>>();
    if faults.is_empty() && order(&built) != order(&written) {
        faults.push("the rows stand in another order".to_owned());
    }
    none(faults);
}

#[test]
fn every_policy_is_described() {
    let text = read("docs/policy.md");
    let files = files_under(&["policies"]);
    assert!(!files.is_empty(), "no file under policies/");
    none(
        files
            .into_iter()
            .filter(|file| !text.contains(file.as_str()))
            .map(|file| format!("{file}: not named in docs/policy.md"))
            .collect(),
    );
}

#[test]
fn documents_name_only_files_that_exist() {
    let mut faults = Vec::new();
    for file in documents() {
        let text = read(&file);
        for link in links(&text) {
            let place = Path::new(&file).parent().unwrap().join(&link);
            if !root().join(&place).exists() {
                faults.push(format!("{file}: links to {link}"));
            }
        }
        for named in named_files(&text) {
            if !root().join(&named).exists() {
                faults.push(format!("{file}: names {named}"));
            }
        }
    }
    none(faults);
}

#[test]
fn architecture_draws_these_floors_and_names_real_tests() {
    let text = read("ARCHITECTURE.md");
    let drawn: Vec<&str> = fenced(&text)
        .find(|block| block.contains("clock <"))
        .expect("a fenced block with the floors")
        .lines()
        .map(|line| line.split("  ").next().unwrap())
        .flat_map(|line| line.split('<'))
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    let mut faults = Vec::new();
    if drawn != FLOORS {
        faults.push(format!("floors drawn: {drawn:?}"));
    }
    let proofs: Vec<(String, String)> = code_spans(&text)
        .filter_map(|span| {
            let (file, name) = span.split_once("::")?;
            file.ends_with(".rs").then(|| (file.to_owned(), name.to_owned()))
        })
        .collect();
    if proofs.len() < 10 {
        faults.push(format!("ten invariants, but only {} tests named", proofs.len()));
    }
    for (file, name) in proofs {
        let found = fs::read_to_string(root().join(&file)).is_ok_and(|text| text.contains(&format!("fn {name}(")));
        if !found {
            faults.push(format!("no test {file}::{name}"));
        }
    }
    none(faults);
}

fn floor_of(file: &str) -> String {
    identifier(file.trim_start_matches("src/"))
}

fn rank(module: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| *floor == module)
}

// The scanners are tests' tools; these two show that they see what they look for.

#[test]
fn the_scanner_sees_every_way_up() {
    let ways = [
        "use crate::gateway::answer;",
        "use crate::{contract::Rule, gateway::{answer, intake}};",
        "fn f() { crate::gateway::answer::refuse(); }",
        "use super::super::gateway;",
        "use super::super::{facts, gateway::answer};",
    ];
    for way in ways {
        assert!(reached_modules("src/rules/hold.rs", way).contains("gateway"), "{way}");
    }
    assert!(reached_modules("src/facts.rs", "use super::gateway;").contains("gateway"));
    assert!(!reached_modules("src/rules/hold.rs", "use super::gateway;").contains("gateway"));
    assert!(!code("//! [`crate::gateway`]\n/// crate::gateway\n").contains("gateway"));
    assert!(rank("gateway") > rank("rules"));
}

#[test]
fn the_scanner_tells_a_place_from_a_url() {
    let place = ["/ro", "ot"].concat();
    assert!(names_place(&format!("cd {place}/x"), &place));
    assert!(names_place(&format!("\"{place}\""), &place));
    assert!(!names_place(&format!("https://host.example{place}/x"), &place));
    assert!(!names_place(&format!("schemas{place}s"), &place));
    assert_eq!(first_segments("use std::{fs, io::{Read, Write}, net};", "std").len(), 3);
    assert_eq!(
        links("[a](docs/a.md#x) [b](https://b.example) ![c](c.svg)"),
        ["docs/a.md", "c.svg"]
    );
}
