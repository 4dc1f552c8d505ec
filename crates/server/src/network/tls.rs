//! TLS as `openSSL/server` of config.xml describes it, on rustls: what ClickHouse's elements mean there, and what they do not.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, SupportedCipherSuite, SupportedProtocolVersion, version};
use squall_types::{Error, ErrorCode, Result};

use crate::config::{Element, Findings, Verdict};

/// Sessions that are kept for resumption, where nobody says how many: Poco's default.
const SESSION_CACHE_SIZE_DEFAULT: usize = 20_480;

/// Certificates between a client's and its authority's, as many as `webpki` follows.
const CHAIN_LENGTH_MAX: u32 = 6;
const NO_FIPS: Verdict = Verdict::Stops("the cryptography is not a validated FIPS module");

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
    /// `cipherList`: the ciphers of TLS 1.2 that are offered, by OpenSSL's names, where it names any; otherwise all that are known to be safe.
    pub cipher_list: Option<Vec<String>>,
    /// `cipherSuites`: the same for TLS 1.3.
    pub cipher_suites: Option<Vec<String>>,
}

/// The ciphers that a list in OpenSSL's language names one by one; `None` where it names classes (`HIGH`, `ALL:!LOW`), in all of which those are
/// that rustls has, as it has only what nobody shuts out.
fn named_ciphers(text: &str) -> Option<Vec<String>> {
    let words = text.split([':', ',', ' ', '\n', '\t']).filter(|word| !word.is_empty());
    let named: Vec<&str> = words.filter(|word| !word.starts_with(['!', '-', '@'])).collect();
    let is_cipher = |word: &&str| word.starts_with("TLS_") || word.contains("-GCM") || word.contains("-CHACHA20");
    (!named.is_empty() && named.iter().any(is_cipher) && named.iter().all(|word| !is_class(word)))
        .then(|| named.into_iter().map(|word| word.trim_start_matches('+').to_owned()).collect())
}

/// Whether a word of such a list stands for several ciphers.
fn is_class(word: &str) -> bool {
    !word.contains(['-', '_'])
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
            cipher_list: None,
            cipher_suites: None,
        }
    }
}

