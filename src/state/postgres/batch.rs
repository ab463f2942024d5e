//! Commits as the function in the database takes them, and its answers.

use std::fmt::Write;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::state::store::{COUNT_STEP, Committed, Expect, FOREVER, Key, Millis, Txn};

/// Commits as one JSON array.
pub(super) fn written(txns: &[Txn]) -> String {
    Value::Array(txns.iter().map(one).collect()).to_string()
}

fn one(txn: &Txn) -> Value {
    let key = |key: &Key| (key.space.number(), hex(&key.id));
    let expect: Vec<_> = txn
        .expect
        .iter()
        .map(|expect| match expect {
            Expect::Absent(of) => json!([key(of).0, key(of).1, null]),
            Expect::Equals(of, value) => json!([key(of).0, key(of).1, hex(value)]),
        })
        .collect();
    let count: Vec<_> = txn
        .count
        .iter()
        .map(|count| {
            let end = count.until.checked_next_multiple_of(COUNT_STEP).unwrap_or(FOREVER);
            json!([hex(&count.key.id), count.add, signed(end), signed(count.max)])
        })
        .collect();
    let put: Vec<_> = txn
        .put
        .iter()
        .map(|entry| {
            json!([
                key(&entry.key).0,
                key(&entry.key).1,
                hex(&entry.value),
                signed(entry.until)
            ])
        })
        .collect();
    let delete: Vec<_> = txn.delete.iter().map(|of| json!([key(of).0, key(of).1])).collect();
    json!({"n": moment(txn.now), "e": expect, "c": count, "p": put, "d": delete})
}

/// What the function said of each commit; `None` when it makes no sense.
pub(super) fn read(said: &str) -> Option<Vec<Committed>> {
    let said: Vec<Vec<Value>> = serde_json::from_str(said).ok()?;
    said.iter().map(|said| answer(said)).collect()
}

fn answer(said: &[Value]) -> Option<Committed> {
    let place = |value: &Value| usize::try_from(value.as_u64()?).ok();
    let code = said.first()?.as_u64()?;
    match (code, said) {
        (0, [_]) => Some(Committed::Done),
        (1, [_, index, current]) => Some(Committed::Conflict {
            index: place(index)?,
            current: match current {
                Value::Null => None,
                Value::String(text) => Some(unhex(text)?),
                Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => return None,
            },
        }),
        (2, [_, index]) => Some(Committed::Full { index: place(index)? }),
        _ => None,
    }
}

/// A time or a bound as the database keeps it; what is beyond its numbers is for ever.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Now, as the database compares it: before the end of what is for ever.
pub(super) fn moment(now: Millis) -> i64 {
    signed(now).min(i64::MAX.saturating_sub(1))
}

/// A time as it was before [`signed`].
pub(super) fn until(stored: i64) -> Millis {
    match stored {
        i64::MAX => FOREVER,
        stored => u64::try_from(stored).unwrap_or(0),
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().saturating_mul(2));
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn unhex(text: &str) -> Option<Bytes> {
    let mut bytes = Vec::with_capacity(text.len().checked_div(2)?);
    for pair in text.as_bytes().chunks(2) {
        bytes.push(u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?);
    }
    Some(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_and_strange_ones_are_not() {
        assert_eq!(
            read(r#"[[0], [1, 2, "0aff"], [1, 0, null], [2, 1]]"#).unwrap(),
            [
                Committed::Done,
                Committed::Conflict {
                    index: 2,
                    current: Some(Bytes::from_static(&[0x0a, 0xff]))
                },
                Committed::Conflict {
                    index: 0,
                    current: None
                },
                Committed::Full { index: 1 },
            ]
        );
        for strange in [
            "",
            "[]x",
            "[[]]",
            "[[3]]",
            "[[1]]",
            "[[1, -1, null]]",
            r#"[[1, 0, "0z"]]"#,
            "[[1, 0, 5]]",
            "[0]",
        ] {
            assert_eq!(read(strange), None, "{strange}");
        }
    }

    #[test]
    fn times_come_back() {
        for time in [0, 1, FOREVER] {
            assert_eq!(until(signed(time)), time);
        }
        assert_eq!(unhex(&hex(&[0, 1, 0xfe])).unwrap().as_ref(), [0, 1, 0xfe]);
    }
}
