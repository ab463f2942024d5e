//! hold.required
use super::Input;
/// Why the message would be held if it were valid; `None` when it would not.
pub fn reason(_input: &Input<'_>) -> Option<&'static str> {
    todo!()
}
