//! A load of small HTTP requests on connections that stay open: how many a server answers in a second. It reads just enough of a response
//! to know where it ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use squall_types::{Error, ErrorCode, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// The largest response that is accepted.
const RESPONSE_BYTES_MAX: usize = 1 << 20;

/// One request, sent over and over.
#[derive(Debug, Clone)]
pub struct HttpLoad {
    /// The port on this machine.
    pub port: u16,
    /// What to GET: path and query, escaped.
    pub target: String,
    /// Connections, each with one request in flight.
    pub connections: usize,
    /// For how long.
    pub duration: Duration,
}

impl HttpLoad {
    /// Runs it; returns the number of responses and the seconds they took.
    ///
    /// # Errors
    /// A response other than 200; a connection that the server does not keep.
    pub async fn run(&self) -> Result<(u64, f64)> {
        let request = format!("GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\n\r\n", self.target);
        let request: Arc<[u8]> = request.into_bytes().into();
        let mut streams = Vec::with_capacity(self.connections);
        for _ in 0..self.connections {
            let stream = TcpStream::connect(("127.0.0.1", self.port)).await.map_err(network)?;
            stream.set_nodelay(true).map_err(network)?;
            streams.push(stream);
        }
        let started = Instant::now();
        let mut clients = JoinSet::new();
        for stream in streams {
            clients.spawn(client(stream, request.clone(), started + self.duration));
        }
        let mut responses = 0;
        while let Some(client) = clients.join_next().await {
            responses += client.map_err(|error| Error::logical(error.to_string()))??;
        }
        Ok((responses, started.elapsed().as_secs_f64()))
    }
}

async fn client(mut stream: TcpStream, request: Arc<[u8]>, until: Instant) -> Result<u64> {
    let mut received = Vec::with_capacity(4096);
    let mut responses = 0;
    while Instant::now() < until {
        stream.write_all(&request).await.map_err(network)?;
        let status = read_response(&mut stream, &mut received).await?;
        if status != 200 {
            let text = String::from_utf8_lossy(received.get(..received.len().min(300)).unwrap_or_default());
            return Err(Error::new(ErrorCode::INCORRECT_DATA, format!("An unexpected response: {text}")));
        }
        responses += 1;
    }
    Ok(responses)
}

/// Reads one response whole into `received`; returns its status.
///
/// # Errors
/// A connection that fails or ends; bytes that are no response.
pub async fn read_response(stream: &mut TcpStream, received: &mut Vec<u8>) -> Result<u16> {
    received.clear();
    loop {
        if let Some(status) = parse(received)? {
            return Ok(status);
        }
        if stream.read_buf(received).await.map_err(network)? == 0 {
            return Err(Error::new(ErrorCode::NETWORK_ERROR, "The server closed a connection that was to be kept"));
        }
    }
}

/// The status of a response once it was received whole; an error where it is none.
fn parse(received: &[u8]) -> Result<Option<u16>> {
    let bad = |what: &str| {
        let beginning = String::from_utf8_lossy(received.get(..received.len().min(300)).unwrap_or_default());
        Err(Error::new(ErrorCode::INCORRECT_DATA, format!("{what} from the HTTP server: {beginning}")))
    };
    if received.len() > RESPONSE_BYTES_MAX {
        return bad("A response that is too large");
    }
    let Some(head_bytes) = received.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    let (head, body) = received.split_at(head_bytes + 4);
    let Ok(head) = std::str::from_utf8(head) else { return bad("A malformed head") };
    let Some(status) = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok()) else {
        return bad("No status");
    };
    for line in head.lines().skip(1) {
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.eq_ignore_ascii_case("content-length") {
            return match value.trim().parse::<usize>() {
                Ok(length) => Ok((body.len() >= length).then_some(status)),
                Err(_) => bad("A malformed length"),
            };
        }
        if name.eq_ignore_ascii_case("transfer-encoding") {
            // The last chunk is empty. Small answers have no such bytes inside.
            return Ok(body.ends_with(b"0\r\n\r\n").then_some(status));
        }
    }
    bad("A response without an end")
}

fn network(error: std::io::Error) -> Error {
    Error::new(ErrorCode::NETWORK_ERROR, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_responses_are_found() {
        let whole: [&[u8]; 3] = [
            b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nOk.\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n1\n\r\n0\r\n\r\n",
        ];
        for response in whole {
            assert_eq!(parse(response).unwrap(), Some(200));
            for cut in 0..response.len() {
                assert_eq!(parse(&response[..cut]).unwrap(), None, "{cut}");
            }
        }
        assert_eq!(parse(b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n").unwrap(), Some(500));
        assert!(parse(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
        assert!(parse(b"SSH-2.0\r\n\r\n").is_err());
    }
}
