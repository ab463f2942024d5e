//! The effective policy as `portcullis check` shows it: every value that is in force, also where the file says nothing.

mod text;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::Config;
use crate::policy::{BackendView, Body, Integrity, Payload, Policy, Route, Vocabulary};
use crate::state::engine::{EngineConfig, StateConfig};

/// The effective policy; serialises for `--output json`.
#[derive(Debug, Serialize)]
pub struct Effective {
    /// SHA-256 over the policy and its schema files.
    pub revision: String,
    /// Ids of the agent.
    pub agent_ids: Vec<String>,
    /// Text for people.
    pub agent_label: String,
    /// Address of the gate.
    pub listen: String,
    /// Address of the admin listener.
    pub admin: String,
    /// Certificate and key of the gate; absent speaks plain text.
    pub tls: Option<TlsFiles>,
    /// `required` or `best_effort`.
    pub ledger: &'static str,
    /// Engine of the store, where it is, and how long it may take.
    pub state: String,
    /// Where admitted requests go.
    pub backend: String,
    /// `http1` or `h2c`.
    pub backend_protocol: &'static str,
    /// URL of problem types.
    pub public_url: Option<String>,
    /// Hosts answered for; empty answers any.
    pub public_hosts: Vec<String>,
    /// Origins that a `result_url_field` may point to.
    pub public_origins: Vec<String>,
    /// Words that the policy adds to the shipped ones, by the name of their key.
    pub vocabulary: BTreeMap<&'static str, Vec<String>>,
    /// Sizes, counts and durations by the name of their key; sizes in bytes, durations as text.
    pub limits: Vec<Limit>,
    /// SHA-256 of the capability document that this policy makes.
    pub capability_revision: String,
    /// The route that takes intents to fan out.
    pub dispatch_route: Option<String>,
    /// Profiles held beside the default ones.
    pub hold: Vec<String>,
    /// Actions that ask for a person, the shipped ones too.
    pub review_actions: ReviewActions,
    /// Headers removed beside those that always are.
    pub removed_headers: Vec<String>,
    /// The registry, in file order.
    pub routes: Vec<EffectiveRoute>,
}

/// Where certificate and key are read, as PEM.
#[derive(Debug, Serialize)]
pub struct TlsFiles {
    /// Certificate chain.
    pub certificate: String,
    /// Private key.
    pub key: String,
}

/// Actions that ask for a person.
#[derive(Debug, Serialize)]
pub struct ReviewActions {
    /// Words of `action.execution`.
    pub execution: Vec<String>,
    /// Words of `action.credential`.
    pub credential: Vec<String>,
}

/// One limit in force.
#[derive(Debug, Serialize)]
pub struct Limit {
    /// Key of the policy file, such as `limits.body`.
    pub key: &'static str,
    /// Value in force; a size in bytes.
    pub value: String,
    /// The value for people: a size in the largest unit that is whole.
    #[serde(skip)]
    shown: String,
}

/// One route in force.
#[derive(Debug, Serialize)]
pub struct EffectiveRoute {
    /// Unique name.
    pub name: String,
    /// Methods taken.
    pub methods: Vec<String>,
    /// Declared path.
    pub path: String,
    /// `messages`, `legacy` or `read`.
    pub takes: &'static str,
    /// `enforce` or `observe`.
    pub mode: &'static str,
    /// `L0` to `L3`.
    pub level: &'static str,
    /// Media types taken; empty for a read.
    pub media_types: Vec<String>,
    /// Envelopes taken.
    pub envelopes: Vec<&'static str>,
    /// `any`, or the schema of a delivery envelope's payload.
    pub payload: Option<String>,
    /// `received` or `keyed`, on a route that takes messages.
    pub backend_view: Option<&'static str>,
    /// Profiles taken, each with the digest of its schema in force.
    pub profiles: Vec<Profile>,
    /// Extensions taken.
    pub extensions: Vec<String>,
    /// Delivery modes taken.
    pub modes: Vec<String>,
    /// Operations taken; empty takes any.
    pub operations: Vec<String>,
    /// `required` or `declared`, on a route that takes messages.
    pub integrity: Option<&'static str>,
    /// Whether some profiles may leave out three members, on a route that takes messages.
    pub relax_base: Option<bool>,
    /// Whether an idempotency key is required.
    pub idempotency: bool,
    /// Body bound in bytes; absent for a read.
    pub body: Option<usize>,
    /// How long the backend may take.
    pub deadline: String,
    /// Header names passed on; absent passes on all that is not removed or consumed.
    pub forward_headers: Option<Vec<String>>,
    /// Credentials passed on.
    pub pass_credentials: Vec<String>,
    /// Whether bodies of the backend's 5xx answers are passed on.
    pub pass_error_bodies: bool,
    /// Shown where a person must decide.
    pub human_review_url: Option<String>,
    /// What a two-key `ok` points to.
    pub result_url: Option<String>,
    /// Pointer to that URL in the backend's answer.
    pub result_url_field: Option<String>,
}

