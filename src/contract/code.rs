//! The twenty-seven codes of contract §6.1: each has one fixed meaning.

/// A machine-readable reason, printed in answers and records by its `ERR_` name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each variant is its wire name; `meaning` explains it")]
pub enum Code {
    HttpViolation,
    RouteUndeclared,
    SchemaViolation,
    RateLimited,
    AuthorityViolation,
    Unauthenticated,
    StateUnavailable,
    SecretDetected,
    AddressingViolation,
    MulticastUnsupported,
    UnknownDeliveryMode,
    HumanReviewRequired,
    CapabilityMismatch,
    JcsInvalid,
    MessageExpired,
    ReplayWindow,
    ClaimUnsupported,
    IdempotencyConflict,
    IdempotencyInFlight,
    OutcomeUnknown,
    ReplayDetected,
    IdentityLeaseConflict,
    InvalidAckTarget,
    StaleRevisionConflict,
    BackendUnavailable,
    BackendContract,
    Internal,
}

impl Code {
    /// Every code, in the order of the rule table.
    pub const ALL: &'static [Self] = &[
        Self::HttpViolation,
        Self::RouteUndeclared,
        Self::SchemaViolation,
        Self::RateLimited,
        Self::AuthorityViolation,
        Self::Unauthenticated,
        Self::StateUnavailable,
        Self::SecretDetected,
        Self::AddressingViolation,
        Self::MulticastUnsupported,
        Self::UnknownDeliveryMode,
        Self::HumanReviewRequired,
        Self::CapabilityMismatch,
        Self::JcsInvalid,
        Self::MessageExpired,
        Self::ReplayWindow,
        Self::ClaimUnsupported,
        Self::IdempotencyConflict,
        Self::IdempotencyInFlight,
        Self::OutcomeUnknown,
        Self::ReplayDetected,
        Self::IdentityLeaseConflict,
        Self::InvalidAckTarget,
        Self::StaleRevisionConflict,
        Self::BackendUnavailable,
        Self::BackendContract,
        Self::Internal,
    ];

    /// The wire name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HttpViolation => "ERR_HTTP_VIOLATION",
            Self::RouteUndeclared => "ERR_ROUTE_UNDECLARED",
            Self::SchemaViolation => "ERR_SCHEMA_VIOLATION",
            Self::RateLimited => "ERR_RATE_LIMITED",
            Self::AuthorityViolation => "ERR_AUTHORITY_VIOLATION",
            Self::Unauthenticated => "ERR_UNAUTHENTICATED",
            Self::StateUnavailable => "ERR_STATE_UNAVAILABLE",
            Self::SecretDetected => "ERR_SECRET_DETECTED",
            Self::AddressingViolation => "ERR_ADDRESSING_VIOLATION",
            Self::MulticastUnsupported => "ERR_MULTICAST_UNSUPPORTED",
            Self::UnknownDeliveryMode => "ERR_UNKNOWN_DELIVERY_MODE",
            Self::HumanReviewRequired => "ERR_HUMAN_REVIEW_REQUIRED",
            Self::CapabilityMismatch => "ERR_CAPABILITY_MISMATCH",
            Self::JcsInvalid => "ERR_JCS_INVALID",
            Self::MessageExpired => "ERR_MESSAGE_EXPIRED",
            Self::ReplayWindow => "ERR_REPLAY_WINDOW",
            Self::ClaimUnsupported => "ERR_CLAIM_UNSUPPORTED",
            Self::IdempotencyConflict => "ERR_IDEMPOTENCY_CONFLICT",
            Self::IdempotencyInFlight => "ERR_IDEMPOTENCY_IN_FLIGHT",
            Self::OutcomeUnknown => "ERR_OUTCOME_UNKNOWN",
            Self::ReplayDetected => "ERR_REPLAY_DETECTED",
            Self::IdentityLeaseConflict => "ERR_IDENTITY_LEASE_CONFLICT",
            Self::InvalidAckTarget => "ERR_INVALID_ACK_TARGET",
            Self::StaleRevisionConflict => "ERR_STALE_REVISION_CONFLICT",
            Self::BackendUnavailable => "ERR_BACKEND_UNAVAILABLE",
            Self::BackendContract => "ERR_BACKEND_CONTRACT",
            Self::Internal => "ERR_INTERNAL",
        }
    }

    /// One line for people; also the `title` of a problem document (RFC 9457).
    pub const fn title(self) -> &'static str {
        match self {
            Self::HttpViolation => "The request breaks HTTP as this gateway accepts it",
            Self::RouteUndeclared => "The policy declares no such path or method",
            Self::SchemaViolation => "The message breaks its schema or is not strict JSON",
            Self::RateLimited => "Too many requests",
            Self::AuthorityViolation => "The sender may not do this here",
            Self::Unauthenticated => "No proven principal",
            Self::StateUnavailable => "The gateway cannot read or write what it must",
            Self::SecretDetected => "Secret-like material where it is forbidden",
            Self::AddressingViolation => "An explicit set of recipients, or a recipient that is not here",
            Self::MulticastUnsupported => "Several recipients by implication",
            Self::UnknownDeliveryMode => "A delivery mode outside the vocabulary",
            Self::HumanReviewRequired => "A person must decide",
            Self::CapabilityMismatch => "Known, but not declared by this agent here",
            Self::JcsInvalid => "Checksum or signature absent, malformed or wrong",
            Self::MessageExpired => "The message has expired",
            Self::ReplayWindow => "Issued too long ago or in the future",
            Self::ClaimUnsupported => "A claim that UAIX does what it does not",
            Self::IdempotencyConflict => "The idempotency key was used with another request",
            Self::IdempotencyInFlight => "The first request with this key is still running",
            Self::OutcomeUnknown => "The first request may have reached the agent and its answer is lost",
            Self::ReplayDetected => "This message was already admitted",
            Self::IdentityLeaseConflict => "The registered name is leased by another live instance",
            Self::InvalidAckTarget => "The delivery cannot be acknowledged by this agent now",
            Self::StaleRevisionConflict => "The parent hash is not current",
            Self::BackendUnavailable => "No answer from the agent",
            Self::BackendContract => "The agent answered outside the contract",
            Self::Internal => "A fault of the gateway itself",
        }
    }

    /// What it means and what a sender can do; the text of the problem page.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::HttpViolation => {
                "The request line, a header or the framing is one that two HTTP implementations could read in two ways, or is over a bound."
            }
            Self::RouteUndeclared => {
                "What is not declared never reaches the agent. Ask its operator which routes exist."
            }
            Self::SchemaViolation => {
                "The bytes are not strict JSON, are too large or of another media type, or the message has a missing, undeclared, mistyped or inconsistent member. `errors` names each place."
            }
            Self::RateLimited => {
                "A rate or concurrency bound is reached. Wait for `Retry-After` and send the same request again."
            }
            Self::AuthorityViolation => "Authority is proven to the gateway, never claimed in a message or a header.",
            Self::Unauthenticated => "The route needs a proven principal and got none, or its proof is bad or expired.",
            Self::StateUnavailable => {
                "A clock, store or key set cannot be read, written or enlarged. Nothing was sent to the agent."
            }
            Self::SecretDetected => {
                "No agent message and no link may carry a secret onwards. Remove it, and rotate it."
            }
            Self::AddressingViolation => {
                "A message has exactly one recipient, and it is the agent behind this gateway."
            }
            Self::MulticastUnsupported => {
                "A message without an exact recipient would mean several; the gateway does not guess."
            }
            Self::UnknownDeliveryMode => "The mode is not a word of this envelope.",
            Self::HumanReviewRequired => {
                "The message would change what an agent remembers or does; a person decides first."
            }
            Self::CapabilityMismatch => {
                "The mode, profile, extension or operation exists, but this agent does not declare it on this route."
            }
            Self::JcsInvalid => "Checksums and signatures are computed over the RFC 8785 text of the message.",
            Self::MessageExpired => "`delivery.expires_at` has passed. Issue the message again.",
            Self::ReplayWindow => {
                "`provenance.issued_at` is outside the freshness window. Issue the message again with a correct clock."
            }
            Self::ClaimUnsupported => {
                "UAIX records reviewed communication. It does not host, run, certify or import for anybody."
            }
            Self::IdempotencyConflict => "Use a new key for a new request.",
            Self::IdempotencyInFlight => "Wait for `Retry-After` and ask again.",
            Self::OutcomeUnknown => "The request is never executed again by itself; a person or a readback settles it.",
            Self::ReplayDetected => "A message is acted on at most once.",
            Self::IdentityLeaseConflict => "One name has one live owner.",
            Self::InvalidAckTarget => "Only the recipient of a live delivery acknowledges it.",
            Self::StaleRevisionConflict => "Read the object again and write on top of its current revision.",
            Self::BackendUnavailable => "`outcome` says whether the agent may have seen the message.",
            Self::BackendContract => "The message was delivered; the answer was not passed on.",
            Self::Internal => "The fault cost this request only. Report it with the `instance` id.",
        }
    }

    /// The code with this wire name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.name() == name)
    }
}
