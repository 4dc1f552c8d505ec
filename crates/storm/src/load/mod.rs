//! The load generator: statements that many connections send to a server at once, and what became of each of them. It knows HTTP and the
//! native protocol, with TLS or without; closed loops, in which a client sends when it has its answer, and open ones, in which requests
//! come at a rate of their own. Everything in this crate that loads a server does so through [`Load`].
//!
//! A few threads run it, each with a runtime of its own: a connection is a task that never leaves its thread, so that ten thousand of them
//! cost no thread each, and a request costs no hand-off. What comes from the server is parsed where it was received.

mod arrivals;
mod client;
mod cpu;
mod endpoint;
mod generator;
mod http;
mod measurement;
mod parameter;
mod patience;
pub mod run;
mod statement;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub use arrivals::Gaps;
pub use cpu::{CpuTicks, Effort};
pub use endpoint::{Endpoint, Protocol, QueryId, Wire};
pub use generator::Running;
pub use measurement::{Measurement, PERCENTILES};
pub use parameter::Parameter;
pub use statement::{Expectation, Statement};

use squall_types::Result;

use crate::datagen::Random;
use squall_native::Stage;

/// The beginning of what a server said, for a message.
fn excerpt(bytes: &[u8]) -> String {
    const BYTES: usize = 300;
    String::from_utf8_lossy(bytes.get(..bytes.len().min(BYTES)).unwrap_or_default()).trim_end().to_owned()
}

/// When requests are sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// So many clients, each sending its next request when it has its answer.
    Closed {
        /// Connections, each with one request in flight.
        clients: usize,
    },
    /// So many requests a second, however long the answers take.
    Open {
        /// Requests a second.
        rate: f64,
        /// How the gaps between them are distributed.
        gaps: Gaps,
        /// The most connections; requests that find none free wait for one.
        connections_max: usize,
    },
}

/// In which order the statements of a stream are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Drawn, by their weights.
    #[default]
    Weighted,
    /// One after the other.
    InTurn,
}

/// Requests at one pace to one kind of endpoint. The classes of its statements are its own.
#[derive(Debug, Clone)]
pub struct Stream {
    /// When they are sent.
    pub pace: Pace,
    /// Where to. Where there are several, each request goes to one of them by chance, and each endpoint is a class of its own.
    pub endpoints: Vec<Endpoint>,
    /// What is sent.
    pub statements: Vec<Statement>,
    /// In which order.
    pub order: Order,
}

/// How long a load goes on, whatever comes first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limit {
    /// For so long after the warm-up.
    pub duration: Option<Duration>,
    /// So many requests in all, after the warm-up.
    pub requests: Option<u64>,
}

/// A load to put on servers.
#[derive(Debug, Clone)]
pub struct Load {
    /// What is sent, at several paces at once.
    pub streams: Vec<Stream>,
    /// Requests that are sent or due before this has passed do not count.
    pub warm_up: Duration,
    /// When to stop.
    pub limit: Limit,
    /// How long a client waits for an answer.
    pub timeout: Duration,
    /// How far servers process queries of the native protocol.
    pub stage: Stage,
    /// Whether queries over HTTP are sent as bodies.
    pub is_post: bool,
    /// Connections that are opened, greeted and then left alone, to the first endpoint.
    pub idle_connections: usize,
    /// So many failures in a row end the load.
    pub failures_max: Option<u64>,
    /// Threads of the generator; one a CPU where it is not said.
    pub threads: Option<usize>,
    /// What is drawn depends on it alone.
    pub seed: u64,
}

impl Load {
    /// These streams for so long, without a warm-up.
    pub fn new(streams: Vec<Stream>, duration: Duration) -> Self {
        Load {
            streams,
            warm_up: Duration::ZERO,
            limit: Limit { duration: Some(duration), requests: None },
            timeout: Duration::from_secs(30),
            stage: Stage::Complete,
            is_post: false,
            idle_connections: 0,
            failures_max: None,
            threads: None,
            seed: 0,
        }
    }

