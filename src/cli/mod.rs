//! The command line: one file a command. The only floor that prints and reads the environment.

mod backend;
mod canonicalize;
mod check;
mod completions;
mod conformance;
mod convert;
mod demo;
mod exchange;
mod explain;
mod export;
mod keys;
mod offline;
mod place;
mod report;
mod run;
mod schema;
mod screen;
mod seal;
mod state;
mod validate;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use screen::{Format, Screen};

/// A fail-closed sidecar gateway for UAI-1 agent messages.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, after_help = EXIT_CODES)]
struct Cli {
    /// How results are printed.
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    output: Format,
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 fine, 1 refused or failed, 2 wrong usage, 3 could not run.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Stand in front of a backend and judge every request.
    Run(run::Arguments),
    /// Send a tour of messages through a gate of its own and print each verdict.
    Demo(demo::Arguments),
    /// Check a policy file and print what it means; lists every mistake.
    Check(check::Arguments),
    /// Print what every rule says of one message, offline.
    Explain(explain::Arguments),
    /// Judge messages offline, one verdict each.
    Validate(validate::Arguments),
    /// Run the conformance cases of the contract, against this gateway or any other implementation.
    Conformance(conformance::Arguments),
    /// Print a message in its keyed or keyless form.
    Convert(convert::Arguments),
    /// Put checksum and signature into a message and print it.
    Seal(seal::Arguments),
    /// Make a private key, or print the public parts of keys.
    Keys(keys::Arguments),
    /// Print the bytes of a message that are hashed and signed.
    Canonicalize(canonicalize::Arguments),
    /// Print a JSON Schema, or with `--policy` the capability document.
    Schema(schema::Arguments),
    /// Look at what is remembered, clean it up, or reset its fence.
    State(state::Arguments),
    /// Print a completion script for a shell.
    Completions(completions::Arguments),
}

/// How a command ended. Wrong usage is exit code 2, which clap answers before a command begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    /// Everything asked for was done, nothing was refused.
    Fine,
    /// A message or a policy was refused, or a demo stop went another way than expected.
    Refused,
    /// A name on the command line is not one this program or the policy knows.
    Usage,
    /// A file, an address or the terminal could not be used.
    CouldNotRun,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Fine => Self::from(0),
            Exit::Refused => Self::from(1),
            Exit::Usage => Self::from(2),
            Exit::CouldNotRun => Self::from(3),
        }
    }
}

/// Reads the command line, runs the command, tells the exit code.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut screen = Screen::standard(cli.output);
    let exit = match cli.command {
        Command::Run(arguments) => run::run(&arguments, &mut screen),
        Command::Demo(arguments) => demo::run(&arguments, &mut screen),
        Command::Check(arguments) => check::run(&arguments, &mut screen),
        Command::Explain(arguments) => explain::run(&arguments, &mut screen),
        Command::Validate(arguments) => validate::run(&arguments, &mut screen),
        Command::Conformance(arguments) => conformance::run(&arguments, &mut screen),
        Command::Convert(arguments) => convert::run(&arguments, &mut screen),
        Command::Seal(arguments) => seal::run(&arguments, &mut screen),
        Command::Keys(arguments) => keys::run(&arguments, &mut screen),
        Command::Canonicalize(arguments) => canonicalize::run(&arguments, &mut screen),
        Command::Schema(arguments) => schema::run(&arguments, &mut screen),
        Command::State(arguments) => state::run(&arguments, &mut screen),
        Command::Completions(arguments) => completions::run(&arguments, &mut screen),
    };
    // Results that nobody could read are no results.
    exit.unwrap_or(Exit::CouldNotRun).into()
}

/// An error and what caused it, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source())
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
