//! One query's life, for both protocols: text in; parsed, checked, admitted, planned, started; then a stream of blocks, or a sink for
//! the data of an INSERT; at its end an entry in the query log.

mod change;
mod control;
mod counting;
mod definition;
mod extremes;
mod insertion;
mod plan;
mod result_pieces;
mod source;
mod start;
mod statement;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use squall_engine::{Helpers, OutsideLimit, QueryContext, QueryStream};
use squall_runtime::memory::attach;
use squall_sql::ast::Statement;
use squall_types::{Block, Error, ErrorCode, Result, Schema, Settings};

pub(crate) use change::lake::take_over;
pub(crate) use change::pending_mutation::{mutate_in_background, resume_mutations};
pub(crate) use change::refresh::refresh_in_background;
use counting::{count_end, count_failure, count_start};
pub use definition::describe::subcolumns_of;
pub use definition::dictionary::{
    ServerReader, load_configured as load_dictionaries_at_start, load_dictionaries, reload_due,
};
use extremes::Extremes;
pub use insertion::async_insert::{AsyncInsertQueue, AsyncInserts};
pub use insertion::data_reader::DataReader;
pub use insertion::input::InputPlace;
pub use insertion::insert_sink::InsertSink;
pub use plan::cache::{Parsed, StatementCache};
pub use plan::plan_template::PlanTemplates;
pub use result_pieces::ResultPieces;

use crate::access::{QuotaWatch, masked, masked_message};
use crate::logger::{OneLine, ReadableSize};
use crate::process::{ProcessHandle, ProcessInfo, QueryKind};
use crate::server::Server;
use crate::session::{Interface, Session};
use crate::system_log::{LoggedEvents, QueryLogEntry};

/// Values as text may be so many times longer than ClickHouse's count of their bytes: digits and commas.
const TEXT_OF_VALUES: usize = 2;

/// Less text is not asked about.
const ROOM_BYTES: usize = 4 << 20;

/// What a client wants run.
pub struct QueryRequest<'a> {
    /// The statement, perhaps with data of an INSERT after it.
    pub text: &'a [u8],
    /// The query's id; unique among those that run.
    pub query_id: Arc<str>,
    /// Settings for this query alone.
    pub settings: &'a [(String, String)],
}

/// A query that runs. Dropping it before its end cancels it. It is always in a box, as it goes through many hands.
pub struct Query {
    server: Arc<Server>,
    handle: ProcessHandle,
    parsed: Arc<Parsed>,
    body: Body,
    exception: Option<Error>,
    has_ended: bool,
    /// Whether the query is one of those that `log_queries_probability` picks.
    is_logged: bool,
    /// The session's time zone, for formats.
    time_zone: Arc<str>,
    /// Collected while the result goes by, where the setting `extremes` wants it.
    extremes: Option<Extremes>,
    /// The format that its result is laid out in or its data come in, where that is not the native protocol's own.
    used_format: &'static str,
    /// Counts what it takes of its user's quota.
    quota: Option<Arc<QuotaWatch>>,
}

/// What a query gives or takes.
#[expect(clippy::large_enum_variant, reason = "a query has one, moved a few times: less than a box costs")]
enum Body {
    /// A result that the engine computes.
    Stream(QueryStream),
    /// A result that is there already.
    Blocks { schema: Arc<Schema>, blocks: VecDeque<Block> },
    /// An INSERT that takes data; its text may hold some, from this offset on.
    Insert { sink: Option<InsertSink>, format: Arc<str>, inline_data: Option<usize> },
    /// Nothing: the statement is done.
    Done,
}

/// A statement's result before it is a [`Query`].
#[expect(clippy::large_enum_variant, reason = "as of `Body`")]
enum Answer {
    Stream(QueryStream),
    Blocks(Vec<Block>, Arc<Schema>),
    Insert { sink: InsertSink, format: Arc<str>, inline_data: Option<usize> },
    Done,
}

impl Query {
    /// What a query of a session runs in.
    fn context_of(session: &Session, query_id: &Arc<str>, limit: Option<&Arc<QuotaWatch>>) -> Arc<QueryContext> {
        let processes = &session.server.processes;
        let user_memory = processes.user_memory(&session.access.name, session.settings.max_memory_usage_for_user);
        let context = QueryContext::of_user(query_id.clone(), session.settings.clone(), Some(user_memory));
        if let Some(quota) = limit {
            context.set_outside_limit(quota.clone());
        }
        // Only the user's own profile gives weight: a session could set the setting itself.
        let weight = session.access.settings.weight;
        if weight > 0.0 {
            context.set_cpu_share(processes.cpu_share(&session.access.name, weight));
        }
        context
    }

