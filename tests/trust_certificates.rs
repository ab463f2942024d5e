//! Client certificates over real TLS: what proves a principal, every deviation refused, nothing at the backend.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails is a test"
)]

mod rig;

use std::fs;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as URL;
use portcullis::app::{Running, Setup, StartError, Watched};
use portcullis::clock::Clock;
use portcullis::config::{self, Overrides};
use portcullis::record::Sink;
use portcullis::trust::mtls::Change;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, ExtendedKeyUsagePurpose,
    IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SanType, SerialNumber, date_time_ymd,
};
use rig::backend::Backend;
use rig::keys::{Key, jwks};
use rig::{Answer, Rig, post, soon};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const AGENT_A: &str = "spiffe://mesh.example/agent/a";

const ROUTES: &str = r#"
  - {name: mesh, path: /mesh, method: POST, takes: legacy, content_type: [application/json], idempotency: none, credentials: [mtls], client_bundle: mesh}
  - {name: names, path: /names, method: POST, takes: legacy, content_type: [application/json], idempotency: none, credentials: [mtls], client_bundle: names}
  - {name: any, path: /any, method: POST, takes: legacy, content_type: [application/json], idempotency: none, credentials: [mtls]}
  - {name: both, path: /both, method: POST, takes: legacy, content_type: [application/json], idempotency: none, credentials: [mtls, bearer]}
  - {name: open, path: /open, method: POST, takes: legacy, content_type: [application/json], idempotency: none}
"#;

type Ca = CertifiedIssuer<'static, KeyPair>;

/// What a client shows, with its key.
struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: KeyPair,
}

/// A gate with TLS and two bundles: one of a SPIFFE trust domain with a revocation list, one of DNS names.
struct Stand {
    rig: Rig,
    clock: Clock,
    mesh: Ca,
    names: Ca,
    issuer: Key,
    server: CertificateDer<'static>,
    directory: tempfile::TempDir,
}

fn authority(name: &str) -> Ca {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn uri(text: &str) -> SanType {
    SanType::URI(text.try_into().unwrap())
}

fn dns(text: &str) -> SanType {
    SanType::DnsName(text.try_into().unwrap())
}

/// What a good certificate says.
fn good(names: Vec<SanType>) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.not_before = date_time_ymd(2026, 1, 1);
    params.not_after = date_time_ymd(2027, 1, 1);
    params.serial_number = Some(SerialNumber::from(7_u64));
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.subject_alt_names = names;
    params
}

fn issued(ca: &Ca, params: &CertificateParams) -> Identity {
    let key = KeyPair::generate().unwrap();
    Identity {
        chain: vec![params.signed_by(&key, ca).unwrap().der().clone()],
        key,
    }
}

/// A list of the CA, with the certificate of this serial number revoked.
fn list(ca: &Ca, revoked: u64) -> String {
    list_until(ca, revoked, 15)
}

/// The same, too old from this day of June on.
fn list_until(ca: &Ca, revoked: u64, day: u8) -> String {
    CertificateRevocationListParams {
        this_update: date_time_ymd(2026, 5, 1),
        next_update: date_time_ymd(2026, 6, day),
        crl_number: SerialNumber::from(1_u64),
        issuing_distribution_point: None,
        revoked_certs: vec![RevokedCertParams {
            serial_number: SerialNumber::from(revoked),
            revocation_time: date_time_ymd(2026, 5, 1),
            reason_code: None,
            invalidity_date: None,
        }],
        key_identifier_method: KeyIdMethod::Sha256,
    }
    .signed_by(ca)
    .unwrap()
    .pem()
    .unwrap()
}

impl Stand {
    async fn new() -> Self {
        let (mesh, names) = (authority("mesh"), authority("names"));
        let (stand, started) = Self::with(mesh, names, |_| {}).await;
        started.unwrap();
        stand.unwrap()
    }

    /// `spoil` may change the files before the gate starts.
    async fn with(mesh: Ca, names: Ca, spoil: impl Fn(&std::path::Path)) -> (Option<Self>, Result<(), StartError>) {
        Self::begun(mesh, names, spoil, false).await
    }

