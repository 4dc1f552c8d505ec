//! Accepting connections of the native protocol, their number and their end.

use std::sync::Arc;
use std::time::Duration;

use squall_runtime::CurrentMetric;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::connection::Connection;
use crate::server::Server;

/// How long to wait before accepting again when the process has no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Accepts connections until the server stops; those in the middle of a query go on to its end.
pub async fn serve(server: Arc<Server>, listener: TcpListener, connections: Arc<Semaphore>) {
    loop {
        // Clients beyond `max_connections` wait in the backlog.
        let permit = tokio::select! {
            permit = connections.clone().acquire_owned() => permit,
            () = server.stopping() => return,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = server.stopping() => return,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(target: "TCPHandler", "Cannot accept a connection: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let server = server.clone();
        tokio::spawn(async move {
            let _permit = permit;
            let _metric = CurrentMetric::TCPConnection.hold(1);
            Connection::serve(server, stream, address).await;
        });
    }
}
