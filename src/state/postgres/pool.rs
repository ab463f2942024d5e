//! Connections to one PostgreSQL: few, examined when they are made, left behind when they do not answer in time.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::str::FromStr;
use std::time::Duration;

use deadpool_postgres::{
    Connect, Hook, HookError, Manager, ManagerConfig, Object, PoolError, RecyclingMethod, Runtime,
};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Error, NoTls, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::state::engine::{OpenError, Remote};
use crate::state::remote;
use crate::state::store::StoreError;

/// Connections: one for the line of commits, the others for reads and the sweep.
const CONNECTIONS: usize = 4;
const SLOW: StoreError = StoreError::Unreachable("no answer in time");

/// A server and the connections to it.
pub(super) struct Pool {
    pool: deadpool_postgres::Pool,
    place: String,
    timeout: Duration,
}

impl Pool {
    /// Prepares; connects to nothing yet.
    ///
    /// # Errors
    /// When the URL is none of a single server, carries a password, leaves TLS to chance, or the CAs cannot be read.
    pub(super) fn new(remote: &Remote, timeout: Duration) -> Result<Self, OpenError> {
        let wrong = |what: &str| OpenError::Server(format!("`url` {what}"));
        let mut config =
            Config::from_str(&remote.url).map_err(|_| wrong("is not postgres://user@host[:port]/database"))?;
        if config.get_password().is_some() {
            return Err(wrong("carries a password; name a `password_file`"));
        }
        let [host] = config.get_hosts() else {
            return Err(wrong("names no host, or several"));
        };
        let (place, socket) = match host {
            Host::Tcp(host) => (host.clone(), false),
            Host::Unix(path) => (path.display().to_string(), true),
        };
        // TLS is left out only where that is said, or where no network is.
        let plain = socket || config.get_ssl_mode() == SslMode::Disable;
        let statement = timeout.as_millis();
        config
            .ssl_mode(if plain { SslMode::Disable } else { SslMode::Require })
            .connect_timeout(timeout)
            .application_name("portcullis")
            .options(format!(
                "-c statement_timeout={statement} -c lock_timeout={statement} \
                 -c idle_in_transaction_session_timeout={statement} -c default_transaction_isolation=read\\ committed"
            ));
        let door = Door {
            remote: remote.clone(),
            tls: if plain {
                None
            } else {
                Some(MakeRustlsConnect::new(remote::tls(remote)?))
            },
        };
        let manager = Manager::from_connect(
            config,
            door,
            ManagerConfig {
                recycling_method: RecyclingMethod::Fast,
            },
        );
        let pool = deadpool_postgres::Pool::builder(manager)
            .max_size(CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(timeout))
            .create_timeout(Some(timeout))
            .recycle_timeout(Some(timeout))
            .post_create(Hook::async_fn(|client, _| Box::pin(fit(client))))
            .build()
            .map_err(|_| OpenError::Server("no pool of connections".to_owned()))?;
        Ok(Self { pool, place, timeout })
    }

    /// One statement, prepared once a connection.
    ///
    /// # Errors
    /// What the server refuses, and [`StoreError::Unreachable`].
    pub(super) async fn query(
        &self,
        statement: &str,
        arguments: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        self.with(async |client| {
            let statement = client.prepare_cached(statement).await?;
            client.query(&statement, arguments).await
        })
        .await
    }

    /// Several statements in one transaction, one process at a time.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub(super) async fn script(&self, script: &str, namespace: &str) -> Result<(), StoreError> {
        let lock = format!("SELECT pg_advisory_xact_lock(hashtext('portcullis {namespace}'))");
        self.with(async |client| client.batch_execute(&format!("BEGIN; {lock}; {script}; COMMIT")).await)
            .await
    }

    async fn with<T>(&self, work: impl AsyncFnOnce(&Object) -> Result<T, Error>) -> Result<T, StoreError> {
        let mut client = None;
        let done = timeout(self.timeout, async {
            let client = client.insert(self.pool.get().await.map_err(|error| unfit(&error))?);
            work(client).await.map_err(|error| refusal(&error))
        })
        .await
        .unwrap_or(Err(SLOW));
        if let (Err(_), Some(client)) = (&done, client) {
            // It may be in the middle of something.
            drop(Object::take(client));
        }
        done
    }
}

