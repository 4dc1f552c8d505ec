//! A query of a connection: from its packet to the end of its stream. The client is watched meanwhile, so that its wish to cancel and
//! its going away end the query.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use squall_formats::TableInput;
use squall_formats::wire::{put_string, put_varint};
use squall_planner::{ColumnDescription, DefaultKind};
use squall_runtime::ProfileEvent;
use squall_runtime::thread_pool::STACK_BYTES;
use squall_sql::ParserLimits;
use squall_types::text::append_escaped;
use squall_types::{Block, Error, ErrorCode, Result, Settings};

use super::blocks::{BlockWriter, log_block, profile_events_block, write_end_of_data};
use super::connection::{Connection, End, Interruption, unexpected};
use super::packet::{ProfileInfo, Progress, QueryPacket, Stage, from_client, from_server, write_exception};
use super::result::DataPackets;
use super::revision;
use super::stage::query_of_stage;
use crate::compression::Codec;
use crate::logger::{self, Level, LogSubscription};
use crate::query::{DataReader, Query, QueryRequest};
use crate::session::{ExternalTables, ExternalTablesInput, UNNAMED};

/// Bytes of packets that are sent together.
const SEND_BYTES: usize = 1 << 20;
/// How often an INSERT that waits for its client looks whether it was killed.
const KILL_CHECK: Duration = Duration::from_millis(500);

/// How a query ended, where it did not fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Finished,
    /// The client did not want the rest.
    Cancelled,
}

/// Why a query, or the whole connection, ended.
enum Failure {
    /// The query failed; the connection goes on.
    Query(Error),
    /// The connection ends.
    Connection(End),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Query(error)
    }
}

impl From<End> for Failure {
    fn from(end: End) -> Self {
        Self::Connection(end)
    }
}

/// What is sent beside a query's result, now and then.
struct Sidelines {
    progress: Progress,
    /// What each event's counter was when it was sent last.
    events: Vec<u64>,
    next: Instant,
    interval: Duration,
    log: Option<LogSubscription>,
}

impl Connection {
    /// Runs a query whose packet was read.
    ///
    /// # Errors
    /// Where the connection ends; what goes wrong with the query itself is sent to the client.
    pub async fn run_query(&mut self, packet: QueryPacket) -> Result<(), End> {
        let send_timeout = self.session.settings.send_timeout;
        let began = Instant::now();
        match self.try_run_query(packet).await {
            Ok(()) => {
                put_varint(&mut self.out, from_server::END_OF_STREAM);
            }
            Err(Failure::Query(error)) => write_exception(&error, &mut self.out),
            Err(Failure::Connection(end)) => return Err(end),
        }
        self.wire.send(&mut self.out, send_timeout).await?;
        tracing::debug!(target: "TCPHandler", "Processed in {:.6} sec.", began.elapsed().as_secs_f64());
        Ok(())
    }

