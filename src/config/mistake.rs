//! Mistakes in a policy file: what a person and a machine are shown of them.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde_json::{Value, json};

/// Every mistake in a policy file, in file order; never empty.
#[derive(Clone, Debug)]
pub struct Mistakes {
    /// File name as given.
    pub file: String,
    /// The text of the file, for excerpts; empty when it could not be read.
    pub text: String,
    /// What is wrong.
    pub mistakes: Vec<Mistake>,
}

/// One mistake, or one warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// 1-based line; 0 when it stands on the command line and not in the file.
    pub line: usize,
    /// 1-based column in characters; 0 when it stands on the command line.
    pub column: usize,
    /// RFC 6901 pointer into the policy.
    pub pointer: String,
    /// What is wrong and what was expected; never a value from the file.
    pub message: String,
    /// A near word that was perhaps meant.
    pub suggestion: Option<String>,
}

impl Mistake {
    /// One line: where, what, and the suggestion.
    pub fn summary(&self) -> String {
        let place = if self.line == 0 {
            String::new()
        } else {
            format!("{}:{}: ", self.line, self.column)
        };
        format!("{place}{}", self.title())
    }

    fn title(&self) -> String {
        match &self.suggestion {
            Some(word) => format!("{}; did you mean `{word}`?", self.message),
            None => self.message.clone(),
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "line": self.line,
            "column": self.column,
            "pointer": self.pointer,
            "message": self.message,
            "suggestion": self.suggestion,
        })
    }
}

impl Mistakes {
    /// One mistake about a file that cannot be read at all.
    pub(super) fn unreadable(file: &str, message: &str) -> Self {
        Self {
            file: file.to_owned(),
            text: String::new(),
            mistakes: vec![Mistake {
                line: 1,
                column: 1,
                pointer: String::new(),
                message: message.to_owned(),
                suggestion: None,
            }],
        }
    }

    /// For people: each mistake with the operator's own line of the file.
    pub fn render(&self, colour: bool) -> String {
        render(&self.file, &self.text, &self.mistakes, &Level::ERROR, colour)
    }

    /// For machines: `{"file", "mistakes": [{"line", "column", "pointer", "message", "suggestion"}]}`.
    pub fn to_json(&self) -> Value {
        let mistakes: Vec<Value> = self.mistakes.iter().map(Mistake::to_json).collect();
        json!({ "file": self.file, "mistakes": mistakes })
    }

    /// One line a mistake, for records and the admin listener.
    pub fn summaries(&self) -> Vec<String> {
        self.mistakes.iter().map(Mistake::summary).collect()
    }
}

/// Warnings as a person reads them, each with the operator's own line of the file.
pub fn render_warnings(file: &str, text: &str, warnings: &[Mistake], colour: bool) -> String {
    render(file, text, warnings, &Level::WARNING, colour)
}

fn render(file: &str, text: &str, mistakes: &[Mistake], level: &Level<'_>, colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for mistake in mistakes {
        let title = level.clone().primary_title(mistake.title());
        let group = match word_at(text, mistake.line, mistake.column) {
            Some(span) => Group::with_title(title).element(
                Snippet::source(text)
                    .path(file)
                    .annotation(AnnotationKind::Primary.span(span)),
            ),
            None if mistake.line == 0 => Group::with_title(title),
            None => Group::with_title(title).element(annotate_snippets::Origin::path(file)),
        };
        out.push_str(&renderer.render(&[group]));
        out.push('\n');
    }
    out
}

/// The bytes of the word that begins at a line and column.
fn word_at(text: &str, line: usize, column: usize) -> Option<std::ops::Range<usize>> {
    let whole = text.split_inclusive('\n').nth(line.checked_sub(1)?)?;
    let before: usize = text
        .split_inclusive('\n')
        .take(line.checked_sub(1)?)
        .map(str::len)
        .sum();
    let within = whole
        .char_indices()
        .nth(column.checked_sub(1)?)
        .map_or(whole.trim_end().len(), |(at, _)| at);
    let word = whole.get(within..)?;
    let length = word
        .find(|c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}'))
        .unwrap_or(word.len());
    let start = before.checked_add(within)?;
    Some(start..start.checked_add(length)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(line: usize, column: usize) -> Mistake {
        Mistake {
            line,
            column,
            pointer: "/routs".to_owned(),
            message: "unknown key `routs`".to_owned(),
            suggestion: Some("routes".to_owned()),
        }
    }

    #[test]
    fn an_excerpt_shows_the_line_and_marks_the_word() {
        let mistakes = Mistakes {
            file: "p.yaml".to_owned(),
            text: "agent: ü\nrouts: []\n".to_owned(),
            mistakes: vec![mistake(2, 1)],
        };
        let text = mistakes.render(false);
        assert!(text.contains("unknown key `routs`; did you mean `routes`?"), "{text}");
        assert!(text.contains("p.yaml:2:1"), "{text}");
        assert!(text.contains("routs: []"), "{text}");
        assert!(text.contains("^^^^^^"), "{text}");
        assert!(mistakes.render(true).contains('\u{1b}'));
    }

    #[test]
    fn any_place_can_be_rendered() {
        for text in ["", "a", "ü: 1\r\n", "a\n\n"] {
            for line in 0..4 {
                for column in 0..5 {
                    let mistakes = Mistakes {
                        file: "p.yaml".to_owned(),
                        text: text.to_owned(),
                        mistakes: vec![mistake(line, column)],
                    };
                    assert!(mistakes.render(false).contains("unknown key"));
                }
            }
        }
    }

    #[test]
    fn a_machine_gets_every_member() {
        let mistakes = Mistakes {
            file: "p.yaml".to_owned(),
            text: String::new(),
            mistakes: vec![mistake(2, 1)],
        };
        assert_eq!(
            mistakes.to_json(),
            json!({"file": "p.yaml", "mistakes": [{"line": 2, "column": 1, "pointer": "/routs",
                "message": "unknown key `routs`", "suggestion": "routes"}]})
        );
        assert_eq!(
            mistakes.summaries(),
            ["2:1: unknown key `routs`; did you mean `routes`?"]
        );
    }
}
