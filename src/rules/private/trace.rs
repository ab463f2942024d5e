//! The shapes of a stack trace in the usual languages.

/// Texts that stand in no sentence but one about a crash.
const PHRASES: &[&str] = &[
    "Traceback (most recent call last)",
    "stack backtrace:",
    "Exception in thread \"",
    "' panicked at ",
    "\", line ",
    ":line ",
    ":in `",
];

/// Whether a text carries a stack trace or a frame of one.
pub(super) fn is_in(text: &str) -> bool {
    let phrase = |phrase: &&str| {
        let mut found = text.match_indices(*phrase);
        match *phrase {
            // `File "x.py", line 3` and `in X.cs:line 3`.
            "\", line " | ":line " => found.any(|(at, found)| begins_with_digit(text, at, found)),
            _ => found.next().is_some(),
        }
    };
    PHRASES.iter().any(phrase) || has_goroutine(text) || has_frame(text)
}

fn begins_with_digit(text: &str, at: usize, found: &str) -> bool {
    let after = text.get(at.saturating_add(found.len())..).unwrap_or_default();
    after.starts_with(|next: char| next.is_ascii_digit())
}

/// `goroutine 1 [running]`.
fn has_goroutine(text: &str) -> bool {
    text.split("goroutine ").skip(1).any(|rest| {
        let after = rest.trim_start_matches(|next: char| next.is_ascii_digit());
        after.len() < rest.len() && after.starts_with(" [")
    })
}

/// `at name (file.js:10:5)`, `at name(File.java:12)`, `at file.js:10:5`.
fn has_frame(text: &str) -> bool {
    text.match_indices("at ").any(|(at, found)| {
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at.saturating_add(found.len())..).unwrap_or_default();
        let line = after.lines().next().unwrap_or_default();
        let inside = line
            .split_once('(')
            .and_then(|(_, rest)| rest.split_once(')'))
            .map(|(inside, _)| inside);
        let word = line.split_whitespace().next().unwrap_or_default();
        !before.ends_with(char::is_alphanumeric) && (is_source_place(word) || inside.is_some_and(is_source_place))
    })
}

/// `file.ext:10` or `file.ext:10:5`, in one word.
fn is_source_place(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let without = |text| match str::rsplit_once(text, ':') {
        Some((file, line)) if digits(line) => Some(file),
        Some(_) | None => None,
    };
    let Some(file) = without(text) else { return false };
    let file = without(file).unwrap_or(file);
    // A URL is a place too, but `host.example:80` is none in a source.
    let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
    !file.contains(char::is_whitespace) && SOURCES.iter().any(|source| extension.eq_ignore_ascii_case(source))
}

/// What source files end in.
const SOURCES: &[&str] = &[
    "c", "cc", "cpp", "cs", "cjs", "ex", "go", "java", "js", "jsx", "kt", "mjs", "php", "pl", "py", "rb", "rs",
    "scala", "swift", "ts", "tsx",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_and_what_only_looks_like_one() {
        for text in [
            "Traceback (most recent call last):\n  File \"x.py\", line 3",
            "File \"x.py\", line 3, in f",
            "Error: no\n    at f (x/y.js:10:5)",
            "Error: no at f (y.js:10)",
            "\tat org.example.Y.f(Y.java:12)",
            "at y.mjs:10:5",
            "   at X.F() in X.cs:line 12",
            "thread 'main' panicked at src/main.rs:4:5",
            "stack backtrace:\n   0: f",
            "goroutine 1 [running]:",
            "y.rb:12:in `f'",
            "Exception in thread \"main\" java.lang.Error",
        ] {
            assert!(is_in(text), "{text}");
        }
        for text in [
            "",
            "We meet at noon (room 4.12:30).",
            "at example.org:443",
            "at least two (see chapter 3:4)",
            "the goroutine was fast",
            "what.js:10",
            "page 3, \"quoted\", line by line",
            "first:line of text",
        ] {
            assert!(!is_in(text), "{text}");
        }
    }
}
