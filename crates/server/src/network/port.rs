//! Ports that are listened on.

use std::net::{SocketAddr, ToSocketAddrs};

use squall_types::{Error, ErrorCode, Result};
use tokio::net::TcpListener;

use crate::config::Config;

/// One address that is listened on.
#[derive(Debug)]
pub struct Port {
    /// The socket.
    pub listener: TcpListener,
    /// Whether clients speak TLS here.
    pub is_secure: bool,
}

impl From<TcpListener> for Port {
    /// A port without TLS.
    fn from(listener: TcpListener) -> Self {
        Self { listener, is_secure: false }
    }
}

impl Port {
    /// Where it is, for people: `https://127.0.0.1:8443`.
    pub fn url(&self, scheme: &str) -> String {
        let secure = if self.is_secure { "s" } else { "" };
        match self.listener.local_addr() {
            Ok(address) => format!("{scheme}{secure}://{address}"),
            Err(error) => format!("{scheme}{secure}://? ({error})"),
        }
    }
}

/// Listens on a port of every configured host; 0 is no port.
///
/// # Errors
/// `NETWORK_ERROR` where an address cannot be had.
pub fn listen(config: &Config, port: u64, is_secure: bool) -> Result<Vec<Port>> {
    let Some(port) = u16::try_from(port).ok().filter(|port| *port > 0) else { return Ok(Vec::new()) };
    let may_fail = config.server.listen_try || config.listen_hosts_are_default;
    let mut ports = Vec::new();
    let mut first_error = None;
    for host in &config.listen_hosts {
        match listen_on(config, host, port) {
            Ok(listener) => ports.push(Port { listener, is_secure }),
            Err(error) => {
                // A default host that this machine does not have is no reason to stop; a port that somebody else answers on is:
                // clients would talk to a stranger.
                let is_taken = error.kind() == std::io::ErrorKind::AddrInUse && !config.server.listen_try;
                let error = Error::new(ErrorCode::NETWORK_ERROR, format!("Cannot listen on [{host}]:{port}: {error}"));
                if !may_fail || is_taken {
                    return Err(error);
                }
                tracing::warn!(target: "Application", "{}", error.message);
                first_error.get_or_insert(error);
            }
        }
    }
    match first_error {
        Some(error) if ports.is_empty() => Err(error),
        _ => Ok(ports),
    }
}

fn listen_on(config: &Config, host: &str, port: u16) -> std::io::Result<TcpListener> {
    let address: SocketAddr = (host, port)
        .to_socket_addrs()?
        .next()
        .ok_or_else(|| std::io::Error::new(std::io::ErrorKind::NotFound, "the host has no address"))?;
    let domain = socket2::Domain::for_address(address);
    let socket = socket2::Socket::new(domain, socket2::Type::STREAM, Some(socket2::Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if config.server.listen_reuse_port {
        socket.set_reuse_port(true)?;
    }
    if address.is_ipv6() {
        // `::` takes IPv4 too, as ClickHouse's does; `::1` beside 127.0.0.1 does not.
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(i32::try_from(config.server.listen_backlog).unwrap_or(i32::MAX))?;
    TcpListener::from_std(socket.into())
}
