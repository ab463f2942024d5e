//! What is proven: the TLS of the listener, public keys, signatures made with them, and what of that is remembered.

pub mod jws;
pub mod keys;
pub mod remembered;
pub mod ring;
pub mod tls;

#[cfg(test)]
pub(crate) mod testing;
