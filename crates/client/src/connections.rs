//! Where to connect: clickhouse-client's configuration files in XML and YAML, with their named connections, connection strings
//! (`clickhouse://user@host:9000/db`), and what the command line says over both.

use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use quick_xml::Reader;
use quick_xml::events::Event;
use serde_norway::{Mapping, Value};
use squall_native::{Options, Tls};
use squall_types::{Error, ErrorCode, Result};

use crate::bad;
use crate::run::file_error;

/// The native protocol's ports: in plain text and under TLS.
const PORT: u16 = 9000;
const SECURE_PORT: u16 = 9440;

/// What is known of a connection; what is not stays with the next source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// A name or address.
    pub host: Option<String>,
    /// The port of the native protocol.
    pub port: Option<u16>,
    /// The user.
    pub user: Option<String>,
    /// The password.
    pub password: Option<String>,
    /// The database that unqualified names mean.
    pub database: Option<String>,
    /// Whether to speak TLS.
    pub secure: Option<bool>,
    /// A file with the authorities that certificates are judged by.
    pub authorities: Option<PathBuf>,
    /// Whether any certificate will do.
    pub accept_invalid: Option<bool>,
    /// Where statements are kept.
    pub history_file: Option<PathBuf>,
}

impl Target {
    /// This, and what it does not say as `other` has it.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Target {
            host: self.host.or(other.host),
            port: self.port.or(other.port),
            user: self.user.or(other.user),
            password: self.password.or(other.password),
            database: self.database.or(other.database),
            secure: self.secure.or(other.secure),
            authorities: self.authorities.or(other.authorities),
            accept_invalid: self.accept_invalid.or(other.accept_invalid),
            history_file: self.history_file.or(other.history_file),
        }
    }

    /// What `CLICKHOUSE_HOST`, `CLICKHOUSE_USER`, `CLICKHOUSE_PASSWORD` and `CLICKHOUSE_DATABASE` say.
    pub fn of_environment() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Target {
            host: variable("CLICKHOUSE_HOST"),
            user: variable("CLICKHOUSE_USER"),
            password: variable("CLICKHOUSE_PASSWORD"),
            database: variable("CLICKHOUSE_DATABASE"),
            ..Target::default()
        }
    }

    /// What a connection string says: `clickhouse://user:password@host:9440/database?secure`.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for anything else.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = || bad(format!("'{text}' is not of the form clickhouse://user:password@host:port/database?secure"));
        let (scheme, rest) = text.split_once(':').ok_or_else(wrong)?;
        if scheme != "clickhouse" && scheme != "squall" {
            return Err(wrong());
        }
        let rest = rest.strip_prefix("//").ok_or_else(wrong)?;
        let decoded = |part: &str| {
            let text = percent_decode_str(part).decode_utf8().map_err(|_| wrong())?;
            Ok::<_, Error>((!text.is_empty()).then(|| text.into_owned()))
        };
        let mut target = Target::default();
        let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, "1"));
            match name {
                "secure" | "s" => target.secure = Some(is_true(value)),
                "no-secure" => target.secure = Some(false),
                "accept-invalid-certificate" => target.accept_invalid = Some(is_true(value)),
                _ => return Err(bad(format!("A connection string has no option '{name}'"))),
            }
        }
        let (place, database) = rest.split_once('/').unwrap_or((rest, ""));
        target.database = decoded(database)?;
        let (user, place) = place.rsplit_once('@').unwrap_or(("", place));
        let (user, password) = user.split_once(':').unwrap_or((user, ""));
        (target.user, target.password) = (decoded(user)?, decoded(password)?);
        // A colon is within an address of IPv6, or before the port.
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port.parse().map_err(|_| wrong())?)),
            _ => (place, None),
        };
        target.host = decoded(host.trim_start_matches('[').trim_end_matches(']'))?;
        target.port = port;
        Ok(target)
    }

    /// The options of the native client.
    ///
    /// # Errors
    /// Where TLS cannot be set up.
    pub fn options(self, connect_timeout: Duration, compression: bool) -> Result<Options> {
        let host = self.host.unwrap_or_else(|| "localhost".to_owned());
        let is_secure = self.secure.unwrap_or(self.port == Some(SECURE_PORT));
        let tls = match is_secure {
            false => None,
            true => Some(Tls::new(&host, self.authorities.as_deref(), self.accept_invalid.unwrap_or(false))?),
        };
        Ok(Options {
            port: self.port.unwrap_or(if is_secure { SECURE_PORT } else { PORT }),
            database: self.database.unwrap_or_default(),
            user: self.user.unwrap_or_else(|| "default".to_owned()),
            password: self.password.unwrap_or_default(),
            connect_timeout,
            compression,
            tls,
            client_name: "client",
            host,
            ..Options::local(PORT)
        })
    }
}