    /// The same; the policy file may be watched.
    async fn begun(
        mesh: Ca,
        names: Ca,
        spoil: impl Fn(&std::path::Path),
        is_watched: bool,
    ) -> (Option<Self>, Result<(), StartError>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let made = rcgen::generate_simple_self_signed(vec!["gate.example".to_owned()]).unwrap();
        let issuer = Key::ed25519("as-1");
        fs::write(path.join("tls.crt"), made.cert.pem()).unwrap();
        fs::write(path.join("tls.key"), made.signing_key.serialize_pem()).unwrap();
        fs::write(path.join("mesh.pem"), mesh.pem()).unwrap();
        fs::write(path.join("mesh.crl"), list(&mesh, 99)).unwrap();
        fs::write(path.join("names.pem"), names.pem()).unwrap();
        fs::write(path.join("jwks.json"), jwks(&[&issuer])).unwrap();
        spoil(path);
        let settings = r#"
public_url: "https://agent.example"
tls: {certificate: tls.crt, key: tls.key}
clients:
  - {name: mesh, bundle: mesh.pem, crl: mesh.crl, trust_domain: mesh.example}
  - {name: names, bundle: names.pem}
issuers:
  - {name: as, keys: jwks.json, token_issuer: "https://as.example"}
principals:
  - {name: agent-a, role: worker, credentials: [{spiffe: "spiffe://mesh.example/agent/a"}, {dns: a.agents.example}, {issuer: as, sub: a}]}
  - {name: agent-b, role: worker, credentials: [{dns: b.agents.example}, {issuer: as, sub: b}]}
"#;
        let backend = Backend::start().await;
        fs::write(path.join("policy.yaml"), rig::policy(&backend.url(), settings, ROUTES)).unwrap();
        let (sink, clock) = (Sink::memory(), rig::clock());
        let loaded = config::load(&path.join("policy.yaml"));
        let watched = is_watched.then(|| Watched {
            path: path.join("policy.yaml"),
            overrides: Overrides::default(),
            notice: |_| {},
        });
        let running = Running::start(Setup {
            config: loaded.unwrap_or_else(|mistakes| panic!("{:?}", mistakes.mistakes)),
            watched,
            sink: sink.clone(),
            clock: clock.clone(),
            store: Some(rig::store()),
        })
        .await;
        let running = match running {
            Ok(running) => running,
            Err(error) => return (None, Err(error)),
        };
        let stand = Self {
            rig: Rig {
                running,
                backend,
                sink,
                clock: clock.clone(),
            },
            clock,
            mesh,
            names,
            issuer,
            server: made.cert.der().clone(),
            directory,
        };
        (Some(stand), Ok(()))
    }

    fn write(&self, file: &str, text: impl AsRef<[u8]>) {
        fs::write(self.directory.path().join(file), text).unwrap();
    }

    /// Looks at the files now, instead of at the next turn of the watcher.
    fn look(&self) -> Vec<Change> {
        self.rig.running.clients().look(self.rig.running.policy())
    }

    async fn connect(&self, identity: Option<&Identity>) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(self.server.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let config = match identity {
            None => config.with_no_client_auth(),
            Some(identity) => {
                let key = PrivateKeyDer::try_from(identity.key.serialize_der()).unwrap();
                config.with_client_auth_cert(identity.chain.clone(), key).unwrap()
            }
        };
        let stream = TcpStream::connect(self.rig.running.gate()).await.unwrap();
        let name = ServerName::try_from("gate.example").unwrap();
        soon(TlsConnector::from(Arc::new(config)).connect(name, stream))
            .await
            .unwrap()
    }

    async fn send(&self, identity: Option<&Identity>, path: &str, fields: &str) -> Answer {
        let mut stream = self.connect(identity).await;
        stream.write_all(&post(path, fields, "{}")).await.unwrap();
        Answer::read(&mut stream).await
    }

    async fn takes(&self, identity: &Identity, path: &str) {
        let answer = self.send(Some(identity), path, "").await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }

    /// A refusal: its rule and status in the answer, zero bytes at the backend, exactly one record.
    async fn refuses(&self, identity: Option<&Identity>, path: &str, fields: &str, rule: &str, status: u16) -> Answer {
        let (before, seen) = (self.rig.records().len(), self.rig.backend.bytes());
        let answer = self.send(identity, path, fields).await;
        self.refused(&answer, before, seen, rule, status).await;
        answer
    }

    async fn refused(&self, answer: &Answer, before: usize, seen: usize, rule: &str, status: u16) {
        assert_eq!(
            (answer.rule().as_str(), answer.status),
            (rule, status),
            "{}",
            answer.text
        );
        let records = self.rig.record_count(before + 1).await;
        assert_eq!(
            (&records[before]["rule"], &records[before]["status"]),
            (&rule.into(), &status.into())
        );
        assert_eq!(
            self.rig.backend.bytes(),
            seen,
            "the backend saw something of a refused request"
        );
    }

