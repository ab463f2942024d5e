//! `portcullis validate MESSAGE…`: one verdict a message, offline.

use std::io;
use std::path::PathBuf;

use super::Exit;
use super::offline::{Bench, Judged, Means, read_message};
use super::report::place;
use super::screen::{Format, Screen, Tone};

/// What `validate` is asked.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Message files; `-` is standard input.
    #[arg(required = true, value_name = "MESSAGE")]
    messages: Vec<PathBuf>,
    #[command(flatten)]
    means: Means,
}

/// Judges every message, also after one that cannot be read.
pub fn run(arguments: &Arguments, screen: &mut Screen) -> io::Result<Exit> {
    let bench = match Bench::set_up(&arguments.means, screen)? {
        Ok(bench) => bench,
        Err(exit) => return Ok(exit),
    };
    let (mut refused, mut unread) = (false, false);
    for file in &arguments.messages {
        match read_message(file) {
            Ok(bytes) => {
                let judged = bench.judge(&bytes);
                refused |= !judged.report.is_allow();
                print(&file.display().to_string(), &judged, screen)?;
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
        screen.note(&format!("  note: {note}"))?;
    }
    Ok(())
}
