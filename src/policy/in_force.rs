//! The policy in force: swapped whole, read without a lock.

use std::sync::Arc;

use arc_swap::ArcSwap;
use jiff::Timestamp;

use super::Policy;

/// The policy in force and what became of the last attempt to change it.
#[derive(Debug)]
pub struct InForce {
    policy: ArcSwap<Policy>,
    last: ArcSwap<Attempt>,
}

/// One attempt to load a policy, whatever came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// When it was made.
    pub at: Timestamp,
    /// Revision of the policy in force after it.
    pub revision: String,
    /// Why the new one was not taken, one line a mistake; empty when it was. Never a value from the file.
    pub mistakes: Vec<String>,
}

impl InForce {
    /// The first policy.
    pub fn new(policy: Policy, at: Timestamp) -> Self {
        let attempt = Attempt {
            at,
            revision: policy.revision.clone(),
            mistakes: Vec::new(),
        };
        Self {
            policy: ArcSwap::from_pointee(policy),
            last: ArcSwap::from_pointee(attempt),
        }
    }

    /// The policy that judges requests that begin now.
    pub fn current(&self) -> Arc<Policy> {
        self.policy.load_full()
    }

    /// What became of the last attempt.
    pub fn last_attempt(&self) -> Arc<Attempt> {
        self.last.load_full()
    }

    /// Puts a new policy in force; requests in progress end under the one they began with.
    pub fn replace(&self, policy: Policy, at: Timestamp) {
        let attempt = Attempt {
            at,
            revision: policy.revision.clone(),
            mistakes: Vec::new(),
        };
        self.policy.store(Arc::new(policy));
        self.last.store(Arc::new(attempt));
    }

    /// Keeps the policy in force and remembers why the new one was not taken.
    pub fn keep(&self, mistakes: Vec<String>, at: Timestamp) {
        let revision = self.policy.load().revision.clone();
        self.last.store(Arc::new(Attempt { at, revision, mistakes }));
    }
}
