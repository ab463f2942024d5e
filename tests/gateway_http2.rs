//! HTTP/2 with prior knowledge and by ALPN, TLS 1.3, a certificate that changes, an h2c backend.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails is a test"
)]

mod rig;

use std::convert::Infallible;
use std::path::Path;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use portcullis::app::{Running, Setup};
use portcullis::config;
use portcullis::record::Sink;
use rig::backend::{Backend, Does};
use rig::{ROUTES, Rig, SETTINGS, get, report, soon};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

type Client = SendRequest<Full<Bytes>>;

async fn http2(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Client {
    let (client, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    client
}

fn post(path: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    Request::post(format!("http://gate.example{path}"))
        .version(Version::HTTP_2)
        .header("content-type", "application/json")
        .body(Full::new(body.into()))
        .unwrap()
}

async fn answer(client: &mut Client, request: Request<Full<Bytes>>) -> (u16, Value) {
    let response = soon(client.send_request(request)).await.unwrap();
    let status = response.status().as_u16();
    let body = soon(response.into_body().collect()).await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

#[tokio::test]
async fn many_requests_on_one_connection() {
    let rig = Rig::usual().await;
    let mut client = http2(rig.connect().await).await;
    let body = report().to_string();
    let (status, said) = answer(&mut client, post("/v1/messages", body.clone())).await;
    assert_eq!((status, &said["said"]), (200, &"yes".into()));
    assert!(rig.backend.request().ends_with(&body));
    for (request, rule, expected) in [
        (post("/v1/nowhere", "{}"), "route.undeclared", 404),
        (post("/v1/messages", "{"), "json.syntax", 400),
        (post("/v1/messages?x", "{}"), "http.query", 400),
        (post("/v1/status/..", "{}"), "http.target", 400),
        (post("/api/orders", "x".repeat(65_537)), "json.size", 413),
    ] {
        let (status, problem) = answer(&mut client, request).await;
        assert_eq!((status, &problem["rule"]), (expected, &rule.into()));
    }
    let mut long = post("/api/orders", "{}");
    long.headers_mut().insert("x-long", "x".repeat(5000).parse().unwrap());
    assert_eq!(answer(&mut client, long).await.1["rule"], "http.header-size");
    let mut other = post("/api/orders", "{}");
    other.headers_mut().insert("host", "other.example".parse().unwrap());
    assert_eq!(answer(&mut client, other).await.1["rule"], "http.target");
    rig.record_count(8).await;
    assert_eq!(rig.backend.requests().len(), 1);
}

#[tokio::test]
async fn a_stream_that_is_reset_is_aborted() {
    let rig = Rig::usual().await;
    rig.backend.does(Does::Hang);
    let mut client = http2(rig.connect().await).await;
    let asked = tokio::spawn(
        client.send_request(
            Request::get("http://gate.example/v1/status/1")
                .body(Full::default())
                .unwrap(),
        ),
    );
    rig.backend.arrived().await;
    asked.abort();
    rig.backend.left().await;
    let record = rig.record().await;
    assert_eq!(
        (&record["verdict"], &record["aborted_stage"]),
        (&"aborted".into(), &"16".into())
    );
}

#[tokio::test]
async fn a_client_that_opens_no_window_is_left() {
    let settings = "limits: {in_flight: 1}\ndeadlines: {idle: 100ms}\n";
    let rig = Rig::with(settings, ROUTES).await;
    let (mut client, connection) = Builder::new(TokioExecutor::new())
        .initial_stream_window_size(0)
        .handshake(TokioIo::new(rig.connect().await))
        .await
        .unwrap();
    tokio::spawn(connection);
    for path in ["/v1/nowhere", "/v1/status/1"] {
        let request = Request::get(format!("http://gate.example{path}"));
        let request = request.body(Full::new(Bytes::new())).unwrap();
        let response = soon(client.send_request(request)).await.unwrap();
        if path == "/v1/status/1" {
            assert!(soon(response.into_body().collect()).await.is_err());
        } else {
            tokio::spawn(response.into_body().collect());
        }
    }
    rig.record_count(2).await;
    assert_eq!(rig.send(get("/v1/status/2", "")).await.status, 200);
}

#[tokio::test]
async fn a_drain_lets_the_open_stream_end() {
    let rig = Rig::usual().await;
    let mut client = http2(rig.connect().await).await;
    rig.backend.does(Does::Hang);
    let asked = tokio::spawn(client.send_request(post("/v1/messages", {
        let mut message = report();
        message["delivery"]["timeout_ms"] = 1000.into();
        message.to_string()
    })));
    rig.backend.arrived().await;
    let stopping = tokio::spawn(rig.running.stop());
    let response = soon(asked).await.unwrap().unwrap();
    assert_eq!(response.status().as_u16(), 504);
    drop(response);
    drop(client);
    soon(stopping).await.unwrap();
}

/// A self-signed certificate for `gate.example`, written as the policy names it.
fn certificate(directory: &Path) -> CertificateDer<'static> {
    let made = rcgen::generate_simple_self_signed(vec!["gate.example".to_owned()]).unwrap();
    std::fs::write(directory.join("tls.crt"), made.cert.pem()).unwrap();
    std::fs::write(directory.join("tls.key"), made.signing_key.serialize_pem()).unwrap();
    made.cert.der().clone()
}

/// Connects as a client that trusts exactly this certificate.
async fn tls(
    running: &Running,
    trusted: &CertificateDer<'static>,
    protocol: &[u8],
) -> std::io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let stream = TcpStream::connect(running.gate()).await.unwrap();
    let name = ServerName::try_from("gate.example").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

/// A gate with TLS; its files are in the directory.
async fn with_tls(directory: &Path, settings: &str) -> (Running, Backend, Sink) {
    let backend = Backend::start().await;
    let settings = format!("tls: {{certificate: tls.crt, key: tls.key}}\n{settings}");
    let path = directory.join("policy.yaml");
    std::fs::write(&path, rig::policy(&backend.url(), &settings, ROUTES)).unwrap();
    let sink = Sink::memory();
    let running = Running::start(Setup {
        config: config::load(&path).unwrap_or_else(|mistakes| panic!("{:?}", mistakes.mistakes)),
        watched: None,
        sink: sink.clone(),
        clock: rig::clock(),
        store: Some(rig::store()),
    })
    .await
    .unwrap();
    (running, backend, sink)
}

#[tokio::test]
async fn tls_speaks_both_versions_of_http() {
    let directory = tempfile::tempdir().unwrap();
    let trusted = certificate(directory.path());
    let (running, backend, _sink) = with_tls(directory.path(), SETTINGS).await;
    let stream = tls(&running, &trusted, b"h2").await.unwrap();
    assert_eq!(
        stream.get_ref().1.protocol_version(),
        Some(rustls::ProtocolVersion::TLSv1_3)
    );
    let mut client = http2(stream).await;
    assert_eq!(
        answer(&mut client, post("/v1/messages", report().to_string())).await.0,
        200
    );
    let mut stream = tls(&running, &trusted, b"http/1.1").await.unwrap();
    stream.write_all(get("/v1/status/1", "").as_bytes()).await.unwrap();
    assert_eq!(rig::Answer::read(&mut stream).await.status, 200);
    assert_eq!(backend.requests().len(), 2);
}

#[tokio::test]
async fn a_changed_certificate_is_taken_and_a_bad_one_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let first = certificate(directory.path());
    let (running, _backend, _sink) = with_tls(directory.path(), SETTINGS).await;
    let certificates = running.certificates().unwrap();
    assert!(!certificates.look().unwrap());
    let second = certificate(directory.path());
    assert!(certificates.look().unwrap());
    assert!(tls(&running, &second, b"h2").await.is_ok());
    assert!(tls(&running, &first, b"h2").await.is_err());
    // A key that is not the certificate's: told once, and the last good one stays.
    let key = rcgen::KeyPair::generate().unwrap();
    std::fs::write(directory.path().join("tls.key"), key.serialize_pem()).unwrap();
    assert!(certificates.look().is_err());
    assert!(!certificates.look().unwrap());
    assert!(tls(&running, &second, b"h2").await.is_ok());
}

#[tokio::test]
async fn half_a_handshake_is_closed() {
    let directory = tempfile::tempdir().unwrap();
    certificate(directory.path());
    let (running, _backend, sink) = with_tls(directory.path(), "deadlines: {head: 60ms}\n").await;
    let mut stream = TcpStream::connect(running.gate()).await.unwrap();
    stream.write_all(&[0x16, 0x03, 0x01, 0x02]).await.unwrap();
    assert_eq!(rig::Answer::read(&mut stream).await.text, "");
    // Plain HTTP to the TLS port is no handshake.
    let mut stream = TcpStream::connect(running.gate()).await.unwrap();
    stream.write_all(get("/v1/status/1", "").as_bytes()).await.unwrap();
    assert!(!rig::Answer::read(&mut stream).await.text.contains("HTTP"));
    assert_eq!(sink.lines().len(), 1, "only the policy at the start");
}

#[tokio::test]
async fn the_backend_may_speak_h2c() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen: Arc<Mutex<Vec<(Version, String, Bytes)>>> = Arc::default();
    let notes = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let notes = Arc::clone(&notes);
            let service = hyper::service::service_fn(move |request: Request<Incoming>| {
                let notes = Arc::clone(&notes);
                async move {
                    let (version, uri) = (request.version(), request.uri().to_string());
                    let body = request.into_body().collect().await.unwrap().to_bytes();
                    notes.lock().unwrap().push((version, uri, body));
                    Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"{}"))))
                }
            });
            let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            tokio::spawn(builder.serve_connection(TokioIo::new(stream), service));
        }
    });
    let mut backend = Backend::start().await;
    backend.address = address;
    let text = rig::policy(&backend.url(), SETTINGS, ROUTES).replace("{url: ", "{protocol: h2c, url: ");
    let running = rig::run(&text, Sink::memory()).await;
    let mut client = http2(TcpStream::connect(running.gate()).await.unwrap()).await;
    let body = report().to_string();
    assert_eq!(answer(&mut client, post("/v1/messages", body.clone())).await.0, 200);
    let seen = seen.lock().unwrap();
    assert_eq!(
        *seen,
        [(
            Version::HTTP_2,
            format!("http://{address}/v1/messages"),
            Bytes::from(body)
        )]
    );
}
