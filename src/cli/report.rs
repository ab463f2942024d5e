//! One judged message as one object: the same seven members wherever a verdict is printed.

use std::io;

use serde::Serialize;

use super::Exit;
use super::screen::Screen;
use crate::contract::{Finding, Outcome};
use crate::decide::Refusal;

/// What was decided about one message; absent members are `null` in JSON, the members in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The verdict word of contract §5.
    pub verdict: String,
    /// `ERR_…`; absent for allow.
    pub code: Option<String>,
    /// The rule that decided; absent for allow.
    pub rule: Option<String>,
    /// RFC 6901, where the deciding finding has a place.
    pub pointer: Option<String>,
    /// The HTTP status; absent for an allow without a backend.
    pub status: Option<u16>,
    /// The message id, once it could be read and has the shape of an id.
    pub message_id: Option<String>,
    /// SHA-256 of the canonical bytes, once stage 4 passed.
    pub digest: Option<String>,
}

impl Report {
    /// The report of a message judged without a backend.
    pub fn offline(refusal: Option<&Refusal>, message_id: Option<String>, digest: Option<String>) -> Self {
        let outcome = refusal.map_or(Outcome::Allow, |refusal| refusal.outcome);
        Self {
            verdict: outcome.name().to_owned(),
            code: refusal.map(|refusal| refusal.rule().code().name().to_owned()),
            rule: refusal.map(|refusal| refusal.rule().id().to_owned()),
            pointer: refusal.and_then(|refusal| refusal.deciding.pointer.as_ref().map(ToString::to_string)),
            status: refusal.map(|refusal| refusal.rule().status()),
            message_id,
            digest,
        }
    }

    /// Whether the message would be let through.
    pub fn is_allow(&self) -> bool {
        self.verdict == Outcome::Allow.name()
    }

    /// Verdict, status, code, rule and pointer in one line, absent ones left out.
    pub fn line(&self) -> String {
        let status = self.status.map(|status| status.to_string());
        let pointer = self.pointer.as_deref().map(place);
        [
            Some(&self.verdict),
            status.as_ref(),
            self.code.as_ref(),
            self.rule.as_ref(),
            pointer.as_ref(),
        ]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join("  ")
    }

    /// The same in columns, for several under each other.
    pub fn row(&self) -> String {
        let text = |member: &Option<String>| member.clone().unwrap_or_default();
        let status = self.status.map(|status| status.to_string()).unwrap_or_default();
        let (code, rule, pointer) = (text(&self.code), text(&self.rule), text(&self.pointer));
        let row = format!("{:<8}  {status:<3}  {code:<25}  {rule:<20}  {pointer}", self.verdict);
        row.trim_end().to_owned()
    }
}

/// Where in a message, for people.
pub fn place(pointer: &str) -> String {
    if pointer.is_empty() {
        "at the root".to_owned()
    } else {
        format!("at \"{pointer}\"")
    }
}

/// Prints why a message cannot be read, one line a finding.
pub fn refused<'f>(findings: impl IntoIterator<Item = &'f Finding>, screen: &mut Screen) -> io::Result<Exit> {
    for finding in findings {
        let place = finding
            .pointer
            .as_ref()
            .map(|pointer| format!(" {}", place(pointer.as_str())))
            .unwrap_or_default();
        screen.trouble(&format!("error: {}{place}: {}", finding.rule.id(), finding.detail))?;
    }
    Ok(Exit::Refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Pointer, Rule};

    #[test]
    fn absent_members_are_null() {
        let report = Report::offline(None, None, None);
        assert_eq!(
            serde_json::to_string(&report).unwrap(),
            r#"{"verdict":"allow","code":null,"rule":null,"pointer":null,"status":null,"message_id":null,"digest":null}"#
        );
        assert!(report.is_allow());
    }

    #[test]
    fn the_whole_message_is_the_root() {
        let finding = Finding::at(Rule::SchemaType, Pointer::root(), 0, "an object");
        let report = Report::offline(Some(&Refusal::new(finding)), None, None);
        assert_eq!(
            report.line(),
            "rejected  422  ERR_SCHEMA_VIOLATION  schema.type  at the root"
        );
    }

    #[test]
    fn a_refusal_is_one_line() {
        let finding = Finding::at(Rule::SchemaUndeclared, Pointer::root().member("extra"), 0, "undeclared");
        let report = Report::offline(Some(&Refusal::new(finding)), None, None);
        assert_eq!(
            report.line(),
            "rejected  422  ERR_SCHEMA_VIOLATION  schema.undeclared  at \"/extra\""
        );
        assert!(!report.is_allow());
    }
}
