//! Where commands print: results on standard output, notes and trouble on standard error, colour only for people.

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};

use serde::Serialize;

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// What a word on the screen means to a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Let through, done.
    Good,
    /// Refused, wrong.
    Bad,
    /// Of lesser interest.
    Quiet,
}

/// Standard output and standard error of one command.
pub struct Screen {
    /// How results are printed.
    pub format: Format,
    colour_out: bool,
    /// Whether trouble may be printed in colour.
    pub colour_err: bool,
    out: Box<dyn Write>,
    err: Box<dyn Write>,
}

impl Screen {
    /// The process's own streams. Colour needs a terminal, and no `NO_COLOR` (<https://no-color.org>).
    #[expect(clippy::disallowed_methods, reason = "the command line reads the environment")]
    pub fn standard(format: Format) -> Self {
        let no_color = std::env::var_os("NO_COLOR");
        Self {
            format,
            colour_out: wants_colour(no_color.as_deref(), io::stdout().is_terminal()),
            colour_err: wants_colour(no_color.as_deref(), io::stderr().is_terminal()),
            out: Box::new(io::stdout()),
            err: Box::new(io::stderr()),
        }
    }

    /// One line of a result.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}")
    }

    /// A result that is bytes, without a line feed.
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.out.flush()
    }

    /// One result as one line of JSON.
    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let line = serde_json::to_string(value)?;
        writeln!(self.out, "{line}")
    }

    /// Text for people that is not a result: with `--output json` it goes to standard error.
    pub fn note(&mut self, text: &str) -> io::Result<()> {
        match self.format {
            Format::Text => writeln!(self.out, "{text}"),
            Format::Json => writeln!(self.err, "{text}"),
        }
    }

    /// Why the command cannot go on.
    pub fn trouble(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.err, "{}", text.trim_end())
    }

    /// A word of a result in the colour of its tone, where colour is wanted.
    pub fn tint(&self, tone: Tone, word: &str) -> String {
        let code = match tone {
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Quiet => "2",
        };
        if self.colour_out {
            format!("\u{1b}[{code}m{word}\u{1b}[0m")
        } else {
            word.to_owned()
        }
    }
}

fn wants_colour(no_color: Option<&OsStr>, terminal: bool) -> bool {
    terminal && no_color.is_none_or(OsStr::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_needs_a_terminal_that_may_be_coloured() {
        assert!(wants_colour(None, true));
        assert!(wants_colour(Some(OsStr::new("")), true));
        assert!(!wants_colour(Some(OsStr::new("1")), true));
        assert!(!wants_colour(None, false));
    }
}
