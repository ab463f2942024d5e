//! Connections to one Redis: a few, each shared by many commands, made anew with growing pauses when they break.
//!
//! Every wait ends: for a place, for a connection, for an answer. A connection that has not answered in time is left
//! behind, because its later answers could not be trusted to belong to later questions.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Cmd, ConnectionAddr, ErrorKind, IntoConnectionInfo, Pipeline, RedisConnectionInfo,
    RedisError, Value,
};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::answer;
use super::fit::fit;
use crate::clock::Clock;
use crate::state::engine::{OpenError, Remote};
use crate::state::remote;
use crate::state::store::StoreError;

/// Connections; a command waits only for those before it on its own.
const CONNECTIONS: usize = 4;
/// Commands under way at once; further ones wait for a place, and then only so long.
const IN_FLIGHT: usize = 1024;
/// The pause after a failed attempt to connect; it doubles.
const PAUSE: Duration = Duration::from_millis(50);
/// It doubles this often at most: 3.2 s.
const DOUBLINGS: u32 = 6;

/// A server and the connections to it.
pub(super) struct Link {
    remote: Remote,
    host: String,
    port: u16,
    settings: RedisConnectionInfo,
    tls: Option<TlsConnector>,
    timeout: Duration,
    clock: Clock,
    places: Semaphore,
    slots: Vec<Mutex<Slot>>,
    next: AtomicUsize,
}

#[derive(Default)]
struct Slot {
    live: Option<Live>,
    failures: u32,
    /// No attempt before this.
    rest: Option<Instant>,
}

#[derive(Clone)]
struct Live {
    connection: MultiplexedConnection,
    driver: Arc<Driver>,
}

