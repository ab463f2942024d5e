//! `portcullis run --policy FILE`: the gate, until SIGTERM. Records go to standard output, all else to standard error.

use std::io::{self, Write};
use std::path::PathBuf;

use super::Exit;
use super::screen::Screen;
use crate::app::{self, Running, Setup, Watched};
use crate::clock::Clock;
use crate::config::{self, Overrides};
use crate::record::Sink;

/// What `run` is asked.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The policy file; read again when it changes.
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
pub fn run(arguments: &Arguments, screen: &mut Screen) -> io::Result<Exit> {
    let overrides = Overrides {
        listen: arguments.listen.clone(),
        admin: arguments.admin.clone(),
        backend: arguments.backend.clone(),
    };
    let config = match config::load_with(&arguments.policy, &overrides) {
        Ok(config) => config,
        Err(mistakes) => return super::check::refuse(&mistakes, screen),
    };
    super::check::warn(&arguments.policy, &config.warnings, screen)?;
    let setup = Setup {
        config,
        watched: Some(Watched {
            path: arguments.policy.clone(),
            overrides,
            notice,
        }),
        sink: Sink::stdout(),
        clock: Clock::system(),
        store: None,
    };
    let started = |running: &Running| {
        let line = format!("portcullis: gate on {}, admin on {}", running.gate(), running.admin());
        // A closed standard error must not stop the gate.
        drop(screen.trouble(&line));
    };
    match app::run(setup, started) {
        Ok(()) => Ok(Exit::Fine),
        Err(error) => {
            screen.trouble(&format!("error: {}", super::chain(&error)))?;
            Ok(Exit::CouldNotRun)
        }
    }
}

/// A line on standard error while the gate runs; a closed one must not stop it.
fn notice(text: &str) {
    drop(writeln!(io::stderr(), "portcullis: {text}"));
}
