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