    async fn try_run_query(&mut self, mut packet: QueryPacket) -> Result<(), Failure> {
        let external_tables = self.read_external_tables(packet.is_compressed).await?;
        let stage = match packet.stage {
            Ok(stage) => stage,
            Err(stage) => {
                let limits = ParserLimits { stack_bytes_max: STACK_BYTES / 2, ..ParserLimits::default() };
                packet.text = query_of_stage(&packet.text, stage, &limits)?;
                Stage::Complete
            }
        };
        let query_id: Arc<str> = if packet.query_id.is_empty() {
            uuid::Builder::from_random_bytes(rand::random()).into_uuid().to_string().into()
        } else {
            packet.query_id.as_str().into()
        };
        let mut sidelines = Sidelines {
            progress: Progress::default(),
            events: vec![0; ProfileEvent::ALL.len()],
            next: Instant::now(),
            interval: Duration::ZERO,
            log: self.subscribe_log(&packet, &query_id),
        };
        self.session.external_tables = external_tables;
        let started = self.start(&packet, &query_id).await;
        self.session.external_tables = None;
        let mut query = match started {
            Ok(query) => query,
            Err(failure) => {
                self.write_log(&mut sidelines, None)?;
                return Err(failure);
            }
        };
        let settings = query.settings().clone();
        sidelines.interval = Duration::from_micros(settings.interactive_delay).max(Duration::from_millis(1));
        sidelines.next = Instant::now() + sidelines.interval;
        let codec = match codec(&settings, packet.is_compressed) {
            Ok(codec) => codec,
            Err(error) => {
                query.fail(&error);
                return Err(error.into());
            }
        };
        let writer = BlockWriter { revision: self.revision, codec };
        if self.revision >= revision::TIMEZONE_UPDATES && !settings.session_timezone.is_empty() {
            put_varint(&mut self.out, from_server::TIMEZONE_UPDATE);
            put_string(&mut self.out, &settings.session_timezone);
        }
        let inline_data = query.insert_format().map(|(format, start)| {
            let data = start.and_then(|start| packet.text.get(start..)).unwrap_or_default();
            (format.clone(), data.trim_ascii())
        });
        let has_sent_data = inline_data.as_ref().is_some_and(|(_, data)| data.is_empty());
        let run = match inline_data {
            Some((format, data)) if !data.is_empty() => {
                insert_inline(&mut query, &format, data).await.map_err(Failure::from)
            }
            Some(_) => self.insert(&mut query, &writer, packet.is_compressed, &settings, &mut sidelines).await,
            None => self.select(&mut query, &writer, stage, &mut sidelines).await,
        };
        self.end(query, run, &writer, has_sent_data, &mut sidelines)
    }

