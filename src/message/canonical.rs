//! Canonical bytes and their digest (contract §7, RFC 8785): the one text that is hashed and signed.

use aws_lc_rs::digest;

use super::json::{Kind, Member, Node};

/// RFC 8785 text of a value, nothing removed.
pub fn jcs(node: &Node<'_>) -> Vec<u8> {
    text(node, Part::Open)
}

/// Canonical bytes of a canonical envelope (contract §7 steps 2 to 5).
///
/// A member of a wrong type is written as it stands: whether the message keeps its schema is decided elsewhere.
pub fn canonical_bytes(root: &Node<'_>) -> Vec<u8> {
    text(root, Part::Root)
}

/// SHA-256 of the canonical bytes, 64 lowercase hex digits.
pub fn digest(root: &Node<'_>) -> String {
    sha256_hex(&canonical_bytes(root))
}

/// SHA-256 of any bytes, 64 lowercase hex digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    digest::digest(&digest::SHA256, bytes)
        .as_ref()
        .iter()
        .flat_map(|byte| [hex(byte >> 4), hex(byte & 0xF)])
        .collect()
}

/// Which part of the envelope a value is, as far as the canonical form treats it in its own way.
#[derive(Clone, Copy)]
enum Part {
    /// The envelope itself.
    Root,
    /// An object of contract §2.3, or the body: its own `null` members are removed.
    Closed,
    /// `trust`: closed, and without a signature that travels in the record.
    Trust,
    /// `provenance`: closed, with a list of closed objects in it.
    Provenance,
    /// `integrity`: closed, and without its checksum.
    Integrity,
    /// An array of closed objects.
    List,
    /// Everything else: written as it stands.
    Open,
}

impl Part {
    /// What a member of this part is.
    fn member(self, name: &str) -> Self {
        match (self, name) {
            (Self::Root, "source" | "target" | "conversation" | "delivery" | "body") => Self::Closed,
            (Self::Root, "trust") => Self::Trust,
            (Self::Root, "provenance") => Self::Provenance,
            (Self::Root, "integrity") => Self::Integrity,
            (Self::Root, "extensions") | (Self::Provenance, "lineage") => Self::List,
            (
                Self::Root | Self::Closed | Self::Trust | Self::Provenance | Self::Integrity | Self::List | Self::Open,
                _,
            ) => Self::Open,
        }
    }

    /// What an element of this part is.
    const fn element(self) -> Self {
        match self {
            Self::List => Self::Closed,
            Self::Root | Self::Closed | Self::Trust | Self::Provenance | Self::Integrity | Self::Open => Self::Open,
        }
    }

    /// Whether a member belongs to the canonical form.
    fn keeps(self, member: &Member<'_>) -> bool {
        let value = &member.value;
        match self {
            Self::Root | Self::List | Self::Open => true,
            Self::Closed | Self::Provenance => !value.is_null(),
            Self::Integrity => !value.is_null() && member.name != "checksum",
            Self::Trust => {
                let carried = member.name == "signature_ref"
                    && value
                        .text()
                        .is_some_and(|text| text.starts_with("data:application/jose,"));
                !value.is_null() && !carried
            }
        }
    }
}

fn text(node: &Node<'_>, part: Part) -> Vec<u8> {
    let mut out = Vec::with_capacity(node.span.end.saturating_sub(node.span.start));
    write(node, part, &mut out);
    out
}

/// Recursive: the reader bounds the depth.
fn write(node: &Node<'_>, part: Part, out: &mut Vec<u8>) {
    match &node.kind {
        Kind::Null => out.extend(b"null"),
        Kind::Bool(true) => out.extend(b"true"),
        Kind::Bool(false) => out.extend(b"false"),
        Kind::Number(number) => out.extend(ryu_js::Buffer::new().format_finite(number.value).as_bytes()),
        Kind::String(text) => write_string(text, out),
        Kind::Array(elements) => {
            let mut separator = b'[';
            for element in elements {
                out.push(separator);
                separator = b',';
                write(element, part.element(), out);
            }
            close(separator, b'[', b']', out);
        }
        Kind::Object(members) => {
            let mut kept: Vec<&Member<'_>> = members.iter().filter(|member| part.keeps(member)).collect();
            kept.sort_unstable_by(|left, right| utf16_order(&left.name).cmp(utf16_order(&right.name)));
            let mut separator = b'{';
            for member in kept {
                out.push(separator);
                separator = b',';
                write_string(&member.name, out);
                out.push(b':');
                write(&member.value, part.member(&member.name), out);
            }
            close(separator, b'{', b'}', out);
        }
    }
}

/// Ends a container, which was not even opened if it had no item.
fn close(separator: u8, opening: u8, closing: u8, out: &mut Vec<u8>) {
    if separator == opening {
        out.push(opening);
    }
    out.push(closing);
}

/// A key that orders UTF-8 text by UTF-16 code units (RFC 8785 §3.2.3). The two orders differ only in that surrogates,
/// the lead bytes F0 to F4 in UTF-8, come before U+E000 to U+FFFF, the lead bytes EE and EF.
fn utf16_order(text: &str) -> impl Iterator<Item = u8> {
    text.bytes()
        .map(|byte| if matches!(byte, 0xEE | 0xEF) { byte | 0x10 } else { byte })
}

/// RFC 8785 §3.2.2.2: only what JSON demands is escaped, in its shortest form.
fn write_string(text: &str, out: &mut Vec<u8>) {
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
fn hex(half: u8) -> char {
    char::from_digit(half.into(), 16).unwrap_or('0')
}
