//! The rule table of contract §6.2: every rule once, with its one stage, code, status and trigger.
//!
//! The order of the rows is the order of precedence inside a stage. `built` rules are enforced; `planned` rules are
//! known by name and enforced nowhere yet: no policy key can ask for them, and `explain` prints them as not built.

use super::{Code, Trigger};

/// A stage of contract §4, in the order of checking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the table of contract §4 explains each stage")]
pub enum Stage {
    Route,
    Limits,
    Credentials,
    Json,
    Envelope,
    Addressing,
    Capability,
    Schema,
    Integrity,
    Signature,
    Authority,
    Freshness,
    Semantics,
    Replay,
    Guards,
    Firewall,
    Forward,
    Answer,
    Any,
}

impl Stage {
    /// The number of the stage in contract §4.
    pub const fn number(self) -> &'static str {
        match self {
            Self::Route => "1",
            Self::Limits => "2",
            Self::Credentials => "2b",
            Self::Json => "3",
            Self::Envelope => "4",
            Self::Addressing => "5",
            Self::Capability => "6",
            Self::Schema => "7",
            Self::Integrity => "8",
            Self::Signature => "9",
            Self::Authority => "10",
            Self::Freshness => "11",
            Self::Semantics => "12",
            Self::Replay => "13",
            Self::Guards => "14",
            Self::Firewall => "15",
            Self::Forward => "16",
            Self::Answer => "17",
            Self::Any => "any",
        }
    }
}

