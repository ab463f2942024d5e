//! The one place that owns statuses and bodies of the gateway's own answers (contract §5).

use bytes::Bytes;
use http::Response;
use uuid::Uuid;

use crate::decide::Refusal;
use crate::message::envelope::Message;
use crate::policy::{Policy, Route};

/// What an answer needs to know besides the refusal.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Verdict id.
    pub id: Uuid,
    /// The policy that judged it.
    pub policy: &'a Policy,
    /// The route, once it is known.
    pub route: Option<&'a Route>,
    /// Methods the path is declared with, for 405.
    pub allowed: &'a [&'a str],
    /// Whether `Accept` asks for `application/uai+json`.
    pub accepts_uai: bool,
    /// The message, once stage 4 passed; `uai.error.v1` is used only for refusals after stage 7.
    pub message: Option<&'a Message<'a>>,
    /// Now, for `issued_at` of a `uai.error.v1`.
    pub now: jiff::Timestamp,
    /// Whether the client's body is left unread on HTTP/1.1, so that the connection must close.
    pub close: bool,
}

/// The answer to a refusal: problem+json, `uai.error.v1` or two keys, with every field contract §5 asks for.
pub fn refuse(_refusal: &Refusal, _asked: &Asked<'_>) -> Response<Bytes> {
    todo!()
}
