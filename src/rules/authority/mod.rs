//! Who is proven to speak, and what the policy lets it say (contract §7, "One principal", "Authority"). One file a rule.

pub(super) mod principal;
pub(super) mod relay;
pub mod route;
pub(super) mod sender;
pub(super) mod tenant;

use crate::facts::{Fact, Facts, Presenter, Proof, Signed};
use crate::policy::{Policy, Principal};

/// Whom a request is judged as: the signer, or the presenter of a message without a good signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority<'a> {
    /// Nobody is proven, or nothing but a key that belongs to no principal.
    Nobody,
    /// Somebody is proven whom the policy does not know, or it cannot be known who.
    Stranger,
    /// This principal.
    Principal(&'a Principal),
}

impl<'a> Authority<'a> {
    /// The principal, when it is one.
    pub const fn principal(self) -> Option<&'a Principal> {
        match self {
            Self::Principal(principal) => Some(principal),
            Self::Nobody | Self::Stranger => None,
        }
    }

    fn of(policy: &'a Policy, name: &str) -> Self {
        policy.trust.principal(name).map_or(Self::Stranger, Self::Principal)
    }
}

/// Whose authority counts: sender, tenant, project and role follow the signer, or the presenter when nobody signed.
pub fn proven<'a>(policy: &'a Policy, facts: &Facts<'_>) -> Authority<'a> {
    match (signed(facts), facts.presenter) {
        (Some(signed), _) => match &signed.principal {
            Some(name) => Authority::of(policy, name),
            None => Authority::Nobody,
        },
        (None, Fact::Known(presenter)) => Authority::of(policy, &presenter.principal),
        (None, Fact::Unavailable) => Authority::Stranger,
        (None, Fact::Absent) => Authority::Nobody,
    }
}

/// The good signature, when there is one.
pub(super) const fn signed<'a>(facts: &Facts<'a>) -> Option<&'a Signed> {
    match facts.proof {
        Fact::Known(Proof::Signed(signed)) => Some(signed),
        Fact::Known(Proof::Failed(_)) | Fact::Absent | Fact::Unavailable => None,
    }
}

/// The proven presenter, when there is one.
pub(super) const fn presenter<'a>(facts: &Facts<'a>) -> Option<&'a Presenter> {
    match facts.presenter {
        Fact::Known(presenter) => Some(presenter),
        Fact::Absent | Fact::Unavailable => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{judged, presented, signed_by};
    use super::*;

    #[test]
    fn the_signer_counts_before_the_presenter() {
        let name = |authority: Authority<'_>| authority.principal().map(|principal| principal.name.clone());
        let table: &[(&str, super::super::testing::Change, Option<&str>, bool)] = &[
            ("nobody", |_| {}, None, true),
            ("a presenter", |case| presented(case, "anna"), Some("anna"), false),
            ("a signer", |case| signed_by(case, Some("bert")), Some("bert"), false),
            (
                "both",
                |case| {
                    presented(case, "anna");
                    signed_by(case, Some("bert"));
                },
                Some("bert"),
                false,
            ),
            ("a key of nobody", |case| signed_by(case, None), None, true),
            (
                "a key of nobody, presented",
                |case| {
                    presented(case, "anna");
                    signed_by(case, None);
                },
                None,
                true,
            ),
            ("somebody the policy lost", |case| presented(case, "carl"), None, false),
            (
                "a presenter that cannot be known",
                |case| case.facts.presenter = Fact::Unavailable,
                None,
                false,
            ),
        ];
        for (about, change, expected, is_nobody) in table {
            judged(*change, |input| {
                let authority = proven(input.policy, input.facts);
                assert_eq!(name(authority).as_deref(), *expected, "{about}");
                assert_eq!(authority == Authority::Nobody, *is_nobody, "{about}");
            });
        }
    }
}
