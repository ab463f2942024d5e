//! What is remembered, where and how much of it, as it is typed.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Duration, Size};

/// The store. A change needs a restart.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct State {
    /// Which store. Default `embedded`: durable files of this process.
    pub engine: Option<Engine>,
    /// Directory of the embedded store. Default `/var/lib/portcullis`.
    #[schemars(length(min = 1))]
    pub path: Option<String>,
    /// URL of the Redis or PostgreSQL server, without a password.
    #[schemars(length(min = 1, max = 2048))]
    pub url: Option<String>,
    /// File with the password of that server. Default: none is sent.
    #[schemars(length(min = 1))]
    pub password_file: Option<String>,
    /// PEM file of the CAs that vouch for that server. Default: those of the system.
    #[schemars(length(min = 1))]
    pub ca: Option<String>,
    /// What keys or tables on that server begin with. Default `portcullis`.
    #[schemars(regex(pattern = r"^[a-z][a-z0-9_]{0,31}$"))]
    pub namespace: Option<String>,
    /// Redis replicas that have to have a change before it counts. Default 0.
    #[schemars(range(max = 16))]
    pub wait: Option<u32>,
    /// How long the store may take for one answer. Default `2s`, at most `30s`.
    pub timeout: Option<Duration>,
    /// File in which a memory store writes down how far it has come. Default: none, and a restart refuses what was
    /// issued before it.
    #[schemars(length(min = 1))]
    pub fence_file: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::config) enum Engine {
    Memory,
    Embedded,
    Redis,
    Postgres,
}

/// Messages that were admitted, each remembered as long as it is fresh.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Replay {
    /// Messages in all. Default 500000.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub max: Option<u32>,
    /// Messages of one sender. Default a fifth of `max`.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub per_sender_max: Option<u32>,
}

/// Idempotency keys and stored answers.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Keys {
    /// How long a key and its answer are kept, from the first request. Default `24h`, at most 366 days.
    pub retention: Option<Duration>,
    /// A request that is still running after this has an unknown outcome. Default: the backend's deadline and 30 s.
    pub running_lease: Option<Duration>,
    /// The largest body that is stored; of a longer one a replay sends status and digest. Default `64KiB`.
    pub max_body: Option<Size>,
    /// Keys in all. Default 5000000.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub max: Option<u32>,
    /// All stored bodies together; beyond it answers are stored without their body. Default `1GiB`.
    pub max_bytes: Option<Size>,
}
