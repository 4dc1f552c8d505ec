//! What a server's packets say: the numbers of progress and of a result's end, exceptions, the info before a block, and the whole packets
//! that a caller who follows a query one by one is shown.

use std::time::Duration;

use squall_formats::wire::{Cursor, Stop};
use squall_types::{Block, Error, ErrorCode};

/// The longest string in a packet: an exception with its stack trace.
pub const STRING_BYTES_MAX: u64 = 1 << 26;

/// From which revision on each thing is part of the protocol.
pub mod since {
    pub const CLIENT_WRITE_INFO: u64 = 54_420;
    pub const SETTINGS_AS_STRINGS: u64 = 54_429;
    pub const INTERSERVER_SECRET: u64 = 54_441;
    pub const OPENTELEMETRY: u64 = 54_442;
    pub const DISTRIBUTED_DEPTH: u64 = 54_448;
    pub const INITIAL_QUERY_START_TIME: u64 = 54_449;
    pub const PARALLEL_REPLICAS: u64 = 54_453;
    pub const ADDENDUM: u64 = 54_458;
    pub const PARAMETERS: u64 = 54_459;
    pub const SERVER_QUERY_TIME: u64 = 54_460;
}

/// Packets to the server.
pub mod to_server {
    pub const HELLO: u64 = 0;
    pub const QUERY: u64 = 1;
    pub const DATA: u64 = 2;
    pub const CANCEL: u64 = 3;
}

/// Packets from the server.
pub mod from_server {
    pub const HELLO: u64 = 0;
    pub const DATA: u64 = 1;
    pub const EXCEPTION: u64 = 2;
    pub const PROGRESS: u64 = 3;
    pub const PONG: u64 = 4;
    pub const END_OF_STREAM: u64 = 5;
    pub const PROFILE_INFO: u64 = 6;
    pub const TOTALS: u64 = 7;
    pub const EXTREMES: u64 = 8;
    pub const LOG: u64 = 10;
    pub const TABLE_COLUMNS: u64 = 11;
    pub const PROFILE_EVENTS: u64 = 14;
}

/// One packet of a query's answer.
#[derive(Debug)]
pub enum Packet {
    /// Rows of the result; the first block has none and tells the columns. Of an INSERT, the columns that the server wants.
    Data(Block),
    /// The row of `WITH TOTALS`.
    Totals(Block),
    /// The minima and maxima of all columns.
    Extremes(Block),
    /// What was done since the packet before.
    Progress(Progress),
    /// What the result was.
    ProfileInfo(ProfileInfo),
    /// Lines of the server's log.
    Log(Block),
    /// Counters of the query since the packet before.
    ProfileEvents(Block),
    /// A table's columns with their defaults, as ClickHouse describes them in text.
    TableColumns(String),
    /// The query failed; the connection can be used again.
    Exception(Error),
    /// The query has ended.
    EndOfStream,
    /// What concerns nobody: an answer to a ping.
    Other,
}

/// Numbers of progress, since the packet before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Rows read.
    pub read_rows: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Rows to read in all, as far as the server knows.
    pub total_rows: u64,
    /// Rows written.
    pub written_rows: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// The server's time on the query; zero where it does not tell.
    pub elapsed: Duration,
}

impl Progress {
    /// Adds what came after.
    pub fn add(&mut self, later: &Self) {
        self.read_rows += later.read_rows;
        self.read_bytes += later.read_bytes;
        self.total_rows += later.total_rows;
        self.written_rows += later.written_rows;
        self.written_bytes += later.written_bytes;
        self.elapsed += later.elapsed;
    }

    pub(crate) fn read(input: &mut Cursor<'_>, revision: u64) -> Result<Self, Stop> {
        let mut progress = Progress {
            read_rows: input.varint()?,
            read_bytes: input.varint()?,
            total_rows: input.varint()?,
            ..Progress::default()
        };
        if revision >= since::CLIENT_WRITE_INFO {
            progress.written_rows = input.varint()?;
            progress.written_bytes = input.varint()?;
        }
        if revision >= since::SERVER_QUERY_TIME {
            progress.elapsed = Duration::from_nanos(input.varint()?);
        }
        Ok(progress)
    }
}

/// What a result was, at its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProfileInfo {
    /// Rows of the result.
    pub rows: u64,
    /// Bytes of the result.
    pub bytes: u64,
    /// The rows that there would be without LIMIT, where one was applied.
    pub rows_before_limit: Option<u64>,
}

impl ProfileInfo {
    pub(crate) fn read(input: &mut Cursor<'_>) -> Result<Self, Stop> {
        let (rows, _blocks, bytes) = (input.varint()?, input.varint()?, input.varint()?);
        let (has_limit, before, _is_calculated) = (input.byte()? != 0, input.varint()?, input.byte()?);
        Ok(ProfileInfo { rows, bytes, rows_before_limit: has_limit.then_some(before) })
    }
}

/// Moves past a block's info, numbered fields up to number 0, or not at all.
pub fn skip_block_info(input: &mut Cursor<'_>) -> Result<(), Stop> {
    let start = input.position();
    let mut skip = || loop {
        match input.varint()? {
            0 => return Ok(()),
            1 => drop(input.take(1)?),
            2 => drop(input.take(4)?),
            other => {
                let message = format!("Unknown field {other} of a block's info from the server");
                return Err(Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, message)));
            }
        }
    };
    let outcome = skip();
    if outcome.is_err() {
        input.seek(start);
    }
    outcome
}

/// Reads an exception; those nested in it say no more than it does.
pub fn exception(input: &mut Cursor<'_>) -> Result<Error, Stop> {
    let (code, name, message) =
        (i32::from_le_bytes(input.array()?), input.text(STRING_BYTES_MAX)?, input.text(STRING_BYTES_MAX)?);
    // The stack trace.
    input.string(STRING_BYTES_MAX)?;
    let message = message.strip_prefix(&format!("{name}: ")).unwrap_or(&message).to_owned();
    if input.byte()? != 0 {
        exception(input)?;
    }
    Ok(Error::new(ErrorCode(code), message))
}

pub fn skip_strings(input: &mut Cursor<'_>, count: usize) -> Result<(), Stop> {
    (0..count).try_for_each(|_| input.string(STRING_BYTES_MAX).map(drop))
}