fn is_true(text: &str) -> bool {
    !matches!(text.trim().to_ascii_lowercase().as_str(), "0" | "false" | "no" | "off")
}

/// A configuration file.
#[derive(Debug, Clone)]
pub struct Configuration {
    file: String,
    root: Value,
}

impl Configuration {
    /// Reads this file, or the first of clickhouse-client's own places: this folder, `~/.clickhouse-client`, `/etc/clickhouse-client`.
    ///
    /// # Errors
    /// Where the file named is not there or cannot be read.
    pub fn read(file: Option<&Path>) -> Result<Option<Self>> {
        if let Some(file) = file {
            return Self::of_file(file).map(Some);
        }
        let mut stems = vec![PathBuf::from("clickhouse-client")];
        stems.extend(std::env::home_dir().map(|home| home.join(".clickhouse-client/config")));
        stems.push(PathBuf::from("/etc/clickhouse-client/config"));
        let files = stems.iter().flat_map(|stem| ["xml", "yaml", "yml"].map(|end| stem.with_extension(end)));
        match files.into_iter().find(|file| file.is_file()) {
            Some(file) => Self::of_file(&file).map(Some),
            None => Ok(None),
        }
    }

    fn of_file(file: &Path) -> Result<Self> {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file).map_err(|error| file_error(&name, &error))?;
        let is_xml = text.trim_start_matches('\u{feff}').trim_start().starts_with('<');
        let root =
            if is_xml { of_xml(&text) } else { serde_norway::from_str(&text).map_err(|error| error.to_string()) };
        let root =
            root.map_err(|error| Error::new(ErrorCode::CANNOT_PARSE_TEXT, format!("{name} cannot be read: {error}")))?;
        Ok(Configuration { file: name, root })
    }

    /// What it says of all connections, and of the connection of this name before. A name that only may be one is a host's.
    ///
    /// # Errors
    /// `NO_ELEMENTS_IN_CONFIG` where the name must be there and is not.
    pub fn target(&self, connection: Option<&str>, host: Option<&str>) -> Result<Target> {
        let general = target_of(&self.root);
        let Some(name) = connection.or(host) else { return Ok(general) };
        let all = ["connections_credentials", "connection"].iter().try_fold(&self.root, |value, key| value.get(key));
        let all = match all {
            Some(Value::Sequence(connections)) => connections.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        match all.iter().find(|one| text_of(one, &["name"]).as_deref() == Some(name)) {
            Some(found) => Ok(target_of(found).or(general)),
            None if connection.is_some() => {
                Err(Error::new(ErrorCode::NO_ELEMENTS_IN_CONFIG, format!("{} has no connection '{name}'", self.file)))
            }
            // The host was said, so the one that the file says of all is not meant.
            None => Ok(Target { host: None, ..general }),
        }
    }
}

fn target_of(value: &Value) -> Target {
    let text = |path: &[&str]| text_of(value, path);
    let client = |name: &str| text(&["openSSL", "client", name]);
    let handler = text(&["openSSL", "client", "invalidCertificateHandler", "name"]);
    let accepts = text(&["accept-invalid-certificate"]).map(|text| is_true(&text)).or_else(|| {
        let is_lax = client("verificationMode").is_some_and(|mode| mode == "none")
            || handler.is_some_and(|handler| handler == "AcceptCertificateHandler");
        is_lax.then_some(true)
    });
    Target {
        host: text(&["hostname"]).or_else(|| text(&["host"])),
        port: text(&["port"]).and_then(|port| port.parse().ok()),
        user: text(&["user"]),
        password: text(&["password"]),
        database: text(&["database"]),
        secure: text(&["secure"]).map(|text| is_true(&text)),
        authorities: client("caConfig").map(PathBuf::from),
        accept_invalid: accepts,
        history_file: text(&["history_file"]).map(PathBuf::from),
    }
}

/// The text at a path; an element without text is there, and empty.
fn text_of(value: &Value, path: &[&str]) -> Option<String> {
    match path.iter().try_fold(value, |value, key| value.get(key))? {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is) => Some(is.to_string()),
        Value::Null => Some(String::new()),
        _ => None,
    }
}

