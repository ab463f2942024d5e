//! The secret detector's core: names and shapes (contract §9, "How secrets are found").

/// Whether a member name may be printed in a pointer.
pub fn is_safe_name(_name: &str) -> bool {
    todo!()
}
