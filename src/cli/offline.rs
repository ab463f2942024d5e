//! Judging a message without a gate: the same stages as `run`, as far as bytes alone can tell (contract §4, "Offline").

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::Exit;
use super::report::Report;
use super::screen::Screen;
use super::verify::Keys;
use crate::clock::Clock;
use crate::config;
use crate::contract::{Finding, Rule, Stage};
use crate::decide::{self, Heard, Refusal};
use crate::facts::{Fact, Facts, Proof};
use crate::message::envelope::{Envelope, Form, Message};
use crate::message::is_id;
use crate::message::json::Bounds;
use crate::message::profile::Schemas;
use crate::policy::{
    Agent, Backend, BackendView, Body, Deadlines, Freshness, Idempotency, Integrity, Level, Limits, Messages, Mode,
    PathPattern, Payload, Policy, Proofs, Rates, Replay, ReviewActions, Route, Trust, Vocabulary,
};
use crate::rules::{self, Input};

/// What `explain` and `validate` may be told besides the message.
#[derive(Debug, clap::Args)]
pub struct Means {
    /// Judge by this policy: also the target, profiles, modes, extensions and vocabulary.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// The route of the policy that takes the message; else the first that takes its profile.
    #[arg(long, value_name = "NAME", requires = "policy")]
    route: Option<String>,
    /// Judge freshness as of this time (RFC 3339).
    #[arg(long, value_name = "TIME")]
    at: Option<Timestamp>,
    /// Verify the signature that stands in the message by the keys of this JWK Set.
    #[arg(long, value_name = "JWKS")]
    keys: Option<PathBuf>,
}

/// A policy and its routes to judge messages by, without a gate around it.
pub struct Bench {
    policy: Policy,
    /// Whether the policy is the operator's, so that what it declares counts.
    declared: bool,
    at: Option<Timestamp>,
    keys: Option<Keys>,
    first: Taker,
    others: Vec<Taker>,
}

/// A route that takes messages.
struct Taker {
    route: Arc<Route>,
    declared: Messages,
}

/// What was found out about one message.
pub struct Judged {
    /// Every rule of the contract, in table order, with what it said.
    pub heard: Vec<(Rule, Heard)>,
    /// Why it would be refused.
    pub refusal: Option<Refusal>,
    /// The seven members.
    pub report: Report,
    /// What a person should know although it refuses nothing.
    pub notes: Vec<Note>,
    /// Who sent it, once that could be read and has the shape of an id.
    pub sender: Option<String>,
}

/// What a person should know although it refuses nothing.
pub struct Note {
    /// The rule that would refuse it elsewhere.
    pub rule: Option<Rule>,
    /// In words.
    pub text: String,
}

impl Means {
    /// Only a policy, or none.
    pub fn of(policy: Option<PathBuf>) -> Self {
        Self {
            policy,
            route: None,
            at: None,
            keys: None,
        }
    }
}

impl Bench {
    /// The policy that messages are judged by.
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Sets up what the command line names, or says on the screen why it cannot.
    pub fn set_up(means: &Means, screen: &mut Screen) -> io::Result<Result<Self, Exit>> {
        let policy = match &means.policy {
            Some(file) => match config::load(file) {
                Ok(config) => config.policy,
                Err(mistakes) => return super::check::refuse(&mistakes, screen).map(Err),
            },
            None => match builtin() {
                Ok(policy) => policy,
                Err(error) => {
                    screen.trouble(&format!("error: {error}"))?;
                    return Ok(Err(Exit::CouldNotRun));
                }
            },
        };
        let keys = match means.keys.as_ref().map(|file| Keys::read(file, &policy)).transpose() {
            Ok(keys) => keys,
            Err(error) => {
                screen.trouble(&format!("error: {error}"))?;
                return Ok(Err(Exit::CouldNotRun));
            }
        };
        let mut takers: Vec<Taker> = policy.routes.iter().filter_map(Taker::new).collect();
        if let Some(name) = &means.route {
            let names: Vec<String> = takers.iter().map(|taker| taker.route.name.clone()).collect();
            takers.retain(|taker| taker.route.name == *name);
            if takers.is_empty() {
                screen.trouble(&format!(
                    "error: no route `{name}` takes messages; those that do: {}",
                    names.join(", ")
                ))?;
                return Ok(Err(Exit::Usage));
            }
        }
        let mut takers = takers.into_iter();
        let Some(first) = takers.next() else {
            screen.trouble("error: no route of this policy takes messages")?;
            return Ok(Err(Exit::CouldNotRun));
        };
        Ok(Ok(Self {
            policy,
            declared: means.policy.is_some(),
            at: means.at,
            keys,
            first,
            others: takers.collect(),
        }))
    }

