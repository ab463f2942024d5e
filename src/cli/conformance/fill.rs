//! From template to bytes: times, ids, repetitions, the seal, and changes after it (contract §16, "Runner").
//!
//! `{{now}}`, `{{now+60s}}` and `{{now-60s}}` are times, `{{unix}}` is now in seconds, `{{uuid}}` one fresh UUID for the
//! whole case, `{{repeat:N:x}}` a text N times, `{{seal}}` the checksum of contract §7, `{{digest}}` its hex digits in an
//! expected header field, `{{sign:…}}` and `{{token:…}}` what `sign` makes.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use uuid::Uuid;

use super::case::{Body, Edit, Form, Request};
use super::sign::Keys;
use crate::message::json::{self, Bounds};
use crate::message::profile::Schemas;
use crate::message::{canonical, keyless};

/// What the templates of one case are filled with.
pub struct Filler<'a> {
    /// The time of all its requests.
    pub now: Timestamp,
    /// The id that makes its messages like no others.
    pub id: Uuid,
    /// The orders of the keyless form.
    pub schemas: &'a Schemas,
    /// What signs.
    pub keys: &'a Keys,
}

/// A request that can be sent.
#[derive(Debug, PartialEq, Eq)]
pub struct Filled {
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Header fields.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The digest of the message before it was changed, when it was sealed.
    pub digest: Option<String>,
}

/// Messages that break the bounds are sealed too.
const WIDE: Bounds = Bounds {
    depth: 128,
    string: usize::MAX,
    members: usize::MAX,
    elements: usize::MAX,
    values: usize::MAX,
};

/// The messages that cases begin with.
const BASES: &[(&str, &str)] = &[
    (
        "final-report",
        include_str!("../../../tests/conformance/base/final-report.json"),
    ),
    (
        "memory-proposal",
        include_str!("../../../tests/conformance/base/memory-proposal.json"),
    ),
    (
        "delivery",
        include_str!("../../../tests/conformance/base/delivery.json"),
    ),
];

