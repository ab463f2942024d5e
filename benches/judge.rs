//! What judging one message costs: the published final report, issued now and sealed, under `policies/fixture.yaml`.
//!
//! `cargo bench --bench judge`. `judge/accept` is the whole way from bytes to verdict; it has to stay within 1.5 times of
//! `judge/parse` and `judge/jsonschema` together, the two things that nobody can leave out. The others are parts of it,
//! and refusals, which have to cost less. `worst` are messages made to be slow; their throughput must not fall with size.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "a bench that cannot be set up has nothing to measure"
)]

use std::hint::black_box;
use std::path::Path;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use jiff::Timestamp;
use jsonschema::Validator;
use portcullis::config;
use portcullis::decide::{self, Verdict};
use portcullis::facts::{Fact, Facts};
use portcullis::message::canonical;
use portcullis::message::envelope::{Form, Message};
use portcullis::message::json::{self, Bounds, Tree};
use portcullis::message::profile::Schemas;
use portcullis::policy::Policy;
use portcullis::rules::Input;
use serde_json::{Value, json};

const ISSUED_AT: &str = "2026-05-31T18:00:00Z";
const NOW: &str = "2026-05-31T18:00:05Z";

fn benches(criterion: &mut Criterion) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/fixture.yaml");
    let policy = config::load(&file).unwrap().policy;
    let report = sealed(report());
    let undeclared = {
        let mut message = self::report();
        message
            .pointer_mut("/body")
            .unwrap()
            .as_object_mut()
            .unwrap()
            .insert("approved_by".to_owned(), json!("nobody"));
        sealed(message)
    };
    let duplicate = String::from_utf8(report.clone())
        .unwrap()
        .replacen('{', r#"{"profile":"x","profile":"y","#, 1);
    let not_here = {
        let mut message = self::report();
        *message.pointer_mut("/target/id").unwrap() = json!("agt_somebody.else");
        sealed(message)
    };
    assert!(
        matches!(judge(&report, &policy), Some(Verdict::Allow(_))),
        "the report has to be allowed"
    );

    let mut group = criterion.benchmark_group("judge");
    group.throughput(Throughput::Bytes(report.len().try_into().unwrap()));
    group.bench_function("parse", |bencher| {
        bencher.iter(|| json::read(black_box(&report), &Bounds::default()).unwrap());
    });
    let root = json::read(&report, &Bounds::default()).unwrap();
    group.bench_function("digest", |bencher| bencher.iter(|| canonical::digest(black_box(&root))));
    let validators = ["envelope", "uai.agent.final-report.v1"].map(validator);
    let body = root.get("body").unwrap();
    group.bench_function("jsonschema", |bencher| {
        let [envelope, profile] = &validators;
        bencher.iter(|| envelope.is_valid(black_box(&root)) && profile.is_valid(black_box(body)));
    });
    let message = Message::open(&report, root).unwrap();
    group.bench_function("schema", |bencher| {
        bencher.iter(|| policy.schemas.violations(black_box(&message)).len());
    });
    for (name, bytes) in [
        ("accept", report.as_slice()),
        ("refuse undeclared member", &undeclared),
        ("refuse another agent", &not_here),
        ("refuse duplicate member", duplicate.as_bytes()),
    ] {
        group.bench_function(name, |bencher| bencher.iter(|| judge(black_box(bytes), &policy)));
    }
    group.bench_function("decide", |bencher| {
        bencher.iter(|| decide(&policy, black_box(&message)))
    });
    group.finish();

    let mut group = criterion.benchmark_group("worst");
    for kib in [16, 64, 256] {
        // Every element is one more sentence that could be a claim, and as short as the bound on values lets it be.
        let accepted = filled(kib, &json!("UAIX is ok."));
        // Every element is one more violation.
        let refused = filled(kib, &json!(1_000_000_000_000_u64));
        assert!(matches!(judge(&accepted, &policy), Some(Verdict::Allow(_))));
        assert!(matches!(judge(&refused, &policy), Some(Verdict::Refused(_))));
        for (name, bytes) in [("accept", accepted), ("refuse", refused)] {
            group.throughput(Throughput::Bytes(bytes.len().try_into().unwrap()));
            group.bench_function(BenchmarkId::new(name, kib), |bencher| {
                bencher.iter(|| judge(black_box(&bytes), &policy));
            });
        }
    }
    group.finish();
}

/// A shipped schema as its crate alone would judge by it.
fn validator(name: &str) -> Validator<Tree> {
    let schema: Value = serde_json::from_str(Schemas::shipped_text(name).unwrap()).unwrap();
    let options = jsonschema::options_for::<Tree>().should_validate_formats(true);
    options.build(&schema).unwrap()
}

/// The report with as many of these elements as make it about so large.
fn filled(kib: usize, element: &Value) -> Vec<u8> {
    let names = [
        "files_changed",
        "tests_run",
        "risks",
        "validation_evidence",
        "skipped_checks",
    ];
    let list = element.to_string().len().saturating_add(1).saturating_mul(names.len());
    let count = kib.saturating_sub(3).saturating_mul(1024).checked_div(list).unwrap();
    let mut message = report();
    for name in names {
        *message.pointer_mut(&format!("/body/{name}")).unwrap() = json!(vec![element; count]);
    }
    sealed(message)
}

/// From bytes to verdict; `None` is a refusal of stage 3 or 4.
fn judge(bytes: &[u8], policy: &Policy) -> Option<Verdict> {
    let route = policy.routes.first()?;
    let message = decide::read(bytes, policy, Form::Keyed, &route.messages()?.envelopes).ok()?;
    decide(policy, &message)
}

/// From message to verdict.
fn decide(policy: &Policy, message: &Message<'_>) -> Option<Verdict> {
    let route = policy.routes.first()?;
    let facts = Facts::at(Fact::Known(NOW.parse::<Timestamp>().unwrap()));
    Some(decide::decide(&Input {
        policy,
        route,
        declared: route.messages()?,
        message,
        facts: &facts,
    }))
}

fn report() -> Value {
    let mut message: Value = serde_json::from_str(include_str!("../examples/final-report.keyed.json")).unwrap();
    *message.pointer_mut("/provenance/issued_at").unwrap() = json!(ISSUED_AT);
    *message.pointer_mut("/body/memory_updates_proposed").unwrap() = json!([]);
    message
}

fn sealed(mut message: Value) -> Vec<u8> {
    let bytes = message.to_string();
    let digest = canonical::digest(&json::read(bytes.as_bytes(), &Bounds::default()).unwrap());
    *message.pointer_mut("/integrity/checksum").unwrap() = json!(format!("sha256:{digest}"));
    message.to_string().into_bytes()
}

criterion_group!(judging, benches);
criterion_main!(judging);
