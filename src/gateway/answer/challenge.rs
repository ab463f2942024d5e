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

#[cfg(test)]
mod tests {
    use super::super::refuse;
    use super::super::tests::{asked, policy, refusal, route, text};
    use super::*;
    use crate::policy::{Issuer, KeySource, Level, Policy, Trust};

    #[test]
    fn each_scheme_of_the_route_has_its_challenge() {
        let policy = Policy {
            trust: Trust {
                issuers: vec![
                    issuer(vec![Algorithm::Rs256, Algorithm::Ed25519]),
                    issuer(vec![Algorithm::Es256]),
                ],
                ..Trust::default()
            },
            ..policy()
        };
        let bearer = r#"Bearer realm="agt_runtime.consumer""#;
        let dpop = r#"DPoP algs="Ed25519 ES256 ES384 PS256 RS256""#;
        let (invalid, proof, nonce) = (
            r#", error="invalid_token""#,
            r#", error="invalid_dpop_proof""#,
            r#", error="use_dpop_nonce""#,
        );
        let both = [Scheme::Mtls, Scheme::Dpop, Scheme::Bearer];
        let table: [(Rule, &[Scheme], bool, u16, Vec<String>); 9] = [
            (
                Rule::SignatureWrong,
                &[],
                false,
                401,
                vec![r#"UAI-Signature realm="agt_runtime.consumer", algs="Ed25519 ES256 RS256""#.to_owned()],
            ),
            (
                Rule::AuthMissing,
                &both,
                false,
                401,
                vec![dpop.to_owned(), bearer.to_owned()],
            ),
            (
                Rule::AuthBinding,
                &both,
                false,
                401,
                vec![format!("{dpop}{invalid}"), format!("{bearer}{invalid}")],
            ),
            (
                Rule::AuthDpop,
                &[Scheme::Dpop],
                false,
                401,
                vec![format!("{dpop}{proof}")],
            ),
            (
                Rule::AuthDpop,
                &[Scheme::Dpop],
                true,
                401,
                vec![format!("{dpop}{nonce}")],
            ),
            (Rule::AuthMissing, &[Scheme::Mtls], false, 403, Vec::new()),
            (Rule::AuthToken, &[Scheme::Mtls], false, 403, Vec::new()),
            (Rule::AuthCertificate, &[], false, 403, Vec::new()),
            (Rule::AuthUnavailable, &both, false, 503, Vec::new()),
        ];
        for (rule, schemes, wants_nonce, status, expected) in table {
            let mut route = route(Level::L3);
            route.proofs.schemes = schemes.to_vec();
            let response = refuse(
                &refusal(rule),
                &Asked {
                    wants_nonce,
                    ..asked(&policy, Some(&route))
                },
            );
            let challenges: Vec<&str> = response
                .headers()
                .get_all("www-authenticate")
                .iter()
                .map(|challenge| challenge.to_str().unwrap())
                .collect();
            assert_eq!(challenges, expected, "{}", rule.id());
            assert_eq!(response.status().as_u16(), status, "{}", rule.id());
            assert!(
                text(&response).contains(&format!(r#""status":{status},"#)),
                "{}",
                rule.id()
            );
        }
    }

    fn issuer(algorithms: Vec<Algorithm>) -> Issuer {
        Issuer {
            name: "as".to_owned(),
            keys: KeySource::File("keys.json".into()),
            algorithms,
            typ_optional: false,
            senders: Vec::new(),
            token_issuer: None,
            refresh: std::time::Duration::ZERO,
            unknown_kid_cooldown: std::time::Duration::ZERO,
            max_stale: std::time::Duration::ZERO,
        }
    }
}
