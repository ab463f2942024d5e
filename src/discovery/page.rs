//! One frame for every page of the gateway: no script, no outside asset, light and dark.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Response};

const STYLE: &str = ":root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}\
body{max-width:60rem;margin:2rem auto;padding:0 1rem}\
table{border-collapse:collapse;width:100%}\
th,td{text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0;border-bottom:1px solid #8886}\
code{font:.9em ui-monospace,monospace;overflow-wrap:anywhere}";

/// Allows the style above by its hash and nothing else; a test keeps the two together.
const POLICY: &str = "default-src 'none'; style-src 'sha256-4yK1fKTcXvJMLIeeZnjachfbVx2RUl4MfQp9SprSkLs='; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// An HTML page. `title` is text; `body` is HTML made of text that went through [`prose`] or that the source names.
pub fn html(title: &str, body: &str) -> Response<Bytes> {
    let title = prose(title);
    let text = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title><style>{STYLE}</style>\
         <body><h1>{title}</h1>{body}</body></html>\n"
    );
    let mut response = own(text, "text/html; charset=utf-8");
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// A page of plain text.
pub fn text(text: String) -> Response<Bytes> {
    own(text, "text/plain; charset=utf-8")
}

/// A body of the gateway's own with its media type; never stored, never guessed at.
pub fn own(text: String, media_type: &'static str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Text as HTML: escaped, with what stands between backticks as code.
pub fn prose(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    let mut is_code = false;
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '`' => {
                html.push_str(if is_code { "</code>" } else { "<code>" });
                is_code = !is_code;
            }
            other => html.push(other),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        assert_eq!(prose("a < `b` & \"c\""), "a &lt; <code>b</code> &amp; &quot;c&quot;");
    }

    #[test]
    fn the_policy_names_the_hash_of_the_style() {
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, STYLE.as_bytes());
        let hash = base64(digest.as_ref());
        assert!(POLICY.contains(&format!("'sha256-{hash}'")), "expected sha256-{hash}");
    }

    #[test]
    fn a_page_loads_nothing() {
        let page = html("A title", "<p>text</p>");
        let body = std::str::from_utf8(page.body()).unwrap();
        for word in ["http:", "https:", "src=", "href=", "<script", "url("] {
            assert!(!body.contains(word), "{word}");
        }
        assert!(
            page.headers()["content-security-policy"]
                .to_str()
                .unwrap()
                .starts_with("default-src 'none'")
        );
    }

    fn base64(bytes: &[u8]) -> String {
        const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        bytes
            .chunks(3)
            .flat_map(|chunk| {
                let group = chunk
                    .iter()
                    .chain([&0; 2])
                    .take(3)
                    .fold(0, |group, byte| group << 8 | usize::from(*byte));
                (0..4).map(move |place| match place <= chunk.len() {
                    true => char::from(ALPHABET[group >> (18 - 6 * place) & 63]),
                    false => '=',
                })
            })
            .collect()
    }
}
