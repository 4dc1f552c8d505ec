//! TLS as `openSSL/server` of config.xml describes it, on rustls: what ClickHouse's elements mean there, and what they do not.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion, version};
use squall_types::{Error, ErrorCode, Result};

use crate::config::Element;

/// Sessions that are kept for resumption, where nobody says how many: Poco's default.
const SESSION_CACHE_SIZE_DEFAULT: usize = 20_480;

/// Whether clients show certificates: Poco's modes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VerificationMode {
    /// They are not asked.
    None,
    /// They are asked; a certificate that is shown must be good. Poco's `relaxed` and `once`.
    Relaxed,
    /// They must show a good one.
    Strict,
}

/// `openSSL/server` of config.xml.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsConfig {
    /// The server's certificate, with those between it and its authority after it: PEM.
    pub certificate_file: Option<PathBuf>,
    /// Its key: PEM, not encrypted.
    pub private_key_file: Option<PathBuf>,
    /// The authorities of clients' certificates: a PEM file, or a folder of such files.
    pub ca_config: Option<PathBuf>,
    /// Whether the system's authorities count too.
    pub load_default_ca_file: bool,
    /// Whether clients show certificates.
    pub verification_mode: VerificationMode,
    /// Whether a client that comes again resumes its session.
    pub cache_sessions: bool,
    /// Sessions that are remembered for that, of TLS 1.2; those of TLS 1.3 are the clients' own to keep.
    pub session_cache_size: usize,
    /// `disableProtocols`, in lower case.
    pub disabled_protocols: Vec<String>,
    /// Whether the server's order of ciphers goes before the client's.
    pub prefer_server_ciphers: bool,
}

impl Default for TlsConfig {
    fn default() -> Self {
        Self {
            certificate_file: None,
            private_key_file: None,
            ca_config: None,
            load_default_ca_file: false,
            verification_mode: VerificationMode::None,
            cache_sessions: true,
            session_cache_size: SESSION_CACHE_SIZE_DEFAULT,
            disabled_protocols: Vec::new(),
            prefer_server_ciphers: true,
        }
    }
}

impl TlsConfig {
    /// Takes what `openSSL` says of the server; `openSSL/client` is for servers that call others. Files that are not absolute are beside
    /// the configuration file.
    ///
    /// # Errors
    /// `CANNOT_PARSE_TEXT` with file, line and element.
    pub(crate) fn read(&mut self, element: &Element, folder: &Path, warnings: &mut Vec<String>) -> Result<()> {
        for child in element.children_named("server").flat_map(|server| &server.children) {
            let path = || Some(child.trimmed()).filter(|path| !path.is_empty()).map(|path| folder.join(path));
            match child.name.as_str() {
                "certificateFile" => self.certificate_file = path(),
                "privateKeyFile" => self.private_key_file = path(),
                "caConfig" => self.ca_config = path(),
                "loadDefaultCAFile" => self.load_default_ca_file = child.boolean()?,
                "cacheSessions" => self.cache_sessions = child.boolean()?,
                "sessionCacheSize" => self.session_cache_size = child.value("a number of sessions")?,
                "preferServerCiphers" => self.prefer_server_ciphers = child.boolean()?,
                "verificationMode" => {
                    self.verification_mode = match child.trimmed().to_ascii_lowercase().as_str() {
                        "none" => VerificationMode::None,
                        "relaxed" | "once" => VerificationMode::Relaxed,
                        "strict" => VerificationMode::Strict,
                        _ => return Err(child.bad_value("a mode: none, relaxed, strict or once")),
                    }
                }
                "disableProtocols" => {
                    let names = child.text.split(',').map(|name| name.trim().to_ascii_lowercase());
                    self.disabled_protocols = names.filter(|name| !name.is_empty()).collect();
                }
                // TLS 1.2 is the oldest that there is, Diffie-Hellman is always on curves, and sessions are this server's alone.
                "dhParamsFile" | "ecdhCurve" | "requireTLSv1" | "requireTLSv1_1" | "requireTLSv1_2"
                | "sessionIdContext" | "sessionTimeout" | "extendedVerification" | "verificationDepth" | "fips"
                | "invalidCertificateHandler" | "privateKeyPassphraseHandler" => {}
                name @ ("cipherList" | "cipherSuites") => warnings.push(format!(
                    "{}: element <openSSL/server/{name}> is ignored: only ciphers that are known to be safe are offered",
                    child.origin
                )),
                name => warnings.push(format!("{}: unknown element <openSSL/server/{name}> is ignored", child.origin)),
            }
        }
        Ok(())
    }

