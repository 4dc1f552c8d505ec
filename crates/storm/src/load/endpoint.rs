//! Where requests go: a URL's protocol, server, user, database and path.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

use squall_types::{Error, ErrorCode, Result};

use squall_native::Options;
use squall_native::Tls;

/// What is spoken on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http,
    /// ClickHouse's native protocol.
    Native,
}

/// How a request travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// HTTP.
    Http,
    /// HTTPS.
    Https,
    /// The native protocol.
    Tcp,
    /// The native protocol under TLS.
    Tcps,
}

impl Wire {
    /// As files and tables have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Tcp => "tcp",
            Self::Tcps => "tcps",
        }
    }

    /// Whether it is under TLS.
    pub fn is_secure(self) -> bool {
        matches!(self, Self::Https | Self::Tcps)
    }
}

/// The ids of queries over the native protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum QueryId {
    /// The server chooses.
    #[default]
    Server,
    /// All have this one.
    Fixed(String),
    /// This, an underscore and a UUID of each query's own.
    Prefixed(String),
}

/// A server and how to talk to it.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// HTTP or native.
    pub protocol: Protocol,
    /// The server's address, looked up once.
    pub address: SocketAddr,
    /// Its name as it was given.
    pub host: String,
    /// User, password and database.
    pub user: String,
    /// In plain text.
    pub password: String,
    /// What unqualified names mean.
    pub database: String,
    /// The quota key of native connections.
    pub quota_key: String,
    /// What to GET over HTTP where there is no query.
    pub path: String,
    /// Under TLS, if at all.
    pub tls: Option<Tls>,
    /// Whether a connection serves more than one request.
    pub keep_alive: bool,
    /// How many requests a connection serves that serves more than one, where there is a limit.
    pub requests_max: Option<u64>,
    /// What queries are called.
    pub query_id: QueryId,
    /// Whether native blocks are compressed, and HTTP responses asked for compressed.
    pub compression: bool,
    /// Settings of every query.
    pub settings: Vec<(String, String)>,
}

