//! The client's half of ClickHouse's native protocol: connect, send a query with its settings, parameters and tables, follow its packets
//! to the end, insert blocks. `storm` and `client` share it. Turning blocks into files is the business of others.

mod compression;
mod connection;
mod failure;
mod packet;
mod transport;

pub use connection::{Connection, ExternalTable, Options, Query, Stage, Summary};
pub use failure::{Failure, FailureKind};
pub use packet::{Packet, ProfileInfo, Progress};
pub use transport::{Tls, Transport};
