//! The HTTP interface: connections, requests, responses. What a query is and does is `query`'s business.

mod body;
mod connection;
mod content_encoding;
mod handler;
mod input;
mod ping;
mod request;
mod response;
mod status;

use std::sync::Arc;

use squall_runtime::CurrentMetric;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::listener::accept;
use crate::server::Server;

pub use status::status_of;

/// Serves this interface on a listening socket until the server stops.
pub async fn serve(server: Arc<Server>, listener: TcpListener, connections: Arc<Semaphore>) {
    let headers = Arc::new(response::Headers::new(&server));
    let serving = server.clone();
    let serve = move |stream, address| connection::serve(serving.clone(), headers.clone(), stream, address);
    accept(server, listener, connections, CurrentMetric::HTTPConnection, serve).await;
}
