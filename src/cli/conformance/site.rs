//! Where the cases are run: at a gate in this process, or at any implementation; the backend is ours in both.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http::Uri;
use serde_json::Value;
use tokio::net::TcpStream;

use super::Arguments;
use super::fill::Filled;
use crate::app::{Running, Setup};
use crate::cli::backend::Backend;
use crate::cli::chain;
use crate::cli::exchange::{Answer, exchange};
use crate::cli::place::Place;
use crate::clock::Clock;
use crate::config::{self, Overrides};
use crate::record::Sink;
use crate::state::memory::Memory;

/// A gate to judge, and the backend behind it.
pub struct Site {
    /// What comes through.
    pub backend: Backend,
    authority: String,
    /// What stands before the path of every case; no slash at its end.
    prefix: String,
    /// The gate, when it is in this process, and its records.
    own: Option<(Running, Sink)>,
    /// The files of its policy, which it may read again.
    _place: Option<Place>,
}

impl Site {
    /// The gate of the command line.
    ///
    /// # Errors
    /// Why there is none, for the screen.
    pub async fn open(arguments: &Arguments, clock: &Clock) -> Result<Self, String> {
        match &arguments.target {
            Some(target) => Self::at(target, arguments.backend).await,
            None => Self::in_process(clock).await,
        }
    }

    async fn at(target: &str, backend: SocketAddr) -> Result<Self, String> {
        let expected = || format!("`{target}`: expected http://HOST[:PORT][/PATH]");
        let target: Uri = target.parse().map_err(|_| expected())?;
        let host = target.host().filter(|_| target.scheme_str() == Some("http"));
        let host = host.ok_or_else(expected)?;
        if target.query().is_some() {
            return Err(expected());
        }
        let authority = format!("{host}:{}", target.port_u16().unwrap_or(80));
        let reached = TcpStream::connect(&authority).await;
        reached.map_err(|error| format!("{authority} takes no connection: {error}"))?;
        let backend = start(backend).await?;
        Ok(Self::foreign(backend, authority, target.path()))
    }

    /// An implementation that somebody else runs.
    pub fn foreign(backend: Backend, authority: String, path: &str) -> Self {
        Self {
            backend,
            authority,
            prefix: path.trim_end_matches('/').to_owned(),
            own: None,
            _place: None,
        }
    }

    async fn in_process(clock: &Clock) -> Result<Self, String> {
        let backend = start((Ipv4Addr::LOCALHOST, 0).into()).await?;
        let overrides = Overrides {
            listen: Some("127.0.0.1:0".to_owned()),
            admin: Some("127.0.0.1:0".to_owned()),
            backend: Some(format!("http://{}", backend.address)),
        };
        let place = Place::new(clock).map_err(|error| format!("no place for the fixture policy: {error}"))?;
        let config = config::load_with(&place.policy, &overrides)
            .map_err(|mistakes| format!("policies/fixture.yaml has {} mistakes", mistakes.mistakes.len()))?;
        let sink = Sink::memory();
        let setup = Setup {
            config,
            watched: None,
            sink: sink.clone(),
            clock: clock.clone(),
            // It has no past, and its end is the end of all it admitted.
            store: Some(Arc::new(Memory::new(None))),
        };
        let running = Running::start(setup).await.map_err(|error| chain(&error))?;
        Ok(Self {
            backend,
            authority: running.gate().to_string(),
            prefix: String::new(),
            own: Some((running, sink)),
            _place: Some(place),
        })
    }

    /// Whether the gate is in this process.
    pub const fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// The last record written, when the gate is in this process.
    pub fn last_record(&self) -> Option<Value> {
        let (_, sink) = self.own.as_ref()?;
        serde_json::from_str(sink.lines().last()?).ok()
    }

    /// Sends a request.
    ///
    /// # Errors
    /// In words, when it cannot be made or gets no answer.
    pub async fn send(&self, filled: &Filled) -> Result<Answer, String> {
        let mut request = http::Request::builder()
            .method(filled.method.as_str())
            .uri(format!("{}{}", self.prefix, filled.path));
        for (name, value) in &filled.headers {
            request = request.header(name, value);
        }
        let request = request.body(Bytes::from(filled.body.clone()));
        exchange(&self.authority, request.map_err(|error| error.to_string())?).await
    }

    /// Ends the gate of this process.
    pub async fn close(self) {
        if let Some((running, _)) = self.own {
            running.stop().await;
        }
    }
}

async fn start(address: SocketAddr) -> Result<Backend, String> {
    let backend = Backend::start(address).await;
    backend.map_err(|error| format!("the backend cannot listen on {address}: {error}"))
}
