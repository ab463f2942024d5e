//! `portcullis run --policy FILE`: the gate, until SIGTERM.

use std::io;
use std::path::PathBuf;

use super::Exit;
use super::screen::Screen;

/// What `run` is asked.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The policy file.
    #[arg(long, value_name = "FILE")]
    policy: PathBuf,
    /// Listen here instead of where the policy says.
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Put the admin listener here instead of where the policy says.
    #[arg(long, value_name = "ADDR")]
    admin: Option<String>,
    /// Forward to this backend instead of the policy's.
    #[arg(long, value_name = "URL")]
    backend: Option<String>,
}

/// Runs the gate.
pub fn run(_arguments: &Arguments, _screen: &mut Screen) -> io::Result<Exit> {
    Ok(Exit::CouldNotRun)
}
