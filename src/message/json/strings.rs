//! JSON strings: borrowed when nothing is escaped, refused when two readers could see two texts.

use std::borrow::Cow;

use super::cursor::{Cursor, Fault};
use crate::contract::Rule;

/// Reads a string or a name; the cursor stands on its opening quote. `bound` is in bytes of unescaped UTF-8.
pub(super) fn read<'a>(cursor: &mut Cursor<'a>, bound: usize) -> Result<Cow<'a, str>, Fault> {
    let quote = cursor.at();
    cursor.advance(1);
    let mut text = Cow::Borrowed("");
    loop {
        let start = cursor.at();
        plain(cursor, bound.saturating_sub(text.len()), quote, bound)?;
        let run = cursor.since(start);
        if text.is_empty() {
            text = Cow::Borrowed(run);
        } else {
            text.to_mut().push_str(run);
        }
        if cursor.take(b'"') {
            return Ok(text);
        }
        let escaped = escape(cursor)?;
        if text.len().saturating_add(escaped.len_utf8()) > bound {
            return Err(too_long(quote, bound));
        }
        text.to_mut().push(escaped);
    }
}

/// Takes characters that stand for themselves, at most `room` bytes, up to a quote or a backslash.
fn plain(cursor: &mut Cursor<'_>, room: usize, quote: usize, bound: usize) -> Result<(), Fault> {
    let end = cursor.at().saturating_add(room);
    loop {
        // Up to a byte that needs a look. Noncharacters begin with a byte from EF on.
        cursor.take_while(|byte| matches!(byte, b' '..=0xEE) && byte != b'"' && byte != b'\\');
        if cursor.at() > end {
            return Err(too_long(quote, bound));
        }
        match cursor.peek() {
            Some(b'"' | b'\\') => return Ok(()),
            None => return Err(cursor.syntax("expected the string to end")),
            Some(0..b' ') => return Err(cursor.syntax("expected control characters to be escaped")),
            Some(_) => {
                let character = cursor.peek_char().unwrap_or_default();
                admit(character, cursor.at())?;
                cursor.advance(character.len_utf8());
            }
        }
    }
}

/// Reads one escape; the cursor stands on its backslash.
fn escape(cursor: &mut Cursor<'_>) -> Result<char, Fault> {
    let backslash = cursor.at();
    cursor.advance(1);
    let plain = match cursor.peek() {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode(cursor, backslash),
        Some(_) | None => return Err(cursor.syntax("expected one of the escapes of RFC 8259")),
    };
    cursor.advance(1);
    Ok(plain)
}

/// Reads `uXXXX`, or the two escapes of a surrogate pair.
fn unicode(cursor: &mut Cursor<'_>, backslash: usize) -> Result<char, Fault> {
    let lone = || Fault::new(Rule::JsonCodepoint, backslash, "expected surrogates in pairs only");
    cursor.advance(1);
    let first = four_hex(cursor)?;
    let units = if matches!(first, 0xD800..=0xDBFF) {
        if !cursor.take(b'\\') || !cursor.take(b'u') {
            return Err(lone());
        }
        [first, four_hex(cursor)?]
    } else {
        [first, 0]
    };
    let character = char::decode_utf16(units).next().and_then(Result::ok).ok_or_else(lone)?;
    admit(character, backslash)?;
    Ok(character)
}

fn four_hex(cursor: &mut Cursor<'_>) -> Result<u16, Fault> {
    let start = cursor.at();
    for _ in 0..4 {
        if !cursor.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
            return Err(cursor.syntax("expected four hexadecimal digits"));
        }
        cursor.advance(1);
    }
    u16::from_str_radix(cursor.since(start), 16).map_err(|_| cursor.syntax("expected four hexadecimal digits"))
}

/// Refuses U+0000 and the noncharacters of RFC 7493 §2.1.
fn admit(character: char, at: usize) -> Result<(), Fault> {
    match character {
        '\0' => Err(Fault::new(Rule::JsonCodepoint, at, "expected no U+0000")),
        '\u{FDD0}'..='\u{FDEF}' => Err(Fault::new(Rule::JsonCodepoint, at, "expected no noncharacter")),
        other if u32::from(other) & 0xFFFE == 0xFFFE => {
            Err(Fault::new(Rule::JsonCodepoint, at, "expected no noncharacter"))
        }
        _ => Ok(()),
    }
}

fn too_long(quote: usize, bound: usize) -> Fault {
    Fault::new(
        Rule::JsonBounds,
        quote,
        format!("expected at most {bound} bytes in a string or a name"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(literal: &str) -> Cow<'_, str> {
        read(&mut Cursor::new(literal), 100).unwrap()
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(text(r#""a\"\\\/\b\f\n\r\t""#), "a\"\\/\u{8}\u{c}\n\r\t");
        assert_eq!(text(r#""\u00e9\uD83D\uDE00z""#), "\u{e9}\u{1F600}z");
        assert_eq!(
            text("\"\u{FEFF}\u{FFFD}\u{2028}\u{7F}\""),
            "\u{FEFF}\u{FFFD}\u{2028}\u{7F}"
        );
    }

    #[test]
    fn text_without_escapes_is_borrowed() {
        assert!(matches!(text("\"p\u{e9}\u{FB01}\u{1F600}\""), Cow::Borrowed(_)));
        assert!(matches!(text("\"\""), Cow::Borrowed("")));
        assert!(matches!(text("\"\u{FB01}\u{1F600}x\\n\""), Cow::Owned(_)));
    }
}
