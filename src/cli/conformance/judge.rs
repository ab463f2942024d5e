//! Runs one case and holds everything that can be seen of it against what has to come of it.

use http::HeaderMap;
use serde_json::Value;
use uuid::Uuid;

use super::case::{Case, Expect, Runs, Then};
use super::fill::{Filled, Filler};
use super::sign::Keys;
use super::site::Site;
use crate::cli::backend::Seen;
use crate::cli::exchange::Answer;
use crate::clock::Clock;
use crate::message::profile::Schemas;

/// What became of a case.
#[derive(Debug)]
pub enum Outcome {
    /// Everything was as it has to be.
    Passed,
    /// What was not.
    Failed(Vec<String>),
    /// It was not run, and why.
    Pending(String),
}

/// What was seen of one case.
#[derive(Debug)]
pub struct Ran {
    /// What became of it.
    pub outcome: Outcome,
    /// Verdict, status, code and rule of the answer, as far as there were any.
    pub got: [Option<String>; 4],
    /// The body of a request that must not arrive, also not later.
    pub refused: Option<Refused>,
}

/// A body that was refused.
#[derive(Debug)]
pub struct Refused {
    body: Vec<u8>,
    /// How often it had arrived when it was refused: a replay is a body that was let through before.
    arrived: usize,
}

impl Refused {
    fn new(body: &[u8], site: &Site) -> Self {
        Self {
            arrived: count(body, &site.backend.seen()),
            body: body.to_vec(),
        }
    }

    /// Whether it arrived once more after it was refused.
    pub fn has_arrived(&self, seen: &[Seen]) -> bool {
        count(&self.body, seen) > self.arrived
    }
}

fn count(body: &[u8], seen: &[Seen]) -> usize {
    seen.iter().filter(|seen| seen.body == body).count()
}

impl Ran {
    fn without_answer(outcome: Outcome) -> Self {
        Self {
            outcome,
            got: [None, None, None, None],
            refused: None,
        }
    }
}

/// Runs a case, unless it cannot be run here.
pub async fn run(case: &Case, site: &Site, schemas: &Schemas, keys: &Keys, clock: &Clock) -> Ran {
    if let Some(reason) = case.pending() {
        return Ran::without_answer(Outcome::Pending(reason));
    }
    if case.runs == Runs::InProcess && !site.is_own() {
        let reason = "needs what HTTP cannot reach, so it runs in process only";
        return Ran::without_answer(Outcome::Pending(reason.to_owned()));
    }
    let filler = Filler {
        now: clock.now(),
        id: Uuid::from_u128(clock.id().as_u128()),
        schemas,
        keys,
    };
    match send(case, site, &filler).await {
        Ok((filled, seen, answer)) => judged(case, site, &filled, &seen, &answer),
        Err(failure) => Ran::without_answer(Outcome::Failed(vec![failure])),
    }
}

/// Sends what comes before and the request itself; also what the backend saw of the request alone.
async fn send(case: &Case, site: &Site, filler: &Filler<'_>) -> Result<(Filled, Vec<Seen>, Answer), String> {
    for (number, before) in (1_usize..).zip(&case.before) {
        let answer = site.send(&filler.request(before)?).await?;
        if answer.verdict() != Some("allow") {
            let verdict = answer.verdict().unwrap_or("nothing");
            return Err(format!("request {number} before it: expected allow, got {verdict}"));
        }
    }
    let filled = filler.request(&case.request)?;
    let already = site.backend.seen().len();
    let answer = site.send(&filled).await?;
    let seen = site.backend.seen().into_iter().skip(already).collect();
    Ok((filled, seen, answer))
}

fn judged(case: &Case, site: &Site, filled: &Filled, seen: &[Seen], answer: &Answer) -> Ran {
    let expect = &case.expect;
    let body = answer.json();
    let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
    let got = [
        answer.verdict().map(str::to_owned),
        Some(answer.status.to_string()),
        text("code"),
        text("rule"),
    ];
    let mut faults = Vec::new();
    let [verdict, status, code, rule] = &got;
    compare(&mut faults, "verdict", Some(&expect.verdict), verdict.as_deref());
    compare(
        &mut faults,
        "status",
        Some(&expect.status.to_string()),
        status.as_deref(),
    );
    match &expect.two_keys {
        Some(key) => compare(&mut faults, "code", Some(key), code.as_deref()),
        None => {
            compare(&mut faults, "code", expect.code.as_deref(), code.as_deref());
            compare(&mut faults, "rule", expect.rule.as_deref(), rule.as_deref());
        }
    }
    fields(&mut faults, "answer", &answer.headers, expect, filled);
    arrival(&mut faults, expect, filled, seen);
    if site.is_own() {
        record(&mut faults, expect, site.last_record());
    }
    match case.then {
        // Nothing holds yet, so nothing can be approved; a case that gets this far must not pass unfinished.
        Some(Then::Approve) => faults.push("this runner cannot approve what is held".to_owned()),
        None => {}
    }
    Ran {
        outcome: if faults.is_empty() {
            Outcome::Passed
        } else {
            Outcome::Failed(faults)
        },
        got,
        refused: (!expect.is_forwarded() && !filled.body.is_empty()).then(|| Refused::new(&filled.body, site)),
    }
}

/// A refusal leaves the backend untouched; what is allowed arrives once, byte for byte.
fn arrival(faults: &mut Vec<String>, expect: &Expect, filled: &Filled, seen: &[Seen]) {
    match (expect.is_forwarded(), seen) {
        (true, [seen]) => {
            if seen.body != filled.body {
                faults.push("the backend got other bytes than were sent".to_owned());
            }
            fields(faults, "backend", &seen.headers, expect, filled);
        }
        (false, []) => {}
        (true, seen) => faults.push(format!("expected one request at the backend, got {}", seen.len())),
        (false, seen) => faults.push(format!("expected nothing at the backend, got {}", seen.len())),
    }
}

/// The header fields of the answer, or of the request at the backend.
fn fields(faults: &mut Vec<String>, place: &str, headers: &HeaderMap, expect: &Expect, filled: &Filled) {
    let expected = match place {
        "backend" => &expect.arrives,
        _ => &expect.headers,
    };
    for (name, template) in expected {
        let got = headers.get(name).and_then(|value| value.to_str().ok());
        let digest = filled.digest.as_deref().unwrap_or_default();
        let wanted = template.replace("{{digest}}", digest);
        if wanted == "*" && got.is_some() {
            continue;
        }
        compare(faults, &format!("{name} ({place})"), Some(&wanted), got);
    }
}

/// The record says what the answer says.
fn record(faults: &mut Vec<String>, expect: &Expect, record: Option<Value>) {
    let record = record.unwrap_or_default();
    let member = |name: &str| match record.get(name) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => None,
    };
    let status = expect.status.to_string();
    for (name, wanted) in [
        ("verdict", Some(expect.verdict.as_str())),
        ("status", Some(status.as_str())),
        ("code", expect.code.as_deref()),
        ("rule", expect.rule.as_deref()),
    ] {
        compare(
            faults,
            &format!("{name} of the record"),
            wanted,
            member(name).as_deref(),
        );
    }
}

fn compare(faults: &mut Vec<String>, what: &str, expected: Option<&str>, got: Option<&str>) {
    if expected != got {
        let expected = expected.unwrap_or("none");
        faults.push(format!("{what}: expected {expected}, got {}", got.unwrap_or("none")));
    }
}