    /// The names of the classes, in the order of their first statements; the class of a statement to the endpoint of a number.
    fn classes(&self) -> Vec<String> {
        let mut classes: Vec<String> = Vec::new();
        for stream in &self.streams {
            for statement in &stream.statements {
                for endpoint in 0..stream.endpoints.len() {
                    let class = stream.class(statement, endpoint);
                    if !classes.contains(&class) {
                        classes.push(class);
                    }
                }
            }
        }
        classes
    }
}

impl Stream {
    /// One statement in a closed loop.
    pub fn closed(endpoint: Endpoint, statement: Statement, clients: usize) -> Self {
        Stream {
            pace: Pace::Closed { clients },
            endpoints: vec![endpoint],
            statements: vec![statement],
            order: Order::Weighted,
        }
    }

    /// The most connections that it opens.
    fn connections_max(&self) -> usize {
        match self.pace {
            Pace::Closed { clients } => clients * self.endpoints.len(),
            Pace::Open { connections_max, .. } => connections_max * self.endpoints.len(),
        }
    }

    fn class(&self, statement: &Statement, endpoint: usize) -> String {
        match self.endpoints.as_slice() {
            [_] => statement.class.clone(),
            several => {
                let Endpoint { host, address, .. } = &several[endpoint];
                format!("{host}:{}", address.port())
            }
        }
    }
}

/// What became of a load.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// What was measured of each class.
    pub classes: Vec<(String, Measurement)>,
    /// How long it was measured.
    pub elapsed: Duration,
    /// What the generator took of the machine.
    pub effort: Effort,
    /// Idle connections that were open at the end, of those that were asked for.
    pub idle_open: usize,
    /// See `idle_open`.
    pub idle_asked: usize,
    /// Whether failures in a row ended it.
    pub is_broken_off: bool,
}

impl Outcome {
    /// All classes together.
    pub fn total(&self) -> Measurement {
        let mut total = Measurement::default();
        for (_, measurement) in &self.classes {
            total.merge(measurement);
        }
        total
    }

    /// The measurement of a class.
    pub fn class(&self, name: &str) -> Option<&Measurement> {
        self.classes.iter().find_map(|(class, measurement)| (class == name).then_some(measurement))
    }
}

/// The answer to one query as text, without the line break at its end.
///
/// # Errors
/// Where there is none.
pub async fn ask(endpoint: &Endpoint, query: &str) -> Result<String> {
    let answer = Arc::new(OnceLock::new());
    let mut statement = Statement::query("ask", query);
    statement.expectation = Expectation::First(answer.clone());
    let prepared = client::Prepared::new(statement, 0, Arc::new(endpoint.clone()), Stage::Complete, true);
    client::Client::default().perform(&prepared, &mut Random::new(0, 0)).await?;
    Ok(String::from_utf8_lossy(answer.get().map(Vec::as_slice).unwrap_or_default()).trim_end_matches('\n').to_owned())
}

/// The endpoints and statements of a stream, made ready: for each statement one for each endpoint.
fn prepare(load: &Load, stream: &Stream, classes: &[String]) -> Vec<Vec<Arc<client::Prepared>>> {
    let endpoints: Vec<Arc<Endpoint>> = stream.endpoints.iter().cloned().map(Arc::new).collect();
    let prepared = |statement: &Statement, number: usize, endpoint: &Arc<Endpoint>| {
        let class = stream.class(statement, number);
        let class = classes.iter().position(|other| *other == class).unwrap_or(0);
        Arc::new(client::Prepared::new(statement.clone(), class, endpoint.clone(), load.stage, load.is_post))
    };
    let of_statement = |statement: &Statement| {
        endpoints.iter().enumerate().map(|(number, endpoint)| prepared(statement, number, endpoint)).collect()
    };
    stream.statements.iter().map(of_statement).collect()
}
