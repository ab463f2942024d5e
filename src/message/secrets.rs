//! The secret detector's core: shapes of well-known tokens, and what looks random (contract §9, "How secrets are
//! found"). Today it decides which member names may be printed.

/// A token known by its first characters.
struct Shape {
    prefix: &'static str,
    /// At least this many characters follow.
    tail: usize,
    /// What they may be.
    alphabet: fn(char) -> bool,
}

const SHAPES: &[Shape] = &[
    // Cloud access keys: AWS, Google, Alibaba, DigitalOcean.
    shape("AKIA", 16, upper),
    shape("ASIA", 16, upper),
    shape("ABIA", 16, upper),
    shape("ACCA", 16, upper),
    shape("AIza", 30, token),
    shape("ya29.", 20, token),
    shape("LTAI", 16, word),
    shape("dop_v1_", 32, word),
    shape("doo_v1_", 32, word),
    // Version control and package registries.
    shape("ghp_", 20, word),
    shape("gho_", 20, word),
    shape("ghu_", 20, word),
    shape("ghs_", 20, word),
    shape("ghr_", 20, word),
    shape("github_pat_", 20, word),
    shape("glpat-", 16, token),
    shape("gldt-", 16, token),
    shape("npm_", 30, word),
    shape("pypi-", 16, token),
    shape("rubygems_", 32, word),
    // Chat, mail, payment, models.
    shape("xoxa-", 10, token),
    shape("xoxb-", 10, token),
    shape("xoxe-", 10, token),
    shape("xoxp-", 10, token),
    shape("xoxr-", 10, token),
    shape("xoxs-", 10, token),
    shape("xapp-", 10, token),
    shape("SG.", 20, token),
    shape("sk_live_", 10, word),
    shape("sk_test_", 10, word),
    shape("rk_live_", 10, word),
    shape("rk_test_", 10, word),
    shape("whsec_", 16, word),
    shape("sk-", 16, token),
    shape("hf_", 30, word),
    // Infrastructure.
    shape("hvs.", 20, token),
    shape("hvb.", 20, token),
    shape("shpat_", 32, word),
    shape("shpss_", 32, word),
    shape("dapi", 32, word),
    shape("glsa_", 32, word),
    shape("tskey-", 16, token),
    shape("PMAK-", 24, token),
    shape("AGE-SECRET-KEY-1", 16, upper),
    // A JSON object in base64url: JWT and other JOSE forms. PEM armour.
    shape("eyJ", 12, token),
    shape("-----BEGIN", 0, token),
];

/// Whether a member name may be printed in a pointer: at most 64 characters of `[A-Za-z0-9_.-]` that look like no secret
/// (contract §5). A name such as `password` is none; a name that is a token is one.
pub fn is_safe_name(name: &str) -> bool {
    name.len() <= 64 && name.chars().all(token) && !has_secret_shape(name)
}

/// Whether a name carries a well-known token or a long run that looks random. Names only: in a value, a long random run
/// is as often a digest.
fn has_secret_shape(text: &str) -> bool {
    SHAPES.iter().any(|shape| shape.occurs_in(text)) || text.split(|c| !alphanumeric(c)).any(looks_random)
}

const fn shape(prefix: &'static str, tail: usize, alphabet: fn(char) -> bool) -> Shape {
    Shape { prefix, tail, alphabet }
}

impl Shape {
    /// Tokens begin where a word begins: `task-…` has no `sk-…` in it.
    fn occurs_in(&self, text: &str) -> bool {
        text.match_indices(self.prefix).any(|(start, _)| {
            let (before, found) = text.split_at(start);
            let tail = found.chars().skip(self.prefix.len()).take(self.tail);
            !before.ends_with(alphanumeric) && tail.filter(|c| (self.alphabet)(*c)).count() == self.tail
        })
    }
}

/// Long runs of letters and digits that no one would choose as a word: 32 hexadecimal digits, or 20 characters with
/// digits among them that change between digit, capital and small letter as often as random ones do.
fn looks_random(run: &str) -> bool {
    let has = |test: fn(&char) -> bool| run.chars().any(|c| test(&c));
    if run.len() < 20 || !has(char::is_ascii_digit) || !has(char::is_ascii_alphabetic) {
        return false;
    }
    let pairs = run.as_bytes().windows(2);
    let changes = pairs.filter(|pair| class(pair.first()) != class(pair.last())).count();
    changes >= run.len().div_ceil(3) || (run.len() >= 32 && run.chars().all(|c| c.is_ascii_hexdigit()))
}

const fn class(byte: Option<&u8>) -> u8 {
    match byte {
        Some(b'0'..=b'9') => 0,
        Some(b'A'..=b'Z') => 1,
        Some(_) | None => 2,
    }
}

const fn upper(c: char) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit()
}

const fn alphanumeric(c: char) -> bool {
    c.is_ascii_alphanumeric()
}

const fn word(c: char) -> bool {
    alphanumeric(c) || c == '_'
}

const fn token(c: char) -> bool {
    word(c) || matches!(c, '-' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_found_from_its_shortest_tail_on_and_only_where_a_word_begins() {
        for Shape { prefix, tail, .. } in SHAPES {
            let long = format!("{prefix}{}", "A".repeat(*tail));
            assert!(has_secret_shape(&long), "{long}");
            assert!(!is_safe_name(&long), "{long}");
            assert!(has_secret_shape(&format!("x-{long}.y")), "{long}");
            assert!(!has_secret_shape(&format!("x{long}")), "{long}");
            if let Some(one_less) = tail.checked_sub(1) {
                let short = format!("{prefix}{}", "A".repeat(one_less));
                assert!(!has_secret_shape(&short), "{short}");
                assert!(!has_secret_shape(&format!("{short} {short}")), "{short}");
            }
        }
    }

    #[test]
    fn a_long_random_run_is_a_secret_and_a_long_word_is_none() {
        let random = [
            "9f86d081884c7d659a2feaa0c55ad015",
            "x_9f86d081884c7d659a2feaa0c55ad0159f86d081",
            "wJalrXUtnFEMI7K7MDENGbPxRfiCYEXAMPLEKEY",
            "a8Kd93nQz7Lp02Xv4Rt1",
        ];
        for name in random {
            assert!(!is_safe_name(name), "{name}");
        }
        let words = [
            "expectedOutputSchemaProfileVersion2",
            "memory_updates_proposed_by_agent_2024",
            "supercalifragilisticexpialidocious",
            "6f1c2f0e-0000-4000-8000-000000000001",
            "12345678901234567890123456789012345",
        ];
        for name in words {
            assert!(is_safe_name(name), "{name}");
        }
    }

    #[test]
    fn a_name_is_printed_only_in_its_alphabet_and_up_to_64_characters() {
        let printed = [
            "",
            "password",
            "access_token",
            "api-key",
            "a.b",
            "sk-learn",
            "task-with-a-long-name-behind",
        ];
        for name in printed {
            assert!(is_safe_name(name), "{name}");
        }
        for name in ["a b", "a/b", "a~b", "n\u{e9}", "a\"b", "a@b", "a:b"] {
            assert!(!is_safe_name(name), "{name}");
        }
        assert!(is_safe_name(&"n".repeat(64)));
        assert!(!is_safe_name(&"n".repeat(65)));
    }
}
