//! `portcullis schema NAME`: a JSON Schema on standard output.

use std::io;

use super::Exit;
use super::screen::Screen;

/// What `schema` is asked.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// `policy`, `envelope` or a profile id.
    name: String,
}

/// Prints the schema.
pub fn run(arguments: &Arguments, screen: &mut Screen) -> io::Result<Exit> {
    screen.trouble(&format!("error: no schema `{}`", arguments.name))?;
    Ok(Exit::Usage)
}