    fn token(&self, sub: &str, cnf: Option<Value>) -> String {
        let now = self.clock.now().as_second();
        let mut claims =
            json!({"iss": "https://as.example", "sub": sub, "aud": "https://agent.example/both", "exp": now + 60});
        if let Some(cnf) = cnf {
            claims["cnf"] = cnf;
        }
        let head = json!({"alg": self.issuer.alg(), "kid": self.issuer.kid, "typ": "at+jwt"});
        let token = self.issuer.compact(&head, claims.to_string().as_bytes());
        format!("Authorization: Bearer {token}\r\n")
    }
}

/// One request on a connection that stays open.
async fn ask(stream: &mut TlsStream<TcpStream>, path: &str) -> Answer {
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: gate.example\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let read = soon(stream.read(&mut piece)).await.unwrap();
        bytes.extend_from_slice(&piece[..read]);
        let answer = Answer::of(&bytes);
        let length = answer
            .header("content-length")
            .and_then(|length| length.parse::<usize>().ok());
        if read == 0 || length.is_some_and(|length| answer.body().len() >= length) {
            return answer;
        }
    }
}

#[tokio::test]
async fn a_good_certificate_proves_its_principal() {
    let stand = Stand::new().await;
    let agent = issued(&stand.mesh, &good(vec![uri(AGENT_A), dns("whatever.example")]));
    stand.takes(&agent, "/mesh").await;
    stand.takes(&agent, "/any").await;
    stand.takes(&agent, "/open").await;
    let named = issued(
        &stand.names,
        &good(vec![dns("B.Agents.Example"), dns("*.agents.example"), uri("urn:x")]),
    );
    stand.takes(&named, "/names").await;
    stand.takes(&named, "/any").await;
    // A chain of two.
    let middle = {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(rcgen::DnType::CommonName, "middle");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        CertifiedIssuer::signed_by(params, KeyPair::generate().unwrap(), &stand.names).unwrap()
    };
    let mut deep = issued(&middle, &good(vec![dns("a.agents.example")]));
    deep.chain.push(middle.der().clone());
    stand.takes(&deep, "/names").await;
    assert_eq!(stand.rig.backend.requests().len(), 6);
}

/// `auth.certificate`: one thing changed, nothing else. Where only certificates are taken the status is 403.
#[tokio::test]
async fn every_deviation_of_a_certificate_is_refused() {
    let stand = Stand::new().await;
    let base = || good(vec![uri(AGENT_A)]);
    let change = |change: fn(&mut CertificateParams)| {
        let mut params = base();
        change(&mut params);
        issued(&stand.mesh, &params)
    };
    let stranger = authority("mesh");
    let table = [
        ("/mesh", change(|params| params.extended_key_usages.clear())),
        (
            "/mesh",
            change(|params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth]),
        ),
        (
            "/mesh",
            change(|params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::Any]),
        ),
        ("/mesh", change(|params| params.not_after = date_time_ymd(2026, 5, 31))),
        ("/mesh", change(|params| params.not_before = date_time_ymd(2026, 6, 1))),
        (
            "/mesh",
            change(|params| params.subject_alt_names.push(uri("spiffe://mesh.example/agent/b"))),
        ),
        (
            "/mesh",
            change(|params| params.subject_alt_names.push(uri("https://mesh.example/"))),
        ),
        (
            "/mesh",
            change(|params| params.subject_alt_names = vec![uri("spiffe://other.example/agent/a")]),
        ),
        (
            "/mesh",
            change(|params| params.subject_alt_names = vec![uri("spiffe://mesh.example.org/agent/a")]),
        ),
        (
            "/mesh",
            change(|params| params.subject_alt_names = vec![uri("spiffe://mesh.example")]),
        ),
        (
            "/mesh",
            change(|params| params.subject_alt_names = vec![uri("spiffe://mesh.example/agent/c")]),
        ),
        (
            "/mesh",
            change(|params| params.subject_alt_names = vec![uri("spiffe://mesh.example/agent/A")]),
        ),
        (
            "/mesh",
            change(|params| params.subject_alt_names = vec![dns("a.agents.example")]),
        ),
        ("/mesh", change(|params| params.subject_alt_names.clear())),
        (
            "/mesh",
            change(|params| params.serial_number = Some(SerialNumber::from(99_u64))),
        ),
        (
            "/mesh",
            change(|params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained)),
        ),
        ("/mesh", issued(&stranger, &base())),
        ("/mesh", issued(&stand.names, &base())),
        ("/any", issued(&stand.names, &base())),
        ("/names", issued(&stand.mesh, &base())),
        ("/names", issued(&stand.names, &good(vec![dns("*.agents.example")]))),
        ("/names", issued(&stand.names, &good(vec![dns("c.agents.example")]))),
        (
            "/names",
            issued(
                &stand.names,
                &good(vec![dns("a.agents.example"), uri("SPIFFE://mesh.example/agent/a")]),
            ),
        ),
        ("/names", issued(&stand.names, &good(Vec::new()))),
        // Wanted or not, what is presented is judged.
        ("/open", issued(&stranger, &base())),
    ];
    for (path, identity) in &table {
        let answer = stand.refuses(Some(identity), path, "", "auth.certificate", 403).await;
        assert_eq!(answer.header("www-authenticate"), None);
        assert_eq!(answer.json()["status"], 403);
    }
    let answer = stand
        .refuses(Some(&table[0].1), "/both", "", "auth.certificate", 401)
        .await;
    assert!(answer.header("www-authenticate").unwrap().starts_with("Bearer realm="));
}

