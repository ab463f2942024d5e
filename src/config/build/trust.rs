//! Issuers, principals, client bundles, and what a route wants proven (contract §7).

use std::path::{Path, PathBuf};

use super::route::Around;
use super::{DAY, YEAR, addresses, believable, duration, unique};
use crate::config::check::{Report, did_you_mean};
use crate::config::files::Gathered;
use crate::config::raw::{self, Takes};
use crate::message::is_id;
use crate::policy::{
    Algorithm, Claim, ClaimAbout, ClientBundle, Credential, Issuer, KeySource, Pattern, Principal, Proofs, Role,
    Scheme, Trust,
};
use crate::trust::sign::SigningKey;

/// Everything the policy believes; `None` when a part of it cannot be built.
pub(super) fn believed(raw: &raw::Policy, gathered: &Gathered, report: &mut Report<'_>) -> Option<Trust> {
    let default = Trust::default();
    let issuers: Vec<Option<Issuer>> = each(&raw.issuers, "/issuers", |raw, at| issuer(raw, at, gathered, report));
    let clients: Vec<Option<ClientBundle>> =
        each(&raw.clients, "/clients", |raw, at| bundle(raw, at, gathered, report));
    let principals: Vec<Option<Principal>> = each(&raw.principals, "/principals", |one, at| {
        principal(one, at, raw, report)
    });
    let life = duration(raw.max_token_life.as_ref(), "/max_token_life", DAY, report);
    names_once(raw, report);
    believable::check(raw, report);
    if !raw.clients.is_empty() && raw.tls.is_none() {
        report.value(
            "/clients",
            "`clients`: expected `tls`, as only then certificates are asked for",
        );
    }
    let trust = Trust {
        issuers: issuers.into_iter().collect::<Option<_>>()?,
        principals: principals.into_iter().collect::<Option<_>>()?,
        clients: clients.into_iter().collect::<Option<_>>()?,
        key: match &raw.signing_key {
            Some(path) => Some(signing_key(path, gathered, report)?),
            None => None,
        },
        max_token_life: life.unwrap_or(default.max_token_life),
        project: raw.agent.as_ref()?.project.as_ref().map(|id| id.0.clone()),
    };
    credentials_once(&trust, report);
    Some(trust)
}

/// What one route wants proven.
pub(super) fn proofs(raw: &raw::Route, at: &str, around: &Around<'_>, report: &mut Report<'_>) -> Proofs {
    let schemes: Vec<Scheme> = raw
        .credentials
        .iter()
        .flatten()
        .map(|scheme| scheme_of(*scheme))
        .collect();
    let names: Vec<String> = schemes.iter().map(|scheme| scheme.name().to_owned()).collect();
    unique(&names, &format!("{at}/credentials"), "credentials", report);
    if raw.takes != Some(Takes::Messages) {
        for key in ["signature", "require_audience", "authority"] {
            let pointer = format!("{at}/{key}");
            if report.is_written(&pointer) && raw.takes.is_some() {
                report.key(
                    &pointer,
                    &format!("`{key}`: expected only on a route with `takes: messages`"),
                    None,
                );
            }
        }
    }
    let has = |scheme| schemes.contains(&scheme);
    let mut misplaced = |key: &str, is_written: bool, fits: bool, why: &str| {
        if is_written && !fits {
            report.key(&format!("{at}/{key}"), &format!("`{key}`: expected only {why}"), None);
        }
    };
    let by_token = has(Scheme::Bearer) || has(Scheme::Dpop);
    misplaced(
        "resource",
        raw.resource.is_some(),
        by_token,
        "with `credentials` bearer or dpop",
    );
    misplaced(
        "dpop_nonce",
        raw.dpop_nonce.is_some(),
        has(Scheme::Dpop),
        "with `credentials` dpop",
    );
    misplaced(
        "client_bundle",
        raw.client_bundle.is_some(),
        has(Scheme::Mtls),
        "with `credentials` mtls",
    );
    if has(Scheme::Mtls) && around.client_bundles.is_empty() {
        let message = "`credentials`: expected `clients` to name a bundle, as `mtls` needs one";
        report.value(&format!("{at}/credentials"), message);
    }
    if by_token && raw.resource.is_none() && !around.has_public_url {
        let message = "`credentials`: expected `resource` or `public_url`, which tokens name as their audience";
        report.value(&format!("{at}/credentials"), message);
    }
    if has(Scheme::Dpop) && !around.has_public_url {
        let message = "`credentials`: expected `public_url`, which DPoP proofs name in `htu`";
        report.value(&format!("{at}/credentials"), message);
    }
    if let Some(name) = &raw.client_bundle
        && !around.client_bundles.contains(&name.0.as_str())
    {
        let near = did_you_mean(&name.0, around.client_bundles.iter().copied());
        report.near(
            &format!("{at}/client_bundle"),
            "`client_bundle`: expected a name of `clients`",
            near,
        );
    }
    Proofs {
        signature_required: raw.signature == Some(raw::RouteSignature::Required),
        audience_required: raw.require_audience.unwrap_or(false),
        schemes,
        resource: raw.resource.clone(),
        dpop_nonce: raw.dpop_nonce.unwrap_or(false),
        client_bundle: raw.client_bundle.as_ref().map(|name| name.0.clone()),
        claims: claims(raw.authority.as_ref(), at, report),
    }
}

