//! The stops of the tour that are about signatures: delivery envelopes, signed with the published test keys.

use super::tour::Stop;
use crate::cli::conformance;
use crate::clock::Clock;
use crate::contract::Rule;

/// Where the fixture policy takes delivery envelopes.
const PATH: &str = "/v1/delivery";

/// What is sent, as a template of a conformance case, and the rule that has to refuse it.
const STOPS: &[(&str, &str, Option<Rule>)] = &[
    (
        "a delivery envelope, signed",
        r#"{"base":"delivery","set":{"/sender/signature":"{{sign:fixture-ed25519}}"}}"#,
        None,
    ),
    (
        "changed after it was signed",
        r#"{"base":"delivery","set":{"/sender/signature":"{{sign:fixture-ed25519}}"},
            "edits":[{"find":"A fixture","put":"a fixture"}]}"#,
        Some(Rule::SignatureWrong),
    ),
    (
        "signed with a key that nobody vouches for",
        r#"{"base":"delivery","set":{"/sender/signature":"{{sign:fixture-unknown}}"}}"#,
        Some(Rule::SignatureKeyUnknown),
    ),
];

/// These stops, as of now.
///
/// # Errors
/// A template that cannot be filled, which a test rules out.
pub fn stops(clock: &Clock) -> Result<Vec<Stop>, String> {
    let stop = |(what, body, refused_by): &(&'static str, &str, Option<Rule>)| {
        let template = format!(r#"{{"path":"{PATH}","body":{body}}}"#);
        Ok(Stop {
            what,
            path: PATH.to_owned(),
            body: conformance::body(&template, clock)?,
            refused_by: *refused_by,
        })
    };
    let mut stops: Vec<Stop> = STOPS.iter().map(stop).collect::<Result<_, String>>()?;
    let again = stops.first().map(|signed| Stop {
        what: "the signed envelope once more, byte for byte",
        refused_by: Some(Rule::ReplaySeen),
        ..signed.clone()
    });
    stops.extend(again);
    Ok(stops)
}
