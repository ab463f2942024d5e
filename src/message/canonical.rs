//! Canonical bytes and their digest (contract §7, RFC 8785): the one text that is hashed and signed.

use aws_lc_rs::digest;

use super::json::{Kind, Member, Node, hex, write_string};

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

/// Canonical bytes of a delivery envelope (contract §7): without `sender.signature`, nothing else removed.
pub fn delivery_bytes(root: &Node<'_>) -> Vec<u8> {
    text(root, Part::Delivery)
}

/// JCS text of one flat object: the members at these paths of a canonical envelope, each under its dotted name and in its
/// canonical form. A member that is missing or `null` is left out, which is the same (contract §2.3). The paths have to
/// stand in the order of their names.
pub fn canonical_members(root: &Node<'_>, paths: &[&[&str]]) -> Vec<u8> {
    members(root, Part::Root, paths)
}

/// The same for a delivery envelope, of which nothing but the signature is removed.
pub fn delivery_members(root: &Node<'_>, paths: &[&[&str]]) -> Vec<u8> {
    members(root, Part::Delivery, paths)
}

fn members(root: &Node<'_>, part: Part, paths: &[&[&str]]) -> Vec<u8> {
    let mut out = vec![b'{'];
    for path in paths {
        let start = Some((root, part));
        let found = path.iter().fold(start, |at, name| {
            let (node, part) = at?;
            Some((node.get(name)?, part.member(name)))
        });
        let Some((node, part)) = found.filter(|(node, _)| !node.is_null()) else {
            continue;
        };
        if out.len() > 1 {
            out.push(b',');
        }
        write_string(&path.join("."), &mut out);
        out.push(b':');
        write(node, part, &mut out);
    }
    out.push(b'}');
    out
}

/// JCS text of an object of strings. The names have to stand in their order.
pub fn object(members: &[(&str, &str)]) -> Vec<u8> {
    let mut out = vec![b'{'];
    for (name, text) in members {
        if out.len() > 1 {
            out.push(b',');
        }
        write_string(name, &mut out);
        out.push(b':');
        write_string(text, &mut out);
    }
    out.push(b'}');
    out
}

/// SHA-256 of the canonical bytes of a canonical envelope, 64 lowercase hex digits.
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
    /// The delivery envelope.
    Delivery,
    /// `sender` of a delivery envelope: without its signature.
    Sender,
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
            (Self::Delivery, "sender") => Self::Sender,
            (
                Self::Root
                | Self::Closed
                | Self::Trust
                | Self::Provenance
                | Self::Integrity
                | Self::List
                | Self::Delivery
                | Self::Sender
                | Self::Open,
                _,
            ) => Self::Open,
        }
    }

    /// What an element of this part is.
    const fn element(self) -> Self {
        match self {
            Self::List => Self::Closed,
            Self::Root
            | Self::Closed
            | Self::Trust
            | Self::Provenance
            | Self::Integrity
            | Self::Delivery
            | Self::Sender
            | Self::Open => Self::Open,
        }
    }

    /// Whether a member belongs to the canonical form.
    fn keeps(self, member: &Member<'_>) -> bool {
        let value = &member.value;
        match self {
            Self::Root | Self::List | Self::Delivery | Self::Open => true,
            Self::Sender => member.name != "signature",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::json::{Bounds, read};

    fn of(write: fn(&Node<'_>) -> Vec<u8>, text: &str) -> String {
        String::from_utf8(write(&read(text.as_bytes(), &Bounds::default()).unwrap())).unwrap()
    }

    #[test]
    fn names_are_sorted_by_utf16_code_units() {
        let mut names = [
            "\u{1F600}",
            "\u{FB33}",
            "\u{E000}",
            "\u{20AC}",
            "\u{D7FF}",
            "\u{80}",
            "a",
            "aa",
            "",
            "1",
        ];
        names.sort_by(|left, right| utf16_order(left).cmp(utf16_order(right)));
        let mut expected = names;
        expected.sort_by_key(|name| name.encode_utf16().collect::<Vec<_>>());
        assert_eq!(names, expected);
        let text = of(jcs, "{\"\u{FB33}\":1,\"\u{1F600}\":2,\"b\":{},\"a\":[]}");
        assert_eq!(text, "{\"a\":[],\"b\":{},\"\u{1F600}\":2,\"\u{FB33}\":1}");
    }

    #[test]
    fn only_what_must_be_escaped_is() {
        assert_eq!(
            of(
                jcs,
                r#"["\u0001\b\t\n\u000b\f\r\u001f\"\\\/\u007f\u00e9","",[true,null,false,-0,1.50,1e21]]"#
            ),
            "[\"\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f\\\"\\\\/\u{7f}\u{e9}\",\"\",[true,null,false,0,1.5,1e+21]]"
        );
    }

    #[test]
    fn the_canonical_envelope_drops_what_contract_7_says_and_nothing_else() {
        let cases = [
            (r#"{"source":{"id":"a","uri":null}}"#, r#"{"source":{"id":"a"}}"#),
            (
                r#"{"target":{"did":null},"conversation":{"traceparent":null}}"#,
                r#"{"conversation":{},"target":{}}"#,
            ),
            (
                r#"{"delivery":{"expected_output_schema":{"a":null},"expires_at":null}}"#,
                r#"{"delivery":{"expected_output_schema":{"a":null}}}"#,
            ),
            (
                r#"{"body":{"b":{"c":null},"a":null,"checksum":1}}"#,
                r#"{"body":{"b":{"c":null},"checksum":1}}"#,
            ),
            (
                r#"{"provenance":{"lineage":[{"note":null,"stage":"s"},null],"log_ref":null}}"#,
                r#"{"provenance":{"lineage":[{"stage":"s"},null]}}"#,
            ),
            (
                r#"{"extensions":[{"x":null,"critical":true}]}"#,
                r#"{"extensions":[{"critical":true}]}"#,
            ),
            (
                r#"{"integrity":{"version":1,"checksum":"sha256:00"}}"#,
                r#"{"integrity":{"version":1}}"#,
            ),
            (
                r#"{"trust":{"signature_ref":"data:application/jose,a..b"}}"#,
                r#"{"trust":{}}"#,
            ),
            (
                r#"{"trust":{"signature_ref":"https://example.org/s","checksum":1}}"#,
                r#"{"trust":{"checksum":1,"signature_ref":"https://example.org/s"}}"#,
            ),
            // Not the objects of contract §2.3: as they stand.
            (
                r#"{"profile":null,"source":[{"id":null}]}"#,
                r#"{"profile":null,"source":[{"id":null}]}"#,
            ),
            (
                r#"{"body":{"trust":{"signature_ref":"data:application/jose,x","a":null}}}"#,
                "",
            ),
            (r#"[null]"#, ""),
        ];
        for (envelope, expected) in cases {
            let expected = if expected.is_empty() {
                of(jcs, envelope)
            } else {
                expected.to_owned()
            };
            assert_eq!(of(canonical_bytes, envelope), expected);
        }
    }

    #[test]
    fn digests_are_lowercase_hex() {
        let expected = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256_hex(b""), expected);
        let root = read(b"{}", &Bounds::default()).unwrap();
        assert_eq!(digest(&root), sha256_hex(b"{}"));
    }
}
