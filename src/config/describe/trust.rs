//! Whom the policy believes, as `portcullis check` shows it, and what a route wants proven (contract §7).

use std::io::{self, Write};

use serde::Serialize;

use super::text;
use crate::policy::{
    ClaimAbout, ClientBundle, Credential, Issuer, KeySource, Pattern, Principal, Proofs, Route, Trust,
};

/// Issuers, principals and client bundles; `--output json` shows the same texts as the table.
#[derive(Debug, Serialize)]
pub struct EffectiveTrust {
    /// Project of the agent.
    pub project: Option<String>,
    /// The gateway's own signing key.
    pub signing_key: Option<String>,
    /// The longest time that an access token may still be good for.
    pub max_token_life: String,
    /// Issuers of keys, in file order.
    pub issuers: Vec<Named>,
    /// Bundles of client certificates.
    pub clients: Vec<Named>,
    /// Principals, in file order.
    pub principals: Vec<Named>,
}

/// A name, and what the policy says about it: key and value, in the words of the policy file.
#[derive(Debug, Serialize)]
pub struct Named {
    /// The name.
    pub name: String,
    /// What is said.
    pub says: Vec<(&'static str, String)>,
}

/// What a route wants proven.
#[derive(Debug, Serialize)]
pub struct EffectiveProofs {
    /// `required` or `optional`, on a route that takes messages.
    pub signature: Option<&'static str>,
    /// Whether every signature names an audience.
    pub require_audience: bool,
    /// Schemes of which a request needs one; empty needs nobody proven.
    pub credentials: Vec<&'static str>,
    /// `aud` of access tokens, where it is not the route's URL.
    pub resource: Option<String>,
    /// Whether DPoP proofs need a nonce.
    pub dpop_nonce: bool,
    /// The bundle that certificates have to chain to.
    pub client_bundle: Option<String>,
    /// Members that claim an authority: `tenant /body/tenant`.
    pub authority: Vec<String>,
}

pub(super) fn trust(trust: &Trust) -> EffectiveTrust {
    EffectiveTrust {
        project: trust.project.clone(),
        signing_key: trust.key.as_ref().map(|path| path.display().to_string()),
        max_token_life: text(trust.max_token_life),
        issuers: trust.issuers.iter().map(issuer).collect(),
        clients: trust.clients.iter().map(bundle).collect(),
        principals: trust.principals.iter().map(principal).collect(),
    }
}

pub(super) fn proofs(route: &Route) -> EffectiveProofs {
    let Proofs {
        signature_required,
        audience_required,
        schemes,
        resource,
        dpop_nonce,
        client_bundle,
        claims,
    } = &route.proofs;
    let about = |about| match about {
        ClaimAbout::Tenant => "tenant",
        ClaimAbout::Workspace => "workspace",
        ClaimAbout::Project => "project",
    };
    EffectiveProofs {
        signature: route
            .messages()
            .map(|_| if *signature_required { "required" } else { "optional" }),
        require_audience: *audience_required,
        credentials: schemes.iter().map(|scheme| scheme.name()).collect(),
        resource: resource.clone(),
        dpop_nonce: *dpop_nonce,
        client_bundle: client_bundle.clone(),
        authority: claims
            .iter()
            .map(|claim| format!("{} {}", about(claim.about), claim.pointer))
            .collect(),
    }
}

impl EffectiveTrust {
    /// One line for each thing that is believed.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        if let Some(project) = &self.project {
            writeln!(out, "project   {project}")?;
        }
        if let Some(key) = &self.signing_key {
            writeln!(out, "key       {key}")?;
        }
        for (word, list) in [
            ("issuer   ", &self.issuers),
            ("clients  ", &self.clients),
            ("principal", &self.principals),
        ] {
            for Named { name, says } in list {
                let says: Vec<String> = says.iter().map(|(key, value)| format!("{key} {value}")).collect();
                writeln!(out, "{word} {name}: {}", says.join("; "))?;
            }
        }
        if self.issuers.iter().any(|issuer| issuer.has("token_issuer")) {
            writeln!(out, "tokens    max_token_life {}", self.max_token_life)?;
        }
        Ok(())
    }
}

