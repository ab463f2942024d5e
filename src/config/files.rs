//! The policy file and what it names, read once: what was hashed is what is built.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256};

use super::mistake::{Mistake, Mistakes};
use super::tree::{self, MAX_BYTES, Node};
use crate::trust::sign::SigningKey;

/// Schema files in one directory.
const MAX_FILES: usize = 256;

/// Everything that was read for one attempt.
pub(super) struct Gathered {
    /// File name as given.
    pub name: String,
    /// Text of the policy; empty when it could not be read.
    pub text: String,
    /// The tree, when there is one.
    pub tree: Option<Node>,
    /// What the reading already found.
    pub mistakes: Vec<Mistake>,
    /// Directory of the policy file; `None` when no file may be read.
    pub base: Option<PathBuf>,
    /// Schema files by profile id, sorted; or what is wrong with the directory or a file.
    pub schemas: Result<Vec<(String, String)>, String>,
    /// Whether certificate and key can be read, as far as they are named.
    pub tls_readable: [Option<bool>; 2],
    /// Why the signing key cannot be used, when one is named that cannot.
    pub signing_key: Option<String>,
}

/// Reads the policy and what it names.
pub(super) fn gather(path: &Path) -> Gathered {
    let name = path.display().to_string();
    let base = path.parent().map(Path::to_path_buf).unwrap_or_default();
    match read_text(path) {
        Ok(text) => from(name, text, Some(base)),
        Err(problem) => Gathered {
            mistakes: Mistakes::unreadable(&name, &format!("the policy {problem}")).mistakes,
            name,
            text: String::new(),
            tree: None,
            base: Some(base),
            schemas: Ok(Vec::new()),
            tls_readable: [None, None],
            signing_key: None,
        },
    }
}

/// A policy as text, with no file behind it.
pub(super) fn text_only(name: &str, text: &str) -> Gathered {
    if text.len() > MAX_BYTES {
        return Gathered {
            mistakes: Mistakes::unreadable(name, "the policy is larger than 1 MiB").mistakes,
            ..from(name.to_owned(), String::new(), None)
        };
    }
    from(name.to_owned(), text.to_owned(), None)
}

impl Gathered {
    /// SHA-256 of the policy text, followed by name and content of each schema file with a zero byte before each, in
    /// lowercase hex. Without schema files it is what `sha256sum` says of the policy.
    pub fn revision(&self) -> String {
        let mut hash = Context::new(&SHA256);
        hash.update(self.text.as_bytes());
        for (profile, text) in self.schemas.iter().flatten() {
            for part in [profile, text] {
                hash.update(&[0]);
                hash.update(part.as_bytes());
            }
        }
        hex(hash.finish().as_ref())
    }

    /// Changes when anything changes that an attempt depends on, what is wrong with it included.
    pub fn fingerprint(&self) -> String {
        let problem = self.schemas.as_ref().err();
        let mistakes: Vec<&str> = self.mistakes.iter().map(|mistake| mistake.message.as_str()).collect();
        let revision = self.revision();
        format!(
            "{revision} {problem:?} {mistakes:?} {:?} {:?}",
            self.tls_readable, self.signing_key
        )
    }

    /// Whether this is what a policy of that revision was built from.
    pub fn is_revision(&self, revision: &str) -> bool {
        self.tree.is_some() && self.schemas.is_ok() && self.revision() == revision
    }

    /// The directories in which a change of these files can show: those named, and those behind links.
    pub fn directories(&self, path: &Path) -> Vec<PathBuf> {
        let schemas = self.tree.as_ref().and_then(|tree| tree.find("/schemas/dir")?.text());
        let schemas = schemas.and_then(|dir| self.resolve(dir));
        let links = [Some(path.to_owned()), schemas.clone()];
        let real: Vec<PathBuf> = links
            .iter()
            .flatten()
            .filter_map(|link| fs::canonicalize(link).ok())
            .collect();
        let mut directories: Vec<PathBuf> = links
            .iter()
            .flatten()
            .chain(&real)
            .filter_map(|path| path.parent())
            .map(|parent| {
                if parent.as_os_str().is_empty() {
                    Path::new(".")
                } else {
                    parent
                }
            })
            .map(Path::to_path_buf)
            .chain(schemas)
            .collect();
        directories.sort();
        directories.dedup();
        directories
    }

    /// A path of the policy, relative to the policy file.
    pub fn resolve(&self, path: &str) -> Option<PathBuf> {
        self.base.as_ref().map(|base| base.join(path))
    }
}

fn from(name: String, text: String, base: Option<PathBuf>) -> Gathered {
    let (tree, mistakes) = tree::parse(&text);
    let named = |pointer: &str| {
        let path = tree.as_ref()?.find(pointer)?.text()?;
        Some(base.as_ref()?.join(path))
    };
    let readable = |pointer: &str| named(pointer).map(|path| read_bytes(&path).is_ok_and(|bytes| !bytes.is_empty()));
    Gathered {
        schemas: named("/schemas/dir").map_or(Ok(Vec::new()), |dir| schema_files(&dir)),
        tls_readable: [readable("/tls/certificate"), readable("/tls/key")],
        signing_key: named("/signing_key").and_then(|path| Some(SigningKey::load(&path).err()?.to_string())),
        name,
        text,
        tree,
        mistakes,
        base,
    }
}

/// `<profile id>.json` files of a directory. Names that begin with a dot are left out: Kubernetes keeps its links there.
fn schema_files(dir: &Path) -> Result<Vec<(String, String)>, String> {
    let entries = fs::read_dir(dir).map_err(|error| format!("the directory {}", words(error.kind())))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| format!("the directory {}", words(error.kind())))?;
        let name = entry
            .file_name()
            .into_string()
            .map_err(|_| "a file name is not UTF-8".to_owned())?;
        if let Some(profile) = name.strip_suffix(".json").filter(|name| !name.starts_with('.')) {
            names.push(profile.to_owned());
        }
    }
    if names.len() > MAX_FILES {
        return Err(format!("expected at most {MAX_FILES} schema files"));
    }
    names.sort();
    names
        .into_iter()
        .map(|profile| match read_text(&dir.join(format!("{profile}.json"))) {
            Ok(text) => Ok((profile, text)),
            Err(problem) => Err(format!("the file `{}.json` {problem}", tree::shown(&profile))),
        })
        .collect()
}

/// The text of a file of at most 1 MiB, or what is wrong with it as the rest of a sentence.
fn read_text(path: &Path) -> Result<String, String> {
    let bytes = read_bytes(path).map_err(|error| words(error.kind()).to_owned())?;
    if bytes.len() > MAX_BYTES {
        return Err("is larger than 1 MiB".to_owned());
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err("is empty".to_owned());
    }
    String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())
}

/// At most one byte more than is taken, so that a large file is seen to be large without being read.
fn read_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        // A pipe would block for ever.
        return Err(ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    fs::File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn words(kind: ErrorKind) -> &'static str {
    if kind == ErrorKind::NotFound {
        "does not exist"
    } else if kind == ErrorKind::PermissionDenied {
        "may not be read"
    } else {
        "cannot be read"
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
