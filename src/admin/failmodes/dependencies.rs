//! One row for each thing outside the rules that can fail: files, the sink, the backend, the client, the gate itself.

use super::{Answer, FailMode, Proof};
use crate::contract::Rule;

/// Every dependency.
pub const DEPENDENCIES: &[FailMode] = &[
    refuses(
        Rule::BackendUnreachable,
        "backend",
        "it takes no connection",
        "tests/gateway_limits.rs::a_backend_that_is_not_there_has_not_seen_it",
    ),
    refuses(
        Rule::BackendLost,
        "backend",
        "the connection is lost after the first byte was sent",
        "tests/gateway_limits.rs::a_backend_that_hangs_up_or_never_answers_may_have_seen_it",
    ),
    refuses(
        Rule::BackendTimeout,
        "backend",
        "no answer within the deadline",
        "tests/gateway_limits.rs::a_backend_that_hangs_up_or_never_answers_may_have_seen_it",
    ),
    refuses(
        Rule::BackendContract,
        "backend",
        "an answer that is too large or breaks the contract",
        "tests/gateway_forward.rs::an_answer_that_says_it_is_uai_is_judged",
    ),
    refuses(
        Rule::StateUnavailable,
        "records, `ledger: required`",
        "the last record could not be written; `/readyz` says so",
        "tests/gateway_record.rs::nothing_is_forwarded_while_records_are_lost",
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
    happens(
        "store",
        "it cannot be read or written, or does not answer in time",
        "`state.unavailable` 503; nothing reaches the backend, and a late commit is undone",
        "tests/once.rs::a_store_that_is_down_lets_nothing_through",
    ),
    happens(
        "store",
        "it cannot be opened at the start",
        "exit 3; nothing listens",
        "tests/cli.rs::run_does_not_start_without_its_store",
    ),
    happens(
        "store",
        "an answer of the backend cannot be stored",
        "the client gets it; an event says so, and later requests with its key are told that the outcome is unknown",
        "tests/once.rs::a_true_answer_is_given_also_when_it_cannot_be_stored",
    ),
    happens(
        "store that forgets",
        "the process starts again",
        "`/readyz` is 503 until the restart fence has passed",
        "tests/once.rs::a_gate_that_began_without_a_past_says_when_it_is_ready",
    ),
    happens(
        "fence file",
        "missing, damaged, or later than any clock may be",
        "the fence is not known, and `/readyz` is 503, until it is reset",
        "src/state/fence.rs::a_lost_or_damaged_file_is_unknown_until_it_is_reset",
    ),
    happens(
        "client",
        "it leaves while its remembered request runs",
        "the request is brought to its end and its answer stored; the record says `aborted`",
        "tests/once.rs::a_client_that_leaves_does_not_take_its_request_along",
    ),
    refuses(
        Rule::InternalPanic,
        "the gate itself",
        "a panic; it costs one request and the process serves on",
        "tests/gateway_record.rs::a_panic_costs_one_request",
    ),
    happens(
        "client",
        "it leaves before the answer",
        "no answer; the record says `aborted` and the stage reached",
        "tests/gateway_record.rs::a_client_that_hangs_up_is_aborted_and_so_is_its_request_at_the_backend",
    ),
    happens(
        "policy file",
        "unreadable or with a mistake at start",
        "exit 3, every mistake with line and column; nothing listens",
        "tests/cli.rs::check_lists_every_mistake",
    ),
    happens(
        "policy file",
        "unreadable or with a mistake at a reload",
        "the last good policy stays; a record, `/policy` and `portcullis_policy_reload_failed` say so",
        "src/config/watch/mod.rs::a_bad_change_keeps_the_last_good_one_and_is_told_once",
    ),
    happens(
        "schema file",
        "unreadable, open where the built-in is closed, or not compilable",
        "as a mistake of the policy file",
        "tests/policy_mistakes.rs::files_that_the_policy_names_are_read_from_beside_it",
    ),
    happens(
        "TLS certificate or key",
        "unreadable or unfit at start",
        "exit 3; nothing listens",
        "tests/policy_mistakes.rs::files_that_the_policy_names_are_read_from_beside_it",
    ),
    happens(
        "TLS certificate or key",
        "unreadable or unfit at a reload",
        "the last good pair stays; a record says so",
        "tests/gateway_http2.rs::a_changed_certificate_is_taken_and_a_bad_one_is_not",
    ),
    happens(
        "client CA bundle or revocation list",
        "unreadable or unfit at start",
        "exit 3; nothing listens",
        "tests/trust_certificates.rs::a_gate_that_could_judge_no_certificate_does_not_start",
    ),
    happens(
        "client CA bundle or revocation list",
        "unreadable or unfit at a reload",
        "nobody is proven by it (`auth.unavailable`) until it can be read; a record says so",
        "tests/trust_certificates.rs::a_list_that_cannot_tell_lets_nobody_in",
    ),
    happens(
        "signing key",
        "unreadable, open to anybody, or no private key that signs, at start",
        "exit 3, as a mistake of the policy file; nothing listens",
        "tests/gateway_capability.rs::a_bad_key_is_a_mistake_of_the_policy",
    ),
    happens(
        "signing key",
        "unreadable or unfit at a reload",
        "the last good key signs on; a record says so",
        "tests/gateway_capability.rs::a_changed_key_is_taken_and_a_bad_one_is_not",
    ),
    happens(
        "capability document",
        "the gate has no key, or the crypto library makes no signature",
        "`route.undeclared` 404; nothing unsigned is served",
        "tests/gateway_capability.rs::a_gate_without_a_key_serves_no_document",
    ),
    happens(
        "keys of an issuer",
        "file or URL gives no set at the start",
        "a record and standard error say which; `/readyz` is 503, a `kid` that no set holds is `keys.unavailable`; tried again in the background",
        "tests/trust_keys.rs::nothing_passes_while_an_issuer_was_never_loaded",
    ),
    happens(
        "keys of an issuer",
        "the URL cannot be reached at the start",
        "the same; a message that needs the keys asks once more, then the cool-down holds",
        "tests/trust_keys.rs::a_server_that_is_not_there_at_the_start_is_asked_again",
    ),
    happens(
        "keys of an issuer",
        "a file turns unreadable or malformed",
        "the last good set stays until `max_stale`; a record says so",
        "tests/trust_keys.rs::a_file_that_turns_bad_keeps_the_last_good_set",
    ),
    happens(
        "keys of an issuer",
        "a server is cut off",
        "the last good set stays until `max_stale`, then its keys are `keys.unavailable` and `/readyz` is 503",
        "tests/trust_keys.rs::a_cut_off_server_is_forgiven_until_the_set_is_too_old",
    ),
    happens(
        "keys of an issuer",
        "an answer that is too large, too slow, a redirect, of another type or no set",
        "not taken; as a server that is cut off",
        "tests/trust_keys.rs::an_answer_that_is_no_set_is_not_taken",
    ),
    happens(
        "keys of an issuer",
        "a server whose certificate no CA of the policy vouches for",
        "not taken; as a server that is cut off",
        "tests/trust_keys.rs::a_server_that_nobody_vouches_for_is_not_believed",
    ),
    happens(
        "keys of an issuer",
        "a `kid` that nobody knows, again and again",
        "one fetch for all who ask at once, then none until the cool-down ends",
        "tests/trust_keys.rs::an_unknown_kid_fetches_once_for_all_who_ask_and_then_the_cool_down_holds",
    ),
    happens(
        "keys of an issuer",
        "one `kid` in two sets",
        "not used in the set that brought it later; a record and `check` say so",
        "tests/trust_keys.rs::a_kid_in_two_sets_belongs_to_the_one_that_had_it_first",
    ),
    happens(
        "security records",
        "one peer sends failed signatures without end",
        "ten records a minute; the rest are counted in the next one and in `portcullis_security_records_suppressed_total`",
        "tests/trust_keys.rs::a_failed_signature_leaves_a_security_record_and_a_flood_of_them_ten",
    ),
    happens(
        "embedded store",
        "its directory is in use by another process",
        "exit 3; nothing listens",
        "tests/state_engines.rs::a_second_process_is_refused",
    ),
    happens(
        "embedded store",
        "its directory or a file in it cannot be written",
        "exit 3; nothing listens",
        "tests/crash.rs::a_place_that_cannot_be_written_is_refused",
    ),
    happens(
        "embedded store",
        "a newer format",
        "exit 3; nothing listens",
        "tests/state_engines.rs::a_newer_format_is_refused",
    ),
    happens(
        "embedded store",
        "a file is missing",
        "exit 3; nothing listens",
        "tests/crash.rs::a_missing_file_is_refused",
    ),
    happens(
        "embedded store",
        "a file is damaged",
        "exit 3 where opening finds it, else every request is refused",
        "tests/crash.rs::a_turned_byte_is_found_or_harmless",
    ),
    happens(
        "embedded store",
        "a write or a sync fails, as on a full disk",
        "that commit and all later ones are refused until the store is opened again",
        "tests/crash.rs::a_full_disk_is_refused_and_loses_nothing",
    ),
    happens(
        "embedded store",
        "the process is killed",
        "what was acknowledged is there at the next start, nothing by half",
        "tests/crash.rs::killed_at_every_step_nothing_acknowledged_is_lost",
    ),
    happens(
        "redis",
        "it stops or is not there",
        "every request that has to be remembered is refused, 503 `state.unavailable`; it connects again by itself; exit 3 at start",
        "tests/state_redis.rs::a_server_that_stops_and_one_that_is_not_there_are_unreachable",
    ),
    happens(
        "redis",
        "it does not answer in time",
        "every request that has to be remembered is refused, 503 `state.unavailable`",
        "tests/state_redis.rs::a_server_that_does_not_answer_is_unreachable_in_time",
    ),
    happens(
        "redis",
        "it comes back empty",
        "every request that has to be remembered is refused, 503 `state.unavailable` until `state reset-fence`",
        "tests/state_redis.rs::a_server_that_comes_back_empty_has_forgotten",
    ),
    happens(
        "redis",
        "it is emptied while it runs",
        "every request that has to be remembered is refused, 503 `state.unavailable` until `state reset-fence`; a fresh process is fenced",
        "tests/state_redis.rs::a_flushed_store_stays_forgotten_until_an_operator_resets_the_fence",
    ),
    happens(
        "redis",
        "it fails over to a copy that is behind",
        "refused by every process until `state reset-fence`",
        "tests/state_redis.rs::a_store_that_is_behind_has_forgotten_for_everybody",
    ),
    happens(
        "redis",
        "its memory is full",
        "every request that has to be remembered is refused, 503 `state.unavailable`; nothing live is dropped",
        "tests/state_redis.rs::a_server_without_memory_is_exhausted_and_nothing_is_dropped",
    ),
    happens(
        "redis",
        "its policy drops entries",
        "exit 3 at start; set later, refused from the next sweep on",
        "tests/state_redis.rs::a_server_that_drops_entries_is_refused",
    ),
    happens(
        "redis",
        "it is a replica",
        "exit 3 at start",
        "tests/state_redis.rs::a_replica_is_refused",
    ),
    happens(
        "redis",
        "fewer replicas than `wait` have a commit",
        "that request is refused, and so is its repetition",
        "tests/state_redis.rs::a_commit_waits_for_its_replicas",
    ),
    happens(
        "redis",
        "a wrong password",
        "exit 3 at start; no message shows it",
        "tests/state_redis.rs::a_wrong_password_is_told_and_never_shown",
    ),
    happens(
        "redis",
        "a certificate of another CA",
        "exit 3 at start",
        "tests/state_redis.rs::tls_is_taken_from_the_right_ca_only",
    ),
    happens(
        "redis",
        "its entries are of another version",
        "exit 3 at start",
        "tests/state_redis.rs::what_is_not_of_this_version_is_refused",
    ),
    happens(
        "postgres",
        "it crashes",
        "every request that has to be remembered is refused, 503 `state.unavailable`; it connects again by itself, with everything that was answered",
        "tests/state_postgres.rs::a_server_that_crashes_is_unreachable_and_comes_back_with_all",
    ),
    happens(
        "postgres",
        "its tables are gone, emptied or restored from a backup",
        "every request that has to be remembered is refused, 503 `state.unavailable` until `state reset-fence`",
        "tests/state_postgres.rs::tables_that_are_gone_or_behind_are_forgotten_until_an_operator_resets_the_fence",
    ),
    happens(
        "postgres",
        "it is read only, or does not write to its disk",
        "exit 3 at start",
        "tests/state_postgres.rs::a_server_that_does_not_write_or_not_to_its_disk_is_refused",
    ),
    happens(
        "postgres",
        "`synchronous_commit` is off",
        "overruled in each commit",
        "tests/state_postgres.rs::a_commit_is_durable_whatever_the_session_says",
    ),
    happens(
        "postgres",
        "its disk is full",
        "every request that has to be remembered is refused, 503 `state.unavailable`; nothing of the commit is left",
        "tests/state_postgres.rs::a_server_without_room_is_exhausted_and_nothing_of_the_commit_is_left",
    ),
    happens(
        "postgres",
        "another process holds the lock for too long",
        "every request that has to be remembered is refused, 503 `state.unavailable`",
        "tests/state_postgres.rs::a_lock_that_is_held_is_waited_for_so_long",
    ),
    happens(
        "postgres",
        "a wrong password",
        "exit 3 at start; no message shows it",
        "tests/state_postgres.rs::a_wrong_password_or_url_is_told_and_never_shown",
    ),
    happens(
        "postgres",
        "a certificate of another CA",
        "exit 3 at start",
        "tests/state_postgres.rs::tls_is_taken_from_the_right_ca_only",
    ),
    happens(
        "postgres",
        "its tables are of another version",
        "exit 3 at start",
        "tests/state_postgres.rs::what_is_not_of_this_version_is_refused",
    ),
    happens(
        "redis, postgres",
        "two processes admit one message at once",
        "exactly one does",
        "tests/state_postgres.rs::of_two_processes_exactly_one_is_done",
    ),
    happens(
        "drain",
        "SIGTERM while requests run",
        "`/readyz` is 503, no new connection; what runs may end within `deadlines.drain`",
        "tests/gateway_record.rs::an_endless_stream_does_not_keep_the_process",
    ),
    happens(
        "connections",
        "more clients than `limits.connections`",
        "further ones wait to be accepted",
        "tests/gateway_limits.rs::connections_over_the_limit_wait",
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
