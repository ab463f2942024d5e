//! The certificate that one connection's client presented: what it says, and what bundles said of it.
//!
//! A verdict of a bundle is remembered on the connection as long as it cannot change: until the bundle or its revocation
//! list is read anew, a certificate of the chain ends, or the list is too old. So a kept-alive connection proves its
//! client again when it has to, and only then.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{ExtendedKeyUsage, SubjectAltName};
use x509_cert::time::Time;

use super::jwt::hash;
use super::mtls::{Bundle, Chain, Clients};
use crate::contract::{Finding, Rule};
use crate::policy::{ClientBundle, Credential};

/// `id-kp-clientAuth`, RFC 5280 §4.2.1.12.
const FOR_CLIENTS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.2");

/// DER times count whole seconds, the last one included.
const LAST_SECOND: Duration = Duration::from_secs(1);

/// A refusal is remembered so long, as a client that sends a chain which is slow to refuse can ask for it often.
const REFUSED_FOR: Duration = Duration::from_secs(10);

/// What a client presented in its handshake, with the key proven.
#[derive(Debug)]
pub struct Peer {
    chain: Vec<CertificateDer<'static>>,
    thumbprint: String,
    says: Result<Says, &'static str>,
    remembered: Mutex<Vec<Remembered>>,
}

/// What the client's own certificate says of itself.
#[derive(Debug)]
struct Says {
    is_for_clients: bool,
    uris: Vec<String>,
    /// Lower case.
    dns: Vec<String>,
    /// When the first certificate of the chain has ended.
    until: Timestamp,
}

#[derive(Debug)]
struct Remembered {
    bundle: Arc<Bundle>,
    from: Timestamp,
    until: Timestamp,
    said: Chain,
}

impl Peer {
    /// Takes the chain of a handshake, the client's own certificate first; `None` when there is none.
    pub fn of(chain: &[CertificateDer<'_>]) -> Option<Self> {
        let own = chain.first()?;
        Some(Self {
            thumbprint: hash(own),
            says: read(chain).ok_or("expected a certificate of RFC 5280"),
            chain: chain.iter().map(|one| one.clone().into_owned()).collect(),
            remembered: Mutex::default(),
        })
    }

    /// base64url of the SHA-256 of the client's certificate (RFC 8705 §3.1).
    pub fn thumbprint(&self) -> &str {
        &self.thumbprint
    }

    /// What the certificate proves under the first of these bundles that vouches for it: one SPIFFE id, or DNS names.
    ///
    /// # Errors
    /// `auth.certificate`, or `auth.unavailable` when none vouches and one could not tell.
    pub fn proves<'a>(
        &self,
        clients: &Clients,
        bundles: impl Iterator<Item = &'a ClientBundle>,
        now: Timestamp,
    ) -> Result<Vec<Credential>, Finding> {
        let says = self.says.as_ref().map_err(|expected| refused(expected))?;
        if !says.is_for_clients {
            return Err(refused("expected a certificate with the extended key usage clientAuth"));
        }
        let mut finding =
            refused("expected a certificate that chains to a bundle of this route, is in its time and not revoked");
        for declared in bundles {
            let said = clients
                .bundle(declared)
                .map_or(Chain::Unavailable, |bundle| self.ask(bundle, says.until, now));
            match said {
                Chain::Good => match says.names(declared) {
                    Ok(names) => return Ok(names),
                    Err(expected) => finding = prefer(finding, refused(expected)),
                },
                Chain::Bad => {}
                Chain::Unavailable => {
                    let expected = "a bundle or revocation list of client certificates cannot be read or is too old";
                    finding = Finding::new(Rule::AuthUnavailable, expected);
                }
            }
        }
        Err(finding)
    }

