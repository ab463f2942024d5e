//! Plain scalars by the core schema of YAML 1.2: `no` and `on` are text, `0o17` is a number.

use super::tree::Kind;

/// What an unquoted scalar means.
pub(super) fn resolve(text: &str) -> Kind {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
        "true" | "True" | "TRUE" => Kind::Bool(true),
        "false" | "False" | "FALSE" => Kind::Bool(false),
        _ => number(text).unwrap_or_else(|| Kind::Text(text.to_owned())),
    }
}

fn number(text: &str) -> Option<Kind> {
    for (prefix, radix) in [("0o", 8), ("0x", 16)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            let digits =
                Some(digits).filter(|digits| digits.chars().all(|c| c.is_digit(radix)) && !digits.is_empty())?;
            return Some(i64::from_str_radix(digits, radix).map_or(Kind::Fraction, Kind::Integer));
        }
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(Kind::Fraction);
    }
    if !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(text.parse().map_or(Kind::Fraction, Kind::Integer));
    }
    is_float(unsigned).then_some(Kind::Fraction)
}

/// `[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?` or `\.[0-9]+(…)?`.
fn is_float(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (text, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let some = !whole.is_empty() || !part.is_empty();
    some && digits(whole) && digits(part) && exponent.is_none_or(|text| !text.is_empty() && digits(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_schema_decides() {
        let text = |text: &str| Kind::Text(text.to_owned());
        let table = [
            ("no", text("no")),
            ("on", text("on")),
            ("yes", text("yes")),
            ("True", Kind::Bool(true)),
            ("~", Kind::Null),
            ("", Kind::Null),
            ("12", Kind::Integer(12)),
            ("-3", Kind::Integer(-3)),
            ("0o17", Kind::Integer(15)),
            ("0x1F", Kind::Integer(31)),
            ("0x", text("0x")),
            ("017", Kind::Integer(17)),
            ("99999999999999999999", Kind::Fraction),
            ("1.5", Kind::Fraction),
            ("1e3", Kind::Fraction),
            ("1e", text("1e")),
            (".inf", Kind::Fraction),
            (".", text(".")),
            ("1:30", text("1:30")),
            ("5s", text("5s")),
            ("1_000", text("1_000")),
            ("2001-01-01", text("2001-01-01")),
            ("<<", text("<<")),
        ];
        for (input, expected) in table {
            assert_eq!(resolve(input), expected, "{input}");
        }
    }
}
