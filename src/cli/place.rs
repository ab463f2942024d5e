//! A directory of its own with the fixture policy and what it names, for the demo and the conformance cases.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use crate::clock::Clock;

/// The policy, and the key sets of its issuers beside it.
const FILES: &[(&str, &str)] = &[
    ("fixture.yaml", include_str!("../../policies/fixture.yaml")),
    ("fixture-keys.json", include_str!("../../policies/fixture-keys.json")),
    (
        "fixture-tokens.json",
        include_str!("../../policies/fixture-tokens.json"),
    ),
];

/// The directory; removed when dropped.
pub struct Place {
    directory: PathBuf,
    /// The policy file in it.
    pub policy: PathBuf,
}

impl Place {
    /// Makes it, for this user alone.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(clock: &Clock) -> io::Result<Self> {
        let directory = std::env::temp_dir().join(format!("portcullis-{}", clock.id()));
        DirBuilder::new().mode(0o700).create(&directory)?;
        let place = Self {
            policy: directory.join("fixture.yaml"),
            directory,
        };
        for (name, text) in FILES {
            place.keep(name, text.as_bytes())?;
        }
        Ok(place)
    }

    /// Writes a file beside the policy.
    ///
    /// # Errors
    /// What the system says.
    pub fn keep(&self, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let path = self.directory.join(name);
        fs::write(&path, bytes)?;
        Ok(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A temporary directory that stays behind harms nobody.
        drop(fs::remove_dir_all(&self.directory));
    }
}
