//! An open loop of requests over HTTP: they come at a rate of their own, whether the server keeps up or not, as the clients of a busy
//! site do. A request's latency counts from the moment at which it was to be sent (no coordinated omission).

use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use parking_lot::Mutex;
use squall_types::{Error, ErrorCode, Result};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::datagen::Random;
use crate::http::read_response;

/// What is sent, how often, and how long a client waits.
#[derive(Debug, Clone)]
pub struct OpenLoop {
    /// The port on this machine.
    pub port: u16,
    /// What to GET: path and query, escaped.
    pub target: String,
    /// Requests a second; the gaps between them are exponentially distributed.
    pub rate: f64,
    /// Requests of the first seconds do not count.
    pub warm_up: Duration,
    /// How long requests come that count.
    pub duration: Duration,
    /// A client goes away after this.
    pub patience: Duration,
    /// Connections at once; beyond them a request fails.
    pub connections_max: usize,
}

/// What became of the requests that count.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Requests that came.
    pub offered: u64,
    /// Answered with 200 in time.
    pub answered: u64,
    /// Refused: the server said that too many run.
    pub refused: u64,
    /// No answer in time.
    pub late: u64,
    /// Anything else.
    pub failed: u64,
    /// Latencies of those that were answered, in microseconds.
    pub latency_us: Histogram<u64>,
    /// Latencies of those that were refused.
    pub refusal_us: Histogram<u64>,
}

enum Fate {
    Answered,
    Refused,
    Late,
    Failed,
}

struct Shared {
    request: Vec<u8>,
    idle: Mutex<Vec<TcpStream>>,
    outcome: Mutex<Outcome>,
    patience: Duration,
    port: u16,
}

impl OpenLoop {
    /// Runs it.
    ///
    /// # Errors
    /// Where the histogram cannot be made; failing requests are counted.
    pub async fn run(&self) -> Result<Outcome> {
        let histogram = || {
            Histogram::new_with_bounds(1, 600_000_000, 3)
                .map_err(|error| Error::new(ErrorCode::LOGICAL_ERROR, error.to_string()))
        };
        let outcome = Outcome {
            offered: 0,
            answered: 0,
            refused: 0,
            late: 0,
            failed: 0,
            latency_us: histogram()?,
            refusal_us: histogram()?,
        };
        let shared = Arc::new(Shared {
            request: format!("GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", self.target).into_bytes(),
            idle: Mutex::default(),
            outcome: Mutex::new(outcome),
            patience: self.patience,
            port: self.port,
        });
        let mut random = Random::new(0, 0);
        let mut requests = JoinSet::new();
        let begun = Instant::now();
        let mut due = begun;
        while due - begun < self.warm_up + self.duration {
            tokio::time::sleep_until(due.into()).await;
            while requests.try_join_next().is_some() {}
            let counts = due - begun >= self.warm_up;
            let shared = shared.clone();
            if requests.len() < self.connections_max {
                requests.spawn(async move { shared.send(due, counts).await });
            } else if counts {
                shared.outcome.lock().offered += 1;
                shared.outcome.lock().failed += 1;
            }
            due += Duration::from_secs_f64(-(1.0 - random.unit()).ln() / self.rate);
        }
        while requests.join_next().await.is_some() {}
        let outcome = shared.outcome.lock().clone();
        Ok(outcome)
    }
}

impl Shared {
    async fn send(&self, due: Instant, counts: bool) {
        let idle = self.idle.lock().pop();
        let left = self.patience.saturating_sub(due.elapsed());
        let fate = match tokio::time::timeout(left, self.exchange(idle)).await {
            Ok(Ok((stream, fate))) => {
                self.idle.lock().push(stream);
                fate
            }
            Ok(Err(_)) => Fate::Failed,
            Err(_) => Fate::Late,
        };
        if !counts {
            return;
        }
        let latency_us = due.elapsed().as_micros() as u64;
        let mut outcome = self.outcome.lock();
        outcome.offered += 1;
        match fate {
            Fate::Answered => {
                outcome.answered += 1;
                outcome.latency_us.saturating_record(latency_us);
            }
            Fate::Refused => {
                outcome.refused += 1;
                outcome.refusal_us.saturating_record(latency_us);
            }
            Fate::Late => outcome.late += 1,
            Fate::Failed => outcome.failed += 1,
        }
    }

    async fn exchange(&self, idle: Option<TcpStream>) -> Result<(TcpStream, Fate)> {
        let network = |error: std::io::Error| Error::new(ErrorCode::NETWORK_ERROR, error.to_string());
        let mut stream = match idle {
            Some(stream) => stream,
            None => TcpStream::connect(("127.0.0.1", self.port)).await.map_err(network)?,
        };
        stream.set_nodelay(true).map_err(network)?;
        stream.write_all(&self.request).await.map_err(network)?;
        let mut received = Vec::new();
        let fate = match read_response(&mut stream, &mut received).await? {
            200 => Fate::Answered,
            _ if received.windows(9).any(|bytes| bytes == b"Code: 202") => Fate::Refused,
            _ => Fate::Failed,
        };
        Ok((stream, fate))
    }
}
