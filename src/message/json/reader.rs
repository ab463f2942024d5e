//! The strict JSON reader (contract §2.1): one pass, no recursion, bounds that act before memory is taken.

use super::cursor::{Cursor, Fault};
use super::frame::{self, Frame, Items};
use super::{Kind, Node, Span, number, strings};
use crate::contract::{Finding, Rule};

/// Deeper than this no policy can go: trees are written and dropped by recursion.
const DEEPEST: usize = 128;

/// Bounds of contract §2.1; every one can be set, none can be switched off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Levels of nesting; the root is 1. More than 128 is read as 128.
    pub depth: usize,
    /// Bytes of unescaped UTF-8 in one string or name.
    pub string: usize,
    /// Members in one object.
    pub members: usize,
    /// Elements in one array.
    pub elements: usize,
    /// Scalars, arrays and objects in all; names do not count.
    pub values: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            depth: 32,
            string: 64 * 1024,
            members: 256,
            elements: 4096,
            values: 20_000,
        }
    }
}

/// Reads one JSON document.
///
/// # Errors
/// The first fault in reading order ends the reading: one finding of a `json.*` rule, with pointer and byte offset. The
/// pointer names the value being read, or its nearest ancestor whose name may be printed (contract §5).
pub fn read<'a>(bytes: &'a [u8], bounds: &Bounds) -> Result<Node<'a>, Finding> {
    match str::from_utf8(bytes) {
        Ok(text) => document(text, bounds),
        Err(error) => Err(first_fault(bytes, error.valid_up_to(), bounds)),
    }
}

/// The finding for bytes that are UTF-8 only up to `end`: that, unless something before is wrong already.
fn first_fault(bytes: &[u8], end: usize, bounds: &Bounds) -> Finding {
    let text = bytes.get(..end).and_then(|bytes| str::from_utf8(bytes).ok());
    let read = document(text.unwrap_or_default(), bounds).err();
    if let Some(earlier) = read.as_ref().filter(|finding| finding.at < Some(end)) {
        return earlier.clone();
    }
    let place = read.and_then(|finding| finding.pointer).unwrap_or_default();
    Finding::at(Rule::JsonUtf8, place, end, "expected UTF-8")
}

fn document<'a>(text: &'a str, bounds: &Bounds) -> Result<Node<'a>, Finding> {
    let mut reader = Reader {
        cursor: Cursor::new(text),
        bounds,
        values: 0,
        stack: Vec::new(),
    };
    let read = if text.starts_with('\u{FEFF}') {
        Err(Fault::new(Rule::JsonUtf8, 0, "expected no byte order mark"))
    } else {
        reader.document()
    };
    read.map_err(|fault| Finding::at(fault.rule, frame::place(&reader.stack), fault.at, fault.detail))
}

struct Reader<'a, 'b> {
    cursor: Cursor<'a>,
    bounds: &'b Bounds,
    /// Values begun.
    values: usize,
    /// The containers that are open, outermost first.
    stack: Vec<Frame<'a>>,
}