/// `auth.missing`: 403 where only a certificate would do, as no header field could help.
#[tokio::test]
async fn nobody_is_refused_where_a_certificate_is_needed() {
    let stand = Stand::new().await;
    let answer = stand.refuses(None, "/mesh", "", "auth.missing", 403).await;
    assert_eq!(answer.header("www-authenticate"), None);
    stand.refuses(None, "/both", "", "auth.missing", 401).await;
    assert_eq!(stand.send(None, "/open", "").await.status, 200);
}

/// `auth.unavailable`: a revocation list that is too old, or of another CA, or lost, can tell nothing.
#[tokio::test]
async fn a_list_that_cannot_tell_lets_nobody_in() {
    let stand = Stand::new().await;
    let agent = issued(&stand.mesh, &good(vec![uri(AGENT_A)]));
    let mut open = stand.connect(Some(&agent)).await;
    assert_eq!(ask(&mut open, "/mesh").await.status, 200);
    stand.clock.set("2026-06-15T00:00:00Z".parse().unwrap());
    let (before, seen) = (stand.rig.records().len(), stand.rig.backend.bytes());
    let answer = ask(&mut open, "/mesh").await;
    stand.refused(&answer, before, seen, "auth.unavailable", 503).await;
    let answer = stand.refuses(Some(&agent), "/mesh", "", "auth.unavailable", 503).await;
    assert!(answer.header("retry-after").is_some());
    stand.write("mesh.crl", list_until(&stand.mesh, 99, 16));
    assert_eq!(stand.look().len(), 1);
    stand.takes(&agent, "/mesh").await;
    for spoilt in [list(&stand.names, 99), "nothing".to_owned(), String::new()] {
        stand.write("mesh.crl", spoilt);
        assert_eq!(stand.look().len(), 1);
        assert!(stand.look().is_empty(), "told once");
        stand.refuses(Some(&agent), "/mesh", "", "auth.unavailable", 503).await;
        stand.refuses(Some(&agent), "/any", "", "auth.unavailable", 503).await;
    }
    fs::remove_file(stand.directory.path().join("mesh.crl")).unwrap();
    assert!(stand.look()[0].fault.as_ref().unwrap().ends_with("cannot be read"));
    stand.refuses(Some(&agent), "/mesh", "", "auth.unavailable", 503).await;
    stand.write("mesh.crl", list_until(&stand.mesh, 99, 16));
    assert_eq!(stand.look()[0].fault, None);
    stand.takes(&agent, "/mesh").await;
    // A clock that runs backwards can tell nothing either.
    stand.clock.set("2026-06-14T00:00:00Z".parse().unwrap());
    stand.refuses(Some(&agent), "/mesh", "", "auth.unavailable", 503).await;
}

#[tokio::test]
async fn what_changes_counts_at_once_on_an_open_connection() {
    let stand = Stand::new().await;
    let agent = issued(&stand.mesh, &good(vec![uri(AGENT_A)]));
    let mut open = stand.connect(Some(&agent)).await;
    assert_eq!(ask(&mut open, "/mesh").await.status, 200);
    assert_eq!(ask(&mut open, "/any").await.status, 200);
    // Revoked.
    stand.write("mesh.crl", list(&stand.mesh, 7));
    assert_eq!(stand.look().len(), 1);
    let (before, seen) = (stand.rig.records().len(), stand.rig.backend.bytes());
    let answer = ask(&mut open, "/mesh").await;
    stand.refused(&answer, before, seen, "auth.certificate", 403).await;
    stand.write("mesh.crl", list(&stand.mesh, 8));
    stand.look();
    let mut open = stand.connect(Some(&agent)).await;
    assert_eq!(ask(&mut open, "/mesh").await.status, 200);
    // Another CA vouches now.
    let next = authority("mesh");
    stand.write("mesh.pem", next.pem());
    stand.write("mesh.crl", list(&next, 8));
    stand.look();
    let (before, seen) = (stand.rig.records().len(), stand.rig.backend.bytes());
    let answer = ask(&mut open, "/mesh").await;
    stand.refused(&answer, before, seen, "auth.certificate", 403).await;
    stand.takes(&issued(&next, &good(vec![uri(AGENT_A)])), "/mesh").await;
}

