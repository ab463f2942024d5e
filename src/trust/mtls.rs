//! Client certificates (contract §7, "mTLS"): the CA bundles that vouch for them, and what the listener asks of a client.
//!
//! In the handshake a client proves that it has the key of its certificate, and nothing else. The chain is judged for
//! each request against the bundle of its route, so that a certificate which is not good enough gets a typed answer and
//! a record instead of a bare alert, and so that a bundle or revocation list that changes counts at once.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, RootCertStore, SignatureScheme};
use x509_cert::crl::CertificateList;
use x509_cert::der::Decode;

use super::peer::timestamp;
use crate::message::canonical::sha256_hex;
use crate::policy::{ClientBundle, InForce};

/// Why a bundle cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// A file cannot be read.
    #[error("`{path}` cannot be read")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// No certificate, or one that is not PEM or no CA can have.
    #[error("`{0}` holds no CA certificates in PEM")]
    NoCertificates(String),
    /// No revocation list, or one that cannot be understood.
    #[error("`{0}` holds no certificate revocation list")]
    NoList(String),
    /// The TLS library takes certificates or lists apart and not together.
    #[error("`{path}` cannot be used")]
    Unfit {
        /// The bundle.
        path: String,
        /// What the library said.
        source: VerifierBuilderError,
    },
}

/// What came of one bundle at a look at its files.
#[derive(Debug, PartialEq, Eq)]
pub struct Change {
    /// Name of the bundle.
    pub name: String,
    /// Why it cannot be used now; `None` when it is in use.
    pub fault: Option<String>,
}

/// The bundles of the policy as their files are.
#[derive(Debug, Default)]
pub struct Clients {
    current: ArcSwap<Vec<Arc<Bundle>>>,
    /// One look at a time, so that an older one never overwrites a newer one.
    looking: Mutex<()>,
}

/// One bundle, as its files were when they were read. It never changes: a new state is a new bundle.
#[derive(Debug)]
pub struct Bundle {
    declared: ClientBundle,
    /// Digest of the files; empty when one of them could not be read.
    seen: String,
    judge: Result<Judge, BundleError>,
}

#[derive(Debug)]
struct Judge {
    verifier: Arc<dyn ClientCertVerifier>,
    /// When the first of the revocation lists is too old.
    lists_until: Option<Timestamp>,
}

/// What a bundle says of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chain {
    /// It vouches for it. The times of the chain itself are not the bundle's to remember.
    Good,
    /// It does not.
    Bad,
    /// Its files, or a revocation list, cannot tell.
    Unavailable,
}

impl Clients {
    /// Reads the bundles of a policy that a process begins with.
    ///
    /// # Errors
    /// The first bundle that cannot be used.
    pub fn load(declared: &[ClientBundle]) -> Result<Arc<Self>, BundleError> {
        let clients = Self::default();
        let mut bundles = Vec::new();
        for one in declared {
            let bundle = Bundle::read(one);
            bundles.push(Arc::new(Bundle {
                judge: Ok(bundle.judge?),
                ..bundle
            }));
        }
        clients.current.store(Arc::new(bundles));
        Ok(Arc::new(clients))
    }

    /// Reads the files of the policy's bundles again; tells which bundles are new or have changed since the last look. A
    /// bundle of which a file cannot be read or understood is not used until it can be: whom it would vouch for is not
    /// known meanwhile.
    pub fn look(&self, policy: &InForce) -> Vec<Change> {
        let _alone = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let policy = policy.current();
        let declared = &policy.trust.clients;
        let before = self.current.load_full();
        let mut changes = Vec::new();
        let mut after = Vec::with_capacity(declared.len());
        for one in declared {
            let bundle = Bundle::read(one);
            let same = before.iter().find(|old| old.is_still(&bundle));
            if let Some(same) = same {
                after.push(Arc::clone(same));
                continue;
            }
            changes.push(Change {
                name: one.name.clone(),
                fault: bundle.judge.as_ref().err().map(ToString::to_string),
            });
            after.push(Arc::new(bundle));
        }
        if !changes.is_empty() || after.len() != before.len() {
            self.current.store(Arc::new(after));
        }
        changes
    }

    /// The bundle that the policy declares so; `None` while its files were not looked at yet.
    pub fn bundle(&self, declared: &ClientBundle) -> Option<Arc<Bundle>> {
        let current = self.current.load();
        current.iter().find(|bundle| bundle.declared == *declared).cloned()
    }

    /// What the listener asks of a client in its handshake: a certificate, while there is a bundle, and its key.
    pub fn verifier(self: &Arc<Self>) -> Arc<dyn ClientCertVerifier> {
        Arc::new(Handshake {
            clients: Arc::clone(self),
            algorithms: default_provider().signature_verification_algorithms,
        })
    }
}

impl Bundle {
    fn read(declared: &ClientBundle) -> Self {
        let files = Files::read(declared);
        let seen = files.as_ref().map(Files::digest).unwrap_or_default();
        Self {
            seen,
            judge: files.and_then(|files| files.judge(declared)),
            declared: declared.clone(),
        }
    }

