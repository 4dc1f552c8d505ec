//! Who a query comes from: the connection and what the client says of itself, for the process list and the query log.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

/// The interface that a query came through, numbered as in `system.query_log.interface`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Interface {
    /// Not known, or not from a client.
    #[default]
    Unknown = 0,
    /// The native protocol.
    Tcp = 1,
    /// HTTP.
    Http = 2,
}

/// HTTP's methods, numbered as in `system.query_log.http_method`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)]
pub enum HttpMethod {
    #[default]
    Unknown = 0,
    Get = 1,
    Post = 2,
    Options = 3,
    Put = 4,
    Delete = 5,
    Head = 6,
}

/// What is known of a client.
#[derive(Clone, Debug)]
pub struct ClientInfo {
    /// Through what it came.
    pub interface: Interface,
    /// From where.
    pub address: SocketAddr,
    /// Whether it came under TLS.
    pub is_secure: bool,
    /// Whether no other server has passed the query on.
    pub is_initial: bool,
    /// From where the query came that began it all.
    pub initial_address: SocketAddr,
    /// The user of the query that began it all, where the client forwards one; otherwise empty.
    pub initial_user: Arc<str>,
    /// The id of the query that began it all, where the client forwards one; otherwise empty.
    pub initial_query_id: Arc<str>,
    /// The user of the client's operating system.
    pub os_user: Arc<str>,
    /// The client's machine.
    pub client_hostname: Arc<str>,
    /// The client's name: `ClickHouse client`.
    pub client_name: Arc<str>,
    /// The client's revision of the native protocol.
    pub client_revision: u64,
    /// The client's version.
    pub client_version: (u64, u64, u64),
    /// HTTP's method.
    pub http_method: HttpMethod,
    /// HTTP's `User-Agent`.
    pub http_user_agent: Arc<str>,
    /// HTTP's `Referer`.
    pub http_referer: Arc<str>,
    /// HTTP's `X-Forwarded-For`.
    pub forwarded_for: Arc<str>,
    /// The key of quotas that the client gives.
    pub quota_key: Arc<str>,
}

impl Default for ClientInfo {
    fn default() -> Self {
        Self::new(Interface::Unknown, SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)))
    }
}

impl ClientInfo {
    /// A client that says nothing of itself.
    pub fn new(interface: Interface, address: SocketAddr) -> Self {
        // One empty string for all: making one allocates.
        static EMPTY: std::sync::LazyLock<Arc<str>> = std::sync::LazyLock::new(|| "".into());
        let empty = || EMPTY.clone();
        Self {
            interface,
            address,
            is_secure: false,
            is_initial: true,
            initial_address: address,
            initial_user: empty(),
            initial_query_id: empty(),
            os_user: empty(),
            client_hostname: empty(),
            client_name: empty(),
            client_revision: 0,
            client_version: (0, 0, 0),
            http_method: HttpMethod::Unknown,
            http_user_agent: empty(),
            http_referer: empty(),
            forwarded_for: empty(),
            quota_key: empty(),
        }
    }

    /// The address as an IPv6 one, as the `address` columns have it.
    pub fn address_v6(&self) -> Ipv6Addr {
        v6(self.address)
    }

    /// The same of the initial address.
    pub fn initial_address_v6(&self) -> Ipv6Addr {
        v6(self.initial_address)
    }
}

fn v6(address: SocketAddr) -> Ipv6Addr {
    match address.ip() {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}