/// Opens connections, each with the password as the file has it then.
struct Door {
    remote: Remote,
    tls: Option<MakeRustlsConnect>,
}

type Opened<'a> = Pin<Box<dyn Future<Output = Result<(Client, JoinHandle<()>), Error>> + Send + 'a>>;

impl Connect for Door {
    fn connect(&self, config: &Config) -> Opened<'_> {
        let mut config = config.clone();
        // Without its password the server refuses, which is told.
        if let Ok(Some(password)) = remote::password(&self.remote) {
            config.password(password);
        }
        Box::pin(async move {
            // The end of a connection shows at its next use.
            Ok(match self.tls.clone() {
                Some(tls) => {
                    let (client, connection) = config.connect(tls).await?;
                    (client, tokio::spawn(async { drop(connection.await) }))
                }
                None => {
                    let (client, connection) = config.connect(NoTls).await?;
                    (client, tokio::spawn(async { drop(connection.await) }))
                }
            })
        })
    }
}

/// Whether a server may be trusted with what must not be lost: a primary that writes, and writes to its disk.
async fn fit(client: &Client) -> Result<(), HookError> {
    const QUERY: &str = "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on', \
         current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on'";
    let row = client.query_one(QUERY, &[]).await.map_err(HookError::Backend)?;
    let is = |column: usize| row.try_get::<_, bool>(column).map_err(HookError::Backend);
    if is(0)? {
        return Err(HookError::message(READ_ONLY));
    }
    if !is(1)? || !is(2)? {
        return Err(HookError::message(NO_SYNC));
    }
    Ok(())
}

const READ_ONLY: &str = "it is a standby or read only";
const NO_SYNC: &str = "its `fsync` or `full_page_writes` is off";

/// Why there is no connection.
fn unfit(error: &PoolError) -> StoreError {
    match error {
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => refusal(error),
        PoolError::PostCreateHook(HookError::Message(what)) => {
            StoreError::Exhausted(if what == READ_ONLY { READ_ONLY } else { NO_SYNC })
        }
        PoolError::Timeout(_) | PoolError::Closed | PoolError::NoRuntimeSpecified => SLOW,
    }
}

/// What a refusal means. The classes are those of the manual's appendix A.
fn refusal(error: &Error) -> StoreError {
    let Some(state) = error.code() else {
        return StoreError::Unreachable("no connection, or it was lost");
    };
    if *state == SqlState::UNDEFINED_TABLE || *state == SqlState::UNDEFINED_FUNCTION {
        return StoreError::Forgot("its tables are gone; a person has to reset the fence");
    }
    if *state == SqlState::READ_ONLY_SQL_TRANSACTION {
        return StoreError::Exhausted(READ_ONLY);
    }
    if state.code() == "PC001" {
        return StoreError::Unreachable("its transactions are not `read committed`");
    }
    match state.code().get(..2) {
        Some("53") => StoreError::Exhausted("it has no room, memory or connections left"),
        Some("28") => StoreError::Unreachable("it refuses the user or the password"),
        Some("42") => StoreError::Unreachable("it does not permit the user to use its tables"),
        Some("57" | "55" | "40") => StoreError::Unreachable("it is stopped, starting or busy"),
        Some("08") => StoreError::Unreachable("no connection, or it was lost"),
        Some("XX" | "58") => StoreError::Damaged("the server reports damage"),
        _ => StoreError::Damaged("it refused a statement"),
    }
}

/// Where it is, and nothing that is secret.
impl fmt::Debug for Pool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Pool")
            .field("host", &self.place)
            .finish_non_exhaustive()
    }
}
