//! A request and its answer: the connection, redirects, the head, and the body as it comes.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{HeaderMap, HeaderName};
use hyper::{Method, Request, Response, StatusCode, Uri, header};
use hyper_util::rt::TokioIo;
use squall_native::{Tls, Transport};
use squall_types::{Error, ErrorCode, Result};
use tokio::runtime::{Builder, Runtime};

use super::{HttpOptions, bad_url, shown, uri};

/// Bytes of a refusal that an error shows.
const REFUSAL_BYTES_MAX: usize = 1000;

/// Bytes of a body that are handed to a connection at once.
const BODY_CHUNK_BYTES: usize = 256 << 10;

/// A request without a body.
pub(super) struct Ask<'a> {
    pub method: Method,
    pub url: &'a str,
    /// Where its bytes begin, and how many there are.
    pub range: Option<(u64, usize)>,
    pub options: &'a HttpOptions,
}

/// A request to the server of its URL alone.
pub(crate) struct Single<'a> {
    pub method: Method,
    pub url: &'a str,
    /// Headers beside those of the options.
    pub headers: &'a [(HeaderName, String)],
    pub body: Pieces,
    pub options: &'a HttpOptions,
}

/// A body that is there.
#[derive(Default)]
pub(crate) struct Pieces {
    chunks: VecDeque<Bytes>,
    left: u64,
    /// Bytes that the connection has taken.
    taken: Arc<AtomicU64>,
}

impl Pieces {
    /// The bytes of all chunks, in order.
    pub fn new(chunks: impl IntoIterator<Item = Bytes>) -> Self {
        let chunks: VecDeque<Bytes> = chunks.into_iter().filter(|chunk| !chunk.is_empty()).collect();
        Self { left: chunks.iter().map(|chunk| chunk.len() as u64).sum(), chunks, taken: Arc::default() }
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let Some(mut first) = self.chunks.pop_front() else { return Poll::Ready(None) };
        let taken = first.split_to(first.len().min(BODY_CHUNK_BYTES));
        if !first.is_empty() {
            self.chunks.push_front(first);
        }
        self.left -= taken.len() as u64;
        self.taken.fetch_add(taken.len() as u64, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(taken))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// A runtime that the thread drives which reads from it. It may be dropped anywhere.
pub(crate) struct OwnRuntime(Option<Runtime>);

impl OwnRuntime {
    pub fn new() -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| network_error(&format!("Cannot make a runtime: {error}")))?;
        Ok(Self(Some(runtime)))
    }

    pub fn block_on<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let gone = || Error::logical("a runtime that has ended");
        self.0.as_ref().ok_or_else(gone)?.block_on(work)
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// An answer, whose body is read as it comes.
pub(crate) struct Answer {
    pub status: StatusCode,
    /// The bytes of the body, where the server says them.
    pub length: Option<u64>,
    /// Whether parts of it may be asked for.
    pub gives_ranges: bool,
    headers: HeaderMap,
    body: Incoming,
    /// What has come and is not read.
    rest: Bytes,
    silence_max: Duration,
    runtime: OwnRuntime,
}

impl Answer {
    pub fn new(response: Response<Incoming>, silence_max: Duration, runtime: OwnRuntime) -> Self {
        let (head, body) = response.into_parts();
        let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
        Self {
            status: head.status,
            length: text(header::CONTENT_LENGTH).and_then(|length| length.parse().ok()),
            gives_ranges: text(header::ACCEPT_RANGES).is_some_and(|unit| unit.eq_ignore_ascii_case("bytes")),
            headers: head.headers,
            body,
            rest: Bytes::new(),
            silence_max,
            runtime,
        }
    }

    /// A header's text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The first bytes of the body, as far as they come.
    pub fn beginning(&mut self, bytes_max: usize) -> Vec<u8> {
        let mut beginning = vec![0; bytes_max];
        let mut read = 0;
        while let Some(place) = beginning.get_mut(read..).filter(|place| !place.is_empty()) {
            match self.read(place) {
                Ok(0) | Err(_) => break,
                Ok(more) => read += more,
            }
        }
        beginning.truncate(read);
        beginning
    }

