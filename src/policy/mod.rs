//! The operator's policy, typed: nothing here is a string that still has to be understood.
//!
//! Built by `config` from the policy file; read by rules, `decide` and the gateway. Unset never means weak: every
//! default is the strict one of contract §17.

pub mod capability;
mod in_force;
mod limits;
mod once;
mod path;
mod review;
mod route;
mod trust;
mod vocabulary;

use std::sync::Arc;

pub use in_force::{Attempt, InForce};
pub use limits::{Deadlines, Freshness, Limits};
pub use once::{Idempotency, Rates, Replay};
pub use path::PathPattern;
pub use review::ReviewActions;
pub use route::{BackendView, Body, Integrity, Level, Messages, Mode, Payload, ResultUrl, Route, RouteMatch};
pub use trust::{
    Algorithm, Claim, ClaimAbout, ClientBundle, Credential, Issuer, KeySource, Pattern, Principal, Proofs, Role,
    Scheme, Trust,
};
pub use vocabulary::Vocabulary;

use crate::message::json::Bounds;
use crate::message::profile::Schemas;

/// One policy in force: immutable, shared, swapped whole on reload.
#[derive(Debug)]
pub struct Policy {
    /// SHA-256 of the policy text and every schema file it names, 64 lowercase hex digits; in every record.
    pub revision: String,
    /// The agent behind this gateway.
    pub agent: Agent,
    /// Absolute https or http URL without trailing slash, for problem types; relative references without it.
    pub public_url: Option<String>,
    /// Host values accepted in `Host`/`:authority`, lower case, with port when not the default; empty accepts any.
    pub public_hosts: Vec<String>,
    /// Origins (`https://host[:port]`) that a `result_url_field` may point to.
    pub public_origins: Vec<String>,
    /// Where admitted requests go.
    pub backend: Backend,
    /// Sizes and counts.
    pub limits: Limits,
    /// Strict JSON bounds (contract §2.1).
    pub json: Bounds,
    /// Time allowed for each part of a request.
    pub deadlines: Deadlines,
    /// Freshness window (contract §8).
    pub freshness: Freshness,
    /// The replay set (contract §8).
    pub replay: Replay,
    /// Idempotency keys and stored answers (contract §8).
    pub idempotency: Idempotency,
    /// Requests a second (contract §4).
    pub rates: Rates,
    /// Issuers, principals and their credentials (contract §7).
    pub trust: Trust,
    /// Allow-lists of the envelope's enumerations (contract §2.3).
    pub vocabulary: Vocabulary,
    /// Extra header names that are removed before forwarding, lower case.
    pub removed_headers: Vec<String>,
    /// Profiles held beside those of contract §10.
    pub hold: Vec<String>,
    /// Actions that ask for a person (contract §9).
    pub review_actions: ReviewActions,
    /// Compiled envelope and profile schemas.
    pub schemas: Arc<Schemas>,
    /// The single registry of what may be asked, in file order.
    pub routes: Vec<Arc<Route>>,
    /// Name of the route to which an intent to fan out goes (contract §13).
    pub dispatch_route: Option<String>,
    /// [`capability::revision`] of this policy, kept so that no request pays for it.
    pub capability_revision: String,
}

/// The agent behind the gateway.
#[derive(Clone, Debug)]
pub struct Agent {
    /// The ids by which a message may address it; never empty. The first is the gateway's own `source.id`.
    pub ids: Vec<String>,
    /// Text for people.
    pub label: String,
}

/// The agent service behind the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend {
    /// `host:port`.
    pub authority: String,
    /// HTTP/2 with prior knowledge instead of HTTP/1.1.
    pub h2c: bool,
}

impl Policy {
    /// What the registry says of a path and method (contract §12).
    pub fn route(&self, path: &str, method: &str) -> RouteMatch<'_> {
        let mut allowed = Vec::new();
        for route in &self.routes {
            if route.path.matches(path) {
                if route.methods.iter().any(|declared| declared == method) {
                    return RouteMatch::Found(route);
                }
                allowed.extend(route.methods.iter().map(String::as_str));
            }
        }
        if allowed.is_empty() {
            RouteMatch::Undeclared
        } else {
            RouteMatch::WrongMethod(allowed)
        }
    }

    /// Where a client goes with an intent to fan out: a URL, or a path without `public_url`.
    pub fn dispatch_url(&self) -> Option<String> {
        let name = self.dispatch_route.as_ref()?;
        let route = self.routes.iter().find(|route| route.name == *name)?;
        let origin = self.public_url.as_deref().unwrap_or_default();
        Some(format!("{origin}{}", route.path.as_str()))
    }

    /// Whether messages of this profile are held whatever they contain (contract §10 and the policy's `hold`).
    pub fn holds_profile(&self, profile: &str) -> bool {
        HELD_PROFILES.contains(&profile) || self.hold.iter().any(|held| held == profile)
    }
}

/// Profiles held by default (contract §10).
pub const HELD_PROFILES: &[&str] = &[
    "uai.agent.memory-proposal.v1",
    "uaix.startup-packet.v1",
    "uaix.suspension-packet.v1",
    "uaix.receiver-brief.v1",
    "uaix.memory-firewall-policy.v1",
];
