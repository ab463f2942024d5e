//! Bearer tokens and DPoP proofs: what proves a principal, every deviation refused, nothing at the backend.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that fails is a test"
)]

mod rig;

use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as URL;
use jiff::Timestamp;
use portcullis::app::{Running, Setup};
use portcullis::clock::Clock;
use portcullis::config;
use portcullis::policy::Algorithm;
use portcullis::record::Sink;
use portcullis::trust::keys::KeySet;
use portcullis::trust::principal::Asked;
use portcullis::trust::{dpop, jws, token};
use proptest::prelude::*;
use rig::backend::{Backend, field};
use rig::keys::{Key, jwks};
use rig::{Rig, post};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The issuer's URL, and what tokens for `/bearer` name as their audience.
const ISSUER: &str = "https://as.example";
const ORIGIN: &str = "https://agent.example";

const ROUTES: &str = r#"
  - {name: bearer, path: /bearer, method: POST, takes: legacy, content_type: [application/json], idempotency: none, credentials: [bearer]}
  - {name: named, path: /named, method: POST, takes: legacy, content_type: [application/json], idempotency: none, credentials: [bearer], resource: "urn:example:named"}
  - {name: dpop, path: /dpop, method: POST, takes: legacy, content_type: [application/json], idempotency: none, credentials: [dpop]}
  - {name: nonce, path: /nonce, method: POST, takes: legacy, content_type: [application/json], idempotency: none, credentials: [dpop], dpop_nonce: true}
  - {name: either, path: /either, method: POST, takes: legacy, content_type: [application/json], idempotency: none, credentials: [bearer, dpop]}
  - {name: open, path: /open, method: POST, takes: legacy, content_type: [application/json], idempotency: none}
  - {name: passed, path: /passed, method: POST, takes: legacy, content_type: [application/json], idempotency: none, headers: {credentials: [authorization]}}
"#;

/// A gate that knows one issuer, another one whose keys are lost, and two principals.
struct Stand {
    rig: Rig,
    clock: Clock,
    issuer: Key,
    client: Key,
    text: String,
    _directory: tempfile::TempDir,
}

impl Stand {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (issuer, client) = (Key::ed25519("as-1"), Key::es256("client-1"));
        let keys = directory.path().join("jwks.json");
        std::fs::write(&keys, jwks(&[&issuer])).unwrap();
        let settings = format!(
            r#"
public_url: "{ORIGIN}"
limits: {{header_bytes: 16KiB, header_count: 20}}
issuers:
  - {{name: as, keys: "{}", token_issuer: "{ISSUER}"}}
  - {{name: lost, keys: "{}", token_issuer: "https://lost.example"}}
principals:
  - {{name: agent-a, role: worker, credentials: [{{issuer: as, sub: a}}], actors: [helper]}}
  - {{name: agent-b, role: worker, credentials: [{{issuer: as, sub: b}}], rate: 1}}
"#,
            keys.display(),
            directory.path().join("nothing.json").display(),
        );
        let backend = Backend::start().await;
        let (sink, clock) = (Sink::memory(), rig::clock());
        let text = rig::policy(&backend.url(), &settings, ROUTES);
        let running = Running::start(Setup {
            config: config::from_text("test.yaml", &text).unwrap_or_else(|mistakes| panic!("{:?}", mistakes.mistakes)),
            watched: None,
            sink: sink.clone(),
            clock: clock.clone(),
            store: Some(rig::store()),
        })
        .await
        .unwrap();
        Self {
            rig: Rig {
                running,
                backend,
                sink,
                clock: clock.clone(),
            },
            clock,
            issuer,
            client,
            text,
            _directory: directory,
        }
    }

    fn now(&self) -> i64 {
        self.clock.now().as_second()
    }

    /// Claims of a good token for a path.
    fn claims(&self, path: &str) -> Value {
        json!({
            "iss": ISSUER, "sub": "a", "aud": format!("{ORIGIN}{path}"), "exp": self.now() + 600,
            "iat": self.now(), "jti": "t-1", "client_id": "a", "scope": "send",
        })
    }

    fn bound(&self, path: &str) -> Value {
        let mut claims = self.claims(path);
        claims["cnf"] = json!({"jkt": thumbprint(&self.client)});
        claims
    }

    fn token(&self, claims: &Value) -> String {
        self.issuer.compact(&self.head(), claims.to_string().as_bytes())
    }

    fn head(&self) -> Value {
        json!({"alg": self.issuer.alg(), "kid": self.issuer.kid, "typ": "at+jwt"})
    }

    /// Claims of a good proof for a path, beside a token.
    fn proof_claims(&self, path: &str, token: &str) -> Value {
        json!({
            "htm": "POST", "htu": format!("{ORIGIN}{path}"), "iat": self.now(), "jti": "p-1",
            "ath": URL.encode(digest(&SHA256, token.as_bytes())),
        })
    }

    fn proof_head(&self) -> Value {
        json!({"alg": self.client.alg(), "typ": "dpop+jwt", "jwk": self.client.jwk_alone()})
    }

    fn proof(&self, claims: &Value) -> String {
        self.client.compact(&self.proof_head(), claims.to_string().as_bytes())
    }

    async fn refuses(&self, path: &str, fields: &str, rule: &str, status: u16) -> rig::Answer {
        self.rig.refuses(post(path, fields, "{}"), rule, status).await
    }
}

