//! The policy file as it is typed. These types mirror the file and nothing else: the JSON Schema is made from them,
//! their comments are its descriptions, and `build` says what they mean.

mod route;
mod state;
mod trust;
mod units;

pub(super) use route::{
    BackendView, Envelope, ErrorBodies, Forward, Idempotency, Integrity, Level, Mode, OneOrMany, Route, RouteHeaders,
    Takes,
};
pub(super) use state::{Engine, Keys, Replay, State};
pub(super) use trust::{
    Algorithm, Claims, ClientBundle, Credential, Issuer, Principal, Role, RouteSignature, Scheme, Typ,
};
pub(super) use units::{Duration, HeaderName, Id, Method, Name, Size};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::Value;

/// A Portcullis policy: the agent behind the gateway, and everything that may be asked of it. What is not set has the
/// strict default; what is not declared is refused.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Portcullis policy")]
pub(super) struct Policy {
    /// The agent behind this gateway.
    #[schemars(with = "Agent")]
    pub agent: Option<Agent>,
    /// Address and port of the gate. Default `127.0.0.1:8080`. A change needs a restart.
    pub listen: Option<String>,
    /// Address and port of the admin listener. Default `127.0.0.1:8081`. A change needs a restart.
    pub admin: Option<String>,
    /// The service to which admitted requests go.
    #[schemars(with = "Backend")]
    pub backend: Option<Backend>,
    /// Certificate and key of the gate; without them it listens in plain text. A change of the paths needs a restart.
    pub tls: Option<Tls>,
    /// URL under which clients reach this gateway, without trailing slash; problem types point there.
    pub public_url: Option<String>,
    /// Values of `Host` that are answered, `host` or `host:port`; empty answers any.
    #[serde(default)]
    pub public_hosts: Vec<String>,
    /// Origins such as `https://agent.example` to which a result URL of the backend may point.
    #[serde(default)]
    pub public_origins: Vec<String>,
    /// What happens while verdict records cannot be written. Default `required`: new requests are refused.
    pub ledger: Option<Ledger>,
    /// Sizes and counts; beyond each stands a typed answer.
    #[serde(default)]
    pub limits: Limits,
    /// Bounds of strict JSON.
    #[serde(default)]
    pub json: Json,
    /// How long each part of a request may take.
    #[serde(default)]
    pub deadlines: Deadlines,
    /// How old a message may be. It cannot be switched off.
    #[serde(default)]
    pub freshness: Freshness,
    /// The store of what has to be remembered. A change needs a restart.
    #[serde(default)]
    pub state: State,
    /// Messages that were admitted.
    #[serde(default)]
    pub replay: Replay,
    /// Idempotency keys and stored answers.
    #[serde(default)]
    pub idempotency: Keys,
    /// Issuers of keys: whose signatures and tokens are believed. Default none.
    #[serde(default)]
    pub issuers: Vec<Issuer>,
    /// Identities that the gateway knows, each with the credentials that prove it. Default none.
    #[serde(default)]
    pub principals: Vec<Principal>,
    /// CA bundles of client certificates; needs `tls`. Default none: no certificate is asked for.
    #[serde(default)]
    pub clients: Vec<ClientBundle>,
    /// The gateway's own signing key, a private JWK file as `portcullis keys new` writes it. Default none.
    #[schemars(length(min = 1))]
    pub signing_key: Option<String>,
    /// The longest time that an access token may still be good for. Default `1h`, at most a day.
    pub max_token_life: Option<Duration>,
    /// Words that messages may use beside the shipped ones.
    #[serde(default)]
    pub vocabulary: Vocabulary,
    /// Profiles that are held beside those held by default.
    #[serde(default)]
    pub hold: Vec<Id>,
    /// Actions that ask for a person beside the shipped ones.
    #[serde(default)]
    pub review_actions: ReviewActions,
    /// Headers of requests.
    #[serde(default)]
    pub headers: Headers,
    /// Schema files of your own.
    #[serde(default)]
    pub schemas: Schemas,
    /// Name of the route that takes intents to fan out; refusals of an implicit several point there.
    pub dispatch_route: Option<Name>,
    /// Everything that may be asked; a path or method that no route declares is refused.
    #[schemars(with = "Vec<Route>", length(min = 1, max = 1000))]
    pub routes: Option<Vec<Route>>,
}

/// The agent behind this gateway.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Agent {
    /// Ids by which messages address the agent. The first is the gateway's own `source.id` in what it writes.
    #[schemars(with = "Vec<Id>", length(min = 1))]
    pub ids: Option<Vec<Id>>,
    /// Text for people. Default: the first id.
    #[schemars(length(min = 1, max = 256))]
    pub label: Option<String>,
    /// Project of the agent; a message may name no other in `target.project`. Default: not compared.
    pub project: Option<Id>,
}

