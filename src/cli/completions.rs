//! `portcullis completions SHELL`: a completion script on standard output.

use std::io;

use clap::CommandFactory;
use clap_complete::Shell;

use super::screen::Screen;
use super::{Cli, Exit};

/// What `completions` is asked.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
pub fn run(arguments: &Arguments, screen: &mut Screen) -> io::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "portcullis", &mut script);
    screen.line(String::from_utf8_lossy(&script).trim_end())?;
    Ok(Exit::Fine)
}
