//! Queries over HTTP, one connection each, for tools that ask a server now and then.

use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes};
use hyper::client::conn::http1::SendRequest;
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
#[derive(Debug, PartialEq, Eq)]
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
        let mut connection = self.connect().await?;
        let request = self.post("/", Full::new(Bytes::from(sql.to_owned())))?;
        let response = connection.send_request(request).await.map_err(|error| self.network_error(&error))?;
        let status = response.status();
        let body = response.into_body().collect().await.map_err(|error| self.network_error(&error))?.to_bytes();
        let text = String::from_utf8_lossy(&body).into_owned();
        match status {
            StatusCode::OK => Ok(text),
            _ => Err(Error::new(ErrorCode::NETWORK_ERROR, text.trim().to_owned())),
        }
    }

    /// A connection, to be used once.
    ///
    /// # Errors
    /// `NETWORK_ERROR`.
    pub async fn connect<B>(&self) -> Result<SendRequest<B>>
    where
        B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
    {
        let stream =
            TcpStream::connect((self.host.as_str(), self.port)).await.map_err(|error| self.network_error(&error))?;
        let _ = stream.set_nodelay(true);
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| self.network_error(&error))?;
        // Ends with the request.
        tokio::spawn(connection);
        Ok(sender)
    }

    /// A request to this server, as this user.
    ///
    /// # Errors
    /// `NETWORK_ERROR` where the target is none.
    pub fn post<B>(&self, target: &str, body: B) -> Result<Request<B>> {
        Request::post(target)
            .header("Host", self.address())
            .header("X-ClickHouse-User", &self.user)
            .header("X-ClickHouse-Key", &self.password)
            .body(body)
            .map_err(|error| self.network_error(&error))
    }

    /// What a reader is told of a request that failed on its way.
    pub fn network_error(&self, error: &dyn std::fmt::Display) -> Error {
        let address = self.address();
        Error::new(
            ErrorCode::NETWORK_ERROR,
            format!("Cannot ask {address}: {error}. Is it the HTTP interface, and does the server run?"),
        )
    }

    fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}
