//! What the gateway finds out about a request besides its bytes (ARCHITECTURE, invariant 4).

use http::HeaderMap;

use super::{Gate, credentials};
use crate::facts::{Fact, Facts};
use crate::policy::Policy;
use crate::trust::principal::Presented;

/// The facts of one request.
pub fn facts<'a>(gate: &Gate, headers: &'a HeaderMap, policy: &Policy, presented: Option<&'a Presented>) -> Facts<'a> {
    let now = gate.steady.now(&gate.clock, policy.freshness.skew);
    Facts {
        signature: field(headers, "uai-signature"),
        capability_revision: field(headers, "uai-capability-revision"),
        idempotency_key: field(headers, "idempotency-key"),
        presenter: credentials::fact(presented),
        ..Facts::at(now.map_or(Fact::Unavailable, Fact::Known))
    }
}

/// One field; more than one, or one that is not text, cannot be known.
fn field<'a>(headers: &'a HeaderMap, name: &str) -> Fact<&'a str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Fact::Absent,
        (Some(value), None) => value.to_str().map_or(Fact::Unavailable, Fact::Known),
        (Some(_), Some(_)) => Fact::Unavailable,
    }
}
