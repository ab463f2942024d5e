//! The nine verdict words, and what a refusal can say about the backend (contract §5).

/// What was decided about one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "contract §5 explains each verdict word")]
pub enum Outcome {
    Allow,
    Replayed,
    Held,
    NoOp,
    Rejected,
    Throttled,
    Unavailable,
    Aborted,
    Observed,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: &'static [Self] = &[
        Self::Allow,
        Self::Replayed,
        Self::Held,
        Self::NoOp,
        Self::Rejected,
        Self::Throttled,
        Self::Unavailable,
        Self::Aborted,
        Self::Observed,
    ];

    /// The word used in records, metrics and the `UAI-Verdict` field.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Replayed => "replayed",
            Self::Held => "held",
            Self::NoOp => "no_op",
            Self::Rejected => "rejected",
            Self::Throttled => "throttled",
            Self::Unavailable => "unavailable",
            Self::Aborted => "aborted",
            Self::Observed => "observed",
        }
    }
}

/// Whether the backend may have seen the message, said in every `unavailable` answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BackendOutcome {
    /// Not one byte was sent.
    NotSent,
    /// Something was sent and the answer is lost.
    Unknown,
    /// The backend answered; its answer was not passed on.
    Delivered,
}

impl BackendOutcome {
    /// The word used in the `outcome` member.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotSent => "not_sent",
            Self::Unknown => "unknown",
            Self::Delivered => "delivered",
        }
    }
}
