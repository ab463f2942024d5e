//! The conformance cases of contract §16 as they are written in `tests/conformance/`, and which of them can be run.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::contract::Rule;

/// One runnable case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// `V01` to `V12`, `I01` to `I20`, with a letter where an id has several cases.
    pub id: String,
    /// The route of `policies/fixture.yaml` that it is sent to.
    pub route: String,
    /// What is sent, in words.
    pub about: String,
    /// Where it can be run.
    pub runs: Runs,
    /// What the gate has to have for it.
    #[serde(default)]
    pub needs: Vec<Need>,
    /// Requests that are sent before it, all of which have to be allowed.
    #[serde(default)]
    pub before: Vec<Request>,
    /// The request that is judged.
    pub request: Request,
    /// What has to come of it.
    pub expect: Expect,
    /// What a person does afterwards.
    #[serde(default)]
    pub then: Option<Then>,
}

/// Where a case can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Runs {
    /// T in §16.
    Anywhere,
    /// P in §16: it needs a reviewer, or state that HTTP cannot set.
    InProcess,
}

/// What a person does after the request was held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Then {
    /// Approves it; the same bytes are then delivered once.
    Approve,
}

/// A template of a request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// `POST` when nothing is said.
    #[serde(default = "post")]
    pub method: String,
    /// Path and query, a template.
    pub path: String,
    /// Header fields, their values templates; `content-type` is `application/json` when nothing is said.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// None for a request without a body.
    pub body: Option<Body>,
}

/// A template of a body: a message with members changed, or raw text; then, when it is filled and sealed, changes of the
/// bytes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// The message: its file in `tests/conformance/base/`, without the ending.
    pub base: Option<String>,
    /// Members to put into it, by JSON Pointer, in the order of the pointers.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// Members to take out of it.
    #[serde(default)]
    pub remove: Vec<String>,
    /// Instead of a message: raw text, a template.
    pub text: Option<String>,
    /// How the message is written.
    #[serde(default)]
    pub form: Form,
    /// Changes of the bytes, in this order.
    #[serde(default)]
    pub edits: Vec<Edit>,
}

/// How a message is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// As it stands.
    #[default]
    Keyed,
    /// Contract §2.5.
    Keyless,
}

/// The first `find` becomes `put` and then the bytes of `hex`; without `find`, they are put at the end.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// What is looked for; it has to be there.
    pub find: Option<String>,
    /// A template.
    #[serde(default)]
    pub put: String,
    /// Bytes that are no UTF-8.
    #[serde(default)]
    pub hex: String,
}

/// The exact outcome.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The word in `UAI-Verdict`.
    pub verdict: String,
    /// The HTTP status.
    pub status: u16,
    /// The code in answer and record.
    pub code: Option<String>,
    /// The rule in answer and record.
    pub rule: Option<String>,
    /// The `code` of a two-key answer, which then names no rule.
    pub two_keys: Option<String>,
    /// Header fields of the answer, their values templates; `*` stands for any.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The same, of the request at the backend.
    #[serde(default)]
    pub arrives: BTreeMap<String, String>,
}

impl Expect {
    /// Whether the backend has to see the request.
    pub fn is_forwarded(&self) -> bool {
        self.verdict == "allow"
    }
}

/// Something that a gate has when it enforces the rules of [`Need::rules`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    Keyless,
    Delivery,
    Signatures,
    Principals,
    Replay,
    Idempotency,
    Holds,
    GetAction,
    LeaseGuard,
    DeliveryGuard,
    RevisionGuard,
}

impl Need {
    /// Every need.
    #[cfg(test)]
    pub const ALL: &'static [Self] = &[
        Self::Keyless,
        Self::Delivery,
        Self::Signatures,
        Self::Principals,
        Self::Replay,
        Self::Idempotency,
        Self::Holds,
        Self::GetAction,
        Self::LeaseGuard,
        Self::DeliveryGuard,
        Self::RevisionGuard,
    ];

    /// The rules that are all enforced where it is built.
    pub const fn rules(self) -> &'static [Rule] {
        match self {
            Self::Keyless => &[Rule::KeylessShape, Rule::KeylessOverflow, Rule::KeylessAlias],
            Self::Delivery => &[Rule::AddressingImplicit],
            Self::Signatures => &[
                Rule::SignatureHeader,
                Rule::SignatureAlgorithm,
                Rule::KeysUnavailable,
                Rule::SignatureWrong,
            ],
            Self::Principals => &[
                Rule::AuthMissing,
                Rule::AuthToken,
                Rule::AuthoritySender,
                Rule::AuthorityRelay,
            ],
            Self::Replay => &[Rule::ReplaySeen],
            Self::Idempotency => &[Rule::IdempotencyConflict],
            Self::Holds => &[Rule::HoldFull],
            Self::GetAction => &[Rule::GetActionPrefetch, Rule::GetActionKey, Rule::GetActionCategory],
            Self::LeaseGuard => &[Rule::LeaseHeld],
            Self::DeliveryGuard => &[Rule::DeliveryAckTarget],
            Self::RevisionGuard => &[Rule::RevisionStale],
        }
    }

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Keyless => "the keyless form",
            Self::Delivery => "delivery envelopes",
            Self::Signatures => "signatures",
            Self::Principals => "principals",
            Self::Replay => "protection from replay",
            Self::Idempotency => "stored answers",
            Self::Holds => "holds",
            Self::GetAction => "GET-Actions",
            Self::LeaseGuard => "the lease guard",
            Self::DeliveryGuard => "the delivery guard",
            Self::RevisionGuard => "the revision guard",
        }
    }
}

impl Case {
    /// Why this version cannot run it: the first need with a rule that is not built. `None` runs.
    pub fn pending(&self) -> Option<String> {
        let unbuilt = |need: &Need| need.rules().iter().find(|rule| !rule.is_built()).copied();
        self.needs.iter().find_map(|need| {
            let rule = unbuilt(need)?;
            Some(format!(
                "needs {}, and this version does not build `{}`",
                need.words(),
                rule.id()
            ))
        })
    }
}

fn post() -> String {
    "POST".to_owned()
}
