//! Strict JSON reader.
use super::Node;
use crate::contract::Finding;

/// Bounds of contract §2.1; every one can be set, none can be switched off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Levels of nesting; the root is 1.
    pub depth: usize,
    /// Bytes of unescaped UTF-8 in one string or name.
    pub string: usize,
    /// Members in one object.
    pub members: usize,
    /// Elements in one array.
    pub elements: usize,
    /// Scalars, arrays and objects in all; names do not count.
    pub values: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            depth: 32,
            string: 64 * 1024,
            members: 256,
            elements: 4096,
            values: 20_000,
        }
    }
}

/// Reads one JSON document.
///
/// # Errors
/// The first offending byte ends the reading: one finding of a `json.*` rule, with pointer and byte offset.
pub fn read<'a>(_bytes: &'a [u8], _bounds: &Bounds) -> Result<Node<'a>, Finding> {
    todo!()
}
