//! What is no business of the public: private places, paths of a machine, stack traces (contract §9).

pub(super) mod host;
pub(super) mod text;
mod trace;
