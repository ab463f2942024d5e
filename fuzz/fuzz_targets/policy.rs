//! libFuzzer target `policy`; what it does is in `entry.rs`.
#![no_main]

#[allow(dead_code, reason = "each target uses one entry point")]
#[path = "../entry.rs"]
mod entry;

libfuzzer_sys::fuzz_target!(|data: &[u8]| entry::policy(data));