impl EffectiveProofs {
    /// What is said about a route, beside what is the default: key and values.
    pub(super) fn lines(&self) -> Vec<(&'static str, Vec<String>)> {
        let one = |text: Option<&str>| text.map(str::to_owned).into_iter().collect::<Vec<_>>();
        vec![
            ("signature", one(self.signature)),
            ("require_audience", one(self.require_audience.then_some("true"))),
            (
                "credentials",
                self.credentials.iter().map(|word| (*word).to_owned()).collect(),
            ),
            ("resource", one(self.resource.as_deref())),
            ("dpop_nonce", one(self.dpop_nonce.then_some("true"))),
            ("client_bundle", one(self.client_bundle.as_deref())),
            ("authority", self.authority.clone()),
        ]
    }
}

impl Named {
    fn of(name: &str, says: Vec<(&'static str, Option<String>)>) -> Self {
        Self {
            name: name.to_owned(),
            says: says
                .into_iter()
                .filter_map(|(key, value)| Some((key, value.filter(|value| !value.is_empty())?)))
                .collect(),
        }
    }

    fn has(&self, key: &str) -> bool {
        self.says.iter().any(|(other, _)| *other == key)
    }
}

fn issuer(issuer: &Issuer) -> Named {
    let (keys, ca) = match &issuer.keys {
        KeySource::File(path) => (path.display().to_string(), None),
        KeySource::Url { url, ca } => (url.clone(), ca.as_ref()),
    };
    let is_fetched = matches!(issuer.keys, KeySource::Url { .. });
    let algorithms: Vec<&str> = issuer.algorithms.iter().map(|algorithm| algorithm.name()).collect();
    Named::of(
        &issuer.name,
        vec![
            ("keys", Some(keys)),
            ("ca", ca.map(|path| path.display().to_string())),
            ("algorithms", Some(algorithms.join(", "))),
            ("typ", issuer.typ_optional.then(|| "optional".to_owned())),
            ("senders", Some(patterns(&issuer.senders))),
            ("token_issuer", issuer.token_issuer.clone()),
            ("refresh", is_fetched.then(|| text(issuer.refresh))),
            (
                "unknown_kid_cooldown",
                is_fetched.then(|| text(issuer.unknown_kid_cooldown)),
            ),
            ("max_stale", Some(text(issuer.max_stale))),
        ],
    )
}

fn bundle(bundle: &ClientBundle) -> Named {
    Named::of(
        &bundle.name,
        vec![
            ("bundle", Some(bundle.file.display().to_string())),
            ("trust_domain", bundle.trust_domain.clone()),
            ("crl", bundle.crl.as_ref().map(|path| path.display().to_string())),
        ],
    )
}

fn principal(principal: &Principal) -> Named {
    let credentials: Vec<String> = principal.credentials.iter().map(credential).collect();
    let aliases: Vec<&str> = principal.aliases.iter().map(String::as_str).collect();
    Named::of(
        &principal.name,
        vec![
            ("role", Some(principal.role.name().to_owned())),
            ("credentials", Some(credentials.join(", "))),
            ("aliases", Some(aliases.join(", "))),
            ("tenant", principal.tenant.clone()),
            ("workspace", principal.workspace.clone()),
            ("project", principal.project.clone()),
            ("senders", Some(patterns(&principal.senders))),
            ("uai_identity", principal.uai_identity.clone()),
            (
                "routes",
                Some(match &principal.routes {
                    None => "every one".to_owned(),
                    Some(routes) if routes.is_empty() => "none".to_owned(),
                    Some(routes) => routes.join(", "),
                }),
            ),
            ("relays", Some(principal.relays.join(", "))),
            ("actors", Some(principal.actors.join(", "))),
            ("scopes", Some(principal.scopes.join(", "))),
            ("parent", principal.parent.clone()),
            ("branch_id", principal.branch_id.clone()),
            ("rate", principal.rate.map(|rate| rate.to_string())),
        ],
    )
}

fn credential(credential: &Credential) -> String {
    match credential {
        Credential::Spiffe(id) => id.clone(),
        Credential::Dns(name) => format!("dns {name}"),
        Credential::Token { issuer, subject } => format!("{issuer} sub {subject}"),
        Credential::Key { issuer, kid } => format!("{issuer} kid {kid}"),
    }
}

fn patterns(patterns: &[Pattern]) -> String {
    let text = |pattern: &Pattern| match pattern {
        Pattern::Exact(name) => name.clone(),
        Pattern::Prefix(prefix) => format!("{prefix}*"),
    };
    let patterns: Vec<String> = patterns.iter().map(text).collect();
    patterns.join(", ")
}
