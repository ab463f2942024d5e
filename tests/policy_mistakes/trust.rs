//! Mistakes about issuers, principals, client certificates, and what a route wants proven.

use super::mistakes;

/// A policy that believes somebody; every test changes it in one place. A text alone names no file that could be read, so
/// it has no `tls`, which `clients` needs.
const GOOD: &str = "\
agent:
  ids: [a.b]
  project: north
backend:
  url: http://127.0.0.1:9000
public_url: https://gate.example
max_token_life: 2h
clients:
  - name: mesh
    bundle: /ca.pem
    trust_domain: example.org
    crl: /crl.pem
  - name: web
    bundle: /web.pem
issuers:
  - name: keys
    keys: /keys.json
    senders: [agt_a.*]
    algorithms: [Ed25519, PS256]
    typ: optional
  - name: tokens
    keys: https://keys.example/jwks
    ca: /keys-ca.pem
    token_issuer: https://keys.example
    refresh: 60s
    unknown_kid_cooldown: 10s
    max_stale: 1h
principals:
  - name: anna
    role: worker
    aliases: [https://anna.example]
    tenant: acme
    workspace: west
    project: north
    senders: [agt_a.anna, agt_a.x*]
    routes: [inbox]
    relays: [bert]
    actors: [user-1]
    scopes: [\"notes:read\"]
    parent: bert
    branch_id: b1
    rate: 10
    credentials:
      - {spiffe: \"spiffe://example.org/agent/anna\"}
      - {issuer: tokens, sub: anna}
  - name: bert
    role: observer
    uai_identity: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
    credentials:
      - {dns: bert.example}
      - {issuer: keys, kid: k1}
routes:
  - name: inbox
    path: /v1/messages
    method: POST
    takes: messages
    profiles: [uai.agent.message.v1]
    modes: [async]
    signature: required
    require_audience: true
    credentials: [mtls, dpop]
    resource: https://gate.example/v1/messages
    dpop_nonce: true
    client_bundle: mesh
    authority: {tenant: [/body/tenant], workspace: [/body/w], project: [/body/p]}
  - name: look
    path: /v1/look
    method: GET
    takes: read
";

#[test]
fn clients_without_tls_are_the_only_mistake_of_the_good_policy() {
    let found = mistakes(GOOD);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "/clients");
    assert!(found[0].1.contains("expected `tls`"), "{found:?}");
}

#[test]
fn every_mistake_about_trust_is_found() {
    let table = [
        // Issuers.
        ("name: tokens", "name: keys", "/issuers/1/name", "that no other has"),
        (
            "senders: [agt_a.*]",
            "senders: [\"*\"]",
            "/issuers/0/senders/0",
            "a name, or the beginning",
        ),
        (
            "senders: [agt_a.*]",
            "senders: [a*b]",
            "/issuers/0/senders/0",
            "a name, or the beginning",
        ),
        (
            "[Ed25519, PS256]",
            "[Ed25519, Ed25519]",
            "/issuers/0/algorithms/1",
            "each element once",
        ),
        ("[Ed25519, PS256]", "[HS256]", "/issuers/0/algorithms/0", "`Ed25519`"),
        ("[Ed25519, PS256]", "[]", "/issuers/0/algorithms", "at least 1"),
        (
            "keys: https://keys.example/jwks",
            "keys: http://keys.example/jwks",
            "/issuers/1/keys",
            "https URL",
        ),
        (
            "keys: /keys.json",
            "keys: keys.json",
            "/issuers/0/keys",
            "an absolute path",
        ),
        (
            "keys: /keys.json\n",
            "keys: /keys.json\n    ca: /ca.pem\n",
            "/issuers/0/ca",
            "only beside an https URL",
        ),
        ("refresh: 60s", "refresh: 0s", "/issuers/1/refresh", "a duration"),
        ("typ: optional", "typ: absent", "/issuers/0/typ", "`optional`"),
        (
            "typ: optional",
            "token_issuer: https://keys.example",
            "/issuers/1/token_issuer",
            "that no other issuer has",
        ),
        (
            "max_token_life: 2h",
            "max_token_life: 25h",
            "/max_token_life",
            "at most 24h",
        ),
        // Clients.
        ("name: web", "name: mesh", "/clients/1/name", "that no other has"),
        (
            "trust_domain: example.org",
            "trust_domain: Example.org",
            "/clients/0/trust_domain",
            "SPIFFE trust domain",
        ),
        (
            "    bundle: /web.pem\n",
            "    bundle: /web.pem\n    trust_domain: example.org\n",
            "/clients/1/trust_domain",
            "one bundle for each",
        ),
        ("crl: /crl.pem", "crl: crl.pem", "/clients/0/crl", "an absolute path"),
        // Principals.
        ("name: bert", "name: anna", "/principals/1/name", "that no other has"),
        (
            "name: anna",
            "name: unproven",
            "/principals/0/name",
            "where nobody is proven",
        ),
        (
            "tenant: acme",
            "tenant: unproven",
            "/principals/0/tenant",
            "where nobody is proven",
        ),
        (
            "[https://anna.example]",
            "[bert]",
            "/principals/0/aliases/0",
            "no name of another",
        ),
        ("role: worker", "role: boss", "/principals/0/role", "`worker`"),
        (
            "relays: [bert]",
            "relays: [carl]",
            "/principals/0/relays/0",
            "the name of a principal",
        ),
        (
            "routes: [inbox]",
            "routes: [outbox]",
            "/principals/0/routes/0",
            "the name of a route",
        ),
        (
            "[\"notes:read\"]",
            "[\"notes read\"]",
            "/principals/0/scopes/0",
            "without blanks",
        ),
        (
            "actors: [user-1]",
            "actors: [\"\"]",
            "/principals/0/actors/0",
            "a subject",
        ),
        (
            "uai_identity: e3",
            "uai_identity: E3",
            "/principals/1/uai_identity",
            "64 lowercase hex digits",
        ),
        ("rate: 10", "rate: 0", "/principals/0/rate", "at least 1"),
        (
            "{dns: bert.example}",
            "{dns: \"*.example\"}",
            "/principals/1/credentials/0/dns",
            "without wildcard",
        ),
        (
            "{dns: bert.example}",
            "{dns: bert.example, kid: k2}",
            "/principals/1/credentials/0",
            "exactly one of",
        ),
        (
            "{dns: bert.example}",
            "{kid: k2}",
            "/principals/1/credentials/0",
            "exactly one of",
        ),
        (
            "{dns: bert.example}",
            "{issuer: keys, kid: \"k 2\"}",
            "/principals/1/credentials/0/kid",
            "an id of 1 to 128",
        ),
        (
            "{dns: bert.example}",
            "{issuer: none, kid: k2}",
            "/principals/1/credentials/0/issuer",
            "a name of `issuers`",
        ),
        (
            "{dns: bert.example}",
            "{issuer: keys, sub: bert}",
            "/principals/1/credentials/0/sub",
            "with `token_issuer`",
        ),
        (
            "{dns: bert.example}",
            "{issuer: tokens, sub: anna}",
            "/principals/1/credentials/0",
            "proves nobody else",
        ),
        (
            "spiffe://example.org/agent/anna",
            "spiffe://example.org",
            "/principals/0/credentials/0/spiffe",
            "a SPIFFE id",
        ),
        (
            "spiffe://example.org/agent/anna",
            "spiffe://example.com/agent/anna",
            "/principals/0/credentials/0/spiffe",
            "a bundle of `clients`",
        ),
        (
            "  - name: web\n    bundle: /web.pem\n",
            "",
            "/principals/1/credentials/0/dns",
            "without `trust_domain`",
        ),
        // Routes.
        (
            "takes: read\n",
            "takes: read\n    signature: required\n",
            "/routes/1/signature",
            "only on a route with",
        ),
        (
            "takes: read\n",
            "takes: read\n    require_audience: true\n",
            "/routes/1/require_audience",
            "only on a route with",
        ),
        (
            "takes: read\n",
            "takes: read\n    authority: {tenant: [/a]}\n",
            "/routes/1/authority",
            "only on a route with",
        ),
        (
            "takes: read\n",
            "takes: read\n    resource: x\n",
            "/routes/1/resource",
            "bearer or dpop",
        ),
        (
            "takes: read\n",
            "takes: read\n    dpop_nonce: true\n",
            "/routes/1/dpop_nonce",
            "with `credentials` dpop",
        ),
        (
            "takes: read\n",
            "takes: read\n    client_bundle: mesh\n",
            "/routes/1/client_bundle",
            "with `credentials` mtls",
        ),
        (
            "takes: read\n",
            "takes: read\n    credentials: []\n",
            "/routes/1/credentials",
            "at least 1",
        ),
        (
            "[mtls, dpop]",
            "[mtls, mtls, dpop]",
            "/routes/0/credentials/1",
            "each element once",
        ),
        (
            "client_bundle: mesh",
            "client_bundle: mash",
            "/routes/0/client_bundle",
            "a name of `clients`",
        ),
        (
            "[/body/tenant]",
            "[body]",
            "/routes/0/authority/tenant/0",
            "an RFC 6901 pointer",
        ),
        (
            "public_url: https://gate.example\n",
            "",
            "/routes/0/credentials",
            "`public_url`",
        ),
    ];
    for (old, new, pointer, words) in table {
        assert!(GOOD.contains(old), "{old}");
        let mut found = mistakes(&GOOD.replacen(old, new, 1));
        found.retain(|(pointer, message)| pointer != "/clients" || !message.contains("expected `tls`"));
        let is_it = |(at, message): &(String, String)| at == pointer && message.contains(words);
        assert!(found.iter().any(is_it), "{new}: {found:?}");
    }
}

#[test]
fn certificates_and_tokens_need_something_that_vouches_for_them() {
    let bare = "\
agent: {ids: [a.b]}
backend: {url: http://127.0.0.1:9000}
routes:
  - {name: look, path: /look, method: GET, takes: read, credentials: [SCHEME]}
";
    for (scheme, words) in [
        ("mtls", &["`clients` to name a bundle"][..]),
        ("bearer", &["`resource` or `public_url`"]),
        ("dpop", &["`resource` or `public_url`", "in `htu`"]),
    ] {
        let found = mistakes(&bare.replace("SCHEME", scheme));
        assert_eq!(found.len(), words.len(), "{found:?}");
        for (found, words) in found.iter().zip(words) {
            assert_eq!(found.0, "/routes/0/credentials");
            assert!(found.1.contains(words), "{found:?}");
        }
    }
}
