//! `portcullis schema NAME`: a JSON Schema on standard output.

use std::io;

use serde_json::Value;

use super::Exit;
use super::screen::{Format, Screen};
use crate::config;
use crate::message::profile::Schemas;

/// What `schema` is asked.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// `policy`, `envelope` or a profile id.
    name: String,
}

/// Prints the schema as it is compiled into this binary; in one line with `--output json`.
pub fn run(arguments: &Arguments, screen: &mut Screen) -> io::Result<Exit> {
    let schema = match arguments.name.as_str() {
        "policy" => Some(config::schema_json()),
        name => Schemas::shipped_text(name).and_then(|text| serde_json::from_str::<Value>(text).ok()),
    };
    let Some(schema) = schema else {
        let profiles: Vec<&str> = Schemas::shipped().collect();
        screen.trouble(&format!(
            "error: no schema `{}`; there are policy, envelope, {}",
            arguments.name,
            profiles.join(", ")
        ))?;
        return Ok(Exit::Usage);
    };
    match screen.format {
        Format::Json => screen.json(&schema)?,
        Format::Text => screen.line(&format!("{schema:#}"))?,
    }
    Ok(Exit::Fine)
}
