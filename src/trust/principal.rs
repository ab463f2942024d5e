//! From what a request presents at the transport to one principal (contract §7, "Transport principals", "One
//! principal"), before its body is read.
//!
//! Whatever is presented is judged, wanted or not. A client certificate always is; the `Authorization` field is on a
//! route that takes tokens, and elsewhere when the policy knows an issuer of tokens and the route does not pass the
//! field on, as then it is the backend's. A certificate or token that is good and proves nobody in the policy is refused
//! as `auth.certificate` or `auth.token`. What is wrong is told in the order of the rule table, cheapest first.

use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, HeaderValue, header};
use jiff::Timestamp;

use super::dpop::{self, Jti, Nonces, Proven};
use super::mtls::Clients;
use super::peer::Peer;
use super::ring::{Found, KeyRing};
use super::token::{self, Bound, Claimed, Token};
use crate::contract::{Finding, Rule};
use crate::facts::Presenter;
use crate::policy::{Credential, Policy, Principal, Route, Scheme, Trust};

/// What credentials are judged with.
#[derive(Debug)]
pub struct Prover {
    /// Keys of access tokens.
    pub keys: KeyRing,
    /// Bundles of client certificates.
    pub clients: Arc<Clients>,
    /// Nonces of DPoP proofs.
    pub nonces: Nonces,
}

/// One request, as far as it proves somebody.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The policy that judges it.
    pub policy: &'a Policy,
    /// Its route.
    pub route: &'a Route,
    /// Its header fields.
    pub headers: &'a HeaderMap,
    /// Its method.
    pub method: &'a str,
    /// Its path as received.
    pub path: &'a str,
    /// What its client presented in the handshake.
    pub peer: Option<&'a Peer>,
    /// Now; `None` while the clock runs backwards, and then no credential can be judged.
    pub now: Option<Timestamp>,
}

/// Shows no header field, as some are credentials.
impl fmt::Debug for Asked<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Asked")
            .field("route", &self.route.name)
            .field("method", &self.method)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

/// Who presents the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presented {
    /// The principal and how it is proven.
    pub presenter: Presenter,
    /// What of the DPoP proof may be used once; judged where the message is admitted.
    pub jti: Option<Jti>,
}

/// Why nobody is proven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// In the order of the rule table; the first decides.
    pub deciding: Finding,
    /// The others.
    pub others: Vec<Finding>,
    /// The DPoP proof was good but for its nonce.
    pub wants_nonce: bool,
}

impl From<Finding> for Refused {
    fn from(deciding: Finding) -> Self {
        Self {
            deciding,
            others: Vec::new(),
            wants_nonce: false,
        }
    }
}

/// What a token proves.
struct ByToken {
    principal: Arc<str>,
    actor: Option<Arc<str>>,
    proven: Option<Proven>,
}

impl Prover {
    /// Stage 2b: who presents this request; `None` when nothing was presented and nothing has to be.
    ///
    /// # Errors
    /// `auth.*` or `authority.disagree`.
    pub async fn prove(&self, asked: &Asked<'_>) -> Result<Option<Presented>, Refused> {
        let fields = Fields::of(asked);
        let schemes = &asked.route.proofs.schemes;
        let takes = |scheme| schemes.contains(&scheme);
        let by_certificate = takes(Scheme::Mtls) && asked.peer.is_some();
        let by_token = (takes(Scheme::Bearer) || takes(Scheme::Dpop)) && !fields.authorization.is_empty();
        if !schemes.is_empty() && !by_certificate && !by_token {
            return Err(missing(schemes).into());
        }
        if asked.peer.is_none() && fields.authorization.is_empty() && fields.dpop.is_empty() {
            return Ok(None);
        }
        let Some(now) = asked.now else {
            return Err(Finding::new(
                Rule::AuthUnavailable,
                "the clock runs backwards, so no credential can be judged",
            )
            .into());
        };
        let certificate = asked.peer.map(|peer| self.certificate(peer, asked, now));
        let token = self.token(&fields, asked, now).await;
        let mut findings = Vec::new();
        let certificate = certificate.and_then(|judged| judged.map_err(|finding| findings.push(finding)).ok());
        let mut wants_nonce = false;
        let token = match token {
            Ok(token) => token,
            Err(NoToken::Nonce) => {
                wants_nonce = true;
                findings.push(dpop::Refused::Nonce.finding());
                None
            }
            Err(NoToken::Finding(finding)) => {
                findings.push(finding);
                None
            }
        };
        findings.sort_by_key(|finding| finding.rule);
        let mut findings = findings.into_iter();
        if let Some(deciding) = findings.next() {
            return Err(Refused {
                wants_nonce: wants_nonce && deciding.rule == Rule::AuthDpop,
                deciding,
                others: findings.collect(),
            });
        }
        Ok(one(certificate, token, schemes)?)
    }

