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
        received.clear();
        while !is_complete(&received)? {
            if stream.read_buf(&mut received).await.map_err(network)? == 0 {
                return Err(Error::new(ErrorCode::NETWORK_ERROR, "The server closed a connection that was to be kept"));
            }
        }
        responses += 1;
    }
    Ok(responses)
}

/// Whether a whole response was received; an error where it is not a good one.
fn is_complete(received: &[u8]) -> Result<bool> {
    let bad = |what: &str| {
        let beginning = String::from_utf8_lossy(received.get(..received.len().min(300)).unwrap_or_default());
        Err(Error::new(ErrorCode::INCORRECT_DATA, format!("{what} from the HTTP server: {beginning}")))
    };
    if received.len() > RESPONSE_BYTES_MAX {
        return bad("A response that is too large");
    }
    let Some(head_bytes) = received.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(false) };
    let (head, body) = received.split_at(head_bytes + 4);
    if !head.starts_with(b"HTTP/1.1 200") {
        return bad("An unexpected response");
    }
    let Ok(head) = std::str::from_utf8(head) else { return bad("A malformed head") };
    for line in head.lines().skip(1) {
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.eq_ignore_ascii_case("content-length") {
            return match value.trim().parse::<usize>() {
                Ok(length) => Ok(body.len() >= length),
                Err(_) => bad("A malformed length"),
            };
        }
        if name.eq_ignore_ascii_case("transfer-encoding") {
            // The last chunk is empty. Small answers have no such bytes inside.
            return Ok(body.ends_with(b"0\r\n\r\n"));
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
            assert!(is_complete(response).unwrap());
            for cut in 0..response.len() {
                assert!(!is_complete(&response[..cut]).unwrap(), "{cut}");
            }
        }
        assert!(is_complete(b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n").is_err());
        assert!(is_complete(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
