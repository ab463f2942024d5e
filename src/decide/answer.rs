//! Stage 17: a backend's answer that claims to be UAI is judged too (contract §14, "The answer").

use crate::contract::{Finding, Rule, Stage};
use crate::facts::{Fact, Facts};
use crate::message::envelope::{Envelope, Form, Message};
use crate::policy::{Messages, Policy, Route};
use crate::rules::{Entry, Input, RULES};

/// Profiles that answer any request, whatever profile it asked for.
const ALWAYS_AN_ANSWER: [&str; 2] = ["uai.error.v1", "uai.agent.blocker.v1"];

/// What a request asked of its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// `message_id` of the request, when it carried a message.
    pub message_id: Option<String>,
    /// `delivery.expected_output_schema.profile`, when it was set.
    pub output_profile: Option<String>,
}

impl Question {
    /// What this message asks of its answer.
    pub fn of(message: &Message<'_>) -> Self {
        let own = |path: &[&str]| message.text(path).map(str::to_owned);
        Self {
            message_id: own(&["message_id"]),
            output_profile: own(&["delivery", "expected_output_schema", "profile"]),
        }
    }
}

/// Judges an answer in this form by stages 3, 4, 7 and 8 and by what the request asked.
///
/// # Errors
/// `backend.contract`, whose detail names the rule that the answer breaks.
pub fn answer(
    bytes: &[u8],
    form: Form,
    policy: &Policy,
    route: &Route,
    declared: &Messages,
    question: &Question,
) -> Result<(), Finding> {
    let message = super::read(bytes, policy, form, &[Envelope::Canonical]).map_err(|refusal| breaks(refusal.rule()))?;
    if !message.profile().is_some_and(|profile| policy.schemas.knows(profile)) {
        return Err(breaks(Rule::ProfileUnknown));
    }
    let facts = Facts::at(Fact::Unavailable);
    let input = Input {
        policy,
        route,
        declared,
        message: &message,
        facts: &facts,
    };
    let judged: Vec<Entry> = RULES
        .iter()
        .filter(|entry| matches!(entry.stage(), Stage::Schema | Stage::Integrity))
        .copied()
        .collect();
    if let Some(refusal) = super::first_refusal(&input, &judged) {
        return Err(breaks(refusal.rule()));
    }
    answers(&message, policy, question).map_or(Ok(()), |detail| Err(Finding::new(Rule::BackendContract, detail)))
}

/// Who answers what.
fn answers(message: &Message<'_>, policy: &Policy, question: &Question) -> Option<&'static str> {
    let is_ours = message
        .sender()
        .is_some_and(|sender| policy.agent.ids.iter().any(|id| id == sender));
    if !is_ours {
        return Some("expected an answer whose `source.id` is one of `agent.ids`");
    }
    // A request that carried no message can be nobody's parent: what it reads answers somebody else's message.
    let parent = message.text(&["conversation", "parent_message_id"]);
    let other = |asked: &String| parent.is_some_and(|parent| parent != asked);
    if question.message_id.as_ref().is_some_and(other) {
        return Some("expected an answer whose `parent_message_id` is the request's `message_id`");
    }
    let profile = message.profile().unwrap_or_default();
    let fits = question
        .output_profile
        .as_deref()
        .is_none_or(|asked| asked == profile || ALWAYS_AN_ANSWER.contains(&profile));
    (!fits).then_some("expected an answer of the profile that the request asked for")
}

fn breaks(rule: Rule) -> Finding {
    Finding::new(
        Rule::BackendContract,
        format!("expected an answer that keeps `{}`", rule.id()),
    )
}