    /// The principal that a client's certificate proves.
    fn certificate(&self, peer: &Peer, asked: &Asked<'_>, now: Timestamp) -> Result<Arc<str>, Finding> {
        let trust = &asked.policy.trust;
        let wanted = asked.route.proofs.client_bundle.as_deref();
        let bundles = trust
            .clients
            .iter()
            .filter(|bundle| wanted.is_none_or(|wanted| bundle.name == wanted));
        let names = peer.proves(&self.clients, bundles, now)?;
        let mut known = names.iter().filter_map(|name| trust.proven_by(name));
        let Some(first) = known.next() else {
            let expected = "expected a certificate of a principal of the policy";
            return Err(Finding::new(Rule::AuthCertificate, expected));
        };
        if known.any(|other| other.name != first.name) {
            return Err(disagree());
        }
        Ok(Arc::from(first.name.as_str()))
    }

    /// The principal that an access token proves; `None` without one.
    async fn token(&self, fields: &Fields<'_>, asked: &Asked<'_>, now: Timestamp) -> Result<Option<ByToken>, NoToken> {
        let refused = |expected| NoToken::Finding(Finding::new(Rule::AuthToken, expected));
        let field = match fields.authorization.as_slice() {
            [] if fields.dpop.is_empty() => return Ok(None),
            [] => return Err(no_proof("expected `DPoP` only beside a token")),
            [field] => *field,
            _ => return Err(refused("expected one `Authorization` field")),
        };
        let (scheme, text) = credentials(field).ok_or_else(|| refused("expected `Bearer` or `DPoP` and a token"))?;
        let trust = &asked.policy.trust;
        let jwt = token::open(text)?;
        let claimed = Claimed::read(&jwt, trust)?;
        let url = asked.url();
        let resource = asked.route.proofs.resource.as_deref().or(url.as_deref());
        let judge = token::Judge {
            now,
            skew: asked.policy.freshness.skew,
            max_life: trust.max_token_life,
            resource: resource.ok_or_else(|| refused("expected no token, as this route has no resource to name"))?,
        };
        let issuer = &claimed.issuer.name;
        let found = self.keys.find_of_or_fetch(issuer, claimed.kid, now).await;
        let key = match self.keys.under(trust, found) {
            Found::Key { key, .. } => key,
            Found::Unknown => return Err(refused("expected a key of the issuer")),
            Found::Unavailable { .. } => {
                let expected = "the keys of the token's issuer cannot be read or are too old";
                return Err(Finding::new(Rule::AuthUnavailable, expected).into());
            }
        };
        let token = claimed.verify(&key, &judge)?;
        let proven = self.possession(&token.bound, scheme, text, fields, asked, now)?;
        let (principal, actor) = of_token(token, trust)?;
        Ok(Some(ByToken {
            principal,
            actor,
            proven,
        }))
    }

    /// That the client has what its token is bound to; gives the DPoP proof, where that is how.
    fn possession(
        &self,
        bound: &Bound,
        scheme: TokenScheme,
        token: &str,
        fields: &Fields<'_>,
        asked: &Asked<'_>,
        now: Timestamp,
    ) -> Result<Option<Proven>, NoToken> {
        if let Some(thumbprint) = &bound.certificate
            && asked.peer.is_none_or(|peer| peer.thumbprint() != thumbprint)
        {
            return Err(unbound("expected the client certificate that the token is bound to"));
        }
        let jkt = match (scheme, &bound.key) {
            (TokenScheme::Dpop, Some(jkt)) => jkt,
            (TokenScheme::Dpop, None) => return Err(unbound("expected a token bound to a key by `jkt`")),
            (TokenScheme::Bearer, Some(_)) => {
                return Err(unbound("expected a token bound to a key with `DPoP`, not `Bearer`"));
            }
            (TokenScheme::Bearer, None) if fields.dpop.is_empty() => return Ok(None),
            (TokenScheme::Bearer, None) => {
                return Err(no_proof("expected `DPoP` only beside a token of that scheme"));
            }
        };
        let [field] = fields.dpop.as_slice() else {
            return Err(no_proof("expected one `DPoP` field"));
        };
        let proof = field.to_str().map_err(|_| no_proof("expected a DPoP proof"))?;
        let url = asked.url();
        let judge = dpop::Judge {
            now,
            skew: asked.policy.freshness.skew,
            method: asked.method,
            url: url.as_deref(),
            token,
            nonces: asked.route.proofs.dpop_nonce.then_some(&self.nonces),
        };
        let proven = dpop::verify(proof, &judge)?;
        if proven.thumbprint != *jkt {
            return Err(unbound("expected a DPoP proof by the key that the token is bound to"));
        }
        Ok(Some(proven))
    }
}

impl Asked<'_> {
    /// The public URL of the path.
    fn url(&self) -> Option<String> {
        let origin = self.policy.public_url.as_ref()?;
        Some(format!("{origin}{}", self.path))
    }
}

