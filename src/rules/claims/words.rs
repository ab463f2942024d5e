//! The words that make a claim, and how a sentence is searched for them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use serde::Deserialize;
use unicode_normalization::UnicodeNormalization;

use crate::rules::unseen::is_ignorable;

/// The lists of `schemas/claims.json`, all lower case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists {
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

/// The lists, ready to be looked for all at once.
#[derive(Debug)]
pub(super) struct Words {
    claims: Finder<Part>,
    widening: Finder<()>,
    /// What is claimed, in the order in which it is told.
    objects: Vec<String>,
}

/// What a word is in a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Subject,
    Verb,
    /// One of the groups of objects.
    Object(usize),
    Negator,
    Phrase,
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
        let shipped = || Self::of(serde_json::from_str(include_str!("../../../schemas/claims.json")).ok()?);
        SHIPPED.get_or_init(shipped).as_ref()
    }

    fn of(lists: Lists) -> Option<Self> {
        let plain = [
            (Part::Subject, lists.subjects),
            (Part::Verb, lists.verbs),
            (Part::Negator, lists.negators),
            (Part::Phrase, lists.phrases),
        ];
        let (objects, words): (Vec<String>, Vec<Vec<String>>) = lists.objects.into_iter().unzip();
        let groups = words.into_iter().enumerate();
        let objects_words = groups.map(|(group, words)| (Part::Object(group), words));
        Some(Self {
            claims: Finder::new(plain.into_iter().chain(objects_words))?,
            widening: Finder::new([((), lists.widening)])?,
            objects,
        })
    }

    /// The first claim that a text makes.
    pub(super) fn claim(&self, text: &str) -> Option<Claim<'_>> {
        if !may_name_a_subject(text) {
            return None;
        }
        let text = normal(text);
        if !text.trim().contains(' ') || !self.parts(&text).may_claim() {
            return None;
        }
        sentences(&text).find_map(|sentence| self.parts(sentence).claim(&self.objects))
    }

    /// Whether a text speaks of agents as selves. Negated words count too: a person has to read them.
    pub(super) fn widens(&self, text: &str) -> bool {
        self.widening.find(&normal(text)).next().is_some()
    }

    fn parts(&self, text: &str) -> Parts {
        let mut parts = Parts::default();
        for part in self.claims.find(text) {
            match part {
                Part::Phrase => parts.phrase = true,
                Part::Subject => parts.subject = true,
                Part::Verb => parts.verb = true,
                Part::Negator => parts.negator = true,
                Part::Object(group) => parts.object = Some(parts.object.map_or(group, |first| first.min(group))),
            }
        }
        parts
    }
}

/// What a text has of a claim.
#[derive(Debug, Default)]
struct Parts {
    phrase: bool,
    subject: bool,
    verb: bool,
    negator: bool,
    /// The first group of objects.
    object: Option<usize>,
}

impl Parts {
    /// Whether a sentence of such a text can be a claim; most texts cannot, and are not parted.
    const fn may_claim(&self) -> bool {
        self.phrase || (self.subject && self.verb && self.object.is_some())
    }

    /// The claim of such a sentence.
    fn claim<'w>(&self, objects: &'w [String]) -> Option<Claim<'w>> {
        if self.phrase {
            return Some(Claim::Phrase);
        }
        let claimed = self.object.filter(|_| self.may_claim() && !self.negator)?;
        objects.get(claimed).map(|object| Claim::Of(object))
    }
}

/// Finds words, each of a kind, in one pass over a text however many there are.
#[derive(Debug)]
struct Finder<K> {
    automaton: AhoCorasick,
    /// Each word of the automaton and its kind.
    words: Vec<(String, K)>,
}

impl<K: Copy> Finder<K> {
    /// `None` for more words than an automaton can have.
    fn new(lists: impl IntoIterator<Item = (K, Vec<String>)>) -> Option<Self> {
        let of_kind = |(kind, words): (K, Vec<String>)| words.into_iter().map(move |word| (word, kind));
        let words: Vec<(String, K)> = lists.into_iter().flat_map(of_kind).collect();
        let automaton = AhoCorasick::new(words.iter().map(|(word, _)| word)).ok()?;
        Some(Self { automaton, words })
    }

    /// The kinds of the words that a text has with nothing of a word right before and after; of a contraction, only after.
    fn find(&self, text: &str) -> impl Iterator<Item = K> {
        self.automaton.find_overlapping_iter(text).filter_map(|found| {
            let (word, kind) = self.words.get(found.pattern().as_usize())?;
            let before = text.get(..found.start()).unwrap_or_default();
            let after = text.get(found.end()..).unwrap_or_default();
            let is_bound = word.starts_with("n'") || !before.ends_with(char::is_alphanumeric);
            (is_bound && !after.starts_with(char::is_alphanumeric)).then_some(*kind)
        })
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
    let mut out = String::with_capacity(text.len());
    if text.is_ascii() {
        text.bytes()
            .for_each(|byte| add(char::from(byte.to_ascii_lowercase()), &mut out));
    } else {
        text.nfkc()
            .flat_map(char::to_lowercase)
            .for_each(|character| add(character, &mut out));
    }
    out
}

/// Adds a character in its normal form.
fn add(character: char, out: &mut String) {
    match character {
        unseen if is_ignorable(unseen) => {}
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
            (
                "U\u{202a}A\u{fe0f}IX\u{3164} pro\u{e0041}vides hosted messaging.",
                of("hosted messaging"),
            ),
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
        for (word, ()) in &words.widening.words {
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
        let widening = words.widening.words.iter().map(|(word, ())| word);
        let mut all = words.claims.words.iter().map(|(word, _)| word).chain(widening);
        assert!(all.all(|word| normal(word) == *word));
        let named = |part: &Part| matches!(part, Part::Subject | Part::Phrase);
        let mut must_name = words.claims.words.iter().filter(|(_, part)| named(part));
        assert!(must_name.all(|(word, _)| may_name_a_subject(word)));
        assert_eq!(words.objects.len(), 7);
    }

    #[test]
    fn sentences_end_at_stops_before_blanks() {
        let list: Vec<&str> = sentences("a b.c d. e! f").collect();
        assert_eq!(list, ["a b.c d. ", "e! ", "f"]);
    }
}
