//! `clock.unsteady`, `freshness.*`: a message is acted on only near the time it was issued.
//!
//! # What it checks
//! `issued_at` lies between now less the window and now plus the skew. `expires_at`, when there is one, lies in the
//! future, after `issued_at`, and no further from it than `max_lifetime`. A clock that cannot be trusted refuses. The only time of a
//! delivery envelope is its signature's `iat`, and no signature is verified here, so it is never fresh.
//!
//! # Why
//! A message that could be sent again for ever would be acted on for ever.
//!
//! # Contract
//! §8, "Freshness" and "Clock".
//!
//! # Outcome
//! 503 ERR_STATE_UNAVAILABLE, 410 ERR_MESSAGE_EXPIRED, 422 ERR_REPLAY_WINDOW, 422 ERR_SCHEMA_VIOLATION, in this order.
//!
//! # Example
//! `"issued_at"` of yesterday is `freshness.too-old`.

use jiff::{SignedDuration, Timestamp};

use super::{Input, place};
use crate::contract::{Finding, Rule};
use crate::facts::Fact;
use crate::message::envelope::Envelope;

pub(super) const RULES: &[Rule] = &[
    Rule::ClockUnsteady,
    Rule::FreshnessExpired,
    Rule::FreshnessTooOld,
    Rule::FreshnessFuture,
    Rule::FreshnessLifetime,
];

const ISSUED: &[&str] = &["provenance", "issued_at"];
const EXPIRES: &[&str] = &["delivery", "expires_at"];
const SIGNATURE: &[&str] = &["sender", "signature"];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let now = match input.facts.now {
        Fact::Known(now) => now,
        Fact::Absent | Fact::Unavailable => {
            findings.push(Finding::new(
                Rule::ClockUnsteady,
                "expected a clock that does not run backwards",
            ));
            return;
        }
    };
    if input.message.envelope() == Envelope::Delivery {
        let detail = "expected a verified signature whose `iat` tells the time";
        findings.push(place::finding(input, Rule::FreshnessTooOld, SIGNATURE, detail));
        return;
    }
    let freshness = &input.policy.freshness;
    let issued = time(input, ISSUED).unwrap_or(Timestamp::MAX);
    let expires = time(input, EXPIRES);
    let mut find = |rule, path, detail: String| findings.push(place::finding(input, rule, path, detail));
    if expires.is_some_and(|expires| expires <= now) {
        find(
            Rule::FreshnessExpired,
            EXPIRES,
            "expected a time in the future".to_owned(),
        );
    }
    if now.duration_since(issued) > signed(freshness.window) {
        let detail = format!("expected a time at most {} s ago", freshness.window.as_secs());
        find(Rule::FreshnessTooOld, ISSUED, detail);
    }
    if issued.duration_since(now) > signed(freshness.skew) {
        let detail = format!("expected a time at most {} s ahead", freshness.skew.as_secs());
        find(Rule::FreshnessFuture, ISSUED, detail);
    }
    let Some(lifetime) = expires.map(|expires| expires.duration_since(issued)) else {
        return;
    };
    if lifetime <= SignedDuration::ZERO {
        find(
            Rule::FreshnessLifetime,
            EXPIRES,
            "expected a time after `issued_at`".to_owned(),
        );
    }
    if let Some(longest) = freshness.max_lifetime.filter(|longest| lifetime > signed(*longest)) {
        let detail = format!("expected a time at most {} s after `issued_at`", longest.as_secs());
        find(Rule::FreshnessLifetime, EXPIRES, detail);
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
fn signed(duration: std::time::Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, Row, delivery, rules_found};
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
            let found = rules_found(check, |case: &mut Case| {
                case.facts.now = Fact::Known(now);
                case.policy.freshness.max_lifetime = Some(Duration::from_secs(3_600));
                case.set("/provenance/issued_at", &at(*issued));
                case.set("/delivery/expires_at", &expires.map_or("null".to_owned(), at));
            });
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
                "an endless window",
                |case| case.policy.freshness.window = Duration::MAX,
                &[],
            ),
        ];
        for (name, change, expected) in table {
            assert_eq!(rules_found(check, *change), *expected, "{name}");
        }
    }
}
