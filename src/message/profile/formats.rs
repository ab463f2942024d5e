//! The formats that our schemas assert, in their strict readings (contract §2.3, §2.4).
//!
//! Each takes the text of a string value and says whether it is of the format. None looks anything up.

use core::net::Ipv6Addr;

use jiff::civil::Date;

/// A format: its name in a schema, and whether a text is of it.
pub(super) type Format = (&'static str, fn(&str) -> bool);

/// Every format of our own by the name that a schema uses. They replace the validator's formats of the same name.
pub(super) const FORMATS: &[Format] = &[
    ("date-time", is_utc_time),
    ("did", is_did),
    ("https-uri", is_https_uri),
    ("traceparent", is_traceparent),
    ("uri", is_uri),
    ("uuid", is_uuid),
];

/// An RFC 3339 time in UTC as the contract wants it: capital `T`, trailing `Z`, at most nine digits of a second.
pub fn is_utc_time(text: &str) -> bool {
    text.ends_with('Z') && text.as_bytes().get(10) == Some(&b'T') && is_time(text)
}

/// An RFC 3339 time with any offset, in either case of its letters.
pub fn is_time(text: &str) -> bool {
    let Some((date, clock)) = text.split_once(['T', 't']) else {
        return false;
    };
    let (clock, has_offset) = match clock.strip_suffix(['Z', 'z']) {
        Some(clock) => (clock, true),
        None => match clock.rsplit_once(['+', '-']) {
            Some((clock, offset)) => (clock, is_offset(offset)),
            None => (clock, false),
        },
    };
    has_offset && is_date(date) && is_clock(clock)
}

fn is_date(text: &str) -> bool {
    let mut parts = text.split('-');
    let (Some(year), Some(month), Some(day), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2)) else {
        return false;
    };
    let small = |number: u16| i8::try_from(number).unwrap_or(0);
    i16::try_from(year).is_ok_and(|year| Date::new(year, small(month), small(day)).is_ok())
}

/// `hh:mm:ss` with a fraction or not; second 60 only where a leap second can be in UTC.
fn is_clock(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let fraction_is_fine = matches!(fraction.len(), 1..=9) && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = whole.split(':').map(|part| digits(part, 2));
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(Some(hour)), Some(Some(minute)), Some(Some(second)), None) => {
            fraction_is_fine
                && hour < 24
                && minute < 60
                && (second < 60 || (second == 60 && hour == 23 && minute == 59))
        }
        _ => false,
    }
}

fn is_offset(text: &str) -> bool {
    let Some((hours, minutes)) = text.split_once(':') else {
        return false;
    };
    digits(hours, 2).is_some_and(|hours| hours < 24) && digits(minutes, 2).is_some_and(|minutes| minutes < 60)
}

/// Exactly `count` ASCII digits as a number.
fn digits(text: &str, count: usize) -> Option<u16> {
    let all = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if all { text.parse().ok() } else { None }
}

/// An absolute URI (RFC 3986 §3): a scheme, and after it something.
pub fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    if !is_scheme(scheme) || rest.is_empty() {
        return false;
    }
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (hierarchy, query) = rest.split_once('?').unwrap_or((rest, ""));
    let path_is_fine = match hierarchy.strip_prefix("//") {
        Some(after) => {
            let (authority, path) = after.split_at(after.find('/').unwrap_or(after.len()));
            is_authority(authority, needs_host(scheme)) && of_uri(path, "/")
        }
        None => !needs_host(scheme) && of_uri(hierarchy, "/"),
    };
    path_is_fine && of_uri(query, "/?") && of_uri(fragment, "/?")
}

/// A URI of the scheme `https`.
pub fn is_https_uri(text: &str) -> bool {
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("https")) && is_uri(text)
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

fn needs_host(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

fn is_authority(text: &str, host_required: bool) -> bool {
    let (user, place) = text.rsplit_once('@').unwrap_or(("", text));
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        Some(_) | None => (place, ""),
    };
    let host_is_fine = match host.strip_prefix('[') {
        Some(literal) => literal
            .strip_suffix(']')
            .is_some_and(|address| address.parse::<Ipv6Addr>().is_ok()),
        None => of_uri(host, "") && !host.contains([':', '@']) && (!host.is_empty() || !host_required),
    };
    host_is_fine && of_uri(user, "") && !user.contains('@') && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether every byte is a `pchar` of RFC 3986 §3.3 or one of `more`, every `%` with its two digits.
fn of_uri(text: &str, more: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let fine = match byte {
            b'%' => [bytes.next(), bytes.next()]
                .iter()
                .all(|digit| digit.is_some_and(|digit| digit.is_ascii_hexdigit())),
            b'-' | b'.' | b'_' | b'~' | b':' | b'@' => true,
            b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' => true,
            other => other.is_ascii_alphanumeric() || more.as_bytes().contains(&other),
        };
        if !fine {
            return false;
        }
    }
    true
}

