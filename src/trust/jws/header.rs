//! The protected header of a JWS: strict JSON, and exactly the members that its use has (contract §7).

use jiff::Timestamp;

use super::{Jws, decode};
use crate::contract::{Pointer, Rule};
use crate::facts::Fault;
use crate::message::is_id;
use crate::message::json::{Bounds, Node, read};
use crate::policy::Algorithm;
use crate::trust::keys::PublicKey;

/// The most characters of an encoded header; an RSA key of 8192 bits in a `jwk` fits.
pub const HEADER_MAX: usize = 4096;

/// A header is small and flat.
const BOUNDS: Bounds = Bounds {
    depth: 4,
    string: 3072,
    members: 32,
    elements: 32,
    values: 64,
};

/// Whether a member has to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It has to.
    Required,
    /// It may.
    Optional,
    /// It may not.
    Refused,
}

/// What a JWS is for, and so what its header holds. None stands for another.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The values of `typ`, compared exactly.
    pub typ: &'static [&'static str],
    /// `typ` may be missing as far as the header goes; of a message, [`super::judge`] asks the issuer.
    pub typ_need: Need,
    /// `kid`.
    pub kid: Need,
    /// `iat`.
    pub iat: Need,
    /// `aud`, one string.
    pub aud: Need,
    /// `jwk`, and the algorithms that its key may be used with.
    pub jwk: (Need, &'static [Algorithm]),
    /// Members that say nothing here and are not read. Every other one is refused.
    pub ignored: &'static [&'static str],
}

impl Kind {
    /// The signature of a message in the canonical envelope.
    pub const MESSAGE: Self = Self {
        typ_need: Need::Optional,
        ..Self::of(&["uai-message+jws"])
    };
    /// The signature of a delivery envelope, which is always dated.
    pub const DELIVERY: Self = Self {
        iat: Need::Required,
        ..Self::MESSAGE
    };
    /// The signature of a fan-out intent.
    pub const FANOUT: Self = Self::of(&["uai-fanout+jws"]);
    /// The signature of a capability document.
    pub const CAPABILITY: Self = Self::of(&["uai-capability+jws"]);
    /// The signature of an entry of the ledger.
    pub const LEDGER: Self = Self::of(&["uai-ledger+jws"]);
    /// The signature of a call to somebody who waits for one.
    pub const WEBHOOK: Self = Self::of(&["uai-webhook+jws"]);
    /// An access token (RFC 9068). Issuers name their certificate in it, which is not looked at.
    pub const ACCESS_TOKEN: Self = Self {
        iat: Need::Refused,
        aud: Need::Refused,
        ignored: &["x5t", "x5t#S256"],
        ..Self::of(&["at+jwt", "JWT"])
    };
    /// A DPoP proof (RFC 9449), which carries its key.
    pub const DPOP: Self = Self {
        kid: Need::Refused,
        iat: Need::Refused,
        aud: Need::Refused,
        jwk: (Need::Required, Algorithm::ALL),
        ..Self::of(&["dpop+jwt"])
    };

    const fn of(typ: &'static [&'static str]) -> Self {
        Self {
            typ,
            typ_need: Need::Required,
            kid: Need::Required,
            iat: Need::Optional,
            aud: Need::Optional,
            jwk: (Need::Refused, &[]),
            ignored: &[],
        }
    }
}

/// A header that has the members of its kind and no other, each of its type.
#[derive(Debug)]
pub struct Header {
    /// The algorithm; `None` when `alg` is none of those that the contract takes. Such a signature is wrong, but it is
    /// not for the header to say so: what is earlier in the order of rules comes first.
    pub algorithm: Option<Algorithm>,
    /// `alg`, when it is a name that the contract knows; for the security record.
    pub alg: Option<&'static str>,
    /// `kid`.
    pub kid: Option<String>,
    /// `typ`.
    pub typ: Option<String>,
    /// `iat`.
    pub issued_at: Option<Timestamp>,
    /// `aud`.
    pub aud: Option<String>,
    /// `jwk`: a public key that fits some algorithm of its kind; whether it fits `alg` is seen when it verifies.
    pub jwk: Option<PublicKey>,
}

