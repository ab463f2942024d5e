//! Who is proven, as the record and the backend are told (contract §14, "Headers in", §15).

use crate::facts::{Fact, Facts, Presenter, Proof};
use crate::policy::Policy;
use crate::record::Subject;
use crate::rules::authority;

/// The authority that a request is forwarded with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proven {
    /// Name of the principal.
    pub principal: String,
    /// Its tenant.
    pub tenant: Option<String>,
    /// Its project.
    pub project: Option<String>,
}

impl Proven {
    /// The principal whose authority counts; `None` when nobody is proven, or somebody whom the policy does not know.
    pub fn of(policy: &Policy, facts: &Facts<'_>) -> Option<Self> {
        let principal = authority::proven(policy, facts).principal()?;
        Some(Self {
            principal: principal.name.clone(),
            tenant: principal.tenant.clone(),
            project: principal.project.clone(),
        })
    }
}

/// Tells the record who presents, from stage 2b on: also the record of a request that no later stage sees.
pub fn note_presenter(subject: &mut Subject, policy: &Policy, presenter: &Presenter) {
    subject.presenter = Some(presenter.principal.to_string());
    subject.actor = presenter.actor.as_deref().map(str::to_owned);
    note_authority(subject, policy, Some(&presenter.principal));
}

/// Tells the record whom the facts prove. The authority follows the signer, once there is a good signature.
pub fn note(subject: &mut Subject, policy: &Policy, facts: &Facts<'_>) {
    if let Fact::Known(presenter) = facts.presenter {
        note_presenter(subject, policy, presenter);
    }
    if let Fact::Known(Proof::Signed(signed)) = facts.proof {
        subject.signer = signed.principal.as_deref().map(str::to_owned);
        note_authority(subject, policy, signed.principal.as_deref());
    }
}

fn note_authority(subject: &mut Subject, policy: &Policy, name: Option<&str>) {
    let principal = name.and_then(|name| policy.trust.principal(name));
    subject.tenant = principal.and_then(|principal| principal.tenant.clone());
    subject.project = principal.and_then(|principal| principal.project.clone());
    subject.parent = principal.and_then(|principal| principal.parent.clone());
    subject.branch_id = principal.and_then(|principal| principal.branch_id.clone());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{judged, presented, signed_by};

    #[test]
    fn the_record_names_presenter_and_signer_and_the_authority_of_the_signer() {
        judged(
            |case| {
                presented(case, "anna");
                signed_by(case, Some("bert"));
                let anna = crate::rules::testing::principal(case, "anna");
                anna.tenant = Some("other".to_owned());
                anna.branch_id = Some("b1".to_owned());
            },
            |input| {
                let mut subject = Subject::default();
                note(&mut subject, input.policy, input.facts);
                assert_eq!(subject.presenter.as_deref(), Some("anna"));
                assert_eq!(subject.signer.as_deref(), Some("bert"));
                assert_eq!(subject.tenant.as_deref(), Some("acme"));
                assert_eq!(subject.project.as_deref(), Some("uaix.org"));
                assert_eq!(subject.branch_id, None);
                let proven = Proven::of(input.policy, input.facts).unwrap();
                assert_eq!(
                    (proven.principal.as_str(), proven.tenant.as_deref()),
                    ("bert", Some("acme"))
                );
            },
        );
    }

    #[test]
    fn a_key_of_nobody_leaves_the_authority_unproven() {
        judged(
            |case| {
                presented(case, "anna");
                signed_by(case, None);
            },
            |input| {
                let mut subject = Subject::default();
                note(&mut subject, input.policy, input.facts);
                assert_eq!(subject.presenter.as_deref(), Some("anna"));
                assert_eq!((subject.signer, subject.tenant, subject.project), (None, None, None));
                assert_eq!(Proven::of(input.policy, input.facts), None);
            },
        );
    }
}
