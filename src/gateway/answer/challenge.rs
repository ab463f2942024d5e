//! What a 401 asks for: one challenge for each scheme that the route takes (contract §5, RFC 6750, RFC 9449).

use super::Asked;
use crate::contract::{Code, Rule};
use crate::policy::{Algorithm, Scheme};

/// The challenges, in the order of the route's schemes; none where no header field would help.
pub(super) fn of(rule: Rule, asked: &Asked<'_>) -> Vec<String> {
    let realm = asked.policy.agent.ids.first().map_or("", String::as_str);
    if !matches!(rule.code(), Code::Unauthenticated) {
        let known = &asked.policy.trust.issuers;
        let is_used = |algorithm: &Algorithm| known.iter().any(|issuer| issuer.algorithms.contains(algorithm));
        let algorithms = match names(Algorithm::ALL.iter().copied().filter(is_used)) {
            none if none.is_empty() => none,
            some => format!(", algs=\"{some}\""),
        };
        return vec![format!("UAI-Signature realm=\"{realm}\"{algorithms}")];
    }
    let taken = asked.route.map_or(&[][..], |route| &route.proofs.schemes);
    let schemes = match taken {
        // Nothing is asked for here, and a token that was presented all the same is not good.
        [] if !matches!(rule, Rule::AuthCertificate) => &[Scheme::Bearer, Scheme::Dpop],
        taken => taken,
    };
    schemes
        .iter()
        .filter_map(|scheme| match scheme {
            Scheme::Mtls => None,
            Scheme::Bearer => Some(format!("Bearer realm=\"{realm}\"{}", error(rule, *scheme, asked))),
            Scheme::Dpop => {
                let algorithms = names(Algorithm::ALL.iter().copied());
                Some(format!("DPoP algs=\"{algorithms}\"{}", error(rule, *scheme, asked)))
            }
        })
        .collect()
}

/// Nobody who presented nothing has made an error (RFC 6750 §3.1).
fn error(rule: Rule, scheme: Scheme, asked: &Asked<'_>) -> &'static str {
    let is_about_proof = matches!(rule, Rule::AuthDpop);
    match scheme {
        _ if matches!(rule, Rule::AuthMissing) => "",
        Scheme::Dpop if asked.wants_nonce => ", error=\"use_dpop_nonce\"",
        Scheme::Dpop if is_about_proof => ", error=\"invalid_dpop_proof\"",
        Scheme::Mtls | Scheme::Bearer | Scheme::Dpop => ", error=\"invalid_token\"",
    }
}

fn names(algorithms: impl Iterator<Item = Algorithm>) -> String {
    let names: Vec<&str> = algorithms.map(Algorithm::name).collect();
    names.join(" ")
}
