//! Stage 2b: who presents a request, found out before its body is read (contract §7, "Transport principals").

use std::sync::Arc;

use http::request::Parts;
use jiff::Timestamp;

use super::case::Case;
use super::proven::note_presenter;
use crate::decide::Refusal;
use crate::facts::Fact;
use crate::policy::Route;
use crate::state::plan::OneUse;
use crate::trust::peer::Peer;
use crate::trust::principal::{Asked, Presented};

/// Proves the presenter, notes it on the case, and counts the request among its own.
///
/// # Errors
/// `auth.*`, `authority.disagree` or `limits.principal-rate`.
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
            if let Some(presented) = &presented {
                let policy = Arc::clone(&case.policy);
                note_presenter(case.subject(), &policy, &presented.presenter);
                let principal = &presented.presenter.principal;
                gate.rates.present(&gate.policy.current(), principal)?;
                let once = presented.jti.as_ref();
                // A proof is judged before the body is read and spent after it; the clock of another process may be behind.
                let later = policy.deadlines.body.saturating_add(policy.freshness.skew);
                case.proof = once.map(|jti| {
                    let until = jti.until.saturating_add(later).unwrap_or(Timestamp::MAX);
                    OneUse::dpop(principal, &jti.thumbprint, &jti.id, jti.issued, until)
                });
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
