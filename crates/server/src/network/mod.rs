//! What the interfaces share of their sockets: listening and accepting, TLS, refusing whom there is no room for, and ending connections
//! so that the last answer arrives. What is said on a socket is `http`'s and `native`'s business.

mod certificate;
mod linger;
mod listener;
mod port;
mod socket;
mod tcp_socket;
mod tls;

pub use certificate::{certificate_entries, generate_certificate};
pub use linger::Linger;
pub use listener::accept;
pub use port::{Port, listen};
pub use socket::Socket;
pub use tcp_socket::Interface;
pub use tls::{TlsConfig, VerificationMode};

/// How long a client may take nothing of a result whose query was asked to end.
pub const STOPPED_TIME: std::time::Duration = std::time::Duration::from_millis(50);
