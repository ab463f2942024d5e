//! `clock.unsteady`, `freshness.*`: a message is acted on only near the time it was issued.
//!
//! # What it checks
//! `issued_at` lies between now less the window and now plus the skew; of a delivery envelope, whose only time it is,
//! the `iat` of its signature. The `iat` of a signed canonical message lies there too. `expires_at`, when there is one,
//! lies in the future, after `issued_at`, and no further from it than `max_lifetime`. Nothing was issued at or before the
//! restart fence. A clock or a fence that cannot be trusted refuses.
//!
//! # Why
//! A message that could be sent again for ever would be acted on for ever, and a memory that was lost must not open a
//! window for replay.
//!
//! # Contract
//! §8, "Freshness", "Clock" and "Restart fence".
//!
//! # Outcome
//! 503 ERR_STATE_UNAVAILABLE, 410 ERR_MESSAGE_EXPIRED, 422 ERR_REPLAY_WINDOW, 422 ERR_SCHEMA_VIOLATION, in this order.
//!
//! # Example
//! `"issued_at"` of yesterday is `freshness.too-old`.

use jiff::{SignedDuration, Timestamp};

use super::authority::signed;
use super::{Input, place, signature};
use crate::contract::{Finding, Rule};
use crate::facts::Fact;
use crate::message::envelope::Envelope;

pub(super) const RULES: &[Rule] = &[
    Rule::ClockUnsteady,
    Rule::FreshnessExpired,
    Rule::FreshnessTooOld,
    Rule::FreshnessFuture,
    Rule::FreshnessFence,
    Rule::FreshnessLifetime,
];

const ISSUED: &[&str] = &["provenance", "issued_at"];
const EXPIRES: &[&str] = &["delivery", "expires_at"];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let now = match input.facts.now {
        Fact::Known(now) => now,
        Fact::Absent | Fact::Unavailable => {
            let detail = "expected a clock that does not run backwards";
            findings.push(Finding::new(Rule::ClockUnsteady, detail));
            return;
        }
    };
    let fence = match input.facts.fence {
        Fact::Known(fence) => Some(fence),
        Fact::Absent => None,
        Fact::Unavailable => {
            let detail = "expected a restart fence that can be known";
            findings.push(Finding::new(Rule::ClockUnsteady, detail));
            return;
        }
    };
    let at_issued = |rule, detail: &str| place::finding(input, rule, ISSUED, detail);
    let at_signature = |rule, detail: &str| signature::finding(input, rule, detail);
    let at: &dyn Fn(Rule, &str) -> Finding;
    let signed_at = signed(input.facts).and_then(|signed| signed.issued_at);
    let issued = match (input.message.envelope(), signed_at) {
        (Envelope::Canonical, signed_at) => {
            let issued = time(input, ISSUED).unwrap_or(Timestamp::MAX);
            if let Some(signed_at) = signed_at {
                window(input, now, signed_at, &at_signature, findings);
            }
            lifetime(input, now, issued, findings);
            at = &at_issued;
            issued
        }
        (Envelope::Delivery, Some(signed_at)) => {
            at = &at_signature;
            signed_at
        }
        (Envelope::Delivery, None) => {
            let detail = "expected a verified signature whose `iat` tells the time";
            findings.push(at_signature(Rule::FreshnessTooOld, detail));
            return;
        }
    };
    window(input, now, issued, at, findings);
    if fence.is_some_and(|fence| issued <= fence) {
        let detail = "expected a message issued after the gateway could remember what it admitted";
        findings.push(at(Rule::FreshnessFence, detail));
    }
}

/// Too old, or in the future.
fn window(
    input: &Input<'_>,
    now: Timestamp,
    issued: Timestamp,
    at: &dyn Fn(Rule, &str) -> Finding,
    findings: &mut Vec<Finding>,
) {
    let freshness = &input.policy.freshness;
    if now.duration_since(issued) > signed_duration(freshness.window) {
        let detail = format!("expected a time at most {} s ago", freshness.window.as_secs());
        findings.push(at(Rule::FreshnessTooOld, &detail));
    }
    if issued.duration_since(now) > signed_duration(freshness.skew) {
        let detail = format!("expected a time at most {} s ahead", freshness.skew.as_secs());
        findings.push(at(Rule::FreshnessFuture, &detail));
    }
}

/// What `expires_at` says.
fn lifetime(input: &Input<'_>, now: Timestamp, issued: Timestamp, findings: &mut Vec<Finding>) {
    let Some(expires) = time(input, EXPIRES) else {
        return;
    };
    let mut find = |rule, detail: String| findings.push(place::finding(input, rule, EXPIRES, detail));
    if expires <= now {
        find(Rule::FreshnessExpired, "expected a time in the future".to_owned());
    }
    let lifetime = expires.duration_since(issued);
    if lifetime <= SignedDuration::ZERO {
        find(Rule::FreshnessLifetime, "expected a time after `issued_at`".to_owned());
    }
    let longest = input.policy.freshness.max_lifetime;
    if let Some(longest) = longest.filter(|longest| lifetime > signed_duration(*longest)) {
        let detail = format!("expected a time at most {} s after `issued_at`", longest.as_secs());
        find(Rule::FreshnessLifetime, detail);
    }
}

