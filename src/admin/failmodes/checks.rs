//! One row for each check of a request, in the order of the stages.

use super::{Answer, FailMode, Proof};
use crate::contract::Rule;

/// Every check. Rules of the backend leg and of the gate itself stand among the dependencies.
pub const CHECKS: &[FailMode] = &[
    tested(
        Rule::HttpFraming,
        "framing",
        "two lengths, a length and a transfer coding, or an unknown coding",
        "tests/gateway_refuse.rs::framing_has_one_reading",
    ),
    tested(
        Rule::HttpHeader,
        "header",
        "a name with `_`, a value with control bytes, or `Connection` naming a field that decides",
        "tests/gateway_refuse.rs::a_head_asks_for_nothing_strange",
    ),
    tested(
        Rule::HttpHeaderSize,
        "header size",
        "more header bytes or fields than the limit",
        "tests/gateway_limits.rs::every_limit_has_its_answer",
    ),
    tested(
        Rule::HttpTargetLength,
        "target length",
        "a target longer than the limit",
        "tests/gateway_limits.rs::every_limit_has_its_answer",
    ),
    tested(
        Rule::HttpTarget,
        "target",
        "a path with two readings, or a host that is not public",
        "tests/gateway_refuse.rs::one_reading_of_the_target",
    ),
    tested(
        Rule::HttpMethodOverride,
        "method",
        "a header that asks for another method",
        "tests/gateway_refuse.rs::a_head_asks_for_nothing_strange",
    ),
    tested(
        Rule::HttpUpgrade,
        "upgrade",
        "a request to switch protocols",
        "tests/gateway_refuse.rs::a_head_asks_for_nothing_strange",
    ),
    tested(
        Rule::HttpEarlyData,
        "early data",
        "`Early-Data: 1`, a request that may be a replay",
        "tests/gateway_refuse.rs::a_head_asks_for_nothing_strange",
    ),
    tested(
        Rule::HttpTimeout,
        "head and body in time",
        "the head or the body takes longer than its deadline",
        "tests/gateway_limits.rs::a_slow_head_or_body_ends_in_a_timeout",
    ),
    tested(
        Rule::RouteUndeclared,
        "route",
        "a path that the policy does not declare",
        "tests/gateway_refuse.rs::what_is_not_declared_is_refused",
    ),
    tested(
        Rule::RouteMethod,
        "route",
        "a method that the policy does not declare for this path",
        "tests/gateway_refuse.rs::what_is_not_declared_is_refused",
    ),
    tested(
        Rule::HttpQuery,
        "query",
        "a query on a route that declares no parameters",
        "tests/gateway_refuse.rs::one_reading_of_the_target",
    ),
    tested(
        Rule::RouteMediaType,
        "media type",
        "no media type, several, or one that the route does not take",
        "tests/gateway_refuse.rs::one_media_type",
    ),
    tested(
        Rule::RouteContentEncoding,
        "content coding",
        "any content coding",
        "tests/gateway_refuse.rs::one_media_type",
    ),
    tested(
        Rule::JsonSize,
        "body size",
        "a body over the limit, declared or not",
        "tests/gateway_limits.rs::every_limit_has_its_answer",
    ),
    tested(
        Rule::LimitsRate,
        "concurrency",
        "more requests at once than the limit",
        "tests/gateway_limits.rs::requests_in_progress_are_bounded",
    ),
    tested(
        Rule::AuthorityAssertedHeader,
        "authority",
        "a client sends a `UAI-*` field that only the gate may set",
        "tests/gateway_refuse.rs::a_head_asks_for_nothing_strange",
    ),
    cases(
        Rule::JsonUtf8,
        "strict JSON",
        "bytes that are not UTF-8, or a byte order mark",
    ),
    cases(Rule::JsonSyntax, "strict JSON", "anything that RFC 8259 does not allow"),
    cases(Rule::JsonDuplicateKey, "strict JSON", "two members with one name"),
    cases(
        Rule::JsonCodepoint,
        "strict JSON",
        "a lone surrogate, a noncharacter or U+0000",
    ),
    cases(
        Rule::JsonNumber,
        "strict JSON",
        "a number that a double does not hold exactly as written",
    ),
    cases(Rule::JsonBounds, "strict JSON", "too deep, too long or too many"),
    cases(
        Rule::EnvelopeAmbiguous,
        "envelope",
        "neither one envelope nor the other, or both",
    ),
    cases(Rule::EnvelopeVersion, "envelope", "another version"),
    cases(
        Rule::EnvelopeNotHere,
        "envelope",
        "an envelope that the route does not take",
    ),
    cases(
        Rule::KeylessShape,
        "keyless form",
        "a value that is no array where one has to be",
    ),
    cases(
        Rule::KeylessOverflow,
        "keyless form",
        "an array with a place too many or too few",
    ),
    cases(
        Rule::KeylessAlias,
        "keyless form",
        "an object where values stand in order",
    ),
    cases(Rule::AddressingSet, "addressing", "several recipients"),
    cases(
        Rule::AddressingNotHere,
        "addressing",
        "a recipient that is not the agent behind the gate",
    ),
    cases(
        Rule::AddressingImplicit,
        "addressing",
        "several recipients by implication: no `delivery_id`, a wildcard, group or list, an intent to fan out",
    ),
    cases(Rule::ModeUnknown, "delivery mode", "a mode outside the vocabulary"),
    cases(Rule::ProfileUnknown, "profile", "a profile without a schema"),
    cases(
        Rule::CapabilityMode,
        "capability",
        "a mode that the agent does not declare here",
    ),
    cases(
        Rule::CapabilityProfile,
        "capability",
        "a profile that the agent does not declare here",
    ),
    cases(
        Rule::CapabilityExtension,
        "capability",
        "an extension that the agent does not declare here",
    ),
    cases(
        Rule::CapabilityOperation,
        "capability",
        "an operation that the route does not list",
    ),
    cases(
        Rule::CapabilityRevision,
        "capability",
        "the client names another capability revision than the current one",
    ),
    cases(Rule::SchemaRequired, "schema", "a required member is missing"),
    cases(Rule::SchemaUndeclared, "schema", "a member that no schema declares"),
    cases(Rule::SchemaType, "schema", "a member of another JSON type"),
    cases(
        Rule::SchemaValue,
        "schema",
        "a value outside pattern, enumeration, length or range",
    ),
    cases(Rule::TimeUtc, "schema", "a time that is not RFC 3339 in UTC"),
    cases(
        Rule::IdentityMalformed,
        "schema",
        "a malformed party, or `provenance.agent_id` that is not the sender",
    ),
    cases(
        Rule::IdempotencyDisagree,
        "idempotency key",
        "header and envelope carry different keys",
    ),
    cases(
        Rule::IdempotencyMalformed,
        "idempotency key",
        "a header that is not one RFC 9651 string, or several",
    ),
    cases(
        Rule::IdempotencyMissing,
        "idempotency key",
        "no key on a route that requires one",
    ),
    cases(Rule::IntegrityAbsent, "checksum", "no checksum where one is required"),
    cases(Rule::IntegrityPlaceholder, "checksum", "a checksum that is no digest"),
    cases(Rule::IntegrityMismatch, "checksum", "a checksum of something else"),
    cases(
        Rule::SignatureAbsent,
        "signature",
        "a channel or an envelope that needs a signature, and none",
    ),
    cases(
        Rule::SignatureMalformed,
        "signature",
        "a signature that is no detached JWS, or several",
    ),
    cases(
        Rule::SignatureDisagree,
        "signature",
        "header and envelope carry different signatures",
    ),
    cases(
        Rule::SignatureKeyUnknown,
        "signature",
        "any well-formed signature: this version knows no key",
    ),
    cases(
        Rule::TrustChannelMismatch,
        "channel",
        "a channel that this request did not come through",
    ),
    cases(
        Rule::ClockUnsteady,
        "clock",
        "the wall clock runs backwards by more than the skew",
    ),
    cases(Rule::FreshnessExpired, "freshness", "`expires_at` has passed"),
    cases(Rule::FreshnessTooOld, "freshness", "issued before the window"),
    cases(Rule::FreshnessFuture, "freshness", "issued in the future"),
    cases(
        Rule::FreshnessLifetime,
        "freshness",
        "it expires before it was issued, or too long after",
    ),
    cases(
        Rule::ClaimsUnsupported,
        "claims",
        "a claim that UAIX does what it does not",
    ),
    cases(
        Rule::ActionExecution,
        "action",
        "an action that runs or writes something; a person has to agree, and this version cannot hold",
    ),
    cases(
        Rule::ActionCredential,
        "action",
        "an action on a credential; a person has to agree, and this version cannot hold",
    ),
    cases(
        Rule::ClaimsWidening,
        "claims",
        "words of selfhood in a message that is held",
    ),
    cases(
        Rule::ProbePrivateNetwork,
        "private places",
        "a URI member that points to a private place",
    ),
    cases(
        Rule::ProvenanceMissing,
        "provenance",
        "no lineage in a profile that is held",
    ),
    cases(
        Rule::MemoryColdPromotion,
        "memory proposal",
        "unreviewed memory proposed as current truth",
    ),
    cases(Rule::ReportEvidence, "final report", "a report without evidence"),
    cases(
        Rule::BlockerReview,
        "blocker",
        "a blocker that needs a person and says it does not",
    ),
    cases(
        Rule::ResponseTaskRef,
        "intent response",
        "accepted work without its reference, or with two",
    ),
    cases(
        Rule::ProgressConsistent,
        "task status",
        "state, progress and blockers that contradict each other",
    ),
    cases(
        Rule::ConformanceSummary,
        "conformance result",
        "a summary that disagrees with its results",
    ),
    cases(
        Rule::CapabilityStatement,
        "capability statement",
        "a list that is empty, or a word that nobody knows",
    ),
    cases(
        Rule::CapabilityConsent,
        "capability profile",
        "a client that can change things and names no consent",
    ),
    cases(
        Rule::CapabilityIdempotency,
        "capability record",
        "POST operations declared without an idempotency key",
    ),
    cases(
        Rule::WorkflowEvidence,
        "workflow",
        "a message without expiry or evidence on a route of level L4 and above",
    ),
    cases(
        Rule::DeliveryConflict,
        "delivery",
        "mode, lifecycle, acknowledgement or task that contradict each other",
    ),
    cases(
        Rule::StatusPublicSafe,
        "task status",
        "an address, host name, path or stack trace that is not for the public",
    ),
    tested(
        Rule::IdempotencyConflict,
        "idempotency key",
        "the key belongs to another request of the same presenter or signer",
        "src/state/admission/tests.rs::the_order_is_proof_key_id",
    ),
    tested(
        Rule::IdempotencyInFlight,
        "idempotency key",
        "the first request with the key is still running",
        "tests/once.rs::a_request_that_is_still_running_is_told_so",
    ),
    tested(
        Rule::IdempotencyUnknown,
        "idempotency key",
        "the first request with the key may have reached the backend, and its answer is lost",
        "tests/once.rs::an_answer_that_is_lost_leaves_the_outcome_unknown",
    ),
    tested(
        Rule::ReplaySeen,
        "replay",
        "a message that was admitted before",
        "tests/once.rs::a_message_is_admitted_once",
    ),
    tested(
        Rule::ReplayShare,
        "replay",
        "more live messages of one sender than its share",
        "tests/once.rs::a_flood_of_ids_is_refused_at_the_bound_and_forgets_nothing",
    ),
    tested(
        Rule::StateFull,
        "store",
        "more live messages or keys than may be remembered; no live entry makes room",
        "tests/once.rs::a_flood_of_ids_is_refused_at_the_bound_and_forgets_nothing",
    ),
    cases(
        Rule::HoldRequired,
        "memory firewall",
        "a message that a person must see first; this version cannot hold",
    ),
];

/// A check that needs a live request.
const fn tested(rule: Rule, what: &'static str, when: &'static str, test: &'static str) -> FailMode {
    FailMode {
        what,
        when,
        answer: Answer::Refuse(rule),
        proof: Proof::Test(test),
    }
}

/// A check that the corpus proves.
const fn cases(rule: Rule, what: &'static str, when: &'static str) -> FailMode {
    FailMode {
        what,
        when,
        answer: Answer::Refuse(rule),
        proof: Proof::Corpus(rule),
    }
}
