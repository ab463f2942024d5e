//! `portcullis seal MESSAGE`: puts the checksum of contract §7 into a message, and with `--key` a signature.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::Exit;
use super::offline::{Bench, Means, form, read_message};
use super::report;
use super::screen::{Format, Screen};
use crate::clock::Clock;
use crate::decide;
use crate::message::envelope::{Envelope, Form, Message};
use crate::message::json::{self, Bounds, Kind, Member, Node, Span, minified};
use crate::message::profile::Schemas;
use crate::message::{canonical, keyless};
use crate::trust::sign::SigningKey;

/// What `seal` is asked.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The message file; `-` is standard input. An array is read as keyless, and printed as such.
    message: PathBuf,
    /// Also sign it, with the private key in this JWK file.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Where the signature goes. Default: `sender` for a delivery envelope, else `reference`.
    #[arg(long, value_enum, requires = "key")]
    place: Option<Place>,
    /// The one audience that the signature is good for: a route's absolute URL or an agent id.
    #[arg(long, value_name = "URL|ID", requires = "key")]
    aud: Option<String>,
    /// Sign as of this time (RFC 3339) instead of now.
    #[arg(long, value_name = "TIME", requires = "key")]
    at: Option<Timestamp>,
    /// The policy whose schema files give the order of further profiles in the keyless form.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

/// Where a signature goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Place {
    /// The header field `UAI-Signature`, printed on a line of its own after the message.
    Header,
    /// `trust.signature_ref`, as `data:application/jose,…`: it travels with the record.
    Reference,
    /// `sender.signature` of a delivery envelope.
    Sender,
}

/// What a message is signed with.
pub struct Signature<'a> {
    /// The key.
    pub key: &'a SigningKey,
    /// Where it goes; the usual place of the envelope without one.
    pub place: Option<Place>,
    /// `aud`.
    pub audience: Option<&'a str>,
    /// `iat`.
    pub at: Timestamp,
}

/// A sealed message; with `--output json` this is what is printed.
#[derive(Debug, Serialize)]
pub struct Sealed {
    /// Its text, in one line, in the form in which it came.
    pub message: String,
    /// SHA-256 of its canonical bytes, 64 lowercase hex digits.
    pub digest: String,
    /// The value of `UAI-Signature`, when the signature goes there.
    pub uai_signature: Option<String>,
}

/// The field of [`Place::Header`].
pub const FIELD: &str = "UAI-Signature";

/// What a signature in `trust.signature_ref` begins with.
const REFERENCE: &str = "data:application/jose,";

/// `typ` of the signature of a message.
const TYP: &str = "uai-message+jws";

/// The longest `sender.signature` (contract §2.4).
const SENDER_MAX: usize = 512;

/// Prints the sealed message in one line, then, for `--place header`, the field in another. Nothing is judged but what
/// the seal needs.
pub fn run(arguments: &Arguments, screen: &mut Screen) -> io::Result<Exit> {
    let bench = match Bench::set_up(&Means::of(arguments.policy.clone()), screen)? {
        Ok(bench) => bench,
        Err(exit) => return Ok(exit),
    };
    let key = match arguments.key.as_deref().map(|file| (file, SigningKey::load(file))) {
        None => None,
        Some((_, Ok(key))) => Some(key),
        Some((file, Err(error))) => {
            screen.trouble(&format!("error: {} {}", file.display(), super::chain(&error)))?;
            return Ok(Exit::CouldNotRun);
        }
    };
    let bytes = match read_message(&arguments.message) {
        Ok(bytes) => bytes,
        Err(error) => {
            screen.trouble(&format!("error: {error}"))?;
            return Ok(Exit::CouldNotRun);
        }
    };
    let envelopes = [Envelope::Canonical, Envelope::Delivery];
    let message = match decide::read(&bytes, bench.policy(), form(&bytes), &envelopes) {
        Ok(message) => message,
        Err(refusal) => return report::refused(refusal.findings(), screen),
    };
    let signature = key.as_ref().map(|key| Signature {
        key,
        place: arguments.place,
        audience: arguments.aud.as_deref(),
        at: arguments.at.unwrap_or_else(|| Clock::system().now()),
    });
    match seal_message(message, &bench.policy().schemas, signature.as_ref()) {
        Ok(sealed) => print(&sealed, screen),
        Err(problem) => {
            screen.trouble(&format!("error: {problem}"))?;
            Ok(Exit::Refused)
        }
    }
}

fn print(sealed: &Sealed, screen: &mut Screen) -> io::Result<Exit> {
    match screen.format {
        Format::Json => screen.json(sealed)?,
        Format::Text => {
            screen.line(&sealed.message)?;
            if let Some(field) = &sealed.uai_signature {
                screen.line(&format!("{FIELD}: {field}"))?;
            }
        }
    }
    Ok(Exit::Fine)
}

