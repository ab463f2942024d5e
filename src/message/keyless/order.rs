//! The order of members in the keyless form (contract §2.3): the one table that code, schemas and documents share.
//!
//! The order of a body is that of the `properties` in its profile's schema, so a profile brings its order with it.

/// What stands in one place of a keyless array.
#[derive(Clone, Copy, Debug)]
pub enum Slot {
    /// A value as it is.
    Value,
    /// An array in the order of these fields, for an object.
    Object(&'static [Field]),
    /// An array of such arrays.
    List(&'static [Field]),
    /// An array in the order of the profile.
    Body,
}

/// One member of an object of contract §2.3, in its place.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name of the member in the keyed form.
    pub name: &'static str,
    /// What its place holds.
    pub slot: Slot,
}

/// The envelope; everything else is reached from here.
pub const ROOT: &[Field] = &[
    value("uai_version"),
    value("profile"),
    value("message_id"),
    object("source", PARTY),
    object("target", PARTY),
    object("conversation", CONVERSATION),
    object("delivery", DELIVERY),
    object("trust", TRUST),
    Field {
        name: "body",
        slot: Slot::Body,
    },
    object("provenance", PROVENANCE),
    object("integrity", INTEGRITY),
    list("extensions", EXTENSION),
];

const PARTY: &[Field] = &[
    value("type"),
    value("id"),
    value("label"),
    value("uri"),
    value("did"),
    value("role"),
    value("implementation"),
    value("project"),
];

const CONVERSATION: &[Field] = &[
    value("conversation_id"),
    value("turn_id"),
    value("parent_message_id"),
    value("traceparent"),
    value("sequence"),
    value("correlation_id"),
];

const DELIVERY: &[Field] = &[
    value("mode"),
    value("priority"),
    value("expires_at"),
    value("reply_requested"),
    value("ack_required"),
    value("task_ref"),
    value("idempotency_key"),
    value("retry_count"),
    value("sequence"),
    value("lifecycle"),
    value("timeout_ms"),
    value("fallback_directive"),
    value("expected_output_schema"),
];

const TRUST: &[Field] = &[
    value("channel"),
    value("auth_scheme"),
    value("principal"),
    value("credential_ref"),
    value("signature_ref"),
    value("replay_window_id"),
];

const PROVENANCE: &[Field] = &[
    value("trace_id"),
    value("parent_trace_id"),
    value("issued_at"),
    value("log_ref"),
    value("agent_id"),
    value("model_id"),
    value("confidence"),
    list("lineage", LINEAGE),
];

const LINEAGE: &[Field] = &[value("stage"), value("actor_id"), value("model_id"), value("note")];

const INTEGRITY: &[Field] = &[
    value("version"),
    value("algorithm"),
    value("canonicalization"),
    value("checksum"),
];

const EXTENSION: &[Field] = &[value("namespace"), value("purpose"), value("critical")];

const fn value(name: &'static str) -> Field {
    Field {
        name,
        slot: Slot::Value,
    }
}

const fn object(name: &'static str, fields: &'static [Field]) -> Field {
    Field {
        name,
        slot: Slot::Object(fields),
    }
}

const fn list(name: &'static str, fields: &'static [Field]) -> Field {
    Field {
        name,
        slot: Slot::List(fields),
    }
}
