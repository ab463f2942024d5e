//! Private places, paths of a machine and stack traces in text for people.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use super::host::{self, Host};
use super::trace;
use crate::rules::unseen::is_ignorable;

/// Where files of a machine lie. `\` stands for both slashes behind a drive.
const ROOTS: &[&str] = &["/home/", "/var/", "c:\\", "c:/"];

/// What a text tells that only an inner network or one machine knows, in words; `None` when it tells nothing.
pub(in crate::rules) fn leak(text: &str) -> Option<&'static str> {
    let text: Cow<'_, str> = if text.is_ascii() {
        text.into()
    } else {
        text.nfkc()
            .filter(|letter| !is_ignorable(*letter))
            .collect::<String>()
            .into()
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

/// Whether a word is, or holds among its marks, a URL, address or name of a private place.
fn names_private_place(word: &str) -> bool {
    let is_private = |host: &str| host::read(host) == Host::Private;
    let is_private_v6 = |part: &str| is_private(&format!("[{part}]"));
    let has_private_v6 = |text: &str| {
        // `::` alone is no address but a mark, and a colon may follow an address as it follows a word.
        let mut v6 = parts(text, ".:").filter(|part| part.len() > 2);
        v6.any(|part| is_private_v6(part) || is_private_v6(part.trim_end_matches(':')))
    };
    if let Some((_, rest)) = word.split_once("://") {
        let host = host::of_authority(rest);
        return has_private_v6(host) || parts(host, ".-_").next().is_some_and(is_private);
    }
    // One number, or a version of three, is no address; one word is no host name, but for the best known.
    let labels = |part: &str| part.split('.').count();
    let ends_in_digit = |part: &str| part.ends_with(|last: char| last.is_ascii_digit());
    let is_name = |part: &&str| !ends_in_digit(part) && (labels(part) > 1 || part.eq_ignore_ascii_case("localhost"));
    has_private_v6(word)
        || parts(word, ".").filter(|part| ends_in_digit(part) && labels(part) == 4).any(is_private)
        // What follows a slash is a path, and files have names like hosts.
        || parts(host::of_authority(word), ".-_").filter(is_name).any(is_private)
}

/// The parts of a word that consist of letters, digits and `marks`, without full stops, `-` and `_` around them.
fn parts<'w>(word: &'w str, marks: &'static str) -> impl Iterator<Item = &'w str> {
    word.split(move |letter: char| !letter.is_alphanumeric() && !marks.contains(letter))
        .map(|part| part.trim_matches(['.', '-', '_']))
        .filter(|part| !part.is_empty())
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
            ("on 1\u{ad}0.0.\u{200b}0.7", PLACE),
            ("[10.0.0.7] stopped", PLACE),
            ("**10.0.0.7**, _db.internal_ and so on", PLACE),
            ("[db.internal]: gone", PLACE),
            ("node:db.internal:5432", PLACE),
            ("tcp:10.0.0.7:80", PLACE),
            ("10.0.0.7-10.0.0.9", PLACE),
            ("pool/10.0.0.7", PLACE),
            ("fe80::1%eth0 and no other", PLACE),
            ("fd00::1/64: full", PLACE),
            ("*http://10.0.0.7*", PLACE),
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
            ("the abc:d test, item::1 and (::)", None),
            ("config/app.local and pool/8.8.8.8", None),
            ("basic:/x", None),
            ("https://münchen.de/", None),
        ];
        for (text, expected) in table {
            assert_eq!(leak(text), expected, "{text}");
        }
    }
}