    /// What the process list shows of it.
    fn info_of(session: &Session, parsed: &Parsed, started_at: SystemTime) -> ProcessInfo {
        ProcessInfo {
            query: parsed.text.clone(),
            normalized_query_hash: parsed.normalized_query_hash,
            kind: parsed.kind,
            user: session.access.name.clone(),
            authenticated_user: session.authenticated_user.clone(),
            client: session.client.clone(),
            database: session.database.clone(),
            started_at,
            is_internal: false,
        }
    }

    /// A statement that the server carries out on its own account: shown in the list of processes until it has ended, and logged then.
    ///
    /// # Errors
    /// `QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING`.
    pub(super) async fn internal(
        session: &Session,
        statement: Statement,
        context: &Arc<QueryContext>,
    ) -> Result<Box<Self>> {
        let parsed = plan::parsing::parsed_of(statement);
        let info = ProcessInfo { is_internal: true, ..Self::info_of(session, &parsed, SystemTime::now()) };
        let handle = session.server.processes.admit(info, context.clone(), false, true).await?;
        Ok(Self::begun(session, &parsed, handle, None))
    }

    /// A query that was let in. It gives and takes nothing yet.
    fn begun(
        session: &Session,
        parsed: &Arc<Parsed>,
        handle: ProcessHandle,
        quota: Option<Arc<QuotaWatch>>,
    ) -> Box<Self> {
        let server = session.server.clone();
        let context = &handle.process().context;
        count_start(context, parsed.kind);
        let is_logged = is_picked(&session.settings);
        if is_logged && server.system_logs.has_query_log() && LoggedEvents::wants_start(&session.settings) {
            handle.process().want_start_logged();
        }
        let client = &session.client;
        let is_default = *session.access.name == *"default";
        let (user_label, user) = if is_default { ("", "") } else { (", user: ", &*session.access.name) };
        tracing::debug!(target: "executeQuery", query_id = &*context.query_id, "(from {}{user_label}{user}) {} (stage: Complete)",
            client.address, OneLine(&parsed.text));
        Box::new(Self {
            time_zone: session.time_zone(),
            extremes: session.settings.extremes.then(Extremes::default),
            server,
            handle,
            parsed: parsed.clone(),
            body: Body::Done,
            exception: None,
            has_ended: false,
            is_logged,
            used_format: "",
            quota,
        })
    }

    /// The result's columns; none for statements without a result.
    pub fn schema(&self) -> Option<&Arc<Schema>> {
        match &self.body {
            Body::Stream(stream) => Some(stream.schema()),
            Body::Blocks { schema, .. } => Some(schema),
            Body::Insert { .. } | Body::Done => None,
        }
    }

    /// The next block of the result; `None` at its end.
    ///
    /// # Errors
    /// The query's; after it there is nothing more.
    pub async fn next_block(&mut self) -> Result<Option<Block>> {
        let next = match &mut self.body {
            Body::Stream(stream) => stream.next().await.transpose(),
            Body::Blocks { blocks, .. } => Ok(blocks.pop_front()),
            Body::Insert { .. } | Body::Done => Ok(None),
        };
        self.seen(next)
    }

    /// The next block if it need not be waited for; the outer `None` says that it must.
    ///
    /// # Errors
    /// As [`next_block`](Self::next_block).
    pub fn try_next_block(&mut self) -> Option<Result<Option<Block>>> {
        let next = match &mut self.body {
            Body::Stream(stream) => stream.try_next()?.transpose(),
            Body::Blocks { blocks, .. } => Ok(blocks.pop_front()),
            Body::Insert { .. } | Body::Done => Ok(None),
        };
        Some(self.seen(next))
    }

    /// What the client gets next: an error where its user's quota has nothing left for what the query has taken.
    fn seen(&mut self, next: Result<Option<Block>>) -> Result<Option<Block>> {
        let next = match self.quota.as_ref().filter(|_| takes_of_quota(self.parsed.kind)) {
            Some(quota) => next.and_then(|block| quota.check(self.context()).map(|()| block)),
            None => next,
        };
        let next = next.map_err(without_secrets);
        match &next {
            Ok(Some(block)) => {
                if let Some(extremes) = &mut self.extremes {
                    extremes.add(block);
                }
            }
            Ok(None) => {}
            Err(error) => self.fail(error),
        }
        next
    }

