//! JSON numbers: the literal as written and the double it means, proven to be the same number.

/// A number whose exact decimal value is that of its RFC 8785 text (contract §2.1, `json.number`).
#[derive(Clone, Copy, Debug)]
pub struct Number<'a> {
    /// The literal as written.
    pub literal: &'a str,
    /// The double; always finite.
    pub value: f64,
}

impl Number<'_> {
    /// Whether the literal has neither fraction nor exponent: what the contract calls an int.
    pub fn is_written_as_integer(&self) -> bool {
        !self.literal.contains(['.', 'e', 'E'])
    }

    /// The value as an integer, when it is written as one. Bounded to ±(2^53−1) by the reader.
    pub fn integer(&self) -> Option<i64> {
        self.literal.parse().ok()
    }
}
