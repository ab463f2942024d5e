//! Where a finding stands: a pointer that may be printed, and the byte offset that orders it (contract §4, §5).

use std::borrow::Cow;

use super::Input;
use crate::contract::{Finding, Pointer, Rule};
use crate::message::json::{Kind, Node};
use crate::message::secrets;

/// A finding at the member that a path of declared names leads to.
pub(super) fn finding(input: &Input<'_>, rule: Rule, path: &[&str], detail: impl Into<String>) -> Finding {
    let pointer = path.iter().fold(Pointer::root(), |pointer, name| pointer.member(name));
    at(input.message.root(), rule, &pointer, detail)
}

/// A finding at a place that may lead through names chosen by the sender.
pub(super) fn at(root: &Node<'_>, rule: Rule, pointer: &Pointer, detail: impl Into<String>) -> Finding {
    let (pointer, at) = locate(root, pointer);
    Finding {
        rule,
        pointer: Some(pointer),
        at,
        detail: detail.into().into(),
    }
}

/// The pointer as far as its names may be printed, and the offset of the member or element it leads to; no offset for a
/// member that is not there.
fn locate(root: &Node<'_>, pointer: &Pointer) -> (Pointer, Option<usize>) {
    let mut shown = Pointer::root();
    let mut is_safe = true;
    let mut place = Some((root, root.span.start));
    for part in pointer.as_str().split('/').skip(1) {
        let name = unescaped(part);
        let is_index = place.is_some_and(|(node, _)| node.elements().is_some());
        is_safe = is_safe && (is_index || secrets::is_safe_name(&name));
        if is_safe {
            shown = shown.member(&name);
        }
        place = place.and_then(|(node, _)| step(node, &name));
    }
    (shown, place.map(|(_, at)| at))
}

/// The offset of the member or element that a pointer leads to.
pub(super) fn offset(root: &Node<'_>, pointer: &Pointer) -> Option<usize> {
    let mut parts = pointer.as_str().split('/').skip(1);
    let found = parts.try_fold((root, root.span.start), |(node, _), part| step(node, &unescaped(part)));
    found.map(|(_, at)| at)
}

/// A name in a pointer as it is in the document.
fn unescaped(part: &str) -> Cow<'_, str> {
    if part.contains('~') {
        part.replace("~1", "/").replace("~0", "~").into()
    } else {
        part.into()
    }
}

fn step<'n, 'a>(node: &'n Node<'a>, name: &str) -> Option<(&'n Node<'a>, usize)> {
    match &node.kind {
        Kind::Object(_) => node.member(name).map(|member| (&member.value, member.at)),
        Kind::Array(elements) => {
            let element = elements.get(name.parse::<usize>().ok()?)?;
            Some((element, element.span.start))
        }
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::json::{self, Bounds};

    #[test]
    fn the_offset_is_that_of_the_member_and_unsafe_names_are_not_shown() {
        let text = r#"{"a":[10,{"b c":1}],"d":{}}"#;
        let root = json::read(text.as_bytes(), &Bounds::default()).unwrap();
        let table = [
            ("", "", Some(0)),
            ("/a", "/a", text.find("\"a\"")),
            ("/a/0", "/a/0", text.find("10")),
            ("/a/1/b c", "/a/1", text.find("\"b c\"")),
            ("/d/missing", "/d/missing", None),
            ("/a/9", "/a/9", None),
        ];
        for (pointer, shown, offset) in table {
            let found = locate(&root, &Pointer::from_rfc6901(pointer));
            assert_eq!(found, (Pointer::from_rfc6901(shown), offset), "{pointer}");
            assert_eq!(
                super::offset(&root, &Pointer::from_rfc6901(pointer)),
                offset,
                "{pointer}"
            );
        }
    }
}
