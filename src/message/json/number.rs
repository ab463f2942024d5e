//! JSON numbers: the literal as written and the double it means, proven to be the same number.

use super::cursor::{Cursor, Fault};
use crate::contract::Rule;

/// The largest integer that every reader keeps: 2^53 − 1.
const LARGEST_INTEGER: u64 = (1 << 53) - 1;

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

/// Reads a number; the cursor stands on its first byte.
pub(super) fn read<'a>(cursor: &mut Cursor<'a>) -> Result<Number<'a>, Fault> {
    let start = cursor.at();
    grammar(cursor)?;
    let literal = cursor.since(start);
    let fault = |detail: &'static str| Fault::new(Rule::JsonNumber, start, detail);
    let value: f64 = literal.parse().map_err(|_| fault("expected a finite double"))?;
    let number = Number { literal, value };
    if !value.is_finite() {
        return Err(fault("expected a finite double"));
    }
    if number.is_written_as_integer() {
        let small = number
            .integer()
            .is_some_and(|integer| integer.unsigned_abs() <= LARGEST_INTEGER);
        return small
            .then_some(number)
            .ok_or_else(|| fault("expected an integer of at most 2^53 - 1 either way"));
    }
    let same = Decimal::of(literal) == Decimal::of(ryu_js::Buffer::new().format_finite(value));
    same.then_some(number)
        .ok_or_else(|| fault("expected a number that a double keeps exactly"))
}

/// RFC 8259 §6.
fn grammar(cursor: &mut Cursor<'_>) -> Result<(), Fault> {
    cursor.take(b'-');
    if !cursor.take(b'0') {
        digits(cursor)?;
    }
    if cursor.take(b'.') {
        digits(cursor)?;
    }
    if cursor.take(b'e') || cursor.take(b'E') {
        if !cursor.take(b'+') {
            cursor.take(b'-');
        }
        digits(cursor)?;
    }
    Ok(())
}

fn digits(cursor: &mut Cursor<'_>) -> Result<(), Fault> {
    if cursor.take_while(|byte| byte.is_ascii_digit()) == 0 {
        return Err(cursor.syntax("expected a digit"));
    }
    Ok(())
}

/// The exact value of a decimal text without its sign, in a form where equal numbers are equal.
#[derive(Debug)]
struct Decimal<'a> {
    /// From the first digit that is not zero to the last one, perhaps with a point in between; empty for zero.
    significant: &'a str,
    /// The power of ten of the first of them; 0 for zero.
    magnitude: i64,
}

impl<'a> Decimal<'a> {
    fn of(text: &'a str) -> Self {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let mantissa = mantissa.trim_start_matches('-');
        let Some(first) = mantissa.find(|digit| matches!(digit, '1'..='9')) else {
            return Self {
                significant: "",
                magnitude: 0,
            };
        };
        let point = mantissa.find('.').unwrap_or(mantissa.len());
        let whole = if first < point { 1 } else { 0 };
        let shift = offset(point).saturating_sub(offset(first)).saturating_sub(whole);
        Self {
            significant: mantissa.get(first..).unwrap_or_default().trim_end_matches(['0', '.']),
            magnitude: shift.saturating_add(power(exponent)),
        }
    }

    fn digits(&self) -> impl Iterator<Item = u8> {
        self.significant.bytes().filter(|byte| *byte != b'.')
    }
}

impl PartialEq for Decimal<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.magnitude == other.magnitude && self.digits().eq(other.digits())
    }
}

fn offset(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// An exponent. One that no `i64` holds made the double infinite or zero, which is decided elsewhere, so it saturates.
fn power(exponent: &str) -> i64 {
    let limit = if exponent.starts_with('-') { i64::MIN } else { i64::MAX };
    exponent.parse().unwrap_or(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(literal: &str) -> Option<Number<'_>> {
        read(&mut Cursor::new(literal)).ok()
    }

    #[test]
    fn a_literal_passes_only_if_the_number_signed_is_the_number_read() {
        let long_zero = format!("0.{}e5", "0".repeat(100_000));
        let shifted = format!("0.{}1e100001", "0".repeat(100_000));
        let same = [
            "0",
            "-0",
            "-0.0",
            "0e99999999999999999999",
            "0E-7",
            "1.0000000000000000000",
            "1.50",
            "150e-2",
            "0.1",
            "1e22",
            "1E+2",
            "123.456e-10",
            "5e-324",
            "1.7976931348623157e308",
            "9007199254740991",
            "-9007199254740991",
            "9007199254740992.0",
            "0.000001",
            "0.0000001",
            "1e-7",
            "100e-2",
            "10.0e1",
            &long_zero,
            &shifted,
        ];
        for literal in same {
            assert!(number(literal).is_some(), "{literal:.40}");
        }
        let other = [
            "0.30000000000000001",
            "333333333.33333329",
            "1e-400",
            "-1e-400",
            "1e400",
            "-1e400",
            "9007199254740992",
            "-9007199254740993",
            "9007199254740993.0",
            "123456789012345678901234567890",
            "2.5e-324",
            "5.1e-324",
            "1.00000000000000000001",
            "1e99999999999999999999",
            "1e-99999999999999999999",
        ];
        for literal in other {
            assert!(number(literal).is_none(), "{literal}");
        }
    }

    #[test]
    fn an_int_has_neither_fraction_nor_exponent() {
        for (literal, int) in [("1", Some(1)), ("-0", Some(0)), ("1.0", None), ("1e2", None)] {
            let number = number(literal).unwrap();
            assert_eq!(number.integer(), int, "{literal}");
            assert_eq!(number.is_written_as_integer(), int.is_some(), "{literal}");
        }
    }
}
