//! What is proven: the TLS of the listener, public keys, signatures made with them, what of that is remembered, and who
//! presents a request; and what the gateway proves itself, with a key of its own.

pub mod dpop;
pub mod jws;
mod jwt;
pub mod keys;
pub mod mtls;
pub mod own;
pub mod peer;
pub mod presented;
pub mod principal;
pub mod remembered;
pub mod ring;
pub mod sign;
pub mod tls;
pub mod token;
mod uri;

#[cfg(test)]
pub(crate) mod testing;
