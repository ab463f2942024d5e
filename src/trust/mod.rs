//! What is proven: the TLS of the listener, public keys, signatures made with them and what of that is remembered; and
//! what the gateway proves itself, with a key of its own.

pub mod jws;
pub mod keys;
pub mod own;
pub mod presented;
pub mod remembered;
pub mod ring;
pub mod sign;
pub mod tls;

#[cfg(test)]
pub(crate) mod testing;