impl Header {
    /// What is wrong with the signature, with what may be known of it.
    pub fn fault(&self, rule: Rule, detail: impl Into<String>) -> Fault {
        Fault {
            rule,
            detail: detail.into(),
            kid: self.kid.clone().filter(|kid| is_id(kid)),
            alg: self.alg,
        }
    }
}

/// Reads the header of a JWS of this kind.
///
/// # Errors
/// `signature.header`: longer than [`HEADER_MAX`], not a strict JSON object (contract §2.1), a member too many, missing
/// or of another type, another `typ`, or a `jwk` that is no good public key.
pub fn parse_header(jws: &Jws<'_>, kind: &Kind) -> Result<Header, Fault> {
    let mut header = Header {
        algorithm: None,
        alg: None,
        kid: None,
        typ: None,
        issued_at: None,
        aud: None,
        jwk: None,
    };
    match fill(&mut header, jws, kind) {
        Ok(()) => Ok(header),
        Err(detail) => Err(header.fault(Rule::SignatureHeader, detail)),
    }
}

fn fill(header: &mut Header, jws: &Jws<'_>, kind: &Kind) -> Result<(), String> {
    if jws.header.len() > HEADER_MAX {
        return Err(format!("expected a header of at most {HEADER_MAX} characters"));
    }
    let json = decode(jws.header).unwrap_or_default();
    let root =
        read(&json, &BOUNDS).map_err(|finding| format!("expected a header of strict JSON: {}", finding.detail))?;
    let members = root.members().ok_or("expected a header that is a JSON object")?;
    // Kind and key first, as every fault names them.
    let alg = text(&root, "alg", Need::Required);
    let kid = text(&root, "kid", kind.kid);
    header.alg = alg.as_ref().ok().and_then(|alg| known(alg.as_deref()?));
    header.kid.clone_from(kid.as_ref().unwrap_or(&None));
    let taken = ["alg", "kid", "typ", "iat", "aud", "jwk"];
    if members
        .iter()
        .any(|member| !taken.contains(&&*member.name) && !kind.ignored.contains(&&*member.name))
    {
        return Err("expected no other header member than the contract names".to_owned());
    }
    header.algorithm = alg?.as_deref().and_then(Algorithm::of_jose);
    header.kid = kid?;
    header.typ = text(&root, "typ", kind.typ_need)?;
    if header.typ.as_ref().is_some_and(|typ| !kind.typ.contains(&typ.as_str())) {
        return Err(format!("expected `typ` `{}`", kind.typ.join("` or `")));
    }
    header.issued_at = value(&root, "iat", kind.iat)?.map(date).transpose()?;
    header.aud = text(&root, "aud", kind.aud)?;
    let (need, algorithms) = kind.jwk;
    header.jwk = value(&root, "jwk", need)?
        .map(|jwk| PublicKey::of_jwk(jwk, &Pointer::root().member("jwk"), algorithms))
        .transpose()
        .map_err(|error| error.to_string())?;
    Ok(())
}

/// `alg` as the security record may name it.
fn known(alg: &str) -> Option<&'static str> {
    ["none", "HS256", "HS384", "HS512", "EdDSA"]
        .into_iter()
        .chain(Algorithm::ALL.iter().map(|algorithm| algorithm.name()))
        .find(|name| *name == alg)
}

fn value<'n>(root: &'n Node<'_>, name: &str, need: Need) -> Result<Option<&'n Node<'n>>, String> {
    match (root.get(name), need) {
        (None, Need::Optional | Need::Refused) => Ok(None),
        (None, Need::Required) => Err(format!("expected `{name}`")),
        (Some(_), Need::Refused) => Err(format!("expected no `{name}`")),
        (Some(value), Need::Required | Need::Optional) => Ok(Some(value)),
    }
}

fn text(root: &Node<'_>, name: &str, need: Need) -> Result<Option<String>, String> {
    value(root, name, need)?
        .map(|value| {
            value
                .text()
                .map(str::to_owned)
                .ok_or_else(|| format!("expected `{name}` to be a string"))
        })
        .transpose()
}

/// A NumericDate in whole seconds.
fn date(value: &Node<'_>) -> Result<Timestamp, String> {
    value
        .number()
        .and_then(|number| Timestamp::from_second(number.integer()?).ok())
        .ok_or_else(|| "expected `iat` in whole seconds since 1970".to_owned())
}
