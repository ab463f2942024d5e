//! What each rule checks, why, and an example: where it is written, or the text itself. `docs/rules.md` is made of it.
//!
//! A rule with a file in `src/rules/` is told in that file's header. All others are told here, also those that are not
//! built: they say what they will do.

use super::Rule;

/// Where the text about a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// In the header of `src/rules/<name>.rs`, which may tell of several rules.
    Header(&'static str),
    /// Here: what it checks, why, and an example of what it refuses.
    Here(Text),
}

/// The text about one rule, Markdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// What it checks.
    pub checks: &'static str,
    /// Why.
    pub why: &'static str,
    /// An example of what it refuses.
    pub example: &'static str,
}

const fn here(checks: &'static str, why: &'static str, example: &'static str) -> Told {
    Told::Here(Text { checks, why, example })
}

impl Rule {
    /// Where the text about this rule is.
    pub const fn told(self) -> Told {
        match self {
            Self::HttpFraming => here(
                "Where the body ends has one reading: one `Content-Length`, or one `Transfer-Encoding: chunked`, never both.",
                "Two servers that disagree about the end of a body see different requests.",
                "`Content-Length: 10` beside `Transfer-Encoding: chunked`.",
            ),
            Self::HttpHeader => here(
                "No field name has a `_`, no value a control byte, and `Connection` names no field that decides something.",
                "What one server drops or renames must not be what another decides by.",
                "`Connection: Authorization`.",
            ),
            Self::HttpHeaderSize => here(
                "The header fields are no more, and have no more bytes, than the limits.",
                "What a peer can make grow has a bound.",
                "65 fields under the default limit of 64.",
            ),
            Self::HttpTargetLength => here(
                "The request target is no longer than its limit.",
                "What a peer can make grow has a bound.",
                "A target of more than 4 KiB.",
            ),
            Self::HttpTarget => here(
                "The path has one reading (no dot segments, no encoded `/`, no doubled slash), and the host is one that the policy serves.",
                "The path that is matched has to be the path that the backend understands.",
                "`/v1/%2e%2e/admin`.",
            ),
            Self::HttpMethodOverride => here(
                "No header field asks for another method than the request line.",
                "The method that is judged has to be the method that is acted on.",
                "`X-HTTP-Method-Override: DELETE`.",
            ),
            Self::HttpUpgrade => here(
                "Nothing asks to switch protocols.",
                "After a switch nobody would judge what is said.",
                "`Upgrade: websocket`.",
            ),
            Self::HttpEarlyData => here(
                "The request did not travel in TLS early data.",
                "Early data can be sent again by anybody who saw it.",
                "`Early-Data: 1`.",
            ),
            Self::HttpTimeout => here(
                "Head and body arrive within their deadlines.",
                "A peer that says nothing must not hold a place.",
                "A body that stops after its first byte.",
            ),
            Self::RouteUndeclared => here(
                "The policy has a route with this path.",
                "What is not declared does not exist.",
                "`POST /v1/message` where the policy says `/v1/messages`.",
            ),
            Self::RouteMethod => here(
                "A route with this path takes this method. The answer's `Allow` lists those that are taken.",
                "What is not declared does not exist.",
                "`DELETE` on a route that takes `POST`.",
            ),
            Self::GetActionPrefetch => here(
                "A GET that starts something was not sent by a crawler, a prefetcher or a preview.",
                "A machine that looks ahead has not decided anything.",
                "`Sec-Purpose: prefetch`.",
            ),
            Self::HttpQuery => here(
                "The query is one that the route takes, and never carries an access token.",
                "A query is logged, kept and shared on its way.",
                "`?access_token=…`.",
            ),
            Self::RouteMediaType => here(
                "There is one `Content-Type`, one that the route takes, with no parameter but `charset=utf-8`.",
                "A body is read as what it says it is, or not at all.",
                "`Content-Type: text/plain`.",
            ),
            Self::RouteContentEncoding => here(
                "The body is not encoded.",
                "The bytes judged are the bytes forwarded, and a small encoded body can become a large one.",
                "`Content-Encoding: gzip`.",
            ),
            Self::JsonSize => here(
                "The body is no larger than the route takes, whether its length is declared or found while it is read.",
                "What a peer can make grow has a bound.",
                "A body of 256 KiB and one byte.",
            ),
            Self::LimitsRate => here(
                "There are no more requests in progress than `limits.in_flight`, no more a second from one address than `limits.peer_rate`, and no more on the route than its `rate`.",
                "A gate that is overrun protects nothing.",
                "One request more than the limit, while the others wait for the backend.",
            ),
            Self::AuthorityAssertedHeader => here(
                "The client sends no `UAI-*` field that only the gateway may set, however it is spelled.",
                "Authority is proven to the gateway and stated by it, never claimed by a client.",
                "`UAI-Principal: admin`.",
            ),
            Self::AuthMissing => here(
                "A route that needs a proven principal gets one.",
                "Who cannot be named cannot be answered for.",
                "No `Authorization` on a route that takes tokens.",
            ),
            Self::AuthCertificate => here(
                "The client certificate is for clients, chains to the route's bundle and names one principal.",
                "A certificate for another use or place proves nothing here.",
                "A certificate with two SPIFFE ids.",
            ),
            Self::AuthToken => here(
                "The bearer token has a permitted type and algorithm, a known issuer, this audience, and is in its time.",
                "A token for another place or time proves nothing here.",
                "A token whose `aud` is another service.",
            ),
            Self::AuthBinding => here(
                "A token that is bound to a key is presented with proof of that key.",
                "A bound token that was stolen must not be of use.",
                "A token with `cnf.jkt` sent as `Bearer`.",
            ),
            Self::AuthDpop => here(
                "A DPoP proof is for this method and URL, is fresh, and was not used before.",
                "A proof that can be replayed is none.",
                "A proof whose `htu` is another path.",
            ),
            Self::AuthUnavailable => here(
                "Key sets and revocation lists that a proof needs can be read and are recent.",
                "Not knowing is not a yes.",
                "A key set older than `max_stale` of its issuer.",
            ),
            Self::AuthorityDisagree => here(
                "All credentials of a request name one principal.",
                "Two names are one too many.",
                "A certificate of one agent beside the token of another.",
            ),
            Self::LimitsPrincipalRate => here(
                "A proven principal stays within its rate.",
                "One caller must not take everybody's place.",
                "The 401st request within a second, at 200 a second and a burst of 400.",
            ),
            Self::JsonUtf8 => here(
                "The body is UTF-8 without a byte order mark.",
                "Bytes that readers repair in different ways have several readings.",
                "A byte `FF` inside a string.",
            ),
            Self::JsonSyntax => here(
                "The body is one JSON value as RFC 8259 writes it, and nothing else.",
                "What one reader forgives, another reads as something else.",
                "`{\"a\": 1,}`.",
            ),
            Self::JsonDuplicateKey => here(
                "No object has two members of one name, compared after escapes and after Unicode NFC.",
                "One reader takes the first, another the last.",
                "`{\"profile\": 1, \"profil\\u0065\": 2}`.",
            ),
            Self::JsonCodepoint => here(
                "No name or string has a lone surrogate, a noncharacter or U+0000.",
                "Stores and languages cut, replace or refuse these, so that judged and stored text would differ.",
                "`\"\\ud800\"`.",
            ),
            Self::JsonNumber => here(
                "Every number is a finite double whose RFC 8785 text has the same value, and every integer is within ±(2^53−1).",
                "The number signed has to be the number read.",
                "`9007199254740993`.",
            ),
            Self::JsonBounds => here(
                "Depth, string length, members, elements and values stay within their bounds.",
                "What a peer can make grow has a bound.",
                "An array in an array, 33 deep.",
            ),
            Self::QueryParameter => here(
                "Each parameter of a GET-Action is declared, given once and fits its schema.",
                "What is not declared does not exist.",
                "`?amount=5` where no `amount` is declared.",
            ),
            Self::QuerySecret => here(
                "No parameter is named like a secret or has the shape of one, also after decoding twice.",
                "A query is logged, kept and shared on its way.",
                "`?api_key=…`.",
            ),
            Self::GetActionKey => here(
                "A GET-Action carries exactly one idempotency key of the right form.",
                "A link is followed more than once; what it starts must not be.",
                "A link without `idempotency_key`.",
            ),
            Self::EnvelopeAmbiguous => here(
                "It is clear which envelope the message has: `uai_version` or `version`, never both, and an array only on the keyless media type.",
                "A message with two readings has two meanings.",
                "An object with both `uai_version` and `version`.",
            ),
            Self::EnvelopeVersion => here(
                "`uai_version` is `1.0`, or `version` is `1.0.0`.",
                "Another version may mean something else by the same names.",
                "`\"uai_version\": \"1.1\"`.",
            ),
            Self::EnvelopeNotHere => here(
                "The route takes this envelope.",
                "What is not declared does not exist.",
                "A delivery envelope on a route for canonical ones.",
            ),
            Self::KeylessShape => here(
                "In the keyless form, an array stands wherever one has to be.",
                "Without names only the place tells what a value is.",
                "A string in the place of `delivery`.",
            ),
            Self::KeylessOverflow => here(
                "In the keyless form, every array has exactly as many places as its object has members.",
                "One place too few and everything after it means something else.",
                "An envelope of thirteen places.",
            ),
            Self::KeylessAlias => here(
                "In the keyless form, no object stands where an array has to be.",
                "A message has one form, not a mixture.",
                "`{\"type\": \"agent\"}` in the place of `source`.",
            ),
            Self::AddressingSet | Self::AddressingNotHere | Self::AddressingImplicit => Told::Header("addressing"),
            Self::ModeUnknown | Self::CapabilityMode => Told::Header("mode"),
            Self::ProfileUnknown | Self::CapabilityProfile => Told::Header("profile"),
            Self::GetActionCategory => here(
                "A GET-Action does nothing that a person has to agree to: no payment, publication, deletion, durable write.",
                "A link is not consent.",
                "A link that publishes a page.",
            ),
            Self::CapabilityExtension => Told::Header("extension"),
            Self::CapabilityOperation => Told::Header("operation"),
            Self::CapabilityLevel => here(
                "The client has shown the level that the route needs.",
                "Who cannot do what a path needs is sent the path it can take.",
                "A plain GET to a route of level L3.",
            ),
            Self::CapabilityRevision => Told::Header("revision"),
            Self::SchemaRequired
            | Self::SchemaUndeclared
            | Self::SchemaType
            | Self::SchemaValue
            | Self::TimeUtc
            | Self::IdentityMalformed => Told::Header("schema"),
            Self::IdempotencyDisagree | Self::IdempotencyMalformed | Self::IdempotencyMissing => {
                Told::Header("idempotency")
            }
            Self::IntegrityAbsent | Self::IntegrityPlaceholder | Self::IntegrityMismatch => Told::Header("integrity"),
            Self::SignatureAbsent
            | Self::SignatureMalformed
            | Self::SignatureDisagree
            | Self::SignatureHeader
            | Self::SignatureAlgorithm
            | Self::SignatureKeyUnknown
            | Self::KeysUnavailable
            | Self::SignatureWrongAudience
            | Self::SignatureWrong => Told::Header("signature"),
            Self::AuthoritySender => Told::Header("authority/sender"),
            Self::AuthorityRelay => Told::Header("authority/relay"),
            Self::AuthorityRoute => Told::Header("authority/route"),
            Self::AuthorityTenant => Told::Header("authority/tenant"),
            Self::TrustChannelMismatch => Told::Header("channel"),
            Self::TrustPrincipalMismatch => Told::Header("authority/principal"),
            Self::ClockUnsteady
            | Self::FreshnessExpired
            | Self::FreshnessTooOld
            | Self::FreshnessFuture
            | Self::FreshnessFence
            | Self::FreshnessLifetime => Told::Header("freshness"),
            Self::SecretsBody => here(
                "No text of the body has the shape of a secret.",
                "What one agent tells another is kept and told again.",
                "A private key in `content`.",
            ),
            Self::RedactionBody => here(
                "What says that it is redacted shows nothing.",
                "Half a secret is often enough.",
                "A card number with four digits blanked.",
            ),
            Self::ClaimsUnsupported => Told::Header("claims/mod"),
            Self::ActionExecution | Self::ActionCredential => Told::Header("action"),
            Self::ClaimsWidening => Told::Header("claims/widening"),
            Self::ProbePrivateNetwork => Told::Header("probe"),
            Self::ProvenanceMissing => Told::Header("lineage"),
            Self::MemoryColdPromotion => Told::Header("promotion"),
            Self::ReportEvidence => Told::Header("report"),
            Self::BlockerReview => Told::Header("blocker"),
            Self::ResponseTaskRef => Told::Header("response"),
            Self::ProgressConsistent => Told::Header("progress"),
            Self::ConformanceSummary => Told::Header("summary"),
            Self::CapabilityStatement => Told::Header("statement"),
            Self::CapabilityConsent => Told::Header("consent"),
            Self::CapabilityIdempotency => Told::Header("posting"),
            Self::WorkflowEvidence => Told::Header("workflow"),
            Self::DeliveryConflict => Told::Header("conflict"),
            Self::StatusPublicSafe => Told::Header("public_safe"),
            Self::StateUnavailable => here(
                "What has to be written before a message is let through can be written.",
                "What is not recorded must not happen.",
                "`ledger: required` while the last record could not be written.",
            ),
            Self::IdempotencyConflict => here(
                "A key that was used comes with the request it was used with.",
                "A key stands for one request.",
                "The same key with another summary.",
            ),
            Self::IdempotencyInFlight => here(
                "The first request with this key has ended.",
                "Two at once would both be first.",
                "A retry while the backend still works.",
            ),
            Self::IdempotencyUnknown => here(
                "The outcome of the first request with this key is known.",
                "What may have happened is not done again without a person.",
                "A retry after the connection to the backend was lost.",
            ),
            Self::ReplaySeen => here(
                "The message was not admitted before.",
                "A message is acted on at most once.",
                "The same signed bytes a second time.",
            ),
            Self::ReplayShare => here(
                "One sender fills no more of the replay set than its share.",
                "One sender must not make the gate forget, or refuse, the others.",
                "The message after a fifth of the set.",
            ),
            Self::StateFull => here(
                "There is room to remember the message.",
                "What cannot be remembered could be replayed.",
                "A full replay set.",
            ),
            Self::LeaseHeld => here(
                "Nobody else holds the registered name.",
                "One name has one live owner.",
                "A second instance under a leased name.",
            ),
            Self::LeaseStaleInstance => here(
                "The request comes from the instance that holds the lease.",
                "An instance that lost its name must stop acting under it.",
                "A request of the previous holder.",
            ),
            Self::DeliveryAckTarget => here(
                "The delivery belongs to the agent and is in a state that can be acknowledged.",
                "Only its recipient can say that a delivery was handled.",
                "An acknowledgement of an archived delivery.",
            ),
            Self::DeliveryNotOwn => here(
                "An agent reads and revokes only its own deliveries.",
                "A queue has one reader.",
                "Reading the queue of another agent.",
            ),
            Self::RevisionStale => here(
                "A write names the current revision as its parent.",
                "No write is lost to one that came later.",
                "A parent hash that was current yesterday.",
            ),
            Self::HoldRequired => Told::Header("hold"),
            Self::MemoryConflict => here(
                "What a message proposes to remember contradicts nothing that is remembered.",
                "A contradiction is settled by a person.",
                "Another value for a fact that is current truth.",
            ),
            Self::HoldFull => here(
                "There is room to hold the message.",
                "What a peer can make grow has a bound.",
                "The message after `hold.max`.",
            ),
            Self::BackendUnreachable => here(
                "The backend takes a connection. Nothing was sent when it does not.",
                "The sender has to know whether its message may have arrived.",
                "A backend that is not running.",
            ),
            Self::BackendLost => here(
                "The connection lasts until the answer is there. What was sent may have been acted on.",
                "The sender has to know whether its message may have arrived.",
                "A backend that ends in the middle of a request.",
            ),
            Self::BackendTimeout => here(
                "The backend answers within the route's deadline.",
                "Nobody waits for ever.",
                "An answer after 31 seconds.",
            ),
            Self::BackendContract => here(
                "The answer is within its limit and, where it says that it is UAI, a valid message of this agent.",
                "What comes out of the gate has passed it too.",
                "An answer of media type `application/uai+json` that is not JSON.",
            ),
            Self::InternalPanic => here(
                "No code of the gateway panics. A panic costs one request; the process serves on.",
                "A fault is a refusal, never a way through.",
                "None is known.",
            ),
        }
    }
}