    /// Judges one message.
    pub fn judge(&self, bytes: &[u8]) -> Judged {
        let takers = std::iter::once(&self.first).chain(&self.others);
        let envelopes: Vec<Envelope> = takers
            .flat_map(|taker| taker.declared.envelopes.iter().copied())
            .collect();
        match decide::read(bytes, &self.policy, form(bytes), &envelopes) {
            Ok(message) => self.judge_message(&message),
            Err(refusal) => Judged {
                heard: heard_while_reading(&refusal),
                report: Report::offline(Some(&refusal), None, None),
                refusal: Some(refusal),
                notes: Vec::new(),
                sender: None,
            },
        }
    }

    fn judge_message(&self, message: &Message<'_>) -> Judged {
        let taker = self.taker(message);
        let proof = self.prove(message, taker);
        let facts = Facts {
            proof: proof.as_ref().map_or(Fact::Unavailable, Fact::Known),
            ..Facts::at(self.at.map_or(Fact::Unavailable, Fact::Known))
        };
        let input = Input {
            policy: &self.policy,
            route: &taker.route,
            declared: &taker.declared,
            message,
            facts: &facts,
        };
        let (heard, refusal) = decide::trace(&input, |rule| self.runs(rule, message.envelope()));
        let id = |id: Option<&str>| id.filter(|id| is_id(id)).map(str::to_owned);
        let digest = message.digest().to_owned();
        Judged {
            report: Report::offline(refusal.as_ref(), id(message.id()), Some(digest)),
            sender: id(message.sender()),
            notes: self.notes(&input, refusal.as_ref()),
            heard,
            refusal,
        }
    }

    /// What comes of the signature, when there are keys to verify it by; keys are good or not at the time of judging.
    fn prove(&self, message: &Message<'_>, taker: &Taker) -> Option<Proof> {
        let now = self.at.unwrap_or_else(|| Clock::system().now());
        let keys = self.keys.as_ref()?;
        keys.prove(message, &self.policy, &taker.route, now, self.declared)
    }

    /// The route that takes the message's envelope and profile, else the first that takes its envelope, which will say
    /// why not.
    fn taker(&self, message: &Message<'_>) -> &Taker {
        let takers = || std::iter::once(&self.first).chain(&self.others);
        let takes_envelope = |taker: &&Taker| taker.declared.envelopes.contains(&message.envelope());
        let takes_profile = |taker: &&Taker| {
            let profiles = &taker.declared.profiles;
            profiles.iter().any(|profile| message.profile() == Some(profile))
        };
        takers()
            .filter(takes_envelope)
            .find(takes_profile)
            .or_else(|| takers().find(takes_envelope))
            .unwrap_or(&self.first)
    }

    /// Whether bytes alone, and what the command line gave besides, are enough to judge a rule.
    fn runs(&self, rule: Rule, envelope: Envelope) -> bool {
        match rule.stage() {
            Stage::Json | Stage::Envelope | Stage::Semantics => true,
            Stage::Addressing => self.declared || rule != Rule::AddressingNotHere,
            Stage::Capability => match self.declared {
                true => rule != Rule::CapabilityRevision,
                false => rule == Rule::ModeUnknown || rule == Rule::ProfileUnknown,
            },
            Stage::Schema => rule != Rule::IdempotencyDisagree && rule != Rule::IdempotencyMalformed,
            // Without a policy the checksum is `declared`: only a digest that does not match refuses.
            Stage::Integrity => self.declared || rule == Rule::IntegrityMismatch,
            Stage::Signature => self.keys.is_some(),
            // The time of a delivery envelope is in its signature; clock and fence are those of a gate.
            Stage::Freshness => {
                let is_told = envelope == Envelope::Canonical || self.keys.is_some();
                let is_live = matches!(rule, Rule::ClockUnsteady | Rule::FreshnessFence);
                self.at.is_some() && is_told && !is_live
            }
            Stage::Route
            | Stage::Limits
            | Stage::Credentials
            | Stage::Authority
            | Stage::Replay
            | Stage::Guards
            | Stage::Firewall
            | Stage::Forward
            | Stage::Answer
            | Stage::Any => false,
        }
    }

    fn notes(&self, input: &Input<'_>, refusal: Option<&Refusal>) -> Vec<Note> {
        if refusal.is_some() {
            return Vec::new();
        }
        let of = |rule: Rule, text: &str| Note {
            rule: Some(rule),
            text: text.to_owned(),
        };
        let proof = match input.message.text(&["integrity", "checksum"]) {
            None if input.message.envelope() == Envelope::Delivery => self.keys.is_none().then(|| {
                of(
                    Rule::SignatureAbsent,
                    "the signature is not judged without `--keys`, and without it no gate lets the message through",
                )
            }),
            None => Some(of(
                Rule::IntegrityAbsent,
                "there is no checksum; accepted because integrity is `declared`",
            )),
            Some(checksum) if !is_digest(checksum) => Some(of(
                Rule::IntegrityPlaceholder,
                "the checksum is a placeholder; accepted because integrity is `declared`",
            )),
            Some(_) => None,
        };
        let route = self.declared.then(|| Note {
            rule: None,
            text: format!("judged for route `{}`", input.route.name),
        });
        let reason = rules::hold::reason(input).filter(|_| self.declared);
        let hold = reason.map(|reason| {
            let rule = Rule::HoldRequired;
            of(rule, &format!("would be held for a person ({}): {reason}", rule.id()))
        });
        proof.into_iter().chain(route).chain(hold).collect()
    }
}

