//! `probe.private-network`: no message points the agent at a private place.
//!
//! # What it checks
//! `source.uri`, `target.uri`, `trust.credential_ref`, `trust.signature_ref`; in `body` the elements of `context_refs`,
//! `endpoints` and `result_refs`, and `review_url`; anywhere in `body` and `delivery.expected_output_schema` a member
//! whose name begins with `callback`, and every URL below it. The scheme is `https`, `http`, `urn`, `did` or
//! `data:application/jose,`, and the host is public, see [`host`]. What cannot be read as a URI is refused. No DNS.
//!
//! # Why
//! An agent that fetches what it is told to fetch reaches what the sender cannot.
//!
//! # Contract
//! §9, "Where private places are looked for".
//!
//! # Outcome
//! 422 ERR_SCHEMA_VIOLATION with trigger `private_network_probe_requested`, a No-Op.
//!
//! # Example
//! `"context_refs": ["http://0xa9fea9fe/latest/meta-data"]`.

use super::private::host::{self, Host};
use super::texts::{self, Part};
use super::{Input, place};
use crate::contract::{Finding, Rule};
use crate::message::profile::is_uri;

pub(super) const RULES: &[Rule] = &[Rule::ProbePrivateNetwork];

/// Members of the envelope that are URIs.
const MEMBERS: &[&[&str]] = &[
    &["source", "uri"],
    &["target", "uri"],
    &["trust", "credential_ref"],
    &["trust", "signature_ref"],
];

/// Members of a body that are URIs, or lists of them.
const OF_BODY: &[&str] = &["context_refs", "endpoints", "result_refs", "review_url"];

pub(super) fn check(input: &Input<'_>, findings: &mut Vec<Finding>) {
    for path in MEMBERS {
        if let Some(problem) = input.message.text(path).and_then(problem) {
            findings.push(place::finding(input, Rule::ProbePrivateNetwork, path, problem));
        }
    }
    let places: [&[&str]; 2] = [&["delivery", "expected_output_schema"], &["body"]];
    for place in places {
        let Some(node) = input.message.at(place) else { continue };
        let mut path = place.iter().map(|name| Part::Name(name)).collect();
        texts::below(node, &mut path, &mut |text, path| {
            if is_looked_at(text, path)
                && let Some(problem) = problem(text)
            {
                let pointer = texts::pointer(path);
                let root = input.message.root();
                findings.push(place::at(root, Rule::ProbePrivateNetwork, &pointer, problem));
            }
        });
    }
}

/// Whether the text at this place has to be a URI that the agent may be sent to.
fn is_looked_at(text: &str, path: &[Part<'_>]) -> bool {
    let is_of_body = match path {
        [Part::Name("body"), Part::Name(name)] | [Part::Name("body"), Part::Name(name), Part::Index(_)] => {
            OF_BODY.contains(name)
        }
        _ => false,
    };
    let calls_back = |name: &str| {
        name.get(..8)
            .is_some_and(|start| start.eq_ignore_ascii_case("callback"))
    };
    let mut names = path.iter().rev().filter_map(|part| match part {
        Part::Name(name) => Some(*name),
        Part::Index(_) => None,
    });
    is_of_body || names.next().is_some_and(calls_back) || (may_be_url(text) && names.any(calls_back))
}

/// Whether a browser would take the text for a URL with a host or a file, also without its slashes or with the wrong ones:
/// it trims blanks, drops tabs and ends of lines, and reads `http:/host` and `http:host` as `http://host`.
fn may_be_url(text: &str) -> bool {
    const SCHEMES: &[&str] = &["file", "ftp", "http", "https", "ws", "wss"];
    let scheme = text.split_once(':').map(|(scheme, _)| scheme).unwrap_or_default();
    let is_scheme = |letter: &char| !letter.is_ascii_control() && *letter != ' ';
    let scheme: String = scheme.chars().filter(is_scheme).collect();
    text.contains("//") || text.contains("\\\\") || SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(&scheme))
}

