//! `portcullis check FILE`: whether a policy can be taken, and what it means when it is.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::Exit;
use super::screen::{Format, Screen};
use crate::config::{self, Mistake, Mistakes};

/// What `check` is asked.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct Arguments {
    /// The policy file.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The same, as `run` names it.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

/// Loads the policy as `run` would, and prints routes and effective values.
pub fn run(arguments: &Arguments, screen: &mut Screen) -> io::Result<Exit> {
    let Some(file) = arguments.file.as_ref().or(arguments.policy.as_ref()) else {
        return Ok(Exit::Usage);
    };
    match config::load(file) {
        Ok(config) => {
            let effective = config::describe(&config);
            match screen.format {
                Format::Json => screen.json(&effective)?,
                Format::Text => {
                    let mut text = Vec::new();
                    effective.write(&mut text)?;
                    screen.line(String::from_utf8_lossy(&text).trim_end())?;
                }
            }
            warn(file, &config.warnings, screen)?;
            Ok(Exit::Fine)
        }
        Err(mistakes) => refuse(&mistakes, screen),
    }
}

/// Prints what is allowed and should not be overlooked.
pub fn warn(file: &Path, warnings: &[Mistake], screen: &mut Screen) -> io::Result<()> {
    if warnings.is_empty() {
        return Ok(());
    }
    // Only for the excerpts: without the text each warning still says its line and column.
    let text = fs::read_to_string(file).unwrap_or_default();
    let name = file.display().to_string();
    screen.trouble(&config::render_warnings(&name, &text, warnings, screen.colour_err))
}

/// Prints every mistake of a policy that cannot be taken, with `--output json` as one object.
pub fn refuse(mistakes: &Mistakes, screen: &mut Screen) -> io::Result<Exit> {
    match screen.format {
        Format::Json => screen.json(&mistakes.to_json())?,
        Format::Text => screen.trouble(&mistakes.render(screen.colour_err))?,
    }
    Ok(Exit::CouldNotRun)
}
