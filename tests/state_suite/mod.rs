//! One suite over every engine.

pub mod model;
pub mod suite;
