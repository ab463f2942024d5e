//! The results as a JUnit file, as continuous integration reads them: a pending case is a skipped one.

use std::fmt::Write;

use super::Result;
use super::judge::Outcome;

/// The whole file.
pub fn report(results: &[Result]) -> String {
    let count = |of: fn(&Outcome) -> bool| results.iter().filter(|result| of(&result.ran.outcome)).count();
    let failed = count(|outcome| matches!(outcome, Outcome::Failed(_)));
    let pending = count(|outcome| matches!(outcome, Outcome::Pending(_)));
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let mut line = |line: &str| {
        // Writing to a string cannot fail.
        let _written = writeln!(text, "{line}");
    };
    line(&format!(
        "<testsuite name=\"portcullis conformance\" tests=\"{}\" failures=\"{failed}\" skipped=\"{pending}\">",
        results.len()
    ));
    for Result { case, ran } in results {
        let name = escape(&format!("{} {}", case.id, case.about));
        let open = format!(
            "  <testcase classname=\"conformance.{}\" name=\"{name}\"",
            escape(&case.route)
        );
        match &ran.outcome {
            Outcome::Passed => line(&format!("{open}/>")),
            Outcome::Failed(faults) => {
                let faults = escape(&faults.join("; "));
                line(&format!("{open}><failure message=\"{faults}\"/></testcase>"));
            }
            Outcome::Pending(reason) => {
                line(&format!("{open}><skipped message=\"{}\"/></testcase>", escape(reason)));
            }
        }
    }
    line("</testsuite>");
    text
}

/// XML 1.0 attribute text; what XML cannot hold becomes a question mark.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            control if control.is_control() => escaped.push('?'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_reads_in_its_own_way_is_escaped() {
        assert_eq!(escape("a<b> & \"c\"\u{0}"), "a&lt;b&gt; &amp; &quot;c&quot;?");
    }
}