    /// What the bundle says, from memory where that still holds.
    fn ask(&self, bundle: Arc<Bundle>, chain_until: Timestamp, now: Timestamp) -> Chain {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let held = remembered.iter().find(|one| Arc::ptr_eq(&one.bundle, &bundle));
        if let Some(held) = held.filter(|one| one.from <= now && now < one.until) {
            return held.said;
        }
        let said = bundle.judge(&self.chain, now);
        let until = match said {
            Chain::Good => bundle.lists_until().map_or(chain_until, |lists| lists.min(chain_until)),
            Chain::Bad | Chain::Unavailable => now.checked_add(REFUSED_FOR).unwrap_or(now),
        };
        // One entry a bundle: an older state of the same one is of no use any more.
        remembered.retain(|one| one.bundle.declared() != bundle.declared());
        remembered.push(Remembered {
            bundle,
            from: now,
            until,
            said,
        });
        said
    }
}

impl Says {
    /// The names that count under this bundle.
    fn names(&self, bundle: &ClientBundle) -> Result<Vec<Credential>, &'static str> {
        let is_spiffe = |uri: &&String| {
            uri.get(..7)
                .is_some_and(|scheme| scheme.eq_ignore_ascii_case("spiffe:"))
        };
        let Some(domain) = bundle.trust_domain.as_deref() else {
            if self.uris.iter().any(|uri| is_spiffe(&uri)) {
                return Err("expected no SPIFFE id in a certificate of a bundle without trust domain");
            }
            // A wildcard names nobody.
            let names = self.dns.iter().filter(|name| !name.contains('*'));
            return Ok(names.map(|name| Credential::Dns(name.clone())).collect());
        };
        let [id] = self.uris.as_slice() else {
            return Err("expected exactly one URI name, a SPIFFE id");
        };
        let of_domain = id
            .strip_prefix("spiffe://")
            .and_then(|rest| rest.strip_prefix(domain))
            .is_some_and(|path| path.starts_with('/'));
        if !of_domain {
            return Err("expected a SPIFFE id of the bundle's trust domain");
        }
        Ok(vec![Credential::Spiffe(id.clone())])
    }
}

/// What the chain says; `None` when it is not of RFC 5280. A certificate twice with one extension is not.
fn read(chain: &[CertificateDer<'_>]) -> Option<Says> {
    let mut until: Option<Timestamp> = None;
    let mut own: Option<Certificate> = None;
    for der in chain {
        let certificate = Certificate::from_der(der).ok()?;
        let ends = timestamp(certificate.tbs_certificate.validity.not_after)?
            .checked_add(LAST_SECOND)
            .ok()?;
        until = Some(until.map_or(ends, |earlier| earlier.min(ends)));
        own.get_or_insert(certificate);
    }
    let own = own?.tbs_certificate;
    let usage = own.get::<ExtendedKeyUsage>().ok()?;
    let names = own.get::<SubjectAltName>().ok()?;
    let mut says = Says {
        is_for_clients: usage.is_some_and(|(_, usage)| usage.0.contains(&FOR_CLIENTS)),
        uris: Vec::new(),
        dns: Vec::new(),
        until: until?,
    };
    for name in names.map(|(_, names)| names.0).unwrap_or_default() {
        match name {
            GeneralName::UniformResourceIdentifier(uri) => says.uris.push(uri.to_string()),
            GeneralName::DnsName(name) => says.dns.push(name.to_string().to_ascii_lowercase()),
            GeneralName::OtherName(_)
            | GeneralName::Rfc822Name(_)
            | GeneralName::DirectoryName(_)
            | GeneralName::EdiPartyName(_)
            | GeneralName::IpAddress(_)
            | GeneralName::RegisteredId(_) => {}
        }
    }
    Some(says)
}

/// A time of RFC 5280.
pub(super) fn timestamp(time: Time) -> Option<Timestamp> {
    Timestamp::UNIX_EPOCH.checked_add(time.to_unix_duration()).ok()
}

fn refused(expected: &'static str) -> Finding {
    Finding::new(Rule::AuthCertificate, expected)
}

/// Not knowing outweighs a refusal: the bundle that cannot tell might have vouched.
fn prefer(one: Finding, other: Finding) -> Finding {
    if one.rule == Rule::AuthUnavailable { one } else { other }
}
