//! Portcullis: a fail-closed sidecar gateway for UAI-1 agent messages. `ARCHITECTURE.md` tells the story and the floors.

#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::string_slice,
        clippy::type_complexity,
        clippy::wildcard_enum_match_arm,
        reason = "a test that overflows or slices badly fails, which is what a test is for; its tables are tuples"
    )
)]

pub mod admin;
pub mod app;
pub mod cli;
pub mod clock;
pub mod config;
pub mod contract;
pub mod decide;
pub mod discovery;
pub mod facts;
pub mod gateway;
pub mod message;
pub mod policy;
pub mod record;
pub mod rules;
pub mod state;
pub mod telemetry;
pub mod trust;
pub mod upstream;