/// A document as YAML would have it: an element with others inside is a mapping, several of one name are a sequence, the rest is text.
fn of_xml(text: &str) -> std::result::Result<Value, String> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<(String, Mapping, String)> = vec![(String::new(), Mapping::new(), String::new())];
    let put = |open: &mut Vec<(String, Mapping, String)>, name: String, value: Value| {
        let Some((_, parent, _)) = open.last_mut() else { return };
        match parent.get_mut(&name) {
            Some(Value::Sequence(several)) => several.push(value),
            Some(first) => *first = Value::Sequence(vec![first.clone(), value]),
            None => drop(parent.insert(name.into(), value)),
        }
    };
    loop {
        match reader.read_event().map_err(|error| error.to_string())? {
            Event::Start(start) => open.push((start.name().into_inner().to_owned(), Mapping::new(), String::new())),
            Event::Empty(start) => put(&mut open, start.name().into_inner().to_owned(), Value::Null),
            Event::End(_) => {
                let Some((name, children, text)) = open.pop() else { break };
                let value = if children.is_empty() { Value::String(text) } else { Value::Mapping(children) };
                put(&mut open, name, value);
            }
            Event::Text(part) => {
                if let Some((.., text)) = open.last_mut() {
                    text.push_str(&part.xml10_content());
                }
            }
            Event::CData(part) => {
                if let Some((.., text)) = open.last_mut() {
                    text.push_str(&part.xml10_content());
                }
            }
            Event::GeneralRef(reference) => {
                let named = [("lt", '<'), ("gt", '>'), ("amp", '&'), ("apos", '\''), ("quot", '"')];
                let character = named.iter().find(|(name, _)| *name == &*reference).map(|(_, character)| *character);
                let character = character.or_else(|| reference.resolve_char_ref().ok().flatten());
                let character = character.ok_or_else(|| format!("unknown entity &{};", &*reference))?;
                if let Some((.., text)) = open.last_mut() {
                    text.push(character);
                }
            }
            Event::Eof => break,
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) | Event::DocType(_) => {}
        }
    }
    // The root's own name says nothing: `config`, `clickhouse`, `yandex`.
    let root = open.into_iter().next().map(|(_, document, _)| document).unwrap_or_default();
    Ok(root.into_iter().next().map_or(Value::Null, |(_, root)| root))
}

#[cfg(test)]
mod tests {
    use super::*;

    const XML: &str = "<config><user>all</user><openSSL><client><caConfig>/ca.pem</caConfig></client></openSSL>
        <connections_credentials>
            <connection><name>one</name><hostname>h1</hostname><port>9441</port><secure/></connection>
            <connection><name>two</name><hostname>h2</hostname><user>u2</user><password>a&amp;b</password></connection>
        </connections_credentials></config>";
    const YAML: &str = "user: all\nopenSSL:\n  client:\n    caConfig: /ca.pem\nconnections_credentials:\n  connection:
    - {name: one, hostname: h1, port: 9441, secure: true}\n    - {name: two, hostname: h2, user: u2, password: a&b}\n";

    #[test]
    fn files_say_the_same_in_xml_and_yaml() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("config.xml", XML), ("config.yaml", YAML)] {
            let file = folder.path().join(name);
            std::fs::write(&file, text).unwrap();
            let configuration = Configuration::read(Some(&file)).unwrap().unwrap();
            let one = configuration.target(Some("one"), None).unwrap();
            assert_eq!((one.host.as_deref(), one.port, one.secure), (Some("h1"), Some(9441), Some(true)), "{name}");
            assert_eq!((one.user.as_deref(), one.authorities), (Some("all"), Some("/ca.pem".into())));
            // A host may be a connection's name, and need not be.
            let two = configuration.target(None, Some("two")).unwrap();
            assert_eq!((two.user.as_deref(), two.password.as_deref()), (Some("u2"), Some("a&b")));
            assert_eq!(configuration.target(None, Some("h3")).unwrap().host, None);
            let missing = configuration.target(Some("three"), None).unwrap_err();
            assert_eq!(missing.code, ErrorCode::NO_ELEMENTS_IN_CONFIG);
        }
    }

    #[test]
    fn connection_strings_are_read() {
        let target = Target::parse("clickhouse://u:p%40ss@[::1]:9441/db?secure").unwrap();
        assert_eq!((target.host.as_deref(), target.port), (Some("::1"), Some(9441)));
        assert_eq!((target.user.as_deref(), target.password.as_deref()), (Some("u"), Some("p@ss")));
        assert_eq!((target.database.as_deref(), target.secure), (Some("db"), Some(true)));
        assert_eq!(Target::parse("clickhouse://host").unwrap().host.as_deref(), Some("host"));
        for wrong in ["host", "http://host", "clickhouse:host", "clickhouse://h:x", "clickhouse://h?x"] {
            assert_eq!(Target::parse(wrong).unwrap_err().code, ErrorCode::BAD_ARGUMENTS, "{wrong}");
        }
    }
}
