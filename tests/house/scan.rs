//! Reads the repository's text: files, paths that code names, links and code spans of Markdown.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// The modules of the crate that a file's code reaches through `crate::` or enough `super::`.
pub fn reached_modules(file: &str, code: &str) -> BTreeSet<String> {
    let inside = file
        .trim_start_matches("src/")
        .trim_end_matches("/mod.rs")
        .trim_end_matches(".rs");
    let to_root = vec!["super"; inside.split('/').count()].join("::");
    let mut reached = first_segments(code, "crate");
    reached.extend(first_segments(code, &to_root));
    reached
}

/// The first segments after `root::` anywhere in the code, also inside `root::{…}`.
pub fn first_segments(code: &str, root: &str) -> BTreeSet<String> {
    let start = format!("{root}::");
    let mut found = BTreeSet::new();
    for at in words(code, &start) {
        let rest = &code[at + start.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            found.insert(identifier(rest));
            continue;
        };
        let mut depth = 1_usize;
        let mut item = String::new();
        for letter in group.chars() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 || (depth == 1 && letter == ',') {
                found.insert(identifier(item.trim()));
                item.clear();
            } else {
                item.push(letter);
            }
            if depth == 0 {
                break;
            }
        }
    }
    found
}

/// Where `needle` begins in `text` as a word of its own, not as the tail of a longer name.
pub fn words(text: &str, needle: &str) -> Vec<usize> {
    let part_of_name = |before: &str| before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    text.match_indices(needle)
        .map(|(at, _)| at)
        .filter(|at| !part_of_name(&text[..*at]))
        .collect()
}

/// Whether a line names an absolute path: not the path of a URL, and not the head of a longer name.
pub fn names_place(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + place.len()..].chars().next();
        let joins = |letter: char| letter.is_alphanumeric() || ".-_}".contains(letter);
        !before.is_some_and(joins) && !after.is_some_and(|letter| letter.is_alphanumeric() || "-_".contains(letter))
    })
}

pub fn identifier(text: &str) -> String {
    text.chars()
        .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
        .collect()
}

/// A file's text without lines that are comments, so that prose may name anything.
pub fn code(text: &str) -> String {
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// The part above the tests, which stand last in a file.
pub fn before_tests(code: &str) -> &str {
    code.split("#[cfg(test)]\nmod ").next().unwrap_or(code)
}

pub fn sources() -> Vec<String> {
    let files: Vec<String> = files_under(&["src"])
        .into_iter()
        .filter(|file| file.ends_with(".rs"))
        .collect();
    assert!(files.len() > 20, "only {} files found under src/", files.len());
    files
}

pub fn documents() -> Vec<String> {
    let mut files: Vec<String> = files_under(&["docs", "charts"]);
    files.extend(["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "SECURITY.md"].map(str::to_owned));
    files.retain(|file| file.ends_with(".md"));
    files
}

/// Relative targets of Markdown links, without fragment.
pub fn links(text: &str) -> Vec<String> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| !target.contains("://") && !target.starts_with('#') && !target.contains(char::is_whitespace))
        .map(|target| target.split('#').next().unwrap().to_owned())
        .collect()
}

/// Files of the repository that code blocks and code spans name.
pub fn named_files(text: &str) -> BTreeSet<String> {
    let folders = [
        "scripts/",
        "policies/",
        "examples/",
        "docs/",
        "schemas/",
        "charts/",
        "benches/",
    ];
    fenced(text)
        .chain(code_spans(text))
        .flat_map(|piece| piece.split(|letter: char| letter.is_whitespace() || "\"'`,;()<>@=".contains(letter)))
        .map(|word| word.trim_start_matches("./").trim_end_matches([':', '.']))
        .filter(|word| folders.iter().any(|folder| word.starts_with(folder)) && !word.contains(['*', '{', '…', '$']))
        .map(str::to_owned)
        .collect()
}

/// The text of fenced blocks, without the word that names their language.
pub fn fenced(text: &str) -> impl Iterator<Item = &str> {
    text.split("```")
        .skip(1)
        .step_by(2)
        .filter_map(|block| block.split_once('\n').map(|(_, text)| text))
}

pub fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    text.split("```")
        .step_by(2)
        .flat_map(|prose| prose.split('`').skip(1).step_by(2))
}

/// Text files under the given folders, sorted, named from the root with `/`.
pub fn files_under(folders: &[&str]) -> Vec<String> {
    let mut files = Vec::new();
    let mut ahead: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    while let Some(place) = ahead.pop() {
        let Ok(entries) = fs::read_dir(&place) else {
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if !["target", ".git"].contains(&name.as_str()) {
                    ahead.push(path);
                }
            } else if name != ".git" && fs::read_to_string(&path).is_ok() {
                let path = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
                files.push(path.trim_start_matches("./").to_owned());
            }
        }
    }
    files.sort();
    files
}

pub fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

pub fn root() -> PathBuf {
    PathBuf::from(option_env!("CARGO_MANIFEST_DIR").unwrap_or("."))
}

pub fn none(faults: Vec<String>) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