impl Filler<'_> {
    /// The request of a template.
    ///
    /// # Errors
    /// What in it cannot be filled.
    pub fn request(&self, template: &Request) -> Result<Filled, String> {
        let Sealed {
            bytes: body,
            digest,
            canonical,
        } = match &template.body {
            Some(body) => self.body(body)?,
            None => Sealed::default(),
        };
        let mut headers = Vec::new();
        if template.body.is_some() && !template.headers.contains_key("content-type") {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        for (name, value) in &template.headers {
            let value = self.keys.sign(&self.text(value)?, canonical.as_deref(), self.now)?;
            headers.push((name.clone(), value));
        }
        Ok(Filled {
            method: template.method.clone(),
            path: self.text(&template.path)?,
            headers,
            body,
            digest,
        })
    }

    fn body(&self, template: &Body) -> Result<Sealed, String> {
        let text = match (&template.text, &template.base) {
            (Some(text), None) => text.clone(),
            (None, Some(base)) => {
                let (_, text) = BASES.iter().find(|(name, _)| name == base).ok_or("no such base")?;
                let mut message: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
                for (pointer, value) in &template.set {
                    put(&mut message, pointer, value.clone())?;
                }
                for pointer in &template.remove {
                    take(&mut message, pointer)?;
                }
                message.to_string()
            }
            (Some(_), Some(_)) | (None, None) => return Err("expected either `base` or `text`".to_owned()),
        };
        let (text, digest) = seal(self.text(&text)?)?;
        let canonical = canonical_bytes(&text);
        let text = self.keys.sign(&text, canonical.as_deref(), self.now)?;
        let mut bytes = match template.form {
            Form::Keyed => text.into_bytes(),
            Form::Keyless => self.keyless(&text)?,
        };
        for edit in &template.edits {
            self.edit(&mut bytes, edit)?;
        }
        Ok(Sealed {
            bytes,
            digest,
            canonical,
        })
    }

    /// A text with everything filled in but the seal.
    fn text(&self, template: &str) -> Result<String, String> {
        let mut filled = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) = after.split_once("}}").ok_or("expected `}}` after `{{`")?;
            filled.push_str(before);
            filled.push_str(&self.value(name)?);
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn value(&self, name: &str) -> Result<String, String> {
        let unknown = || format!("this runner cannot fill {{{{{name}}}}}");
        match name {
            "seal" => return Ok(SEAL.to_owned()),
            "uuid" => return Ok(self.id.to_string()),
            "unix" => return Ok(self.now.as_second().to_string()),
            _ => {}
        }
        if name.starts_with("sign:") {
            // Filled in once the text to sign is known.
            return Ok(format!("{{{{{name}}}}}"));
        }
        if let Some(subject) = name.strip_prefix("token:") {
            return self.keys.token(subject, &self.id.to_string(), self.now);
        }
        if let Some(moved) = name.strip_prefix("now") {
            let seconds = match moved {
                "" => 0,
                moved => moved
                    .strip_suffix('s')
                    .and_then(|moved| moved.parse::<i64>().ok())
                    .ok_or_else(unknown)?,
            };
            let moved = self.now.checked_add(SignedDuration::from_secs(seconds));
            let moved = moved.map_err(|error| error.to_string())?;
            return Ok(moved.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        }
        let (times, text) = name
            .strip_prefix("repeat:")
            .and_then(|repeat| repeat.split_once(':'))
            .ok_or_else(unknown)?;
        Ok(text.repeat(times.parse().map_err(|_| unknown())?))
    }

    fn keyless(&self, text: &str) -> Result<Vec<u8>, String> {
        let root = json::read(text.as_bytes(), &WIDE).map_err(|finding| finding.detail.into_owned())?;
        let keyless = keyless::flatten(root, self.schemas).map_err(|finding| finding.detail.into_owned())?;
        Ok(json::minified(&keyless))
    }

    fn edit(&self, bytes: &mut Vec<u8>, edit: &Edit) -> Result<(), String> {
        let mut put = self.text(&edit.put)?.into_bytes();
        put.extend(hex(&edit.hex)?);
        let Some(find) = &edit.find else {
            bytes.extend(put);
            return Ok(());
        };
        let at = bytes
            .windows(find.len().max(1))
            .position(|window| window == find.as_bytes())
            .ok_or("a text that an edit looks for is not there")?;
        bytes.splice(at..at.saturating_add(find.len()), put);
        Ok(())
    }
}

/// A body, and what was made of it before it was changed.
#[derive(Default)]
struct Sealed {
    bytes: Vec<u8>,
    /// Its digest, when it was sealed.
    digest: Option<String>,
    /// What a signature of it is over, when it is a message.
    canonical: Option<Vec<u8>>,
}

/// The canonical bytes of contract §7 of a message in its keyed form; none of what is no JSON.
fn canonical_bytes(text: &str) -> Option<Vec<u8>> {
    let root = json::read(text.as_bytes(), &WIDE).ok()?;
    Some(match root.get("version") {
        Some(_) => canonical::delivery_bytes(&root),
        None => canonical::canonical_bytes(&root),
    })
}

/// What stands in a filled text where the checksum comes; it stays itself when the text is filled again.
const SEAL: &str = "{{seal}}";

/// Puts the checksum of contract §7 where it belongs; also the digest, when there was such a place.
fn seal(text: String) -> Result<(String, Option<String>), String> {
    if !text.contains(SEAL) {
        return Ok((text, None));
    }
    let root = json::read(text.as_bytes(), &WIDE).map_err(|finding| finding.detail.into_owned())?;
    let digest = canonical::digest(&root);
    Ok((text.replace(SEAL, &format!("sha256:{digest}")), Some(digest)))
}

/// Puts a member in; its parent has to be there.
fn put(message: &mut Value, pointer: &str, value: Value) -> Result<(), String> {
    let (object, name) = parent(message, pointer)?;
    object.insert(name.to_owned(), value);
    Ok(())
}

fn take(message: &mut Value, pointer: &str) -> Result<(), String> {
    let (object, name) = parent(message, pointer)?;
    object.remove(name).map(drop).ok_or(format!("{pointer} is not there"))
}

fn parent<'v, 'p>(
    message: &'v mut Value,
    pointer: &'p str,
) -> Result<(&'v mut serde_json::Map<String, Value>, &'p str), String> {
    let (parent, name) = pointer.rsplit_once('/').ok_or("expected a JSON Pointer")?;
    let object = message.pointer_mut(parent).and_then(Value::as_object_mut);
    Ok((object.ok_or(format!("{parent} is no object"))?, name))
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    text.as_bytes()
        .chunks(2)
        .map(|pair| {
            let pair = str::from_utf8(pair).map_err(|error| error.to_string())?;
            u8::from_str_radix(pair, 16).map_err(|error| error.to_string())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(body: &str) -> Result<Filled, String> {
        let schemas = Schemas::builtin().unwrap();
        let keys = Keys::published().unwrap();
        let filler = Filler {
            now: "2026-06-01T00:00:00Z".parse().unwrap(),
            id: Uuid::nil(),
            schemas: &schemas,
            keys: &keys,
        };
        let request = format!(r#"{{"path":"/{{{{uuid}}}}","body":{body}}}"#);
        filler.request(&serde_json::from_str(&request).unwrap())
    }

    fn text(body: &str) -> String {
        String::from_utf8(filled(body).unwrap().body).unwrap()
    }

    #[test]
    fn templates_are_filled() {
        assert_eq!(text(r#"{"text":"{{now}} {{now+60s}} {{now-1s}}"}"#).len(), 62);
        assert!(text(r#"{"text":"{{now-60s}}"}"#).ends_with("2026-05-31T23:59:00Z"));
        assert_eq!(text(r#"{"text":"{{repeat:3:ab}}{{unix}}"}"#), "ababab1780272000");
        assert_eq!(filled(r#"{"text":""}"#).unwrap().path, format!("/{}", Uuid::nil()));
    }

    #[test]
    fn what_nobody_knows_is_an_error() {
        for body in [
            r#"{"text":"{{sign:fixture-ed25519}}"}"#,
            r#"{"base":"delivery","set":{"/sender/signature":"{{sign:nobody}}"}}"#,
            r#"{"text":"{{now+60}}"}"#,
            r#"{"text":"{{now"}"#,
            r#"{"text":"{{seal}}"}"#,
            r#"{"base":"nothing"}"#,
            r#"{"base":"final-report","remove":["/nothing"]}"#,
            r#"{"base":"final-report","set":{"/nothing/here":1}}"#,
            r#"{"text":"a","edits":[{"find":"b"}]}"#,
            r#"{"text":"a","edits":[{"hex":"0"},{"hex":"zz"}]}"#,
        ] {
            assert!(filled(body).is_err(), "{body}");
        }
    }

    #[test]
    fn edits_follow_the_seal() {
        let plain = filled(r#"{"base":"final-report"}"#).unwrap();
        let changed =
            filled(r#"{"base":"final-report","edits":[{"find":"aligned","put":"Aligned","hex":"21"}]}"#).unwrap();
        assert!(plain.digest.is_some());
        assert_eq!(plain.digest, changed.digest);
        let changed = String::from_utf8(changed.body).unwrap();
        assert_eq!(changed.replace("Aligned!", "aligned").into_bytes(), plain.body);
    }

    /// A signature is over the message without it, also when it goes into the message.
    #[test]
    fn a_signature_is_over_the_message_and_not_over_itself() {
        let signed = |kid: &str| {
            let body = format!(r#"{{"base":"delivery","set":{{"/sender/signature":"{{{{sign:{kid}}}}}"}}}}"#);
            text(&body)
        };
        let (one, other) = (signed("fixture-ed25519"), signed("fixture-ed25519:not-canonical"));
        assert_ne!(one, other);
        assert_eq!(canonical_bytes(&one), canonical_bytes(&other));
        assert!(!one.contains("{{"), "{one}");
    }

    #[test]
    fn the_keyless_form_has_the_digest_of_the_keyed_one() {
        let keyed = filled(r#"{"base":"final-report"}"#).unwrap();
        let keyless = filled(r#"{"base":"final-report","form":"keyless"}"#).unwrap();
        assert_eq!(keyed.digest, keyless.digest);
        assert!(keyless.body.starts_with(b"["));
    }
}