    /// Whether a later look found the same files. A fault of reading is told once, as long as it is the same.
    fn is_still(&self, later: &Self) -> bool {
        let fault = |bundle: &Self| bundle.judge.as_ref().err().map(ToString::to_string);
        self.declared == later.declared && self.seen == later.seen && fault(self) == fault(later)
    }

    /// As the policy declares it.
    pub const fn declared(&self) -> &ClientBundle {
        &self.declared
    }

    /// When the first of its revocation lists is too old.
    pub fn lists_until(&self) -> Option<Timestamp> {
        self.judge.as_ref().ok().and_then(|judge| judge.lists_until)
    }

    /// Judges a chain, the client's own certificate first: signatures, times, use for clients, revocation of every
    /// certificate in it.
    pub fn judge(&self, chain: &[CertificateDer<'_>], now: Timestamp) -> Chain {
        let (Ok(judge), Some((own, others))) = (&self.judge, chain.split_first()) else {
            return if self.judge.is_ok() {
                Chain::Bad
            } else {
                Chain::Unavailable
            };
        };
        let Ok(since_epoch) = now.as_duration().try_into() else {
            return Chain::Bad;
        };
        let now = UnixTime::since_unix_epoch(since_epoch);
        match judge.verifier.verify_client_cert(own, others, now) {
            Ok(_good) => Chain::Good,
            Err(error) if is_about_lists(&error) => Chain::Unavailable,
            Err(_bad) => Chain::Bad,
        }
    }
}

/// Whether a chain could not be judged because a revocation list is missing, too old or not to be trusted.
fn is_about_lists(error: &rustls::Error) -> bool {
    matches!(
        error,
        rustls::Error::InvalidCertRevocationList(_)
            | rustls::Error::InvalidCertificate(
                CertificateError::UnknownRevocationStatus
                    | CertificateError::ExpiredRevocationList
                    | CertificateError::ExpiredRevocationListContext { .. }
            )
    )
}

/// The bytes of a bundle and its revocation list.
struct Files {
    bundle: Vec<u8>,
    list: Option<Vec<u8>>,
}

impl Files {
    fn read(declared: &ClientBundle) -> Result<Self, BundleError> {
        let read = |path: &Path| {
            fs::read(path).map_err(|source| BundleError::Unreadable {
                path: path.display().to_string(),
                source,
            })
        };
        Ok(Self {
            bundle: read(&declared.file)?,
            list: declared.crl.as_deref().map(read).transpose()?,
        })
    }

    fn digest(&self) -> String {
        let list = self.list.as_deref().map(sha256_hex).unwrap_or_default();
        format!("{}{list}", sha256_hex(&self.bundle))
    }

    fn judge(&self, declared: &ClientBundle) -> Result<Judge, BundleError> {
        let path = declared.file.display().to_string();
        let no_certificates = || BundleError::NoCertificates(path.clone());
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&self.bundle) {
            let certificate = certificate.map_err(|_| no_certificates())?;
            roots.add(certificate).map_err(|_| no_certificates())?;
        }
        if roots.is_empty() {
            return Err(no_certificates());
        }
        let lists = self.lists(declared)?;
        let mut lists_until = None;
        for list in &lists {
            let until = too_old(list).ok_or_else(|| no_list(declared))?;
            lists_until = Some(lists_until.map_or(until, |earlier: Timestamp| earlier.min(until)));
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::new(default_provider()))
            .with_crls(lists)
            .enforce_revocation_expiration()
            .build()
            .map_err(|source| BundleError::Unfit { path, source })?;
        Ok(Judge { verifier, lists_until })
    }

    /// The revocation lists, PEM or one in DER.
    fn lists(&self, declared: &ClientBundle) -> Result<Vec<CertificateRevocationListDer<'static>>, BundleError> {
        let Some(bytes) = &self.list else {
            return Ok(Vec::new());
        };
        // DER begins with a SEQUENCE, PEM with text.
        if bytes.first() == Some(&0x30) {
            return Ok(vec![CertificateRevocationListDer::from(bytes.clone())]);
        }
        let lists: Vec<CertificateRevocationListDer<'static>> = CertificateRevocationListDer::pem_slice_iter(bytes)
            .collect::<Result<_, _>>()
            .map_err(|_| no_list(declared))?;
        if lists.is_empty() {
            return Err(no_list(declared));
        }
        Ok(lists)
    }
}

/// `nextUpdate` of a revocation list; a list that never ends is none.
fn too_old(list: &CertificateRevocationListDer<'_>) -> Option<Timestamp> {
    let list = CertificateList::from_der(list.as_ref()).ok()?;
    timestamp(list.tbs_cert_list.next_update?)
}

fn no_list(declared: &ClientBundle) -> BundleError {
    let path = declared.crl.as_deref().unwrap_or(&declared.file);
    BundleError::NoList(path.display().to_string())
}

/// Asks for a certificate and takes any whose key the client has.
#[derive(Debug)]
struct Handshake {
    clients: Arc<Clients>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ClientCertVerifier for Handshake {
    fn offer_client_auth(&self) -> bool {
        !self.clients.current.load().is_empty()
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    /// No hints: which CA vouches is not known before the route is.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _own: &CertificateDer<'_>,
        _others: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        // Judged by `Bundle::judge` for every request.
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