    /// The answer, where it is what was asked for.
    ///
    /// # Errors
    /// `RECEIVED_ERROR_FROM_REMOTE_IO_SERVER`.
    pub fn accepted(mut self, url: &str) -> Result<Self> {
        if self.status.is_success() {
            return Ok(self);
        }
        let refusal = self.beginning(REFUSAL_BYTES_MAX);
        let message = format!(
            "Received error from remote server {}. HTTP status code: {} {}, body length: {} bytes, body: '{}'",
            shown(url),
            self.status.as_u16(),
            self.status.canonical_reason().unwrap_or_default(),
            refusal.len(),
            String::from_utf8_lossy(&refusal).trim(),
        );
        Err(Error::new(ErrorCode::RECEIVED_ERROR_FROM_REMOTE_IO_SERVER, message))
    }
}

impl Read for Answer {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            let (body, silence_max) = (&mut self.body, self.silence_max);
            let frame = self.runtime.block_on(async {
                let frame = tokio::time::timeout(silence_max, body.frame()).await.map_err(|_| silent(silence_max))?;
                frame.transpose().map_err(|error| network_error(&error))
            });
            match frame.map_err(io::Error::other)? {
                None => return Ok(0),
                Some(frame) => self.rest = frame.into_data().unwrap_or_default(),
            }
        }
        let taken = bytes.len().min(self.rest.len());
        self.rest.copy_to_slice(&mut bytes[..taken]);
        Ok(taken)
    }
}

/// Asks, and follows the server to where it sends the question.
///
/// # Errors
/// `UNACCEPTABLE_URL`, `DNS_ERROR`, `NETWORK_ERROR`, `SOCKET_TIMEOUT`, `TOO_MANY_REDIRECTS`.
pub(super) fn ask(ask: &Ask<'_>) -> Result<Answer> {
    let runtime = OwnRuntime::new()?;
    let mut url = ask.url.to_owned();
    for _ in 0..=ask.options.redirects_max {
        let range = ask.range.map(|(offset, length)| {
            let last = offset.saturating_add(length as u64 - 1);
            (header::RANGE, format!("bytes={offset}-{last}"))
        });
        let single = Single {
            method: ask.method.clone(),
            url: &url,
            headers: range.as_slice(),
            body: Pieces::default(),
            options: ask.options,
        };
        let response = runtime.block_on(send(single))?;
        let next = response.headers().get(header::LOCATION).and_then(|location| location.to_str().ok());
        match next.filter(|_| response.status().is_redirection()) {
            Some(next) => url = resolved(&url, next)?,
            None => return Ok(Answer::new(response, ask.options.silence_max, runtime)),
        }
    }
    let message = format!(
        "Too many redirects while trying to access {}. You can allow redirects by changing setting 'max_http_get_redirects'",
        shown(ask.url)
    );
    Err(Error::new(ErrorCode::TOO_MANY_REDIRECTS, message))
}

/// Sends a request, and waits for its answer's head.
///
/// # Errors
/// `UNACCEPTABLE_URL`, `DNS_ERROR`, `NETWORK_ERROR`, `SOCKET_TIMEOUT`.
pub(crate) async fn send(single: Single<'_>) -> Result<Response<Incoming>> {
    let Single { method, url, headers, body, options } = single;
    let target = uri(url)?;
    let mut sender = connect(url, &target, options).await?;
    let mut request = request(&method, &target, options);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    if body.left == 0 && matches!(method, Method::POST | Method::PUT) {
        request = request.header(header::CONTENT_LENGTH, 0);
    }
    let taken = body.taken.clone();
    let request = request.body(body).map_err(|error| bad_url(url, &error))?;
    let mut answer = std::pin::pin!(sender.send_request(request));
    loop {
        let before = taken.load(Ordering::Relaxed);
        match tokio::time::timeout(options.silence_max, &mut answer).await {
            Ok(answer) => return answer.map_err(|error| network_error(&error)),
            // What is large takes its time, as long as it goes on.
            Err(_) if taken.load(Ordering::Relaxed) != before => {}
            Err(_) => return Err(silent(options.silence_max)),
        }
    }
}

