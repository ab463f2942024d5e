//! YAML as a tree in which every key and value knows its line and column.
//!
//! Built from the parser's events, so that what a loader would silently accept is a mistake here: duplicate keys,
//! anchors and aliases, tags, several documents, keys that are not text. A mistake does not end the reading unless the
//! text is no YAML at all; what it touched becomes [`Kind::Broken`], and later checks leave that alone.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput, Tag};
use serde_json::{Map, Value};

use super::mistake::Mistake;
use super::scalar;

/// A policy is far smaller; beyond this it is refused unread.
pub(super) const MAX_BYTES: usize = 1024 * 1024;

/// Levels of nesting; a policy needs five.
const MAX_DEPTH: usize = 16;

/// Keys and values in all; a policy with a hundred routes needs three thousand.
const MAX_VALUES: usize = 20_000;

/// Where something begins: 1-based line and column, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub line: usize,
    pub column: usize,
}

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub at: Place,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Integer(i64),
    /// A number that is no 64-bit integer; no key of a policy takes one.
    Fraction,
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
    /// Already reported; nothing more is said of it.
    Broken,
}

/// One key of a mapping with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub key: String,
    pub key_at: Place,
    pub value: Node,
}

/// Reads one document. The tree is absent when the text is no YAML, is empty or is beyond a bound.
pub(super) fn parse(text: &str) -> (Option<Node>, Vec<Mistake>) {
    let mut reader = Reader {
        events: Parser::new_from_str(text),
        values: 0,
        mistakes: Vec::new(),
    };
    let root = reader.document().ok();
    // A key is known to be a second one only after its value, in which others may be.
    reader.mistakes.sort_by_key(|mistake| (mistake.line, mistake.column));
    (root, reader.mistakes)
}

impl Node {
    /// The value at an RFC 6901 pointer.
    pub fn find(&self, pointer: &str) -> Option<&Self> {
        steps(pointer).try_fold(self, |node, step| node.child(&step))
    }

    /// Where a value stands; for one that is absent, its nearest ancestor's key.
    pub fn place(&self, pointer: &str) -> Place {
        let (mut node, mut at) = (self, self.at);
        for step in steps(pointer) {
            match node.child(&step) {
                Some(child) => (node, at) = (child, child.at),
                None => break,
            }
        }
        at
    }

    /// Where the key of a member stands; for an absent member, or an element of a list, as [`Node::place`].
    pub fn key_place(&self, pointer: &str) -> Place {
        let (parent, last) = pointer.rsplit_once('/').unwrap_or(("", ""));
        let Some(Kind::Map(entries)) = self.find(parent).map(|node| &node.kind) else {
            return self.place(pointer);
        };
        let name = unescape(last);
        match entries.iter().find(|entry| entry.key == name) {
            Some(entry) => entry.key_at,
            None => self.place(pointer),
        }
    }

    /// The text of a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            Kind::Null
            | Kind::Bool(_)
            | Kind::Integer(_)
            | Kind::Fraction
            | Kind::List(_)
            | Kind::Map(_)
            | Kind::Broken => None,
        }
    }

    /// The same value as JSON, with the pointers of what is broken added to `broken`.
    pub fn to_json(&self, pointer: &str, broken: &mut Vec<String>) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Integer(value) => Value::from(*value),
            Kind::Fraction => Value::from(1.5),
            Kind::Text(text) => Value::String(text.clone()),
            Kind::List(items) => items
                .iter()
                .enumerate()
                .map(|(index, item)| item.to_json(&format!("{pointer}/{index}"), broken))
                .collect(),
            Kind::Map(entries) => {
                let mut map = Map::new();
                for entry in entries {
                    let below = format!("{pointer}/{}", escape(&entry.key));
                    map.insert(entry.key.clone(), entry.value.to_json(&below, broken));
                }
                Value::Object(map)
            }
            Kind::Broken => {
                broken.push(pointer.to_owned());
                Value::Null
            }
        }
    }

    fn child(&self, step: &str) -> Option<&Self> {
        match &self.kind {
            Kind::Map(entries) => entries.iter().find(|entry| entry.key == step).map(|entry| &entry.value),
            Kind::List(items) => items.get(step.parse::<usize>().ok()?),
            Kind::Null | Kind::Bool(_) | Kind::Integer(_) | Kind::Fraction | Kind::Text(_) | Kind::Broken => None,
        }
    }
}

