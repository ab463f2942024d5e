//! What issuers, principals and routes say about each other: credentials that could prove nobody, names that could mean
//! two (contract §7).

use crate::config::check::Report;
use crate::config::raw;

/// What records write where nobody is proven; so it is no name.
const UNPROVEN: &str = "unproven";

/// Reports every principal and issuer that cannot be what it says.
pub(super) fn check(raw: &raw::Policy, report: &mut Report<'_>) {
    issuers(raw, report);
    for (index, principal) in raw.principals.iter().enumerate() {
        let at = format!("/principals/{index}");
        names(principal, &at, raw, report);
        words(principal, &at, report);
        for (place, credential) in principal.credentials.iter().flatten().enumerate() {
            provable(credential, &format!("{at}/credentials/{place}"), raw, report);
        }
    }
}

/// `iss` is tied to one set of keys.
fn issuers(raw: &raw::Policy, report: &mut Report<'_>) {
    for (index, issuer) in raw.issuers.iter().enumerate() {
        let mut earlier = raw.issuers.iter().take(index);
        if issuer.token_issuer.is_some() && earlier.any(|other| other.token_issuer == issuer.token_issuer) {
            let message = "`token_issuer`: expected an `iss` that no other issuer has";
            report.value(&format!("/issuers/{index}/token_issuer"), message);
        }
    }
}

fn names(principal: &raw::Principal, at: &str, raw: &raw::Policy, report: &mut Report<'_>) {
    for (key, name) in [
        ("name", &principal.name),
        ("tenant", &principal.tenant),
        ("project", &principal.project),
    ] {
        if name.as_ref().is_some_and(|name| name.0 == UNPROVEN) {
            let message = format!("`{key}`: expected another word, as records write this one where nobody is proven");
            report.value(&format!("{at}/{key}"), &message);
        }
    }
    for (index, alias) in principal.aliases.iter().enumerate() {
        let mut others = raw.principals.iter().filter(|other| other.name != principal.name);
        if others.any(|other| other.name.as_ref().is_some_and(|name| name.0 == *alias)) {
            let message = "`aliases`: expected no name of another principal";
            report.value(&format!("{at}/aliases/{index}"), message);
        }
    }
}

/// Words that no message and no token could ever carry.
fn words(principal: &raw::Principal, at: &str, report: &mut Report<'_>) {
    let is_word = |text: &String| !text.is_empty() && !text.contains(|letter: char| letter.is_ascii_whitespace());
    for (key, list, fits, expected) in [
        (
            "scopes",
            &principal.scopes,
            is_word as fn(&String) -> bool,
            "a scope without blanks",
        ),
        ("actors", &principal.actors, |text| !text.is_empty(), "a subject"),
        ("aliases", &principal.aliases, |text| !text.is_empty(), "a name"),
    ] {
        for (index, text) in list.iter().enumerate() {
            if !fits(text) {
                report.value(&format!("{at}/{key}/{index}"), &format!("`{key}`: expected {expected}"));
            }
        }
    }
    let is_hash = |text: &str| text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if principal.uai_identity.as_deref().is_some_and(|text| !is_hash(text)) {
        let message = "`uai_identity`: expected 64 lowercase hex digits";
        report.value(&format!("{at}/uai_identity"), message);
    }
}

/// Something has to be able to vouch for a credential.
fn provable(credential: &raw::Credential, at: &str, raw: &raw::Policy, report: &mut Report<'_>) {
    if let Some(id) = &credential.spiffe {
        let domain = id.strip_prefix("spiffe://").and_then(|rest| rest.split('/').next());
        if !raw
            .clients
            .iter()
            .any(|bundle| bundle.trust_domain.as_deref() == domain)
        {
            let message = "`spiffe`: expected a trust domain that a bundle of `clients` has";
            report.value(&format!("{at}/spiffe"), message);
        }
    }
    if credential.dns.is_some() && !raw.clients.iter().any(|bundle| bundle.trust_domain.is_none()) {
        let message = "`dns`: expected a bundle of `clients` without `trust_domain`, which vouches for DNS names";
        report.value(&format!("{at}/dns"), message);
    }
    let issuer = raw.issuers.iter().find(|issuer| issuer.name == credential.issuer);
    if credential.sub.is_some() && issuer.is_some_and(|issuer| issuer.name.is_some() && issuer.token_issuer.is_none()) {
        let message = "`sub`: expected an issuer with `token_issuer`, as another issues no tokens";
        report.value(&format!("{at}/sub"), message);
    }
}
