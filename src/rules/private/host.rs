//! Whether a host is a private place, in every spelling that a URL parser would take for one. No name is looked up.
//!
//! A host is read as WHATWG URL reads it, but what that standard would first decode (percent escapes, letters outside
//! ASCII) is not decoded here: it is unreadable, and whoever needs certainty refuses it.

use core::net::{Ipv4Addr, Ipv6Addr};

/// What a host is, as far as its text tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rules) enum Host {
    /// An address or a name that may be public.
    Public,
    /// Loopback, private, link-local or otherwise not public, or a name that only an inner network knows.
    Private,
    /// No host, or one that two parsers could read in two ways.
    Unreadable,
}

/// Last labels that only an inner network knows; with them `*.cluster.local` and `metadata.google.internal`.
const INNER: &[&str] = &["internal", "local", "localhost", "svc"];

/// Reads the host of an authority: without user and port, an IPv6 address in brackets.
pub(in crate::rules) fn read(host: &str) -> Host {
    if let Some(literal) = host.strip_prefix('[') {
        let address = literal.strip_suffix(']').and_then(|text| text.parse().ok());
        return address.map_or(Host::Unreadable, |address| of(is_private_v6(address)));
    }
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    if !host.split('.').all(is_label) {
        return Host::Unreadable;
    }
    let last = host.rsplit('.').next().unwrap_or_default();
    if last.bytes().all(|byte| byte.is_ascii_digit()) || number(last).is_some() {
        return v4(&host).map_or(Host::Unreadable, |address| of(is_private_v4(address)));
    }
    of(last.len() == host.len() || INNER.contains(&last))
}

/// The host of what follows `//` in a URL, for [`read`].
pub(in crate::rules) fn of_authority(rest: &str) -> &str {
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit('@').next().unwrap_or_default();
    match place.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        Some(_) | None => place,
    }
}

const fn of(is_private: bool) -> Host {
    if is_private { Host::Private } else { Host::Public }
}

/// A label of letters, digits, `-` and `_`. One in Punycode that stands for plain ASCII is a spelling of another name.
fn is_label(label: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let hides_ascii = label.starts_with("xn--") && label.ends_with('-');
    matches!(label.len(), 1..=63) && label.bytes().all(plain) && !hides_ascii
}

/// An address of one to four parts, each decimal, octal (`0…`) or hexadecimal (`0x…`); the last fills what is left.
fn v4(host: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u32> = host.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = parts.split_last()?;
    let whole = match first.len() {
        0 => u32::MAX,
        1 => 0x00ff_ffff,
        2 => 0xffff,
        3 => 0xff,
        _ => return None,
    };
    if *last > whole || first.iter().any(|part| *part > 0xff) {
        return None;
    }
    let front = first
        .iter()
        .zip([24_u32, 16, 8])
        .fold(0_u32, |bits, (part, shift)| bits | part.wrapping_shl(shift));
    Some(Ipv4Addr::from_bits(front | *last))
}

fn number(part: &str) -> Option<u32> {
    let (digits, radix) = match (part.strip_prefix("0x"), part.strip_prefix('0')) {
        (Some(""), _) => return Some(0),
        (Some(hex), _) => (hex, 16),
        (None, Some(octal)) if !octal.is_empty() => (octal, 8),
        (None, _) => (part, 10),
    };
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_plain {
        u32::from_str_radix(digits, radix).ok()
    } else {
        None
    }
}

/// Unspecified, private, CGNAT, loopback, link-local, multicast, reserved.
fn is_private_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    matches!(first, 0 | 10 | 127 | 224..=255)
        || (first == 100 && (64..128).contains(&second))
        || (first == 169 && second == 254)
        || (first == 172 && (16..32).contains(&second))
        || (first == 192 && second == 168)
}

/// Unspecified, loopback, ULA, link-local, site-local, multicast, and what carries such an IPv4 address.
fn is_private_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let v4 = |high: u16, low: u16| {
        let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
        is_private_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // IPv4-compatible with `::` and `::1`, IPv4-mapped, IPv4-translated, NAT64.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        // 6to4.
        [0x2002, high, low, ..] => v4(high, low),
        // NAT64 of one network.
        [0x64, 0xff9b, 1, ..] => true,
        // ULA, link-local and site-local, multicast.
        [first, ..] => matches!(first, 0xfc00..=0xfdff | 0xfe80..=0xfeff | 0xff00..=0xffff),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_in_every_spelling() {
        for host in [
            "127.0.0.1",
            "127.1",
            "127.0.1",
            "0x7f.0.0.1",
            "0X7F.1",
            "0177.0.0.1",
            "017700000001",
            "2130706433",
            "0x7f000001",
            "127.0.0.1.",
            "0",
            "0x",
            "0.0.0.0",
            "10.255.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "169.254.169.254",
            "0xa9fea9fe",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "192.168.257",
            "224.0.0.1",
            "255.255.255.255",
            "[::]",
            "[::1]",
            "[0:0:0:0:0:0:0:1]",
            "[::ffff:10.0.0.1]",
            "[::ffff:a00:1]",
            "[::ffff:0:10.0.0.1]",
            "[::127.0.0.1]",
            "[64:ff9b::192.168.0.1]",
            "[64:ff9b:1::1]",
            "[2002:7f00:1::]",
            "[fc00::1]",
            "[fdff::]",
            "[fe80::1]",
            "[febf::1]",
            "[fec0::1]",
            "[ff02::1]",
            "localhost",
            "LOCALHOST.",
            "api.localhost",
            "printer",
            "printer.local",
            "db.internal",
            "metadata.google.internal",
            "app.ns.svc",
            "app.ns.svc.cluster.local",
        ] {
            assert_eq!(read(host), Host::Private, "{host}");
        }
    }

    #[test]
    fn public() {
        for host in [
            "uaix.org",
            "UAIX.ORG.",
            "example.invalid",
            "a_b.example",
            "xn--mnchen-3ya.de",
            "8.8.8.8",
            "0x08.8.8.8",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.167.0.1",
            "169.253.0.1",
            "223.255.255.255",
            "[2001:4860:4860::8888]",
            "[::ffff:8.8.8.8]",
            "[64:ff9b::8.8.8.8]",
            "[2002:808:808::]",
            "local.example",
            "localhost.example",
            "svc.example.org",
        ] {
            assert_eq!(read(host), Host::Public, "{host}");
        }
    }

    #[test]
    fn neither() {
        for host in [
            "",
            ".",
            "a..b",
            ".local",
            "127.0.0.256",
            "1.2.3.4.5",
            "256.1.1.1",
            "4294967296",
            "09.1.1.1",
            "a.1",
            "a.0x1",
            "%31%32%37.0.0.1",
            "１２７.0.0.1",
            "münchen.de",
            "a.xn--local-",
            "[::1",
            "[fe80::1%25eth0]",
            "[x]",
            "a b",
        ] {
            assert_eq!(read(host), Host::Unreadable, "{host}");
        }
    }

    #[test]
    fn the_host_of_an_authority() {
        for (rest, host) in [
            ("a.example/x", "a.example"),
            ("a.example:80?q", "a.example"),
            ("u:p@a.example#f", "a.example"),
            ("b.example@a.example:80/", "a.example"),
            ("a.example\\@b.example", "a.example"),
            ("[::1]:80/", "[::1]"),
            ("[::1]", "[::1]"),
            ("", ""),
        ] {
            assert_eq!(of_authority(rest), host, "{rest}");
        }
    }
}
