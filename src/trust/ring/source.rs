//! Where a set comes from: a file, or an https URL. Bounded in bytes and in time, never on the runtime's threads.

use std::fs::{File, metadata};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::https;
use crate::policy::KeySource;
use crate::trust::keys::{KeyError, TEXT_MAX};

/// From the first look at a name to the last byte of a set.
pub(super) const DEADLINE: Duration = Duration::from_secs(5);

/// What an attempt brought.
#[derive(Debug)]
pub(super) struct Obtained {
    pub bytes: Bytes,
    /// How long the answer says that it is fresh.
    pub lifetime: Option<Duration>,
}

/// Why a set cannot be taken. Never holds a value.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The file cannot be read.
    #[error("the file {0}")]
    File(&'static str),
    /// The file of the CAs cannot be read, or holds none.
    #[error("the file of `ca` {0}")]
    Ca(&'static str),
    /// Nobody vouches for any server.
    #[error("the system knows no CA; name a PEM file in `ca`")]
    NoRoots,
    /// No connection.
    #[error("there is no connection to the server")]
    Unreachable,
    /// The connection is not protected as it has to be.
    #[error("the server's TLS is not TLS 1.3 with a certificate for its name that the CAs vouch for")]
    Tls,
    /// The connection was lost.
    #[error("the connection was lost, or what came was not HTTP/1.1")]
    Lost,
    /// The deadline passed.
    #[error("the set did not come within 5 seconds")]
    TooSlow,
    /// Another status. Redirects are not followed, as the policy names whom it believes.
    #[error("the status was {0}, expected 200")]
    Status(u16),
    /// Another media type.
    #[error("expected one content type, application/json or application/jwk-set+json")]
    ContentType,
    /// Too many bytes.
    #[error("expected at most 256 KiB")]
    TooLarge,
    /// It is no set that can be taken.
    #[error("expected a JWK Set: {0}")]
    Malformed(#[from] KeyError),
    /// The attempt ended in a fault of the gateway.
    #[error("the attempt failed inside the gateway")]
    Broken,
}

impl Trouble {
    /// What to do about it.
    pub const fn advice(&self) -> &'static str {
        match self {
            Self::File(_) => "check the path in `keys` and who may read it",
            Self::Ca(_) | Self::NoRoots => "check the path in `ca`: a PEM file of the CAs that vouch for the server",
            Self::Unreachable | Self::TooSlow | Self::Lost => "check host and port in `keys` and the way there",
            Self::Tls => "check the name in `keys`, and name the CA of the server in `ca`",
            Self::Status(_) | Self::ContentType => "check that the URL in `keys` is the one that answers with the set",
            Self::TooLarge => "publish fewer keys",
            Self::Malformed(_) => "publish a set as RFC 7517 has it, without private keys",
            Self::Broken => "see what standard error says of it",
        }
    }
}

/// The source as a person is told of it: the file, or the URL without its query.
pub(super) fn shown(source: &KeySource) -> String {
    match source {
        KeySource::File(path) => format!("`{}`", path.display()),
        KeySource::Url { url, .. } => format!("`{}`", url.split('?').next().unwrap_or_default()),
    }
}

/// Reads or fetches the bytes of a set.
pub(super) async fn obtain(source: &KeySource) -> Result<Obtained, Trouble> {
    match source {
        KeySource::File(path) => {
            let path = path.clone();
            let bytes = spawn_blocking(move || read(&path, TEXT_MAX))
                .await
                .unwrap_or(Err(Unread::Words("cannot be read")));
            match bytes {
                Ok(bytes) => Ok(Obtained {
                    bytes: bytes.into(),
                    lifetime: None,
                }),
                Err(Unread::TooLarge) => Err(Trouble::TooLarge),
                Err(Unread::Words(words)) => Err(Trouble::File(words)),
            }
        }
        KeySource::Url { url, ca } => match timeout(DEADLINE, https::fetch(url, ca.as_deref())).await {
            Ok(fetched) => fetched,
            Err(_elapsed) => Err(Trouble::TooSlow),
        },
    }
}

/// Why a file was not read.
#[derive(Debug)]
pub(super) enum Unread {
    TooLarge,
    /// The rest of a sentence.
    Words(&'static str),
}

/// A regular file of at most `limit` bytes; anything else could block for ever.
pub(super) fn read(path: &Path, limit: usize) -> Result<Vec<u8>, Unread> {
    let words = |error: std::io::Error| {
        let kind = error.kind();
        Unread::Words(if kind == ErrorKind::NotFound {
            "does not exist"
        } else if kind == ErrorKind::PermissionDenied {
            "may not be read"
        } else {
            "cannot be read"
        })
    };
    if !metadata(path).map_err(words)?.is_file() {
        return Err(Unread::Words("is no regular file"));
    }
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(most).read_to_end(&mut bytes))
        .map_err(words)?;
    if bytes.len() > limit {
        return Err(Unread::TooLarge);
    }
    Ok(bytes)
}
