//! The words of the contract: codes, stages, rules, triggers, findings, outcomes.
//!
//! Data only. Nothing here reads a message, a clock or a socket; every other floor speaks in these words.

mod code;
mod finding;
mod outcome;
mod rule;
mod rule_text;
mod trigger;

pub use code::Code;
pub use finding::{Finding, Pointer};
pub use outcome::{BackendOutcome, Outcome};
pub use rule::{Rule, Stage};
pub use rule_text::{Text, Told};
pub use trigger::Trigger;
