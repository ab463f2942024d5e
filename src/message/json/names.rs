//! The names of one object, compared as Unicode NFC (contract §2.1, `json.duplicate-key`).

use std::borrow::Cow;
use std::collections::BTreeSet;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::Member;

/// Up to this many ASCII names are compared one by one, which is quicker than an index.
const FEW: usize = 16;

/// Finds a name that an object already has, in logarithmic time once there are many.
#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    /// Every name in its compared form, once the names are many or one is not ASCII.
    index: Option<BTreeSet<Cow<'a, str>>>,
}

impl<'a> Names<'a> {
    /// Whether none of the members so far has this name; remembers it.
    #[expect(clippy::ptr_arg, reason = "the index keeps a borrowed name borrowed")]
    pub fn is_new(&mut self, members: &[Member<'a>], name: &Cow<'a, str>) -> bool {
        if self.index.is_none() && members.len() < FEW && name.is_ascii() {
            return members.iter().all(|member| member.name != *name);
        }
        self.index
            .get_or_insert_with(|| members.iter().map(|member| compared(&member.name)).collect())
            .insert(compared(name))
    }
}

/// NFC of a name. Not only names outside ASCII meet here: U+212A becomes an ASCII `K`.
fn compared<'a>(name: &Cow<'a, str>) -> Cow<'a, str> {
    if name.is_ascii() || is_nfc_quick(name.chars()) == IsNormalized::Yes {
        name.clone()
    } else {
        Cow::Owned(name.nfc().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::json::{Bounds, read};

    fn reads(names: impl Iterator<Item = String>) -> bool {
        let members: Vec<String> = names.map(|name| format!("\"{name}\":0")).collect();
        read(format!("{{{}}}", members.join(",")).as_bytes(), &Bounds::default()).is_ok()
    }

    #[test]
    fn a_repeated_name_is_found_among_few_and_among_many() {
        for count in [2, FEW - 1, FEW, FEW + 1, 100, 255] {
            assert!(reads((0..count).map(|index| format!("n{index}"))), "{count}");
            for repeated in [0, count / 2, count - 1] {
                let names = (0..count).chain([repeated]).map(|index| format!("n{index}"));
                assert!(!reads(names), "{count} {repeated}");
            }
        }
    }

    #[test]
    fn names_are_compared_as_nfc_and_kept_as_written() {
        let equal = [
            ("\u{e9}", "e\u{301}"),
            ("\u{212B}", "\u{c5}"),
            ("K", "\u{212A}"),
            ("\u{ac00}", "\u{1100}\u{1161}"),
        ];
        for (left, right) in equal {
            assert!(!reads([left, "x", right].map(str::to_owned).into_iter()), "{left}");
            assert!(!reads([right, "x", left].map(str::to_owned).into_iter()), "{left}");
        }
        let different = [("e", "\u{e9}"), ("\u{fb01}", "fi"), ("a", "A")];
        for (left, right) in different {
            assert!(reads([left, right].map(str::to_owned).into_iter()), "{left}");
        }
        let root = read("{\"e\u{301}\":0}".as_bytes(), &Bounds::default()).unwrap();
        assert_eq!(root.members().unwrap()[0].name, "e\u{301}");
    }
}
