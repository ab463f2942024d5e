//! JSON text from a tree: members in their order, numbers as written, strings in their shortest form.

use super::{Kind, Node};

/// The same value without blanks between its parts. Recursive: the reader bounds the depth.
pub fn minified(node: &Node<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(node.span.end.saturating_sub(node.span.start));
    write(node, &mut out);
    out
}

fn write(node: &Node<'_>, out: &mut Vec<u8>) {
    match &node.kind {
        Kind::Null => out.extend(b"null"),
        Kind::Bool(true) => out.extend(b"true"),
        Kind::Bool(false) => out.extend(b"false"),
        Kind::Number(number) => out.extend(number.literal.as_bytes()),
        Kind::String(text) => write_string(text, out),
        Kind::Array(elements) => {
            out.push(b'[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write(element, out);
            }
            out.push(b']');
        }
        Kind::Object(members) => {
            out.push(b'{');
            for (index, member) in members.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_string(&member.name, out);
                out.push(b':');
                write(&member.value, out);
            }
            out.push(b'}');
        }
    }
}

/// A string in quotes (RFC 8785 §3.2.2.2): only what JSON demands is escaped, in its shortest form.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for run in text.as_bytes().split_inclusive(|byte| needs_escape(*byte)) {
        match run.split_last() {
            Some((last, plain)) if needs_escape(*last) => {
                out.extend(plain);
                write_escape(*last, out);
            }
            Some(_) | None => out.extend(run),
        }
    }
    out.push(b'"');
}

const fn needs_escape(byte: u8) -> bool {
    matches!(byte, 0..b' ' | b'"' | b'\\')
}

fn write_escape(byte: u8, out: &mut Vec<u8>) {
    let short = match byte {
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0C => b'f',
        b'\r' => b'r',
        b'"' | b'\\' => byte,
        control => {
            out.extend(b"\\u00");
            out.extend([hex(control >> 4), hex(control & 0xF)].map(|digit| u8::try_from(digit).unwrap_or(b'0')));
            return;
        }
    };
    out.extend([b'\\', short]);
}

/// The lowercase hex digit of a half byte.
pub fn hex(half: u8) -> char {
    char::from_digit(half.into(), 16).unwrap_or('0')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::json::{Bounds, read};

    #[test]
    fn only_blanks_and_needless_escapes_go() {
        let text = r#" { "b" : [ 1.50 , -0 , null , true , false ] , "\u0061" : { "x\/\n" : [ ] } } "#;
        let node = read(text.as_bytes(), &Bounds::default()).unwrap();
        let expected = r#"{"b":[1.50,-0,null,true,false],"a":{"x/\n":[]}}"#;
        assert_eq!(String::from_utf8(minified(&node)).unwrap(), expected);
    }
}
