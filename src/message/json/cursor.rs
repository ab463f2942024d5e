//! A place in the text being read, and what can be wrong there.

use std::borrow::Cow;

use crate::contract::Rule;

/// One thing that is wrong with the text; the reader adds the pointer.
#[derive(Debug)]
pub(super) struct Fault {
    /// A rule of contract §2.1.
    pub rule: Rule,
    /// Byte offset: of the offending byte for syntax, else of the token, escape or name that breaks the rule.
    pub at: usize,
    /// What was expected.
    pub detail: Cow<'static, str>,
}

impl Fault {
    pub fn new(rule: Rule, at: usize, detail: impl Into<Cow<'static, str>>) -> Self {
        Self {
            rule,
            at,
            detail: detail.into(),
        }
    }
}

/// The text and the offset of the next byte.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Offset of the next byte.
    pub const fn at(&self) -> usize {
        self.at
    }

    /// The next byte, not taken.
    pub fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next character, not taken.
    pub fn peek_char(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Moves on by a number of bytes that were looked at.
    pub const fn advance(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }

    /// Takes the next byte if it is this one.
    pub fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.advance(1);
        }
        found
    }

    /// Takes the bytes that a test accepts and tells how many there were.
    pub fn take_while(&mut self, test: impl Fn(u8) -> bool) -> usize {
        let bytes = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let count = bytes.iter().position(|byte| !test(*byte)).unwrap_or(bytes.len());
        self.advance(count);
        count
    }

    /// Takes the blanks of RFC 8259 §2.
    pub fn blanks(&mut self) {
        self.take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    }

    /// Takes this very word.
    pub fn word(&mut self, word: &str) -> Result<(), Fault> {
        for byte in word.bytes() {
            if !self.take(byte) {
                return Err(self.syntax("expected `true`, `false` or `null`"));
            }
        }
        Ok(())
    }

    /// The text from an offset to the next byte.
    pub fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// A syntax fault at the next byte.
    pub fn syntax(&self, detail: &'static str) -> Fault {
        Fault::new(Rule::JsonSyntax, self.at, detail)
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }
}