    /// Whether the query may have memory for the text of so many bytes of values. What is laid out is the connection's, not the query's.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub fn check_room(&self, value_bytes: usize) -> Result<()> {
        if is_small(value_bytes) {
            return Ok(());
        }
        let _memory = attach(self.context().memory.clone());
        check_room(value_bytes)
    }

    /// Lets go of a piece of the result: its memory was charged to the query, whoever frees it.
    pub fn give_back<T>(&self, piece: T) {
        let _memory = attach(self.context().memory.clone());
        drop(piece);
    }

    /// Keeps the query's workers for work with its result, until [`let_workers_go`](Self::let_workers_go). `None` where only one may work at a time:
    /// it has enough to do.
    pub fn keep_workers(&mut self) -> Option<Helpers> {
        match &mut self.body {
            Body::Stream(stream) if stream.workers_max() > 1 => stream.keep_workers(),
            _ => None,
        }
    }

    /// After the last block: no more work comes for workers that were kept. Waits until they are gone.
    ///
    /// # Errors
    /// The query's.
    pub async fn let_workers_go(&mut self) -> Result<()> {
        let result = match &mut self.body {
            Body::Stream(stream) => stream.finish().await.map_err(without_secrets),
            _ => Ok(()),
        };
        if let Err(error) = &result {
            self.fail(error);
        }
        result
    }

    /// The row of WITH TOTALS, once the result has ended.
    pub fn take_totals(&mut self) -> Option<Block> {
        match &mut self.body {
            Body::Stream(stream) => stream.take_totals(),
            _ => None,
        }
    }

    /// Minima and maxima of the result's columns, once it has ended and where they are wanted.
    ///
    /// # Errors
    /// Where a value cannot be put back into a column.
    pub fn take_extremes(&mut self) -> Result<Option<Block>> {
        match (self.extremes.take(), self.schema()) {
            (Some(extremes), Some(schema)) => extremes.block(schema.clone()),
            _ => Ok(None),
        }
    }

    /// The sink of an INSERT that takes data.
    pub fn insert_sink(&mut self) -> Option<&mut InsertSink> {
        match &mut self.body {
            Body::Insert { sink, .. } => sink.as_mut(),
            _ => None,
        }
    }

    /// The format of an INSERT's data, and where in the text they begin if any are there.
    pub fn insert_format(&self) -> Option<(&Arc<str>, Option<usize>)> {
        match &self.body {
            Body::Insert { format, inline_data, .. } => Some((format, *inline_data)),
            _ => None,
        }
    }

    /// All data of an INSERT were sent: waits until they are durable.
    ///
    /// # Errors
    /// The INSERT's; nothing of it remains then.
    pub async fn finish_insert(&mut self) -> Result<()> {
        let sink = match &mut self.body {
            Body::Insert { sink, .. } => sink.take(),
            _ => None,
        };
        let result = match sink {
            Some(sink) => sink.finish().await.map_err(without_secrets),
            None => Ok(()),
        };
        if let Err(error) = &result {
            self.fail(error);
        }
        result
    }

    /// Notes an error that ends the query from outside: the client's data were wrong, or it went away.
    pub fn fail(&mut self, error: &Error) {
        if self.exception.is_none() {
            self.exception = Some(error.clone());
        }
        self.end();
    }

    /// The query came to its end, and its result was taken: writes the log.
    pub fn finish(mut self: Box<Self>) {
        self.end();
    }

    /// `FORMAT` of the statement.
    pub fn format(&self) -> Option<&Arc<str>> {
        self.parsed.format.as_ref()
    }

    /// Says which format the query's result or data have, for the query log.
    pub fn set_used_format(&mut self, format: &'static str) {
        self.used_format = format;
    }

    /// Progress, memory, counters, cancellation.
    pub fn context(&self) -> &Arc<QueryContext> {
        &self.handle.process().context
    }

    /// The settings that the query runs under.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.context().settings
    }

    /// The time zone that formats use.
    pub fn time_zone(&self) -> &Arc<str> {
        &self.time_zone
    }

    /// What kind of statement it is.
    pub fn kind(&self) -> QueryKind {
        self.parsed.kind
    }

    /// What the server's log says of a query that went well.
    fn log_end(&self, elapsed: Duration) {
        use std::sync::atomic::Ordering::Relaxed;
        let process = self.handle.process();
        let context = &process.context;
        let (rows, bytes) = (context.progress.read_rows.load(Relaxed), context.progress.read_bytes.load(Relaxed));
        if rows > 0 || bytes > 0 {
            let seconds = elapsed.as_secs_f64();
            tracing::debug!(target: "executeQuery", query_id = &*context.query_id,
                "Read {rows} rows, {} in {seconds:.6} sec., {:.0} rows/sec., {}/sec.",
                ReadableSize(bytes as f64), rows as f64 / seconds, ReadableSize(bytes as f64 / seconds));
        }
        tracing::debug!(target: "MemoryTracker", query_id = &*context.query_id,
            "Query peak memory usage: {}.", ReadableSize(context.memory.peak_bytes().max(0) as f64));
        if process.info.client.interface == Interface::Http {
            tracing::debug!(target: "DynamicQueryHandler", query_id = &*context.query_id, "Done processing query");
        }
    }

    /// Writes the log, once.
    fn end(&mut self) {
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        let process = self.handle.process();
        let context = &process.context;
        let elapsed = context.started.elapsed();
        let counters = &context.counters;
        let kind = self.parsed.kind;
        count_end(context, kind, elapsed);
        match &self.exception {
            Some(error) => {
                count_failure(counters, kind, error);
                self.server.errors.add(error, &context.query_id);
                tracing::error!(target: "executeQuery", query_id = &*context.query_id, "{error} (from {}) (in query: {})",
                    process.info.client.address, process.info.query);
            }
            None => self.log_end(elapsed),
        }
        context.count_for_process();
        if let Some(quota) = &self.quota {
            quota.end(context, self.exception.is_some());
        }
        if self.is_logged {
            if context.settings.log_query_threads && elapsed >= context.settings.log_queries_min_query_duration_ms {
                self.server.system_logs.add_query_threads(process);
            }
            let start = process.take_unlogged_start();
            let end = LoggedEvents::wants_end(&context.settings, elapsed, self.exception.is_some());
            let events = match (start, end) {
                (true, true) => LoggedEvents::StartAndEnd,
                (true, false) => LoggedEvents::Start,
                (false, true) => LoggedEvents::End,
                (false, false) => return,
            };
            if !self.server.system_logs.takes_query() {
                return;
            }
            let mut entry =
                QueryLogEntry::of_process(process, events, self.exception.as_ref()).with_format(self.used_format);
            if context.settings.log_formatted_queries {
                entry = entry.with_formatted(masked(&squall_sql::format_one_line(&self.parsed.statement)).into_owned());
            }
            self.server.system_logs.add_query(entry);
        }
    }
}

