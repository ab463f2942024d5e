//! One sequence of bytes, read once: strict JSON, envelope, canonical text, profiles.
//!
//! After this floor there is nothing left to check twice: a [`Message`](envelope::Message) is a typed view over the
//! very bytes that will be forwarded.

pub mod canonical;
pub mod envelope;
mod id;
pub mod json;
pub mod keyless;
pub mod profile;
pub mod secrets;

pub use id::is_id;
