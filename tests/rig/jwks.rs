//! An issuer's https server: gives the answer that the test sets, and counts who asks.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::version::TLS13;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;

/// What the server does with a request.
#[derive(Clone, Debug)]
pub enum Says {
    /// These bytes are the whole answer.
    Bytes(Vec<u8>),
    /// It closes without an answer.
    Nothing,
    /// It answers with the bytes once [`Jwks::release`] was called.
    Held(Vec<u8>),
    /// It never answers.
    Hangs,
}

/// A set with its media type and further fields.
pub fn set(text: &str, fields: &str) -> Says {
    answer(
        200,
        &format!("content-type: application/jwk-set+json\r\n{fields}"),
        text,
    )
}

/// Any answer.
pub fn answer(status: u16, fields: &str, body: &str) -> Says {
    Says::Bytes(
        format!(
            "HTTP/1.1 {status} Said\r\n{fields}connection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes(),
    )
}

/// The server, and the file of the CA that vouches for it.
pub struct Jwks {
    pub address: SocketAddr,
    pub ca: PathBuf,
    shared: Arc<Shared>,
    _directory: tempfile::TempDir,
}

struct Shared {
    says: Mutex<Says>,
    asked: AtomicUsize,
    release: Notify,
}

impl Jwks {
    /// A server for `localhost` on a port of its own.
    pub async fn start(says: Says) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let leaf = leaf.signed_by(&key, &ca).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let ca_file = directory.path().join("ca.pem");
        std::fs::write(&ca_file, ca.pem()).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            .with_protocol_versions(&[&TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            says: Mutex::new(says),
            asked: AtomicUsize::new(0),
            release: Notify::new(),
        });
        let own = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(Arc::clone(&own), acceptor.clone(), stream));
            }
        });
        Self {
            address,
            ca: ca_file,
            shared,
            _directory: directory,
        }
    }

    /// Where the set is.
    pub fn url(&self) -> String {
        format!("https://localhost:{}/jwks.json", self.address.port())
    }

    /// What it says from now on.
    pub fn says(&self, says: Says) {
        *self.shared.says.lock().unwrap() = says;
    }

    /// Requests so far.
    pub fn asked(&self) -> usize {
        self.shared.asked.load(Ordering::SeqCst)
    }

    /// Lets one held answer go.
    pub fn release(&self) {
        self.shared.release.notify_one();
    }

    /// The policy's lines of an issuer with this name, which this server answers for.
    pub fn issuer(&self, name: &str, more: &str) -> String {
        format!(
            "  - {{name: {name}, keys: \"{}\", ca: \"{}\", senders: [\"agt_*\"]{more}}}\n",
            self.url(),
            self.ca.display()
        )
    }
}

async fn serve(shared: Arc<Shared>, acceptor: TlsAcceptor, stream: TcpStream) {
    let Ok(mut stream) = acceptor.accept(stream).await else {
        return;
    };
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    assert!(head.starts_with(b"GET /jwks.json HTTP/1.1\r\n"));
    shared.asked.fetch_add(1, Ordering::SeqCst);
    let says = shared.says.lock().unwrap().clone();
    let bytes = match says {
        Says::Bytes(bytes) => bytes,
        Says::Nothing => return,
        Says::Held(bytes) => {
            shared.release.notified().await;
            bytes
        }
        Says::Hangs => {
            let _gone = stream.read_u8().await;
            return;
        }
    };
    let _gone = stream.write_all(&bytes).await;
    let _gone = stream.shutdown().await;
}
