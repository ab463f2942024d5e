//! What a Redis answers, as values of this program. No answer, however strange, does more than become an error.

use bytes::Bytes;
use redis::{ServerError, Value};

use crate::state::epoch::{FORMAT, Found};
use crate::state::store::{Millis, StoreError};

const STRANGE: StoreError = StoreError::Damaged("an answer that makes no sense");

/// What a script said.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// It did what it was asked, or read it; the number of commits and what follows.
    Done(u64, Vec<Option<Bytes>>),
    /// This expectation does not hold.
    Conflict(usize, Option<Bytes>),
    /// This bound would be passed.
    Full(usize),
    /// The store is another one; `None` when it is empty.
    Other(Option<Found>),
}

/// Reads the answer of a script.
///
/// # Errors
/// What the server refused, or [`StoreError::Damaged`].
pub(super) fn script(value: Value) -> Result<Said, StoreError> {
    let mut parts = array(value)?.into_iter();
    let code = integer(parts.next())?;
    match code {
        0 => {
            let commits = integer(parts.next())?;
            Ok(Said::Done(commits, parts.map(bytes).collect::<Result<_, _>>()?))
        }
        1 => Ok(Said::Conflict(
            place(parts.next())?,
            parts.next().map_or(Ok(None), bytes)?,
        )),
        2 => Ok(Said::Full(place(parts.next())?)),
        3 => Ok(Said::Other(found(parts)?)),
        _ => Err(STRANGE),
    }
}

/// Reads what the store says of itself, with its format.
///
/// # Errors
/// [`StoreError::Damaged`] for another format than this program's.
pub(super) fn begun(value: Value) -> Result<Found, StoreError> {
    let parts = array(value)?;
    let format = parts.get(6).cloned().map_or(Ok(None), bytes)?;
    if format.as_deref() != Some(FORMAT.as_bytes()) {
        return Err(StoreError::Damaged("its format is not the one of this version"));
    }
    match script(Value::Array(parts))? {
        Said::Other(Some(found)) => Ok(found),
        Said::Other(None) | Said::Done(..) | Said::Conflict(..) | Said::Full(_) => Err(STRANGE),
    }
}

