//! TLS 1.3 of the gate's listener, with a certificate that is read again when its files change.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;

use super::mtls::Clients;
use crate::message::canonical::sha256_hex;

/// Why a certificate cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("`{path}` cannot be read")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// The chain holds no certificate, or one that is not PEM.
    #[error("`{0}` holds no certificate chain in PEM")]
    NoCertificate(String),
    /// The key file holds no private key in PEM.
    #[error("`{0}` holds no private key in PEM")]
    NoKey(String),
    /// The key is of no supported kind, or not the key of the certificate.
    #[error("the key is not the one of the certificate")]
    Mismatch(#[source] rustls::Error),
    /// The TLS library refuses the only version and provider that there are.
    #[error("TLS 1.3 is not available")]
    Unavailable(#[source] rustls::Error),
}

/// The certificate in use and the files it is read from. The last good one is kept.
#[derive(Debug)]
pub struct Certificates {
    certificate: PathBuf,
    key: PathBuf,
    current: ArcSwap<CertifiedKey>,
    /// Digest of the files at the last attempt, whatever came of it.
    seen: ArcSwap<String>,
}

impl Certificates {
    /// Reads chain and key.
    ///
    /// # Errors
    /// Why they cannot be taken.
    pub fn load(certificate: &Path, key: &Path) -> Result<Arc<Self>, TlsError> {
        let files = Files::read(certificate, key)?;
        let current = files.certified(certificate, key)?;
        Ok(Arc::new(Self {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            current: ArcSwap::from_pointee(current),
            seen: ArcSwap::from_pointee(files.digest()),
        }))
    }

    /// Reads the files again and takes them when they changed since the last attempt; tells whether it did. A bad pair
    /// is told once, not at every look.
    ///
    /// # Errors
    /// Why the changed files cannot be taken; the last good certificate stays in use.
    pub fn look(&self) -> Result<bool, TlsError> {
        let files = Files::read(&self.certificate, &self.key)?;
        let digest = files.digest();
        if **self.seen.load() == digest {
            return Ok(false);
        }
        self.seen.store(Arc::new(digest));
        let certified = files.certified(&self.certificate, &self.key)?;
        self.current.store(Arc::new(certified));
        Ok(true)
    }

    /// TLS 1.3 only, HTTP/2 and HTTP/1.1 by ALPN, no early data, no session tickets: a client proves its key in every
    /// handshake.
    ///
    /// # Errors
    /// When the TLS library has no TLS 1.3.
    pub fn server_config(self: &Arc<Self>, clients: &Arc<Clients>) -> Result<Arc<ServerConfig>, TlsError> {
        let resolver: Arc<dyn ResolvesServerCert> = Arc::<Self>::clone(self);
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&TLS13])
            .map_err(TlsError::Unavailable)?
            .with_client_cert_verifier(clients.verifier())
            .with_cert_resolver(resolver);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config.max_early_data_size = 0;
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config))
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.load_full())
    }
}

/// The bytes of both files.
struct Files {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Files {
    fn read(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let read = |path: &Path| {
            fs::read(path).map_err(|source| TlsError::Unreadable {
                path: path.display().to_string(),
                source,
            })
        };
        Ok(Self {
            certificate: read(certificate)?,
            key: read(key)?,
        })
    }

    fn digest(&self) -> String {
        format!("{}{}", sha256_hex(&self.certificate), sha256_hex(&self.key))
    }

    fn certified(&self, certificate: &Path, key: &Path) -> Result<CertifiedKey, TlsError> {
        let no_chain = || TlsError::NoCertificate(certificate.display().to_string());
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&self.certificate)
            .collect::<Result<_, _>>()
            .map_err(|_| no_chain())?;
        if chain.is_empty() {
            return Err(no_chain());
        }
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|_| TlsError::NoKey(key.display().to_string()))?;
        CertifiedKey::from_der(chain, key, &default_provider()).map_err(TlsError::Mismatch)
    }
}
