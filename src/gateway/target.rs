//! The request target: one canonical reading, matched and forwarded as it is (contract §14, "Target" and "Query").

use http::request::Parts;
use http::{Method, Uri, Version, header};

use super::pulse::RawHead;
use crate::contract::{Finding, Rule};
use crate::policy::Policy;

/// `http.target-length`.
pub fn length(uri: &Uri, limit: usize) -> Option<Finding> {
    let length = uri.path_and_query().map_or(0, |target| target.as_str().len());
    (length > limit).then(|| {
        Finding::new(
            Rule::HttpTargetLength,
            format!("expected a target of at most {limit} bytes"),
        )
    })
}

/// `http.target`: form, path and authority.
pub fn check(head: &Parts, policy: &Policy) -> Option<Finding> {
    form(head)
        .or_else(|| path(head.uri.path()))
        .or_else(|| authority(head, policy))
        .map(|detail| Finding::new(Rule::HttpTarget, detail))
}

/// `http.query`: no route declares parameters, so every query is refused, an empty one too.
pub fn query(uri: &Uri) -> Option<Finding> {
    uri.query()
        .map(|_| Finding::new(Rule::HttpQuery, "expected no query on this route"))
}

/// Origin-form only. On HTTP/1.1 the target is compared as it arrived, because a fragment is cut off before that.
fn form(head: &Parts) -> Option<&'static str> {
    if head.method == Method::CONNECT {
        return Some("expected a path, not an authority");
    }
    let target = head.uri.path_and_query().map_or("", |target| target.as_str());
    if !target.starts_with('/') {
        return Some("expected a path that begins with `/`");
    }
    if head.version == Version::HTTP_2 {
        return None;
    }
    match head.extensions.get::<RawHead>() {
        Some(raw) if raw.target() == Some(target.as_bytes()) => None,
        Some(_) | None => Some("expected a path in origin-form without a fragment"),
    }
}

/// What one canonical reading excludes.
fn path(path: &str) -> Option<&'static str> {
    let bytes = path.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'%' => {
                let [high, low, after @ ..] = rest else {
                    return Some("expected two hex digits after `%`");
                };
                let (Some(high), Some(low)) = (hex(*high), hex(*low)) else {
                    return Some("expected two hex digits after `%`");
                };
                let octet = high << 4 | low;
                if octet.is_ascii_control() {
                    return Some("expected no encoded control character");
                }
                if is_unreserved(octet) || matches!(octet, b'/' | b'\\' | b'%') {
                    return Some("expected no percent-encoded `/`, `\\`, `%` or unreserved character");
                }
                decoded.push(octet);
                rest = after;
            }
            b'/' => decoded.push(byte),
            other if is_unreserved(other) || is_delimiter(other) => decoded.push(other),
            _ => return Some("expected only the path characters of RFC 3986, without `;`"),
        }
    }
    if std::str::from_utf8(&decoded).is_err() {
        return Some("expected percent-encoding of UTF-8");
    }
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        if segment == "." || segment == ".." {
            return Some("expected no dot segment");
        }
        if segment.is_empty() && segments.peek().is_some() {
            return Some("expected no empty segment before the last");
        }
    }
    None
}

/// `Host` and `:authority`: exactly one value, and one of the public hosts when the policy names them.
fn authority(head: &Parts, policy: &Policy) -> Option<&'static str> {
    let mut hosts = head.headers.get_all(header::HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(_), Some(_)) => return Some("expected exactly one `Host`"),
        (Some(value), None) => match value.to_str() {
            Ok(text) => Some(text),
            Err(_) => return Some("expected a `Host` of visible characters"),
        },
        (None, _) => None,
    };
    let named = match (head.uri.authority(), host) {
        (Some(authority), Some(host)) if !authority.as_str().eq_ignore_ascii_case(host) => {
            return Some("expected `Host` and `:authority` to agree");
        }
        (Some(authority), _) => authority.as_str(),
        (None, Some(host)) => host,
        (None, None) => return Some("expected a `Host`"),
    };
    if named.is_empty() || named.contains(['@', ' ', '\t', ',', '/', '?', '#', '\\']) {
        return Some("expected a host, with a port when it is not the default");
    }
    let is_public = policy
        .public_hosts
        .iter()
        .any(|public| named.eq_ignore_ascii_case(public));
    (!policy.public_hosts.is_empty() && !is_public).then_some("expected one of the public hosts")
}

const fn hex(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte.wrapping_sub(b'0')),
        b'a'..=b'f' => Some(byte.wrapping_sub(b'a').wrapping_add(10)),
        b'A'..=b'F' => Some(byte.wrapping_sub(b'A').wrapping_add(10)),
        _ => None,
    }
}

/// RFC 3986 §2.3.
const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// The other characters of RFC 3986 §3.3 that stand in a path as they are; `;` is refused.
const fn is_delimiter(byte: u8) -> bool {
    matches!(
        byte,
        b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b'=' | b':' | b'@'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_reading_of_a_path_and_no_other() {
        let table = [
            ("/", true),
            ("/v1/messages", true),
            ("/v1/messages/", true),
            ("/a:b@c!$&'()*+,=", true),
            ("/%C3%A9", true),
            ("/%c3%a9", true),
            ("/%20", true),
            ("/a//b", false),
            ("//", false),
            ("/.", false),
            ("/a/../b", false),
            ("/a;b", false),
            ("/a\\b", false),
            ("/%2e", false),
            ("/%2F", false),
            ("/%5c", false),
            ("/%25", false),
            ("/%41", false),
            ("/%00", false),
            ("/%1f", false),
            ("/%ff", false),
            ("/%C3", false),
            ("/%4", false),
            ("/%zz", false),
            ("/é", false),
            ("/a|b", false),
        ];
        for (text, accepted) in table {
            assert_eq!(path(text).is_none(), accepted, "{text}");
        }
    }

    #[test]
    fn an_empty_query_is_a_query() {
        for (target, refused) in [("/a", false), ("/a?", true), ("/a?access_token=x", true)] {
            let uri: Uri = target.parse().unwrap();
            assert_eq!(query(&uri).is_some(), refused, "{target}");
        }
    }
}
