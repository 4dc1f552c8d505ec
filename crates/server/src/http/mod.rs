//! The HTTP interface: connections, requests, responses. What a query is and does is `query`'s business.

mod connection;
mod content_encoding;
mod handler;
mod pages;
mod request;
mod response;
mod rules;
mod trace;

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::network::{Port, accept};
use crate::server::Server;

pub use connection::direct::DirectRequest;
pub use handler::{Pages, new_query_id};
pub use pages::metrics::PrometheusConfig;
pub use response::cors::OptionsResponse;
pub use response::status::status_of;
pub use rules::{Rules, SharedRules};

/// Serves this interface, or some of its pages, on a port until the server stops.
pub async fn serve(server: Arc<Server>, port: Port, connections: Arc<Semaphore>, pages: Pages) {
    let headers = Arc::new(response::Headers::new(&server));
    let serving = server.clone();
    let serve = move |stream, address| connection::serve(serving.clone(), headers.clone(), pages, stream, address);
    if !port.is_secure {
        port.acknowledge_with_answers();
    }
    accept(server, port, connections, crate::network::Interface::Http, response::refusal, serve).await;
}
