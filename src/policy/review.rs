//! Words for actions that a person has to agree to: shipped defaults, extended by the policy (contract §9).

/// The actions that ask for a person, as words that a message may name. The policy can add words and remove none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewActions {
    /// Something is run, deployed, scheduled or written (`action.execution`).
    pub execution: Vec<String>,
    /// Somebody is authenticated, or a credential is judged or issued (`action.credential`).
    pub credential: Vec<String>,
}

impl Default for ReviewActions {
    fn default() -> Self {
        let words = |list: &str| list.split(' ').map(str::to_owned).collect();
        Self {
            execution: words("execute deploy shell schedule repository_write"),
            credential: words("authenticate validate_credential issue_token"),
        }
    }
}
