//! One section a profile: its members in order, their types, and who defined it.

use portcullis::message::json::{self, Bounds, Kind, Node};
use portcullis::message::profile::Schemas;

const HEAD: &str = "# Profiles

What a message's `body` can be. Members stand in the order of the keyless form. This page is made from the schemas in the binary;
`portcullis schema ID` prints one. No profile takes a member that is not listed. A member that is not required may also be `null`.

Where a profile comes from: *published* by uaix.org; *from the multi-agent contract*, an early document of the standard; *ours*, where both
name a profile and tell no body.
";

/// Who defined the body of each profile (contract §3).
const SOURCES: &[(&str, &str)] = &[
    ("uai.agent.ack.v1", SEED),
    ("uai.agent.blocker.v1", PUBLISHED),
    ("uai.agent.correction.v1", OURS),
    ("uai.agent.final-report.v1", PUBLISHED),
    ("uai.agent.handoff.v1", PUBLISHED),
    ("uai.agent.memory-proposal.v1", PUBLISHED),
    ("uai.agent.message.v1", SEED),
    ("uai.agent.task-status.v1", OURS),
    ("uai.capability.negotiation.v1", SEED),
    (
        "uai.capability.profile.v1",
        "from the multi-agent contract, published in part",
    ),
    ("uai.capability.statement.v1", OURS),
    ("uai.conformance.result.v1", OURS),
    ("uai.error.v1", OURS),
    ("uai.intent.request.v1", OURS),
    ("uai.intent.response.v1", OURS),
    ("uai.task.status.v1", OURS),
    ("uaix.ability-profile.v1", PUBLISHED),
    ("uaix.authority-boundary.v1", OURS),
    ("uaix.memory-firewall-policy.v1", OURS),
    ("uaix.receiver-brief.v1", "its duties published, its members ours"),
    ("uaix.startup-packet.v1", OURS),
    ("uaix.suspension-packet.v1", OURS),
];
const PUBLISHED: &str = "published";
const SEED: &str = "from the multi-agent contract";
const OURS: &str = "ours";

pub fn page() -> String {
    let profiles: Vec<&str> = Schemas::shipped().collect();
    let sources: Vec<&str> = SOURCES.iter().map(|(profile, _)| *profile).collect();
    assert_eq!(profiles, sources, "every profile has a source");
    let mut page = HEAD.to_owned();
    for (profile, source) in SOURCES {
        let text = Schemas::shipped_text(profile).unwrap();
        let schema = json::read(text.as_bytes(), &Bounds::default()).unwrap();
        let description = schema.get("description").and_then(Node::text).unwrap();
        page.push_str(&format!(
            "\n## `{profile}`\n\n{description} Source: {source}.\n\n| member | required | type |\n|---|---|---|\n"
        ));
        for (name, required, kind) in members(&schema, &schema) {
            let required = if required { "yes" } else { "" };
            page.push_str(&format!("| `{name}` | {required} | {kind} |\n"));
        }
    }
    page
}

/// The members of an object's schema: name, whether it is required, its type in words.
fn members(schema: &Node<'_>, root: &Node<'_>) -> Vec<(String, bool, String)> {
    let required = schema.get("required").and_then(Node::elements).unwrap_or_default();
    let properties = schema.get("properties").and_then(Node::members).unwrap();
    properties
        .iter()
        .map(|member| {
            let is_required = required.iter().any(|name| name.text() == Some(&*member.name));
            (member.name.to_string(), is_required, words(&member.value, root))
        })
        .collect()
}

/// A type in words; panics at what it has no words for, so that nothing is left out silently.
fn words(schema: &Node<'_>, root: &Node<'_>) -> String {
    if let Kind::Bool(true) = schema.kind {
        return "any value".to_owned();
    }
    if let Some(reference) = schema.get("$ref").and_then(Node::text) {
        let name = reference.strip_prefix("#/$defs/").unwrap();
        return match name.trim_start_matches("nullable_") {
            "id" => "id".to_owned(),
            _ => words(root.get("$defs").unwrap().get(name).unwrap(), root),
        };
    }
    if let Some(allowed) = schema.get("enum").and_then(Node::elements) {
        let allowed: Vec<String> = allowed
            .iter()
            .map(|word| format!("`{}`", word.text().unwrap()))
            .collect();
        return format!("one of {}", allowed.join(", "));
    }
    if let Some(constant) = schema.get("const") {
        return match constant.kind {
            Kind::Bool(value) => format!("`{value}`"),
            _ => format!("`{}`", constant.text().unwrap()),
        };
    }
    let types: Vec<&str> = match schema.get("type").map(|kind| &kind.kind) {
        Some(Kind::Array(types)) => types
            .iter()
            .filter_map(Node::text)
            .filter(|kind| *kind != "null")
            .collect(),
        Some(Kind::String(kind)) => vec![kind],
        _ => panic!("a schema without a type"),
    };
    let words: Vec<String> = types.iter().map(|kind| of_type(kind, schema, root)).collect();
    words.join(", or ")
}

fn of_type(kind: &str, schema: &Node<'_>, root: &Node<'_>) -> String {
    let number = |name: &str| schema.get(name).and_then(Node::number).map(|number| number.value);
    match kind {
        "string" => match schema.get("format").and_then(Node::text) {
            Some("date-time") => "time, UTC".to_owned(),
            Some("uri") => "URI".to_owned(),
            Some("https-uri") => "https URI".to_owned(),
            Some("json-pointer") => "JSON Pointer".to_owned(),
            Some(other) => panic!("no words for the format {other}"),
            None => "text".to_owned(),
        },
        "array" => {
            let least = number("minItems").map(|least| format!(", at least {least}"));
            format!(
                "array of {}{}",
                words(schema.get("items").unwrap(), root),
                least.unwrap_or_default()
            )
        }
        "integer" | "number" => {
            let kind = if kind == "integer" { "integer" } else { "number" };
            match (number("minimum"), number("maximum")) {
                (Some(least), Some(most)) => format!("{kind}, {least} to {most}"),
                (Some(least), None) => format!("{kind}, at least {least}"),
                (None, Some(_)) => panic!("no words for a maximum alone"),
                (None, None) => kind.to_owned(),
            }
        }
        "boolean" => "true or false".to_owned(),
        "object" => object(schema, root),
        other => panic!("no words for the type {other}"),
    }
}

fn object(schema: &Node<'_>, root: &Node<'_>) -> String {
    let closed = [Some(schema), schema.get("then")];
    let Some(closed) = closed
        .into_iter()
        .flatten()
        .find(|schema| schema.get("properties").is_some())
    else {
        return "any object".to_owned();
    };
    let members: Vec<String> = members(closed, root)
        .into_iter()
        .map(|(name, required, kind)| {
            let optional = if required { "" } else { "?" };
            format!("`{name}`{optional} {kind}")
        })
        .collect();
    format!("{{{}}}", members.join("; "))
}
