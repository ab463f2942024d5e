//! What the gateway proves about itself and, later, others about themselves: today the TLS of the listener.

pub mod tls;
