//! What becomes of a set, for a record and a person.

use std::sync::Arc;

use jiff::Timestamp;

use super::Trouble;

/// Something that became of a set.
#[derive(Debug)]
pub struct Event {
    /// When.
    pub at: Timestamp,
    /// Name of the issuer.
    pub issuer: String,
    /// The file, or the URL without its query.
    pub source: String,
    /// What.
    pub what: What,
}

/// What became of a set.
#[derive(Debug)]
pub enum What {
    /// A set was taken, or the one in use was found again after trouble.
    Taken {
        /// How many keys it holds.
        keys: usize,
    },
    /// An attempt failed.
    Failed {
        /// Why.
        trouble: Trouble,
        /// The last good set stays in use.
        keeps: bool,
    },
    /// The set in use is older than `max_stale` and not used any more.
    Stale,
    /// These `kid`s are in the set of another issuer that was loaded before, so they cannot be used in this one.
    Conflict {
        /// Name of the other issuer.
        with: String,
        /// The `kid`s, at most 20 of them.
        kids: Vec<Arc<str>>,
    },
}

impl Event {
    /// What a person should know and do; `None` when all is well.
    pub fn warning(&self) -> Option<String> {
        let rest = match &self.what {
            What::Taken { .. } => return None,
            What::Failed { trouble, keeps: true } => {
                format!("{trouble}; {}; the last good set stays in use", trouble.advice())
            }
            What::Failed { trouble, keeps: false } => {
                format!(
                    "{trouble}; {}; until then, what needs its keys is refused",
                    trouble.advice()
                )
            }
            What::Stale => "the set is older than `max_stale`, so what needs its keys is refused".to_owned(),
            What::Conflict { with, kids } => {
                let count = kids.len();
                format!("{count} of its keys have a `kid` that the issuer `{with}` had before, so they are not used")
            }
        };
        Some(format!(
            "warning: issuer `{}`, keys of {}: {rest}",
            self.issuer, self.source
        ))
    }
}
