//! Values with a form of their own: sizes, durations, ids, names. The schema knows the form; the number is read here.

use std::time;

use schemars::JsonSchema;
use serde::Deserialize;

/// a size in bytes such as `65536`, `256KiB` or `1MiB`, at most 1 GiB
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(in crate::config) enum Size {
    Bytes(#[schemars(range(min = 1, max = 1_073_741_824))] u64),
    Text(#[schemars(regex(pattern = r"^[1-9][0-9]{0,9}(B|KiB|MiB|GiB)$"))] String),
}

impl Size {
    /// The number of bytes; `None` beyond 1 GiB.
    pub fn bytes(&self) -> Option<usize> {
        let bytes = match self {
            Self::Bytes(bytes) => *bytes,
            Self::Text(text) => {
                let (digits, unit) = split(text);
                let factor: u64 = match unit {
                    "B" => 1,
                    "KiB" => 1 << 10,
                    "MiB" => 1 << 20,
                    "GiB" => 1 << 30,
                    _ => return None,
                };
                digits.parse::<u64>().ok()?.checked_mul(factor)?
            }
        };
        usize::try_from(bytes)
            .ok()
            .filter(|bytes| (1..=1 << 30).contains(bytes))
    }
}

/// a duration such as `250ms`, `5s`, `2m` or `1h`, longer than nothing
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(in crate::config) struct Duration(#[schemars(regex(pattern = r"^[1-9][0-9]{0,8}(ms|s|m|h)$"))] String);

impl Duration {
    /// The duration; `None` beyond `longest`.
    pub fn at_most(&self, longest: time::Duration) -> Option<time::Duration> {
        let (digits, unit) = split(&self.0);
        let number: u64 = digits.parse().ok()?;
        let duration = match unit {
            "ms" => time::Duration::from_millis(number),
            "s" => time::Duration::from_secs(number),
            "m" => time::Duration::from_secs(number.checked_mul(60)?),
            "h" => time::Duration::from_secs(number.checked_mul(3600)?),
            _ => return None,
        };
        Some(duration).filter(|duration| !duration.is_zero() && *duration <= longest)
    }
}

/// an id of 1 to 128 characters of `A-Z a-z 0-9 . _ : / @ -`, the first a letter or digit
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub(in crate::config) struct Id(#[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$"))] pub String);

/// a name of 1 to 64 characters of `a-z 0-9 -`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub(in crate::config) struct Name(#[schemars(regex(pattern = r"^[a-z0-9-]{1,64}$"))] pub String);

/// a header name of letters, digits and the marks of RFC 9110, without `_`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub(in crate::config) struct HeaderName(#[schemars(regex(pattern = r"^[A-Za-z0-9!#$%&'*+.^`|~-]{1,128}$"))] pub String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub(in crate::config) enum Method {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    /// The method as it stands in a request.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// Digits and the unit behind them.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        let table = [
            ("256KiB", Some(256 * 1024)),
            ("1GiB", Some(1 << 30)),
            ("2GiB", None),
            ("7B", Some(7)),
            ("9999999999GiB", None),
            ("7", None),
            ("0B", None),
        ];
        for (text, expected) in table {
            assert_eq!(Size::Text(text.to_owned()).bytes(), expected, "{text}");
        }
        assert_eq!(Size::Bytes(0).bytes(), None);
        assert_eq!(Size::Bytes(9).bytes(), Some(9));
    }

    #[test]
    fn durations_are_read() {
        let day = time::Duration::from_secs(86_400);
        let table = [
            ("250ms", Some(time::Duration::from_millis(250))),
            ("24h", Some(day)),
            ("25h", None),
            ("0s", None),
            ("5", None),
            ("999999999h", None),
        ];
        for (text, expected) in table {
            assert_eq!(Duration(text.to_owned()).at_most(day), expected, "{text}");
        }
    }
}