impl TlsConfig {
    /// Takes what `openSSL` says of the server; `openSSL/client` is for servers that call others. Files that are not absolute are beside
    /// the configuration file.
    ///
    /// # Errors
    /// `CANNOT_PARSE_TEXT` with file, line and element.
    pub(crate) fn read(&mut self, element: &Element, folder: &Path, findings: &mut Findings) -> Result<()> {
        for child in element.children.iter().filter(|child| child.name != "server") {
            let path = format!("openSSL/{}", child.name);
            match child.name.as_str() {
                "client" => findings.note(child, &path, Verdict::Harmless("this server calls no other under TLS")),
                "fips" if child.boolean()? => findings.note(child, &path, NO_FIPS),
                "fips" => findings.note(child, &path, Verdict::Harmless("forbids nothing")),
                _ => findings.unknown(child, &path),
            }
        }
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
                "cipherList" => self.cipher_list = named_ciphers(&child.text),
                "cipherSuites" => self.cipher_suites = named_ciphers(&child.text),
                name => match Self::without_effect(child)? {
                    Some(verdict) => findings.note(child, &format!("openSSL/server/{name}"), verdict),
                    None => findings.unknown(child, &format!("openSSL/server/{name}")),
                },
            }
        }
        Ok(())
    }

    /// What becomes of an element that nothing reads; `None` where it is not known.
    fn without_effect(child: &Element) -> Result<Option<Verdict>> {
        Ok(Some(match child.name.as_str() {
            "requireTLSv1" | "requireTLSv1_1" | "requireTLSv1_2" => {
                Verdict::Harmless("TLS 1.2 is the oldest that there is")
            }
            "dhParamsFile" => Verdict::Harmless("Diffie-Hellman is always on curves"),
            "sessionIdContext" => Verdict::Harmless("sessions are this server's alone"),
            "privateKeyPassphraseHandler" => Verdict::Harmless("an encrypted key is refused"),
            "invalidCertificateHandler" => Verdict::Harmless("a certificate that is not good is always refused"),
            "extendedVerification" | "fips" if !child.boolean()? => Verdict::Harmless("forbids nothing"),
            "extendedVerification" => Verdict::Stops("clients' certificates are not compared with their hosts' names"),
            "fips" => NO_FIPS,
            "ecdhCurve" => Verdict::Stops("the curves are X25519, P-256 and P-384, and cannot be chosen"),
            "verificationDepth" if child.value::<u32>("a number of certificates")? >= CHAIN_LENGTH_MAX => {
                Verdict::Harmless("longer chains are always refused")
            }
            "verificationDepth" => Verdict::Stops("chains of certificates may have up to 6 between both ends"),
            "sessionTimeout" => Verdict::Missing("sessions are remembered until others take their place"),
            _ => return Ok(None),
        }))
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
        let mut provider = ring::default_provider();
        provider.cipher_suites.retain(|suite| self.offers(suite));
        let provider = Arc::new(provider);
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

    /// Whether a cipher is among those that the configuration names.
    fn offers(&self, suite: &SupportedCipherSuite) -> bool {
        // `TLS13_AES_256_GCM_SHA384`, which is OpenSSL's `TLS_AES_256_GCM_SHA384`, or `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`, which is its
        // `ECDHE-RSA-AES128-GCM-SHA256`.
        let name = format!("{:?}", suite.suite());
        let (named, known) = match suite {
            SupportedCipherSuite::Tls13(_) => (&self.cipher_suites, vec![name.replacen("TLS13_", "TLS_", 1)]),
            SupportedCipherSuite::Tls12(_) => {
                let short =
                    name.replacen("TLS_", "", 1).replace("_WITH_", "_").replace("AES_", "AES").replace('_', "-");
                let old = short.strip_suffix("-SHA256").filter(|_| short.contains("CHACHA20")).map(str::to_owned);
                (&self.cipher_list, [Some(name), old, Some(short)].into_iter().flatten().collect())
            }
        };
        named.as_ref().is_none_or(|named| known.iter().any(|name| named.contains(name)))
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

    fn read(text: &str) -> (Result<TlsConfig>, Findings) {
        let element = Element::parse("config.xml", text).unwrap();
        let (mut config, mut findings) = (TlsConfig::default(), Findings::default());
        let read = config.read(&element, Path::new("/etc/squall"), &mut findings);
        (read.map(|()| config), findings)
    }

    #[test]
    fn elements_have_clickhouses_meaning() {
        let (config, found) = read(
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
        assert_eq!(config.cipher_list, None);
        assert_eq!(found.warnings.len(), 1, "{found:?}");
        assert_eq!((found.harmless.len(), found.stops.len()), (1, 0), "{found:?}");
        let (bad, _) = read("<openSSL><server><verificationMode>maybe</verificationMode></server></openSSL>");
        assert!(bad.unwrap_err().message.contains("none, relaxed, strict or once"));
    }

    #[test]
    fn what_restricts_is_in_force_or_stops() {
        let (_, found) = read(
            "<openSSL><fips>true</fips><server><extendedVerification>true</extendedVerification><ecdhCurve>secp521r1</ecdhCurve>\
             <verificationDepth>2</verificationDepth><fips>false</fips></server></openSSL>",
        );
        assert_eq!(found.stops.len(), 4, "{found:?}");
        let offered = |list: &str, suites: &str| -> Vec<String> {
            let (config, _) = read(&format!(
                "<openSSL><server><cipherList>{list}</cipherList><cipherSuites>{suites}</cipherSuites></server></openSSL>"
            ));
            let config = config.unwrap();
            let all = ring::default_provider().cipher_suites;
            all.iter().filter(|suite| config.offers(suite)).map(|suite| format!("{:?}", suite.suite())).collect()
        };
        assert_eq!(offered("ALL:!ADH:!LOW:@STRENGTH", "").len(), ring::default_provider().cipher_suites.len());
        assert_eq!(
            offered("ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305", "TLS_AES_256_GCM_SHA384"),
            [
                "TLS13_AES_256_GCM_SHA384",
                "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
                "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
            ]
        );
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