fn issuer(raw: &raw::Issuer, at: &str, gathered: &Gathered, report: &mut Report<'_>) -> Option<Issuer> {
    let mut time = |raw: &Option<raw::Duration>, key: &str, default: u64| {
        duration(raw.as_ref(), &format!("{at}/{key}"), YEAR, report).unwrap_or(std::time::Duration::from_secs(default))
    };
    let refresh = time(&raw.refresh, "refresh", 300);
    let unknown_kid_cooldown = time(&raw.unknown_kid_cooldown, "unknown_kid_cooldown", 30);
    let max_stale = time(&raw.max_stale, "max_stale", 24 * 3600);
    let algorithms: Vec<Algorithm> = match &raw.algorithms {
        None => Algorithm::DEFAULT.to_vec(),
        Some(list) => list.iter().map(|algorithm| algorithm_of(*algorithm)).collect(),
    };
    let names: Vec<String> = algorithms.iter().map(|algorithm| algorithm.name().to_owned()).collect();
    unique(&names, &format!("{at}/algorithms"), "algorithms", report);
    let senders = patterns(&raw.senders, &format!("{at}/senders"), report);
    let keys = source(raw, at, gathered, report);
    Some(Issuer {
        name: raw.name.clone()?.0,
        keys: keys?,
        algorithms,
        typ_optional: raw.typ == Some(raw::Typ::Optional),
        senders: senders?,
        token_issuer: raw.token_issuer.clone(),
        refresh,
        unknown_kid_cooldown,
        max_stale,
    })
}

fn source(raw: &raw::Issuer, at: &str, gathered: &Gathered, report: &mut Report<'_>) -> Option<KeySource> {
    let keys = raw.keys.as_deref()?;
    let pointer = format!("{at}/keys");
    if !keys.contains("://") {
        if raw.ca.is_some() {
            report.key(
                &format!("{at}/ca"),
                "`ca`: expected only beside an https URL in `keys`",
                None,
            );
        }
        return Some(KeySource::File(file(keys, &pointer, gathered, report)?));
    }
    let url = addresses::https_url(Some(keys), &pointer, "keys", report)?;
    let ca = match &raw.ca {
        Some(path) => Some(file(path, &format!("{at}/ca"), gathered, report)?),
        None => None,
    };
    Some(KeySource::Url { url, ca })
}

fn bundle(raw: &raw::ClientBundle, at: &str, gathered: &Gathered, report: &mut Report<'_>) -> Option<ClientBundle> {
    let domain = raw.trust_domain.as_deref();
    if domain.is_some_and(|domain| !is_trust_domain(domain)) {
        let message = "`trust_domain`: expected a SPIFFE trust domain such as example.org, without scheme";
        report.value(&format!("{at}/trust_domain"), message);
    }
    let crl = match &raw.crl {
        Some(path) => Some(file(path, &format!("{at}/crl"), gathered, report)?),
        None => None,
    };
    Some(ClientBundle {
        name: raw.name.clone()?.0,
        file: file(raw.bundle.as_deref()?, &format!("{at}/bundle"), gathered, report)?,
        trust_domain: raw.trust_domain.clone(),
        crl,
    })
}