/// The service to which admitted requests go.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Backend {
    /// An http origin such as `http://127.0.0.1:9000`, without path.
    #[schemars(with = "String")]
    pub url: Option<String>,
    /// What is spoken to it. Default `http1`; `h2c` is HTTP/2 with prior knowledge.
    pub protocol: Option<Protocol>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Protocol {
    Http1,
    H2c,
}

/// Certificate and key, as PEM files; paths are relative to the policy file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Tls {
    /// Certificate chain, leaf first.
    #[schemars(with = "String", length(min = 1))]
    pub certificate: Option<String>,
    /// Private key.
    #[schemars(with = "String", length(min = 1))]
    pub key: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ledger {
    Required,
    BestEffort,
}

/// Sizes and counts; beyond each stands a typed answer.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    /// Request body. Default `256KiB`.
    pub body: Option<Size>,
    /// Answer of the backend on a route that takes messages. Default `1MiB`.
    pub answer: Option<Size>,
    /// All header names and values together. Default `16KiB`.
    pub header_bytes: Option<Size>,
    /// Header fields. Default 64.
    #[schemars(range(min = 1, max = 1000))]
    pub header_count: Option<u32>,
    /// Request target. Default `4KiB`.
    pub target: Option<Size>,
    /// Connections open at once. Default 1024.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub connections: Option<u32>,
    /// Requests in progress at once. Default 512.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub in_flight: Option<u32>,
    /// Requests a second from one address, before anything is proven; twice as many at once. Default 1000.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub peer_rate: Option<u32>,
    /// Requests a second that one principal presents; twice as many at once. Default 200.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub presenter_rate: Option<u32>,
}

/// Bounds of strict JSON.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Json {
    /// Levels of nesting. Default 32.
    #[schemars(range(min = 1, max = 128))]
    pub depth: Option<u32>,
    /// One string or name, unescaped. Default `64KiB`.
    pub string: Option<Size>,
    /// Members of one object. Default 256.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub members: Option<u32>,
    /// Elements of one array. Default 4096.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub elements: Option<u32>,
    /// Values in all. Default 20000.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub values: Option<u32>,
}

/// How long each part of a request may take; at most a day each.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Deadlines {
    /// The head of a request, a TLS handshake included. Default `5s`.
    pub head: Option<Duration>,
    /// The body of a request. Default `15s`.
    pub body: Option<Duration>,
    /// The backend. Default `30s`.
    pub backend: Option<Duration>,
    /// A connection without a request. Default `60s`.
    pub idle: Option<Duration>,
    /// From SIGTERM until every connection is closed. Default `25s`.
    pub drain: Option<Duration>,
}

/// How old a message may be. It cannot be switched off.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Freshness {
    /// Age of `issued_at`. Default `300s`, at most a day.
    pub window: Option<Duration>,
    /// How far clocks may differ. Default `30s`, at most an hour.
    pub skew: Option<Duration>,
    /// Longest time from `issued_at` to `expires_at`. Default: no bound.
    pub max_lifetime: Option<Duration>,
}

/// Words that messages may use beside the shipped ones.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Vocabulary {
    /// `source.type`, `target.type`.
    pub party_type: Vec<Id>,
    /// `delivery.mode`.
    pub mode: Vec<Id>,
    /// `delivery_mode` of the delivery envelope.
    pub delivery_mode: Vec<Id>,
    /// `delivery.priority`.
    pub priority: Vec<Id>,
    /// `delivery.lifecycle`.
    pub lifecycle: Vec<Id>,
    /// `trust.channel`.
    pub channel: Vec<Id>,
    /// `trust.auth_scheme`.
    pub auth_scheme: Vec<Id>,
}

/// Actions that ask for a person beside the shipped ones.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ReviewActions {
    /// Beside `execute`, `deploy`, `shell`, `schedule` and `repository_write`.
    pub execution: Vec<Id>,
    /// Beside `authenticate`, `validate_credential` and `issue_token`.
    pub credential: Vec<Id>,
}

/// Headers of requests.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Headers {
    /// Removed before forwarding, beside those that always are.
    #[serde(default)]
    pub remove: Vec<HeaderName>,
}

/// Schema files of your own, `<profile id>.json`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Schemas {
    /// Directory of the files, relative to the policy file.
    #[schemars(length(min = 1))]
    pub dir: Option<String>,
    /// Shipped profiles that a file may replace.
    #[serde(default, rename = "override")]
    pub overrides: Vec<Id>,
}

/// The JSON Schema of the policy file, generated from these types.
pub(super) fn schema() -> Value {
    SchemaSettings::draft2020_12()
        .with_transform(schemars::transform::RecursiveTransform(drop_null))
        .into_generator()
        .into_root_schema_for::<Policy>()
        .to_value()
}

/// A key that is not wanted is left out; `null` is not a value of any.
fn drop_null(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(branches)) = object.get_mut("anyOf") {
        branches.retain(|branch| branch.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(only)] = branches.as_slice() {
            let only = only.clone();
            object.remove("anyOf");
            object.extend(only);
        }
    }
    if let Some(Value::Array(words)) = object.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
}
