//! What the shell talks to: a [`Session`] takes a statement and tells, event by event, what becomes of it. A connection to a server is one
//! ([`NativeSession`]); an engine in the process can be another. Nothing here draws, prints or asks the terminal.

mod log;
mod native;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use log::LogLine;
pub use native::NativeSession;
use squall_formats::Evaluate;
pub use squall_native::{ExternalTable, ProfileInfo, Progress};
use squall_types::{Block, Error, ErrorCode, Result, Value};

/// A statement to run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Query<'a> {
    /// The SQL: one statement, without inline data and without clauses that the client carries out (`INTO OUTFILE`, `FROM INFILE`).
    pub text: &'a str,
    /// Its id; empty lets the session choose.
    pub id: &'a str,
    /// Names and values of settings, for this statement alone.
    pub settings: &'a [(String, String)],
    /// The values of `{name:Type}`, as text.
    pub parameters: &'a [(String, String)],
    /// Tables that come with the statement.
    pub tables: &'a [ExternalTable],
}

/// What happens while a statement runs. [`Event::End`] and [`Event::Exception`] are the last.
#[derive(Debug)]
pub enum Event {
    /// Rows of the result. The first block has none and tells the columns; of an INSERT, those whose rows are wanted by
    /// [`Session::send`].
    Block(Block),
    /// The row of `WITH TOTALS`.
    Totals(Block),
    /// The minima and maxima of all columns.
    Extremes(Block),
    /// What was done since the last such event.
    Progress(Progress),
    /// What the statement uses.
    Usage(Usage),
    /// What the result was.
    Profile(ProfileInfo),
    /// A line of the server's log.
    Log(LogLine),
    /// Of an INSERT: the columns for which the table has a default expression. Rows that leave one out must be sent without it.
    Defaults(Vec<String>),
    /// The statement failed. The session can be used again.
    Exception(Error),
    /// The statement has ended.
    End,
}

/// What a statement uses of the machine; each number is that of now, not a difference.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of memory at the peak.
    pub memory_bytes: Option<u64>,
    /// The time of all processors that it took so far.
    pub cpu: Option<Duration>,
    /// Threads that work on it.
    pub threads: Option<u64>,
}

/// Who answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Peer {
    /// What the prompt shows: a host's name, or a word for this process.
    pub display_name: String,
    /// What it is, for the greeting: `ClickHouse 26.9.2 at localhost:9000`.
    pub description: String,
    /// The time zone of `DateTime` without a zone.
    pub time_zone: String,
}

/// Runs statements one after another. It keeps what they set: temporary tables, `USE`, `SET`.
///
/// ```text
/// start ── Block(columns) ── Block … ── Progress … ── End        a query
/// start ── Block(columns) ── send … ── end_data ── … ── End      an INSERT with data from the client
/// ```
pub trait Session {
    /// Who answers.
    fn peer(&self) -> &Peer;

    /// Begins a statement.
    ///
    /// # Errors
    /// Where it cannot be begun at all, as without a connection; what is wrong with the statement itself is an [`Event::Exception`].
    fn start(&mut self, query: &Query<'_>) -> Result<()>;

    /// The next event; `None` where there is none in this time, so that the caller can look whether its user wants something else.
    ///
    /// # Errors
    /// Where the statement cannot be followed any more, as when the connection breaks.
    fn next(&mut self, wait: Duration) -> Result<Option<Event>>;

    /// Gives rows to an INSERT. The block may leave out columns, which then have their defaults.
    ///
    /// # Errors
    /// Where they cannot be given; [`next`](Self::next) may know more.
    fn send(&mut self, block: &Block) -> Result<()>;

    /// Says that an INSERT's rows are at their end. Without it the INSERT does not end.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    fn end_data(&mut self) -> Result<()>;

    /// Asks the statement to end. Events still come, up to the last.
    ///
    /// # Errors
    /// Where the wish cannot be told.
    fn cancel(&mut self) -> Result<()>;

    /// What evaluates constant expressions in `VALUES`. Other than all else here it may be used while a statement runs.
    fn evaluator(&self) -> Evaluate;

    /// Says that unqualified names mean this database from now on, as a `USE` that succeeded did; for sessions that may have to begin anew.
    fn keep_database(&mut self, _database: &str) {}
}

/// The rows of a short query's result, as text, for the shell's own questions: names to complete, what `.tables` lists.
///
/// # Errors
/// As [`Session::start`] and [`Session::next`]; what is wrong with the query.
pub fn ask(session: &mut dyn Session, text: &str) -> Result<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    each_block(session, text, |block| {
        for row in 0..block.rows() {
            rows.push(block.columns().iter().map(|column| plain(&column.value(row))).collect());
        }
    })?;
    Ok(rows)
}

/// An evaluator of constant expressions in a session of its own, which is opened with the first of them.
pub fn evaluator_in<S: Session + Send + 'static>(open: impl Fn() -> Result<S> + Send + Sync + 'static) -> Evaluate {
    let session: Mutex<Option<S>> = Mutex::new(None);
    Arc::new(move |expression, data_type| {
        let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
        let session = match &mut *session {
            Some(session) => session,
            none => none.insert(open()?),
        };
        let mut value = None;
        each_block(session, &format!("SELECT CAST(({expression}) AS {data_type})"), |block| {
            if !block.is_empty() {
                value = block.columns().first().map(|column| column.value(0));
            }
        })?;
        value.ok_or_else(|| Error::new(ErrorCode::BAD_ARGUMENTS, format!("The expression {expression} has no value")))
    })
}

/// Runs a short query to its end and shows the blocks of its result to `take`.
fn each_block(session: &mut dyn Session, text: &str, mut take: impl FnMut(&Block)) -> Result<()> {
    session.start(&Query { text, ..Query::default() })?;
    loop {
        match session.next(Duration::from_secs(1))? {
            Some(Event::Block(block)) => take(&block),
            Some(Event::Exception(error)) => return Err(error),
            Some(Event::End) => return Ok(()),
            _ => {}
        }
    }
}

/// A string or a number as text.
fn plain(value: &Value) -> String {
    match value {
        Value::String(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::UInt64(number) => number.to_string(),
        Value::Int64(number) => number.to_string(),
        Value::Float64(number) => number.to_string(),
        Value::Bool(is) => is.to_string(),
        _ => String::new(),
    }
}
