//! Whom the policy believes, and for what: issuers of keys, principals with their credentials, what a route asks to
//! be proven (contract §7). Never read from a message.

use std::path::PathBuf;
use std::time::Duration;

/// The algorithms a signature may name (contract §7, "alg").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// RFC 9864, and `EdDSA` of RFC 8037 with an OKP/Ed25519 key.
    Ed25519,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384; by policy.
    Es384,
    /// RSASSA-PSS with SHA-256, 2048 bits at least; by policy.
    Ps256,
    /// RSASSA-PKCS1-v1_5 with SHA-256, 2048 bits at least; by policy.
    Rs256,
}

impl Algorithm {
    /// Every algorithm, in the order in which challenges name them.
    pub const ALL: &'static [Self] = &[Self::Ed25519, Self::Es256, Self::Es384, Self::Ps256, Self::Rs256];

    /// What an issuer's keys may use when it names no list.
    pub const DEFAULT: &'static [Self] = &[Self::Ed25519, Self::Es256];

    /// The name in policy files, challenges and records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ed25519 => "Ed25519",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Ps256 => "PS256",
            Self::Rs256 => "RS256",
        }
    }

    /// The algorithm of a JOSE `alg`; `EdDSA` stands for [`Self::Ed25519`], as no other curve is taken.
    pub fn of_jose(alg: &str) -> Option<Self> {
        if alg == "EdDSA" {
            return Some(Self::Ed25519);
        }
        Self::ALL.iter().copied().find(|algorithm| algorithm.name() == alg)
    }
}

/// Where an issuer's JWKS comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// A file, read again when it changes.
    File(PathBuf),
    /// An https URL, with the CA bundle that its server is verified by; the system's roots without one.
    Url {
        /// Absolute https URL.
        url: String,
        /// PEM file.
        ca: Option<PathBuf>,
    },
}

/// Who issues keys, and what they are good for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer {
    /// Unique name, in records and credentials.
    pub name: String,
    /// Where its keys come from.
    pub keys: KeySource,
    /// What its keys may be used with; never empty.
    pub algorithms: Vec<Algorithm>,
    /// A message signature may leave out `typ`.
    pub typ_optional: bool,
    /// The senders its keys may sign for; empty when its keys sign no message.
    pub senders: Vec<Pattern>,
    /// `iss` of its access tokens; `None` when it issues none.
    pub token_issuer: Option<String>,
    /// How long a fetched set is used when its answer names no lifetime.
    pub refresh: Duration,
    /// The least time between two fetches for unknown key ids.
    pub unknown_kid_cooldown: Duration,
    /// A set that could not be refreshed for this long is not used any more.
    pub max_stale: Duration,
}

/// A name, exactly, or with a trailing `*` every name that begins so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// This name.
    Exact(String),
    /// Every name that begins with this text, which is never empty.
    Prefix(String),
}

impl Pattern {
    /// Reads `name` or `prefix*`.
    pub fn parse(text: &str) -> Option<Self> {
        match text.strip_suffix('*') {
            Some("") => None,
            Some(prefix) if prefix.contains('*') => None,
            Some(prefix) => Some(Self::Prefix(prefix.to_owned())),
            None if text.is_empty() || text.contains('*') => None,
            None => Some(Self::Exact(text.to_owned())),
        }
    }

    /// Whether the name is meant; case counts.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == name,
            Self::Prefix(prefix) => name.starts_with(prefix),
        }
    }
}

/// An identity that the policy knows (contract §7, "One principal").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// Unique name, in records; never in an answer.
    pub name: String,
    /// Names of it that a message may carry in `trust.principal`, the name itself included.
    pub aliases: Vec<String>,
    /// What proves it; several at once for rotation, never empty.
    pub credentials: Vec<Credential>,
    /// What it may do.
    pub role: Role,
    /// The tenant it belongs to; part of the replay scope.
    pub tenant: Option<String>,
    /// Its workspace.
    pub workspace: Option<String>,
    /// Its project.
    pub project: Option<String>,
    /// The senders it may speak for.
    pub senders: Vec<Pattern>,
    /// `sender.uai_identity` of its delivery envelopes, when pinned.
    pub uai_identity: Option<String>,
    /// Names of the routes it may use; `None` for every route.
    pub routes: Option<Vec<String>>,
    /// Names of the signers whose messages it may present.
    pub relays: Vec<String>,
    /// Subjects that may act through it: `act.sub` of its tokens (RFC 8693).
    pub actors: Vec<String>,
    /// Scopes that `body.delegated_authorization` may name; it may not exceed them.
    pub scopes: Vec<String>,
    /// The principal it was started by; recorded.
    pub parent: Option<String>,
    /// The branch of work it belongs to; recorded.
    pub branch_id: Option<String>,
    /// Requests a second it may present; the default of the policy without one.
    pub rate: Option<u32>,
}

