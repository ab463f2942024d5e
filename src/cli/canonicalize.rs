//! `portcullis canonicalize [MESSAGE]`: the bytes that are hashed and signed (contract §7), without a line feed.

use std::io;
use std::path::PathBuf;

use serde_json::json;

use super::Exit;
use super::offline::{Bench, Means, form, read_message};
use super::report;
use super::screen::{Format, Screen};
use crate::decide;
use crate::message::canonical::{jcs, sha256_hex};
use crate::message::envelope::Envelope;
use crate::message::json;

/// What `canonicalize` is asked.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The message file; `-` is standard input. An array is read as keyless.
    #[arg(default_value = "-")]
    message: PathBuf,
    /// Print the RFC 8785 text of any strict JSON instead, nothing removed.
    #[arg(long)]
    jcs: bool,
    /// The policy whose schema files give the order of further profiles in the keyless form.
    #[arg(long, value_name = "FILE", conflicts_with = "jcs")]
    policy: Option<PathBuf>,
}

/// Prints the canonical bytes; with `--output json` as a text, with their digest.
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
    let canonical = if arguments.jcs {
        match json::read(&bytes, &bench.policy().json) {
            Ok(root) => jcs(&root),
            Err(finding) => return report::refused([&finding], screen),
        }
    } else {
        let envelopes = [Envelope::Canonical, Envelope::Delivery];
        match decide::read(&bytes, bench.policy(), form(&bytes), &envelopes) {
            Ok(message) => message.canonical().to_vec(),
            Err(refusal) => return report::refused(refusal.findings(), screen),
        }
    };
    match screen.format {
        Format::Json => {
            let text = String::from_utf8_lossy(&canonical);
            screen.json(&json!({"canonical": text, "digest": sha256_hex(&canonical)}))?;
        }
        Format::Text => screen.bytes(&canonical)?,
    }
    Ok(Exit::Fine)
}
