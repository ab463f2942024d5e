//! `portcullis demo`: a gate, a backend and a tour of messages, all in this process.

use std::io;

use super::Exit;
use super::screen::Screen;

/// What `demo` is asked.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Keep gate and backend up after the tour, and print what to send.
    #[arg(long)]
    serve: bool,
}

/// Runs the tour.
pub fn run(_arguments: &Arguments, _screen: &mut Screen) -> io::Result<Exit> {
    Ok(Exit::CouldNotRun)
}
