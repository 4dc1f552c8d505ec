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
