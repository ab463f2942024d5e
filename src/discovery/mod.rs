//! Documents that the gateway serves itself: `/.well-known/uai/problems/<CODE>`, where a problem's `type` leads (contract
//! §5), and the signed capability document (§2.4).

pub mod page;

use std::fmt::Write;

use bytes::Bytes;
use http::header::CACHE_CONTROL;
use http::{HeaderValue, Response};
use jiff::Timestamp;

use crate::contract::{Code, Rule};
use crate::gateway::Pages;
use crate::trust::own::Signed;

/// Every page.
pub const PAGES: Pages = Pages {
    problem: problem_page,
    capability: capability_page,
};

/// Where the pages are; the name of a code follows.
pub const PROBLEMS: &str = "/.well-known/uai/problems/";

/// The page about the code of this name, or `None` when there is no such code. HTML when asked for, else plain text.
/// The caller adds `UAI-Verdict`.
pub fn problem_page(name: &str, accepts_html: bool) -> Option<Response<Bytes>> {
    let code = Code::named(name)?;
    let mut response = if accepts_html {
        page::html(code.name(), &html(code))
    } else {
        page::text(text(code))
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    Some(response)
}

/// The signed capability document, which a client may keep until it expires and no longer. The caller adds
/// `UAI-Verdict`.
pub fn capability_page(signed: &Signed, now: Timestamp) -> Response<Bytes> {
    let mut response = page::own(signed.text.clone(), "application/json");
    let left = signed.expires.duration_since(now).as_secs().max(0);
    if let Ok(control) = HeaderValue::try_from(format!("public, max-age={left}")) {
        response.headers_mut().insert(CACHE_CONTROL, control);
    }
    response
}

fn text(code: Code) -> String {
    let mut text = format!("{}\n{}\n\n{}\n\nRules\n", code.name(), code.title(), code.meaning());
    for rule in rules(code) {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  {}: status {}, contract section {}{}",
            rule.id(),
            rule.status(),
            rule.section(),
            if rule.is_built() {
                ""
            } else {
                ", not built in this version"
            }
        );
    }
    text
}

fn html(code: Code) -> String {
    let mut rows = String::new();
    for rule in rules(code) {
        let _ = write!(
            rows,
            "<tr><td><code>{}</code><td>{}<td>§{}<td>{}",
            rule.id(),
            rule.status(),
            rule.section(),
            if rule.is_built() {
                "enforced"
            } else {
                "not built in this version"
            }
        );
    }
    format!(
        "<p><strong>{}.</strong></p><p>{}</p><h2>Rules</h2><table><thead><tr><th>rule<th>status<th>contract<th>here</thead><tbody>{rows}</tbody></table>",
        page::prose(code.title()),
        page::prose(code.meaning()),
    )
}

fn rules(code: Code) -> impl Iterator<Item = Rule> {
    Rule::ALL.iter().copied().filter(move |rule| rule.code() == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(response: &Response<Bytes>) -> &str {
        std::str::from_utf8(response.body()).unwrap()
    }

    #[test]
    fn every_code_has_a_page_with_all_its_rules() {
        for code in Code::ALL {
            for accepts_html in [true, false] {
                let page = problem_page(code.name(), accepts_html).unwrap();
                for rule in Rule::ALL.iter().filter(|rule| rule.code() == *code) {
                    assert!(body(&page).contains(rule.id()), "{} {}", code.name(), rule.id());
                }
            }
        }
        for other in ["", "ERR", "err_internal", "ERR_INTERNAL/"] {
            assert!(problem_page(other, true).is_none(), "{other}");
        }
    }

    #[test]
    fn the_text_page_is_exact() {
        let page = problem_page("ERR_MESSAGE_EXPIRED", false).unwrap();
        assert_eq!(
            body(&page),
            "ERR_MESSAGE_EXPIRED\nThe message has expired\n\n`delivery.expires_at` has passed. Issue the message again.\n\n\
             Rules\n  freshness.expired: status 410, contract section 8\n"
        );
        assert_eq!(page.headers()["content-type"], "text/plain; charset=utf-8");
        assert_eq!(page.headers()["cache-control"], "public, max-age=3600");
    }
}
