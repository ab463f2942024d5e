//! Metrics of the gateway, in closed label sets, as OpenMetrics text on the admin listener.

use std::time::Duration;

use crate::contract::{Code, Outcome};

/// Every metric. Cloning shares them.
#[derive(Clone, Debug)]
pub struct Metrics {}

impl Metrics {
    /// Empty metrics.
    pub fn new() -> Self {
        todo!()
    }

    /// Counts one verdict. `route` and `profile` are declared names, or `None`.
    pub fn verdict(
        &self,
        _outcome: Outcome,
        _code: Option<Code>,
        _route: Option<&str>,
        _profile: Option<&str>,
        _decision: Duration,
    ) {
        todo!()
    }

    /// The policy revision now in force, and whether the last attempt to change it succeeded.
    pub fn policy(&self, _revision: &str, _last_attempt_good: bool) {
        todo!()
    }

    /// Connections open now.
    pub fn connections(&self, _change: i64) {
        todo!()
    }

    /// OpenMetrics text; `lost_records` is read from the sink.
    pub fn text(&self, _lost_records: u64) -> String {
        todo!()
    }
}
