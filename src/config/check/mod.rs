//! What is wrong with a policy: all of it, in file order, each mistake with its place.

pub(super) mod shape;

use super::mistake::Mistake;
use super::tree::{Node, Place, escape, shown};

/// Collects mistakes and warnings about one file.
pub(super) struct Report<'a> {
    tree: &'a Node,
    mistakes: Vec<Mistake>,
    warnings: Vec<Mistake>,
    /// Pointers of keys that an unknown key beside them was probably meant to be.
    meant: Vec<String>,
}

impl<'a> Report<'a> {
    /// Begins with what the reader already found.
    pub fn new(tree: &'a Node, mistakes: Vec<Mistake>) -> Self {
        Self {
            tree,
            mistakes,
            warnings: Vec::new(),
            meant: Vec::new(),
        }
    }

    /// A mistake in the value at a pointer, or, when it is absent, in what should hold it.
    pub fn value(&mut self, pointer: &str, message: &str) {
        self.near(pointer, message, None);
    }

    /// The same with a word that was perhaps meant.
    pub fn near(&mut self, pointer: &str, message: &str, suggestion: Option<String>) {
        let place = self.tree.place(pointer);
        self.mistakes.push(mistake(place, pointer, message, suggestion));
    }

    /// A mistake in the key at a pointer.
    pub fn key(&mut self, pointer: &str, message: &str, suggestion: Option<String>) {
        let place = self.tree.key_place(pointer);
        self.mistakes.push(mistake(place, pointer, message, suggestion));
    }

    /// An unknown key, perhaps with the known one that was meant; that one is then not missed as well.
    pub fn unknown_key(&mut self, parent: &str, name: &str, near: Option<String>) {
        self.meant.extend(near.iter().map(|key| format!("{parent}/{key}")));
        let pointer = format!("{parent}/{}", escape(name));
        self.key(&pointer, &format!("unknown key `{}`", shown(name)), near);
    }

    /// A mistake in an option of the command line.
    pub fn option(&mut self, option: &str, message: &str) {
        let place = Place { line: 0, column: 0 };
        self.mistakes
            .push(mistake(place, "", &format!("`{option}`: {message}"), None));
    }

    /// Something that is allowed and should not be overlooked.
    pub fn warn(&mut self, pointer: &str, message: &str) {
        let place = self.tree.place(pointer);
        self.warnings.push(mistake(place, pointer, message, None));
    }

    /// Whether the file says something at a pointer, be it mistaken: then nothing is missing there.
    pub fn is_written(&self, pointer: &str) -> bool {
        self.tree.find(pointer).is_some()
    }

    /// Whether a key is absent, and no unknown key beside it was probably meant to be it.
    pub fn is_missing(&self, pointer: &str) -> bool {
        !self.is_written(pointer) && !self.meant.iter().any(|meant| meant == pointer)
    }

    /// Every mistake and every warning, each in file order.
    pub fn finish(mut self) -> (Vec<Mistake>, Vec<Mistake>) {
        for list in [&mut self.mistakes, &mut self.warnings] {
            list.sort_by_key(|mistake| (mistake.line, mistake.column));
            list.dedup();
        }
        (self.mistakes, self.warnings)
    }
}

/// The word of a list that is near another, if one is; of several as near, the first of the alphabet.
pub(super) fn did_you_mean<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<String> {
    words
        .into_iter()
        .map(|known| {
            (
                strsim::damerau_levenshtein(&word.to_lowercase(), &known.to_lowercase()),
                known,
            )
        })
        .filter(|(distance, known)| *distance <= known.chars().count().div_ceil(3))
        .min()
        .map(|(_, known)| known.to_owned())
}

fn mistake(place: Place, pointer: &str, message: &str, suggestion: Option<String>) -> Mistake {
    Mistake {
        line: place.line,
        column: place.column,
        pointer: pointer.to_owned(),
        message: message.to_owned(),
        suggestion,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_near_word_is_suggested() {
        let words = ["messages", "legacy", "read"];
        let table = [
            ("mesages", Some("messages")),
            ("LEGACY", Some("legacy")),
            ("raed", Some("read")),
            ("nothing", None),
            ("", None),
        ];
        for (word, expected) in table {
            assert_eq!(did_you_mean(word, words).as_deref(), expected, "{word}");
        }
    }
}