fn principal(one: &raw::Principal, at: &str, raw: &raw::Policy, report: &mut Report<'_>) -> Option<Principal> {
    let senders = patterns(&one.senders, &format!("{at}/senders"), report);
    let credentials: Vec<Option<Credential>> = one
        .credentials
        .iter()
        .flatten()
        .enumerate()
        .map(|(index, one)| credential(one, &format!("{at}/credentials/{index}"), raw, report))
        .collect();
    for (index, name) in one.relays.iter().enumerate() {
        if !raw.principals.iter().any(|other| other.name.as_ref() == Some(name)) {
            let message = "`relays`: expected the name of a principal";
            report.value(&format!("{at}/relays/{index}"), message);
        }
    }
    for (index, name) in one.routes.iter().flatten().enumerate() {
        let mut routes = raw.routes.iter().flatten();
        if !routes.any(|route| route.name.as_ref() == Some(name)) {
            report.value(
                &format!("{at}/routes/{index}"),
                "`routes`: expected the name of a route",
            );
        }
    }
    let text = |id: &Option<raw::Id>| id.as_ref().map(|id| id.0.clone());
    let name = one.name.clone()?.0;
    let mut aliases = one.aliases.clone();
    aliases.push(name.clone());
    Some(Principal {
        name,
        aliases,
        credentials: credentials.into_iter().collect::<Option<_>>()?,
        role: role(one.role?),
        tenant: text(&one.tenant),
        workspace: text(&one.workspace),
        project: text(&one.project),
        senders: senders?,
        uai_identity: one.uai_identity.clone(),
        routes: one
            .routes
            .as_ref()
            .map(|names| names.iter().map(|name| name.0.clone()).collect()),
        relays: one.relays.iter().map(|id| id.0.clone()).collect(),
        actors: one.actors.clone(),
        scopes: one.scopes.clone(),
        parent: text(&one.parent),
        branch_id: text(&one.branch_id),
        rate: one.rate,
    })
}

fn credential(one: &raw::Credential, at: &str, raw: &raw::Policy, report: &mut Report<'_>) -> Option<Credential> {
    let mut fail = |key: &str, message: &str| {
        report.value(&format!("{at}{key}"), message);
        None
    };
    let issuer = || one.issuer.as_ref().map(|name| name.0.clone());
    if let Some(name) = &one.issuer
        && !raw.issuers.iter().any(|issuer| issuer.name.as_ref() == Some(name))
    {
        return fail("/issuer", "`issuer`: expected a name of `issuers`");
    }
    match (&one.spiffe, &one.dns, issuer(), &one.sub, &one.kid) {
        (Some(id), None, None, None, None) => {
            if !is_spiffe_id(id) {
                return fail(
                    "/spiffe",
                    "`spiffe`: expected a SPIFFE id such as spiffe://example.org/agent",
                );
            }
            Some(Credential::Spiffe(id.clone()))
        }
        (None, Some(name), None, None, None) => {
            let is_name = name.split('.').all(is_label);
            if !is_name {
                return fail("/dns", "`dns`: expected a host name without wildcard, in lower case");
            }
            Some(Credential::Dns(name.clone()))
        }
        (None, None, Some(issuer), Some(subject), None) => Some(Credential::Token {
            issuer,
            subject: subject.clone(),
        }),
        (None, None, Some(issuer), None, Some(kid)) => {
            if !is_id(kid) {
                return fail(
                    "/kid",
                    "`kid`: expected an id of 1 to 128 characters of A-Z a-z 0-9 . _ : / @ -",
                );
            }
            Some(Credential::Key {
                issuer,
                kid: kid.clone(),
            })
        }
        _ => fail(
            "",
            "expected exactly one of `spiffe`, `dns`, `issuer` with `sub`, `issuer` with `kid`",
        ),
    }
}

fn claims(raw: Option<&raw::Claims>, at: &str, report: &mut Report<'_>) -> Vec<Claim> {
    let Some(raw) = raw else { return Vec::new() };
    let mut claims = Vec::new();
    for (key, about, list) in [
        ("tenant", ClaimAbout::Tenant, &raw.tenant),
        ("workspace", ClaimAbout::Workspace, &raw.workspace),
        ("project", ClaimAbout::Project, &raw.project),
    ] {
        for (index, pointer) in list.iter().enumerate() {
            if !super::route::is_pointer(pointer) {
                let message = format!("`{key}`: expected an RFC 6901 pointer such as /body/tenant");
                report.value(&format!("{at}/authority/{key}/{index}"), &message);
            }
            claims.push(Claim {
                pointer: pointer.clone(),
                about,
            });
        }
    }
    claims
}

/// Each list of names holds each name once.
fn names_once(raw: &raw::Policy, report: &mut Report<'_>) {
    let mut once = |names: Vec<Option<&str>>, pointer: &str| {
        for (index, name) in names.iter().enumerate() {
            if name.is_some() && names.iter().take(index).any(|earlier| earlier == name) {
                let message = "`name`: expected a name that no other has";
                report.value(&format!("{pointer}/{index}/name"), message);
            }
        }
    };
    let name = |name: &'_ Option<raw::Name>| name.as_ref().map(|name| name.0.clone());
    let issuers: Vec<Option<String>> = raw.issuers.iter().map(|issuer| name(&issuer.name)).collect();
    let clients: Vec<Option<String>> = raw.clients.iter().map(|bundle| name(&bundle.name)).collect();
    once(issuers.iter().map(Option::as_deref).collect(), "/issuers");
    once(clients.iter().map(Option::as_deref).collect(), "/clients");
    let principals = raw.principals.iter();
    once(
        principals
            .map(|one| one.name.as_ref().map(|id| id.0.as_str()))
            .collect(),
        "/principals",
    );
    let mut domains: Vec<&str> = Vec::new();
    for (index, bundle) in raw.clients.iter().enumerate() {
        if let Some(domain) = bundle.trust_domain.as_deref() {
            if domains.contains(&domain) {
                let message = "`trust_domain`: expected one bundle for each trust domain";
                report.value(&format!("/clients/{index}/trust_domain"), message);
            }
            domains.push(domain);
        }
    }
}

