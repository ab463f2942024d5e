//! The effective policy as `portcullis check` shows it: every value that is in force, also where the file says nothing.

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;

use super::Config;
use crate::policy::{BackendView, Body, Integrity, Payload, Policy, Route};

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
    /// Whether the gate speaks TLS.
    pub tls: bool,
    /// `required` or `best_effort`.
    pub ledger: &'static str,
    /// Where admitted requests go.
    pub backend: String,
    /// `http1` or `h2c`.
    pub backend_protocol: &'static str,
    /// URL of problem types.
    pub public_url: Option<String>,
    /// Hosts answered for; empty answers any.
    pub public_hosts: Vec<String>,
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
    /// Value in force.
    pub value: String,
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
        tls: server.tls.is_some(),
        ledger: if server.ledger_required {
            "required"
        } else {
            "best_effort"
        },
        backend: format!("http://{}", policy.backend.authority),
        backend_protocol: if policy.backend.h2c { "h2c" } else { "http1" },
        public_url: policy.public_url.clone(),
        public_hosts: policy.public_hosts.clone(),
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

impl Effective {
    /// A table for people.
    ///
    /// # Errors
    /// Only those of the writer.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "revision  {}", self.revision)?;
        writeln!(out, "declared  {}", self.capability_revision)?;
        writeln!(out, "agent     {} ({})", self.agent_ids.join(", "), self.agent_label)?;
        let tls = if self.tls { "TLS" } else { "plain text" };
        writeln!(
            out,
            "listen    {} ({tls}), admin {}, ledger {}",
            self.listen, self.admin, self.ledger
        )?;
        writeln!(out, "backend   {} ({})", self.backend, self.backend_protocol)?;
        if let Some(url) = &self.public_url {
            writeln!(out, "public    {url}")?;
        }
        if !self.public_hosts.is_empty() {
            writeln!(out, "hosts     {}", self.public_hosts.join(", "))?;
        }
        if let Some(route) = &self.dispatch_route {
            writeln!(out, "dispatch  {route}")?;
        }
        if !self.hold.is_empty() {
            writeln!(out, "hold also {}", self.hold.join(", "))?;
        }
        let actions = &self.review_actions;
        let actions = [actions.execution.join(", "), actions.credential.join(", ")].join(", ");
        writeln!(out, "review    {actions}")?;
        if !self.removed_headers.is_empty() {
            writeln!(out, "removed   {}", self.removed_headers.join(", "))?;
        }
        writeln!(out)?;
        self.write_routes(out)?;
        for route in &self.routes {
            route.write(out)?;
        }
        writeln!(out, "\nlimits")?;
        for limit in &self.limits {
            writeln!(out, "  {:<24} {}", limit.key, limit.value)?;
        }
        Ok(())
    }

    fn write_routes(&self, out: &mut impl Write) -> io::Result<()> {
        let head = ["route", "method", "path", "takes", "mode", "level", "body", "deadline"].map(str::to_owned);
        let rows: Vec<[String; 8]> = std::iter::once(head)
            .chain(self.routes.iter().map(EffectiveRoute::row))
            .collect();
        let mut widths = [0_usize; 8];
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for row in &rows {
            let cells: Vec<String> = row
                .iter()
                .zip(widths)
                .map(|(cell, width)| format!("{cell:<width$}"))
                .collect();
            writeln!(out, "{}", cells.join("  ").trim_end())?;
        }
        Ok(())
    }
}

impl EffectiveRoute {
    fn row(&self) -> [String; 8] {
        [
            self.name.clone(),
            self.methods.join(","),
            self.path.clone(),
            self.takes.to_owned(),
            self.mode.to_owned(),
            self.level.to_owned(),
            self.body.map_or("-".to_owned(), |bytes| bytes.to_string()),
            self.deadline.clone(),
        ]
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\n{}", self.name)?;
        let mut line = |key: &str, list: &[String]| {
            if list.is_empty() {
                return Ok(());
            }
            writeln!(out, "  {key:<13} {}", list.join(", "))
        };
        let profiles: Vec<String> = self.profiles.iter().map(|profile| profile.id.clone()).collect();
        let envelopes: Vec<String> = self.envelopes.iter().map(|name| (*name).to_owned()).collect();
        line("envelopes", &envelopes)?;
        line("payload", &self.payload.clone().into_iter().collect::<Vec<_>>())?;
        line("profiles", &profiles)?;
        line("extensions", &self.extensions)?;
        line("modes", &self.modes)?;
        line("operations", &self.operations)?;
        line(
            "integrity",
            &self.integrity.map(str::to_owned).into_iter().collect::<Vec<_>>(),
        )?;
        line("content types", &self.media_types)?;
        let key = if self.idempotency { "required" } else { "none" };
        line("idempotency", &[key.to_owned()])?;
        match &self.forward_headers {
            Some(names) => line("headers", names)?,
            None => line("headers", &["all but the removed and consumed ones".to_owned()])?,
        }
        line("credentials", &self.pass_credentials)
    }
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
        idempotency: route.idempotency_required,
        body: (!route.is_read()).then_some(route.body_limit),
        deadline: text(route.deadline),
        forward_headers: route.forward_headers.clone(),
        pass_credentials: route.pass_credentials.clone(),
        pass_error_bodies: route.pass_error_bodies,
    }
}

fn limits(policy: &Policy) -> Vec<Limit> {
    let (limits, json) = (&policy.limits, &policy.json);
    let (deadlines, freshness) = (&policy.deadlines, &policy.freshness);
    [
        ("limits.body", limits.body.to_string()),
        ("limits.answer", limits.answer.to_string()),
        ("limits.header_bytes", limits.header_bytes.to_string()),
        ("limits.header_count", limits.header_count.to_string()),
        ("limits.target", limits.target.to_string()),
        ("limits.connections", limits.connections.to_string()),
        ("limits.in_flight", limits.in_flight.to_string()),
        ("json.depth", json.depth.to_string()),
        ("json.string", json.string.to_string()),
        ("json.members", json.members.to_string()),
        ("json.elements", json.elements.to_string()),
        ("json.values", json.values.to_string()),
        ("deadlines.head", text(deadlines.head)),
        ("deadlines.body", text(deadlines.body)),
        ("deadlines.backend", text(deadlines.backend)),
        ("deadlines.idle", text(deadlines.idle)),
        ("deadlines.drain", text(deadlines.drain)),
        ("freshness.window", text(freshness.window)),
        ("freshness.skew", text(freshness.skew)),
        (
            "freshness.max_lifetime",
            freshness.max_lifetime.map_or("none".to_owned(), text),
        ),
    ]
    .into_iter()
    .map(|(key, value)| Limit { key, value })
    .collect()
}

/// A duration as the policy file writes it.
fn text(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        format!("{}s", duration.as_secs())
    } else {
        format!("{}ms", duration.as_millis())
    }
}
