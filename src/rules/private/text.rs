//! Private places, paths of a machine and stack traces in text for people.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use super::host::{self, Host};
use super::trace;

/// Where files of a machine lie. `\` stands for both slashes behind a drive.
const ROOTS: &[&str] = &["/home/", "/var/", "c:\\", "c:/"];

/// What a text tells that only an inner network or one machine knows, in words; `None` when it tells nothing.
pub(in crate::rules) fn leak(text: &str) -> Option<&'static str> {
    let text: Cow<'_, str> = if text.is_ascii() {
        text.into()
    } else {
        text.nfkc().collect::<String>().into()
    };
    if trace::is_in(&text) {
        Some("a stack trace")
    } else if has_local_path(&text.to_ascii_lowercase()) {
        Some("a path of a machine")
    } else if text.split(is_between_words).any(names_private_place) {
        Some("a private address or an internal host name")
    } else {
        None
    }
}

/// A root that begins a path: not one inside of a longer path or URL.
fn has_local_path(text: &str) -> bool {
    ROOTS.iter().any(|root| {
        text.match_indices(root).any(|(at, _)| {
            let before = text.get(..at).unwrap_or_default();
            !before.ends_with(|last: char| last.is_alphanumeric() || matches!(last, '.' | '_' | '-'))
        })
    })
}

fn is_between_words(character: char) -> bool {
    character.is_whitespace() || "\"'`<>(){}|,;=".contains(character)
}

/// Whether a word is a URL, address or name of a private place.
fn names_private_place(word: &str) -> bool {
    let word = word.trim_end_matches(['.', ':', '!', '?']);
    if let Some((_, rest)) = word.split_once("://") {
        return host::read(host::of_authority(rest)) == Host::Private;
    }
    let place = host::of_authority(word);
    let bare = word.trim_start_matches('[').split(']').next().unwrap_or_default();
    let is_v6 = bare.len() > 2 && bare.parse::<core::net::Ipv6Addr>().is_ok();
    if is_v6 {
        return host::read(&format!("[{bare}]")) == Host::Private;
    }
    // One number, or a version of three, is no address; one word is no host name, but for the best known.
    let labels = place.trim_end_matches('.').split('.').count();
    let ends_in_digit = place.ends_with(|last: char| last.is_ascii_hexdigit() && !last.is_ascii_alphabetic());
    let may_be_host = if ends_in_digit {
        labels == 4
    } else {
        labels > 1 || place.eq_ignore_ascii_case("localhost")
    };
    may_be_host && host::read(place) == Host::Private
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaks_and_what_does_not() {
        const PLACE: Option<&str> = Some("a private address or an internal host name");
        const PATH: Option<&str> = Some("a path of a machine");
        let table = [
            ("The worker on 10.0.0.7 stopped.", PLACE),
            ("see 192.168.1.4:8080/status", PLACE),
            ("0x0a.0.0.1 answers", PLACE),
            ("from [fd00::1]:443", PLACE),
            ("from fe80::1, again", PLACE),
            ("(http://cache:6379)", PLACE),
            ("at https://user@2130706433/x", PLACE),
            ("localhost:3000 is down", PLACE),
            ("ask db.internal.", PLACE),
            ("app.ns.svc.cluster.local", PLACE),
            ("root@printer.local", PLACE),
            ("on １０.0.0.7", PLACE),
            ("wrote /home/x/notes", PATH),
            ("file:///var/log/x", PATH),
            ("(C:\\build\\out)", PATH),
            ("c:/build", PATH),
            ("Error at f (y.js:1:2)", Some("a stack trace")),
            ("", None),
            ("Version 10.0.1 is built, 4 of 5 done.", None),
            ("8.8.8.8 and [2001:4860:4860::8888] answer", None),
            ("see https://example.org/home/x and https://example.org/var/y", None),
            ("std::fmt and a :: b", None),
            ("progress: 40:60", None),
            ("local and internal reviews", None),
            ("the abc:d test", None),
            ("basic:/x", None),
            ("https://münchen.de/", None),
        ];
        for (text, expected) in table {
            assert_eq!(leak(text), expected, "{text}");
        }
    }
}