impl<'a> Reader<'a, '_> {
    fn document(&mut self) -> Result<Node<'a>, Fault> {
        self.cursor.blanks();
        'value: loop {
            let Some(mut node) = self.begin()? else {
                continue 'value;
            };
            while let Some(frame) = self.stack.last_mut() {
                frame.items.put(node);
                self.cursor.blanks();
                if self.cursor.take(b',') {
                    self.cursor.blanks();
                    self.item()?;
                    continue 'value;
                }
                node = self
                    .close()?
                    .ok_or_else(|| self.cursor.syntax("expected a comma or the end of the container"))?;
            }
            self.cursor.blanks();
            return match self.cursor.peek() {
                None => Ok(node),
                Some(_) => Err(self.cursor.syntax("expected one value and nothing after it")),
            };
        }
    }

    /// Begins a value. A scalar or an empty container is whole at once; any other container stays open, and the cursor
    /// stands on its first inner value.
    fn begin(&mut self) -> Result<Option<Node<'a>>, Fault> {
        let start = self.cursor.at();
        let kind = match self.cursor.peek() {
            Some(b'{') => return self.open(Items::object()),
            Some(b'[') => return self.open(Items::array()),
            Some(b'"') => {
                self.admit()?;
                Kind::String(strings::read(&mut self.cursor, self.bounds.string)?)
            }
            Some(b'-' | b'0'..=b'9') => {
                self.admit()?;
                Kind::Number(number::read(&mut self.cursor)?)
            }
            Some(b't') => self.word("true", Kind::Bool(true))?,
            Some(b'f') => self.word("false", Kind::Bool(false))?,
            Some(b'n') => self.word("null", Kind::Null)?,
            Some(_) | None => return Err(self.cursor.syntax("expected a value")),
        };
        Ok(Some(self.node(start, kind)))
    }

    fn word(&mut self, word: &str, kind: Kind<'a>) -> Result<Kind<'a>, Fault> {
        self.admit()?;
        self.cursor.word(word).map(|()| kind)
    }

    fn open(&mut self, items: Items<'a>) -> Result<Option<Node<'a>>, Fault> {
        self.admit()?;
        let depth = self.bounds.depth.min(DEEPEST);
        if self.stack.len() >= depth {
            return Err(self.too_many(format!("expected at most {depth} levels of nesting")));
        }
        self.stack.push(Frame {
            start: self.cursor.at(),
            items,
        });
        self.cursor.advance(1);
        self.cursor.blanks();
        if let Some(empty) = self.close()? {
            return Ok(Some(empty));
        }
        self.item()?;
        Ok(None)
    }

    /// Closes the innermost container if its closing bracket is next.
    fn close(&mut self) -> Result<Option<Node<'a>>, Fault> {
        let closing = self.stack.last().map(|frame| frame.items.closing());
        if closing.is_some_and(|closing| !self.cursor.take(closing)) {
            return Ok(None);
        }
        let Some(frame) = self.stack.pop() else {
            return Err(self.cursor.syntax("expected no closing bracket"));
        };
        Ok(Some(self.node(frame.start, frame.items.into_kind())))
    }

    /// Begins an item of the innermost container: up to the first byte of its value.
    fn item(&mut self) -> Result<(), Fault> {
        let at = self.cursor.at();
        match self.stack.last_mut().map(|frame| &mut frame.items) {
            Some(Items::Object { members, .. }) => {
                if self.cursor.peek() != Some(b'"') {
                    return Err(self.cursor.syntax("expected a name in quotes"));
                }
                if members.len() >= self.bounds.members {
                    let detail = format!("expected at most {} members in one object", self.bounds.members);
                    return Err(self.too_many(detail));
                }
            }
            Some(Items::Array { inside, .. }) => {
                *inside = true;
                return Ok(());
            }
            None => return Ok(()),
        }
        let name = strings::read(&mut self.cursor, self.bounds.string)?;
        if let Some(Items::Object {
            members,
            names,
            current,
        }) = self.stack.last_mut().map(|frame| &mut frame.items)
        {
            let new = names.is_new(members, &name);
            *current = Some((name, at));
            if !new {
                return Err(Fault::new(
                    Rule::JsonDuplicateKey,
                    at,
                    "expected each name once, compared as Unicode NFC",
                ));
            }
        }
        self.cursor.blanks();
        if !self.cursor.take(b':') {
            return Err(self.cursor.syntax("expected a colon"));
        }
        self.cursor.blanks();
        Ok(())
    }

    /// Counts a value that begins here, before anything of it is kept.
    fn admit(&mut self) -> Result<(), Fault> {
        if self.values >= self.bounds.values {
            return Err(self.too_many(format!("expected at most {} values in all", self.bounds.values)));
        }
        self.values = self.values.saturating_add(1);
        match self.stack.last().map(|frame| &frame.items) {
            Some(Items::Array { elements, .. }) if elements.len() >= self.bounds.elements => {
                let detail = format!("expected at most {} elements in one array", self.bounds.elements);
                Err(self.too_many(detail))
            }
            Some(Items::Array { .. } | Items::Object { .. }) | None => Ok(()),
        }
    }

    fn node(&self, start: usize, kind: Kind<'a>) -> Node<'a> {
        let end = self.cursor.at();
        Node {
            span: Span { start, end },
            kind,
        }
    }

    fn too_many(&self, detail: String) -> Fault {
        Fault::new(Rule::JsonBounds, self.cursor.at(), detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(bytes: &[u8]) -> (Rule, usize, String) {
        found(read(bytes, &Bounds::default()).unwrap_err())
    }

    fn found(finding: Finding) -> (Rule, usize, String) {
        (
            finding.rule,
            finding.at.unwrap(),
            finding.pointer.unwrap().as_str().to_owned(),
        )
    }

    #[test]
    fn every_row_of_the_table_is_refused_with_its_rule_place_and_pointer() {
        let cases: &[(&[u8], Rule, usize, &str)] = &[
            (b"", Rule::JsonSyntax, 0, ""),
            (b"  ", Rule::JsonSyntax, 2, ""),
            (b"{\"a\":1}x", Rule::JsonSyntax, 7, ""),
            (b"1 2", Rule::JsonSyntax, 2, ""),
            (b"]", Rule::JsonSyntax, 0, ""),
            (b"[1}", Rule::JsonSyntax, 2, ""),
            (b"[1,]", Rule::JsonSyntax, 3, "/1"),
            (b"[1 2]", Rule::JsonSyntax, 3, ""),
            (b"{\"a\":[0,1,tru]}", Rule::JsonSyntax, 13, "/a/2"),
            (b"{\"a\" 1}", Rule::JsonSyntax, 5, "/a"),
            (b"{\"a\":1,}", Rule::JsonSyntax, 7, ""),
            (b"{a:1}", Rule::JsonSyntax, 1, ""),
            (b"{\"a\":}", Rule::JsonSyntax, 5, "/a"),
            (b"{\"a\":\"b", Rule::JsonSyntax, 7, "/a"),
            (b"\"\t\"", Rule::JsonSyntax, 1, ""),
            (b"\"\\x\"", Rule::JsonSyntax, 2, ""),
            (b"\"\\u12G4\"", Rule::JsonSyntax, 5, ""),
            (b"[1,\xEF\xBB\xBF2]", Rule::JsonSyntax, 3, "/1"),
            (b"[\x00]", Rule::JsonSyntax, 1, "/0"),
            (b"01", Rule::JsonSyntax, 1, ""),
            (b"-", Rule::JsonSyntax, 1, ""),
            (b"+1", Rule::JsonSyntax, 0, ""),
            (b"1.", Rule::JsonSyntax, 2, ""),
            (b".5", Rule::JsonSyntax, 0, ""),
            (b"1e", Rule::JsonSyntax, 2, ""),
            (b"NaN", Rule::JsonSyntax, 0, ""),
            (b"\xEF\xBB\xBF{}", Rule::JsonUtf8, 0, ""),
            (b"\xFF\xFE[\x00", Rule::JsonUtf8, 0, ""),
            (b"{\"a\":\"\xC3\x28\"}", Rule::JsonUtf8, 6, "/a"),
            (b"[\"\xED\xA0\x80\"]", Rule::JsonUtf8, 2, "/0"),
            (b"{}\xFF", Rule::JsonUtf8, 2, ""),
            (
                b"{\"a\":1,\"b\":{\"a\":2,\"\\u0061\":3}}",
                Rule::JsonDuplicateKey,
                18,
                "/b/a",
            ),
            (
                "{\"\u{e9}\":1,\"e\u{301}\":2}".as_bytes(),
                Rule::JsonDuplicateKey,
                8,
                "",
            ),
            ("{\"K\":1,\"\u{212A}\":2}".as_bytes(), Rule::JsonDuplicateKey, 7, ""),
            (b"{\"k\":\"\\ud800\"}", Rule::JsonCodepoint, 6, "/k"),
            (b"\"\\ud800\\n\"", Rule::JsonCodepoint, 1, ""),
            (b"\"a\\udc00\\ud800\"", Rule::JsonCodepoint, 2, ""),
            (b"\"\\ud800\\u0041\"", Rule::JsonCodepoint, 1, ""),
            (b"{\"\\u0000\":1}", Rule::JsonCodepoint, 2, ""),
            (b"\"\\ufffe\"", Rule::JsonCodepoint, 1, ""),
            (b"\"\\ud83f\\udfff\"", Rule::JsonCodepoint, 1, ""),
            ("\"\u{FDD0}\"".as_bytes(), Rule::JsonCodepoint, 1, ""),
            ("\"\u{10FFFF}\"".as_bytes(), Rule::JsonCodepoint, 1, ""),
            (b"[9007199254740992]", Rule::JsonNumber, 1, "/0"),
            (b"1e400", Rule::JsonNumber, 0, ""),
            (b"1e-400", Rule::JsonNumber, 0, ""),
            (b"0.30000000000000001", Rule::JsonNumber, 0, ""),
        ];
        for (bytes, rule, at, pointer) in cases {
            let name = String::from_utf8_lossy(bytes);
            assert_eq!(fault(bytes), (*rule, *at, (*pointer).to_owned()), "{name}");
        }
    }

    #[test]
    fn the_first_fault_in_reading_order_decides() {
        assert_eq!(fault(b"{\"a\":1,\"a\":\"\xFF\"}").0, Rule::JsonDuplicateKey);
        assert_eq!(fault(b"[1e400,\xFF").0, Rule::JsonNumber);
        assert_eq!(fault(b"[\xFF,1e400]").0, Rule::JsonUtf8);
        assert_eq!(fault(b"[tru\xFF]").0, Rule::JsonUtf8);
        assert_eq!(fault(b"[1,,\xFF]").0, Rule::JsonSyntax);
        assert_eq!(fault(b"\xEF\xBB\xBF\xFF"), (Rule::JsonUtf8, 0, String::new()));
    }

    #[test]
    fn a_pointer_stops_before_a_name_that_may_not_be_printed() {
        let pointer = |name: &str| fault(format!("{{\"a\":{{\"{name}\":[0,x]}}}}").as_bytes()).2;
        assert_eq!(pointer("access_token"), "/a/access_token/1");
        assert_eq!(pointer("ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), "/a");
        assert_eq!(pointer("two words"), "/a");
    }

    #[test]
    fn every_bound_lets_n_through_and_refuses_one_more() {
        let list = |count: usize| format!("[{}]", vec!["0"; count].join(","));
        let object = |count: usize| {
            let members: Vec<String> = (0..count).map(|index| format!("\"n{index}\":0")).collect();
            format!("{{{}}}", members.join(","))
        };
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let string = |length: usize| format!("\"{}\"", "x".repeat(length));
        let escaped = |length: usize| format!("\"{}\"", "\\u00e9".repeat(length));
        let bounds = Bounds {
            depth: 3,
            string: 10,
            members: 40,
            elements: 50,
            values: 60,
        };
        let cases = [
            ("depth", nested(3), nested(4)),
            ("string", string(10), string(11)),
            ("unescaped bytes", escaped(5), escaped(6)),
            (
                "wide text",
                "\"\u{1F600}\u{1F600}\"".into(),
                "\"\u{1F600}\u{1F600}\u{1F600}\"".into(),
            ),
            ("name", format!("{{{}:0}}", string(10)), format!("{{{}:0}}", string(11))),
            ("members", object(40), object(41)),
            ("elements", list(50), list(51)),
            (
                "values",
                format!("[{},{}]", list(50), list(7)),
                format!("[{},{}]", list(50), list(8)),
            ),
        ];
        for (name, inside, beyond) in cases {
            assert!(read(inside.as_bytes(), &bounds).is_ok(), "{name}");
            let finding = read(beyond.as_bytes(), &bounds).unwrap_err();
            assert_eq!(finding.rule, Rule::JsonBounds, "{name}");
        }
    }

    #[test]
    fn deep_nesting_costs_no_stack() {
        let bounds = Bounds {
            depth: usize::MAX,
            ..Bounds::default()
        };
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let small_stack = std::thread::Builder::new().stack_size(128 * 1024);
        small_stack
            .spawn(move || {
                drop(read(nested(DEEPEST).as_bytes(), &bounds).unwrap());
                for hostile in [nested(20_000), "[".repeat(20_000), "{\"a\":".repeat(20_000)] {
                    assert_eq!(read(hostile.as_bytes(), &bounds).unwrap_err().rule, Rule::JsonBounds);
                }
            })
            .unwrap()
            .join()
            .unwrap();
    }

    #[test]
    fn spans_and_places_point_into_the_bytes() {
        let text = " { \"a\" : [ 1.5 , \"x\\n\" ] } ";
        let root = read(text.as_bytes(), &Bounds::default()).unwrap();
        let member = root.member("a").unwrap();
        let cut = |span: Span| text.get(span.start..span.end).unwrap();
        assert_eq!(member.at, 3);
        assert_eq!(cut(root.span), "{ \"a\" : [ 1.5 , \"x\\n\" ] }");
        assert_eq!(cut(member.value.span), "[ 1.5 , \"x\\n\" ]");
        assert_eq!(cut(member.value.elements().unwrap()[1].span), "\"x\\n\"");
    }
}
