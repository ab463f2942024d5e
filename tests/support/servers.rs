//! Real servers for tests: each in a directory of its own, on a port of its own, ended with the test.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test binary uses its part, and a test that fails is a test"
)]

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use portcullis::clock::Clock;
use tempfile::TempDir;

/// A server that does not start in this time fails its test.
const START: Duration = Duration::from_secs(60);

/// Where a program is; absence is printed, and fails where the servers are not optional.
fn program(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::vars_os().find(|(key, _)| key == "PATH").map(|(_, path)| path);
    let path = path.unwrap_or_default();
    let found = folders
        .iter()
        .cloned()
        .chain(std::env::split_paths(&path))
        .map(|folder| folder.join(name))
        .find(|file| file.is_file());
    if found.is_none() {
        let required = std::env::vars_os().any(|(key, _)| key == "PORTCULLIS_REQUIRE_SERVERS");
        assert!(!required, "`{name}` is not installed");
        eprintln!("SKIPPED: `{name}` is not installed");
    }
    found
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0))
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let clock = Clock::system();
    let started = clock.instant();
    while !holds() {
        assert!(clock.instant().duration_since(started) < START, "{what} does not start");
        std::thread::yield_now();
    }
}

/// A Redis, killed when dropped.
pub struct RedisServer {
    child: Child,
    pub port: u16,
    folder: TempDir,
    arguments: Vec<String>,
}

impl RedisServer {
    /// Starts one without files, or says why not. Arguments as of a configuration file.
    pub fn start(arguments: &[&str]) -> Option<Self> {
        program("redis-server", &[])?;
        let folder = TempDir::new().unwrap();
        let arguments: Vec<_> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let port = free_port();
        let child = Self::spawn(port, folder.path(), &arguments);
        let server = Self {
            child,
            port,
            folder,
            arguments,
        };
        server.await_answer();
        Some(server)
    }

    fn spawn(port: u16, folder: &Path, arguments: &[String]) -> Child {
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--save", "", "--dir"]).arg(folder);
        if !arguments.iter().any(|argument| argument == "--port") {
            command.args(["--port", &port.to_string()]);
        }
        let log = fs::File::create(folder.join("log")).unwrap();
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn await_answer(&self) {
        wait_for("redis-server", || TcpStream::connect(("127.0.0.1", self.port)).is_ok());
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Sends one command as its own client does, and gives the beginning of the answer.
    pub fn say(&self, words: &[&str]) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let mut text = format!("*{}\r\n", words.len());
        for word in words {
            text += &format!("${}\r\n{word}\r\n", word.len());
        }
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = vec![0; 65536];
        let read = stream.read(&mut answer).unwrap();
        String::from_utf8_lossy(&answer[..read]).into_owned()
    }

    /// Kills it and waits for its end.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again at its port.
    pub fn start_again(&mut self) {
        self.child = Self::spawn(self.port, self.folder.path(), &self.arguments);
        self.await_answer();
    }

    /// Stops it in its tracks, or lets it go on.
    pub fn halt(&self, halted: bool) {
        signal(self.child.id(), if halted { "STOP" } else { "CONT" });
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn signal(process: u32, name: &str) {
    let done = Command::new("kill")
        .args([format!("-{name}"), process.to_string()])
        .status();
    assert!(done.unwrap().success());
}

/// A PostgreSQL, ended when dropped.
pub struct PostgresServer {
    child: Child,
    pub port: u16,
    folder: TempDir,
    bin: PathBuf,
    arguments: Vec<String>,
}

/// A PostgreSQL refuses to run as root.
fn unprivileged(program: &Path) -> Command {
    if fs::metadata("/proc/self")
        .map(|own| std::os::unix::fs::MetadataExt::uid(&own))
        .unwrap()
        == 0
    {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid", "postgres", "--regid", "postgres", "--clear-groups"])
            .arg(program);
        command
    } else {
        Command::new(program)
    }
}

impl PostgresServer {
    /// Starts a new one, or says why not. Arguments as `postgres` takes them.
    pub fn start(arguments: &[&str]) -> Option<Self> {
        let folders = fs::read_dir("/usr/lib/postgresql")
            .map(|versions| {
                versions
                    .map(|version| version.unwrap().path().join("bin"))
                    .collect::<Vec<_>>()
            })
            .unwrap_or_default();
        let bin = program("initdb", &folders)?.parent().unwrap().to_owned();
        let folder = TempDir::new().unwrap();
        fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        let password = folder.path().join("password");
        fs::write(&password, "right\n").unwrap();
        fs::set_permissions(&password, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        let made = unprivileged(&bin.join("initdb"))
            .args([
                "--no-sync",
                "--username",
                "gate",
                "--auth",
                "scram-sha-256",
                "--encoding",
                "UTF8",
                "--pwfile",
            ])
            .arg(&password)
            .arg("--pgdata")
            .arg(folder.path().join("data"))
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(made.success(), "initdb fails");
        let arguments: Vec<_> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let port = free_port();
        let child = Self::spawn(&bin, port, folder.path(), &arguments);
        let server = Self {
            child,
            port,
            folder,
            bin,
            arguments,
        };
        server.await_answer();
        Some(server)
    }

    fn spawn(bin: &Path, port: u16, folder: &Path, arguments: &[String]) -> Child {
        let log = fs::File::create(folder.join("log")).unwrap();
        unprivileged(&bin.join("postgres"))
            .args(["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="])
            .args(["-p", &port.to_string(), "-D"])
            .arg(folder.join("data"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap()
    }

    fn await_answer(&self) {
        wait_for("postgres", || {
            fs::read_to_string(self.folder.path().join("log"))
                .unwrap()
                .contains("ready to accept connections")
        });
    }

    pub fn url(&self) -> String {
        format!("postgres://gate@127.0.0.1:{}/postgres?sslmode=disable", self.port)
    }

    /// The file with the right password.
    pub fn password_file(&self) -> PathBuf {
        self.folder.path().join("password")
    }

    /// Writes a file into its data that only it may read.
    pub fn secret_file(&self, name: &str, text: &str) {
        let path = self.data().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let owner = fs::metadata(self.data()).unwrap();
        let (user, group) = (
            std::os::unix::fs::MetadataExt::uid(&owner),
            std::os::unix::fs::MetadataExt::gid(&owner),
        );
        std::os::unix::fs::chown(&path, Some(user), Some(group)).unwrap();
    }

    /// Where its data are.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Runs SQL as its own client does.
    pub fn say(&self, sql: &str) -> String {
        let said = Command::new(self.bin.join("psql"))
            .env("PGPASSWORD", "right")
            .args([
                "-h",
                "127.0.0.1",
                "-U",
                "gate",
                "-d",
                "postgres",
                "-v",
                "ON_ERROR_STOP=1",
                "-Atqc",
                sql,
                "-p",
            ])
            .arg(self.port.to_string())
            .output()
            .unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap().trim().to_owned()
    }

    /// Ends it at once, as a crash does.
    pub fn kill(&mut self) {
        signal(self.child.id(), "QUIT");
        self.child.wait().unwrap();
    }

    /// Starts it again at its port.
    pub fn start_again(&mut self) {
        self.child = Self::spawn(&self.bin, self.port, self.folder.path(), &self.arguments);
        self.await_answer();
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // Immediate shutdown: its own processes end with it.
        let _ = Command::new("kill")
            .args(["-QUIT", &self.child.id().to_string()])
            .status();
        let _ = self.child.wait();
    }
}
