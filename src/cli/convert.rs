//! `portcullis convert keyed|keyless MESSAGE`: the other form of a canonical message, on standard output.

use std::io;
use std::path::PathBuf;

use super::Exit;
use super::offline::{Bench, Means, form, read_message};
use super::report;
use super::screen::Screen;
use crate::contract::Finding;
use crate::decide;
use crate::message::envelope::{Envelope, Form};
use crate::message::json::{self, minified};
use crate::message::keyless;

/// What `convert` is asked.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The form to print.
    #[arg(value_enum)]
    to: To,
    /// The message file; `-` is standard input. An array is read as keyless.
    message: PathBuf,
    /// The policy whose schema files give the order of further profiles.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum To {
    Keyed,
    Keyless,
}

/// Prints the message in the form asked for, in one line. Nothing is judged but what the forms need.
pub fn run(arguments: &Arguments, screen: &mut Screen) -> io::Result<Exit> {
    let bench = match Bench::set_up(&Means::of(arguments.policy.clone()), screen)? {
        Ok(bench) => bench,
        Err(exit) => return Ok(exit),
    };
    let bytes = match read_message(&arguments.message) {
        Ok(bytes) => bytes,
        Err(error) => {
            screen.trouble(&format!("error: {error}"))?;
            return Ok(Exit::CouldNotRun);
        }
    };
    match convert(&bytes, arguments.to, &bench) {
        Ok(text) => screen.line(&String::from_utf8_lossy(&text))?,
        Err(findings) => return report::refused(&findings, screen),
    }
    Ok(Exit::Fine)
}

fn convert(bytes: &[u8], to: To, bench: &Bench) -> Result<Vec<u8>, Vec<Finding>> {
    let policy = bench.policy();
    let message = decide::read(bytes, policy, form(bytes), &[Envelope::Canonical])
        .map_err(|refusal| refusal.findings().cloned().collect::<Vec<_>>())?;
    match (to, message.form()) {
        (To::Keyed, _) => Ok(message.keyed()),
        (To::Keyless, Form::Keyless) => {
            let root = json::read(bytes, &policy.json).map_err(|finding| vec![finding])?;
            Ok(minified(&root))
        }
        (To::Keyless, Form::Keyed) => keyless::flatten(message.into_root(), &policy.schemas)
            .map(|root| minified(&root))
            .map_err(|finding| vec![finding]),
    }
}
