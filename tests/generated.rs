//! `docs/rules.md`, `docs/profiles.md` and `docs/codes.md` are what the code says.
//!
//! `PORTCULLIS_BLESS=1 cargo test --test generated` writes them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::arithmetic_side_effects,
    clippy::wildcard_enum_match_arm,
    reason = "a test that fails is a test"
)]

#[path = "generated/codes.rs"]
mod codes;
#[path = "generated/profiles.rs"]
mod profiles;
#[path = "generated/rules.rs"]
mod rules;

use std::fs;
use std::path::Path;

use portcullis::contract::{Rule, Told};

#[test]
fn the_page_of_the_rules_is_fresh() {
    is_fresh("docs/rules.md", &rules::page());
}

#[test]
fn the_page_of_the_profiles_is_fresh() {
    is_fresh("docs/profiles.md", &profiles::page());
}

#[test]
fn the_page_of_the_codes_is_fresh() {
    is_fresh("docs/codes.md", &codes::page());
}

/// A header tells of the rules that its file reports, and of no rule that another file reports.
#[test]
fn a_header_tells_of_the_rules_of_its_own_file() {
    for rule in Rule::ALL {
        let Told::Header(name) = rule.told() else { continue };
        let file = format!("src/rules/{name}.rs");
        let text = fs::read_to_string(root().join(&file)).unwrap();
        assert!(
            text.contains(&format!("Rule::{rule:?}")),
            "{file} does not report {}",
            rule.id()
        );
        let told = text.lines().take_while(|line| line.starts_with("//!")).any(|line| {
            let family = rule.id().split('.').next().unwrap();
            line.contains(&format!("`{}`", rule.id())) || line.contains(&format!("`{family}.*`"))
        });
        assert!(told, "the header of {file} does not name {}", rule.id());
        assert!(rule.is_built(), "{} has a file and is not built", rule.id());
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn is_fresh(file: &str, page: &str) {
    let path = root().join(file);
    if std::env::vars_os().any(|(name, _)| name == "PORTCULLIS_BLESS") {
        fs::write(&path, page).unwrap();
    }
    let text = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == page,
        "{file} is stale; write it with PORTCULLIS_BLESS=1 cargo test --test generated"
    );
}
