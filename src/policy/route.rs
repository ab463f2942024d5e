//! One declared route: what it takes, what it allows, what it answers (contract §12).

use std::sync::Arc;
use std::time::Duration;

use super::{PathPattern, Proofs};
use crate::message::envelope::Envelope;

/// A route of the registry. A path and method that no route declares is `route.undeclared` or `route.method`.
#[derive(Clone, Debug)]
pub struct Route {
    /// Unique name, in records and metrics.
    pub name: String,
    /// The declared path.
    pub path: PathPattern,
    /// The declared methods, upper case, never empty.
    pub methods: Vec<String>,
    /// What the body is.
    pub body: Body,
    /// Enforce, or observe during a migration (contract §1).
    pub mode: Mode,
    /// The level of the route (contract §12); L0 to L2 answer two keys.
    pub level: Level,
    /// Content types taken, lower case without parameters; empty for a read.
    pub media_types: Vec<String>,
    /// The largest request body in bytes.
    pub body_limit: usize,
    /// The longest time the backend may take on this route.
    pub deadline: Duration,
    /// Whether a request must carry an idempotency key.
    pub idempotency_required: bool,
    /// Header names passed on, lower case; `None` passes on all that §14 does not remove or consume.
    pub forward_headers: Option<Vec<String>>,
    /// Consumed header names (`authorization`, `cookie`, …) that are passed on all the same, lower case.
    pub pass_credentials: Vec<String>,
    /// Whether the body of a backend's 5xx answer is passed on.
    pub pass_error_bodies: bool,
    /// What has to be proven here (contract §7).
    pub proofs: Proofs,
    /// Requests a second on this route; `None` sets no bound.
    pub rate: Option<u32>,
    /// https URL shown where a person must decide.
    pub human_review_url: Option<String>,
    /// What a two-key `ok` points to; needed on L0 to L2.
    pub result_url: Option<ResultUrl>,
}

/// What a route's body is.
#[derive(Clone, Debug)]
pub enum Body {
    /// Messages, judged by every stage.
    Messages(Messages),
    /// No envelope: method, path, media type and query are judged, the body is not read as a message.
    Legacy,
    /// A read: no body goes in, the answer is streamed out.
    Read,
}

/// What a route that takes messages declares.
#[derive(Clone, Debug)]
pub struct Messages {
    /// Profiles the agent takes here.
    pub profiles: Vec<String>,
    /// Extension namespaces the agent takes here.
    pub extensions: Vec<String>,
    /// Delivery modes the agent takes here.
    pub modes: Vec<String>,
    /// Envelopes the route takes; never empty.
    pub envelopes: Vec<Envelope>,
    /// What the payload of a delivery envelope has to be; `None` where none is taken, and then none passes.
    pub payload: Option<Payload>,
    /// What the backend gets of a keyless message.
    pub backend_view: BackendView,
    /// Operations the agent takes here; empty takes any.
    pub operations: Vec<String>,
    /// Whether a checksum is required (contract §7).
    pub integrity: Integrity,
    /// Base and `uai.capability.*` profiles may leave out `idempotency_key`, `fallback_directive`, `correlation_id`.
    pub relaxed_base: bool,
}

/// What the payload of a delivery envelope has to be (contract §2.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Any object; the policy says so in so many words.
    Any,
    /// What the schema of this name says.
    Schema(String),
}

/// What the backend gets of a keyless message (contract §14, "Body").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendView {
    /// The bytes and media type received.
    #[default]
    Received,
    /// The keyed form that was judged.
    Keyed,
}

/// Whether a message needs a checksum (contract §7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integrity {
    /// Absent, placeholder and mismatch refuse.
    Required,
    /// Only a well-formed digest that does not match refuses.
    Declared,
}

/// Enforce, or observe (contract §1, "Observe").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "contract §1 explains both")]
pub enum Mode {
    Enforce,
    Observe,
}

impl Mode {
    /// The word used in the policy file and in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Observe => "observe",
        }
    }
}

/// The executability ladder (contract §12). A policy file can declare L0 to L3; the rules know all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the ladder of contract §12")]
pub enum Level {
    L0,
    L1,
    L2,
    L3,
    L4,
    L5,
    L6,
    L7,
}

impl Level {
    /// Whether answers on this level are two keys (contract §5).
    pub const fn answers_two_keys(self) -> bool {
        match self {
            Self::L0 | Self::L1 | Self::L2 => true,
            Self::L3 | Self::L4 | Self::L5 | Self::L6 | Self::L7 => false,
        }
    }

    /// The name used in the policy file and in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::L0 => "L0",
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
            Self::L4 => "L4",
            Self::L5 => "L5",
            Self::L6 => "L6",
            Self::L7 => "L7",
        }
    }
}

/// Where a two-key `ok` points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultUrl {
    /// RFC 6901 pointer of the member of the backend's JSON answer that holds the URL.
    pub field: Option<String>,
    /// The fixed URL used when the field is not set, or its value is not https on a public origin.
    pub fixed: Option<String>,
}

/// What the registry says of a path and method.
#[derive(Debug)]
pub enum RouteMatch<'a> {
    /// Declared.
    Found(&'a Arc<Route>),
    /// The path is declared with these methods only.
    WrongMethod(Vec<&'a str>),
    /// The path is not declared.
    Undeclared,
}

impl Messages {
    /// The name of the schema that payloads have to keep, where there is one.
    pub fn payload_schema(&self) -> Option<&str> {
        match &self.payload {
            Some(Payload::Schema(name)) => Some(name),
            Some(Payload::Any) | None => None,
        }
    }
}

impl Route {
    /// What a route that takes messages declares.
    pub const fn messages(&self) -> Option<&Messages> {
        match &self.body {
            Body::Messages(messages) => Some(messages),
            Body::Legacy | Body::Read => None,
        }
    }

    /// Whether bodies are read whole and judged before the backend is called, and answers are judged too.
    pub const fn is_read(&self) -> bool {
        match self.body {
            Body::Read => true,
            Body::Messages(_) | Body::Legacy => false,
        }
    }
}
