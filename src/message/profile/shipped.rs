//! The schemas in the binary: those of the envelopes, and one file of `schemas/` for each profile of contract §3.

/// The schemas that are no profile's: name and text. A policy names the last one, an acknowledgement's payload, `ack`.
pub(super) const OTHERS: [(&str, &str); 3] = [
    ("envelope", include_str!("../../../schemas/envelope.json")),
    ("delivery", include_str!("../../../schemas/delivery.json")),
    ("ack-payload", include_str!("../../../schemas/ack-payload.json")),
];

/// Pairs each id with the text of the file that bears its name, so that the two cannot differ.
macro_rules! shipped {
    ($($id:literal)+) => {
        /// Every shipped profile, sorted: id and schema text.
        pub(super) const PROFILES: &[(&str, &str)] =
            &[$(($id, include_str!(concat!("../../../schemas/", $id, ".json")))),+];
    };
}

shipped! {
    "uai.agent.ack.v1"
    "uai.agent.blocker.v1"
    "uai.agent.correction.v1"
    "uai.agent.final-report.v1"
    "uai.agent.handoff.v1"
    "uai.agent.memory-proposal.v1"
    "uai.agent.message.v1"
    "uai.agent.task-status.v1"
    "uai.capability.negotiation.v1"
    "uai.capability.profile.v1"
    "uai.capability.statement.v1"
    "uai.conformance.result.v1"
    "uai.error.v1"
    "uai.intent.request.v1"
    "uai.intent.response.v1"
    "uai.task.status.v1"
    "uaix.ability-profile.v1"
    "uaix.authority-boundary.v1"
    "uaix.memory-firewall-policy.v1"
    "uaix.receiver-brief.v1"
    "uaix.startup-packet.v1"
    "uaix.suspension-packet.v1"
}
