//! The tree as jsonschema sees it.
/// Marker type for `jsonschema::options_for::<Tree>()`.
pub struct Tree;
