//! Hot reload: the policy file and what it names are looked at again and again; a good change is put in force whole,
//! a bad one is told and the last good policy stays.

mod watcher;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use watcher::Watcher;

use super::files::{self, Gathered};
use super::{Config, Overrides, Server, understand};
use crate::clock::Clock;
use crate::policy::{Attempt, InForce};

/// Looks at the files once and puts in force what it finds. It has no thread and no timer of its own.
pub struct Reloader {
    path: PathBuf,
    overrides: Overrides,
    server: Server,
    in_force: Arc<InForce>,
    clock: Clock,
    /// Fingerprint of what the last attempt saw; `None` before the first look.
    seen: Option<String>,
    on_attempt: Box<dyn Fn(&Attempt) + Send>,
}

impl std::fmt::Debug for Reloader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reloader")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Reloader {
    /// Begins with the policy in force. `server` is what the process was started with; `on_attempt` is called after
    /// each attempt, whatever came of it.
    pub fn new(
        path: &Path,
        overrides: Overrides,
        server: Server,
        in_force: Arc<InForce>,
        clock: Clock,
        on_attempt: impl Fn(&Attempt) + Send + 'static,
    ) -> Self {
        Self {
            path: path.to_owned(),
            overrides,
            server,
            in_force,
            clock,
            seen: None,
            on_attempt: Box::new(on_attempt),
        }
    }

    /// Makes one attempt when what is on disk is not what the last one saw; tells whether it did.
    pub fn look(&mut self) -> bool {
        let gathered = files::gather(&self.path);
        let fingerprint = gathered.fingerprint();
        // The process began with the policy in force; files that changed since then are a change like any other.
        let begun = self.seen.is_none() && gathered.is_revision(&self.in_force.current().revision);
        if begun || self.has_seen(&fingerprint) {
            self.seen = Some(fingerprint);
            return false;
        }
        self.seen = Some(fingerprint);
        let now = self.clock.now();
        match self.understand(&gathered) {
            Ok(config) => self.in_force.replace(config.policy, now),
            Err(mistakes) => self.in_force.keep(mistakes, now),
        }
        (self.on_attempt)(&self.in_force.last_attempt());
        true
    }

    /// What is on disk now, for a caller that waits until a file is written to its end.
    pub(super) fn fingerprint(&self) -> String {
        files::gather(&self.path).fingerprint()
    }

    /// Whether that is what the last attempt saw.
    pub(super) fn has_seen(&self, fingerprint: &str) -> bool {
        self.seen.as_deref() == Some(fingerprint)
    }

    /// Directories in which a change can show: those of the policy and its schemas, before and behind links.
    pub(super) fn directories(&self) -> Vec<PathBuf> {
        files::gather(&self.path).directories(&self.path)
    }

    /// Tells of a failure that is none of the policy's; the policy in force stays.
    pub(super) fn failed(&mut self) {
        let mistake = "the policy could not be looked at; this is a fault of Portcullis".to_owned();
        self.in_force.keep(vec![mistake], self.clock.now());
        (self.on_attempt)(&self.in_force.last_attempt());
    }

    fn understand(&self, gathered: &Gathered) -> Result<Config, Vec<String>> {
        let config = understand(gathered, &self.overrides).map_err(|mistakes| mistakes.summaries())?;
        let (old, new) = (&self.server, &config.server);
        // The store keeps every entry for as long as the policy that wrote it could accept the message again; what one
        // policy forgot must not be fresh to the next.
        let (kept, asked) = (&self.in_force.current().freshness, &config.policy.freshness);
        let changed: Vec<String> = [
            ("listen", old.listen != new.listen),
            ("admin", old.admin != new.admin),
            ("tls", old.tls != new.tls),
            ("state", old.state != new.state),
            ("ledger", old.ledger_required != new.ledger_required),
            ("freshness.window", kept.window != asked.window),
            ("freshness.skew", kept.skew != asked.skew),
        ]
        .into_iter()
        .filter(|(_, changed)| *changed)
        .map(|(key, _)| format!("`{key}` is not what the process was started with; this change needs a restart"))
        .collect();
        if changed.is_empty() { Ok(config) } else { Err(changed) }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::Mutex;

    use jiff::Timestamp;

    use super::*;

    fn text(path: &str) -> String {
        format!(
            "agent: {{ids: [a.b]}}\nbackend: {{url: \"http://127.0.0.1:9000\"}}\n\
             routes:\n  - {{name: look, path: {path}, method: GET, takes: read}}\n"
        )
    }

    struct Stage {
        dir: tempfile::TempDir,
        policy: Arc<InForce>,
        reloader: Reloader,
        attempts: Arc<Mutex<Vec<Attempt>>>,
    }

    /// A reloader that began with the policy at `file`.
    fn stage(dir: tempfile::TempDir, file: &str) -> Stage {
        let path = dir.path().join(file);
        let config = crate::config::load(&path).unwrap();
        let clock = Clock::manual(Timestamp::UNIX_EPOCH);
        let policy = Arc::new(InForce::new(config.policy, clock.now()));
        let attempts = Arc::new(Mutex::new(Vec::new()));
        let told = attempts.clone();
        let tell = move |attempt: &Attempt| told.lock().unwrap().push(attempt.clone());
        let reloader = Reloader::new(&path, Overrides::default(), config.server, policy.clone(), clock, tell);
        Stage {
            dir,
            policy,
            reloader,
            attempts,
        }
    }

    fn plain() -> Stage {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("p.yaml"), text("/one")).unwrap();
        stage(dir, "p.yaml")
    }

    impl Stage {
        fn write(&self, text: &str) {
            fs::write(self.dir.path().join("p.yaml"), text).unwrap();
        }

        fn path(&self) -> String {
            self.policy.current().routes[0].path.as_str().to_owned()
        }

        fn last_mistakes(&self) -> Vec<String> {
            self.attempts.lock().unwrap().last().unwrap().mistakes.clone()
        }
    }

    #[test]
    fn a_good_change_is_put_in_force_once() {
        let mut stage = plain();
        assert!(!stage.reloader.look(), "nothing changed since the start");
        stage.write(&text("/two"));
        assert!(stage.reloader.look());
        assert!(!stage.reloader.look());
        assert_eq!(stage.path(), "/two");
        let attempts = stage.attempts.lock().unwrap();
        assert_eq!(attempts.len(), 1);
        assert_eq!(attempts[0].revision, stage.policy.current().revision);
        assert!(attempts[0].mistakes.is_empty());
    }

    #[test]
    fn a_change_between_start_and_the_first_look_is_taken() {
        let mut stage = plain();
        stage.write(&text("/two"));
        assert!(stage.reloader.look());
        assert_eq!(stage.path(), "/two");
    }

    #[test]
    fn a_bad_change_keeps_the_last_good_one_and_is_told_once() {
        let mut stage = plain();
        let before = stage.policy.current().revision.clone();
        for (bad, words) in [
            ("routes: [", "not YAML"),
            ("", "empty"),
            ("agent: {}", "expected the key `backend`"),
        ] {
            stage.write(bad);
            assert!(stage.reloader.look(), "{words}");
            assert!(!stage.reloader.look(), "{words}");
            assert!(stage.last_mistakes()[0].contains(words), "{:?}", stage.last_mistakes());
            assert_eq!(stage.policy.current().revision, before);
            assert_eq!(stage.policy.last_attempt().revision, before);
        }
        stage.write(&text("/two"));
        assert!(stage.reloader.look());
        assert_eq!(stage.path(), "/two");
        assert!(stage.last_mistakes().is_empty());
    }

    #[test]
    fn a_removed_file_is_told_and_its_return_is_taken() {
        let mut stage = plain();
        fs::remove_file(stage.dir.path().join("p.yaml")).unwrap();
        assert!(stage.reloader.look());
        assert!(stage.last_mistakes()[0].contains("does not exist"));
        assert_eq!(stage.path(), "/one");
        // The same text as before: the way back is an attempt too, so that the mistake does not stand for ever.
        stage.write(&text("/one"));
        assert!(stage.reloader.look());
        assert!(stage.last_mistakes().is_empty());
    }

    #[test]
    fn the_link_swap_of_a_config_map_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        for (name, path) in [("..1", "/one"), ("..2", "/two")] {
            fs::create_dir(dir.path().join(name)).unwrap();
            fs::write(dir.path().join(name).join("p.yaml"), text(path)).unwrap();
        }
        symlink("..1", dir.path().join("..data")).unwrap();
        symlink("..data/p.yaml", dir.path().join("p.yaml")).unwrap();
        let mut stage = stage(dir, "p.yaml");
        assert!(!stage.reloader.look());
        let watched = stage.reloader.directories();
        assert!(watched.iter().any(|dir| dir.ends_with("..1")), "{watched:?}");

        symlink("..2", stage.dir.path().join("..data_tmp")).unwrap();
        fs::rename(stage.dir.path().join("..data_tmp"), stage.dir.path().join("..data")).unwrap();
        fs::remove_dir_all(stage.dir.path().join("..1")).unwrap();
        assert!(stage.reloader.look());
        assert_eq!(stage.path(), "/two");
        assert!(stage.reloader.directories().iter().any(|dir| dir.ends_with("..2")));
    }

    #[test]
    fn a_replaced_directory_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        for (name, path) in [("live", "/one"), ("next", "/two")] {
            fs::create_dir(dir.path().join(name)).unwrap();
            fs::write(dir.path().join(name).join("p.yaml"), text(path)).unwrap();
        }
        let mut stage = stage(dir, "live/p.yaml");
        fs::rename(stage.dir.path().join("live"), stage.dir.path().join("gone")).unwrap();
        fs::rename(stage.dir.path().join("next"), stage.dir.path().join("live")).unwrap();
        assert!(stage.reloader.look());
        assert_eq!(stage.path(), "/two");
    }

    #[test]
    fn a_changed_schema_file_is_a_change() {
        let dir = tempfile::tempdir().unwrap();
        let policy = format!("{}schemas: {{dir: own}}\n", text("/one"));
        fs::create_dir(dir.path().join("own")).unwrap();
        fs::write(dir.path().join("p.yaml"), policy).unwrap();
        let mut stage = stage(dir, "p.yaml");
        let before = stage.policy.current().revision.clone();
        assert!(!stage.reloader.look());
        fs::write(stage.dir.path().join("own/x.y.v1.json"), "{").unwrap();
        assert!(stage.reloader.look());
        assert!(
            stage.last_mistakes()[0].contains("x.y.v1"),
            "{:?}",
            stage.last_mistakes()
        );
        assert_eq!(stage.policy.current().revision, before);
        fs::write(
            stage.dir.path().join("own/x.y.v1.json"),
            r#"{"type":"object","additionalProperties":false}"#,
        )
        .unwrap();
        assert!(stage.reloader.look());
        assert_eq!(stage.last_mistakes(), Vec::<String>::new());
        assert_ne!(stage.policy.current().revision, before);
    }

    #[test]
    fn settings_of_the_process_need_a_restart() {
        let mut stage = plain();
        for (line, key) in [
            ("listen: 127.0.0.1:1", "`listen`"),
            ("admin: 127.0.0.1:1", "`admin`"),
            ("ledger: best_effort", "`ledger`"),
            ("freshness: {window: 1h}", "`freshness.window`"),
            ("freshness: {window: 60s}", "`freshness.window`"),
            ("freshness: {skew: 31s}", "`freshness.skew`"),
        ] {
            stage.write(&format!("{}{line}\n", text("/two")));
            assert!(stage.reloader.look());
            let mistakes = stage.last_mistakes();
            assert!(mistakes.len() == 1 && mistakes[0].contains(key), "{mistakes:?}");
            assert!(mistakes[0].contains("needs a restart"), "{mistakes:?}");
            assert_eq!(stage.path(), "/one");
        }
    }
}
