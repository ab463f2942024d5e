//! `trust.channel-mismatch`: a message may not say that it came through a proof that nobody saw.
//!
//! # What it checks
//! `trust.channel` `mutual-tls` comes with a proven client certificate, `oauth2` with an access token, `dpop` with a
//! token and its DPoP proof, `did-vc` with a `credential_ref`. `trust.auth_scheme` fits the channel and was proven too:
//! `mtls` by a certificate, `bearer` by a token, `dpop` by a DPoP proof, `jws` by a signature.
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

use super::authority::{presenter, signed};
use super::{Input, place};
use crate::contract::{Finding, Rule};

pub(super) const RULES: &[Rule] = &[Rule::TrustChannelMismatch];

const CHANNEL: &[&str] = &["trust", "channel"];
const SCHEME: &[&str] = &["trust", "auth_scheme"];
const CREDENTIAL: &[&str] = &["trust", "credential_ref"];

/// The schemes that go with each channel of the contract (contract §7).
const FITTING: &[(&str, &[&str])] = &[
    ("public-web", &["none", "https"]),
    ("signed-envelope", &["jws", "none", "https", "mtls", "bearer", "dpop"]),
    ("mutual-tls", &["mtls"]),
    ("oauth2", &["bearer", "dpop"]),
    ("dpop", &["dpop"]),
    ("did-vc", &["jws", "none", "https"]),
];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    let channel = input.message.text(CHANNEL);
    let presenter = presenter(input.facts);
    let by_certificate = presenter.is_some_and(|presenter| presenter.by_certificate);
    let by_token = presenter.is_some_and(|presenter| presenter.by_token);
    let by_dpop = presenter.is_some_and(|presenter| presenter.by_dpop);
    let missing = match channel {
        Some("mutual-tls") if !by_certificate => Some("a proven client certificate"),
        Some("oauth2") if !by_token => Some("a proven access token"),
        Some("dpop") if !by_dpop => Some("a proven DPoP token"),
        Some("did-vc") if input.message.text(CREDENTIAL).is_none() => Some("`credential_ref`"),
        Some(_) | None => None,
    };
    if let Some(missing) = missing {
        let detail = format!("expected {missing}, as the channel says");
        findings.push(place::finding(input, Rule::TrustChannelMismatch, CHANNEL, detail));
        return;
    }
    let Some(scheme) = input.message.text(SCHEME) else {
        return;
    };
    let is_proven = match scheme {
        "mtls" => by_certificate,
        "bearer" => by_token,
        "dpop" => by_dpop,
        "jws" => signed(input.facts).is_some(),
        _ => true,
    };
    if !is_proven || !fits(channel, scheme) {
        let detail = "expected a scheme that fits the channel and is proven here";
        findings.push(place::finding(input, Rule::TrustChannelMismatch, SCHEME, detail));
    }
}

/// Whether the contract lets this scheme stand beside this channel; a word that it does not know stands beside any.
fn fits(channel: Option<&str>, scheme: &str) -> bool {
    let is_known = FITTING.iter().any(|(_, schemes)| schemes.contains(&scheme));
    let row = FITTING.iter().find(|(name, _)| channel == Some(name));
    row.is_none_or(|(_, schemes)| !is_known || schemes.contains(&scheme))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, rules_found, signed_by};
    use super::*;
    use crate::facts::{Fact, Presenter};

    /// What the transport proved, and whether there is a good signature.
    #[derive(Clone, Copy, Default)]
    struct Proven {
        certificate: bool,
        token: bool,
        dpop: bool,
        signature: bool,
    }

    const NOTHING: Proven = Proven {
        certificate: false,
        token: false,
        dpop: false,
        signature: false,
    };
    const CERTIFICATE: Proven = Proven {
        certificate: true,
        ..NOTHING
    };
    const TOKEN: Proven = Proven { token: true, ..NOTHING };
    const DPOP: Proven = Proven { dpop: true, ..TOKEN };
    const SIGNATURE: Proven = Proven {
        signature: true,
        ..NOTHING
    };

    fn prove(case: &mut Case, proven: Proven) {
        if proven.certificate || proven.token {
            case.facts.presenter = Fact::Known(Box::leak(Box::new(Presenter {
                principal: "anna".into(),
                by_certificate: proven.certificate,
                by_token: proven.token,
                by_dpop: proven.dpop,
                actor: None,
            })));
        }
        if proven.signature {
            signed_by(case, None);
        }
    }

    #[test]
    fn table() {
        let table = [
            ("public-web", "https", NOTHING, true),
            ("public-web", "none", NOTHING, true),
            ("a-channel-of-the-policy", "a-scheme-of-the-policy", NOTHING, true),
            ("public-web", "a-scheme-of-the-policy", NOTHING, true),
            ("a-channel-of-the-policy", "mtls", NOTHING, false),
            ("a-channel-of-the-policy", "mtls", CERTIFICATE, true),
            ("public-web", "jws", SIGNATURE, false),
            ("public-web", "bearer", TOKEN, false),
            ("public-web", "mtls", CERTIFICATE, false),
            ("public-web", "dpop", DPOP, false),
            ("signed-envelope", "jws", SIGNATURE, true),
            ("signed-envelope", "jws", NOTHING, false),
            ("signed-envelope", "https", SIGNATURE, true),
            ("signed-envelope", "bearer", SIGNATURE, false),
            ("mutual-tls", "mtls", NOTHING, false),
            ("mutual-tls", "mtls", TOKEN, false),
            ("mutual-tls", "mtls", CERTIFICATE, true),
            ("mutual-tls", "https", CERTIFICATE, false),
            ("oauth2", "bearer", NOTHING, false),
            ("oauth2", "bearer", CERTIFICATE, false),
            ("oauth2", "bearer", TOKEN, true),
            ("oauth2", "dpop", TOKEN, false),
            ("oauth2", "dpop", DPOP, true),
            ("dpop", "dpop", TOKEN, false),
            ("dpop", "dpop", DPOP, true),
            ("dpop", "bearer", DPOP, false),
            ("did-vc", "https", NOTHING, false),
        ];
        for (channel, scheme, proven, passes) in table {
            let found = rules_found(check, |case| {
                case.set("/trust/channel", &format!("\"{channel}\""));
                case.set("/trust/auth_scheme", &format!("\"{scheme}\""));
                prove(case, proven);
            });
            let expected: &[Rule] = if passes { &[] } else { &[Rule::TrustChannelMismatch] };
            assert_eq!(found, expected, "{channel} {scheme}");
        }
    }

    #[test]
    fn a_did_names_its_credential() {
        let found = rules_found(check, |case| {
            case.set("/trust/channel", "\"did-vc\"");
            case.set("/trust/credential_ref", "\"https://id.example/credentials/7\"");
        });
        assert_eq!(found, []);
    }
}
