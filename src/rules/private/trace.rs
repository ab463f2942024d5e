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

/// `at name (file.js:10:5)`, `at name(File.java:12)`, `at file.js:10:5`, in one line. Every part of it is looked at once.
fn has_frame(text: &str) -> bool {
    text.lines().any(|line| {
        let mut inside = line.split('(').skip(1).map(first_word);
        line.split('(').any(|part| {
            let inside = inside.next().unwrap_or_default();
            let mut words = words_after_at(part).peekable();
            (words.peek().is_some() && is_source_place(inside)) || words.any(is_source_place)
        })
    })
}

/// What follows each `at` that is a word of its own.
fn words_after_at(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |at: usize| !text.get(..at).unwrap_or_default().ends_with(char::is_alphanumeric);
    text.match_indices("at ")
        .filter(move |(at, _)| is_word(*at))
        .map(|(at, found)| first_word(text.get(at.saturating_add(found.len())..).unwrap_or_default()))
}

/// The text up to a blank or a closing parenthesis.
fn first_word(text: &str) -> &str {
    let is_end = |letter: char| letter == ')' || letter.is_whitespace();
    text.trim_start().split(is_end).next().unwrap_or_default()
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
            "Look (it is) at f (z) or at g (y.js:10:5)",
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
            "that f (y.js:10:5)",
            "at f (z), that g (y.js:10:5)",
        ] {
            assert!(!is_in(text), "{text}");
        }
    }

    /// A line may be as long as a message. Were all of it looked at again for each `at`, this would take minutes.
    #[test]
    fn a_long_line_is_looked_at_once() {
        for part in ["at ", "at (", "(at ", "at  x", "at x(("] {
            assert!(!is_in(&part.repeat(300_000)), "{part}");
        }
    }
}
