//! W3C trace context on the backend leg (contract §14, "Trace context").

use http::HeaderMap;

/// `tracestate` fields longer than this in all are not passed on.
const STATE_MAX: usize = 512;

/// What the backend gets.
#[derive(Debug, PartialEq, Eq)]
pub struct Trace {
    /// The `traceparent` with the gateway's own span.
    pub parent: String,
    /// Whether the client's `tracestate` belongs to it.
    pub state_is_kept: bool,
}

/// Continues the client's trace when it sent one valid `traceparent`, else begins `new_trace`; `span` is the
/// gateway's own.
pub fn continued(headers: &HeaderMap, new_trace: &str, span: &str) -> Trace {
    let mut parents = headers.get_all("traceparent").iter();
    let parent = match (parents.next(), parents.next()) {
        (Some(value), None) => value.to_str().ok().and_then(read),
        (None | Some(_), _) => None,
    };
    match parent {
        Some((trace, flags)) => Trace {
            parent: format!("00-{trace}-{span}-{flags}"),
            state_is_kept: state_length(headers) <= STATE_MAX,
        },
        None => Trace {
            parent: format!("00-{new_trace}-{span}-00"),
            state_is_kept: false,
        },
    }
}

/// Trace id and flags of a valid `traceparent`. A version above 00 may say more after a further `-`.
fn read(value: &str) -> Option<(&str, &str)> {
    let mut parts = value.splitn(5, '-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let known = version == "00" && parts.next().is_none();
    let later = is_hex(version, 2) && version != "00" && version != "ff";
    let valid = (known || later) && is_id(trace, 32) && is_id(span, 16) && is_hex(flags, 2);
    valid.then_some((trace, flags))
}

fn is_id(text: &str, length: usize) -> bool {
    is_hex(text, length) && text.bytes().any(|byte| byte != b'0')
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn state_length(headers: &HeaderMap) -> usize {
    headers
        .get_all("tracestate")
        .iter()
        .fold(0_usize, |sum, value| sum.saturating_add(value.len()))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    fn of(values: &[String]) -> Trace {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("traceparent", HeaderValue::from_str(value).unwrap());
        }
        continued(&headers, "new", "own")
    }

    #[test]
    fn one_valid_parent_is_continued_and_nothing_else() {
        let good = format!("00-{TRACE}-{SPAN}-01");
        assert_eq!(of(std::slice::from_ref(&good)).parent, format!("00-{TRACE}-own-01"));
        let zeros = "0".repeat(32);
        for bad in [
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("00-{zeros}-{SPAN}-01"),
            format!("00-{TRACE}-0000000000000000-01"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            "x".to_owned(),
        ] {
            assert_eq!(of(std::slice::from_ref(&bad)).parent, "00-new-own-00", "{bad}");
        }
        assert_eq!(of(&[good.clone(), good]).parent, "00-new-own-00");
    }
}