trait Alone {
    fn jwk_alone(&self) -> Value;
}

impl Alone for Key {
    /// The public half without its name.
    fn jwk_alone(&self) -> Value {
        let mut jwk = self.jwk();
        jwk.as_object_mut().unwrap().remove("kid");
        jwk
    }
}

fn thumbprint(key: &Key) -> String {
    let set = KeySet::parse(jwks(&[key]).as_bytes(), Algorithm::ALL).unwrap();
    set.get(&key.kid).unwrap().thumbprint().to_owned()
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

fn with_proof(token: &str, proof: &str) -> String {
    format!("Authorization: DPoP {token}\r\nDPoP: {proof}\r\n")
}

/// Every value of the list set in turn at the member; a null removes it.
fn each(base: &Value, changes: &[(&str, Value)]) -> Vec<(String, Value)> {
    changes
        .iter()
        .map(|(name, value)| {
            let mut changed = base.clone();
            let members = changed.as_object_mut().unwrap();
            if value.is_null() {
                members.remove(*name);
            } else {
                members.insert((*name).to_owned(), value.clone());
            }
            (format!("{name}: {value}"), changed)
        })
        .collect()
}

#[tokio::test]
async fn a_good_token_is_taken_and_consumed() {
    let stand = Stand::new().await;
    let claims = stand.claims("/bearer");
    let good = [
        claims.clone(),
        each(&claims, &[("aud", json!(["urn:other", format!("{ORIGIN}/bearer")]))])
            .remove(0)
            .1,
        // Whole life and skew, to the second.
        each(&claims, &[("exp", json!(stand.now() + 3600))]).remove(0).1,
        each(&claims, &[("iat", json!(stand.now() + 30))]).remove(0).1,
        each(
            &claims,
            &[("nbf", json!(format!("{}.5", stand.now() + 29).parse::<f64>().unwrap()))],
        )
        .remove(0)
        .1,
        each(&claims, &[("act", json!({"sub": "helper"}))]).remove(0).1,
    ];
    for claims in &good {
        let answer = stand
            .rig
            .send(post("/bearer", &bearer(&stand.token(claims)), "{}"))
            .await;
        assert_eq!(answer.status, 200, "{claims} {}", answer.text);
    }
    let jwt = stand.issuer.compact(
        &each(&stand.head(), &[("typ", json!("JWT"))]).remove(0).1,
        claims.to_string().as_bytes(),
    );
    assert_eq!(
        stand
            .rig
            .send(post("/bearer", &format!("authorization: BEARER  {jwt}\r\n"), "{}"))
            .await
            .status,
        200
    );
    let mut named = stand.claims("/named");
    named["aud"] = "urn:example:named".into();
    assert_eq!(
        stand
            .rig
            .send(post("/named", &bearer(&stand.token(&named)), "{}"))
            .await
            .status,
        200
    );
    for request in stand.rig.backend.requests() {
        let text = String::from_utf8(request).unwrap();
        assert_eq!(field(&text, "authorization"), None, "{text}");
    }
    stand.rig.record_count(good.len() + 2).await;
}

/// `auth.token`: one thing changed, nothing else.
#[tokio::test]
async fn every_deviation_of_a_token_is_refused() {
    let stand = Stand::new().await;
    let claims = stand.claims("/bearer");
    let now = stand.now();
    let changed = each(
        &claims,
        &[
            ("iss", json!("https://other.example")),
            ("iss", json!("https://as.example/")),
            ("iss", json!(["https://as.example"])),
            ("iss", Value::Null),
            ("sub", json!("nobody")),
            ("sub", json!("A")),
            ("sub", json!(7)),
            ("sub", json!("")),
            ("sub", json!("a".repeat(257))),
            ("sub", Value::Null),
            ("aud", json!("https://agent.example/other")),
            ("aud", json!("https://agent.example/bearer/")),
            ("aud", json!([])),
            ("aud", json!(["https://agent.example/bearer", 1])),
            ("aud", json!({"a": "https://agent.example/bearer"})),
            ("aud", Value::Null),
            ("exp", json!(now)),
            ("exp", json!(now - 1)),
            ("exp", json!(now + 3601)),
            ("exp", json!((now + 60).to_string())),
            ("exp", json!(true)),
            ("exp", Value::Null),
            ("nbf", json!(now + 31)),
            ("nbf", json!("now")),
            ("iat", json!(now + 31)),
            ("iat", json!([now])),
            ("jti", json!(1)),
            ("client_id", json!({})),
            ("scope", json!(["send"])),
            ("cnf", json!("x")),
            ("cnf", json!({"jkt": 1})),
            ("cnf", json!({"jkt": "short"})),
            ("act", json!("helper")),
            ("act", json!({})),
            ("act", json!({"sub": 1})),
        ],
    );
    for (what, claims) in changed {
        let answer = stand
            .refuses("/bearer", &bearer(&stand.token(&claims)), "auth.token", 401)
            .await;
        let expected = "Bearer realm=\"agt_runtime.consumer\", error=\"invalid_token\"";
        assert_eq!(answer.header("www-authenticate").as_deref(), Some(expected), "{what}");
    }
    let heads = each(
        &stand.head(),
        &[
            ("typ", json!("dpop+jwt")),
            ("typ", json!("uai-message+jws")),
            ("typ", json!(1)),
            ("typ", Value::Null),
            ("alg", json!("none")),
            ("alg", json!("HS256")),
            ("alg", json!("ES256")),
            ("alg", json!("RS256")),
            ("alg", Value::Null),
            ("kid", json!("as-2")),
            ("kid", json!(1)),
            ("kid", json!("")),
            ("kid", Value::Null),
            ("crit", json!(["exp"])),
            ("jku", json!("https://evil.example/jwks")),
            ("jwk", stand.issuer.jwk()),
            ("b64", json!(false)),
        ],
    );
    for (what, head) in heads {
        let token = stand.issuer.compact(&head, claims.to_string().as_bytes());
        let answer = stand.refuses("/bearer", &bearer(&token), "auth.token", 401).await;
        assert!(!answer.text.contains("evil"), "{what}");
    }
    let good = stand.token(&claims);
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let other = Key::ed25519("as-1").compact(&stand.head(), claims.to_string().as_bytes());
    let doubled = format!("{},\"sub\":\"b\"}}", claims.to_string().trim_end_matches('}'));
    for fields in [
        bearer(&other),
        bearer(&format!("{signed}.")),
        bearer(&format!("{signed}.{signature}=")),
        bearer(&format!("{signed}.{signature}.{signature}")),
        bearer(signed),
        bearer(""),
        bearer(&stand.issuer.compact(&stand.head(), b"[]")),
        bearer(&stand.issuer.compact(&stand.head(), b"{")),
        bearer(&stand.issuer.compact(&stand.head(), doubled.as_bytes())),
        format!("{}{}", bearer(&good), bearer(&good)),
        "Authorization: Basic YTpi\r\n".to_owned(),
        format!("Authorization: {good}\r\n"),
        "Authorization: \r\n".to_owned(),
    ] {
        stand.refuses("/bearer", &fields, "auth.token", 401).await;
    }
}

/// `auth.binding`: a bound token is of use only with its proof.
#[tokio::test]
async fn a_bound_token_needs_its_proof() {
    let stand = Stand::new().await;
    let mut claims = stand.claims("/either");
    for cnf in [
        json!({}),
        json!({"kid": "x"}),
        json!({"jkt": thumbprint(&stand.client), "x5u": "x"}),
        json!({"x5t#S256": thumbprint(&stand.client)}),
        json!({"jkt": thumbprint(&stand.client)}),
    ] {
        claims["cnf"] = cnf;
        stand
            .refuses("/either", &bearer(&stand.token(&claims)), "auth.binding", 401)
            .await;
    }
    // The scheme asks for a key that the token does not name.
    let plain = stand.token(&stand.claims("/either"));
    let proof = stand.proof(&stand.proof_claims("/either", &plain));
    stand
        .refuses("/either", &with_proof(&plain, &proof), "auth.binding", 401)
        .await;
    // Another client's key, with a proof that is good in itself.
    let other = Key::es256("client-2");
    let token = stand.token(&stand.bound("/either"));
    let head = json!({"alg": "ES256", "typ": "dpop+jwt", "jwk": other.jwk_alone()});
    let proof = other.compact(&head, stand.proof_claims("/either", &token).to_string().as_bytes());
    stand
        .refuses("/either", &with_proof(&token, &proof), "auth.binding", 401)
        .await;
}

/// `auth.dpop`: one thing changed, nothing else.
#[tokio::test]
async fn every_deviation_of_a_proof_is_refused() {
    let stand = Stand::new().await;
    let token = stand.token(&stand.bound("/dpop"));
    let claims = stand.proof_claims("/dpop", &token);
    let now = stand.now();
    let good = [
        claims.clone(),
        each(&claims, &[("htu", json!("HTTPS://Agent.Example:443/x/../%64pop?q#f"))])
            .remove(0)
            .1,
        each(&claims, &[("iat", json!(now - 90))]).remove(0).1,
        each(&claims, &[("iat", json!(now + 30))]).remove(0).1,
        each(&claims, &[("jti", json!("é".repeat(127)))]).remove(0).1,
    ];
    for (number, claims) in good.iter().enumerate() {
        let mut claims = claims.clone();
        claims["jti"] = format!("{}{number}", claims["jti"].as_str().unwrap()).into();
        let answer = stand
            .rig
            .send(post("/dpop", &with_proof(&token, &stand.proof(&claims)), "{}"))
            .await;
        assert_eq!(answer.status, 200, "{claims} {}", answer.text);
    }
    let changed = each(
        &claims,
        &[
            ("htm", json!("GET")),
            ("htm", json!("post")),
            ("htm", Value::Null),
            ("htu", json!("https://agent.example/other")),
            ("htu", json!("http://agent.example/dpop")),
            ("htu", json!("https://agent.example:8443/dpop")),
            ("htu", json!("/dpop")),
            ("htu", json!(["https://agent.example/dpop"])),
            ("htu", Value::Null),
            ("iat", json!(now - 91)),
            ("iat", json!(now + 31)),
            ("iat", json!(now.to_string())),
            ("iat", Value::Null),
            ("ath", json!(URL.encode(digest(&SHA256, b"another")))),
            ("ath", Value::Null),
            ("jti", json!("")),
            ("jti", json!("x".repeat(129))),
            ("jti", json!(1)),
            ("jti", Value::Null),
            ("nonce", json!(1)),
        ],
    );
    for (what, claims) in changed {
        let answer = stand
            .refuses("/dpop", &with_proof(&token, &stand.proof(&claims)), "auth.dpop", 401)
            .await;
        let expected = "DPoP algs=\"Ed25519 ES256 ES384 PS256 RS256\", error=\"invalid_dpop_proof\"";
        assert_eq!(answer.header("www-authenticate").as_deref(), Some(expected), "{what}");
        assert_eq!(answer.header("dpop-nonce"), None);
    }
    let mut private = stand.client.jwk_alone();
    private["d"] = "AAAA".into();
    let heads = each(
        &stand.proof_head(),
        &[
            ("typ", json!("jwt")),
            ("typ", Value::Null),
            ("alg", json!("HS256")),
            ("alg", json!("none")),
            ("alg", json!("Ed25519")),
            ("jwk", private),
            ("jwk", json!({"kty": "oct", "k": "AAAA"})),
            ("jwk", Key::es256("client-2").jwk()),
            ("jwk", json!("x")),
            ("jwk", Value::Null),
            ("crit", json!(["htm"])),
        ],
    );
    for (_, head) in heads {
        let proof = stand.client.compact(&head, claims.to_string().as_bytes());
        stand
            .refuses("/dpop", &with_proof(&token, &proof), "auth.dpop", 401)
            .await;
    }
    let proof = stand.proof(&claims);
    let plain = stand.token(&stand.claims("/either"));
    for (path, fields) in [
        ("/dpop", format!("Authorization: DPoP {token}\r\n")),
        ("/dpop", format!("{}DPoP: {proof}\r\n", with_proof(&token, &proof))),
        ("/dpop", with_proof(&token, "x")),
        ("/dpop", with_proof(&token, &token)),
        ("/either", format!("{}DPoP: {proof}\r\n", bearer(&plain))),
        ("/open", format!("DPoP: {proof}\r\n")),
    ] {
        stand.refuses(path, &fields, "auth.dpop", 401).await;
    }
}

#[tokio::test]
async fn a_nonce_is_asked_for_given_and_taken_for_a_while() {
    let stand = Stand::new().await;
    let token = stand.token(&stand.bound("/nonce"));
    let mut claims = stand.proof_claims("/nonce", &token);
    // Who has not the key is given none.
    let mut wrong = claims.clone();
    wrong["htm"] = "GET".into();
    let answer = stand
        .refuses("/nonce", &with_proof(&token, &stand.proof(&wrong)), "auth.dpop", 401)
        .await;
    assert_eq!(answer.header("dpop-nonce"), None);
    let answer = stand
        .refuses("/nonce", &with_proof(&token, &stand.proof(&claims)), "auth.dpop", 401)
        .await;
    let challenge = answer.header("www-authenticate").unwrap();
    assert!(challenge.ends_with("error=\"use_dpop_nonce\""), "{challenge}");
    let nonce = answer.header("dpop-nonce").unwrap();
    claims["nonce"] = nonce.clone().into();
    let answer = stand
        .rig
        .send(post("/nonce", &with_proof(&token, &stand.proof(&claims)), "{}"))
        .await;
    assert_eq!((answer.status, answer.header("dpop-nonce")), (200, Some(nonce.clone())));
    // A minute later it is still taken, and the next one is given.
    stand.clock.set(stand.clock.now() + Duration::from_secs(60));
    claims["jti"] = "p-later".into();
    let answer = stand
        .rig
        .send(post("/nonce", &with_proof(&token, &stand.proof(&claims)), "{}"))
        .await;
    assert_eq!(answer.status, 200);
    assert_ne!(answer.header("dpop-nonce"), Some(nonce));
    stand.clock.set(stand.clock.now() + Duration::from_secs(60));
    claims["iat"] = stand.now().into();
    stand
        .refuses("/nonce", &with_proof(&token, &stand.proof(&claims)), "auth.dpop", 401)
        .await;
}

/// `auth.missing`, with one challenge for each scheme of the route.
#[tokio::test]
async fn nobody_is_refused_where_somebody_is_needed() {
    let stand = Stand::new().await;
    let answer = stand.refuses("/either", "", "auth.missing", 401).await;
    let challenges: Vec<&str> = answer
        .text
        .split("\r\n")
        .filter(|line| line.starts_with("www-authenticate"))
        .collect();
    assert_eq!(
        challenges,
        [
            "www-authenticate: Bearer realm=\"agt_runtime.consumer\"",
            "www-authenticate: DPoP algs=\"Ed25519 ES256 ES384 PS256 RS256\"",
        ]
    );
    // A proof without its token is nobody; a good token of another scheme is not what was asked for.
    stand.refuses("/dpop", "DPoP: x\r\n", "auth.missing", 401).await;
    let token = stand.token(&stand.claims("/dpop"));
    stand.refuses("/dpop", &bearer(&token), "auth.missing", 401).await;
    assert_eq!(stand.rig.send(post("/open", "", "{}")).await.status, 200);
}

/// `auth.unavailable`: nobody can tell whether the token is good.
#[tokio::test]
async fn a_token_whose_keys_are_lost_is_not_judged() {
    let stand = Stand::new().await;
    let mut claims = stand.claims("/bearer");
    claims["iss"] = "https://lost.example".into();
    let answer = stand
        .refuses("/bearer", &bearer(&stand.token(&claims)), "auth.unavailable", 503)
        .await;
    assert!(answer.header("retry-after").is_some());
    assert_eq!(answer.header("www-authenticate"), None);
}

/// What carries a credential shows nothing of it where somebody prints it.
#[tokio::test]
async fn debug_shows_no_credential() {
    let stand = Stand::new().await;
    let token = stand.token(&stand.bound("/dpop"));
    let proof = stand.proof(&stand.proof_claims("/dpop", &token));
    let jwt = token::open(&token).unwrap();
    let policy = stand.rig.running.policy().current();
    let claimed = token::Claimed::read(&jwt, &policy.trust).unwrap();
    let judge = dpop::Judge {
        now: Timestamp::UNIX_EPOCH,
        skew: Duration::ZERO,
        method: "POST",
        url: None,
        token: &token,
        nonces: None,
    };
    let mut headers = http::HeaderMap::new();
    headers.insert("authorization", format!("DPoP {token}").parse().unwrap());
    headers.insert("dpop", proof.parse().unwrap());
    let asked = Asked {
        policy: &policy,
        route: &policy.routes[0],
        headers: &headers,
        method: "POST",
        path: "/dpop",
        peer: None,
        now: None,
    };
    let shown = format!(
        "{jwt:?} {claimed:?} {:?} {judge:?} {asked:?}",
        jws::split_compact(&proof).unwrap()
    );
    // The payload, were it shown as bytes.
    let bytes = format!("{:?}", br#"{"aud":"#).replace(['[', ']'], "");
    let parts = token.split('.').chain(proof.split('.'));
    for part in parts.chain(["p-1", "t-1", bytes.as_str()]) {
        assert!(!shown.contains(part), "{part}");
    }
}

/// A policy that was just put in force is not judged by the keys of the one before it.
#[tokio::test]
async fn a_token_of_an_issuer_that_changed_waits_for_its_keys() {
    let stand = Stand::new().await;
    let fields = bearer(&stand.token(&stand.claims("/bearer")));
    assert_eq!(stand.rig.send(post("/bearer", &fields, "{}")).await.status, 200);
    let text = stand.text.replace("jwks.json", "elsewhere.json");
    let changed = config::from_text("test.yaml", &text).unwrap_or_else(|mistakes| panic!("{:?}", mistakes.mistakes));
    stand.rig.running.policy().replace(changed.policy, stand.clock.now());
    // `auth.unavailable`
    stand.refuses("/bearer", &fields, "auth.unavailable", 503).await;
}

/// `authority.disagree`: an actor that the policy does not list for this principal.
#[tokio::test]
async fn an_actor_is_listed_or_refused() {
    let stand = Stand::new().await;
    let mut claims = stand.claims("/bearer");
    for act in [
        json!({"sub": "stranger"}),
        json!({"sub": "helper", "act": {"sub": "helper"}}),
        json!({"sub": "helper", "iss": "https://other.example"}),
    ] {
        claims["act"] = act;
        let answer = stand
            .refuses("/bearer", &bearer(&stand.token(&claims)), "authority.disagree", 403)
            .await;
        assert!(!answer.text.contains("stranger") && !answer.text.contains("agent-a"));
    }
    claims["act"] = json!({"sub": "helper"});
    claims["sub"] = "b".into();
    stand
        .refuses("/bearer", &bearer(&stand.token(&claims)), "authority.disagree", 403)
        .await;
}

/// A route that asks for nobody still judges what it is given, unless the field is the backend's.
#[tokio::test]
async fn a_token_is_judged_where_nobody_asked_for_it() {
    let stand = Stand::new().await;
    stand.refuses("/open", &bearer("x"), "auth.token", 401).await;
    let token = stand.token(&stand.claims("/open"));
    assert_eq!(stand.rig.send(post("/open", &bearer(&token), "{}")).await.status, 200);
    assert_eq!(stand.rig.send(post("/passed", &bearer("x"), "{}")).await.status, 200);
    let requests = stand.rig.backend.requests();
    let last = String::from_utf8(requests.last().unwrap().clone()).unwrap();
    assert_eq!(field(&last, "authorization").as_deref(), Some("Bearer x"));
}

/// The body of a request that nobody may make is not even read.
#[tokio::test]
async fn a_refusal_comes_before_the_body() {
    let stand = Stand::new().await;
    let head = "POST /bearer HTTP/1.1\r\nHost: gate.example\r\nContent-Type: application/json\r\nContent-Length: 1000\r\nAuthorization: Bearer x\r\n\r\n";
    stand.rig.refuses(head, "auth.token", 401).await;
}

proptest! {
    #[test]
    fn no_text_panics(text in "[A-Za-z0-9_.\\-=]{0,80}", header in "\\{[\"a-z:,0-9\\[\\]{}+ ]{0,60}\\}", claims in ".{0,40}") {
        let built = format!("{}.{}.AAAA", URL.encode(&header), URL.encode(&claims));
        let judge = dpop::Judge {
            now: Timestamp::UNIX_EPOCH,
            skew: Duration::from_secs(30),
            method: "POST",
            url: Some("https://agent.example/x"),
            token: "x",
            nonces: None,
        };
        for text in [&text, &built] {
            prop_assert!(dpop::verify(text, &judge).is_err());
            if let Ok(jwt) = token::open(text) {
                prop_assert!(token::Claimed::read(&jwt, &portcullis::policy::Trust::default()).is_err());
            }
        }
    }
}

#[tokio::test]
async fn a_principal_has_a_rate_of_its_own() {
    // `limits.principal-rate`, with the clock of the rig standing still.
    let stand = Stand::new().await;
    let mut claims = stand.claims("/bearer");
    claims["sub"] = "b".into();
    let fields = bearer(&stand.token(&claims));
    for _ in 0..2 {
        assert_eq!(stand.rig.send(post("/bearer", &fields, "{}")).await.status, 200);
    }
    let answer = stand.refuses("/bearer", &fields, "limits.principal-rate", 429).await;
    assert_eq!(answer.header("ratelimit").as_deref(), Some("\"presenter\";r=0;t=1"));
    let other = bearer(&stand.token(&stand.claims("/bearer")));
    assert_eq!(stand.rig.send(post("/bearer", &other, "{}")).await.status, 200);
}

#[tokio::test]
async fn a_proof_is_used_once() {
    let stand = Stand::new().await;
    let token = stand.token(&stand.bound("/dpop"));
    let mut claims = stand.proof_claims("/dpop", &token);
    let fields = with_proof(&token, &stand.proof(&claims));
    assert_eq!(stand.rig.send(post("/dpop", &fields, "{}")).await.status, 200);
    let answer = stand.refuses("/dpop", &fields, "auth.dpop", 401).await;
    assert!(answer.header("www-authenticate").unwrap().starts_with("DPoP "));
    claims["jti"] = "p-2".into();
    let fields = with_proof(&token, &stand.proof(&claims));
    assert_eq!(stand.rig.send(post("/dpop", &fields, "{}")).await.status, 200);
}

/// A proof is judged before the body is read, and spent after it.
#[tokio::test]
async fn a_slow_body_does_not_outlive_the_use_of_a_proof() {
    let stand = Stand::new().await;
    let token = stand.token(&stand.bound("/dpop"));
    let mut claims = stand.proof_claims("/dpop", &token);
    // The latest that is taken now is taken for two minutes.
    claims["iat"] = (stand.now() + 30).into();
    let fields = with_proof(&token, &stand.proof(&claims));
    assert_eq!(stand.rig.send(post("/dpop", &fields, "{}")).await.status, 200);
    let seen = stand.rig.backend.bytes();
    stand.rig.pass(120);
    let whole = post("/dpop", &format!("{fields}Expect: 100-continue\r\n"), "{}");
    let (head, body) = whole.split_at(whole.len() - 2);
    let mut stream = stand.rig.connect().await;
    stream.write_all(head).await.unwrap();
    // Its body is asked for once the proof was judged.
    let mut told = [0; 25];
    rig::soon(stream.read_exact(&mut told)).await.unwrap();
    assert!(told.starts_with(b"HTTP/1.1 100 "));
    stand.rig.pass(14);
    stream.write_all(body).await.unwrap();
    let answer = rig::Answer::read(&mut stream).await;
    assert_eq!(
        (answer.status, answer.rule().as_str()),
        (401, "auth.dpop"),
        "{}",
        answer.text
    );
    assert_eq!(stand.rig.backend.bytes(), seen);
    stand.rig.record_count(2).await;
}
