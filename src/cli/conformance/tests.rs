//! The cases are those of the contract, run wherever they can, and find an implementation that lets through or lies.

use std::collections::BTreeSet;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use super::case::{Need, Runs};
use super::*;
use crate::app::{Running, Setup};
use crate::cli::backend::Backend;
use crate::config::{self, Overrides};
use crate::record::Sink;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The rows of the table in contract §16, each as its cells.
fn rows() -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join("docs/contract.md")).unwrap();
    let section = text.split("\n## 16").nth(1).unwrap().split("\n## 17").next().unwrap();
    let cells = |line: &str| {
        line.trim_matches('|')
            .split(" | ")
            .map(|cell| cell.trim().to_owned())
            .collect()
    };
    let is_case = |line: &&str| line.starts_with("| V") || line.starts_with("| I");
    section.lines().filter(is_case).map(cells).collect()
}

#[test]
fn the_cases_are_those_of_the_contract() {
    let cases = cases::all().unwrap();
    let rows = rows();
    assert!(rows.len() > 40, "only {} rows", rows.len());
    let ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(ids, rows.iter().map(|row| row[0].as_str()).collect::<Vec<_>>());
    for (case, row) in cases.iter().zip(&rows) {
        let expect = &case.expect;
        assert_eq!(case.route, row[1], "{}", case.id);
        let place = match case.runs {
            Runs::Anywhere => "T",
            Runs::InProcess => "P",
        };
        assert_eq!(row[4], place, "{}", case.id);
        let wanted = match (&expect.code, &expect.rule, expect.verdict.as_str()) {
            (Some(code), Some(rule), "rejected" | "no_op") => {
                format!("{}, {} {code}, `{rule}`", expect.verdict, expect.status)
            }
            (_, _, "held") => format!("held, {}", expect.status),
            (_, _, _) if expect.two_keys.is_some() => format!("`ok`, {}", expect.status),
            (_, _, verdict) => verdict.to_owned(),
        };
        assert!(
            row[3].starts_with(&wanted),
            "{}: {wanted}, contract: {}",
            case.id,
            row[3]
        );
    }
}

#[test]
fn every_file_is_a_case_that_is_run() {
    let listed: BTreeSet<String> = cases::all().unwrap().into_iter().map(|case| case.id).collect();
    let files: BTreeSet<String> = fs::read_dir(root().join("tests/conformance"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(files, listed);
}

/// Only a rule that is not built keeps a case from being run, and every rule that is expected is built or needed.
#[test]
fn nothing_is_pending_that_is_built() {
    for need in Need::ALL {
        assert!(!need.rules().is_empty(), "{need:?}");
    }
    for case in cases::all().unwrap() {
        let needed: Vec<_> = case.needs.iter().flat_map(|need| need.rules()).collect();
        assert_eq!(
            case.pending().is_some(),
            needed.iter().any(|rule| !rule.is_built()),
            "{}",
            case.id
        );
        let rule = case.expect.rule.as_deref();
        let rule = rule.map(|id| *crate::contract::Rule::ALL.iter().find(|rule| rule.id() == id).unwrap());
        if let Some(rule) = rule {
            assert!(
                rule.is_built() || needed.contains(&&rule),
                "{} runs without its rule",
                case.id
            );
            assert_eq!(case.expect.code.as_deref(), Some(rule.code().name()), "{}", case.id);
        }
    }
}

fn on_runtime<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build().unwrap().block_on(future)
}

async fn backend() -> Backend {
    Backend::start((Ipv4Addr::LOCALHOST, 0).into()).await.unwrap()
}

fn faults(results: &[Result]) -> Vec<String> {
    let told = |result: &Result| match &result.ran.outcome {
        Outcome::Failed(faults) => Some(format!("{}: {}", result.case.id, faults.join("; "))),
        Outcome::Passed | Outcome::Pending(_) => None,
    };
    results.iter().filter_map(told).collect()
}

#[test]
fn no_case_fails_in_process() {
    let arguments = Arguments {
        target: None,
        backend: (Ipv4Addr::LOCALHOST, 0).into(),
        junit: None,
    };
    let results = on_runtime(results(&arguments)).unwrap();
    assert_eq!(faults(&results), Vec::<String>::new());
    let ran = results
        .iter()
        .filter(|result| matches!(result.ran.outcome, Outcome::Passed));
    assert!(ran.count() >= 18);
}

#[test]
fn a_gate_reached_by_its_address_gives_the_same_answers() {
    let results = on_runtime(async {
        let backend = backend().await;
        let overrides = Overrides {
            listen: Some("127.0.0.1:0".to_owned()),
            admin: Some("127.0.0.1:0".to_owned()),
            backend: Some(format!("http://{}", backend.address)),
        };
        let file = root().join("policies/fixture.yaml");
        let setup = Setup {
            config: config::load_with(&file, &overrides).unwrap(),
            watched: None,
            sink: Sink::memory(),
            clock: Clock::system(),
            store: Some(std::sync::Arc::new(crate::state::memory::Memory::new(None))),
        };
        let gate = Running::start(setup).await.unwrap();
        let site = Site::foreign(backend, gate.gate().to_string(), "/");
        let results = results_at(&site, &Clock::system()).await.unwrap();
        gate.stop().await;
        results
    });
    assert_eq!(faults(&results), Vec::<String>::new());
}

/// The backend without a gate in front: it answers 200 to everything, and everything arrives.
#[test]
fn an_implementation_that_lets_everything_through_fails_every_case() {
    let results = on_runtime(async {
        let backend = backend().await;
        let address = backend.address.to_string();
        let site = Site::foreign(backend, address, "/");
        results_at(&site, &Clock::system()).await.unwrap()
    });
    for result in &results {
        match &result.ran.outcome {
            Outcome::Passed => panic!("{} passed", result.case.id),
            Outcome::Pending(_) => {}
            Outcome::Failed(faults) if !result.case.before.is_empty() => {
                assert_eq!(faults[0], "request 1 before it: expected allow, got nothing");
            }
            Outcome::Failed(faults) => {
                assert!(faults[0].starts_with("verdict: expected"), "{faults:?}");
                let arrived = faults
                    .iter()
                    .any(|fault| fault == "expected nothing at the backend, got 1");
                assert_eq!(arrived, !result.case.expect.is_forwarded(), "{}", result.case.id);
            }
        }
    }
}

#[test]
fn a_target_is_a_plain_http_url() {
    for target in [
        "https://gate.example",
        "gate.example:80",
        "/v1",
        "http://gate.example/?a=b",
    ] {
        let arguments = Arguments {
            target: Some(target.to_owned()),
            backend: (Ipv4Addr::LOCALHOST, 0).into(),
            junit: None,
        };
        let error = on_runtime(results(&arguments)).err().unwrap();
        assert!(error.contains("expected http://HOST"), "{error}");
    }
}
