//! The members that a problem document (RFC 9457) and the body of `uai.error.v1` share (contract §5).

use std::borrow::Cow;

use serde::Serialize;

use super::retry::{self, Retry};
use super::{Asked, status_here};
use crate::contract::{BackendOutcome, Finding, Outcome};
use crate::decide::Refusal;

/// What an answer says about a refusal.
pub(super) struct Problem<'a> {
    /// URL of the page about the code: absolute when the policy has a `public_url`.
    pub(super) page: String,
    /// https URL where a person decides; only for a No-Op.
    pub(super) review_url: Option<&'a str>,
    /// How to go on.
    pub(super) retry: Retry,
    refusal: &'a Refusal,
    status: u16,
    instance: String,
    evidence: Evidence<'a>,
    outcome: Option<BackendOutcome>,
}

/// The document as it is written; the two forms differ in `type`, `outcome`, `detail` and in which errors they list.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    page: Option<&'a str>,
    title: &'static str,
    status: u16,
    detail: Cow<'a, str>,
    instance: &'a str,
    code: &'static str,
    rule: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<&'static str>,
    errors: Vec<Entry<'a>>,
    retry: Retry,
    evidence: Evidence<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    no_op: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    review_url: Option<&'a str>,
}

#[derive(Clone, Copy, Serialize)]
struct Evidence<'a> {
    recorded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_digest: Option<&'a str>,
}

/// One finding; `pointer` is left out when it has no place in the document.
#[derive(Serialize)]
struct Entry<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<&'a str>,
    rule: &'static str,
    detail: &'a str,
}

impl<'a> Problem<'a> {
    pub(super) fn new(refusal: &'a Refusal, asked: &Asked<'a>) -> Self {
        let rule = refusal.rule();
        let outcome = matches!(refusal.outcome, Outcome::Unavailable).then_some(refusal.backend);
        let is_no_op = matches!(refusal.outcome, Outcome::NoOp);
        let public_url = asked.policy.public_url.as_deref().unwrap_or_default();
        Self {
            page: format!("{public_url}/.well-known/uai/problems/{}", rule.code().name()),
            review_url: asked
                .route
                .filter(|_route| is_no_op)
                .and_then(|route| route.human_review_url.as_deref()),
            retry: retry::of(rule, refusal.backend),
            refusal,
            status: status_here(rule, asked).as_u16(),
            instance: format!("urn:uuid:{}", asked.id),
            evidence: Evidence {
                recorded: asked.recorded,
                message_digest: asked.digest,
            },
            outcome,
        }
    }

    /// The problem document.
    pub(super) fn document(&self) -> Document<'_> {
        Document {
            page: Some(&self.page),
            detail: Cow::from(self.refusal.deciding.detail.as_ref()),
            outcome: self.outcome.map(BackendOutcome::name),
            errors: self.refusal.findings().map(entry).collect(),
            ..self.body()
        }
    }

    /// The body of a `uai.error.v1`: `outcome` stands in `detail`, and every error has a place.
    pub(super) fn body(&self) -> Document<'_> {
        let rule = self.refusal.rule();
        let deciding = self.refusal.deciding.detail.as_ref();
        let is_placed = |error: &Entry<'_>| error.pointer.is_some_and(|pointer| !pointer.is_empty());
        Document {
            page: None,
            title: rule.code().title(),
            status: self.status,
            detail: match self.outcome {
                Some(outcome) => Cow::from(format!("{deciding} (outcome: {})", outcome.name())),
                None => Cow::from(deciding),
            },
            instance: &self.instance,
            code: rule.code().name(),
            rule: rule.id(),
            trigger: rule.trigger().map(|trigger| trigger.name()),
            errors: self.refusal.findings().map(entry).filter(is_placed).collect(),
            retry: self.retry,
            evidence: self.evidence,
            outcome: None,
            no_op: matches!(self.refusal.outcome, Outcome::NoOp).then_some(true),
            review_url: self.review_url,
        }
    }
}

fn entry(finding: &Finding) -> Entry<'_> {
    Entry {
        pointer: finding.pointer.as_ref().map(|pointer| pointer.as_str()),
        rule: finding.rule.id(),
        detail: &finding.detail,
    }
}
