//! The words that make a claim, and how a sentence is searched for them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;
use unicode_normalization::UnicodeNormalization;

/// The lists of `schemas/claims.json`, all lower case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    subjects: Vec<String>,
    verbs: Vec<String>,
    /// What is claimed, and the words that say it.
    objects: BTreeMap<String, Vec<String>>,
    /// A word beginning with `n'` stands for the end of a contraction.
    negators: Vec<String>,
    /// Claims by themselves.
    phrases: Vec<String>,
    /// What makes an agent more than it is.
    widening: Vec<String>,
}

/// What a sentence claims.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Claim<'w> {
    /// One of the groups of objects.
    Of(&'w str),
    /// A fixed phrase.
    Phrase,
}

impl Words {
    /// The lists in the binary; `None` only if they cannot be read, which a test rules out.
    pub(super) fn shipped() -> Option<&'static Self> {
        static SHIPPED: OnceLock<Option<Words>> = OnceLock::new();
        SHIPPED
            .get_or_init(|| serde_json::from_str(include_str!("../../../schemas/claims.json")).ok())
            .as_ref()
    }

    /// The first claim that a text makes.
    pub(super) fn claim(&self, text: &str) -> Option<Claim<'_>> {
        if !may_name_a_subject(text) {
            return None;
        }
        let text = normal(text);
        if !text.trim().contains(' ') {
            return None;
        }
        sentences(&text).find_map(|sentence| self.in_sentence(sentence))
    }

    /// Whether a text speaks of agents as selves. Negated words count too: a person has to read them.
    pub(super) fn widens(&self, text: &str) -> bool {
        let text = normal(text);
        self.widening.iter().any(|word| has_word(&text, word))
    }

    fn in_sentence(&self, sentence: &str) -> Option<Claim<'_>> {
        let any = |words: &[String]| words.iter().any(|word| has_word(sentence, word));
        if any(&self.phrases) {
            return Some(Claim::Phrase);
        }
        if !any(&self.subjects) || !any(&self.verbs) || any(&self.negators) {
            return None;
        }
        let claimed = self.objects.iter().find(|(_, words)| any(words));
        claimed.map(|(object, _)| Claim::Of(object))
    }
}

/// Every subject and phrase has `uai` in it; most texts do not, and are not looked at further.
fn may_name_a_subject(text: &str) -> bool {
    !text.is_ascii()
        || text
            .as_bytes()
            .windows(3)
            .any(|bytes| bytes.eq_ignore_ascii_case(b"uai"))
}

/// NFKC in lower case, blanks of any kind as one space, one kind of apostrophe, and nothing that cannot be seen.
fn normal(text: &str) -> String {
    let text: Cow<'_, str> = if text.is_ascii() {
        text.into()
    } else {
        text.nfkc().collect::<String>().into()
    };
    let mut out = String::with_capacity(text.len());
    for character in text.chars().flat_map(char::to_lowercase) {
        match character {
            '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' => {}
            '\u{2019}' | '\u{2bc}' => out.push('\''),
            '\u{2010}' | '\u{2011}' => out.push('-'),
            blank if blank.is_whitespace() => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            other => out.push(other),
        }
    }
    out
}

/// A sentence ends at `.`, `!`, `?` or `;` before a blank or the end, so that `uaix.org` is one word.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
        .scan(0_usize, |end, word| {
            *end = end.saturating_add(word.len());
            Some((*end, word))
        })
        .filter(|(end, word)| *end == text.len() || word.trim_end().ends_with(['.', '!', '?', ';']))
        .scan(0_usize, |start, (end, _)| {
            let sentence = text.get(*start..end);
            *start = end;
            sentence
        })
}

/// Whether a sentence has a word or several with nothing of a word right before and after; of a contraction, only after.
fn has_word(sentence: &str, word: &str) -> bool {
    let is_contraction = word.starts_with("n'");
    sentence.match_indices(word).any(|(start, found)| {
        let before = sentence.get(..start).unwrap_or_default();
        let after = sentence.get(start.saturating_add(found.len())..).unwrap_or_default();
        let is_bound = is_contraction || !before.ends_with(char::is_alphanumeric);
        is_bound && !after.starts_with(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_and_what_only_looks_like_one() {
        let of = |object| Some(Claim::Of(object));
        let table = [
            ("UAIX provides hosted messaging.", of("hosted messaging")),
            ("uaix.org offers automatic sync", of("automatic sync")),
            (
                "The gateway says that UAI-1 supports runtime orchestration today.",
                of("runtime orchestration"),
            ),
            ("UAIX performs repository writes; nobody asks.", of("repository writes")),
            ("UAIX ships official adapters.", of("official adapters")),
            ("UAIX certifies this runtime.", of("certification")),
            ("UAIX runs a hosted import.", of("hosted import")),
            ("ＵＡＩＸ\u{a0}provides\nhosted   messaging.", of("hosted messaging")),
            ("U\u{200b}AIX provides hosted messaging.", of("hosted messaging")),
            ("UAIX provides schemas. The vendor offers hosted messaging.", None),
            ("UAIX does not provide hosted messaging.", None),
            ("UAIX doesn\u{2019}t provide hosted messaging.", None),
            ("UAIX provides neither hosted messaging nor certification.", None),
            ("Certification is provided outside UAIX.", None),
            ("UAIX records hosted messaging.", None),
            ("The vendor provides hosted messaging.", None),
            ("UAIXA provides hosted messaging.", None),
            ("uaix-provides-hosted-messaging", None),
            ("This runtime is certified by UAIX", Some(Claim::Phrase)),
            ("endorsed by uaix.org and others", Some(Claim::Phrase)),
            ("Approved by UAIX.", Some(Claim::Phrase)),
            ("an Official UAIX adapter", Some(Claim::Phrase)),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(Words::shipped().unwrap().claim(text), expected, "{text}");
        }
    }

    #[test]
    fn every_word_of_widening_is_found_and_nothing_near_it() {
        let words = Words::shipped().unwrap();
        for word in &words.widening {
            assert!(words.widens(&format!("It is said: {}!", word.to_uppercase())), "{word}");
            assert!(!words.widens(&format!("x{word}x")), "{word}");
        }
        for text in [
            "The agent has no\u{a0}consciousness.",
            "cognitive\nliberty",
            "Ｓｅｎｔｉｅｎｔ agents",
            "self\u{2011}aware",
        ] {
            assert!(words.widens(text), "{text}");
        }
        for text in [
            "",
            "a self-contained build",
            "a conscientious, cost-conscious reviewer",
            "the person who reviews",
            "civil liberty",
        ] {
            assert!(!words.widens(text), "{text}");
        }
    }

    #[test]
    fn the_lists_are_lower_case_and_name_a_subject_where_it_matters() {
        let words = Words::shipped().unwrap();
        let all = [
            &words.subjects,
            &words.verbs,
            &words.negators,
            &words.phrases,
            &words.widening,
        ];
        let mut all = all.into_iter().flatten().chain(words.objects.values().flatten());
        assert!(all.all(|word| normal(word) == *word));
        assert!(
            words
                .subjects
                .iter()
                .chain(&words.phrases)
                .all(|word| may_name_a_subject(word))
        );
        assert_eq!(words.objects.len(), 7);
    }

    #[test]
    fn sentences_end_at_stops_before_blanks() {
        let list: Vec<&str> = sentences("a b.c d. e! f").collect();
        assert_eq!(list, ["a b.c d. ", "e! ", "f"]);
    }
}
