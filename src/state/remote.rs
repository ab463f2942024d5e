//! What both servers need to be reached: the password from its file, and TLS with one provider and verified names.

use std::fs;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use super::engine::{OpenError, Remote};

/// A password file is one line; this much of it is looked at.
const PASSWORD_MAX: usize = 4096;

/// The password, read anew for every connection so that it can be changed under a running process.
///
/// # Errors
/// When the file cannot be read, is empty, too long or no text. Its content is never told.
pub(super) fn password(remote: &Remote) -> Result<Option<String>, OpenError> {
    let Some(path) = &remote.password_file else {
        return Ok(None);
    };
    let text = fs::read_to_string(path).map_err(|source| OpenError::Place {
        path: path.clone(),
        source,
    })?;
    let line = text.trim_end_matches(['\r', '\n']);
    if line.is_empty() || line.len() > PASSWORD_MAX || line.contains(['\r', '\n', '\0']) {
        return Err(OpenError::Server(
            "`password_file` holds no password: one line of at most 4096 bytes".to_owned(),
        ));
    }
    Ok(Some(line.to_owned()))
}

/// A namespace is a part of keys, of a hash tag and of SQL, so it is made of nothing but letters, digits and `_`.
///
/// # Errors
/// When it is not.
pub(super) fn check(remote: &Remote) -> Result<(), OpenError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if (1..=32).contains(&remote.namespace.len()) && remote.namespace.bytes().all(plain) {
        return Ok(());
    }
    Err(OpenError::Server(
        "`namespace` is not 1 to 32 of `a-z`, `0-9` and `_`".to_owned(),
    ))
}

/// TLS towards the server: the CAs of the file, or those of the system; names are always verified.
///
/// # Errors
/// When there is no CA to verify by, or the library has no TLS.
pub(super) fn tls(remote: &Remote) -> Result<ClientConfig, OpenError> {
    let mut roots = RootCertStore::empty();
    match &remote.ca {
        Some(path) => {
            let pem = fs::read(path).map_err(|source| OpenError::Place {
                path: path.clone(),
                source,
            })?;
            for certificate in CertificateDer::pem_slice_iter(&pem) {
                let certificate = certificate.map_err(|_| no_ca())?;
                roots.add(certificate).map_err(|_| no_ca())?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        return Err(no_ca());
    }
    Ok(ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|_| OpenError::Server("TLS is not available".to_owned()))?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

fn no_ca() -> OpenError {
    OpenError::Server("`ca` holds no CA certificate in PEM, or the system knows none".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(password: &str) -> (tempfile::NamedTempFile, Remote) {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), password).unwrap();
        let remote = Remote {
            url: String::new(),
            password_file: Some(file.path().to_owned()),
            ca: Some(file.path().to_owned()),
            namespace: "test".to_owned(),
        };
        (file, remote)
    }

    #[test]
    fn a_password_is_one_line() {
        for (text, expected) in [
            ("secret\n", Some("secret")),
            ("secret", Some("secret")),
            ("", None),
            ("a\nb", None),
        ] {
            let (_file, remote) = remote(text);
            let found = password(&remote).ok().flatten();
            assert_eq!(found.as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn an_error_does_not_show_the_password() {
        let (_file, remote) = remote("hunter2\nhunter2");
        let error = password(&remote).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }

    #[test]
    fn a_file_without_a_ca_is_refused() {
        let (_file, remote) = remote("no certificate");
        assert!(matches!(tls(&remote), Err(OpenError::Server(_))));
    }
}