impl Drop for Query {
    fn drop(&mut self) {
        if !self.has_ended {
            let error = Error::new(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled: its client went away");
            self.fail(&error);
        }
    }
}

fn is_small(value_bytes: usize) -> bool {
    value_bytes.saturating_mul(TEXT_OF_VALUES) < ROOM_BYTES
}

/// As [`Query::check_room`], for the query that this thread works for.
///
/// # Errors
/// `MEMORY_LIMIT_EXCEEDED`.
pub fn check_room(value_bytes: usize) -> Result<()> {
    match is_small(value_bytes) {
        true => Ok(()),
        false => squall_types::reserve(value_bytes.saturating_mul(TEXT_OF_VALUES)),
    }
}

/// An error that quotes no secrets of its statement.
fn without_secrets(mut error: Error) -> Error {
    error.message = masked_message(&error.message).into_owned();
    error
}

/// Whether a query is one that a quota may refuse: what changes nothing but the session costs nothing.
fn takes_of_quota(kind: QueryKind) -> bool {
    !matches!(kind, QueryKind::Set | QueryKind::Use | QueryKind::KillQuery)
}

/// Whether `log_queries` and `log_queries_probability` pick a query.
fn is_picked(settings: &Settings) -> bool {
    settings.log_queries
        && (settings.log_queries_probability >= 1.0 || rand::random::<f64>() < settings.log_queries_probability)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::plan::parsing::plain_kind;

    #[test]
    fn plain_statements_are_known_unparsed() {
        for (text, kind) in [
            ("SELECT 1", QueryKind::Select),
            (" \n select x from t", QueryKind::Select),
            ("INSERT INTO t VALUES (1)", QueryKind::Insert),
            ("WITH 1 AS x SELECT x", QueryKind::None),
            ("/* x */ SELECT 1", QueryKind::None),
            ("SELECT 1 Settings queue_max_wait_ms = 1000", QueryKind::None),
            ("SELECT * FROM system.processes", QueryKind::None),
            ("KILL QUERY WHERE 1", QueryKind::None),
            ("SELECTED", QueryKind::None),
        ] {
            assert_eq!(plain_kind(text.as_bytes()), kind, "{text}");
        }
    }
}
