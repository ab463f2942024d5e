//! idempotency.*
use crate::contract::Finding;
use crate::facts::Facts;
use crate::policy::Route;
/// The idempotency key of a route without an envelope.
pub fn check_plain(_route: &Route, _facts: &Facts<'_>, _findings: &mut Vec<Finding>) {
    todo!()
}
