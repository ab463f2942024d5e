//! One look at every issuer's set, without a ring: for `check`.

use std::sync::Arc;

use super::Trouble;
use super::source::{obtain, shown};
use crate::policy::{KeySource, Trust};
use crate::trust::keys::KeySet;

/// What one look at an issuer's set found.
#[derive(Debug)]
pub struct Surveyed {
    /// Name of the issuer.
    pub issuer: String,
    /// The file, or the URL without its query.
    pub source: String,
    /// How many keys can be looked up; `None` when it was not looked at; or why the set cannot be taken.
    pub keys: Result<Option<usize>, Trouble>,
    /// What the set holds and is of no use here: place and what would have been needed.
    pub remarks: Vec<String>,
    /// `kid`s of this set that an issuer before it has too: (name, `kid`).
    pub conflicts: Vec<(String, Arc<str>)>,
}

/// Reads the file of every issuer, in file order, and fetches from URLs when `fetches`. Needs a tokio runtime.
pub async fn survey(trust: &Trust, fetches: bool) -> Vec<Surveyed> {
    let mut all = Vec::new();
    let mut sets: Vec<(String, KeySet)> = Vec::new();
    for issuer in &trust.issuers {
        let is_looked_at = fetches || matches!(issuer.keys, KeySource::File(_));
        let mut surveyed = Surveyed {
            issuer: issuer.name.clone(),
            source: shown(&issuer.keys),
            keys: Ok(None),
            remarks: Vec::new(),
            conflicts: Vec::new(),
        };
        if is_looked_at {
            let set = match obtain(&issuer.keys).await {
                Ok(obtained) => KeySet::parse(&obtained.bytes, &issuer.algorithms).map_err(Trouble::from),
                Err(trouble) => Err(trouble),
            };
            match set {
                Ok(set) => {
                    surveyed.keys = Ok(Some(set.len()));
                    let remarks = set.remarks().iter();
                    surveyed.remarks = remarks
                        .map(|remark| format!("`{}`: {}", remark.place, remark.detail))
                        .collect();
                    for (name, before) in &sets {
                        let both = before.kids().filter(|kid| set.get(kid).is_some());
                        surveyed
                            .conflicts
                            .extend(both.map(|kid| (name.clone(), Arc::clone(kid))));
                    }
                    surveyed.conflicts.sort();
                    sets.push((issuer.name.clone(), set));
                }
                Err(trouble) => surveyed.keys = Err(trouble),
            }
        }
        all.push(surveyed);
    }
    all
}
