//! What a route declares about messages. Keys that have no meaning on a route are mistakes there.

use super::route::Around;
use super::{schemas, unique};
use crate::config::check::{Report, did_you_mean};
use crate::config::raw::{self, Takes};
use crate::message::envelope::{Envelope, KEYLESS_TYPE};
use crate::policy::{BackendView, Integrity, Messages, Payload};

/// Keys of a route that takes messages, and of the canonical envelope among them.
const KEYS: &[&str] = &["envelopes", "payload", "modes", "extensions", "backend_view"];
const CANONICAL_KEYS: &[&str] = &["profiles", "operations", "integrity", "relax_base"];

/// `None` on a route that takes none.
pub(super) fn declared(
    raw: &raw::Route,
    at: &str,
    media_types: &[String],
    around: &Around<'_>,
    report: &mut Report<'_>,
) -> Option<Messages> {
    match raw.takes {
        Some(Takes::Messages) => {}
        Some(Takes::Legacy | Takes::Read) => {
            let why = "expected only on a route with `takes: messages`";
            without(KEYS, at, why, report);
            without(CANONICAL_KEYS, at, why, report);
            return None;
        }
        None => {
            // What the route takes is mistaken; its words are looked at all the same.
            let envelopes = envelopes(raw, at, report);
            words(raw, &envelopes, at, around, report);
            return None;
        }
    }
    let envelopes = envelopes(raw, at, report);
    if envelopes.contains(&Envelope::Canonical) {
        needed("profiles", at, "the route takes canonical envelopes", report);
    } else {
        let why = "expected only on a route that takes canonical envelopes";
        without(CANONICAL_KEYS, at, why, report);
        if media_types.iter().any(|media_type| media_type == KEYLESS_TYPE) {
            let message =
                format!("`content_type`: expected no {KEYLESS_TYPE}, as only canonical envelopes have that form");
            report.value(&format!("{at}/content_type"), &message);
        }
    }
    needed("modes", at, "the route says `takes: messages`", report);
    words(raw, &envelopes, at, around, report);
    Some(Messages {
        payload: payload(raw, &envelopes, at, around, report),
        backend_view: backend_view(raw, at, media_types, report),
        profiles: ids(&raw.profiles),
        extensions: ids(&raw.extensions),
        modes: ids(&raw.modes),
        operations: ids(&raw.operations),
        envelopes,
        integrity: match raw.integrity {
            None | Some(raw::Integrity::Required) => Integrity::Required,
            Some(raw::Integrity::Declared) => Integrity::Declared,
        },
        relaxed_base: raw.relax_base.unwrap_or(false),
    })
}

fn ids(list: &Option<Vec<raw::Id>>) -> Vec<String> {
    list.iter().flatten().map(|id| id.0.clone()).collect()
}

/// Every word stands once in its list; profiles have a schema, and modes are known.
fn words(raw: &raw::Route, envelopes: &[Envelope], at: &str, around: &Around<'_>, report: &mut Report<'_>) {
    for (key, list) in [
        ("profiles", &raw.profiles),
        ("extensions", &raw.extensions),
        ("modes", &raw.modes),
        ("operations", &raw.operations),
    ] {
        unique(&ids(list), &format!("{at}/{key}"), key, report);
    }
    for (index, id) in raw.profiles.iter().flatten().enumerate() {
        let pointer = format!("{at}/profiles/{index}");
        schemas::known(id, &pointer, "profiles", around.schemas, report);
    }
    known_modes(&ids(&raw.modes), envelopes, at, around, report);
}

fn envelopes(raw: &raw::Route, at: &str, report: &mut Report<'_>) -> Vec<Envelope> {
    let envelopes: Vec<Envelope> = match &raw.envelopes {
        None => vec![Envelope::Canonical],
        Some(list) => list
            .iter()
            .map(|envelope| match envelope {
                raw::Envelope::Canonical => Envelope::Canonical,
                raw::Envelope::Delivery => Envelope::Delivery,
            })
            .collect(),
    };
    let names: Vec<String> = envelopes.iter().map(|envelope| envelope.name().to_owned()).collect();
    unique(&names, &format!("{at}/envelopes"), "envelopes", report);
    envelopes
}

/// The schema of the payload; a route that takes delivery envelopes says it in so many words.
fn payload(
    raw: &raw::Route,
    envelopes: &[Envelope],
    at: &str,
    around: &Around<'_>,
    report: &mut Report<'_>,
) -> Option<Payload> {
    if !envelopes.contains(&Envelope::Delivery) {
        let why = "expected only on a route that takes delivery envelopes";
        without(&["payload"], at, why, report);
        return None;
    }
    needed("payload", at, "the route takes delivery envelopes", report);
    let name = &raw.payload.as_ref()?.0;
    if name == "any" {
        return Some(Payload::Any);
    }
    let schemas = around.schemas?;
    if schemas.payload_digest(name).is_none() {
        let near = did_you_mean(name, schemas.profiles().into_iter().chain(["any", "ack"]));
        let message = "`payload`: expected `any`, `ack`, or the name of a schema in force";
        report.near(&format!("{at}/payload"), message, near);
        return None;
    }
    Some(Payload::Schema(name.clone()))
}

/// Every mode is a word of an envelope that the route takes.
fn known_modes(modes: &[String], envelopes: &[Envelope], at: &str, around: &Around<'_>, report: &mut Report<'_>) {
    let words: Vec<&String> = envelopes
        .iter()
        .flat_map(|envelope| around.vocabulary.modes(*envelope))
        .collect();
    for (index, mode) in modes.iter().enumerate() {
        if !words.contains(&mode) {
            let near = did_you_mean(mode, words.iter().map(|word| word.as_str()));
            let message = if envelopes == [Envelope::Delivery] {
                "`modes`: expected a word of the vocabulary's `delivery_mode`"
            } else {
                "`modes`: expected a word of the vocabulary's `mode`"
            };
            report.near(&format!("{at}/modes/{index}"), message, near);
        }
    }
}

fn backend_view(raw: &raw::Route, at: &str, media_types: &[String], report: &mut Report<'_>) -> BackendView {
    if raw.backend_view.is_some() && !media_types.iter().any(|media_type| media_type == KEYLESS_TYPE) {
        let message = format!("`backend_view`: expected only on a route whose `content_type` lists {KEYLESS_TYPE}");
        report.key(&format!("{at}/backend_view"), &message, None);
    }
    match raw.backend_view {
        None | Some(raw::BackendView::Received) => BackendView::Received,
        Some(raw::BackendView::Keyed) => BackendView::Keyed,
    }
}

fn needed(key: &str, at: &str, why: &str, report: &mut Report<'_>) {
    if report.is_missing(&format!("{at}/{key}")) {
        report.value(at, &format!("expected the key `{key}` here, as {why}"));
    }
}

fn without(keys: &[&str], at: &str, why: &str, report: &mut Report<'_>) {
    for key in keys {
        let pointer = format!("{at}/{key}");
        if report.is_written(&pointer) {
            report.key(&pointer, &format!("`{key}`: {why}"), None);
        }
    }
}
