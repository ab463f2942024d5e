//! What the gateway proves about itself, and others about themselves: TLS of the listener, keys, signatures.

pub mod own;
pub mod sign;
pub mod tls;
