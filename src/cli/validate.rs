//! `portcullis validate MESSAGE…`: one verdict a message, offline.

use std::io;
use std::path::{Path, PathBuf};

use super::offline::{Bench, Judged, Means, read_message};
use super::report::place;
use super::screen::{Format, Screen, Tone};
use super::{Exit, export};
use crate::clock::Clock;

/// What `validate` is asked.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Message files; `-` is standard input.
    #[arg(required = true, value_name = "MESSAGE")]
    messages: Vec<PathBuf>,
    #[command(flatten)]
    means: Means,
    /// Also write a sealed `uai.conformance.result.v1` about the one message; `-` prints it instead of the verdict.
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
}

/// Judges every message, also after one that cannot be read.
pub fn run(arguments: &Arguments, screen: &mut Screen) -> io::Result<Exit> {
    let bench = match Bench::set_up(&arguments.means, screen)? {
        Ok(bench) => bench,
        Err(exit) => return Ok(exit),
    };
    if arguments.export.is_some() && arguments.messages.len() > 1 {
        screen.trouble("error: `--export` tells of one message; expected one MESSAGE")?;
        return Ok(Exit::Usage);
    }
    let (mut refused, mut unread) = (false, false);
    for file in &arguments.messages {
        match read_message(file) {
            Ok(bytes) => {
                let judged = bench.judge(&bytes);
                refused |= !judged.report.is_allow();
                unread |= !tell(file, &judged, &bytes, arguments, &bench, screen)?;
            }
            Err(error) => {
                unread = true;
                screen.trouble(&format!("error: {error}"))?;
            }
        }
    }
    Ok(match (unread, refused) {
        (true, _) => Exit::CouldNotRun,
        (false, true) => Exit::Refused,
        (false, false) => Exit::Fine,
    })
}

/// Prints the verdict, the export, or both; whether the export could be written.
fn tell(
    file: &Path,
    judged: &Judged,
    bytes: &[u8],
    arguments: &Arguments,
    bench: &Bench,
    screen: &mut Screen,
) -> io::Result<bool> {
    let name = file.display().to_string();
    let Some(export) = &arguments.export else {
        print(&name, judged, screen)?;
        return Ok(true);
    };
    let message = export::message(judged, bytes, bench.policy(), &Clock::system());
    if export == Path::new("-") {
        screen.line(&message)?;
        return Ok(true);
    }
    print(&name, judged, screen)?;
    if let Err(error) = std::fs::write(export, format!("{message}\n")) {
        screen.trouble(&format!("error: {}: {error}", export.display()))?;
        return Ok(false);
    }
    Ok(true)
}

fn print(name: &str, judged: &Judged, screen: &mut Screen) -> io::Result<()> {
    match screen.format {
        Format::Json => screen.json(&judged.report)?,
        Format::Text => {
            let tone = if judged.report.is_allow() {
                Tone::Good
            } else {
                Tone::Bad
            };
            let line = screen.tint(tone, &judged.report.line());
            screen.line(&format!("{name}: {line}"))?;
            for finding in judged.refusal.iter().flat_map(|refusal| refusal.findings()) {
                let place = finding
                    .pointer
                    .as_ref()
                    .map(|pointer| format!(" {}", place(pointer.as_str())))
                    .unwrap_or_default();
                screen.line(&format!("  {}{place}: {}", finding.rule.id(), finding.detail))?;
            }
        }
    }
    for note in &judged.notes {
        screen.note(&format!("  note: {}", note.text))?;
    }
    Ok(())
}