#[tokio::test]
async fn an_open_connection_proves_nobody_once_its_certificate_has_ended() {
    let stand = Stand::new().await;
    let named = issued(&stand.names, &good(vec![dns("a.agents.example")]));
    let mut open = stand.connect(Some(&named)).await;
    assert_eq!(ask(&mut open, "/names").await.status, 200);
    stand.clock.set("2027-01-01T00:00:00.5Z".parse().unwrap());
    assert_eq!(ask(&mut open, "/names").await.status, 200);
    stand.clock.set("2027-01-01T00:00:01Z".parse().unwrap());
    let (before, seen) = (stand.rig.records().len(), stand.rig.backend.bytes());
    let answer = ask(&mut open, "/names").await;
    stand.refused(&answer, before, seen, "auth.certificate", 403).await;
}

/// `authority.disagree`: two credentials, two principals.
#[tokio::test]
async fn credentials_of_two_principals_are_refused() {
    let stand = Stand::new().await;
    let agent = issued(&stand.mesh, &good(vec![uri(AGENT_A)]));
    let both = issued(
        &stand.names,
        &good(vec![dns("a.agents.example"), dns("b.agents.example")]),
    );
    stand
        .refuses(
            Some(&agent),
            "/both",
            &stand.token("b", None),
            "authority.disagree",
            403,
        )
        .await;
    stand
        .refuses(Some(&both), "/names", "", "authority.disagree", 403)
        .await;
    assert_eq!(
        stand.send(Some(&agent), "/both", &stand.token("a", None)).await.status,
        200
    );
    // Either alone will do.
    assert_eq!(stand.send(Some(&agent), "/both", "").await.status, 200);
    assert_eq!(stand.send(None, "/both", &stand.token("b", None)).await.status, 200);
}

/// `auth.binding`: a token bound to a certificate is of use with that one only.
#[tokio::test]
async fn a_token_bound_to_a_certificate_needs_it() {
    let stand = Stand::new().await;
    let agent = issued(&stand.mesh, &good(vec![uri(AGENT_A)]));
    let again = issued(&stand.mesh, &good(vec![uri(AGENT_A)]));
    let cnf = json!({"x5t#S256": URL.encode(digest(&SHA256, &agent.chain[0]))});
    let token = stand.token("a", Some(cnf));
    assert_eq!(stand.send(Some(&agent), "/both", &token).await.status, 200);
    stand.refuses(Some(&again), "/both", &token, "auth.binding", 401).await;
    stand.refuses(None, "/both", &token, "auth.binding", 401).await;
}

#[tokio::test]
async fn a_gate_that_could_judge_no_certificate_does_not_start() {
    for (file, text) in [("mesh.pem", "nothing"), ("mesh.crl", "nothing"), ("names.pem", "")] {
        let spoil = |path: &std::path::Path| fs::write(path.join(file), text).unwrap();
        let (stand, started) = Stand::with(authority("mesh"), authority("names"), spoil).await;
        assert!(stand.is_none());
        let message = started.unwrap_err().to_string();
        assert!(message.contains(file), "{message}");
    }
}

#[tokio::test]
async fn a_reload_that_says_so_has_taken_other_bundles() {
    let (stand, started) = Stand::begun(authority("mesh"), authority("names"), |_| {}, true).await;
    started.unwrap();
    let stand = stand.unwrap();
    let later = authority("later");
    let known = issued(&stand.mesh, &good(vec![uri(AGENT_A)]));
    let unknown = issued(&later, &good(vec![dns("a.agents.example")]));
    stand.takes(&known, "/any").await;
    stand.refuses(Some(&unknown), "/any", "", "auth.certificate", 403).await;
    stand.write("later.pem", later.pem());
    let path = stand.directory.path().join("policy.yaml");
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace("bundle: names.pem", "bundle: later.pem");
    fs::write(&path, text).unwrap();
    rig::until(|| stand.rig.events("policy").len() == 2).await;
    stand.takes(&unknown, "/any").await;
    stand.takes(&known, "/any").await;
    rig::until(|| !stand.rig.events("client_bundle").is_empty()).await;
    let told = stand.rig.events("client_bundle");
    assert_eq!((told.len(), &told[0]["bundle"]), (1, &"names".into()));
}