/// One thing that proves a principal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Credential {
    /// A certificate with exactly this SPIFFE id.
    Spiffe(String),
    /// A certificate with this DNS name, lower case, no wildcard.
    Dns(String),
    /// An access token of this issuer (its name) with this `sub`.
    Token {
        /// Name of the issuer.
        issuer: String,
        /// `sub`.
        subject: String,
    },
    /// A message signature by this key of this issuer.
    Key {
        /// Name of the issuer.
        issuer: String,
        /// `kid`.
        kid: String,
    },
}

/// What a principal is for (contract §7, "Authority").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of contract §7")]
pub enum Role {
    Orchestrator,
    Coordinator,
    Worker,
    Observer,
    Service,
}

impl Role {
    /// The word in policy files and records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Orchestrator => "orchestrator",
            Self::Coordinator => "coordinator",
            Self::Worker => "worker",
            Self::Observer => "observer",
            Self::Service => "service",
        }
    }
}

/// How a principal may be proven at the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// A client certificate.
    Mtls,
    /// A bearer token (RFC 6750), bound to a certificate when it says so (RFC 8705).
    Bearer,
    /// A token bound to a key that the client proves (RFC 9449).
    Dpop,
}

impl Scheme {
    /// The word in policy files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mtls => "mtls",
            Self::Bearer => "bearer",
            Self::Dpop => "dpop",
        }
    }
}

/// What a route wants proven.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proofs {
    /// Every message needs a signature, whatever its channel says.
    pub signature_required: bool,
    /// Every signature needs an `aud` (contract §7).
    pub audience_required: bool,
    /// Schemes of which a request needs one; empty when the route needs no principal.
    pub schemes: Vec<Scheme>,
    /// `aud` of access tokens for this route; the route's absolute URL without one.
    pub resource: Option<String>,
    /// DPoP proofs need a nonce of this gateway.
    pub dpop_nonce: bool,
    /// Name of the client bundle that certificates have to chain to; any of them without one.
    pub client_bundle: Option<String>,
    /// RFC 6901 pointers of further members that claim an authority, compared with the proven one (contract §7).
    pub claims: Vec<Claim>,
}

/// A member of a message that claims an authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// RFC 6901 pointer.
    pub pointer: String,
    /// What it claims.
    pub about: ClaimAbout,
}

/// What a claim of authority is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the parts of an authority, contract §7")]
pub enum ClaimAbout {
    Tenant,
    Workspace,
    Project,
}

/// Certificates of clients that one CA bundle vouches for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientBundle {
    /// Unique name.
    pub name: String,
    /// PEM file of CA certificates, read again when it changes.
    pub file: PathBuf,
    /// The one SPIFFE trust domain of the bundle; without one its certificates prove DNS names.
    pub trust_domain: Option<String>,
    /// PEM or DER certificate revocation list, read again when it changes.
    pub crl: Option<PathBuf>,
}

/// Everything the policy believes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    /// Issuers of keys, in file order: a `kid` of two sets belongs to the first.
    pub issuers: Vec<Issuer>,
    /// Principals, in file order.
    pub principals: Vec<Principal>,
    /// CA bundles of client certificates.
    pub clients: Vec<ClientBundle>,
    /// The gateway's own signing key, a private JWK file.
    pub key: Option<PathBuf>,
    /// The longest time that an access token may still be good for.
    pub max_token_life: Duration,
    /// The project of the agent behind the gateway; `target.project` is compared with it.
    pub project: Option<String>,
}

/// Believes nobody.
impl Default for Trust {
    fn default() -> Self {
        Self {
            issuers: Vec::new(),
            principals: Vec::new(),
            clients: Vec::new(),
            key: None,
            max_token_life: Duration::from_secs(3600),
            project: None,
        }
    }
}

impl Trust {
    /// The issuer of this name.
    pub fn issuer(&self, name: &str) -> Option<&Issuer> {
        self.issuers.iter().find(|issuer| issuer.name == name)
    }

    /// The principal of this name.
    pub fn principal(&self, name: &str) -> Option<&Principal> {
        self.principals.iter().find(|principal| principal.name == name)
    }

    /// The principal that this credential proves.
    pub fn proven_by(&self, credential: &Credential) -> Option<&Principal> {
        self.principals
            .iter()
            .find(|principal| principal.credentials.contains(credential))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_names_or_prefixes() {
        for (text, name, matches) in [
            ("agt_a", "agt_a", true),
            ("agt_a", "agt_ab", false),
            ("agt_*", "agt_ab", true),
            ("agt_*", "AGT_ab", false),
        ] {
            assert_eq!(Pattern::parse(text).unwrap().matches(name), matches, "{text} {name}");
        }
        for text in ["", "*", "a*b", "a**"] {
            assert_eq!(Pattern::parse(text), None, "{text}");
        }
    }

    #[test]
    fn eddsa_stands_for_ed25519_alone() {
        assert_eq!(Algorithm::of_jose("EdDSA"), Some(Algorithm::Ed25519));
        assert_eq!(Algorithm::of_jose("ES256"), Some(Algorithm::Es256));
        for alg in ["none", "HS256", "es256", "ES512", "Ed448", ""] {
            assert_eq!(Algorithm::of_jose(alg), None, "{alg}");
        }
    }
}
