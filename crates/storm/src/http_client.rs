//! Queries over HTTP, one connection each, for tools that ask a server now and then.

use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use squall_types::{Error, ErrorCode, Result};
use tokio::net::TcpStream;

/// The server that a command asks, and as whom.
#[derive(Debug, clap::Args)]
pub struct ServerArgs {
    /// The server's HTTP interface.
    #[arg(long, default_value = "http://127.0.0.1:8123")]
    pub url: String,
    /// The user.
    #[arg(long, default_value = "default")]
    pub user: String,
    /// The user's password.
    #[arg(long, default_value = "", hide_default_value = true)]
    pub password: String,
}

impl ServerArgs {
    /// What asks it.
    ///
    /// # Errors
    /// As [`HttpClient::new`].
    pub fn client(&self) -> Result<HttpClient> {
        HttpClient::new(&self.url, &self.user, &self.password)
    }
}

/// A server and who asks it.
#[derive(Debug)]
pub struct HttpClient {
    host: String,
    port: u16,
    user: String,
    password: String,
}

/// Why a question has no answer.
#[derive(Debug)]
pub enum Failure {
    /// None came in time.
    Timeout,
    /// The server cannot be reached, or says no.
    Error(Error),
}

impl HttpClient {
    /// For a URL like `http://host:8123`.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where it is none, or is of another scheme.
    pub fn new(url: &str, user: &str, password: &str) -> Result<Self> {
        let bad = |why: &str| Error::new(ErrorCode::BAD_ARGUMENTS, format!("{url}: {why}"));
        let uri: Uri = url.parse().map_err(|_| bad("is not a URL"))?;
        if uri.scheme_str() != Some("http") {
            return Err(bad("expected http://HOST:PORT"));
        }
        let host = uri.host().ok_or_else(|| bad("has no host"))?.to_owned();
        Ok(Self { host, port: uri.port_u16().unwrap_or(8123), user: user.to_owned(), password: password.to_owned() })
    }

    /// The answer to a query as text.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn query(&self, sql: &str, patience: Duration) -> Result<String, Failure> {
        match tokio::time::timeout(patience, self.ask(sql)).await {
            Ok(answer) => answer.map_err(Failure::Error),
            Err(_) => Err(Failure::Timeout),
        }
    }

    async fn ask(&self, sql: &str) -> Result<String> {
        let address = format!("{}:{}", self.host, self.port);
        let network = |error: &dyn std::fmt::Display| {
            Error::new(
                ErrorCode::NETWORK_ERROR,
                format!("Cannot ask {address}: {error}. Is it the HTTP interface, and does the server run?"),
            )
        };
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await.map_err(|error| network(&error))?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| network(&error))?;
        // Ends with the request: the connection is used once.
        tokio::spawn(connection);
        let request = Request::post("/")
            .header("Host", &address)
            .header("X-ClickHouse-User", &self.user)
            .header("X-ClickHouse-Key", &self.password)
            .body(Full::new(Bytes::from(sql.to_owned())))
            .map_err(|error| network(&error))?;
        let response = sender.send_request(request).await.map_err(|error| network(&error))?;
        let status = response.status();
        let body = response.into_body().collect().await.map_err(|error| network(&error))?.to_bytes();
        let text = String::from_utf8_lossy(&body).into_owned();
        match status {
            StatusCode::OK => Ok(text),
            _ => Err(Error::new(ErrorCode::NETWORK_ERROR, text.trim().to_owned())),
        }
    }
}