    /// Ends a query that has run, and writes what its client expects behind its data.
    fn end(
        &mut self,
        mut query: Box<Query>,
        run: Result<Outcome, Failure>,
        writer: &BlockWriter,
        has_sent_data: bool,
        sidelines: &mut Sidelines,
    ) -> Result<(), Failure> {
        match run {
            Ok(Outcome::Finished) => {
                let is_insert = query.insert_format().is_some();
                // Behind the data that it has sent, a client expects nothing but the end; an old one behind any INSERT.
                if !is_insert || (!has_sent_data && self.revision >= revision::CLIENT_WRITE_INFO) {
                    self.write_sidelines(&query, sidelines)?;
                }
                if !is_insert {
                    self.write_profile_events(&query, sidelines)?;
                }
                if query.schema().is_some() {
                    write_end_of_data(writer, &mut self.out)?;
                }
                query.finish();
                self.write_log(sidelines, None)?;
                Ok(())
            }
            Ok(Outcome::Cancelled) => {
                let error = Error::new(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled by its client");
                query.fail(&error);
                Ok(())
            }
            Err(Failure::Query(error)) => {
                query.fail(&error);
                self.write_log(sidelines, None)?;
                Err(Failure::Query(error))
            }
            Err(failure) => Err(failure),
        }
    }

    /// Reads the tables that come with a query, up to the empty block behind them: also where one is refused, so that the connection goes on.
    async fn read_external_tables(&mut self, is_compressed: bool) -> Result<Option<Arc<ExternalTables>>, Failure> {
        let timeout = self.session.settings.receive_timeout;
        let mut tables = Ok(ExternalTablesInput::new(&self.session.settings));
        loop {
            match self.wire.read_packet_number(timeout).await? {
                from_client::DATA => {
                    let (name, block) = self.wire.read_block(self.revision, is_compressed, timeout).await?;
                    if name.is_empty() && block.is_empty() {
                        break;
                    }
                    let name = if name.is_empty() { UNNAMED } else { &name };
                    tables = tables.and_then(|mut tables| tables.add(name, block).map(|()| tables));
                }
                // A value that another server knows of the query, as its shard's number, for functions that are only between servers.
                from_client::SCALAR => drop(self.wire.read_block(self.revision, is_compressed, timeout).await?),
                from_client::CANCEL => {}
                other => return Err(unexpected(other).into()),
            }
        }
        Ok(tables?.finish())
    }

    /// Starts the query; INSERT SELECT and its like run to their end in there, so the client is watched.
    async fn start(&mut self, packet: &QueryPacket, query_id: &Arc<str>) -> Result<Box<Query>, Failure> {
        let Self { wire, session, .. } = self;
        if let Some(client) = &packet.client {
            session.client = Arc::new(client.clone());
        }
        let kept = session.parameters.clone();
        for (name, value) in &packet.parameters {
            if let Err(error) = session.set_parameter(name, value) {
                session.parameters = kept;
                return Err(error.into());
            }
        }
        let processes = session.server.processes.clone();
        let request = QueryRequest { text: &packet.text, query_id: query_id.clone(), settings: &packet.settings };
        let result = {
            let starting = Query::start(session, request);
            tokio::pin!(starting);
            let mut is_watched = true;
            loop {
                tokio::select! {
                    biased;
                    started = &mut starting => break started.map_err(Failure::from),
                    interruption = wire.interruption(), if is_watched => match interruption {
                        // What it is, the query's own kind will tell.
                        Interruption::Other(_) => is_watched = false,
                        Interruption::Cancel => {
                            if let Some(process) = processes.find(query_id) {
                                process.cancel();
                            }
                        }
                        Interruption::Gone => {
                            if let Some(process) = processes.find(query_id) {
                                process.cancel();
                            }
                            break Err(End::Gone.into());
                        }
                    },
                }
            }
        };
        session.parameters = kept;
        result
    }

    /// Sends a query's result.
    async fn select(
        &mut self,
        query: &mut Query,
        writer: &BlockWriter,
        stage: Stage,
        sidelines: &mut Sidelines,
    ) -> Result<Outcome, Failure> {
        let Some(schema) = query.schema().cloned() else { return Ok(Outcome::Finished) };
        // First the columns, so that the client can prepare its output.
        writer.write(from_server::DATA, &Block::empty(schema), &mut self.out)?;
        if stage == Stage::FetchColumns {
            return Ok(Outcome::Finished);
        }
        let context = query.context().clone();
        let mut info = ProfileInfo::default();
        let mut packets = DataPackets::new(*writer);
        loop {
            let next = match poll_once(packets.next(query)) {
                Poll::Ready(next) => next,
                Poll::Pending => {
                    if info.blocks > 0 && !self.out.is_empty() {
                        self.wire.send_result(&mut self.out, &context).await?;
                    }
                    tokio::select! {
                        next = packets.next(query) => next,
                        interruption = self.wire.interruption() => match interruption {
                            Interruption::Cancel => return Ok(Outcome::Cancelled),
                            Interruption::Gone => return Err(End::Gone.into()),
                            // To go on would be to no longer see whether the client goes.
                            Interruption::Other(packet) => return Err(unexpected(packet).into()),
                        },
                        () = tokio::time::sleep_until(sidelines.next.into()) => {
                            self.write_sidelines(query, sidelines)?;
                            self.write_profile_events(query, sidelines)?;
                            self.wire.send_result(&mut self.out, &context).await?;
                            continue;
                        }
                    }
                }
            };
            let Some(packet) = next? else { break };
            info.rows += packet.rows as u64;
            info.blocks += 1;
            info.bytes += packet.value_bytes as u64;
            self.out.extend_from_slice(&packet.bytes);
            query.give_back(packet);
            if Instant::now() >= sidelines.next {
                self.write_sidelines(query, sidelines)?;
            }
            if self.out.len() >= SEND_BYTES {
                self.wire.send_result(&mut self.out, &context).await?;
                match self.wire.try_interruption() {
                    None => {}
                    Some(Interruption::Cancel) => return Ok(Outcome::Cancelled),
                    Some(Interruption::Gone) => return Err(End::Gone.into()),
                    Some(Interruption::Other(packet)) => return Err(unexpected(packet).into()),
                }
            }
        }
        packets.end(query).await?;
        if let Some(totals) = query.take_totals() {
            writer.write(from_server::TOTALS, &totals, &mut self.out)?;
        }
        if let Some(extremes) = query.take_extremes()? {
            writer.write(from_server::EXTREMES, &extremes, &mut self.out)?;
        }
        info.rows_before_limit = context.progress.rows_before_limit();
        info.write(self.revision, &mut self.out);
        Ok(Outcome::Finished)
    }

    /// Takes an INSERT's data from the client.
    async fn insert(
        &mut self,
        query: &mut Query,
        writer: &BlockWriter,
        is_compressed: bool,
        settings: &Arc<Settings>,
        sidelines: &mut Sidelines,
    ) -> Result<Outcome, Failure> {
        let Some(sink) = query.insert_sink() else { return Err(Error::logical("an INSERT without a sink").into()) };
        let schema = sink.schema().clone();
        if self.revision >= revision::CLIENT_WRITE_INFO && settings.input_format_defaults_for_omitted_fields {
            put_varint(&mut self.out, from_server::TABLE_COLUMNS);
            put_string(&mut self.out, "");
            put_string(&mut self.out, columns_description(sink.table().columns()));
        }
        writer.write(from_server::DATA, &Block::empty(schema.clone()), &mut self.out)?;
        self.wire.send(&mut self.out, settings.send_timeout).await?;
        self.skipped_data = Some(is_compressed);
        let options = squall_formats::FormatOptions::new(settings.clone(), &self.session.server.zone)?;
        let table = TableInput::new(&schema, &options);
        let context = query.context().clone();
        loop {
            let silent_since = Instant::now();
            let packet = loop {
                match tokio::time::timeout(KILL_CHECK, self.wire.read_packet_number(settings.receive_timeout)).await {
                    Ok(packet) => break packet?,
                    Err(_) if silent_since.elapsed() > settings.receive_timeout => return Err(End::Gone.into()),
                    Err(_) => {
                        let _ = context.check()?;
                    }
                }
            };
            match packet {
                from_client::DATA => {
                    let read = self.wire.read_block(self.revision, is_compressed, settings.receive_timeout);
                    let (_, block) = read.await?;
                    let is_last = block.is_empty();
                    if is_last {
                        self.skipped_data = None;
                    } else {
                        let sink = query.insert_sink().ok_or_else(|| Error::logical("a sink went away"))?;
                        sink.send_input(table.match_block(&block)?).await?;
                    }
                    // Newer clients wait for this after every block.
                    self.write_profile_events(query, sidelines)?;
                    self.wire.send(&mut self.out, settings.send_timeout).await?;
                    if is_last {
                        break;
                    }
                }
                from_client::CANCEL => {
                    self.skipped_data = None;
                    return Ok(Outcome::Cancelled);
                }
                other => return Err(unexpected(other).into()),
            }
        }
        query.finish_insert().await?;
        Ok(Outcome::Finished)
    }

    fn subscribe_log(&self, packet: &QueryPacket, query_id: &str) -> Option<LogSubscription> {
        if self.revision < revision::SERVER_LOGS {
            return None;
        }
        let of_packet = packet.settings.iter().rev().find(|(name, _)| name == "send_logs_level");
        let level = of_packet.map_or(&self.session.settings.send_logs_level, |(_, value)| value);
        let level = Level::parse(level).filter(|level| *level > Level::Fatal)?;
        Some(logger::subscribe(query_id, level))
    }

    /// Writes how far the query is, and what the log says of it.
    fn write_sidelines(&mut self, query: &Query, sidelines: &mut Sidelines) -> Result<()> {
        let context = query.context();
        let progress = &context.progress;
        let now = Progress {
            read_rows: progress.read_rows.load(Relaxed),
            read_bytes: progress.read_bytes.load(Relaxed),
            total_rows: progress.total_rows_to_read.load(Relaxed),
            written_rows: progress.written_rows.load(Relaxed),
            written_bytes: progress.written_bytes.load(Relaxed),
            elapsed: context.started.elapsed(),
        };
        now.since(sidelines.progress).write(self.revision, &mut self.out);
        sidelines.progress = now;
        self.write_log(sidelines, Some(Instant::now()))
    }

    fn write_log(&mut self, sidelines: &mut Sidelines, now: Option<Instant>) -> Result<()> {
        if let Some(now) = now {
            sidelines.next = now + sidelines.interval;
        }
        let Some(log) = &sidelines.log else { return Ok(()) };
        let lines: Vec<_> = std::iter::from_fn(|| log.try_next()).collect();
        if lines.is_empty() {
            return Ok(());
        }
        let block = log_block(&lines, &self.session.server.host_name, self.revision)?;
        BlockWriter { revision: self.revision, codec: None }.write_plain(from_server::LOG, &block, &mut self.out)
    }

    /// Writes what was counted since the last time.
    fn write_profile_events(&mut self, query: &Query, sidelines: &mut Sidelines) -> Result<()> {
        let is_insert = query.insert_format().is_some();
        let since = if is_insert { revision::PROFILE_EVENTS_IN_INSERT } else { revision::PROFILE_EVENTS };
        if self.revision < since {
            return Ok(());
        }
        let context = query.context();
        let mut increments = Vec::new();
        for (event, before) in ProfileEvent::ALL.iter().zip(&mut sidelines.events) {
            let now = context.counters.get(*event);
            let before = std::mem::replace(before, now);
            if now > before {
                increments.push((*event, now - before));
            }
        }
        let host_name = &self.session.server.host_name;
        let block = profile_events_block(increments.into_iter(), context.memory.peak_bytes(), host_name)?;
        let writer = BlockWriter { revision: self.revision, codec: None };
        writer.write_plain(from_server::PROFILE_EVENTS, &block, &mut self.out)
    }
}

/// Polls a future that may be dropped while it waits.
fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// How blocks are compressed for a client that wants them so.
fn codec(settings: &Settings, is_compressed: bool) -> Result<Option<Codec>> {
    if !is_compressed {
        return Ok(None);
    }
    Codec::of_settings(&settings.network_compression_method, settings.network_zstd_compression_level).map(Some)
}

/// Inserts data that stand in the statement.
async fn insert_inline(query: &mut Query, format: &str, data: &[u8]) -> Result<Outcome> {
    let Some(sink) = query.insert_sink() else { return Err(Error::logical("an INSERT without a sink")) };
    let mut reader = DataReader::new(sink, format)?;
    reader.feed(sink, data).await?;
    reader.finish(sink).await?;
    query.finish_insert().await?;
    Ok(Outcome::Finished)
}

/// A table's columns as clients read them, to compute defaults of what their input leaves out.
fn columns_description(columns: &[ColumnDescription]) -> Vec<u8> {
    let mut text = format!("columns format version: 1\n{} columns:\n", columns.len()).into_bytes();
    for column in columns {
        text.push(b'`');
        for byte in column.name.bytes() {
            if matches!(byte, b'`' | b'\\') {
                text.push(b'\\');
            }
            text.push(byte);
        }
        text.extend_from_slice(b"` ");
        append_escaped(&mut text, column.data_type.to_string().as_bytes());
        if let Some(default) = &column.default {
            let kind = match default.kind {
                DefaultKind::Default => "DEFAULT",
                DefaultKind::Materialized => "MATERIALIZED",
                DefaultKind::Alias => "ALIAS",
                DefaultKind::Ephemeral => "EPHEMERAL",
            };
            text.extend_from_slice(format!("\t{kind}\t").as_bytes());
            append_escaped(&mut text, default.expression.as_bytes());
        }
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use squall_planner::ColumnDefault;
    use squall_types::DataType;

    use super::*;

    #[test]
    fn columns_are_described() {
        let column = |name: &str, data_type, default| ColumnDescription {
            name: name.into(),
            data_type,
            default,
            comment: "".into(),
            codec: None,
            ttl: None,
        };
        let default = ColumnDefault { kind: DefaultKind::Default, expression: "'x\ty'".into() };
        let text = columns_description(&[
            column("a`b", DataType::UInt8, None),
            column("c", DataType::DateTime(Some("UTC".into())), Some(default)),
        ]);
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "columns format version: 1\n2 columns:\n`a\\`b` UInt8\n`c` DateTime(\\'UTC\\')\tDEFAULT\t\\'x\\ty\\'\n"
        );
    }
}