/// A name as one step of a pointer.
pub(super) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

fn steps(pointer: &str) -> impl Iterator<Item = String> + '_ {
    pointer.split('/').skip(1).map(unescape)
}

struct Reader<'a> {
    events: Parser<'a, StrInput<'a>>,
    values: usize,
    mistakes: Vec<Mistake>,
}

/// The reading ended; the mistake is in the list.
struct Ended;

impl<'a> Reader<'a> {
    fn document(&mut self) -> Result<Node, Ended> {
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::StreamEnd | Event::DocumentEnd) {
                self.mistake(span.start, "expected a policy; the file is empty");
                return Err(Ended);
            }
            if !matches!(event, Event::StreamStart | Event::DocumentStart(_) | Event::Nothing) {
                let root = self.value(event, span, 1)?;
                self.end()?;
                return Ok(root);
            }
        }
    }

    fn end(&mut self) -> Result<(), Ended> {
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::DocumentStart(_)) {
                self.mistake(span.start, "expected one document; a second one begins here");
            }
            if matches!(event, Event::DocumentStart(_) | Event::StreamEnd) {
                return Ok(());
            }
        }
    }

    fn value(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, Ended> {
        if depth > MAX_DEPTH {
            self.mistake(span.start, &format!("expected at most {MAX_DEPTH} levels of nesting"));
            return Err(Ended);
        }
        self.values = self.values.saturating_add(1);
        if self.values > MAX_VALUES {
            self.mistake(span.start, &format!("expected at most {MAX_VALUES} keys and values"));
            return Err(Ended);
        }
        let at = place(span.start);
        let kind = match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.bare(anchor, tag.as_deref(), span.start);
                match style {
                    ScalarStyle::Plain => scalar::resolve(&text),
                    ScalarStyle::SingleQuoted
                    | ScalarStyle::DoubleQuoted
                    | ScalarStyle::Literal
                    | ScalarStyle::Folded => Kind::Text(text.into_owned()),
                }
            }
            Event::SequenceStart(anchor, tag) => {
                self.bare(anchor, tag.as_deref(), span.start);
                self.list(depth)?
            }
            Event::MappingStart(anchor, tag) => {
                self.bare(anchor, tag.as_deref(), span.start);
                self.map(depth)?
            }
            Event::Alias(_) => {
                self.mistake(span.start, "expected the value itself; aliases are not taken");
                Kind::Broken
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => {
                self.mistake(span.start, "expected a value");
                return Err(Ended);
            }
        };
        Ok(Node { at, kind })
    }

    fn list(&mut self, depth: usize) -> Result<Kind, Ended> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok(Kind::List(items));
            }
            items.push(self.value(event, span, depth.saturating_add(1))?);
        }
    }

    fn map(&mut self, depth: usize) -> Result<Kind, Ended> {
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(Kind::Map(entries));
            }
            let key = self.value(event, span, depth.saturating_add(1))?;
            let (event, span) = self.next()?;
            let value = self.value(event, span, depth.saturating_add(1))?;
            match key.kind {
                Kind::Text(name) if entries.iter().any(|entry| entry.key == name) => {
                    self.mistake_at(key.at, &format!("key `{}` stands here a second time", shown(&name)));
                }
                Kind::Text(name) => entries.push(Entry {
                    key: name,
                    key_at: key.at,
                    value,
                }),
                Kind::Broken => {}
                Kind::Null | Kind::Bool(_) | Kind::Integer(_) | Kind::Fraction | Kind::List(_) | Kind::Map(_) => {
                    self.mistake_at(key.at, "expected a key that is text")
                }
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), Ended> {
        match self.events.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => {
                // The parser's own words describe syntax only, and name no value.
                let at = *error.marker();
                self.mistake(at, &format!("this is not YAML: {}", error.info()));
                Err(Ended)
            }
            None => Err(Ended),
        }
    }

    /// Anchors and tags are mistakes; the value below them is read all the same.
    fn bare(&mut self, anchor: usize, tag: Option<&Tag>, at: Marker) {
        if anchor != 0 {
            self.mistake(at, "expected a plain value; anchors are not taken");
        }
        if tag.is_some() {
            self.mistake(at, "expected a plain value; tags are not taken");
        }
    }

    fn mistake(&mut self, at: Marker, message: &str) {
        self.mistake_at(place(at), message);
    }

    fn mistake_at(&mut self, at: Place, message: &str) {
        self.mistakes.push(Mistake {
            line: at.line,
            column: at.column,
            pointer: String::new(),
            message: message.to_owned(),
            suggestion: None,
        });
    }
}

