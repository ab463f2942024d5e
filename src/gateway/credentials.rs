//! Stage 2b: who presents a request, found out before its body is read (contract §7, "Transport principals").

use std::sync::Arc;

use http::request::Parts;

use super::case::Case;
use crate::decide::Refusal;
use crate::facts::Fact;
use crate::policy::Route;
use crate::trust::peer::Peer;
use crate::trust::principal::{Asked, Presented};

/// Proves the presenter and notes it on the case.
///
/// # Errors
/// `auth.*` or `authority.disagree`.
pub async fn prove(case: &mut Case, head: &Parts, route: &Route) -> Result<(), Refusal> {
    let gate = Arc::clone(&case.gate);
    let now = gate.steady.now(&gate.clock, case.policy.freshness.skew);
    let proven = gate
        .prover
        .prove(&Asked {
            policy: &case.policy,
            route,
            headers: &head.headers,
            method: head.method.as_str(),
            path: head.uri.path(),
            peer: head.extensions.get::<Arc<Peer>>().map(Arc::as_ref),
            now,
        })
        .await;
    let nonce = || now.map(|now| gate.prover.nonces.current(now));
    match proven {
        Ok(presented) => {
            // Whoever has used a nonce is given the one to use next (RFC 9449 §8.2).
            if route.proofs.dpop_nonce && presented.as_ref().is_some_and(|one| one.presenter.by_dpop) {
                case.nonce = nonce();
            }
            case.presented = presented.map(Arc::new);
            Ok(())
        }
        Err(refused) => {
            if refused.wants_nonce {
                case.nonce = nonce();
            }
            Err(Refusal::with_others(refused.deciding, refused.others, false))
        }
    }
}

/// The presenter as a fact.
pub fn fact(presented: Option<&Presented>) -> Fact<&crate::facts::Presenter> {
    presented.map_or(Fact::Absent, |presented| Fact::Known(&presented.presenter))
}