/// A profile and its schema.
#[derive(Debug, Serialize)]
pub struct Profile {
    /// The profile id.
    pub id: String,
    /// SHA-256 of the JCS text of the schema in force.
    pub schema_digest: Option<String>,
}

/// What is in force.
pub fn describe(config: &Config) -> Effective {
    let (server, policy) = (&config.server, &config.policy);
    Effective {
        revision: policy.revision.clone(),
        agent_ids: policy.agent.ids.clone(),
        agent_label: policy.agent.label.clone(),
        listen: server.listen.to_string(),
        admin: server.admin.to_string(),
        tls: server.tls.as_ref().map(|tls| TlsFiles {
            certificate: tls.certificate.display().to_string(),
            key: tls.key.display().to_string(),
        }),
        ledger: if server.ledger_required {
            "required"
        } else {
            "best_effort"
        },
        state: state(&server.state),
        backend: format!("http://{}", policy.backend.authority),
        backend_protocol: if policy.backend.h2c { "h2c" } else { "http1" },
        public_url: policy.public_url.clone(),
        public_hosts: policy.public_hosts.clone(),
        public_origins: policy.public_origins.clone(),
        vocabulary: added(&policy.vocabulary),
        limits: limits(policy),
        capability_revision: policy.capability_revision.clone(),
        dispatch_route: policy.dispatch_route.clone(),
        hold: policy.hold.clone(),
        review_actions: ReviewActions {
            execution: policy.review_actions.execution.clone(),
            credential: policy.review_actions.credential.clone(),
        },
        removed_headers: policy.removed_headers.clone(),
        routes: policy.routes.iter().map(|one| route(one, policy)).collect(),
    }
}

fn state(config: &StateConfig) -> String {
    let place = match &config.engine {
        EngineConfig::Memory { fence_file: None } => "forgotten at a restart".to_owned(),
        EngineConfig::Memory { fence_file: Some(file) } => format!("fence file {}", file.display()),
        EngineConfig::Embedded { path } => path.display().to_string(),
        EngineConfig::Redis { remote, wait } => {
            format!("{}, namespace {}, wait {wait}", remote.url, remote.namespace)
        }
        EngineConfig::Postgres { remote } => format!("{}, namespace {}", remote.url, remote.namespace),
    };
    format!("{} ({place}), timeout {}", config.engine.name(), text(config.timeout))
}

fn route(route: &Route, policy: &Policy) -> EffectiveRoute {
    let messages = route.messages();
    let profile = |id: &String| Profile {
        id: id.clone(),
        schema_digest: policy.schemas.digest(id).map(str::to_owned),
    };
    EffectiveRoute {
        name: route.name.clone(),
        methods: route.methods.clone(),
        path: route.path.as_str().to_owned(),
        takes: match &route.body {
            Body::Messages(_) => "messages",
            Body::Legacy => "legacy",
            Body::Read => "read",
        },
        mode: route.mode.name(),
        level: route.level.name(),
        media_types: route.media_types.clone(),
        envelopes: messages
            .map(|messages| messages.envelopes.iter().map(|envelope| envelope.name()).collect())
            .unwrap_or_default(),
        payload: messages
            .and_then(|messages| messages.payload.as_ref())
            .map(|payload| match payload {
                Payload::Any => "any".to_owned(),
                Payload::Schema(name) => name.clone(),
            }),
        backend_view: messages.map(|messages| match messages.backend_view {
            BackendView::Received => "received",
            BackendView::Keyed => "keyed",
        }),
        profiles: messages
            .map(|messages| messages.profiles.iter().map(profile).collect())
            .unwrap_or_default(),
        extensions: messages.map(|messages| messages.extensions.clone()).unwrap_or_default(),
        modes: messages.map(|messages| messages.modes.clone()).unwrap_or_default(),
        operations: messages.map(|messages| messages.operations.clone()).unwrap_or_default(),
        integrity: messages.map(|messages| match messages.integrity {
            Integrity::Required => "required",
            Integrity::Declared => "declared",
        }),
        relax_base: messages.map(|messages| messages.relaxed_base),
        idempotency: route.idempotency_required,
        body: (!route.is_read()).then_some(route.body_limit),
        deadline: text(route.deadline),
        forward_headers: route.forward_headers.clone(),
        pass_credentials: route.pass_credentials.clone(),
        pass_error_bodies: route.pass_error_bodies,
        human_review_url: route.human_review_url.clone(),
        result_url: route.result_url.as_ref().and_then(|url| url.fixed.clone()),
        result_url_field: route.result_url.as_ref().and_then(|url| url.field.clone()),
    }
}

