//! One GET of a set: TLS 1.3, no redirect, one answer of a known kind and size (contract §7, "Keys").

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, header};
use http_body::Body as _;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore};
use tokio::task::spawn_blocking;

use super::source::{Obtained, Trouble, Unread, read};
use crate::trust::keys::TEXT_MAX;

/// Bytes of a file of CAs.
const CA_MAX: usize = 4 * 1024 * 1024;

/// Bytes of an answer's head.
const HEAD_MAX: usize = 32 * 1024;

/// Fetches a set. The caller bounds the time.
pub(super) async fn fetch(url: &str, ca: Option<&Path>) -> Result<Obtained, Trouble> {
    let ca = ca.map(Path::to_path_buf);
    // Read anew for each of these rare fetches, so that new CAs need no restart.
    let config = spawn_blocking(move || tls(ca.as_deref()))
        .await
        .unwrap_or(Err(Trouble::Broken))?;
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_only()
        .enable_http1()
        .wrap_connector(connector);
    let client = Client::builder(TokioExecutor::new())
        .pool_max_idle_per_host(0)
        .http1_max_buf_size(HEAD_MAX)
        .build(connector);
    let request = Request::get(url)
        .header(header::ACCEPT, "application/jwk-set+json, application/json")
        .body(Empty::<Bytes>::new())
        .map_err(|_| Trouble::Unreachable)?;
    let response = client.request(request).await.map_err(|error| {
        if is_tls(&error) {
            Trouble::Tls
        } else if error.is_connect() {
            Trouble::Unreachable
        } else {
            Trouble::Lost
        }
    })?;
    let (head, body) = response.into_parts();
    if head.status.as_u16() != 200 {
        return Err(Trouble::Status(head.status.as_u16()));
    }
    if !is_set(&head.headers) {
        return Err(Trouble::ContentType);
    }
    Ok(Obtained {
        bytes: whole(body).await?,
        lifetime: lifetime(&head.headers),
    })
}

/// TLS 1.3 to a server that the CAs of the file vouch for, or those of the system.
fn tls(ca: Option<&Path>) -> Result<ClientConfig, Trouble> {
    let mut roots = RootCertStore::empty();
    match ca {
        Some(path) => {
            let bytes = read(path, CA_MAX).map_err(|unread| match unread {
                Unread::TooLarge => Trouble::Ca("is larger than 4 MiB"),
                Unread::Words(words) => Trouble::Ca(words),
            })?;
            for certificate in CertificateDer::pem_slice_iter(&bytes) {
                certificate
                    .ok()
                    .and_then(|certificate| roots.add(certificate).ok())
                    .ok_or(Trouble::Ca("holds something else than certificates in PEM"))?;
            }
            if roots.is_empty() {
                return Err(Trouble::Ca("holds no certificate in PEM"));
            }
        }
        None => {
            let _taken = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err(Trouble::NoRoots);
            }
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&TLS13])
        .map_err(|_| Trouble::Broken)?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// Whether TLS is what failed, somewhere down the chain of causes. What an I/O error wraps is no cause of it, so it is
/// looked into by itself.
fn is_tls(error: &(dyn Error + 'static)) -> bool {
    let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    error.is::<rustls::Error>() || wrapped.is_some_and(|wrapped| is_tls(wrapped)) || error.source().is_some_and(is_tls)
}

/// Exactly one content type, of a set or of JSON.
fn is_set(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return false;
    };
    let essence = value.to_str().ok().and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| {
        ["application/json", "application/jwk-set+json"]
            .iter()
            .any(|taken| essence.trim().eq_ignore_ascii_case(taken))
    })
}

/// How long the answer is fresh (RFC 9111 §5.2.2), less the time it lay in a cache; `None` when it does not say.
fn lifetime(headers: &HeaderMap) -> Option<Duration> {
    let mut seconds = None;
    for value in headers.get_all(header::CACHE_CONTROL) {
        for directive in value.to_str().ok()?.split(',') {
            let (name, argument) = directive.split_once('=').unwrap_or((directive, ""));
            match name.trim().to_ascii_lowercase().as_str() {
                "no-store" | "no-cache" => return Some(Duration::ZERO),
                "max-age" if seconds.is_none() => {
                    seconds = Some(argument.trim().trim_matches('"').parse::<u64>().ok()?)
                }
                _ => {}
            }
        }
    }
    let age = headers
        .get(header::AGE)
        .and_then(|age| age.to_str().ok()?.trim().parse::<u64>().ok());
    seconds.map(|seconds| Duration::from_secs(seconds.saturating_sub(age.unwrap_or(0))))
}

async fn whole(mut body: Incoming) -> Result<Bytes, Trouble> {
    let limit = u64::try_from(TEXT_MAX).unwrap_or(u64::MAX);
    if body.size_hint().lower() > limit {
        return Err(Trouble::TooLarge);
    }
    let mut read = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Trouble::Lost)?.into_data() else {
            continue;
        };
        if read.len().saturating_add(data.len()) > TEXT_MAX {
            return Err(Trouble::TooLarge);
        }
        read.extend_from_slice(&data);
    }
    Ok(read.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        fields
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect::<Vec<(http::HeaderName, http::HeaderValue)>>()
            .into_iter()
            .fold(HeaderMap::new(), |mut map, (name, value)| {
                map.append(name, value);
                map
            })
    }

    #[test]
    fn a_lifetime_is_what_the_answer_says_less_its_age() {
        for (fields, expected) in [
            (&[][..], None),
            (&[("cache-control", "public")], None),
            (&[("cache-control", "public, max-age=600")], Some(600)),
            (&[("cache-control", "Max-Age=\"600\"")], Some(600)),
            (&[("cache-control", "max-age=600"), ("age", "100")], Some(500)),
            (&[("cache-control", "max-age=60"), ("age", "100")], Some(0)),
            (&[("cache-control", "max-age=600, no-cache")], Some(0)),
            (
                &[("cache-control", "max-age=600"), ("cache-control", "no-store")],
                Some(0),
            ),
            (&[("cache-control", "max-age=-1")], None),
            (&[("cache-control", "max-age=x")], None),
        ] {
            assert_eq!(
                lifetime(&headers(fields)),
                expected.map(Duration::from_secs),
                "{fields:?}"
            );
        }
    }

    #[test]
    fn a_set_comes_as_one_json_type() {
        for (fields, expected) in [
            (&[("content-type", "application/json")][..], true),
            (&[("content-type", "Application/JWK-Set+json; charset=utf-8")], true),
            (&[("content-type", "text/html")], false),
            (&[("content-type", "application/jsonx")], false),
            (&[], false),
            (
                &[("content-type", "application/json"), ("content-type", "text/html")],
                false,
            ),
        ] {
            assert_eq!(is_set(&headers(fields)), expected, "{fields:?}");
        }
    }
}
