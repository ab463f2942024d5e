//! Allow-lists of the envelope's enumerations: shipped defaults, extended by the policy, never implicit (contract §2.3).

use crate::message::envelope::Envelope;

/// The words an envelope may use, per member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vocabulary {
    /// `source.type`, `target.type`.
    pub party_type: Vec<String>,
    /// `delivery.mode`.
    pub mode: Vec<String>,
    /// `delivery_mode` of the delivery envelope.
    pub delivery_mode: Vec<String>,
    /// `delivery.priority`.
    pub priority: Vec<String>,
    /// `delivery.lifecycle`.
    pub lifecycle: Vec<String>,
    /// `trust.channel`.
    pub channel: Vec<String>,
    /// `trust.auth_scheme`.
    pub auth_scheme: Vec<String>,
}

impl Default for Vocabulary {
    fn default() -> Self {
        let words = |list: &str| list.split(' ').map(str::to_owned).collect();
        Self {
            party_type: words("agent runtime human service tool organization"),
            mode: words("sync async stream"),
            delivery_mode: words("async_durable sync_rpc stream_delta"),
            priority: words("background batch interactive urgent"),
            lifecycle: words("draft submitted accepted in_progress blocked completed failed cancelled expired"),
            channel: words("public-web signed-envelope mutual-tls oauth2 dpop did-vc"),
            auth_scheme: words("none https mtls bearer dpop jws"),
        }
    }
}

impl Vocabulary {
    /// The delivery modes of an envelope.
    pub fn modes(&self, envelope: Envelope) -> &[String] {
        match envelope {
            Envelope::Canonical => &self.mode,
            Envelope::Delivery => &self.delivery_mode,
        }
    }
}