    /// Reads the files and makes what handshakes need; `None` where no certificate is configured.
    ///
    /// # Errors
    /// `OPENSSL_ERROR` with the file where one cannot be read or does not fit.
    pub fn server_config(&self) -> Result<Option<Arc<ServerConfig>>> {
        let (certificate_file, private_key_file) = match (&self.certificate_file, &self.private_key_file) {
            (Some(certificate), Some(key)) => (certificate, key),
            (None, None) => return Ok(None),
            _ => return Err(failed("openSSL.server needs both certificateFile and privateKeyFile")),
        };
        let certificates = certificates(certificate_file)?;
        let key = PrivateKeyDer::from_pem_file(private_key_file).map_err(|error| match error {
            pem::Error::NoItemsFound => failed(format_args!(
                "{} holds no private key that is not encrypted (decrypt it with: openssl pkey -in FILE -out FILE)",
                private_key_file.display()
            )),
            error => unreadable(private_key_file, &error),
        })?;
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&self.versions())
            .map_err(|error| failed(format_args!("openSSL.server.disableProtocols leaves nothing: {error}")))?;
        let builder = match self.verifier(provider)? {
            Some(verifier) => builder.with_client_cert_verifier(verifier),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_single_cert(certificates, key).map_err(|error| {
            failed(format_args!(
                "The certificate {} and the key {} do not serve: {error}",
                certificate_file.display(),
                private_key_file.display()
            ))
        })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.ignore_client_order = self.prefer_server_ciphers;
        if self.cache_sessions {
            config.session_storage = ServerSessionMemoryCache::new(self.session_cache_size);
            config.ticketer =
                ring::Ticketer::new().map_err(|error| failed(format_args!("No session tickets: {error}")))?;
            // Each handshake brings the next one's ticket.
            config.send_tls13_tickets = 1;
        } else {
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        Ok(Some(Arc::new(config)))
    }

    fn versions(&self) -> Vec<&'static SupportedProtocolVersion> {
        let is_enabled = |name: &str| !self.disabled_protocols.iter().any(|disabled| disabled == name);
        [("tlsv1_3", &version::TLS13), ("tlsv1_2", &version::TLS12)]
            .into_iter()
            .filter_map(|(name, version)| is_enabled(name).then_some(version))
            .collect()
    }

    /// What looks at clients' certificates.
    fn verifier(&self, provider: Arc<CryptoProvider>) -> Result<Option<Arc<dyn ClientCertVerifier>>> {
        if self.verification_mode == VerificationMode::None {
            return Ok(None);
        }
        let mut authorities = RootCertStore::empty();
        let mut files = Vec::new();
        match &self.ca_config {
            Some(folder) if folder.is_dir() => {
                let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
                files.extend(entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_file()));
            }
            Some(file) => files.push(file.clone()),
            None => {}
        }
        for file in files {
            for certificate in certificates(&file)? {
                authorities.add(certificate).map_err(|error| unreadable(&file, &error))?;
            }
        }
        if self.load_default_ca_file {
            authorities.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), provider);
        let builder = match self.verification_mode {
            VerificationMode::Strict => builder,
            _ => builder.allow_unauthenticated(),
        };
        let verifier = builder.build().map_err(|error| {
            failed(format_args!("openSSL.server.verificationMode needs authorities in caConfig: {error}"))
        })?;
        Ok(Some(verifier))
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let certificates = certificates.map_err(|error| unreadable(file, &error))?;
    if certificates.is_empty() {
        Err(failed(format_args!("{} holds no certificate", file.display())))
    } else {
        Ok(certificates)
    }
}

fn failed(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::OPENSSL_ERROR, what.to_string())
}

fn unreadable(file: &Path, error: &dyn std::fmt::Display) -> Error {
    failed(format_args!("Cannot read the certificates or keys of {}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::generate_certificate;

    fn read(text: &str) -> (Result<TlsConfig>, Vec<String>) {
        let element = Element::parse("config.xml", text).unwrap();
        let (mut config, mut warnings) = (TlsConfig::default(), Vec::new());
        let read = config.read(&element, Path::new("/etc/squall"), &mut warnings);
        (read.map(|()| config), warnings)
    }

    #[test]
    fn elements_have_clickhouses_meaning() {
        let (config, warnings) = read(
            "<openSSL><server><certificateFile>server.crt</certificateFile><privateKeyFile>/keys/server.key</privateKeyFile>\
             <verificationMode>once</verificationMode><disableProtocols>sslv2,sslv3, tlsv1_2</disableProtocols>\
             <cacheSessions>false</cacheSessions><cipherList>ALL</cipherList><colour/></server><client><x/></client></openSSL>",
        );
        let config = config.unwrap();
        assert_eq!(config.certificate_file.as_deref(), Some(Path::new("/etc/squall/server.crt")));
        assert_eq!(config.private_key_file.as_deref(), Some(Path::new("/keys/server.key")));
        assert_eq!(config.verification_mode, VerificationMode::Relaxed);
        assert_eq!(config.versions(), [&version::TLS13]);
        assert!(!config.cache_sessions);
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        let (bad, _) = read("<openSSL><server><verificationMode>maybe</verificationMode></server></openSSL>");
        assert!(bad.unwrap_err().message.contains("none, relaxed, strict or once"));
    }

    #[test]
    fn files_are_asked_for_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = (folder.path().join("a.crt"), folder.path().join("a.key"));
        let mut config = TlsConfig::default();
        assert!(config.server_config().unwrap().is_none());
        config.certificate_file = Some(certificate.clone());
        assert!(config.server_config().unwrap_err().message.contains("both"));
        config.private_key_file = Some(key.clone());
        assert!(config.server_config().unwrap_err().message.contains("a.crt"));
        generate_certificate(&certificate, &key, vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        assert!(config.server_config().unwrap().is_some());
        // What is there is not made again.
        let before = std::fs::read(&certificate).unwrap();
        generate_certificate(&certificate, &key, vec!["elsewhere".to_owned()]).unwrap();
        assert_eq!(std::fs::read(&certificate).unwrap(), before);
        config.verification_mode = VerificationMode::Strict;
        assert!(config.server_config().unwrap_err().message.contains("caConfig"));
        config.ca_config = Some(certificate.clone());
        assert!(config.server_config().unwrap().is_some());
        config.disabled_protocols = vec!["tlsv1_2".to_owned(), "tlsv1_3".to_owned()];
        assert!(config.server_config().is_err());
        config.disabled_protocols.clear();
        std::fs::write(&key, "nothing").unwrap();
        assert!(config.server_config().unwrap_err().message.contains("openssl pkey"));
    }
}
