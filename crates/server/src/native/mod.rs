//! The native protocol, as `clickhouse-client`, `clickhouse-benchmark` and the drivers speak it: packets over TCP, whose shape depends on
//! the revision that both sides agree on. Blocks inside of packets are `formats`' business, what a query is and does is `query`'s.

pub mod blocks;
mod connection;
pub mod packet;
mod query;
mod result;
mod revision;
mod settings;
mod stage;

use std::sync::Arc;

use squall_types::Error;
use tokio::sync::Semaphore;

use self::connection::Connection;
use crate::network::{Port, accept};
use crate::server::Server;

/// Serves this interface on a port until the server stops; connections in the middle of a query go on to its end.
pub async fn serve(server: Arc<Server>, port: Port, connections: Arc<Semaphore>) {
    let serving = server.clone();
    let serve = move |stream, address| Connection::serve(serving.clone(), stream, address);
    let refusal = |error: &Error| {
        let mut out = Vec::new();
        packet::write_exception(error, &mut out);
        out
    };
    accept(server, port, connections, crate::network::Interface::Native, refusal, serve).await;
}
