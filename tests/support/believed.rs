//! What a case of the corpus says about trust: whom the policy believes, what the route wants proven, what was proven.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use portcullis::contract::Rule;
use portcullis::facts::{Fact, Fault, Presenter, Proof, Signed};
use portcullis::policy::{
    Algorithm, Claim, ClaimAbout, Issuer, KeySource, Pattern, Principal, Proofs, Role, Scheme, Trust,
};
use serde::Deserialize;
use serde_json::Value;

/// Whom the policy believes; nobody without it.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Believed {
    project: Option<String>,
    /// Name of an issuer, and its senders.
    issuers: BTreeMap<String, Vec<String>>,
    principals: BTreeMap<String, Known>,
    signature_required: bool,
    audience_required: bool,
    credentials: Vec<String>,
    /// Pointer of a claim, and what it claims.
    claims: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    #[serde(default)]
    role: Option<String>,
    #[serde(default)]
    aliases: Vec<String>,
    tenant: Option<String>,
    workspace: Option<String>,
    project: Option<String>,
    #[serde(default)]
    senders: Vec<String>,
    uai_identity: Option<String>,
    routes: Option<Vec<String>>,
    #[serde(default)]
    relays: Vec<String>,
    #[serde(default)]
    scopes: Vec<String>,
}

/// What was proven; nothing without it.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Found {
    presenter: Option<Presented>,
    signed: Option<Good>,
    /// Rule of the fault of a signature; `unverified` for one that nobody looked at.
    failed: Option<String>,
    fence: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Presented {
    principal: String,
    /// `certificate`, `token`, `dpop`.
    by: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Good {
    issuer: String,
    principal: Option<String>,
    issued_at: Option<String>,
    #[serde(default)]
    audience: bool,
}

/// The facts that [`Found`] stands for, owned.
pub struct Proven {
    presenter: Option<Presenter>,
    proof: Fact<Proof>,
    pub fence: Fact<jiff::Timestamp>,
}

impl Believed {
    pub fn trust(&self) -> Trust {
        let issuer = |(name, senders): (&String, &Vec<String>)| Issuer {
            name: name.clone(),
            keys: KeySource::File(PathBuf::from("/keys.json")),
            algorithms: Algorithm::DEFAULT.to_vec(),
            typ_optional: false,
            senders: patterns(senders),
            token_issuer: None,
            refresh: Duration::from_secs(300),
            unknown_kid_cooldown: Duration::from_secs(30),
            max_stale: Duration::from_secs(86_400),
        };
        Trust {
            issuers: self.issuers.iter().map(issuer).collect(),
            principals: self.principals.iter().map(principal).collect(),
            project: self.project.clone(),
            ..Trust::default()
        }
    }

    pub fn proofs(&self) -> Proofs {
        let claim = |(pointer, about): (&String, &String)| Claim {
            pointer: pointer.clone(),
            about: match about.as_str() {
                "tenant" => ClaimAbout::Tenant,
                "workspace" => ClaimAbout::Workspace,
                "project" => ClaimAbout::Project,
                other => panic!("claim `{other}`"),
            },
        };
        let scheme = |word: &String| match word.as_str() {
            "mtls" => Scheme::Mtls,
            "bearer" => Scheme::Bearer,
            "dpop" => Scheme::Dpop,
            other => panic!("credentials `{other}`"),
        };
        Proofs {
            signature_required: self.signature_required,
            audience_required: self.audience_required,
            schemes: self.credentials.iter().map(scheme).collect(),
            claims: self.claims.iter().map(claim).collect(),
            ..Proofs::default()
        }
    }
}

impl Found {
    pub fn proven(&self) -> Proven {
        let by = |presented: &Presented, word: &str| presented.by.iter().any(|by| by == word);
        let presenter = self.presenter.as_ref().map(|presented| Presenter {
            principal: presented.principal.as_str().into(),
            by_certificate: by(presented, "certificate"),
            by_token: by(presented, "token"),
            by_dpop: by(presented, "dpop"),
            actor: None,
        });
        let proof = match (&self.signed, self.failed.as_deref()) {
            (Some(good), None) => Fact::Known(Proof::Signed(Signed {
                issuer: good.issuer.as_str().into(),
                kid: "k1".into(),
                issued_at: good.issued_at.as_ref().map(|time| time.parse().unwrap()),
                has_audience: good.audience,
                principal: good.principal.as_deref().map(Into::into),
            })),
            (None, Some("unverified")) => Fact::Unavailable,
            (None, Some(rule)) => Fact::Known(Proof::Failed(Fault {
                rule: Rule::named(rule).unwrap(),
                detail: "expected what the verifier says".to_owned(),
                kid: None,
                alg: None,
            })),
            (None, None) => Fact::Absent,
            (Some(_), Some(_)) => panic!("`signed` and `failed`"),
        };
        let fence = match &self.fence {
            Value::Null => Fact::Absent,
            Value::String(word) if word == "unknown" => Fact::Unavailable,
            Value::String(time) => Fact::Known(time.parse().unwrap()),
            other => panic!("fence `{other}`"),
        };
        Proven {
            presenter,
            proof,
            fence,
        }
    }
}

impl Proven {
    pub fn presenter(&self) -> Fact<&Presenter> {
        self.presenter.as_ref().map_or(Fact::Absent, Fact::Known)
    }

    pub fn proof(&self) -> Fact<&Proof> {
        match &self.proof {
            Fact::Known(proof) => Fact::Known(proof),
            Fact::Absent => Fact::Absent,
            Fact::Unavailable => Fact::Unavailable,
        }
    }
}

fn principal((name, known): (&String, &Known)) -> Principal {
    let mut aliases = known.aliases.clone();
    aliases.push(name.clone());
    Principal {
        name: name.clone(),
        aliases,
        credentials: Vec::new(),
        role: match known.role.as_deref() {
            None | Some("worker") => Role::Worker,
            Some("coordinator") => Role::Coordinator,
            Some("orchestrator") => Role::Orchestrator,
            Some("observer") => Role::Observer,
            Some("service") => Role::Service,
            Some(other) => panic!("role `{other}`"),
        },
        tenant: known.tenant.clone(),
        workspace: known.workspace.clone(),
        project: known.project.clone(),
        senders: patterns(&known.senders),
        uai_identity: known.uai_identity.clone(),
        routes: known.routes.clone(),
        relays: known.relays.clone(),
        actors: Vec::new(),
        scopes: known.scopes.clone(),
        parent: None,
        branch_id: None,
        rate: None,
    }
}

fn patterns(texts: &[String]) -> Vec<Pattern> {
    texts.iter().map(|text| Pattern::parse(text).unwrap()).collect()
}