/// The words of a vocabulary that are not shipped, without the keys that have none.
fn added(vocabulary: &Vocabulary) -> BTreeMap<&'static str, Vec<String>> {
    let shipped = Vocabulary::default();
    [
        ("party_type", &vocabulary.party_type, shipped.party_type),
        ("mode", &vocabulary.mode, shipped.mode),
        ("delivery_mode", &vocabulary.delivery_mode, shipped.delivery_mode),
        ("priority", &vocabulary.priority, shipped.priority),
        ("lifecycle", &vocabulary.lifecycle, shipped.lifecycle),
        ("channel", &vocabulary.channel, shipped.channel),
        ("auth_scheme", &vocabulary.auth_scheme, shipped.auth_scheme),
    ]
    .into_iter()
    .map(|(key, words, shipped)| {
        let added = words.iter().filter(|word| !shipped.contains(word)).cloned().collect();
        (key, added)
    })
    .filter(|(_, words): &(_, Vec<String>)| !words.is_empty())
    .collect()
}

fn limits(policy: &Policy) -> Vec<Limit> {
    let (limits, json) = (&policy.limits, &policy.json);
    let (deadlines, freshness) = (&policy.deadlines, &policy.freshness);
    let sizes = [
        ("limits.body", limits.body),
        ("limits.answer", limits.answer),
        ("limits.header_bytes", limits.header_bytes),
        ("limits.target", limits.target),
        ("json.string", json.string),
        ("idempotency.max_body", policy.idempotency.max_body),
        (
            "idempotency.max_bytes",
            usize::try_from(policy.idempotency.max_bytes).unwrap_or(usize::MAX),
        ),
    ];
    let counts = [
        ("limits.header_count", limits.header_count),
        ("limits.connections", limits.connections),
        ("limits.in_flight", limits.in_flight),
        ("json.depth", json.depth),
        ("json.members", json.members),
        ("json.elements", json.elements),
        ("json.values", json.values),
        ("replay.max", number(policy.replay.max)),
        ("replay.per_sender_max", number(policy.replay.per_sender_max)),
        ("idempotency.max", number(policy.idempotency.max)),
    ];
    let times = [
        ("deadlines.head", Some(deadlines.head)),
        ("deadlines.body", Some(deadlines.body)),
        ("deadlines.backend", Some(deadlines.backend)),
        ("deadlines.idle", Some(deadlines.idle)),
        ("deadlines.drain", Some(deadlines.drain)),
        ("freshness.window", Some(freshness.window)),
        ("freshness.skew", Some(freshness.skew)),
        ("freshness.max_lifetime", freshness.max_lifetime),
        ("idempotency.retention", Some(policy.idempotency.retention)),
    ];
    // Without a value of its own it follows the deadline of each route.
    let lease = policy.idempotency.running_lease;
    let lease = lease.map_or("deadline + 30s".to_owned(), text);
    let limit = |key, value: String, shown| Limit { key, value, shown };
    let sizes = sizes.map(|(key, bytes)| limit(key, bytes.to_string(), size(bytes)));
    let counts = counts.map(|(key, count)| limit(key, count.to_string(), count.to_string()));
    let times = times.map(|(key, time)| {
        let value = time.map_or("none".to_owned(), text);
        limit(key, value.clone(), value)
    });
    let lease = limit("idempotency.running_lease", lease.clone(), lease);
    let mut limits: Vec<Limit> = sizes.into_iter().chain(counts).chain(times).chain([lease]).collect();
    limits.sort_by_key(|limit| limit.key.split('.').next());
    limits
}

fn number(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// A size in the largest unit of the policy file that is whole.
fn size(bytes: usize) -> String {
    const UNITS: [(usize, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    UNITS
        .into_iter()
        .find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit))
        .and_then(|(unit, name)| Some(format!("{}{name}", bytes.checked_div(unit)?)))
        .unwrap_or_else(|| format!("{bytes}B"))
}

/// A duration as the policy file writes it.
fn text(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        format!("{}s", duration.as_secs())
    } else {
        format!("{}ms", duration.as_millis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_shown_as_the_policy_file_writes_it() {
        let table = [
            (1, "1B"),
            (1023, "1023B"),
            (1024, "1KiB"),
            (1025, "1025B"),
            (262_144, "256KiB"),
            (1_048_576, "1MiB"),
            (1_572_864, "1536KiB"),
            (1 << 30, "1GiB"),
        ];
        for (bytes, shown) in table {
            assert_eq!(size(bytes), shown);
        }
    }
}
