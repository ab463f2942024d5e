//! The twelve published No-Op trigger names (contract §5).

/// Why a message deserves a No-Op or a person's eyes; printed in answers and records by its published name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each variant is its published name")]
pub enum Trigger {
    MalformedSchema,
    MissingProfile,
    UnsupportedCapabilityLevel,
    AuthorityBoundaryConflict,
    MissingIntegrityChecksum,
    ProvenanceMismatch,
    RuntimeExecutionRequested,
    CredentialValidationRequested,
    PrivateNetworkProbeRequested,
    PhilosophicalClaimWidening,
    CertificationClaimRequested,
    MemoryConflictUnresolved,
}

impl Trigger {
    /// The published name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MalformedSchema => "malformed_schema",
            Self::MissingProfile => "missing_profile",
            Self::UnsupportedCapabilityLevel => "unsupported_capability_level",
            Self::AuthorityBoundaryConflict => "authority_boundary_conflict",
            Self::MissingIntegrityChecksum => "missing_integrity_checksum",
            Self::ProvenanceMismatch => "provenance_mismatch",
            Self::RuntimeExecutionRequested => "runtime_execution_requested",
            Self::CredentialValidationRequested => "credential_validation_requested",
            Self::PrivateNetworkProbeRequested => "private_network_probe_requested",
            Self::PhilosophicalClaimWidening => "philosophical_claim_widening",
            Self::CertificationClaimRequested => "certification_claim_requested",
            Self::MemoryConflictUnresolved => "memory_conflict_unresolved",
        }
    }

    /// Triggers that turn a refusal into a No-Op whatever the profile (contract §5).
    pub const fn asks_for_no_op(self) -> bool {
        match self {
            Self::UnsupportedCapabilityLevel
            | Self::AuthorityBoundaryConflict
            | Self::RuntimeExecutionRequested
            | Self::CredentialValidationRequested
            | Self::PrivateNetworkProbeRequested => true,
            Self::MalformedSchema
            | Self::MissingProfile
            | Self::MissingIntegrityChecksum
            | Self::ProvenanceMismatch
            | Self::PhilosophicalClaimWidening
            | Self::CertificationClaimRequested
            | Self::MemoryConflictUnresolved => false,
        }
    }

    /// Triggers that turn a refusal of a held profile into a No-Op (contract §5).
    pub const fn asks_for_no_op_when_held(self) -> bool {
        matches!(self, Self::MissingIntegrityChecksum | Self::ProvenanceMismatch)
    }
}
