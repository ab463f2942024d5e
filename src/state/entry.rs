//! What is stored under an idempotency key: running, finished with its answer, or of unknown outcome.
//!
//! A byte that says version and kind, the fingerprint, the digest of the first message, then what the kind needs.
//! A running entry is 47 bytes: there is one for every message of the last day.

use bytes::{BufMut, Bytes, BytesMut};

use super::fingerprint::Short;
use super::store::Millis;

/// Whose run it is: the random half of a verdict id.
pub type Owner = [u8; 8];

/// A stored entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Of the first request.
    pub fingerprint: Short,
    /// Digest of the first message.
    pub digest: Short,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is at the backend; its owner is gone when the lease has passed.
    Running {
        /// Who runs it.
        owner: Owner,
        /// Until when.
        lease: Millis,
    },
    /// The backend answered; the answer as [`super::answer`] writes it.
    Finished(Bytes),
    /// The backend may have seen it, and its answer is lost.
    Unknown,
}

const RUNNING: u8 = 0x11;
const FINISHED: u8 = 0x12;
const UNKNOWN: u8 = 0x13;

/// Bytes of a lease: enough for eight thousand years.
const LEASE: usize = 6;

impl Stored {
    /// As bytes.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(48);
        let kind = match &self.fate {
            Fate::Running { .. } => RUNNING,
            Fate::Finished(_) => FINISHED,
            Fate::Unknown => UNKNOWN,
        };
        out.put_u8(kind);
        out.put_slice(&self.fingerprint);
        out.put_slice(&self.digest);
        match &self.fate {
            Fate::Running { owner, lease } => {
                out.put_slice(owner);
                out.put_uint((*lease).min(LEASE_MAX), LEASE);
            }
            Fate::Finished(answer) => out.put_slice(answer),
            Fate::Unknown => {}
        }
        out.freeze()
    }

    /// From bytes; `None` for what was not written here.
    pub fn decode(bytes: &Bytes) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let (fingerprint, rest) = rest.split_first_chunk::<16>()?;
        let (digest, rest) = rest.split_first_chunk::<16>()?;
        let fate = match *kind {
            RUNNING => {
                let (owner, rest) = rest.split_first_chunk::<8>()?;
                let lease: [u8; LEASE] = rest.try_into().ok()?;
                let lease = lease.iter().fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
                Fate::Running { owner: *owner, lease }
            }
            FINISHED => Fate::Finished(bytes.slice_ref(rest)),
            UNKNOWN if rest.is_empty() => Fate::Unknown,
            _ => return None,
        };
        Some(Self {
            fingerprint: *fingerprint,
            digest: *digest,
            fate,
        })
    }

    /// The same with another fate.
    #[must_use]
    pub const fn with(&self, fate: Fate) -> Self {
        Self {
            fingerprint: self.fingerprint,
            digest: self.digest,
            fate,
        }
    }
}

/// The latest lease that can be written.
const LEASE_MAX: u64 = (1 << 48) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(fate: Fate) -> Stored {
        Stored {
            fingerprint: [1; 16],
            digest: [2; 16],
            fate,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for (fate, length) in [
            (
                Fate::Running {
                    owner: [3; 8],
                    lease: 1_780_000_000_000,
                },
                47,
            ),
            (Fate::Finished(Bytes::from_static(b"answer")), 39),
            (Fate::Finished(Bytes::new()), 33),
            (Fate::Unknown, 33),
        ] {
            let bytes = stored(fate.clone()).encode();
            assert_eq!(bytes.len(), length);
            assert_eq!(Stored::decode(&bytes), Some(stored(fate)));
        }
    }

    #[test]
    fn a_lease_that_cannot_be_written_is_the_latest_one() {
        let endless = stored(Fate::Running {
            owner: [3; 8],
            lease: u64::MAX,
        });
        let read = Stored::decode(&endless.encode()).unwrap();
        assert!(matches!(read.fate, Fate::Running { lease: LEASE_MAX, .. }));
    }

    #[test]
    fn nothing_else_is_an_entry() {
        let running = stored(Fate::Running {
            owner: [3; 8],
            lease: 9,
        })
        .encode();
        for length in 0..running.len() {
            assert_eq!(Stored::decode(&running.slice(..length)), None, "{length}");
        }
        for bytes in [[&running[..], b"x"].concat(), [&[0x21][..], &running[1..]].concat()] {
            assert_eq!(Stored::decode(&Bytes::from(bytes)), None);
        }
        let mut unknown = stored(Fate::Unknown).encode().to_vec();
        unknown.push(0);
        assert_eq!(Stored::decode(&Bytes::from(unknown)), None);
    }
}
