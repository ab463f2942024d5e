//! Whether a Redis may be trusted with what must not be lost: it writes, and it never drops a live entry.

use crate::state::store::StoreError;

/// Judges the answer to `INFO`.
///
/// # Errors
/// What is wrong with the server.
pub(super) fn fit(info: &str) -> Result<(), StoreError> {
    let role = value(info, "role").ok_or(StoreError::Unreachable("it does not tell its role (`INFO`)"))?;
    if role != "master" {
        return Err(StoreError::Exhausted("it is a replica, which cannot be written to"));
    }
    if value(info, "loading") == Some("1") {
        return Err(StoreError::Unreachable("it is still loading its data"));
    }
    match value(info, "maxmemory_policy") {
        Some("noeviction") => Ok(()),
        Some(_) => Err(StoreError::Exhausted(
            "its `maxmemory-policy` drops entries; set it to `noeviction`",
        )),
        None => Err(StoreError::Unreachable(
            "it does not tell its `maxmemory-policy` (`INFO memory`); allow the command `INFO`",
        )),
    }
}

/// Whether it writes every change to a file before long.
pub(super) fn persists(info: &str) -> bool {
    value(info, "aof_enabled") == Some("1")
}

/// The memory it uses.
pub(super) fn used_memory(info: &str) -> Option<u64> {
    value(info, "used_memory")?.parse().ok()
}

fn value<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines()
        .filter_map(|line| line.trim_end().split_once(':'))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_primary_that_never_evicts_is_fit() {
        let info = |role: &str, policy: &str| format!("# Replication\r\nrole:{role}\r\n# Memory\r\n{policy}");
        for (what, info, right) in [
            (
                "as it should be",
                info("master", "maxmemory_policy:noeviction\r\n"),
                true,
            ),
            ("a replica", info("slave", "maxmemory_policy:noeviction\r\n"), false),
            (
                "drops the oldest",
                info("master", "maxmemory_policy:allkeys-lru\r\n"),
                false,
            ),
            (
                "drops those with an end",
                info("master", "maxmemory_policy:volatile-ttl\r\n"),
                false,
            ),
            ("tells no policy", info("master", ""), false),
            ("tells nothing", String::new(), false),
        ] {
            assert_eq!(fit(&info).is_ok(), right, "{what}");
        }
    }

    #[test]
    fn figures_are_read() {
        assert!(persists("aof_enabled:1\r\n"));
        assert!(!persists("aof_enabled:0\r\n"));
        assert_eq!(used_memory("used_memory:12\r\nused_memory_human:12B\r\n"), Some(12));
    }
}