fn found(parts: impl Iterator<Item = Value>) -> Result<Option<Found>, StoreError> {
    let mut texts = Vec::new();
    for part in parts.take(5) {
        texts.push(bytes(part)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
    }
    let [id, fence, origin, commits, lost] = texts.as_slice() else {
        // A table of a script ends at its first nothing.
        return if texts.iter().all(Option::is_none) {
            Ok(None)
        } else {
            Err(STRANGE)
        };
    };
    let (Some(id), Some(fence), Some(origin), Some(commits)) = (id, fence, origin, commits) else {
        return if id.is_none() { Ok(None) } else { Err(STRANGE) };
    };
    Found::of(id, fence, origin, commits, lost.is_some())
        .map(Some)
        .ok_or(STRANGE)
}

/// An entry as it is stored: its end, 8 bytes big-endian, and its value.
pub(super) fn entry(stored: Bytes) -> Result<(Millis, Bytes), StoreError> {
    let mut end = [0; 8];
    let mut rest = stored;
    if rest.len() < end.len() {
        return Err(STRANGE);
    }
    let value = rest.split_off(end.len());
    end.copy_from_slice(&rest);
    Ok((Millis::from_be_bytes(end), value))
}

/// The text of an answer.
///
/// # Errors
/// What the server refused, or [`StoreError::Damaged`].
pub(super) fn text(value: Value) -> Result<String, StoreError> {
    bytes(value)?
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .ok_or(STRANGE)
}

/// The number of an answer.
///
/// # Errors
/// What the server refused, or [`StoreError::Damaged`].
pub(super) fn number(value: Value) -> Result<u64, StoreError> {
    integer(Some(value))
}

/// A page of `SCAN`: where to go on, and keys.
///
/// # Errors
/// What the server refused, or [`StoreError::Damaged`].
pub(super) fn page(value: Value) -> Result<(String, Vec<Bytes>), StoreError> {
    let parts = array(value)?;
    let Ok([cursor, Value::Array(keys)]) = <[Value; 2]>::try_from(parts) else {
        return Err(STRANGE);
    };
    let mut names = Vec::new();
    for key in keys {
        names.push(bytes(key)?.ok_or(STRANGE)?);
    }
    Ok((text(cursor)?, names))
}

/// The server does not know the script that was called by its digest.
pub(super) fn no_script(value: &Value) -> bool {
    matches!(value, Value::ServerError(error) if error.code() == "NOSCRIPT")
}

fn integer(value: Option<Value>) -> Result<u64, StoreError> {
    match value {
        Some(Value::Int(number)) => u64::try_from(number).map_err(|_| STRANGE),
        Some(other) => Err(error_of(&other)),
        None => Err(STRANGE),
    }
}

fn place(value: Option<Value>) -> Result<usize, StoreError> {
    usize::try_from(integer(value)?).map_err(|_| STRANGE)
}

fn array(value: Value) -> Result<Vec<Value>, StoreError> {
    let Value::Array(parts) = value else {
        return Err(error_of(&value));
    };
    Ok(parts)
}

fn bytes(value: Value) -> Result<Option<Bytes>, StoreError> {
    if value == Value::Nil {
        return Ok(None);
    }
    if let Value::BulkString(bytes) = value {
        return Ok(Some(bytes.into()));
    }
    if let Value::SimpleString(text) | Value::VerbatimString { format: _, text } = value {
        return Ok(Some(text.into()));
    }
    Err(error_of(&value))
}

fn error_of(value: &Value) -> StoreError {
    if let Value::ServerError(error) = value {
        return server_error(error);
    }
    STRANGE
}

fn server_error(error: &ServerError) -> StoreError {
    refusal(error.code(), error.details().unwrap_or_default())
}

/// What a refusal of the server means. Before version 7 the code of a command that failed in a script stands in the
/// text only.
pub(super) fn refusal(code: &str, detail: &str) -> StoreError {
    let is = |word: &str| code == word || (code == "ERR" && detail.contains(word));
    if is("OOM") {
        StoreError::Exhausted("its memory is full")
    } else if is("MISCONF") {
        StoreError::Exhausted("it cannot write to its disk")
    } else if is("READONLY") {
        StoreError::Exhausted("it is a replica, which cannot be written to")
    } else if is("NOREPLICAS") {
        StoreError::Unreachable("it has fewer replicas than it has to have")
    } else if is("NOAUTH") || is("WRONGPASS") || is("NOPERM") {
        StoreError::Unreachable("it refuses the user, the password or a command")
    } else if is("MOVED") || is("ASK") || is("CLUSTERDOWN") || is("CROSSSLOT") || is("TRYAGAIN") {
        StoreError::Unreachable("it is not the node of its cluster that holds this namespace")
    } else if is("LOADING") || is("MASTERDOWN") || is("BUSY") {
        StoreError::Unreachable("it is busy")
    } else {
        StoreError::Damaged("it refused a command")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    #[test]
    fn answers_of_scripts_are_read() {
        let array = |parts: Vec<Value>| script(Value::Array(parts));
        assert_eq!(array(vec![Value::Int(0), Value::Int(7)]), Ok(Said::Done(7, vec![])));
        assert_eq!(
            array(vec![Value::Int(1), Value::Int(2), text_of("x")]),
            Ok(Said::Conflict(2, Some(Bytes::from_static(b"x"))))
        );
        assert_eq!(
            array(vec![Value::Int(1), Value::Int(0), Value::Nil]),
            Ok(Said::Conflict(0, None))
        );
        assert_eq!(array(vec![Value::Int(2), Value::Int(1)]), Ok(Said::Full(1)));
        assert_eq!(array(vec![Value::Int(3), Value::Nil]), Ok(Said::Other(None)));
    }

    #[test]
    fn strange_answers_are_errors() {
        for value in [
            Value::Nil,
            Value::Okay,
            Value::Int(0),
            Value::Array(vec![]),
            Value::Array(vec![Value::Int(0)]),
            Value::Array(vec![Value::Int(0), Value::Int(-1)]),
            Value::Array(vec![Value::Int(9)]),
            Value::Array(vec![Value::Int(1), text_of("x")]),
            Value::Array(vec![Value::Int(3), text_of("id"), Value::Nil]),
            Value::Map(vec![(Value::Nil, Value::Nil)]),
        ] {
            assert_eq!(script(value.clone()), Err(STRANGE), "{value:?}");
            assert!(begun(value.clone()).is_err());
            assert!(page(value).is_err());
        }
        assert_eq!(entry(Bytes::from_static(b"short")), Err(STRANGE));
    }

    #[test]
    fn refusals_have_a_meaning() {
        for (code, detail, exhausted) in [
            ("OOM", "", true),
            ("ERR", "Error running script: -OOM command not allowed", true),
            ("MISCONF", "", true),
            ("READONLY", "", true),
            ("NOPERM", "", false),
            ("MOVED", "1 10.0.0.1:6379", false),
            ("ERR", "unknown command", false),
        ] {
            let error = refusal(code, detail);
            assert_eq!(matches!(error, StoreError::Exhausted(_)), exhausted, "{code}");
        }
    }
}
