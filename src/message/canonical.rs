//! Canonical bytes (contract §7, RFC 8785).
use super::json::Node;

/// RFC 8785 text of a value, nothing removed.
pub fn jcs(_node: &Node<'_>) -> Vec<u8> {
    todo!()
}

/// Canonical bytes of a canonical envelope (contract §7 steps 2 to 5).
pub fn canonical_bytes(_root: &Node<'_>) -> Vec<u8> {
    todo!()
}

/// SHA-256 of the canonical bytes, 64 lowercase hex digits.
pub fn digest(_root: &Node<'_>) -> String {
    todo!()
}

/// SHA-256 of any bytes, 64 lowercase hex digits.
pub fn sha256_hex(_bytes: &[u8]) -> String {
    todo!()
}