/// What was expected instead of this URI.
fn problem(uri: &str) -> Option<&'static str> {
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    let Some(scheme) = scheme.filter(|_scheme| is_uri(uri)) else {
        return Some("expected an absolute URI");
    };
    let is_jose = || {
        uri.get(..22)
            .is_some_and(|start| start.eq_ignore_ascii_case("data:application/jose,"))
    };
    match scheme.as_str() {
        "http" | "https" => match host::read(host::of_authority(uri.split_once("//")?.1)) {
            Host::Public => None,
            Host::Private => Some("expected a host that is not private"),
            Host::Unreadable => Some("expected a host in plain ASCII that is read in one way only"),
        },
        "urn" | "did" => None,
        "data" if is_jose() => None,
        _ => Some("expected a URI of the scheme https, http, urn, did or `data:application/jose,`"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Row, found, rules_found};
    use super::*;

    #[test]
    fn every_member_is_looked_at() {
        const PRIVATE: &str = "\"https://10.0.0.1/x\"";
        let table = [
            ("/source/uri", PRIVATE, "/source/uri"),
            ("/target/uri", PRIVATE, "/target/uri"),
            ("/trust/credential_ref", PRIVATE, "/trust/credential_ref"),
            ("/trust/signature_ref", PRIVATE, "/trust/signature_ref"),
            (
                "/body/context_refs",
                r#"["urn:a:b","http://[::1]/"]"#,
                "/body/context_refs/1",
            ),
            ("/body/endpoints", r#"["http://localhost/"]"#, "/body/endpoints/0"),
            ("/body/result_refs", r#"["http://a.svc/"]"#, "/body/result_refs/0"),
            ("/body/review_url", PRIVATE, "/body/review_url"),
            (
                "/body/parameters",
                r#"{"callback":"10.0.0.1"}"#,
                "/body/parameters/callback",
            ),
            (
                "/body/parameters",
                r#"{"a":[{"Callback_URL":"http://x/"}]}"#,
                "/body/parameters/a/0/Callback_URL",
            ),
            (
                "/body/parameters",
                r#"{"callbacks":{"method":"POST","url":"http://x/"}}"#,
                "/body/parameters/callbacks/url",
            ),
            (
                "/body/parameters",
                r#"{"callback":{"at":"10:30","http":"a: b","u":" hT\ttp:/10.0.0.1/"}}"#,
                "/body/parameters/callback/u",
            ),
            (
                "/body/parameters",
                r#"{"callback":{"u":["https:10.0.0.1"]}}"#,
                "/body/parameters/callback/u/0",
            ),
            (
                "/body/parameters",
                r#"{"callback":{"u":"\\\\10.0.0.1\\x"}}"#,
                "/body/parameters/callback/u",
            ),
            (
                "/delivery/expected_output_schema/callback",
                PRIVATE,
                "/delivery/expected_output_schema/callback",
            ),
        ];
        for (place, value, expected) in table {
            let found = found(check, |case| case.set(place, value));
            let places: Vec<&str> = found
                .iter()
                .map(|finding| finding.pointer.as_ref().unwrap().as_str())
                .collect();
            assert_eq!(places, [expected], "{place}");
        }
    }

    #[test]
    fn what_is_not_looked_at() {
        let table: &[Row] = &[
            ("published final report", |_| {}, &[]),
            (
                "text for people",
                |case| case.set("/body/summary", "\"See http://10.0.0.1/\""),
                &[],
            ),
            (
                "an open object",
                |case| case.set("/body/parameters", r#"{"url":"http://10.0.0.1/","endpoints":["x"]}"#),
                &[],
            ),
            (
                "no text",
                |case| case.set("/body/parameters", r#"{"callback":true,"callback_port":1}"#),
                &[],
            ),
            ("a null", |case| case.set("/body/result_refs", "null"), &[]),
        ];
        for (name, change, expected) in table {
            assert_eq!(rules_found(check, *change), *expected, "{name}");
        }
    }

    #[test]
    fn schemes_and_hosts() {
        for uri in [
            "https://uaix.org/",
            "HTTP://uaix.org",
            "urn:uaix:log:1",
            "did:web:localhost",
            "data:application/jose,aa..bb",
            "https://a.example:8443/10.0.0.1?u=http://10.0.0.1/",
            "https://10.0.0.1@a.example/",
        ] {
            assert_eq!(problem(uri), None, "{uri}");
        }
        for uri in [
            "",
            "cb-1",
            "/relative",
            "10.0.0.1:80",
            "//10.0.0.1/",
            "ftp://a.example/",
            "file:///etc/passwd",
            "gopher://a.example/",
            "data:text/html,x",
            "data:application/jose;base64,x",
            "http:10.0.0.1",
            "http:\\\\10.0.0.1",
            "http://%31%30.0.0.1/",
            "http://a.example@10.0.0.1/",
            "https://0x7f000001/",
            "https://0177.1/",
            "https://2130706433:80/",
            "https://[::ffff:7f00:1]/",
            "https://localhost./",
        ] {
            assert!(problem(uri).is_some(), "{uri}");
        }
    }
}
