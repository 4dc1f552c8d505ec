//! A request in the hands of the server, which may outlive its client: when the connection ends, a query goes on, unless
//! `cancel_http_readonly_queries_on_client_close` lets it end with its client.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::http::handler::Connection;
use crate::http::response::Response;

type Making = Pin<Box<dyn Future<Output = Response> + Send>>;

/// The making of a response.
pub(in crate::http) struct ResponseFuture {
    connection: Arc<Connection>,
    /// `None` once it is made.
    response: Option<Making>,
}

impl ResponseFuture {
    /// Begins with what makes the response to a request of this connection.
    pub(in crate::http) fn new(
        connection: Arc<Connection>,
        making: impl Future<Output = Response> + Send + 'static,
    ) -> Self {
        Self { connection, response: Some(Box::pin(making)) }
    }
}

impl Future for ResponseFuture {
    type Output = Response;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(response) = &mut self.response else { return Poll::Pending };
        let polled = response.as_mut().poll(task);
        if polled.is_ready() {
            self.response = None;
        }
        polled
    }
}

impl Drop for ResponseFuture {
    fn drop(&mut self) {
        if let Some(response) = self.response.take()
            && self.connection.goes_on_without_client()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            // Whatever it comes to, nobody takes it.
            runtime.spawn(response);
        }
    }
}