/// One credential proves one principal.
fn credentials_once(trust: &Trust, report: &mut Report<'_>) {
    for (index, principal) in trust.principals.iter().enumerate() {
        for (place, credential) in principal.credentials.iter().enumerate() {
            let mut earlier = trust.principals.iter().take(index).flat_map(|other| &other.credentials);
            let mut own = principal.credentials.iter().take(place);
            if earlier.any(|other| other == credential) || own.any(|other| other == credential) {
                let message = "expected a credential that proves nobody else";
                report.value(&format!("/principals/{index}/credentials/{place}"), message);
            }
        }
    }
}

fn patterns(raw: &[String], pointer: &str, report: &mut Report<'_>) -> Option<Vec<Pattern>> {
    let parsed: Vec<Option<Pattern>> = raw
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let pattern = Pattern::parse(text);
            if pattern.is_none() {
                let message = "`senders`: expected a name, or the beginning of names with a `*` at its end";
                report.value(&format!("{pointer}/{index}"), message);
            }
            pattern
        })
        .collect();
    parsed.into_iter().collect()
}

/// A file that the policy names; a policy without a file of its own names only absolute paths.
fn file(path: &str, pointer: &str, gathered: &Gathered, report: &mut Report<'_>) -> Option<PathBuf> {
    let absolute = || Path::new(path).is_absolute().then(|| PathBuf::from(path));
    let resolved = gathered.resolve(path).or_else(absolute);
    if resolved.is_none() {
        report.value(pointer, "expected an absolute path, as this policy is no file");
    }
    resolved
}

/// The gateway's own key has to be one that signs, else nothing starts.
fn signing_key(path: &str, gathered: &Gathered, report: &mut Report<'_>) -> Option<PathBuf> {
    let path = file(path, "/signing_key", gathered, report)?;
    if let Err(problem) = SigningKey::load(&path) {
        report.value("/signing_key", &format!("`signing_key`: the file {problem}"));
    }
    Some(path)
}

fn each<T, U>(list: &[T], pointer: &str, mut build: impl FnMut(&T, &str) -> U) -> Vec<U> {
    list.iter()
        .enumerate()
        .map(|(index, raw)| build(raw, &format!("{pointer}/{index}")))
        .collect()
}

/// SPIFFE-ID §2: the scheme, a trust domain, and a path of plain segments.
fn is_spiffe_id(text: &str) -> bool {
    let Some((domain, path)) = text.strip_prefix("spiffe://").and_then(|rest| rest.split_once('/')) else {
        return false;
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let segment = |segment: &str| !matches!(segment, "" | "." | "..") && segment.bytes().all(is_plain);
    text.len() <= 2048 && is_trust_domain(domain) && path.split('/').all(segment)
}

fn is_trust_domain(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.');
    (1..=255).contains(&text.len()) && text.bytes().all(is_plain)
}

fn is_label(label: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&label.len()) && label.bytes().all(is_plain) && !label.starts_with('-') && !label.ends_with('-')
}

const fn algorithm_of(raw: raw::Algorithm) -> Algorithm {
    match raw {
        raw::Algorithm::Ed25519 => Algorithm::Ed25519,
        raw::Algorithm::ES256 => Algorithm::Es256,
        raw::Algorithm::ES384 => Algorithm::Es384,
        raw::Algorithm::PS256 => Algorithm::Ps256,
        raw::Algorithm::RS256 => Algorithm::Rs256,
    }
}

const fn scheme_of(raw: raw::Scheme) -> Scheme {
    match raw {
        raw::Scheme::Mtls => Scheme::Mtls,
        raw::Scheme::Bearer => Scheme::Bearer,
        raw::Scheme::Dpop => Scheme::Dpop,
    }
}

const fn role(raw: raw::Role) -> Role {
    match raw {
        raw::Role::Orchestrator => Role::Orchestrator,
        raw::Role::Coordinator => Role::Coordinator,
        raw::Role::Worker => Role::Worker,
        raw::Role::Observer => Role::Observer,
        raw::Role::Service => Role::Service,
    }
}
