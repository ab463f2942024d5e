//! The ring without a gateway: files only.
