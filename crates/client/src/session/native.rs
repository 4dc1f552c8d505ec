//! A session over the native protocol: one connection, opened again where it broke, and the runtime that its futures run on.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use squall_formats::Evaluate;
use squall_native::{Connection, Failure, Options, Packet};
use squall_types::calendar::TimeZone;
use squall_types::text::append_date_time;
use squall_types::{Block, Error, ErrorCode, Result, Value};
use tokio::runtime::{Builder, Runtime};

use super::{Event, LogLine, Peer, Query, Session, Usage, evaluator_in};

/// A connection to a server.
#[derive(Debug)]
pub struct NativeSession {
    runtime: Runtime,
    options: Options,
    /// None where it broke.
    connection: Option<Connection>,
    peer: Peer,
    time_zone: TimeZone,
    /// Events that came in one packet and were not taken yet.
    pending: VecDeque<Event>,
    /// What the counters of the running statement have added up to.
    usage: Usage,
}

impl NativeSession {
    /// Connects.
    ///
    /// # Errors
    /// Where no server answers, or it refuses the user.
    pub fn open(options: Options) -> Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::new(ErrorCode::CANNOT_ALLOCATE_MEMORY, error.to_string()))?;
        let mut session = NativeSession {
            runtime,
            options,
            connection: None,
            peer: Peer::default(),
            time_zone: TimeZone::utc(),
            pending: VecDeque::new(),
            usage: Usage::default(),
        };
        session.connect()?;
        Ok(session)
    }

    fn connect(&mut self) -> Result<()> {
        let connection = self.runtime.block_on(Connection::connect(&self.options))?;
        self.peer = Peer {
            display_name: connection.display_name().to_owned(),
            description: format!(
                "{} {} at {}:{}",
                connection.server_name(),
                connection.server_version(),
                self.options.host,
                self.options.port
            ),
            time_zone: connection.time_zone().to_owned(),
        };
        // A server may know a zone that this program does not; times are then shown in UTC.
        self.time_zone = TimeZone::named(connection.time_zone()).unwrap_or_else(|_| TimeZone::utc());
        self.connection = Some(connection);
        Ok(())
    }

    fn open_connection(&mut self) -> Result<&mut Connection> {
        // Without a turn of the runtime nobody would ask the system whether the server has hung up.
        self.runtime.block_on(tokio::task::yield_now());
        if self.connection.as_ref().is_none_or(Connection::is_stale) {
            self.connection = None;
            self.connect()?;
        }
        self.connection.as_mut().ok_or_else(no_connection)
    }

    /// What a failure leaves: no connection.
    fn broken(&mut self, failure: Failure) -> Error {
        self.connection = None;
        failure.error
    }

    /// What packets say, as events.
    fn take(&mut self, packet: Packet) {
        match packet {
            Packet::Data(block) => self.pending.push_back(Event::Block(block)),
            Packet::Totals(block) => self.pending.push_back(Event::Totals(block)),
            Packet::Extremes(block) => self.pending.push_back(Event::Extremes(block)),
            Packet::Progress(progress) => self.pending.push_back(Event::Progress(progress)),
            Packet::ProfileInfo(info) => self.pending.push_back(Event::Profile(info)),
            Packet::Log(block) => {
                let zone = &self.time_zone;
                let date_time = |seconds| {
                    let mut text = Vec::new();
                    append_date_time(&mut text, u32::try_from(seconds).unwrap_or(0), &mut zone.cursor());
                    String::from_utf8_lossy(&text).into_owned()
                };
                self.pending.extend(LogLine::of_block(&block, date_time).into_iter().map(Event::Log));
            }
            Packet::ProfileEvents(block) => {
                self.count(&block);
                self.pending.push_back(Event::Usage(self.usage));
            }
            Packet::TableColumns(text) => self.pending.push_back(Event::Defaults(columns_with_defaults(&text))),
            Packet::Exception(error) => self.pending.push_back(Event::Exception(error)),
            Packet::EndOfStream => self.pending.push_back(Event::End),
            Packet::Other => {}
        }
    }

    /// Adds counters of events to what is used.
    fn count(&mut self, block: &Block) {
        let columns = ["name", "value", "thread_id"].map(|name| block.schema().position(name));
        let [Some(names), Some(values), Some(threads)] = columns else { return };
        let mut working = HashSet::new();
        for row in 0..block.rows() {
            let Value::String(name) = block.column(names).value(row) else { continue };
            let value = match block.column(values).value(row) {
                Value::Int64(value) => u64::try_from(value).unwrap_or(0),
                value => value.as_u64().unwrap_or(0),
            };
            match &*name {
                b"MemoryTrackerUsage" | b"MemoryTrackerPeakUsage" => {
                    self.usage.memory_bytes = Some(self.usage.memory_bytes.unwrap_or(0).max(value));
                }
                b"OSCPUVirtualTimeMicroseconds" => {
                    let cpu = self.usage.cpu.unwrap_or_default() + Duration::from_micros(value);
                    self.usage.cpu = Some(cpu);
                    if let Some(thread) = block.column(threads).value(row).as_u64().filter(|thread| *thread != 0) {
                        working.insert(thread);
                    }
                }
                _ => {}
            }
        }
        if !working.is_empty() {
            self.usage.threads = Some(working.len() as u64);
        }
    }
}

