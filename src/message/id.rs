//! The id pattern of contract §2.3.

/// Whether a text is an id: 1 to 128 characters of `[A-Za-z0-9._:/@-]`, the first alphanumeric. Only such a text may be
/// repeated in an answer or a record.
pub fn is_id(text: &str) -> bool {
    text.len() <= 128
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._:/@-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_short_and_plain() {
        for id in [
            "a",
            "7",
            "agt_runtime.consumer",
            "urn:uaix:agent:6f1c2f0e",
            "a/b@c-d",
            &"x".repeat(128),
        ] {
            assert!(is_id(id), "{id}");
        }
        for other in ["", "_a", ".a", "a b", "a\n", "ä", "a\"", &"x".repeat(129)] {
            assert!(!is_id(other), "{other}");
        }
    }
}
