//! The HTTP interface: connections, requests, responses. What a query is and does is `query`'s business.

mod assets;
mod body;
mod connection;
mod content_encoding;
mod cors;
mod date;
mod direct;
mod form;
mod framing;
mod handler;
mod handling;
mod head;
mod input;
mod metrics;
mod origin;
mod ping;
mod progress;
mod request;
mod respond;
mod response;
mod rules;
mod status;
mod trace;
mod wire;

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::network::{Port, accept};
use crate::server::Server;

pub use cors::OptionsResponse;
pub use direct::DirectRequest;
pub use handler::{Pages, new_query_id};
pub use metrics::PrometheusConfig;
pub use rules::{Rules, SharedRules};
pub use status::status_of;

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
