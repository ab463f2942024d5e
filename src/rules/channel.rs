//! `trust.channel-mismatch`: a message may not say that it came through a proof that nobody saw.
//!
//! # What it checks
//! `trust.channel` is not one that needs a certificate, a token or a credential, and `trust.auth_scheme` does not name
//! one: this version proves none of them. `jws` goes with a signed channel only.
//!
//! # Why
//! What the backend reads in `trust` must be what the gateway proved.
//!
//! # Contract
//! §7, "Trust members". Words that the policy adds ask for nothing, as the contract knows no proof for them.
//!
//! # Outcome
//! 403 ERR_AUTHORITY_VIOLATION with trigger `authority_boundary_conflict`, a No-Op.
//!
//! # Example
//! `"channel": "mutual-tls"` on a connection without a client certificate.

use super::{Input, place};
use crate::contract::{Finding, Rule};

pub(super) const RULES: &[Rule] = &[Rule::TrustChannelMismatch];

const CHANNEL: &[&str] = &["trust", "channel"];
const SCHEME: &[&str] = &["trust", "auth_scheme"];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let channel = input.message.text(CHANNEL);
    let needed = match channel {
        Some("mutual-tls") => Some("a proven client certificate"),
        Some("oauth2") => Some("a proven access token"),
        Some("dpop") => Some("a proven DPoP token"),
        Some("did-vc") => Some("a proven credential in `credential_ref`"),
        Some(_) | None => None,
    };
    if let Some(needed) = needed {
        let detail = format!("expected {needed}, which this version cannot take");
        findings.push(place::finding(input, Rule::TrustChannelMismatch, CHANNEL, detail));
        return;
    }
    let fits = match input.message.text(SCHEME) {
        Some("mtls" | "bearer" | "dpop") => false,
        Some("jws") => channel == Some("signed-envelope"),
        Some(_) | None => true,
    };
    if !fits {
        let detail = "expected a scheme that fits the channel and is proven here";
        findings.push(place::finding(input, Rule::TrustChannelMismatch, SCHEME, detail));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::rules_found;
    use super::*;

    #[test]
    fn table() {
        let table = [
            ("public-web", "https", true),
            ("public-web", "none", true),
            ("signed-envelope", "jws", true),
            ("a-channel-of-the-policy", "a-scheme-of-the-policy", true),
            ("public-web", "jws", false),
            ("public-web", "bearer", false),
            ("public-web", "mtls", false),
            ("public-web", "dpop", false),
            ("mutual-tls", "mtls", false),
            ("oauth2", "bearer", false),
            ("dpop", "dpop", false),
            ("did-vc", "jws", false),
        ];
        for (channel, scheme, passes) in table {
            let found = rules_found(check, |case| {
                case.set("/trust/channel", &format!("\"{channel}\""));
                case.set("/trust/auth_scheme", &format!("\"{scheme}\""));
            });
            let expected: &[Rule] = if passes { &[] } else { &[Rule::TrustChannelMismatch] };
            assert_eq!(found, expected, "{channel} {scheme}");
        }
    }
}
