//! Normal form of an absolute http or https URI without query and fragment (RFC 3986 §6.2.2, §6.2.3), to compare `htu`.

/// The normal form; `None` for what is no absolute http or https URI, or names a user.
pub fn normal(uri: &str) -> Option<String> {
    if !uri.bytes().all(|byte| byte.is_ascii_graphic()) {
        return None;
    }
    let end = uri.find(['?', '#']).unwrap_or(uri.len());
    let (scheme, rest) = uri.get(..end)?.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let own_port = match scheme.as_str() {
        "https" => "443",
        "http" => "80",
        _ => return None,
    };
    let path_at = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(path_at)?;
    let (host, port) = host_and_port(authority)?;
    let host = percent(host)?.to_ascii_lowercase();
    let port = Some(port).filter(|port| !port.is_empty() && *port != own_port);
    let port = port.map_or_else(String::new, |port| format!(":{port}"));
    let path = without_dots(&percent(path)?);
    Some(format!("{scheme}://{host}{port}{path}"))
}

/// Host and port, which may be empty.
fn host_and_port(authority: &str) -> Option<(&str, &str)> {
    let host_end = match authority.strip_prefix('[') {
        Some(_) => authority.find(']')?.checked_add(1)?,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, port) = authority.split_at_checked(host_end)?;
    let port = match port {
        "" => "",
        port => port.strip_prefix(':')?,
    };
    let is_sound = !host.is_empty() && !host.contains('@') && port.bytes().all(|byte| byte.is_ascii_digit());
    is_sound.then_some((host, port))
}

/// Unreserved octets decoded, all others with upper-case digits; `None` for a `%` that begins no octet.
fn percent(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut out = pieces.next()?.to_owned();
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(2)?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let octet = char::from(u8::from_str_radix(digits, 16).ok()?);
        if octet.is_ascii_alphanumeric() || matches!(octet, '-' | '.' | '_' | '~') {
            out.push(octet);
        } else {
            out.push('%');
            out.push_str(&digits.to_ascii_uppercase());
        }
        out.push_str(rest);
    }
    Some(out)
}

/// RFC 3986 §5.2.4; an empty path is `/`.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut is_open = false;
    for segment in path.split('/').skip(1) {
        is_open = matches!(segment, "." | "..");
        match segment {
            "." => {}
            ".." => {
                kept.pop();
            }
            segment => kept.push(segment),
        }
    }
    let mut out: String = kept.iter().flat_map(|segment| ["/", segment]).collect();
    if is_open || out.is_empty() {
        out.push('/');
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_means_the_same_is_the_same() {
        let table = [
            (
                "https://agent.example/v1/messages",
                Some("https://agent.example/v1/messages"),
            ),
            (
                "HTTPS://Agent.Example:443/v1/messages",
                Some("https://agent.example/v1/messages"),
            ),
            (
                "https://agent.example:/v1/messages",
                Some("https://agent.example/v1/messages"),
            ),
            (
                "https://agent.example:8443/v1/m",
                Some("https://agent.example:8443/v1/m"),
            ),
            ("http://agent.example:80", Some("http://agent.example/")),
            ("http://agent.example:443/", Some("http://agent.example:443/")),
            (
                "https://a.example/v1/%7euser/%2f/%c3%a9?x=1#y",
                Some("https://a.example/v1/~user/%2F/%C3%A9"),
            ),
            (
                "https://a.example/v1/./x/../messages",
                Some("https://a.example/v1/messages"),
            ),
            ("https://a.example/v1/%2e%2e/m", Some("https://a.example/m")),
            ("https://a.example/a/..", Some("https://a.example/")),
            ("https://a.example/a/b/.", Some("https://a.example/a/b/")),
            ("https://a.example//a", Some("https://a.example//a")),
            ("https://[2001:DB8::1]:443/a", Some("https://[2001:db8::1]/a")),
            ("https://a.example?q", Some("https://a.example/")),
            ("https://user@a.example/", None),
            ("https://a.example:x/", None),
            ("https:///a", None),
            ("https://[::1/a", None),
            ("https://a.example/%zz", None),
            ("https://a.example/%4", None),
            ("ftp://a.example/", None),
            ("/v1/messages", None),
            ("https://a.example/a b", None),
            ("https://a.example/\u{e9}", None),
        ];
        for (uri, expected) in table {
            assert_eq!(normal(uri).as_deref(), expected, "{uri}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_and_the_normal_form_is_its_own(text in "(https?://)?[a-z%0-9:/?#@\\[\\].A-Z é]{0,40}") {
            if let Some(normal_form) = normal(&text) {
                prop_assert_eq!(normal(&normal_form), Some(normal_form.clone()));
            }
        }
    }
}
