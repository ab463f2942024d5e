//! Addresses, origins, hosts and URLs of the policy.

use std::net::SocketAddr;

use http::Uri;
use http::uri::Authority;

use crate::config::check::Report;

/// The socket address of a listener: from the command line, from the file, or the default.
pub(super) fn socket(
    raw: Option<&str>,
    key: &str,
    default: &str,
    option: &Option<String>,
    report: &mut Report<'_>,
) -> Option<SocketAddr> {
    const EXPECTED: &str = "expected an IP address and port such as 127.0.0.1:8080";
    let written = raw.map(str::parse::<SocketAddr>);
    if let Some(Err(_)) = written {
        report.value(&format!("/{key}"), &format!("`{key}`: {EXPECTED}"));
    }
    if let Some(option) = option {
        let parsed = option.parse().ok();
        if parsed.is_none() {
            report.option(&format!("--{key}"), EXPECTED);
        }
        return parsed;
    }
    match written {
        Some(address) => address.ok(),
        None => default.parse().ok(),
    }
}

/// `host:port` of the backend: from the command line or from the file.
pub(super) fn backend(raw: Option<&str>, option: Option<&str>, report: &mut Report<'_>) -> Option<String> {
    const EXPECTED: &str = "expected an http origin such as http://127.0.0.1:9000, without path";
    let read = |url: &str| {
        let (scheme, authority) = origin(url)?;
        let port = authority.port_u16().unwrap_or(80);
        (scheme == "http").then(|| format!("{}:{port}", authority.host()))
    };
    let written = raw.map(read);
    if written == Some(None) {
        report.value("/backend/url", &format!("`url`: {EXPECTED}"));
    }
    let Some(option) = option else { return written? };
    let parsed = read(option);
    if parsed.is_none() {
        report.option("--backend", EXPECTED);
    }
    parsed
}

/// The public URL; plain http is allowed and warned of.
pub(super) fn public_url(raw: Option<&str>, report: &mut Report<'_>) -> Option<String> {
    let raw = raw?;
    let Some(scheme) = url_scheme(raw).filter(|_| !raw.ends_with('/') && !raw.contains(['?', '#'])) else {
        report.value(
            "/public_url",
            "`public_url`: expected a URL such as https://agent.example, without trailing slash, query and fragment",
        );
        return None;
    };
    if scheme == "http" {
        report.warn(
            "/public_url",
            "`public_url` is plain http: clients can be shown false answers",
        );
    }
    Some(raw.to_owned())
}

/// `host` or `host:port`, lower case.
pub(super) fn public_hosts(raw: &[String], report: &mut Report<'_>) -> Vec<String> {
    each(raw, "public_hosts", "expected `host` or `host:port`", report, |host| {
        let authority: Authority = host.parse().ok()?;
        is_plain(&authority).then(|| host.to_ascii_lowercase())
    })
}

/// https origins, lower case.
pub(super) fn public_origins(raw: &[String], report: &mut Report<'_>) -> Vec<String> {
    let expected = "expected an https origin such as https://agent.example, without path";
    each(raw, "public_origins", expected, report, |text| {
        let (scheme, _) = origin(text)?;
        (scheme == "https" && !text.ends_with('/')).then(|| text.to_ascii_lowercase())
    })
}

/// An absolute https URL.
pub(super) fn https_url(raw: Option<&str>, pointer: &str, key: &str, report: &mut Report<'_>) -> Option<String> {
    let raw = raw?;
    if url_scheme(raw) != Some("https") {
        report.value(pointer, &format!("`{key}`: expected an absolute https URL"));
        return None;
    }
    Some(raw.to_owned())
}

/// Scheme and authority of an origin, with at most a `/` behind it.
fn origin(text: &str) -> Option<(&'static str, Authority)> {
    let scheme = url_scheme(text)?;
    let uri: Uri = text.parse().ok()?;
    let bare = matches!(uri.path(), "" | "/") && !text.contains(['?', '#']);
    Some((scheme, uri.authority().filter(|_| bare)?.clone()))
}

/// `http` or `https` of an absolute URL that names a host and no user.
fn url_scheme(text: &str) -> Option<&'static str> {
    let scheme = ["https", "http"]
        .into_iter()
        .find(|scheme| text.strip_prefix(scheme).is_some_and(|rest| rest.starts_with("://")))?;
    let uri: Uri = text.parse().ok()?;
    let printable = text
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\');
    (printable && is_plain(uri.authority()?)).then_some(scheme)
}

/// A host with an optional port that is one, and no user.
fn is_plain(authority: &Authority) -> bool {
    let text = authority.as_str();
    let host = authority.host();
    // A user stands before the host, and then the host is no prefix.
    let Some(port) = text.strip_prefix(host) else {
        return false;
    };
    let port = port.is_empty()
        || port
            .strip_prefix(':')
            .is_some_and(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    let name = host
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'));
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let address = address.is_some_and(|host| host.parse::<std::net::Ipv6Addr>().is_ok());
    port && !host.is_empty() && (name || address)
}

fn each(
    raw: &[String],
    key: &str,
    expected: &str,
    report: &mut Report<'_>,
    read: impl Fn(&str) -> Option<String>,
) -> Vec<String> {
    let mut list = Vec::new();
    for (index, text) in raw.iter().enumerate() {
        match read(text) {
            Some(value) if list.contains(&value) => {
                report.value(
                    &format!("/{key}/{index}"),
                    &format!("`{key}`: expected each element once"),
                );
            }
            Some(value) => list.push(value),
            None => report.value(&format!("/{key}/{index}"), &format!("`{key}`: {expected}")),
        }
    }
    list
}