fn no_connection() -> Error {
    Error::new(ErrorCode::NETWORK_ERROR, "There is no connection to the server")
}

/// The columns with a default expression, of ClickHouse's description of a table's columns.
fn columns_with_defaults(description: &str) -> Vec<String> {
    // `name` Type<tab>DEFAULT<tab>expression
    let lines = description.lines().filter(|line| line.contains("\tDEFAULT\t"));
    let names = lines.filter_map(|line| {
        let mut name = String::new();
        let mut characters = line.strip_prefix('`')?.chars();
        loop {
            match characters.next()? {
                '\\' => name.push(characters.next()?),
                '`' => return Some(name),
                other => name.push(other),
            }
        }
    });
    names.collect()
}

impl Session for NativeSession {
    fn peer(&self) -> &Peer {
        &self.peer
    }

    fn start(&mut self, query: &Query<'_>) -> Result<()> {
        self.pending.clear();
        self.usage = Usage::default();
        self.open_connection()?;
        let query = squall_native::Query {
            text: query.text,
            id: query.id,
            settings: query.settings,
            parameters: query.parameters,
            tables: query.tables,
            ..squall_native::Query::default()
        };
        let connection = self.connection.as_mut().ok_or_else(no_connection)?;
        self.runtime.block_on(connection.send_query(&query)).map_err(|failure| self.broken(failure))
    }

    fn next(&mut self, wait: Duration) -> Result<Option<Event>> {
        if let Some(event) = self.pending.pop_front() {
            return Ok(Some(event));
        }
        let connection = self.connection.as_mut().ok_or_else(no_connection)?;
        let packet = self.runtime.block_on(async {
            // Without waiting, nobody would ask the system what has come.
            tokio::task::yield_now().await;
            match tokio::time::timeout(wait, connection.wait_for_packet()).await {
                Err(_) => Ok(None),
                Ok(waited) => {
                    waited?;
                    connection.next_packet().await.map(Some)
                }
            }
        });
        match packet {
            Ok(None) => Ok(None),
            Ok(Some(packet)) => {
                self.take(packet);
                Ok(self.pending.pop_front())
            }
            Err(failure) => Err(self.broken(failure)),
        }
    }

    fn send(&mut self, block: &Block) -> Result<()> {
        let connection = self.connection.as_mut().ok_or_else(no_connection)?;
        self.runtime.block_on(connection.send_block(block))
    }

    fn end_data(&mut self) -> Result<()> {
        let connection = self.connection.as_mut().ok_or_else(no_connection)?;
        self.runtime.block_on(connection.end_data())
    }

    fn cancel(&mut self) -> Result<()> {
        let connection = self.connection.as_mut().ok_or_else(no_connection)?;
        self.runtime.block_on(connection.cancel())
    }

    fn evaluator(&self) -> Evaluate {
        let options = self.options.clone();
        evaluator_in(move || Self::open(options.clone()))
    }

    fn keep_database(&mut self, database: &str) {
        self.options.database = database.to_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_found_in_a_description() {
        let text =
            "columns format version: 1\n3 columns:\n`a` UInt8\n`b\\`c` String\tDEFAULT\t\\'x\\'\n`d` UInt8\tALIAS\ta\n";
        assert_eq!(columns_with_defaults(text), ["b`c"]);
    }
}
