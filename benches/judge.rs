//! What one message costs.
fn main() {}
