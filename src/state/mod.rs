//! What has to be remembered so that a message is acted on once (contract §8).
//!
//! `store` is the one interface to the engine that remembers; everything else here is written once, over it.

mod counts;
pub mod embedded;
pub mod engine;
pub mod memory;
pub mod store;