/// A key as a message shows it: on one line, and not endless.
pub(super) fn shown(key: &str) -> String {
    key.chars().take(64).flat_map(char::escape_debug).collect()
}

fn place(marker: Marker) -> Place {
    Place {
        line: marker.line().max(1),
        column: marker.col().saturating_add(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistakes(text: &str) -> Vec<(usize, usize, String)> {
        parse(text)
            .1
            .into_iter()
            .map(|m| (m.line, m.column, m.message))
            .collect()
    }

    #[test]
    fn every_value_knows_its_place() {
        let (tree, found) = parse("a: 1\nb:\n  - x: [true, no]\n  - \"q\"\n");
        let tree = tree.unwrap();
        assert!(found.is_empty(), "{found:?}");
        for (pointer, line, column) in [("/a", 1, 4), ("/b/0", 3, 5), ("/b/0/x/1", 3, 15), ("/b/1", 4, 5)] {
            assert_eq!(tree.place(pointer), Place { line, column }, "{pointer}");
        }
        assert_eq!(tree.key_place("/b/0/x"), Place { line: 3, column: 5 });
        assert_eq!(tree.find("/b/0/x/1").unwrap().text(), Some("no"));
        assert_eq!(tree.place("/b/0/missing"), Place { line: 3, column: 5 });
    }

    #[test]
    fn what_a_loader_would_swallow_is_a_mistake() {
        let table = [
            ("a: 1\na: 2\n", (2, 1), "second time"),
            ("a: &x 1\nb: *x\n", (1, 4), "anchors"),
            ("a: !t 1\n", (1, 4), "tags"),
            ("a: 1\n---\nb: 2\n", (2, 1), "one document"),
            ("1: a\n", (1, 1), "a key that is text"),
            ("? [a]\n: b\n", (1, 3), "a key that is text"),
            ("a: [1\n", (2, 1), "not YAML"),
            ("# nothing\n", (2, 1), "empty"),
            ("", (1, 1), "empty"),
        ];
        for (text, (line, column), words) in table {
            let found = mistakes(text);
            let first = found.first().unwrap_or_else(|| panic!("{text}"));
            assert!(first.2.contains(words), "{text}: {first:?}");
            assert_eq!((first.0, first.1), (line, column), "{text}: {first:?}");
        }
    }

    #[test]
    fn mistakes_stand_in_file_order() {
        let lines: Vec<usize> = mistakes("a: 1\na:\n  - &x 2\n  - [\n")
            .iter()
            .map(|one| one.0)
            .collect();
        assert_eq!(lines, [3, 5]);
        let lines: Vec<usize> = mistakes("a: 1\na:\n  - &x 2\nb: [\n").iter().map(|one| one.0).collect();
        assert_eq!(lines, [2, 3, 5]);
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = format!("a: {}{}", "[".repeat(40), "]".repeat(40));
        let (tree, found) = parse(&deep);
        assert!(tree.is_none());
        assert!(found[0].message.contains("16 levels"), "{found:?}");
    }
}
