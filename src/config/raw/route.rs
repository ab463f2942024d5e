//! One route as it is typed.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Claims, Duration, HeaderName, Id, Method, Name, RouteSignature, Scheme, Size};

/// Something that may be asked of the agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Route {
    /// Unique name, in records and metrics.
    #[schemars(with = "Name")]
    pub name: Option<Name>,
    /// Path such as `/v1/messages` or `/v1/tasks/{id}`; `{name}` stands for one segment.
    #[schemars(with = "String")]
    pub path: Option<String>,
    /// Method, or a list of them. `read` takes GET and HEAD, `messages` POST, PUT and PATCH, `legacy` all but GET and HEAD.
    #[schemars(with = "OneOrMany")]
    pub method: Option<OneOrMany>,
    /// What the body is: UAI-1 messages, anything a legacy API takes, or nothing because the route only reads.
    #[schemars(with = "Takes")]
    pub takes: Option<Takes>,
    /// Envelopes that are taken here. Default `[canonical]`.
    #[schemars(length(min = 1))]
    pub envelopes: Option<Vec<Envelope>>,
    /// Schema of a delivery envelope's payload: `ack`, the name of a schema in force, or `any` for every object. Required where delivery envelopes are taken.
    pub payload: Option<Id>,
    /// Profiles that are taken here. Required where canonical envelopes are taken.
    #[schemars(length(min = 1))]
    pub profiles: Option<Vec<Id>>,
    /// Extension namespaces that are taken here. Default none.
    pub extensions: Option<Vec<Id>>,
    /// Delivery modes that are taken here, of the envelopes that are. Required with `takes: messages`.
    #[schemars(length(min = 1))]
    pub modes: Option<Vec<Id>>,
    /// Operations that are taken here: `intent`, `requested_operation` and `action_type` name one. Default any.
    #[schemars(length(min = 1))]
    pub operations: Option<Vec<Id>>,
    /// Whether every message needs a checksum. Default required; `declared` only checks those that are there.
    pub integrity: Option<Integrity>,
    /// What the backend gets of a keyless message. Default `received`; `keyed` is the form that was judged.
    pub backend_view: Option<BackendView>,
    /// Base and `uai.capability.*` profiles may leave out `idempotency_key`, `fallback_directive` and `correlation_id`.
    pub relax_base: Option<bool>,
    /// `observe` forwards what would be refused and records the verdict; for a migration only. Default `enforce`.
    pub mode: Option<Mode>,
    /// Level of the route. Default `L3`; on L0 to L2 answers have two keys.
    pub level: Option<Level>,
    /// Media types that are taken here. Required with `takes: legacy`; with `messages` it can only narrow.
    #[schemars(length(min = 1))]
    pub content_type: Option<Vec<String>>,
    /// Request body on this route, at most `limits.body`.
    pub body: Option<Size>,
    /// How long the backend may take on this route. Default `deadlines.backend`.
    pub deadline: Option<Duration>,
    /// Whether a request needs an idempotency key. Default `required`. With `none` the gateway remembers no key.
    pub idempotency: Option<Idempotency>,
    /// Which headers are passed on.
    pub headers: Option<RouteHeaders>,
    /// Whether the body of a 5xx answer of the backend is passed on. Default `withhold`.
    pub error_bodies: Option<ErrorBodies>,
    /// Whether every message needs a signature. Default `optional`: one that is there is always verified.
    pub signature: Option<RouteSignature>,
    /// Whether every signature needs an `aud`, so that it is good for this route alone. Default false.
    pub require_audience: Option<bool>,
    /// Schemes of which a request needs one to prove its principal. Default none: nobody has to be proven.
    #[schemars(length(min = 1))]
    pub credentials: Option<Vec<Scheme>>,
    /// `aud` of access tokens on this route. Default: `public_url` and the path.
    #[schemars(length(min = 1, max = 512))]
    pub resource: Option<String>,
    /// DPoP proofs need a nonce of this gateway. Default false.
    pub dpop_nonce: Option<bool>,
    /// Name of the bundle of `clients` that certificates have to chain to. Default any of them.
    pub client_bundle: Option<Name>,
    /// Members of the message, as RFC 6901 pointers, that claim an authority.
    pub authority: Option<Claims>,
    /// https URL shown where a person must decide.
    pub human_review_url: Option<String>,
    /// https URL of the result, for two-key answers.
    pub result_url: Option<String>,
    /// RFC 6901 pointer to the result's URL in the answer of the backend; needs `public_origins`.
    pub result_url_field: Option<String>,
}

/// a method or a list of methods, of GET, HEAD, POST, PUT, PATCH, DELETE
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(in crate::config) enum OneOrMany {
    One(Method),
    Many(#[schemars(length(min = 1))] Vec<Method>),
}

impl OneOrMany {
    /// The methods in the order of the file.
    pub fn list(&self) -> &[Method] {
        match self {
            Self::One(method) => std::slice::from_ref(method),
            Self::Many(methods) => methods,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::config) enum Takes {
    Messages,
    Legacy,
    Read,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::config) enum Envelope {
    Canonical,
    Delivery,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::config) enum BackendView {
    Received,
    Keyed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::config) enum Integrity {
    Required,
    Declared,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::config) enum Mode {
    Enforce,
    Observe,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub(in crate::config) enum Level {
    L0,
    L1,
    L2,
    L3,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::config) enum Idempotency {
    Required,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::config) enum ErrorBodies {
    Withhold,
    Pass,
}

/// Which headers are passed on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct RouteHeaders {
    /// Names, or the word `all`. Default `accept`, `accept-language`, `content-type`, `user-agent`, `idempotency-key`, `traceparent` and `tracestate`.
    pub forward: Option<Forward>,
    /// Of `authorization`, `cookie`, `dpop` and `proxy-authorization`, those that are passed on. Default none.
    #[serde(default)]
    pub credentials: Vec<HeaderName>,
}

/// the word `all`, or a list of header names
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(in crate::config) enum Forward {
    All(All),
    Names(Vec<HeaderName>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::config) enum All {
    All,
}
