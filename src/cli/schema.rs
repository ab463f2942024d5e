//! `portcullis schema NAME`: a JSON Schema on standard output; `schema capability --policy FILE`: the capability document.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Exit;
use super::screen::{Format, Screen};
use crate::clock::Clock;
use crate::config;
use crate::message::profile::Schemas;
use crate::policy::capability;

/// What `schema` is asked.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// `policy`, `envelope`, `delivery`, `ack-payload` or a profile id; `capability` is the document that a policy makes.
    name: String,
    /// The policy that the capability document is made from.
    #[arg(long, value_name = "FILE", required_if_eq("name", "capability"))]
    policy: Option<PathBuf>,
}

/// Prints the schema as it is compiled into this binary; in one line with `--output json`.
pub fn run(arguments: &Arguments, screen: &mut Screen) -> io::Result<Exit> {
    let schema = match (arguments.name.as_str(), &arguments.policy) {
        ("capability", Some(file)) => return document(file, screen),
        ("policy", _) => Some(config::schema_json()),
        (name, _) => Schemas::shipped_text(name).and_then(|text| serde_json::from_str::<Value>(text).ok()),
    };
    let Some(schema) = schema else {
        let profiles: Vec<&str> = Schemas::shipped().collect();
        screen.trouble(&format!(
            "error: no schema `{}`; there are policy, envelope, delivery, ack-payload, {}",
            arguments.name,
            profiles.join(", ")
        ))?;
        return Ok(Exit::Usage);
    };
    print(&schema, screen)
}

/// The capability document, unsigned: what a later version serves and signs.
fn document(file: &Path, screen: &mut Screen) -> io::Result<Exit> {
    match config::load(file) {
        Ok(config) => print(&capability::document(&config.policy, Clock::system().now()), screen),
        Err(mistakes) => super::check::refuse(&mistakes, screen),
    }
}

fn print(value: &Value, screen: &mut Screen) -> io::Result<Exit> {
    match screen.format {
        Format::Json => screen.json(value)?,
        Format::Text => screen.line(&format!("{value:#}"))?,
    }
    Ok(Exit::Fine)
}
