//! Issuers, principals and client certificates as they are typed.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Duration, Id, Name};

/// Who issues keys, and what they are good for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Issuer {
    /// Unique name, in records and credentials.
    #[schemars(with = "Name")]
    pub name: Option<Name>,
    /// Its JWKS (RFC 7517): a file beside the policy file, or an https URL.
    #[schemars(with = "String", length(min = 1, max = 2048))]
    pub keys: Option<String>,
    /// PEM file of the CAs that vouch for the server of an https URL. Default: those of the system.
    #[schemars(length(min = 1))]
    pub ca: Option<String>,
    /// Algorithms its keys may be used with. Default `Ed25519` and `ES256`.
    #[schemars(length(min = 1))]
    pub algorithms: Option<Vec<Algorithm>>,
    /// Whether a message signature needs `typ`. Default `required`.
    pub typ: Option<Typ>,
    /// Senders its keys may sign for; a trailing `*` takes every name that begins so. Default none.
    #[serde(default)]
    pub senders: Vec<String>,
    /// `iss` of its access tokens. Default: it issues none.
    #[schemars(length(min = 1, max = 512))]
    pub token_issuer: Option<String>,
    /// How long a fetched set is used when its answer names no lifetime. Default `300s`.
    pub refresh: Option<Duration>,
    /// The least time between two fetches for unknown key ids. Default `30s`.
    pub unknown_kid_cooldown: Option<Duration>,
    /// A set that could not be refreshed for this long is not used any more. Default `24h`.
    pub max_stale: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub(in crate::config) enum Algorithm {
    Ed25519,
    ES256,
    ES384,
    PS256,
    RS256,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::config) enum Typ {
    Required,
    Optional,
}

/// An identity that the gateway knows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Principal {
    /// Unique name, in records; never in an answer.
    #[schemars(with = "Id")]
    pub name: Option<Id>,
    /// What proves it; several at once for rotation.
    #[schemars(with = "Vec<Credential>", length(min = 1))]
    pub credentials: Option<Vec<Credential>>,
    /// What it is for.
    #[schemars(with = "Role")]
    pub role: Option<Role>,
    /// Further names of it that a message may carry in `trust.principal`.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The tenant it belongs to.
    pub tenant: Option<Id>,
    /// Its workspace.
    pub workspace: Option<Id>,
    /// Its project.
    pub project: Option<Id>,
    /// Senders it may speak for; a trailing `*` takes every name that begins so. Default none.
    #[serde(default)]
    pub senders: Vec<String>,
    /// The value that `sender.uai_identity` of its delivery envelopes must have.
    #[schemars(length(min = 1, max = 64))]
    pub uai_identity: Option<String>,
    /// Names of the routes it may use. Default every route.
    pub routes: Option<Vec<Name>>,
    /// Principals whose signed messages it may present. Default none.
    #[serde(default)]
    pub relays: Vec<Id>,
    /// Subjects that may act through it, as `act.sub` of its tokens. Default none.
    #[serde(default)]
    pub actors: Vec<String>,
    /// Scopes that `body.delegated_authorization` may name. Default none.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The principal it was started by; recorded.
    pub parent: Option<Id>,
    /// The branch of work it belongs to; recorded.
    pub branch_id: Option<Id>,
    /// Requests a second it may present. Default `limits.presenter_rate`.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub rate: Option<u32>,
}

/// One thing that proves a principal: exactly one of `spiffe`, `dns`, `issuer` with `sub`, `issuer` with `kid`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Credential {
    /// A certificate with exactly this SPIFFE id.
    pub spiffe: Option<String>,
    /// A certificate with this DNS name.
    pub dns: Option<String>,
    /// Name of an issuer.
    pub issuer: Option<Name>,
    /// `sub` of an access token of that issuer.
    #[schemars(length(min = 1, max = 256))]
    pub sub: Option<String>,
    /// `kid` of a key of that issuer.
    #[schemars(length(min = 1, max = 128))]
    pub kid: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::config) enum Role {
    Orchestrator,
    Coordinator,
    Worker,
    Observer,
    Service,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::config) enum Scheme {
    Mtls,
    Bearer,
    Dpop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::config) enum RouteSignature {
    Required,
    Optional,
}

/// Certificates of clients that one CA bundle vouches for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct ClientBundle {
    /// Unique name.
    #[schemars(with = "Name")]
    pub name: Option<Name>,
    /// PEM file of CA certificates.
    #[schemars(with = "String", length(min = 1))]
    pub bundle: Option<String>,
    /// The SPIFFE trust domain that the bundle is the only one of. Without it, certificates prove DNS names.
    pub trust_domain: Option<String>,
    /// Certificate revocation list, PEM or DER.
    #[schemars(length(min = 1))]
    pub crl: Option<String>,
}

/// RFC 6901 pointers of members that claim an authority; each is compared with the proven one.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::config) struct Claims {
    /// Members that name a tenant.
    pub tenant: Vec<String>,
    /// Members that name a workspace.
    pub workspace: Vec<String>,
    /// Members that name a project.
    pub project: Vec<String>,
}
