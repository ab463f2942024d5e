//! Metrics of the gateway, in closed label sets, as OpenMetrics text on the admin listener.
//!
//! A label is a verdict word, a code, a route name of the policy or a profile id that the gateway knows: nothing that a
//! peer can make grow.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::contract::{Code, Outcome};

/// The media type of [`Metrics::text`].
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Every metric. Cloning shares them.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    registry: Registry,
    verdicts: Family<VerdictLabels, Counter>,
    decision: Histogram,
    connections: Gauge,
    policy_info: Family<PolicyLabels, Gauge>,
    policy_reload_failed: Gauge,
    records_lost: Counter<u64, AtomicU64>,
    security_records_suppressed: Counter,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VerdictLabels {
    verdict: &'static str,
    code: &'static str,
    route: String,
    profile: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PolicyLabels {
    revision: String,
}

/// The label of what a verdict does not have.
const NONE: &str = "none";

impl Metrics {
    /// Empty metrics.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("portcullis");
        let verdicts = Family::default();
        let decision = Histogram::new(exponential_buckets(0.000_01, 2.0, 20));
        let connections = Gauge::default();
        let policy_info = Family::default();
        let policy_reload_failed = Gauge::default();
        let records_lost = Counter::default();
        let security_records_suppressed = Counter::default();
        registry.register("verdicts", "Requests by what was decided", verdicts.clone());
        registry.register(
            "decision_duration_seconds",
            "Time from a request's head to its verdict, the backend not included",
            decision.clone(),
        );
        registry.register("connections", "Connections open now", connections.clone());
        registry.register("policy_info", "The policy revision in force", policy_info.clone());
        registry.register(
            "policy_reload_failed",
            "1 while the last attempt to change the policy failed and the one before it is still in force",
            policy_reload_failed.clone(),
        );
        registry.register(
            "records_lost",
            "Records that could not be written",
            records_lost.clone(),
        );
        registry.register(
            "security_records_suppressed",
            "Records of failed signatures left out, because their peer had enough of them",
            security_records_suppressed.clone(),
        );
        Self(Arc::new(Inner {
            registry,
            verdicts,
            decision,
            connections,
            policy_info,
            policy_reload_failed,
            records_lost,
            security_records_suppressed,
        }))
    }

    /// Counts one verdict. `route` and `profile` are declared names, or `None`.
    pub fn verdict(
        &self,
        outcome: Outcome,
        code: Option<Code>,
        route: Option<&str>,
        profile: Option<&str>,
        decision: Duration,
    ) {
        let labels = VerdictLabels {
            verdict: outcome.name(),
            code: code.map_or(NONE, Code::name),
            route: route.unwrap_or(NONE).to_owned(),
            profile: profile.unwrap_or(NONE).to_owned(),
        };
        self.0.verdicts.get_or_create(&labels).inc();
        self.0.decision.observe(decision.as_secs_f64());
    }

    /// The policy revision now in force, and whether the last attempt to change it succeeded.
    pub fn policy(&self, revision: &str, last_attempt_good: bool) {
        let labels = PolicyLabels {
            revision: revision.to_owned(),
        };
        let is_known = self.0.policy_info.get(&labels).is_some();
        if !is_known {
            self.0.policy_info.clear();
        }
        self.0.policy_info.get_or_create(&labels).set(1);
        self.0.policy_reload_failed.set(i64::from(!last_attempt_good));
    }

    /// Connections open now.
    pub fn connections(&self, change: i64) {
        self.0.connections.inc_by(change);
    }

    /// One security record was left out.
    pub fn security_record_suppressed(&self) {
        self.0.security_records_suppressed.inc();
    }

    /// OpenMetrics text; `lost_records` is read from the sink.
    pub fn text(&self, lost_records: u64) -> String {
        self.0.records_lost.inner().fetch_max(lost_records, Ordering::Relaxed);
        let mut text = String::new();
        if text::encode(&mut text, &self.0.registry).is_err() {
            text.clear();
        }
        text
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_says_what_was_counted() {
        let metrics = Metrics::new();
        let decision = Duration::from_micros(15);
        metrics.verdict(Outcome::Allow, None, Some("inbox"), Some("uai.agent.ack.v1"), decision);
        metrics.verdict(Outcome::Rejected, Some(Code::RouteUndeclared), None, None, decision);
        metrics.verdict(Outcome::Rejected, Some(Code::RouteUndeclared), None, None, decision);
        metrics.connections(3);
        metrics.connections(-1);
        metrics.security_record_suppressed();
        metrics.policy("old", true);
        metrics.policy("new", true);
        metrics.policy("new", false);
        let text = metrics.text(4);
        for line in [
            r#"portcullis_verdicts_total{verdict="allow",code="none",route="inbox",profile="uai.agent.ack.v1"} 1"#,
            r#"portcullis_verdicts_total{verdict="rejected",code="ERR_ROUTE_UNDECLARED",route="none",profile="none"} 2"#,
            r#"portcullis_decision_duration_seconds_count 3"#,
            r#"portcullis_decision_duration_seconds_bucket{le="0.00002"} 3"#,
            r#"portcullis_connections 2"#,
            r#"portcullis_policy_info{revision="new"} 1"#,
            r#"portcullis_policy_reload_failed 1"#,
            r#"portcullis_records_lost_total 4"#,
            r#"portcullis_security_records_suppressed_total 1"#,
            "# EOF",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(!text.contains("old"));
    }

    #[test]
    fn lost_records_never_count_down() {
        let metrics = Metrics::new();
        metrics.text(4);
        assert!(metrics.text(3).contains("portcullis_records_lost_total 4"));
    }
}
