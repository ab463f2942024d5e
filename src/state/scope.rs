//! For whom something is remembered: replay scope, idempotency scope, shares (contract §8).

use super::fingerprint::Short;
use super::store::{Key, Space};

/// Who is proven to stand behind a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who<'a> {
    /// The transport proved this principal.
    Presenter(&'a str),
    /// Nobody presented it; a key of this principal signed, for this sender.
    Signer(&'a str, &'a str),
    /// Nobody presented it; a key of this issuer that belongs to no principal signed, for this sender.
    Issuer(&'a str, &'a str),
    /// Nobody is proven.
    Nobody,
}

impl<'a> Who<'a> {
    /// The parts that stand for it in keys.
    fn parts(self) -> [&'a [u8]; 3] {
        match self {
            Self::Presenter(name) => [b"presenter", name.as_bytes(), b""],
            Self::Signer(name, sender) => [b"signer", name.as_bytes(), sender.as_bytes()],
            Self::Issuer(name, sender) => [b"issuer", name.as_bytes(), sender.as_bytes()],
            Self::Nobody => [b"nobody", b"", b""],
        }
    }
}

/// What a message is called: its sender, its id, and to whom it goes (`target.id`, or `recipient.delivery_id`).
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Tenant of the principal that is proven; empty without one.
    pub tenant: &'a str,
    /// The sender that the envelope names.
    pub sender: &'a str,
    /// Message id, or logical message id.
    pub id: &'a str,
    /// `target.id`, or `recipient.delivery_id`.
    pub target: &'a str,
}

/// The entry of an admitted message. Where nobody is proven its digest joins, so that a stranger cannot burn the id of
/// somebody else.
pub fn replay(who: Who<'_>, named: &Named<'_>, digest: Short) -> Key {
    let joined: &[u8] = match who {
        Who::Presenter(_) | Who::Signer(..) | Who::Issuer(..) => b"",
        Who::Nobody => &digest,
    };
    let Named {
        tenant,
        sender,
        id,
        target,
    } = *named;
    let parts = [tenant, sender, id, target].map(str::as_bytes);
    let [tenant, sender, id, target] = parts;
    Key::of(Space::Replay, &[tenant, sender, id, target, joined])
}

/// The entry of an idempotency key on a route. Where nobody is proven the fingerprint joins, so that a stranger cannot
/// burn the key of somebody else.
pub fn idempotency(who: Who<'_>, route: &str, key: &str, fingerprint: Short) -> Key {
    let joined: &[u8] = match who {
        Who::Presenter(_) | Who::Signer(..) | Who::Issuer(..) => b"",
        Who::Nobody => &fingerprint,
    };
    let [kind, name, sender] = who.parts();
    Key::of(
        Space::Idempotency,
        &[kind, name, sender, route.as_bytes(), key.as_bytes(), joined],
    )
}

/// The entry of a retry that was answered from the stored answer of this key.
pub fn answered(key: Key, digest: Short) -> Key {
    Key::of(Space::Answered, &[&key.id, &digest])
}

/// Counts the messages of one sender. A sender that is only claimed has a share of its own, so that nobody can use up
/// the share of a proven one by its name.
pub fn share(who: Who<'_>, tenant: &str, sender: &str) -> Key {
    let proven: &[u8] = match who {
        Who::Presenter(_) | Who::Signer(..) | Who::Issuer(..) => b"proven",
        Who::Nobody => b"claimed",
    };
    Key::of(Space::Count, &[b"sender", proven, tenant.as_bytes(), sender.as_bytes()])
}

/// Counts those of one kind whose sender nobody proved: as a name costs them nothing, their shares alone would let them
/// take every place, also those of senders that are proven.
pub fn unproven(kind: &str) -> Key {
    Key::of(Space::Count, &[b"unproven", kind.as_bytes()])
}

/// Counts all of one kind.
pub fn total(kind: &str) -> Key {
    Key::of(Space::Count, &[b"total", kind.as_bytes()])
}

/// The entry of a DPoP proof's `jti`, which is unique for the key that the proof is made with (RFC 9449 §11.1).
pub fn proof(thumbprint: &str, jti: &str) -> Key {
    Key::of(Space::Proof, &[thumbprint.as_bytes(), jti.as_bytes()])
}

/// Counts the proofs of one principal.
pub fn proof_share(presenter: &str) -> Key {
    Key::of(Space::Count, &[b"proofs", presenter.as_bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMED: Named<'_> = Named {
        tenant: "t",
        sender: "a",
        id: "m",
        target: "b",
    };

    #[test]
    fn the_replay_scope_is_tenant_sender_id_and_target() {
        let who = Who::Presenter("p");
        let first = replay(who, &NAMED, [1; 16]);
        assert_eq!(replay(who, &NAMED, [2; 16]), first);
        assert_eq!(replay(Who::Signer("i", "a"), &NAMED, [1; 16]), first);
        for other in [
            Named { tenant: "", ..NAMED },
            Named { sender: "c", ..NAMED },
            Named { id: "n", ..NAMED },
            Named { target: "c", ..NAMED },
        ] {
            assert_ne!(replay(who, &other, [1; 16]), first);
        }
    }

    #[test]
    fn without_proof_the_digest_and_the_fingerprint_join() {
        let nobody = Who::Nobody;
        assert_ne!(replay(nobody, &NAMED, [1; 16]), replay(nobody, &NAMED, [2; 16]));
        assert_ne!(
            replay(nobody, &NAMED, [1; 16]),
            replay(Who::Presenter("p"), &NAMED, [1; 16])
        );
        assert_ne!(
            idempotency(nobody, "r", "k", [1; 16]),
            idempotency(nobody, "r", "k", [2; 16])
        );
        assert_ne!(share(nobody, "t", "a"), share(Who::Presenter("p"), "t", "a"));
    }

    #[test]
    fn the_idempotency_scope_is_presenter_else_signer_and_route_and_key() {
        let key = |who, route, key| idempotency(who, route, key, [1; 16]);
        let first = key(Who::Presenter("p"), "r", "k");
        assert_eq!(idempotency(Who::Presenter("p"), "r", "k", [2; 16]), first);
        for other in [
            key(Who::Presenter("q"), "r", "k"),
            key(Who::Signer("p", ""), "r", "k"),
            key(Who::Issuer("p", ""), "r", "k"),
            key(Who::Presenter("p"), "s", "k"),
            key(Who::Presenter("p"), "r", "l"),
            key(Who::Presenter("p"), "rk", ""),
        ] {
            assert_ne!(other, first);
        }
        assert_ne!(
            key(Who::Signer("i", "a"), "r", "k"),
            key(Who::Signer("i", "b"), "r", "k")
        );
        // A principal may have the name of an issuer.
        assert_ne!(
            key(Who::Signer("i", "a"), "r", "k"),
            key(Who::Issuer("i", "a"), "r", "k")
        );
        assert_ne!(answered(first, [1; 16]), answered(first, [2; 16]));
    }

    #[test]
    fn a_proof_belongs_to_its_key() {
        assert_ne!(proof("k", "j"), proof("l", "j"));
        assert_ne!(proof("k", "j"), proof("k", "i"));
        assert_ne!(proof_share("p"), proof_share("q"));
        assert_ne!(total("replay"), total("idempotency"));
    }
}
