//! `portcullis check FILE`: whether a policy can be taken, and what it means when it is.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::Exit;
use super::screen::{Format, Screen};
use crate::config::{self, Mistake, Mistakes};
use crate::message::is_id;
use crate::policy::Trust;
use crate::trust::{mtls, ring};

/// What `check` is asked.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    named: Named,
    /// Also fetch the keys of issuers that publish them at a URL.
    #[arg(long)]
    fetch: bool,
}

/// Which policy, named one way or the other.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Named {
    /// The policy file.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The same, as `run` names it.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

/// Loads the policy as `run` would, and prints routes and effective values.
pub fn run(arguments: &Arguments, screen: &mut Screen) -> io::Result<Exit> {
    let Some(file) = arguments.named.file.as_ref().or(arguments.named.policy.as_ref()) else {
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
            let trust = &config.policy.trust;
            match keys(trust, arguments.fetch, screen)? {
                Exit::Fine => bundles(trust, screen),
                exit @ (Exit::Refused | Exit::Usage | Exit::CouldNotRun) => Ok(exit),
            }
        }
        Err(mistakes) => refuse(&mistakes, screen),
    }
}

/// Looks at the keys of every issuer, and says what is wrong with them: files always, URLs when it is asked to.
fn keys(trust: &Trust, fetch: bool, screen: &mut Screen) -> io::Result<Exit> {
    if trust.issuers.is_empty() {
        return Ok(Exit::Fine);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut exit = Exit::Fine;
    for found in runtime.block_on(ring::survey(trust, fetch)) {
        let whose = format!("issuer `{}`, keys of {}", found.issuer, found.source);
        for remark in &found.remarks {
            screen.trouble(&format!("warning: {whose}: not used: {remark}"))?;
        }
        for (other, kid) in &found.conflicts {
            let kid = if is_id(kid) { kid } else { "(not an id)" };
            screen.trouble(&format!(
                "warning: {whose}: not used: `kid` {kid} is in the set of the issuer `{other}` before it"
            ))?;
        }
        if let Err(trouble) = &found.keys {
            screen.trouble(&format!("error: {whose}: {trouble}; {}", trouble.advice()))?;
            exit = Exit::CouldNotRun;
        }
    }
    Ok(exit)
}

/// Looks at the bundles of client certificates and their revocation lists.
fn bundles(trust: &Trust, screen: &mut Screen) -> io::Result<Exit> {
    let mut exit = Exit::Fine;
    for found in mtls::survey(&trust.clients) {
        if let Some(fault) = found.fault {
            screen.trouble(&format!("error: client bundle `{}`: {fault}", found.name))?;
            exit = Exit::CouldNotRun;
        }
    }
    Ok(exit)
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
