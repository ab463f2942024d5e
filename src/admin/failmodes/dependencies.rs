//! One row for each thing outside the rules that can fail: files, the sink, the backend, the client, the gate itself.

use super::{Answer, FailMode, Proof};
use crate::contract::Rule;

/// Every dependency.
pub const DEPENDENCIES: &[FailMode] = &[
    refuses(Rule::BackendUnreachable, "backend", "it takes no connection", "TODO"),
    refuses(
        Rule::BackendLost,
        "backend",
        "the connection is lost after the first byte was sent",
        "TODO",
    ),
    refuses(Rule::BackendTimeout, "backend", "no answer within the deadline", "TODO"),
    refuses(
        Rule::BackendContract,
        "backend",
        "an answer that is too large or breaks the contract",
        "TODO",
    ),
    refuses(
        Rule::StateUnavailable,
        "records, `ledger: required`",
        "the last record could not be written; `/readyz` says so",
        "TODO",
    ),
    happens(
        "records, `ledger: best_effort`",
        "a record cannot be written",
        "served; the loss is counted in `portcullis_records_lost_total`",
        "src/record/sink.rs::a_full_device_is_counted_and_not_sound",
    ),
    happens(
        "records",
        "a write breaks off in the middle of a line",
        "the line is counted as lost, the next begins a new line",
        "src/record/sink.rs::a_sink_that_recovers_is_sound_again_and_begins_a_new_line",
    ),
    refuses(
        Rule::InternalPanic,
        "the gate itself",
        "a panic; it costs one request and the process serves on",
        "TODO",
    ),
    happens(
        "client",
        "it leaves before the answer",
        "no answer; the record says `aborted` and the stage reached",
        "TODO",
    ),
    happens(
        "policy file",
        "unreadable or with a mistake at start",
        "exit 3, every mistake with line and column; nothing listens",
        "TODO",
    ),
    happens(
        "policy file",
        "unreadable or with a mistake at a reload",
        "the last good policy stays; a record, `/policy` and `portcullis_policy_reload_failed` say so",
        "TODO",
    ),
    happens(
        "schema file",
        "unreadable, open where the built-in is closed, or not compilable",
        "as a mistake of the policy file",
        "TODO",
    ),
    happens(
        "TLS certificate or key",
        "unreadable or unfit at start",
        "exit 3; nothing listens",
        "TODO",
    ),
    happens(
        "TLS certificate or key",
        "unreadable or unfit at a reload",
        "the last good pair stays; a record says so",
        "TODO",
    ),
    happens(
        "drain",
        "SIGTERM while requests run",
        "`/readyz` is 503, no new connection; what runs may end within `deadlines.drain`",
        "TODO",
    ),
    happens(
        "connections",
        "more clients than `limits.connections`",
        "further ones wait to be accepted",
        "TODO",
    ),
    happens(
        "admin listener",
        "a client that sends nothing or reads nothing",
        "closed at a deadline; the gate does not notice",
        "tests/admin.rs::a_silent_client_is_closed",
    ),
];

const fn refuses(rule: Rule, what: &'static str, when: &'static str, test: &'static str) -> FailMode {
    FailMode {
        what,
        when,
        answer: Answer::Refuse(rule),
        proof: Proof::Test(test),
    }
}

const fn happens(what: &'static str, when: &'static str, then: &'static str, test: &'static str) -> FailMode {
    FailMode {
        what,
        when,
        answer: Answer::Text(then),
        proof: Proof::Test(test),
    }
}
