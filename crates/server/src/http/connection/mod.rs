//! Connections of the HTTP interface: their limits and timeouts, and their end when the server stops.

pub(super) mod client_socket;
pub(super) mod direct;
mod framing;
mod ping;
pub(super) mod response_future;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, EXPECT, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, Version};
use hyper_util::rt::{TokioIo, TokioTimer};

use crate::http::connection::client_socket::{ClientSocket, Exchange};
use crate::http::connection::direct::Timeouts;
use crate::http::connection::response_future::ResponseFuture;
use crate::http::handler::{Answer, Connection, Pages};
use crate::http::request::head::{RequestFields, RequestHead};
use crate::http::request::input::{RequestBody, Unread};
use crate::http::response::Headers;
use crate::http::response::body::Body;
use crate::network::Socket;
use crate::server::Server;

/// Hyper's buffer for what it reads: a head must fit in, and a body goes through it piece by piece.
const BUFFER_BYTES_MIN: usize = 512 << 10;
/// Room for more headers is made for no setting.
const FIELDS_MAX: usize = 10_000;

/// Serves one connection to its end.
pub async fn serve(server: Arc<Server>, headers: Arc<Headers>, pages: Pages, stream: Socket, address: SocketAddr) {
    // A client that goes away is no news.
    if let Err(error) = serve_requests(server, headers, pages, stream, address).await {
        tracing::trace!(target: "HTTPServerConnection", "The connection from {address} ended: {error}");
    }
}

async fn serve_requests(
    server: Arc<Server>,
    headers: Arc<Headers>,
    pages: Pages,
    stream: Socket,
    address: SocketAddr,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (idle, requests_max) = {
        let settings = &server.config.load().server;
        (Duration::from_secs(settings.keep_alive_timeout.max(1)), settings.max_keep_alive_requests)
    };
    let (send_timeout, timeouts) = {
        let users = server.access.load();
        let settings = users.default_settings();
        let head = Some(settings.http_headers_read_timeout).filter(|timeout| !timeout.is_zero());
        (settings.http_send_timeout, Timeouts { idle, head, body: settings.http_receive_timeout })
    };
    let exchange = Exchange::default();
    let connection = Arc::new(Connection::new(server.clone(), headers, pages, &stream, address));
    let mut wire = ClientSocket::new(stream, send_timeout, exchange.clone(), connection.clone());
    if requests_max == 0 {
        let Some(rest) = direct::serve(&mut wire, &connection, timeouts).await? else { return Ok(()) };
        wire.put_back(rest);
    }
    // Hyper does not tell of a request that comes in pieces.
    wire.acknowledge();
    wire.hand_to_hyper(timeouts.head);
    let _busy = server.keep_busy();
    let fields_max = connection.limits.fields_max.clamp(1, FIELDS_MAX);
    let exchanges = Arc::new(Exchanges { connection, requests_max, served: AtomicU64::new(0), exchange });
    let buffer_bytes = exchanges.connection.limits.head_bytes_max.max(BUFFER_BYTES_MIN);
    let mut builder = http1::Builder::new();
    // Not `pipeline_flush`: with it hyper's write buffer has no bound, and a client that stops reading fills the memory.
    builder.timer(TokioTimer::new()).header_read_timeout(idle).max_buf_size(buffer_bytes);
    builder.max_headers(fields_max);
    let serving = builder.serve_connection(
        TokioIo::new(wire),
        service_fn(move |request| {
            let exchanges = exchanges.clone();
            async move { Ok::<_, std::convert::Infallible>(exchanges.answer(request).await) }
        }),
    );
    tokio::pin!(serving);
    tokio::select! {
        result = serving.as_mut() => return Ok(result?),
        () = server.stopping() => serving.as_mut().graceful_shutdown(),
    }
    Ok(serving.await?)
}

/// The requests of a connection that hyper reads.
struct Exchanges {
    connection: Arc<Connection>,
    /// `max_keep_alive_requests`; 0 is unlimited.
    requests_max: u64,
    served: AtomicU64,
    exchange: Exchange,
}

impl Exchanges {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let says_close =
            parts.headers.get(CONNECTION).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"close"));
        self.exchange.begin(says_close && body.is_end_stream());
        let head = RequestHead {
            method: &parts.method,
            path: parts.uri.path(),
            url_query: parts.uri.query(),
            fields: RequestFields::Map(&parts.headers),
        };
        // Without chunks a response could not follow its own head, and to HEAD there is nothing but a head.
        self.connection.progress.open(parts.version == Version::HTTP_11 && parts.method != Method::HEAD);
        let (body, unread) = Unread::lend(body);
        let response = match self.connection.answer(&head) {
            Answer::Page(response) => {
                drop(body);
                response
            }
            Answer::RulePage(page) => {
                drop(body);
                self.connection.read_page(&page).await
            }
            Answer::Query(http, client) => {
                let making = self.connection.clone().run(http, client, RequestBody::Incoming(body));
                ResponseFuture::new(self.connection.clone(), making).await
            }
        };
        let mut response = response.into_hyper();
        // A client that pools its connections would send its next request to one that is closed behind this answer.
        if !unread.drain(parts.headers.contains_key(EXPECT)).await {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if self.requests_max > 0 && self.served.fetch_add(1, Ordering::Relaxed) + 1 >= self.requests_max {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        self.exchange.end();
        response
    }
}