impl Taker {
    fn new(route: &Arc<Route>) -> Option<Self> {
        route.messages().map(|declared| Self {
            route: Arc::clone(route),
            declared: declared.clone(),
        })
    }
}

/// The largest message read from a file or standard input; far above any policy's `limits.body`.
const MESSAGE_MAX: u64 = 64 * 1024 * 1024;

/// The form of a message that comes without a media type: an array is keyless.
pub fn form(bytes: &[u8]) -> Form {
    match bytes.trim_ascii_start().first() {
        Some(b'[') => Form::Keyless,
        Some(_) | None => Form::Keyed,
    }
}

/// The bytes of a message file, `-` for standard input.
///
/// # Errors
/// Why it cannot be read, for the screen.
pub fn read_message(file: &Path) -> Result<Vec<u8>, String> {
    let read = |source: &mut dyn Read| {
        let mut bytes = Vec::new();
        source
            .take(MESSAGE_MAX.saturating_add(1))
            .read_to_end(&mut bytes)
            .map(|_| bytes)
    };
    let bytes = if file == Path::new("-") {
        read(&mut io::stdin().lock())
    } else {
        File::open(file).and_then(|mut file| read(&mut file))
    };
    match bytes {
        Ok(bytes) if u64::try_from(bytes.len()).is_ok_and(|length| length <= MESSAGE_MAX) => Ok(bytes),
        Ok(_) => Err(format!("{}: more than {MESSAGE_MAX} bytes", file.display())),
        Err(error) => Err(format!("{}: {error}", file.display())),
    }
}

/// Whether a text is a digest as contract §7 writes it: `sha256:` and 64 lowercase hex digits.
fn is_digest(checksum: &str) -> bool {
    checksum
        .strip_prefix("sha256:")
        .is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')))
}

/// What each rule said when reading already failed: the stages before are passed, nothing after was asked.
fn heard_while_reading(refusal: &Refusal) -> Vec<(Rule, Heard)> {
    let decided = refusal.rule();
    let hear = |rule: Rule| {
        let found: Vec<Finding> = refusal
            .findings()
            .filter(|finding| finding.rule == rule)
            .cloned()
            .collect();
        if !rule.is_built() {
            Heard::NotBuilt
        } else if !found.is_empty() {
            Heard::Found(found)
        } else if rule.stage() == Stage::Json && decided.stage() == Stage::Envelope {
            Heard::Passed
        } else {
            Heard::NotRun
        }
    };
    Rule::ALL.iter().map(|rule| (*rule, hear(*rule))).collect()
}

/// The policy of a judgement without a policy file: the shipped schemas, vocabulary and limits, `integrity: declared`.
fn builtin() -> Result<Policy, String> {
    let schemas = Schemas::builtin().map_err(|error| error.to_string())?;
    let vocabulary = Vocabulary::default();
    let limits = Limits::default();
    let route = Route {
        name: "offline".to_owned(),
        path: PathPattern::parse("/")?,
        methods: vec!["POST".to_owned()],
        body: Body::Messages(Messages {
            profiles: schemas.profiles().into_iter().map(str::to_owned).collect(),
            extensions: Vec::new(),
            modes: vocabulary
                .mode
                .iter()
                .chain(&vocabulary.delivery_mode)
                .cloned()
                .collect(),
            envelopes: vec![Envelope::Canonical, Envelope::Delivery],
            payload: Some(Payload::Any),
            backend_view: BackendView::Received,
            integrity: Integrity::Declared,
            operations: Vec::new(),
            relaxed_base: false,
        }),
        mode: Mode::Enforce,
        level: Level::L3,
        media_types: vec!["application/json".to_owned()],
        body_limit: limits.body,
        deadline: Deadlines::default().backend,
        idempotency_required: true,
        forward_headers: None,
        pass_credentials: Vec::new(),
        pass_error_bodies: false,
        proofs: Proofs::default(),
        rate: None,
        human_review_url: None,
        result_url: None,
    };
    Ok(Policy {
        revision: String::new(),
        agent: Agent {
            ids: Vec::new(),
            label: String::new(),
        },
        public_url: None,
        public_hosts: Vec::new(),
        public_origins: Vec::new(),
        backend: Backend {
            authority: String::new(),
            h2c: false,
        },
        limits,
        json: Bounds::default(),
        deadlines: Deadlines::default(),
        freshness: Freshness::default(),
        replay: Replay::default(),
        idempotency: Idempotency::default(),
        rates: Rates::default(),
        trust: Trust::default(),
        vocabulary,
        removed_headers: Vec::new(),
        hold: Vec::new(),
        review_actions: ReviewActions::default(),
        schemas: Arc::new(schemas),
        routes: vec![Arc::new(route)],
        dispatch_route: None,
        capability_revision: String::new(),
    })
}