/// The time in a member that is there. The schema let nothing but UTC times come here; one beyond what can be computed
/// with counts as the latest: never expired, never issued.
fn time(input: &Input<'_>, path: &[&str]) -> Option<Timestamp> {
    input
        .message
        .text(path)
        .map(|text| text.parse().unwrap_or(Timestamp::MAX))
}

/// A duration of the policy; one beyond what can be computed with counts as the longest.
fn signed_duration(duration: std::time::Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, Row, delivery, rules_found, signed_by};
    use super::*;
    use std::time::Duration;

    /// Times are seconds from the moment of judging; the window is 300 s, the skew 30 s, the longest lifetime 3,600 s.
    #[test]
    fn table() {
        let table: &[(&str, i64, Option<i64>, &[Rule])] = &[
            ("issued now", 0, None, &[]),
            ("the oldest", -300, None, &[]),
            ("too old", -301, None, &[Rule::FreshnessTooOld]),
            ("the youngest", 30, None, &[]),
            ("in the future", 31, None, &[Rule::FreshnessFuture]),
            ("expires in a second", 0, Some(1), &[]),
            ("expires now", -10, Some(0), &[Rule::FreshnessExpired]),
            (
                "expired before it was issued",
                0,
                Some(-1),
                &[Rule::FreshnessExpired, Rule::FreshnessLifetime],
            ),
            ("expires before it was issued", 20, Some(10), &[Rule::FreshnessLifetime]),
            ("lives as long as it may", 0, Some(3_600), &[]),
            ("lives too long", 0, Some(3_601), &[Rule::FreshnessLifetime]),
            (
                "too old and expired",
                -900,
                Some(-800),
                &[Rule::FreshnessExpired, Rule::FreshnessTooOld],
            ),
        ];
        let now: Timestamp = "2026-05-31T18:00:00Z".parse().unwrap();
        for (name, issued, expires, expected) in table {
            let at = |seconds: i64| format!("\"{}\"", now + SignedDuration::from_secs(seconds));
            let mut found = rules_found(check, |case: &mut Case| {
                case.facts.now = Fact::Known(now);
                case.policy.freshness.max_lifetime = Some(Duration::from_secs(3_600));
                case.set("/provenance/issued_at", &at(*issued));
                case.set("/delivery/expires_at", &expires.map_or("null".to_owned(), at));
            });
            found.sort();
            assert_eq!(found, *expected, "{name}");
        }
    }

    #[test]
    fn an_unknown_time_refuses() {
        for now in [Fact::Unavailable, Fact::Absent] {
            assert_eq!(rules_found(check, |case| case.facts.now = now), [Rule::ClockUnsteady]);
        }
    }

    #[test]
    fn the_ends_of_time_are_computed_with() {
        let table: &[Row] = &[
            (
                "expires at the end",
                |case| case.set("/delivery/expires_at", "\"9999-12-31T23:59:59Z\""),
                &[],
            ),
            (
                "issued at the end",
                |case| case.set("/provenance/issued_at", "\"9999-12-31T23:59:59Z\""),
                &[Rule::FreshnessFuture, Rule::FreshnessLifetime],
            ),
            (
                "issued at the beginning",
                |case| case.set("/provenance/issued_at", "\"0000-01-01T00:00:00Z\""),
                &[Rule::FreshnessTooOld],
            ),
            (
                "a delivery, whose time nobody verified",
                delivery,
                &[Rule::FreshnessTooOld],
            ),
            (
                "a delivery, signed half a minute ago",
                |case| {
                    delivery(case);
                    signed_by(case, None);
                },
                &[],
            ),
            (
                "a delivery, signed too long ago",
                |case| {
                    delivery(case);
                    signed_by(case, None);
                    case.facts.now = Fact::Known("2026-05-31T18:05:31Z".parse().unwrap());
                },
                &[Rule::FreshnessTooOld],
            ),
            (
                "a delivery, signed in the future",
                |case| {
                    delivery(case);
                    signed_by(case, None);
                    case.facts.now = Fact::Known("2026-05-31T17:59:59Z".parse().unwrap());
                },
                &[Rule::FreshnessFuture],
            ),
            (
                "issued now, and signed long ago",
                |case| {
                    signed_by(case, None);
                    case.set("/provenance/issued_at", "\"2026-05-31T18:06:00Z\"");
                    case.facts.now = Fact::Known("2026-05-31T18:06:00Z".parse().unwrap());
                },
                &[Rule::FreshnessTooOld],
            ),
            (
                "issued after the fence",
                |case| case.facts.fence = Fact::Known("2026-05-31T17:59:59Z".parse().unwrap()),
                &[],
            ),
            (
                "issued at the fence",
                |case| case.facts.fence = Fact::Known("2026-05-31T18:00:00Z".parse().unwrap()),
                &[Rule::FreshnessFence],
            ),
            (
                "a delivery, signed at the fence",
                |case| {
                    delivery(case);
                    signed_by(case, None);
                    case.facts.fence = Fact::Known("2026-05-31T18:00:30Z".parse().unwrap());
                },
                &[Rule::FreshnessFence],
            ),
            (
                "a fence that cannot be known",
                |case| case.facts.fence = Fact::Unavailable,
                &[Rule::ClockUnsteady],
            ),
            (
                "an endless window",
                |case| case.policy.freshness.window = Duration::MAX,
                &[],
            ),
        ];
        for (name, change, expected) in table {
            let mut found = rules_found(check, *change);
            found.sort();
            assert_eq!(found, *expected, "{name}");
        }
    }
}