/// A DID (W3C DID Core §3.1), without path, query or fragment.
pub fn is_did(text: &str) -> bool {
    let Some((method, id)) = text.strip_prefix("did:").and_then(|rest| rest.split_once(':')) else {
        return false;
    };
    let of_id = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':' | b'%');
    !method.is_empty()
        && method
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        && !id.is_empty()
        && !id.ends_with(':')
        && id.bytes().all(of_id)
        && of_uri(id, "")
}

/// A UUID in its one text form (RFC 9562 §4), lower or upper case.
pub fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// W3C Trace Context, version 00, with ids that are not zero.
pub fn is_traceparent(text: &str) -> bool {
    let is_hex = |part: &str, count: usize| {
        part.len() == count && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_id = |part: &str, count: usize| is_hex(part, count) && part.bytes().any(|byte| byte != b'0');
    let mut parts = text.split('-');
    match (parts.next(), parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some("00"), Some(trace), Some(span), Some(flags), None) => {
            is_id(trace, 32) && is_id(span, 16) && is_hex(flags, 2)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(format: fn(&str) -> bool, accepted: &[&str], refused: &[&str]) {
        for text in accepted {
            assert!(format(text), "{text} is refused");
        }
        for text in refused {
            assert!(!format(text), "{text} is accepted");
        }
    }

    #[test]
    fn times() {
        let utc = [
            "2026-05-31T18:00:00Z",
            "2028-02-29T23:59:59.123456789Z",
            "2016-12-31T23:59:60Z",
        ];
        let elsewhere = [
            "2026-05-31T18:00:00+00:00",
            "2026-05-31T18:00:00-07:30",
            "2026-05-31t18:00:00z",
        ];
        let none = [
            "",
            "2026-05-31",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-05-31T24:00:00Z",
            "2026-05-31T18:00:60Z",
            "2026-05-31T18:00Z",
            "2026-05-31T18:00:00",
            "2026-05-31 18:00:00Z",
            "2026-05-31T18:00:00.Z",
            "2026-05-31T18:00:00.1234567890Z",
            "2026-05-31T18:00:00ZZ",
            "2026-05-31T18:00:00+24:00",
            "+2026-05-31T18:00:00Z",
            "२०२६-05-31T18:00:00Z",
        ];
        table(is_utc_time, &utc, &elsewhere);
        table(is_time, &elsewhere, &none);
        table(is_time, &utc, &none);
        table(is_utc_time, &[], &none);
    }

    #[test]
    fn uris() {
        table(
            is_uri,
            &[
                "http://uaix.org/",
                "https://example.invalid/runtime?a=b#c",
                "https://user@[::1]:8080/x",
                "urn:uaix:log:agent-standard:20260531:final_0007",
                "did:web:example.org",
                "data:application/jose,aa..bb",
                "file:///a",
                "https://a/%20",
            ],
            &[
                "",
                "urn:",
                "/relative",
                "http:",
                "http://",
                "http:foo",
                "http://a b/",
                "http://a/%2",
                "http://a/%zz",
                "1http://a",
                "http://[::1",
                "http://a:b/",
                "https://ä/",
                "http://a/\\b",
                "http://a/#b#c",
                "http://a@b@c/",
            ],
        );
        table(is_https_uri, &["https://a/"], &["http://a/", "https:", "urn:a"]);
    }

    #[test]
    fn dids() {
        table(
            is_did,
            &["did:web:example.org", "did:key:z6Mk", "did:web:example.org:user:a%20b"],
            &[
                "did:",
                "did:web",
                "did:web:",
                "did:Web:a",
                "did:web:a:",
                "did:web:a/b",
                "did:web:a#b",
                "did:web:%2",
                "x",
            ],
        );
    }

    #[test]
    fn uuids_and_trace_parents() {
        table(
            is_uuid,
            &["6f1c2f0e-0000-4000-8000-000000000001"],
            &[
                "6f1c2f0e000040008000000000000001",
                "6f1c2f0e-0000-4000-8000-00000000000g",
                "",
            ],
        );
        table(
            is_traceparent,
            &["00-11111111111111111111111111111111-0000000000000007-01"],
            &[
                "01-11111111111111111111111111111111-0000000000000007-01",
                "00-00000000000000000000000000000000-0000000000000007-01",
                "00-11111111111111111111111111111111-0000000000000000-01",
                "00-1111111111111111111111111111111A-0000000000000007-01",
                "00-11111111111111111111111111111111-0000000000000007-01-x",
                "00-11111111111111111111111111111111-0000000000000007",
            ],
        );
    }
}