/// The task that reads and writes; it ends with the last command that uses it.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Link {
    /// Prepares; connects to nothing yet.
    ///
    /// # Errors
    /// When the URL is none of a single server, or carries a password, or the CAs cannot be read.
    pub(super) fn new(remote: &Remote, timeout: Duration, clock: &Clock) -> Result<Self, OpenError> {
        let wrong = || {
            OpenError::Server(
                "`url` is not redis://[user@]host[:port][/db] or rediss://…, without a password".to_owned(),
            )
        };
        let info = remote.url.as_str().into_connection_info().map_err(|_| wrong())?;
        if info.redis_settings().password().is_some() {
            return Err(wrong());
        }
        let (host, port, tls) = if let ConnectionAddr::Tcp(host, port) = info.addr() {
            (host.clone(), *port, None)
        } else if let ConnectionAddr::TcpTls {
            host,
            port,
            insecure: false,
            tls_params: _,
        } = info.addr()
        {
            (
                host.clone(),
                *port,
                Some(TlsConnector::from(Arc::new(remote::tls(remote)?))),
            )
        } else {
            return Err(wrong());
        };
        Ok(Self {
            remote: remote.clone(),
            host,
            port,
            settings: info.redis_settings().clone().set_skip_set_lib_name(),
            tls,
            timeout,
            clock: clock.clone(),
            places: Semaphore::new(IN_FLIGHT),
            slots: (0..CONNECTIONS).map(|_| Mutex::default()).collect(),
            next: AtomicUsize::new(0),
        })
    }

    /// Sends commands in one piece and gives the answer to each; a refusal of the server is an answer.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`], and what [`fit`] finds wrong with a server that was connected to anew.
    pub(super) async fn ask(&self, commands: impl IntoIterator<Item = Cmd>) -> Result<Vec<Value>, StoreError> {
        let mut pipeline = Pipeline::new();
        for command in commands {
            pipeline.add_command(command);
        }
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let slot = turn.checked_rem(self.slots.len()).and_then(|turn| self.slots.get(turn));
        let slot = slot.ok_or(StoreError::Unreachable("it has no connection"))?;
        let mut used = None;
        let asked = timeout(self.timeout, async {
            let _place = self.places.acquire().await.map_err(|_| SLOW)?;
            let live = used.insert(self.live(slot).await?);
            live.connection
                .send_packed_commands(&pipeline, 0, pipeline.len())
                .await
                .map_err(|_| StoreError::Unreachable("the connection was lost"))
        })
        .await;
        let answer = asked.unwrap_or(Err(SLOW));
        if let (Err(_), Some(used)) = (&answer, used) {
            forget(slot, &used).await;
        }
        answer
    }

    /// Leaves every connection behind; the next command makes and examines a new one.
    pub(super) async fn examine_again(&self) {
        for slot in &self.slots {
            slot.lock().await.live = None;
        }
    }

    /// The slot's connection, made when there is none.
    async fn live(&self, slot: &Mutex<Slot>) -> Result<Live, StoreError> {
        let mut slot = slot.lock().await;
        if let Some(live) = slot.live.as_ref().filter(|live| !live.driver.0.is_finished()) {
            return Ok(live.clone());
        }
        slot.live = None;
        let now = self.clock.instant();
        if slot.rest.is_some_and(|rest| now < rest) {
            return Err(StoreError::Unreachable("it could not be reached a moment ago"));
        }
        // Said before the attempt: a caller that gives up in the middle of it counts as a failure too.
        slot.failures = slot.failures.saturating_add(1).min(DOUBLINGS);
        slot.rest = now.checked_add(PAUSE.saturating_mul(1_u32.checked_shl(slot.failures).unwrap_or(1)));
        let live = timeout(self.timeout, self.connect()).await.unwrap_or(Err(SLOW))?;
        *slot = Slot {
            live: Some(live.clone()),
            failures: 0,
            rest: None,
        };
        Ok(live)
    }

    async fn connect(&self) -> Result<Live, StoreError> {
        let stream = TcpStream::connect((self.host.as_str(), self.port))
            .await
            .map_err(|_| StoreError::Unreachable("no connection"))?;
        stream
            .set_nodelay(true)
            .map_err(|_| StoreError::Unreachable("the connection was lost"))?;
        match &self.tls {
            None => self.greet(stream).await,
            Some(tls) => {
                let name = ServerName::try_from(self.host.clone())
                    .map_err(|_| StoreError::Unreachable("its name is no name for TLS"))?;
                let stream = tls
                    .connect(name, stream)
                    .await
                    .map_err(|_| StoreError::Unreachable("TLS failed: no TLS, or a certificate that is not trusted"))?;
                self.greet(stream).await
            }
        }
    }

    /// Signs in and looks whether this server may be trusted with what must not be lost.
    async fn greet<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(&self, stream: S) -> Result<Live, StoreError> {
        let password =
            remote::password(&self.remote).map_err(|_| StoreError::Unreachable("the password file cannot be read"))?;
        let settings = match password {
            Some(password) => self.settings.clone().set_password(password),
            None => self.settings.clone(),
        };
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(None)
            .set_pipeline_buffer_size(IN_FLIGHT);
        let (mut connection, driver) = MultiplexedConnection::new_with_config(&settings, stream, config)
            .await
            .map_err(|error| refused(&error))?;
        let driver = Arc::new(Driver(tokio::spawn(driver)));
        let info = connection
            .send_packed_command(&redis::cmd("INFO"))
            .await
            .map_err(|error| refused(&error))?;
        fit(&answer::text(info)?)?;
        Ok(Live { connection, driver })
    }
}

/// Leaves this connection behind, unless another one has taken its place already.
async fn forget(slot: &Mutex<Slot>, used: &Live) {
    let mut slot = slot.lock().await;
    if slot
        .live
        .as_ref()
        .is_some_and(|live| Arc::ptr_eq(&live.driver, &used.driver))
    {
        slot.live = None;
    }
}

const SLOW: StoreError = StoreError::Unreachable("no answer in time");

/// Why there is no connection.
fn refused(error: &RedisError) -> StoreError {
    let kind = error.kind();
    if kind == ErrorKind::AuthenticationFailed {
        StoreError::Unreachable("it refuses the user or the password")
    } else if kind == ErrorKind::Io {
        StoreError::Unreachable("the connection was lost")
    } else {
        answer::refusal(error.code().unwrap_or_default(), error.detail().unwrap_or_default())
    }
}

/// Where it is, and nothing that is secret.
impl fmt::Debug for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Link")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("tls", &self.tls.is_some())
            .finish_non_exhaustive()
    }
}