/// Seals a message: the checksum of a canonical envelope, and the signature where it goes.
///
/// # Errors
/// Why the message cannot hold them, in words.
pub fn seal_message(
    message: Message<'_>,
    schemas: &Schemas,
    signature: Option<&Signature<'_>>,
) -> Result<Sealed, String> {
    let (envelope, form, digest) = (message.envelope(), message.form(), message.digest().to_owned());
    let place = signature.map(|signature| signature.place.unwrap_or(usual(envelope)));
    let jws = match signature {
        Some(signature) => {
            let made = signature
                .key
                .sign_detached(TYP, signature.at, signature.audience, message.canonical());
            Some(made.map_err(|error| format!("the signature {error}"))?)
        }
        None => None,
    };
    let mut root = message.into_root();
    let mut field = None;
    match envelope {
        Envelope::Canonical => {
            put(&mut root, "integrity", "checksum", format!("sha256:{digest}"))?;
            match (place, jws) {
                (None, _) | (_, None) => {}
                (Some(Place::Header), Some(jws)) => {
                    if reference(&root).is_some_and(|text| text.starts_with(REFERENCE)) {
                        take(&mut root, "trust", "signature_ref");
                    }
                    field = Some(jws);
                }
                (Some(Place::Reference), Some(jws)) => {
                    if reference(&root).is_some_and(|text| !text.starts_with(REFERENCE)) {
                        return Err(
                            "`trust.signature_ref` holds a URL, which is signed itself: use --place header".to_owned(),
                        );
                    }
                    put(&mut root, "trust", "signature_ref", format!("{REFERENCE}{jws}"))?;
                }
                (Some(Place::Sender), Some(_)) => {
                    return Err("--place sender is for a delivery envelope".to_owned());
                }
            }
        }
        Envelope::Delivery => match (place, jws) {
            (Some(Place::Sender), Some(jws)) => {
                if jws.len() > SENDER_MAX {
                    return Err(format!(
                        "the signature is longer than the {SENDER_MAX} characters of `sender.signature`"
                    ));
                }
                put(&mut root, "sender", "signature", jws)?;
            }
            (Some(Place::Header | Place::Reference), _) => {
                return Err("the signature of a delivery envelope goes to `sender`".to_owned());
            }
            (_, None) | (None, _) => {
                return Err(
                    "a delivery envelope has no checksum; it is sealed by its signature: give --key".to_owned(),
                );
            }
        },
    }
    let text = match form {
        Form::Keyed => minified(&root),
        Form::Keyless => {
            let flat = keyless::flatten(root, schemas).map_err(|finding| finding.detail.into_owned())?;
            minified(&flat)
        }
    };
    Ok(Sealed {
        message: String::from_utf8_lossy(&text).into_owned(),
        digest,
        uai_signature: field,
    })
}

const fn usual(envelope: Envelope) -> Place {
    match envelope {
        Envelope::Canonical => Place::Reference,
        Envelope::Delivery => Place::Sender,
    }
}

fn reference<'n>(root: &'n Node<'_>) -> Option<&'n str> {
    root.get("trust")?.get("signature_ref")?.text()
}

/// The members of an object of the envelope.
fn object<'n, 'a>(root: &'n mut Node<'a>, name: &str) -> Option<&'n mut Vec<Member<'a>>> {
    let Kind::Object(members) = &mut root.kind else {
        return None;
    };
    let member = members.iter_mut().find(|member| member.name == name)?;
    match &mut member.value.kind {
        Kind::Object(members) => Some(members),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) | Kind::Array(_) => None,
    }
}

fn put(root: &mut Node<'_>, parent: &str, name: &'static str, text: String) -> Result<(), String> {
    let members = object(root, parent).ok_or_else(|| format!("expected `{parent}` to be an object"))?;
    let span = Span { start: 0, end: 0 };
    let value = Node {
        span,
        kind: Kind::String(Cow::Owned(text)),
    };
    match members.iter_mut().find(|member| member.name == name) {
        Some(member) => member.value = value,
        None => members.push(Member {
            name: Cow::Borrowed(name),
            at: 0,
            value,
        }),
    }
    Ok(())
}

fn take(root: &mut Node<'_>, parent: &str, name: &str) {
    if let Some(members) = object(root, parent) {
        members.retain(|member| member.name != name);
    }
}

/// A message that this program makes, with `integrity.checksum` of its canonical bytes; unchanged when it has no
/// `integrity`.
pub fn seal(mut message: Value) -> Value {
    let bytes = message.to_string();
    if let Ok(root) = json::read(bytes.as_bytes(), &Bounds::default())
        && let Some(integrity) = message.get_mut("integrity").and_then(Value::as_object_mut)
    {
        let checksum = format!("sha256:{}", canonical::digest(&root));
        integrity.insert("checksum".to_owned(), json!(checksum));
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealing_twice_changes_nothing() {
        let sealed = seal(json!({"integrity": {"version": 1}, "a": [1]}));
        assert_eq!(seal(sealed.clone()), sealed);
        let checksum = sealed.pointer("/integrity/checksum").and_then(Value::as_str).unwrap();
        assert_eq!(checksum.len(), "sha256:".len() + 64);
        assert_eq!(seal(json!({})), json!({}));
    }
}
