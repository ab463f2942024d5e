//! TLS of the listener.
