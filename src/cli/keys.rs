//! `portcullis keys new` makes a private key in a file of its own; `portcullis keys public` prints the public parts.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Exit;
use super::screen::{Format, Screen};
use crate::message::is_id;
use crate::policy::Algorithm;
use crate::trust::sign::{PrivateJwk, SigningKey, generate};

/// What `keys` is asked.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, clap::Subcommand)]
enum Act {
    /// Make a private key, write it to a new file that only its owner may open, and print its public part.
    New {
        /// What it signs with.
        #[arg(long, value_enum, ignore_case = true)]
        alg: Alg,
        /// Its name, an id. Default: made from its algorithm and its thumbprint.
        #[arg(long, value_name = "ID")]
        kid: Option<String>,
        /// The file; it must not exist.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Print a key set (JWKS) with the public parts of private keys.
    Public {
        /// Private JWK files.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Alg {
    #[value(name = "Ed25519")]
    Ed25519,
    #[value(name = "ES256")]
    Es256,
    #[value(name = "ES384")]
    Es384,
    #[value(name = "PS256")]
    Ps256,
    #[value(name = "RS256")]
    Rs256,
}

/// Makes a key, or prints public ones.
pub fn run(arguments: &Arguments, screen: &mut Screen) -> io::Result<Exit> {
    match &arguments.act {
        Act::New { alg, kid, out } => new(*alg, kid.as_deref(), out, screen),
        Act::Public { files } => public(files, screen),
    }
}

fn new(alg: Alg, kid: Option<&str>, out: &Path, screen: &mut Screen) -> io::Result<Exit> {
    if kid.is_some_and(|kid| !is_id(kid)) {
        screen.trouble("error: --kid: expected an id of 1 to 128 characters of A-Z a-z 0-9 . _ : / @ -")?;
        return Ok(Exit::Usage);
    }
    let algorithm = match alg {
        Alg::Ed25519 => Algorithm::Ed25519,
        Alg::Es256 => Algorithm::Es256,
        Alg::Es384 => Algorithm::Es384,
        Alg::Ps256 => Algorithm::Ps256,
        Alg::Rs256 => Algorithm::Rs256,
    };
    let made = generate(algorithm, kid).and_then(|made| {
        let key = SigningKey::parse(made.reveal().as_bytes())?;
        Ok((made, key))
    });
    let (made, key) = match made {
        Ok(made) => made,
        Err(error) => {
            screen.trouble(&format!("error: the key {}", super::chain(&error)))?;
            return Ok(Exit::CouldNotRun);
        }
    };
    if let Err(error) = keep(&made, out) {
        screen.trouble(&format!("error: {}: {error}", out.display()))?;
        return Ok(Exit::CouldNotRun);
    }
    print(&key.public_jwk(), screen)?;
    Ok(Exit::Fine)
}

/// Writes a file that did not exist and that only its owner may open.
fn keep(made: &PrivateJwk, out: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(out)?;
    let written = file.write_all(made.reveal().as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        // Half a key is no key; it is this program's own file.
        drop(fs::remove_file(out));
    }
    written
}

fn public(files: &[PathBuf], screen: &mut Screen) -> io::Result<Exit> {
    let mut keys: Vec<SigningKey> = Vec::new();
    for file in files {
        match SigningKey::load(file) {
            Ok(key) if keys.iter().any(|other| other.kid() == key.kid()) => {
                screen.trouble(&format!(
                    "error: {}: expected a `kid` that no other key has",
                    file.display()
                ))?;
                return Ok(Exit::Refused);
            }
            Ok(key) => keys.push(key),
            Err(error) => {
                screen.trouble(&format!("error: {} {}", file.display(), super::chain(&error)))?;
                return Ok(Exit::CouldNotRun);
            }
        }
    }
    let keys: Vec<Value> = keys.iter().map(SigningKey::public_jwk).collect();
    print(&json!({"keys": keys}), screen)?;
    Ok(Exit::Fine)
}

fn print(value: &Value, screen: &mut Screen) -> io::Result<()> {
    match screen.format {
        Format::Json => screen.json(value),
        Format::Text => screen.line(&format!("{value:#}")),
    }
}