/// Declares the enum, the list of all rules and the accessors from one table, so that no row can be half there.
macro_rules! rules {
    ($($variant:ident $id:literal $stage:ident $code:ident $status:literal $trigger:expr, $section:literal $holds:tt $built:ident;)+) => {
        /// A rule of the contract. The order of the variants is the order of precedence (§4, "Which finding decides").
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule { $(#[doc = $id] $variant,)+ }

        impl Rule {
            /// Every rule, in table order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The id used in answers, records, tests and documentation.
            pub const fn id(self) -> &'static str { match self { $(Self::$variant => $id,)+ } }

            /// The stage at which it is judged.
            pub const fn stage(self) -> Stage { match self { $(Self::$variant => Stage::$stage,)+ } }

            /// Its one code.
            pub const fn code(self) -> Code { match self { $(Self::$variant => Code::$code,)+ } }

            /// Its one HTTP status.
            pub const fn status(self) -> u16 { match self { $(Self::$variant => $status,)+ } }

            /// Its trigger, if it maps to one.
            pub const fn trigger(self) -> Option<Trigger> { match self { $(Self::$variant => $trigger,)+ } }

            /// The contract section that defines it.
            pub const fn section(self) -> &'static str { match self { $(Self::$variant => $section,)+ } }

            /// Whether its finding asks for a person where the route can hold (H in §6.2).
            pub const fn asks_to_hold(self) -> bool { match self { $(Self::$variant => rules!(@holds $holds),)+ } }

            /// Whether this version enforces it.
            pub const fn is_built(self) -> bool { match self { $(Self::$variant => rules!(@built $built),)+ } }
        }
    };
    (@holds holds) => { true };
    (@holds -) => { false };
    (@built built) => { true };
    (@built planned) => { false };
}

rules! {
    HttpFraming              "http.framing"                 Route        HttpViolation        400 None,                                        "14"   -     built;
    HttpHeader               "http.header"                  Route        HttpViolation        400 None,                                        "14"   -     built;
    HttpHeaderSize           "http.header-size"             Route        HttpViolation        431 None,                                        "14"   -     built;
    HttpTargetLength         "http.target-length"           Route        HttpViolation        414 None,                                        "14"   -     built;
    HttpTarget               "http.target"                  Route        HttpViolation        400 None,                                        "14"   -     built;
    HttpMethodOverride       "http.method-override"         Route        HttpViolation        400 None,                                        "14"   -     built;
    HttpUpgrade              "http.upgrade"                 Route        HttpViolation        400 None,                                        "14"   -     built;
    HttpEarlyData            "http.early-data"              Route        HttpViolation        425 None,                                        "7"    -     built;
    HttpTimeout              "http.timeout"                 Route        HttpViolation        408 None,                                        "14"   -     built;
    RouteUndeclared          "route.undeclared"             Route        RouteUndeclared      404 None,                                        "12"   -     built;
    RouteMethod              "route.method"                 Route        RouteUndeclared      405 None,                                        "12"   -     built;
    GetActionPrefetch        "get-action.prefetch"          Route        HttpViolation        403 None,                                        "11"   -     planned;
    HttpQuery                "http.query"                   Route        HttpViolation        400 None,                                        "14"   -     built;
    RouteMediaType           "route.media-type"             Route        SchemaViolation      415 None,                                        "2"    -     built;
    RouteContentEncoding     "route.content-encoding"       Route        SchemaViolation      415 None,                                        "2"    -     built;
    JsonSize                 "json.size"                    Limits       SchemaViolation      413 None,                                        "2.1"  -     built;
    LimitsRate               "limits.rate"                  Limits       RateLimited          429 None,                                        "4"    -     built;
    AuthorityAssertedHeader  "authority.asserted-header"    Credentials  AuthorityViolation   403 Some(Trigger::AuthorityBoundaryConflict),    "14"   -     built;
    AuthMissing              "auth.missing"                 Credentials  Unauthenticated      401 None,                                        "7"    -     planned;
    AuthCertificate          "auth.certificate"             Credentials  Unauthenticated      401 None,                                        "7"    -     planned;
    AuthToken                "auth.token"                   Credentials  Unauthenticated      401 None,                                        "7"    -     planned;
    AuthBinding              "auth.binding"                 Credentials  Unauthenticated      401 None,                                        "7"    -     planned;
    AuthDpop                 "auth.dpop"                    Credentials  Unauthenticated      401 None,                                        "7"    -     planned;
    AuthUnavailable          "auth.unavailable"             Credentials  StateUnavailable     503 None,                                        "7"    -     planned;
    AuthorityDisagree        "authority.disagree"           Credentials  AuthorityViolation   403 Some(Trigger::AuthorityBoundaryConflict),    "7"    -     planned;
    LimitsPrincipalRate      "limits.principal-rate"        Credentials  RateLimited          429 None,                                        "4"    -     planned;
    JsonUtf8                 "json.utf8"                    Json         SchemaViolation      400 Some(Trigger::MalformedSchema),              "2.1"  -     built;
    JsonSyntax               "json.syntax"                  Json         SchemaViolation      400 Some(Trigger::MalformedSchema),              "2.1"  -     built;
    JsonDuplicateKey         "json.duplicate-key"           Json         SchemaViolation      400 Some(Trigger::MalformedSchema),              "2.1"  -     built;
    JsonCodepoint            "json.codepoint"               Json         SchemaViolation      400 Some(Trigger::MalformedSchema),              "2.1"  -     built;
    JsonNumber               "json.number"                  Json         SchemaViolation      400 Some(Trigger::MalformedSchema),              "2.1"  -     built;
    JsonBounds               "json.bounds"                  Json         SchemaViolation      400 Some(Trigger::MalformedSchema),              "2.1"  -     built;
    QueryParameter           "query.parameter"              Json         SchemaViolation      422 Some(Trigger::MalformedSchema),              "11"   -     planned;
    QuerySecret              "query.secret"                 Json         SecretDetected       422 None,                                        "11"   -     planned;
    GetActionKey             "get-action.key"               Json         SchemaViolation      400 None,                                        "11"   -     planned;
    EnvelopeAmbiguous        "envelope.ambiguous"           Envelope     SchemaViolation      422 Some(Trigger::MalformedSchema),              "2.2"  -     built;
    EnvelopeVersion          "envelope.version"             Envelope     SchemaViolation      422 Some(Trigger::MalformedSchema),              "2.2"  -     built;
    EnvelopeNotHere          "envelope.not-here"            Envelope     SchemaViolation      422 Some(Trigger::MalformedSchema),              "2.2"  -     built;
    KeylessShape             "keyless.shape"                Envelope     SchemaViolation      422 Some(Trigger::MalformedSchema),              "2.5"  -     built;
    KeylessOverflow          "keyless.overflow"             Envelope     SchemaViolation      422 Some(Trigger::MalformedSchema),              "2.5"  -     built;
    KeylessAlias             "keyless.alias"                Envelope     SchemaViolation      422 Some(Trigger::MalformedSchema),              "2.5"  -     built;
    AddressingSet            "addressing.set"               Addressing   AddressingViolation  422 None,                                        "4"    -     built;
    AddressingNotHere        "addressing.not-here"          Addressing   AddressingViolation  422 None,                                        "4"    -     built;
    AddressingImplicit       "addressing.implicit"          Addressing   MulticastUnsupported 422 None,                                        "4"    -     built;
    ModeUnknown              "mode.unknown"                 Capability   UnknownDeliveryMode  422 None,                                        "4"    -     built;
    ProfileUnknown           "profile.unknown"              Capability   SchemaViolation      422 Some(Trigger::MissingProfile),               "3"    -     built;
    GetActionCategory        "get-action.category"          Capability   HumanReviewRequired  403 None,                                        "11"   holds planned;
    CapabilityMode           "capability.mode"              Capability   CapabilityMismatch   422 None,                                        "4"    -     built;
    CapabilityProfile        "capability.profile"           Capability   CapabilityMismatch   422 None,                                        "4"    -     built;
    CapabilityExtension      "capability.extension"         Capability   CapabilityMismatch   422 None,                                        "4"    -     built;
    CapabilityOperation      "capability.operation"         Capability   CapabilityMismatch   422 None,                                        "4"    -     built;
    CapabilityLevel          "capability.level"             Capability   CapabilityMismatch   422 Some(Trigger::UnsupportedCapabilityLevel),   "12"   -     planned;
    CapabilityRevision       "capability.revision"          Capability   CapabilityMismatch   422 None,                                        "2.4"  -     built;
    SchemaRequired           "schema.required"              Schema       SchemaViolation      422 Some(Trigger::MalformedSchema),              "2.3"  -     built;
    SchemaUndeclared         "schema.undeclared"            Schema       SchemaViolation      422 Some(Trigger::MalformedSchema),              "2.3"  -     built;
    SchemaType               "schema.type"                  Schema       SchemaViolation      422 Some(Trigger::MalformedSchema),              "2.3"  -     built;
    SchemaValue              "schema.value"                 Schema       SchemaViolation      422 Some(Trigger::MalformedSchema),              "2.3"  -     built;
    TimeUtc                  "time.utc"                     Schema       SchemaViolation      422 Some(Trigger::MalformedSchema),              "2.3"  -     built;
    IdentityMalformed        "identity.malformed"           Schema       SchemaViolation      422 Some(Trigger::ProvenanceMismatch),           "2.3"  -     built;
    IdempotencyDisagree      "idempotency.disagree"         Schema       SchemaViolation      422 Some(Trigger::MalformedSchema),              "8"    -     built;
    IdempotencyMalformed     "idempotency.malformed"        Schema       SchemaViolation      400 Some(Trigger::MalformedSchema),              "8"    -     built;
    IdempotencyMissing       "idempotency.missing"          Schema       SchemaViolation      400 Some(Trigger::MalformedSchema),              "8"    -     built;
    IntegrityAbsent          "integrity.absent"             Integrity    JcsInvalid           422 Some(Trigger::MissingIntegrityChecksum),     "7"    -     built;
    IntegrityPlaceholder     "integrity.placeholder"        Integrity    JcsInvalid           422 Some(Trigger::MissingIntegrityChecksum),     "7"    -     built;
    IntegrityMismatch        "integrity.mismatch"           Integrity    JcsInvalid           422 None,                                        "7"    -     built;
    SignatureAbsent          "signature.absent"             Signature    JcsInvalid           401 None,                                        "7"    -     built;
    SignatureMalformed       "signature.malformed"          Signature    JcsInvalid           401 None,                                        "7"    -     built;
    SignatureDisagree        "signature.disagree"           Signature    JcsInvalid           401 None,                                        "7"    -     built;
    SignatureHeader          "signature.header"             Signature    JcsInvalid           401 None,                                        "7"    -     planned;
    SignatureAlgorithm       "signature.algorithm"          Signature    JcsInvalid           401 None,                                        "7"    -     planned;
    SignatureKeyUnknown      "signature.key-unknown"        Signature    JcsInvalid           401 None,                                        "7"    -     built;
    KeysUnavailable          "keys.unavailable"             Signature    StateUnavailable     503 None,                                        "7"    -     planned;
    SignatureWrongAudience   "signature.wrong-audience"     Signature    JcsInvalid           401 None,                                        "7"    -     planned;
    SignatureWrong           "signature.wrong"              Signature    JcsInvalid           401 None,                                        "7"    -     planned;
    AuthoritySender          "authority.sender"             Authority    AuthorityViolation   403 Some(Trigger::AuthorityBoundaryConflict),    "7"    -     planned;
    AuthorityRelay           "authority.relay"              Authority    AuthorityViolation   403 Some(Trigger::AuthorityBoundaryConflict),    "7"    -     planned;
    AuthorityRoute           "authority.route"              Authority    AuthorityViolation   403 Some(Trigger::AuthorityBoundaryConflict),    "7"    -     planned;
    AuthorityTenant          "authority.tenant"             Authority    AuthorityViolation   403 Some(Trigger::AuthorityBoundaryConflict),    "7"    -     planned;
    TrustChannelMismatch     "trust.channel-mismatch"       Authority    AuthorityViolation   403 Some(Trigger::AuthorityBoundaryConflict),    "7"    -     built;
    TrustPrincipalMismatch   "trust.principal-mismatch"     Authority    AuthorityViolation   403 Some(Trigger::AuthorityBoundaryConflict),    "7"    -     planned;
    ClockUnsteady            "clock.unsteady"               Freshness    StateUnavailable     503 None,                                        "8"    -     built;
    FreshnessExpired         "freshness.expired"            Freshness    MessageExpired       410 None,                                        "8"    -     built;
    FreshnessTooOld          "freshness.too-old"            Freshness    ReplayWindow         422 None,                                        "8"    -     built;
    FreshnessFuture          "freshness.future"             Freshness    ReplayWindow         422 None,                                        "8"    -     built;
    FreshnessFence           "freshness.fence"              Freshness    ReplayWindow         422 None,                                        "8"    -     planned;
    FreshnessLifetime        "freshness.lifetime"           Freshness    SchemaViolation      422 None,                                        "8"    -     built;
    SecretsBody              "secrets.body"                 Semantics    SecretDetected       422 None,                                        "9"    -     planned;
    RedactionBody            "redaction.body"               Semantics    SecretDetected       422 None,                                        "9"    -     planned;
    ClaimsUnsupported        "claims.unsupported"           Semantics    ClaimUnsupported     422 Some(Trigger::CertificationClaimRequested),  "9"    -     built;
    ActionExecution          "action.execution"             Semantics    HumanReviewRequired  403 Some(Trigger::RuntimeExecutionRequested),    "9"    holds built;
    ActionCredential         "action.credential"            Semantics    HumanReviewRequired  403 Some(Trigger::CredentialValidationRequested), "9"    holds built;
    ClaimsWidening           "claims.widening"              Semantics    HumanReviewRequired  403 Some(Trigger::PhilosophicalClaimWidening),   "9"    holds built;
    ProbePrivateNetwork      "probe.private-network"        Semantics    SchemaViolation      422 Some(Trigger::PrivateNetworkProbeRequested), "9"    -     built;
    ProvenanceMissing        "provenance.missing"           Semantics    SchemaViolation      422 Some(Trigger::ProvenanceMismatch),           "9"    -     built;
    MemoryColdPromotion      "memory.cold-promotion"        Semantics    SchemaViolation      422 None,                                        "9"    -     built;
    ReportEvidence           "report.evidence"              Semantics    SchemaViolation      422 None,                                        "9"    -     built;
    BlockerReview            "blocker.review"               Semantics    SchemaViolation      422 None,                                        "9"    -     built;
    ResponseTaskRef          "response.task-ref"            Semantics    SchemaViolation      422 None,                                        "9"    -     built;
    ProgressConsistent       "progress.consistent"          Semantics    SchemaViolation      422 None,                                        "9"    -     built;
    ConformanceSummary       "conformance.summary"          Semantics    SchemaViolation      422 None,                                        "9"    -     built;
    CapabilityStatement      "capability.statement"         Semantics    SchemaViolation      422 None,                                        "9"    -     built;
    CapabilityConsent        "capability.consent"           Semantics    SchemaViolation      422 None,                                        "9"    -     built;
    CapabilityIdempotency    "capability.idempotency"       Semantics    SchemaViolation      422 None,                                        "9"    -     built;
    WorkflowEvidence         "workflow.evidence"            Semantics    SchemaViolation      422 None,                                        "9"    -     built;
    DeliveryConflict         "delivery.conflict"            Semantics    SchemaViolation      422 None,                                        "9"    -     built;
    StatusPublicSafe         "status.public-safe"           Semantics    SchemaViolation      422 None,                                        "9"    -     built;
    StateUnavailable         "state.unavailable"            Replay       StateUnavailable     503 None,                                        "8"    -     built;
    IdempotencyConflict      "idempotency.conflict"         Replay       IdempotencyConflict  422 None,                                        "8"    -     built;
    IdempotencyInFlight      "idempotency.in-flight"        Replay       IdempotencyInFlight  409 None,                                        "8"    -     built;
    IdempotencyUnknown       "idempotency.unknown"          Replay       OutcomeUnknown       409 None,                                        "8"    -     built;
    ReplaySeen               "replay.seen"                  Replay       ReplayDetected       409 None,                                        "8"    -     built;
    ReplayShare              "replay.share"                 Replay       RateLimited          429 None,                                        "8"    -     built;
    StateFull                "state.full"                   Replay       StateUnavailable     503 None,                                        "8"    -     built;
    LeaseHeld                "lease.held"                   Guards       IdentityLeaseConflict 423 None,                                        "13"   -     planned;
    LeaseStaleInstance       "lease.stale-instance"         Guards       IdentityLeaseConflict 423 None,                                        "13"   -     planned;
    DeliveryAckTarget        "delivery.ack-target"          Guards       InvalidAckTarget     403 None,                                        "13"   -     planned;
    DeliveryNotOwn           "delivery.not-own"             Guards       AuthorityViolation   403 Some(Trigger::AuthorityBoundaryConflict),    "13"   -     planned;
    RevisionStale            "revision.stale"               Guards       StaleRevisionConflict 409 None,                                        "13"   -     planned;
    HoldRequired             "hold.required"                Firewall     HumanReviewRequired  403 None,                                        "10"   holds built;
    MemoryConflict           "memory.conflict"              Firewall     HumanReviewRequired  403 Some(Trigger::MemoryConflictUnresolved),     "10"   holds planned;
    HoldFull                 "hold.full"                    Firewall     StateUnavailable     503 None,                                        "10"   -     planned;
    BackendUnreachable       "backend.unreachable"          Forward      BackendUnavailable   502 None,                                        "14"   -     built;
    BackendLost              "backend.lost"                 Forward      BackendUnavailable   502 None,                                        "14"   -     built;
    BackendTimeout           "backend.timeout"              Forward      BackendUnavailable   504 None,                                        "14"   -     built;
    BackendContract          "backend.contract"             Answer       BackendContract      502 None,                                        "14"   -     built;
    InternalPanic            "internal.panic"               Any          Internal             500 None,                                        "15"   -     built;
}

impl Rule {
    /// The rule with this id.
    pub fn named(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rule| rule.id() == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_never_go_back_in_table_order() {
        assert!(Rule::ALL.windows(2).all(|pair| pair[0].stage() <= pair[1].stage()));
    }

    #[test]
    fn a_name_finds_its_rule_and_no_other() {
        for rule in Rule::ALL {
            assert_eq!(Rule::named(rule.id()), Some(*rule));
        }
        assert_eq!(Rule::named("json.utf9"), None);
    }
}
