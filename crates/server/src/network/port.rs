//! Ports that are listened on.

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};

use rustix::net::{SocketFlags, acceptfrom_with};
use socket2::SockRef;
use squall_types::{Error, ErrorCode, Result};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::tcp_socket::{Interface, TcpSocket};
use crate::config::Config;

/// One address that is listened on.
#[derive(Debug)]
pub struct Port {
    /// The socket.
    pub listener: AsyncFd<TcpListener>,
    /// Whether clients speak TLS here.
    pub is_secure: bool,
}

impl TryFrom<TcpListener> for Port {
    type Error = std::io::Error;

    /// A port without TLS.
    fn try_from(listener: TcpListener) -> std::io::Result<Self> {
        listener.set_nonblocking(true)?;
        // SAFETY: a listener owns its file descriptor, gives no other, and keeps it open until it is dropped.
        let listener = unsafe { AsyncFd::register_with_interest(listener, Interest::READABLE) }?;
        Ok(Self { listener, is_secure: false })
    }
}

impl Port {
    /// The next connection, and its client's address. Its socket does not block, and the runtime does not hear of it yet.
    ///
    /// # Errors
    /// Where the process has no file descriptor left, or the client is gone again.
    pub async fn accept(&self, interface: Interface) -> std::io::Result<(TcpSocket, SocketAddr)> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let accept = |listener: &TcpListener| Ok(acceptfrom_with(listener, flags)?);
        let (socket, address) = self.listener.async_io(Interest::READABLE, accept).await?;
        let address = address.and_then(|address| address.try_into().ok()).ok_or(std::io::ErrorKind::NotConnected)?;
        Ok((TcpSocket::new(socket.into(), interface), address))
    }

    /// Where it is, for people: `https://127.0.0.1:8443`.
    pub fn url(&self, scheme: &str) -> String {
        let secure = if self.is_secure { "s" } else { "" };
        match self.listener.get_ref().local_addr() {
            Ok(address) => format!("{scheme}{secure}://{address}"),
            Err(error) => format!("{scheme}{secure}://? ({error})"),
        }
    }

    /// Lets the system acknowledge a client's first bytes with the answer to them, which is one packet less a connection. It is for
    /// protocols whose answers are quick, and that call [`super::Socket::acknowledge`] where one is not: a client that sends its request
    /// in small pieces may keep the second until it hears of the first (Nagle's algorithm).
    pub fn acknowledge_with_answers(&self) {
        if let Err(error) = SockRef::from(&self.listener).set_tcp_quickack(false) {
            tracing::warn!(target: "Application", "Cannot set TCP_QUICKACK of a listening socket: {error}");
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
            Ok(port) => ports.push(Port { is_secure, ..port }),
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

fn listen_on(config: &Config, host: &str, port: u16) -> std::io::Result<Port> {
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
    socket.bind(&address.into())?;
    socket.listen(i32::try_from(config.server.listen_backlog).unwrap_or(i32::MAX))?;
    TcpListener::from(socket).try_into()
}