/// How a token is presented.
#[derive(Clone, Copy)]
enum TokenScheme {
    Bearer,
    Dpop,
}

fn unbound(expected: &'static str) -> NoToken {
    Finding::new(Rule::AuthBinding, expected).into()
}

fn no_proof(expected: &'static str) -> NoToken {
    Finding::new(Rule::AuthDpop, expected).into()
}

/// Why a token proves nobody.
enum NoToken {
    Finding(Finding),
    /// Its DPoP proof wants a nonce.
    Nonce,
}

impl From<Finding> for NoToken {
    fn from(finding: Finding) -> Self {
        Self::Finding(finding)
    }
}

impl From<dpop::Refused> for NoToken {
    fn from(refused: dpop::Refused) -> Self {
        match refused {
            proof @ dpop::Refused::Proof(_) => Self::Finding(proof.finding()),
            dpop::Refused::Nonce => Self::Nonce,
        }
    }
}

/// The fields that carry credentials, as far as they are meant for the gateway.
struct Fields<'a> {
    authorization: Vec<&'a HeaderValue>,
    dpop: Vec<&'a HeaderValue>,
}

impl<'a> Fields<'a> {
    fn of(asked: &Asked<'a>) -> Self {
        let schemes = &asked.route.proofs.schemes;
        let takes_tokens = schemes.contains(&Scheme::Bearer) || schemes.contains(&Scheme::Dpop);
        let knows_tokens = asked
            .policy
            .trust
            .issuers
            .iter()
            .any(|issuer| issuer.token_issuer.is_some());
        let is_backends = asked
            .route
            .pass_credentials
            .iter()
            .any(|passed| passed == "authorization");
        if !takes_tokens && (!knows_tokens || is_backends) {
            return Self {
                authorization: Vec::new(),
                dpop: Vec::new(),
            };
        }
        Self {
            authorization: asked.headers.get_all(header::AUTHORIZATION).iter().collect(),
            dpop: asked.headers.get_all("dpop").iter().collect(),
        }
    }
}

/// `Bearer <token>` or `DPoP <token>`; the scheme in any case (RFC 9110 §11.1).
fn credentials(field: &HeaderValue) -> Option<(TokenScheme, &str)> {
    let (scheme, token) = field.to_str().ok()?.split_once(' ')?;
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "bearer" => TokenScheme::Bearer,
        "dpop" => TokenScheme::Dpop,
        _ => return None,
    };
    Some((scheme, token.trim_matches(' ')))
}

/// The principal of a token, and who acts for it.
fn of_token(token: Token, trust: &Trust) -> Result<(Arc<str>, Option<Arc<str>>), Finding> {
    let credential = Credential::Token {
        issuer: token.issuer,
        subject: token.subject,
    };
    let known: Option<&Principal> = trust.proven_by(&credential);
    let principal =
        known.ok_or_else(|| Finding::new(Rule::AuthToken, "expected a token of a principal of the policy"))?;
    if let Some(actor) = &token.actor
        && !principal.actors.contains(actor)
    {
        let expected = "expected `act.sub` to be listed for this principal";
        return Err(Finding::new(Rule::AuthorityDisagree, expected));
    }
    Ok((Arc::from(principal.name.as_str()), token.actor.map(Arc::from)))
}

/// One principal of all that was proven, by a scheme that the route takes.
fn one(
    certificate: Option<Arc<str>>,
    token: Option<ByToken>,
    schemes: &[Scheme],
) -> Result<Option<Presented>, Finding> {
    let by_certificate = certificate.is_some();
    let (by_token, actor, proven, principal) = match (certificate, token) {
        (None, None) => return Ok(None),
        (Some(name), None) => (false, None, None, name),
        (Some(name), Some(token)) if name != token.principal => return Err(disagree()),
        (_, Some(token)) => (true, token.actor, token.proven, token.principal),
    };
    let by_dpop = proven.is_some();
    let is_taken = |scheme: &Scheme| match scheme {
        Scheme::Mtls => by_certificate,
        Scheme::Bearer => by_token && !by_dpop,
        Scheme::Dpop => by_dpop,
    };
    if !schemes.is_empty() && !schemes.iter().any(is_taken) {
        return Err(missing(schemes));
    }
    Ok(Some(Presented {
        presenter: Presenter {
            principal,
            by_certificate,
            by_token,
            by_dpop,
            actor,
        },
        jti: proven.map(|proven| proven.jti),
    }))
}

fn missing(schemes: &[Scheme]) -> Finding {
    let names: Vec<&str> = schemes.iter().map(|scheme| scheme.name()).collect();
    Finding::new(Rule::AuthMissing, format!("expected one of: {}", names.join(", ")))
}

fn disagree() -> Finding {
    let expected = "expected all credentials to prove one principal";
    Finding::new(Rule::AuthorityDisagree, expected)
}
