//! The schemas in force: the shipped ones and the operator's files.

use crate::config::check::{Report, did_you_mean};
use crate::config::files::Gathered;
use crate::config::raw;
use crate::message::profile::Schemas;

/// Profiles that a mistake lists at most.
const SHOWN: usize = 12;

/// Compiles everything; `None` when a file cannot be taken.
pub(super) fn build(raw: &raw::Policy, gathered: &Gathered, report: &mut Report<'_>) -> Option<Schemas> {
    let Ok(shipped) = Schemas::builtin() else {
        report.value("", "a shipped schema does not compile; this is a fault of Portcullis");
        return None;
    };
    let files = match (&raw.schemas.dir, &gathered.schemas) {
        (Some(_), Err(problem)) => {
            report.value("/schemas/dir", &format!("`dir`: {problem}"));
            return None;
        }
        (Some(_), Ok(_)) if gathered.base.is_none() => {
            report.value(
                "/schemas/dir",
                "`dir`: expected a policy without schema files, for none can be read here",
            );
            return None;
        }
        (Some(_), Ok(files)) => files.as_slice(),
        (None, _) => &[],
    };
    let overrides: Vec<String> = raw.schemas.overrides.iter().map(|id| id.0.clone()).collect();
    for (index, id) in raw.schemas.overrides.iter().enumerate() {
        let pointer = format!("/schemas/override/{index}");
        if known(id, &pointer, "override", Some(&shipped), report) && !files.iter().any(|(profile, _)| *profile == id.0)
        {
            report.value(&pointer, "`override`: expected a profile for which `dir` holds a file");
        }
    }
    if files.is_empty() {
        return Some(shipped);
    }
    let schemas = with_files(files, &overrides, report)?;
    for (index, profile) in overrides.iter().enumerate() {
        if let (Some(old), Some(new)) = (shipped.digest(profile), schemas.digest(profile)) {
            report.warn(
                &format!("/schemas/override/{index}"),
                &format!("schema of `{profile}` is replaced: shipped digest {old}, digest in force {new}"),
            );
        }
    }
    Some(schemas)
}

/// Whether a profile has a schema; reports it when not. Without schemas nothing is known and nothing is said.
pub(super) fn known(
    id: &raw::Id,
    pointer: &str,
    key: &str,
    schemas: Option<&Schemas>,
    report: &mut Report<'_>,
) -> bool {
    let Some(schemas) = schemas else { return true };
    let known = schemas.knows(&id.0);
    if !known {
        let profiles = schemas.profiles();
        let near = did_you_mean(&id.0, profiles.iter().copied());
        let list = if near.is_none() {
            listed(&profiles)
        } else {
            String::new()
        };
        report.near(
            pointer,
            &format!("`{key}`: expected a profile that has a schema{list}"),
            near,
        );
    }
    known
}

/// The profiles that a person may choose from, as far as a line has room.
fn listed(profiles: &[&str]) -> String {
    let shown: Vec<String> = profiles.iter().take(SHOWN).map(|id| format!("`{id}`")).collect();
    let rest = match profiles.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(", such as {}{rest}", shown.join(", "))
}

/// Takes the files; when one cannot be taken, leaves it out and tries the rest, so that all mistakes are seen.
fn with_files(files: &[(String, String)], overrides: &[String], report: &mut Report<'_>) -> Option<Schemas> {
    let mut files = files.to_vec();
    // A profile whose file is not there, or was refused, is told already.
    let named = |files: &[(String, String)]| -> Vec<String> {
        let has_file = |id: &&String| files.iter().any(|(profile, _)| profile == *id);
        overrides.iter().filter(has_file).cloned().collect()
    };
    let mut whole = true;
    loop {
        match Schemas::with(&files, &named(&files)) {
            Ok(schemas) => return whole.then_some(schemas),
            Err(error) => {
                whole = false;
                report.value("/schemas/dir", &format!("`dir`: {error}"));
                let before = files.len();
                files.retain(|(profile, _)| *profile != error.profile);
                if files.len() == before {
                    return None;
                }
            }
        }
    }
}