impl Endpoint {
    /// Reads `http://`, `https://`, `tcp://` or `tcps://`, then `[USER[:PASSWORD]@]HOST[:PORT][/PATH]`; the path of a native address is the
    /// database. Under TLS a certificate must be good by `authorities`, or may be any with `accept_any`.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where it is none of these, `DNS_ERROR` where the host is not known.
    pub fn parse(url: &str, authorities: Option<&Path>, accept_any: bool) -> Result<Self> {
        let bad = |what: &str| {
            let message = format!(
                "{url}: {what}; expected http, https, tcp or tcps, then ://[USER[:PASSWORD]@]HOST[:PORT][/PATH]"
            );
            Error::new(ErrorCode::BAD_ARGUMENTS, message)
        };
        let (scheme, rest) = url.split_once("://").ok_or_else(|| bad("not a URL"))?;
        let (protocol, is_secure, default_port) = match scheme {
            "http" => (Protocol::Http, false, 8123),
            "https" => (Protocol::Http, true, 8443),
            "tcp" | "native" | "clickhouse" => (Protocol::Native, false, 9000),
            "tcps" | "natives" | "clickhouses" => (Protocol::Native, true, 9440),
            _ => return Err(bad("unknown protocol")),
        };
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let (credentials, server) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
        // An IPv6 address stands in brackets.
        let (host, port) = match server.strip_prefix('[').and_then(|server| server.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':').unwrap_or(port)),
            None => server.split_once(':').unwrap_or((server, "")),
        };
        let port = if port.is_empty() { default_port } else { port.parse().map_err(|_| bad("not a port"))? };
        if host.is_empty() {
            return Err(bad("no host"));
        }
        let unknown = |what: String| Error::new(ErrorCode::DNS_ERROR, format!("{host}: {what}"));
        let mut addresses = (host, port).to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
        let address = addresses.next().ok_or_else(|| unknown("has no address".to_owned()))?;
        let database = match protocol {
            Protocol::Native => path.trim_start_matches('/'),
            Protocol::Http => "",
        };
        Ok(Endpoint {
            protocol,
            address,
            host: host.to_owned(),
            user: if user.is_empty() { "default" } else { user }.to_owned(),
            password: password.to_owned(),
            database: if database.is_empty() { "default" } else { database }.to_owned(),
            quota_key: String::new(),
            path: if path.is_empty() { "/" } else { path }.to_owned(),
            tls: if is_secure { Some(Tls::new(host, authorities, accept_any)?) } else { None },
            keep_alive: true,
            requests_max: None,
            query_id: QueryId::default(),
            compression: protocol == Protocol::Native,
            settings: Vec::new(),
        })
    }

    /// The HTTP interface on a port of this machine.
    pub fn http(port: u16) -> Self {
        Self::local(Protocol::Http, port)
    }

    /// The native protocol on a port of this machine.
    pub fn native(port: u16) -> Self {
        Self::local(Protocol::Native, port)
    }

    fn local(protocol: Protocol, port: u16) -> Self {
        Endpoint {
            protocol,
            address: SocketAddr::from(([127, 0, 0, 1], port)),
            host: "127.0.0.1".to_owned(),
            user: "default".to_owned(),
            password: String::new(),
            database: "default".to_owned(),
            quota_key: String::new(),
            path: "/".to_owned(),
            tls: None,
            keep_alive: true,
            requests_max: None,
            query_id: QueryId::default(),
            compression: protocol == Protocol::Native,
            settings: Vec::new(),
        }
    }

    /// As scenarios of the suite call it.
    pub fn wire(&self) -> Wire {
        match (self.protocol, &self.tls) {
            (Protocol::Http, None) => Wire::Http,
            (Protocol::Http, Some(_)) => Wire::Https,
            (Protocol::Native, None) => Wire::Tcp,
            (Protocol::Native, Some(_)) => Wire::Tcps,
        }
    }

    /// As the native client's options.
    pub fn native_options(&self) -> Options {
        Options {
            host: self.host.clone(),
            database: self.database.clone(),
            user: self.user.clone(),
            password: self.password.clone(),
            compression: self.compression,
            tls: self.tls.clone(),
            quota_key: self.quota_key.clone(),
            ..Options::local(self.address.port())
        }
    }

    /// In a few words: `HTTPS, a new connection each`.
    pub fn description(&self) -> String {
        let protocol = match (self.protocol, &self.tls) {
            (Protocol::Http, None) => "HTTP",
            (Protocol::Http, Some(_)) => "HTTPS",
            (Protocol::Native, None) => "native protocol",
            (Protocol::Native, Some(_)) => "native protocol over TLS",
        };
        let connections = if self.keep_alive { "connections stay open" } else { "a new connection each" };
        format!("{protocol}, {connections}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read() {
        let endpoint = Endpoint::parse("http://127.0.0.1:81/ping", None, false).unwrap();
        assert_eq!((endpoint.protocol, endpoint.address.port(), endpoint.path.as_str()), (Protocol::Http, 81, "/ping"));
        assert!(endpoint.tls.is_none() && !endpoint.compression);
        let endpoint = Endpoint::parse("tcp://me:se@cret@localhost/logs", None, false).unwrap();
        assert_eq!(
            (endpoint.user.as_str(), endpoint.password.as_str(), endpoint.database.as_str(), endpoint.address.port()),
            ("me", "se@cret", "logs", 9000)
        );
        let endpoint = Endpoint::parse("https://[::1]", None, true).unwrap();
        assert!(endpoint.tls.is_some() && endpoint.address.is_ipv6() && endpoint.address.port() == 8443);
        for bad in ["127.0.0.1:8123", "ftp://127.0.0.1", "http://", "http://127.0.0.1:x/"] {
            assert_eq!(Endpoint::parse(bad, None, false).unwrap_err().code, ErrorCode::BAD_ARGUMENTS, "{bad}");
        }
    }
}
