//! One client: a connection of either protocol, opened when it is needed, on which one request after the other is answered and judged.

use std::sync::Arc;

use squall_formats::{FormatOptions, OutputFormat, output_format};
use squall_types::{Block, Error, ErrorCode, Result};

use super::endpoint::{Endpoint, Protocol, QueryId};
use super::http::{HttpConnection, put_path, put_query};
use super::statement::{COMPARED_BYTES, Statement};
use crate::datagen::Random;
use squall_native::{Connection, Options, Query, Stage, Summary};
use squall_native::{Failure, FailureKind};

/// A statement made ready for its endpoint: what can be made once is.
#[derive(Debug)]
pub struct Prepared {
    statement: Statement,
    /// The number of its class.
    pub class: usize,
    endpoint: Arc<Endpoint>,
    options: Options,
    stage: Stage,
    is_post: bool,
    /// The request over HTTP where it is always the same.
    request: Option<Vec<u8>>,
}

impl Prepared {
    /// For this endpoint; queries go as bodies with `is_post`.
    pub fn new(statement: Statement, class: usize, endpoint: Arc<Endpoint>, stage: Stage, is_post: bool) -> Self {
        let request = statement.fixed_text().filter(|_| endpoint.protocol == Protocol::Http).map(|text| {
            let mut request = Vec::new();
            if statement.is_path {
                put_path(&endpoint, text, &mut request);
            } else {
                put_query(&endpoint, text, is_post, &mut request);
            }
            request
        });
        let options = endpoint.native_options();
        Prepared { statement, class, endpoint, options, stage, is_post, request }
    }

    /// Whether its connections serve more than one request.
    pub fn keeps_alive(&self) -> bool {
        self.endpoint.keep_alive
    }
}

#[derive(Debug)]
enum Wire {
    Http(HttpConnection),
    Native(Box<Connection>),
}

impl Wire {
    /// Opens a connection, over which `request` goes first, if it is known.
    async fn connect(prepared: &Prepared, request: &[u8]) -> Result<Self, Failure> {
        let endpoint = &prepared.endpoint;
        Ok(match endpoint.protocol {
            Protocol::Http => Wire::Http(HttpConnection::connect(endpoint, request).await?),
            Protocol::Native => {
                Wire::Native(Box::new(Connection::connect_to(endpoint.address, &prepared.options).await?))
            }
        })
    }
}

/// A client. It is used by one request at a time.
#[derive(Debug, Default)]
pub struct Client {
    wire: Option<Wire>,
    /// Requests that the connection has served.
    served: u64,
    /// Room for texts and requests with parameters.
    text: String,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Client {
    /// Opens the connection, if it is not open, before there is something to send.
    ///
    /// # Errors
    /// [`FailureKind::Connect`].
    pub async fn connect(&mut self, prepared: &Prepared) -> Result<(), Failure> {
        if self.wire.is_none() {
            self.wire = Some(Wire::connect(prepared, &[]).await?);
        }
        Ok(())
    }

    /// Closes the connection: after a request that was given up, whose answer may still come.
    pub fn disconnect(&mut self) {
        (self.wire, self.served) = (None, 0);
    }

    /// Whether the server has closed the connection meanwhile, as servers do with those that rest.
    pub fn is_stale(&self) -> bool {
        match &self.wire {
            None => false,
            Some(Wire::Http(connection)) => connection.is_stale(),
            Some(Wire::Native(connection)) => connection.is_stale(),
        }
    }

    /// Closes the connection if the server has.
    pub fn disconnect_if_stale(&mut self) {
        if self.is_stale() {
            self.disconnect();
        }
    }

    /// Whether the connection is open.
    pub fn is_connected(&self) -> bool {
        self.wire.is_some()
    }

    /// Sends a statement and judges its answer; returns what the server told of rows and bytes, over HTTP the length of the body alone. After a failure the connection is closed, unless it can be used on.
    ///
    /// # Errors
    /// Every kind but [`FailureKind::Timeout`].
    pub async fn perform(&mut self, prepared: &Prepared, random: &mut Random) -> Result<Summary, Failure> {
        let text = match prepared.statement.fixed_text() {
            Some(text) => text,
            None => {
                prepared.statement.write(random, &mut self.text);
                &self.text
            }
        };
        let request = match (&prepared.request, prepared.endpoint.protocol) {
            (Some(request), _) => request,
            (None, protocol) => {
                self.request.clear();
                if protocol == Protocol::Http {
                    put_query(&prepared.endpoint, text, prepared.is_post, &mut self.request);
                }
                &self.request
            }
        };
        let wire = match &mut self.wire {
            Some(wire) => wire,
            none => none.insert(Wire::connect(prepared, request).await?),
        };
        let outcome = match wire {
            Wire::Http(connection) => over_http(connection, request, &prepared.statement).await,
            Wire::Native(connection) => {
                let unique;
                let id = match &prepared.endpoint.query_id {
                    QueryId::Server => "",
                    QueryId::Fixed(id) => id,
                    QueryId::Prefixed(prefix) => {
                        unique = format!("{prefix}_{}", uuid::Uuid::new_v4());
                        &unique
                    }
                };
                let query = Query {
                    text,
                    id,
                    stage: prepared.stage,
                    settings: &prepared.endpoint.settings,
                    ..Query::default()
                };
                over_native(connection, &query, &prepared.statement, &mut self.answer).await
            }
        };
        self.served += 1;
        let goes_on = prepared.endpoint.keep_alive
            && prepared.endpoint.requests_max.is_none_or(|most| self.served < most)
            && match wire {
                Wire::Http(connection) => connection.keeps_alive(),
                Wire::Native(_) => match &outcome {
                    Ok(_) => true,
                    Err(failure) => matches!(failure.kind, FailureKind::Exception(_) | FailureKind::WrongAnswer),
                },
            };
        if !goes_on {
            self.disconnect();
        }
        outcome
    }
}

async fn over_http(connection: &mut HttpConnection, request: &[u8], statement: &Statement) -> Result<Summary, Failure> {
    let answer = connection.exchange(request).await?;
    let summary = Summary { result_bytes: answer.body_bytes, ..Summary::default() };
    if !statement.expectation.accepts(answer.body) {
        return Err(wrong(statement, answer.body));
    }
    Ok(summary)
}

async fn over_native(
    connection: &mut Connection,
    query: &Query<'_>,
    statement: &Statement,
    answer: &mut Vec<u8>,
) -> Result<Summary, Failure> {
    if !statement.expectation.looks() {
        return connection.execute(query).await;
    }
    // Answers are compared as the text that HTTP would give.
    answer.clear();
    let mut format = None;
    let summary = connection.read(query, |block| put_text(block, &mut format, answer)).await?;
    if !statement.expectation.accepts(answer) {
        return Err(wrong(statement, answer));
    }
    Ok(summary)
}

fn put_text(block: &Block, format: &mut Option<Box<dyn OutputFormat>>, out: &mut Vec<u8>) -> Result<()> {
    if block.is_empty() || out.len() >= COMPARED_BYTES {
        return Ok(());
    }
    let format = match format {
        Some(format) => format,
        None => format.insert(output_format("TabSeparated", block.schema(), &FormatOptions::default())?),
    };
    format.block(block, out)?;
    out.truncate(COMPARED_BYTES);
    Ok(())
}

fn wrong(statement: &Statement, answer: &[u8]) -> Failure {
    let message = format!("Expected {}, got {}", statement.expectation.description(), super::excerpt(answer));
    Failure::new(FailureKind::WrongAnswer, Error::new(ErrorCode::INCORRECT_DATA, message))
}