/// The URL that a redirect names, which may be one within the server.
fn resolved(from: &str, next: &str) -> Result<String> {
    if next.contains("://") {
        return Ok(next.to_owned());
    }
    let from = uri(from)?;
    let (scheme, authority) =
        (from.scheme_str().unwrap_or("http"), from.authority().map_or("", |whole| whole.as_str()));
    let path = match next.strip_prefix('/') {
        Some(_) => next.to_owned(),
        None => format!("{}/{next}", from.path().rsplit_once('/').map_or("", |(folder, _)| folder)),
    };
    Ok(format!("{scheme}://{authority}{path}"))
}

/// A request to a URL, with the headers that all requests have.
pub(super) fn request(method: &Method, target: &Uri, options: &HttpOptions) -> hyper::http::request::Builder {
    let authority = target.authority().map_or("", |whole| whole.as_str());
    let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    let mut request = Request::builder()
        .method(method)
        .uri(target.path_and_query().map_or("/", |path| path.as_str()))
        .header(header::HOST, host)
        .header(header::USER_AGENT, concat!("Squall/", env!("CARGO_PKG_VERSION")))
        .header(header::CONNECTION, "close");
    if let Some(user) = user {
        let user = percent_encoding::percent_decode_str(user).collect::<Vec<u8>>();
        let basic = data_encoding::BASE64.encode(&user);
        request = request.header(header::AUTHORIZATION, format!("Basic {basic}"));
    }
    for (name, value) in &options.headers {
        request = request.header(name, value);
    }
    request
}

/// Connects to a URL's host. The connection is driven by the runtime.
pub(super) async fn connect<B>(url: &str, target: &Uri, options: &HttpOptions) -> Result<SendRequest<B>>
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    // A host's name may have come to mean another address since it was looked at.
    let reach = (options.reach)(url)?;
    let host = target.host().ok_or_else(|| bad_url(url, &"there is no host"))?.trim_matches(['[', ']']);
    let is_secure = target.scheme_str() == Some("https");
    let port = target.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
    let slow = |_| Error::new(ErrorCode::SOCKET_TIMEOUT, format!("Timeout: connect timed out: {host}:{port}"));
    let looking =
        tokio::time::timeout(options.connect_max.max(Duration::from_secs(5)), tokio::net::lookup_host((host, port)));
    let found = looking.await.map_err(slow)?;
    let found = found.map_err(|error| Error::new(ErrorCode::DNS_ERROR, format!("Host not found: {host}: {error}")))?;
    let admitted: Vec<SocketAddr> = found.filter(|address| reach.admits(address.ip())).collect();
    if admitted.is_empty() {
        let message =
            format!("URL \"{}\" is not allowed in configuration file, see <remote_url_allow_hosts>", shown(url));
        return Err(Error::new(ErrorCode::UNACCEPTABLE_URL, message));
    }
    let tls = if is_secure { Some(Tls::new(host, None, false)?) } else { None };
    let mut failure = None;
    for address in admitted {
        let connecting = tokio::time::timeout(options.connect_max, Transport::connect(address, tls.as_ref()));
        match connecting.await.map_err(slow) {
            Ok(Ok(transport)) => {
                let (sender, connection) =
                    http1::handshake(TokioIo::new(transport)).await.map_err(|error| network_error(&error))?;
                tokio::spawn(connection);
                return Ok(sender);
            }
            Ok(Err(error)) => failure = Some(network_error(&format!("{host}:{port}: {error}"))),
            Err(error) => failure = Some(error),
        }
    }
    Err(failure.unwrap_or_else(|| Error::logical("a host without addresses")))
}

/// An error of a connection.
pub(crate) fn network_error(error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorCode::NETWORK_ERROR, format!("A web server cannot be reached: {error}"))
}

fn silent(silence_max: Duration) -> Error {
    Error::new(
        ErrorCode::SOCKET_TIMEOUT,
        format!("Timeout: a web server is silent for {} s", silence_max.as_secs_f64()),
    )
}

/// The error within one of reading or writing.
pub(crate) fn read_error(error: &io::Error) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(error) => error.clone(),
        None => network_error(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_are_resolved() {
        for (from, next, to) in [
            ("http://a:1/b/c?d", "/e", "http://a:1/e"),
            ("http://a:1/b/c", "e?f", "http://a:1/b/e?f"),
            ("https://a/b", "http://c/d", "http://c/d"),
        ] {
            assert_eq!(resolved(from, next).unwrap(), to);
        }
    }
}
