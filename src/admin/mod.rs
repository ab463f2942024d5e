//! The admin listener: health, metrics, fail-mode table, policy in force.
