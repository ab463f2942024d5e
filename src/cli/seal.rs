//! Puts the checksum of contract §7 into a message that this program makes.

use serde_json::{Value, json};

use crate::message::canonical;
use crate::message::json::{self, Bounds};

/// The message with `integrity.checksum` of its canonical bytes; unchanged when it has no `integrity`.
pub fn seal(mut message: Value) -> Value {
    let bytes = message.to_string();
    if let Ok(root) = json::read(bytes.as_bytes(), &Bounds::default())
        && let Some(integrity) = message.get_mut("integrity").and_then(Value::as_object_mut)
    {
        let checksum = format!("sha256:{}", canonical::digest(&root));
        integrity.insert("checksum".to_owned(), json!(checksum));
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealing_twice_changes_nothing() {
        let sealed = seal(json!({"integrity": {"version": 1}, "a": [1]}));
        assert_eq!(seal(sealed.clone()), sealed);
        let checksum = sealed.pointer("/integrity/checksum").and_then(Value::as_str).unwrap();
        assert_eq!(checksum.len(), "sha256:".len() + 64);
        assert_eq!(seal(json!({})), json!({}));
    }
}
