//! The packets that are more than a number: how those of clients are read and those of the server written, by revision.

use std::sync::Arc;
use std::time::Duration;

use squall_formats::wire::{Cursor, Stop, put_string, put_varint};
use squall_types::{Error, ErrorCode};

use super::revision;
use super::settings::{read_parameters, read_settings};
use crate::session::{ClientInfo, HttpMethod, Interface};
use crate::version::{VERSION_MAJOR, VERSION_MINOR, VERSION_PATCH};

/// Packets of clients.
#[allow(missing_docs)]
pub mod from_client {
    pub const HELLO: u64 = 0;
    pub const QUERY: u64 = 1;
    pub const DATA: u64 = 2;
    pub const CANCEL: u64 = 3;
    pub const PING: u64 = 4;
    pub const TABLES_STATUS_REQUEST: u64 = 5;
    pub const SCALAR: u64 = 7;
}

/// Packets of the server.
#[allow(missing_docs)]
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
    pub const TABLES_STATUS_RESPONSE: u64 = 9;
    pub const LOG: u64 = 10;
    pub const TABLE_COLUMNS: u64 = 11;
    pub const PROFILE_EVENTS: u64 = 14;
    pub const TIMEZONE_UPDATE: u64 = 17;
}

/// Strings before the client has said who it is, and all names after that.
const NAME_BYTES_MAX: u64 = 1 << 16;
/// The text of a query, perhaps with data of an INSERT after it.
const QUERY_BYTES_MAX: u64 = 1 << 28;
/// The server's version of the protocol of parallel replicas, which it takes no part in.
const PARALLEL_REPLICAS_VERSION: u64 = 0;
/// Names under which other servers, and holders of keys, come in.
const SPECIAL_USERS: [&str; 3] = [" INTERSERVER SECRET ", " SSH KEY AUTHENTICATION ", " JWT AUTHENTICATION "];

/// A client's first packet.
#[derive(Debug)]
pub struct Hello {
    /// What the client calls itself.
    pub client_name: String,
    /// Its version.
    pub version: (u64, u64),
    /// The newest revision that it speaks.
    pub revision: u64,
    /// The database that it wants to be in; empty is the user's default.
    pub database: String,
    /// The user.
    pub user: String,
    /// The password.
    pub password: Vec<u8>,
}

impl Hello {
    /// Reads it, after its number.
    ///
    /// # Errors
    /// `Incomplete`; `TOO_LARGE_STRING_SIZE`, `NOT_IMPLEMENTED` for very old clients, `AUTHENTICATION_FAILED` for ways to come in
    /// that are not here.
    pub fn read(input: &mut Cursor<'_>) -> Result<Self, Stop> {
        let hello = Self {
            client_name: input.text(NAME_BYTES_MAX)?,
            version: (input.varint()?, input.varint()?),
            revision: input.varint()?,
            database: input.text(NAME_BYTES_MAX)?,
            user: input.text(NAME_BYTES_MAX)?,
            password: input.string(NAME_BYTES_MAX)?.to_vec(),
        };
        if hello.revision < revision::CLIENT_INFO {
            let message = format!("Clients of revision {} are too old for this server", hello.revision);
            return Err(Stop::Bad(Error::new(ErrorCode::NOT_IMPLEMENTED, message)));
        }
        if SPECIAL_USERS.contains(&hello.user.as_str()) {
            let message = format!("This server knows no {} of the native protocol", hello.user.trim().to_lowercase());
            return Err(Stop::Bad(Error::new(ErrorCode::AUTHENTICATION_FAILED, message)));
        }
        Ok(hello)
    }
}

/// Writes the answer to [`Hello`], for a client of a revision.
pub fn write_hello(client_revision: u64, time_zone: &str, display_name: &str, nonce: u64, out: &mut Vec<u8>) {
    put_varint(out, from_server::HELLO);
    put_string(out, "ClickHouse");
    put_varint(out, VERSION_MAJOR);
    put_varint(out, VERSION_MINOR);
    put_varint(out, revision::REVISION);
    let has = |since: u64| client_revision >= since;
    if has(revision::VERSIONED_PARALLEL_REPLICAS) {
        put_varint(out, PARALLEL_REPLICAS_VERSION);
    }
    if has(revision::SERVER_TIMEZONE) {
        put_string(out, time_zone);
    }
    if has(revision::SERVER_DISPLAY_NAME) {
        put_string(out, display_name);
    }
    if has(revision::VERSION_PATCH) {
        put_varint(out, VERSION_PATCH);
    }
    if has(revision::CHUNKED_PACKETS) {
        // Packets are not cut into chunks, in either direction.
        put_string(out, "notchunked");
        put_string(out, "notchunked");
    }
    if has(revision::PASSWORD_COMPLEXITY_RULES) {
        put_varint(out, 0);
    }
    if has(revision::INTERSERVER_SECRET_V2) {
        out.extend_from_slice(&nonce.to_le_bytes());
    }
    if has(revision::SERVER_SETTINGS) {
        put_string(out, "");
    }
    if has(revision::QUERY_PLAN_SERIALIZATION) {
        put_varint(out, 0);
    }
    if has(revision::CLUSTER_FUNCTIONS) {
        put_varint(out, 0);
    }
}

/// Reads what newer clients say after the server's hello: their quota key.
///
/// # Errors
/// `Incomplete`; `NETWORK_ERROR` where a client insists on chunks.
pub fn read_addendum(input: &mut Cursor<'_>, client_revision: u64) -> Result<String, Stop> {
    let quota_key = input.text(NAME_BYTES_MAX)?;
    if client_revision >= revision::CHUNKED_PACKETS {
        for _ in 0..2 {
            let wanted = input.text(NAME_BYTES_MAX)?;
            if wanted.starts_with("chunked") {
                let message = "Incompatible protocol: the server's packets are not chunked, the client's must not be";
                return Err(Stop::Bad(Error::new(ErrorCode::NETWORK_ERROR, message)));
            }
        }
    }
    if client_revision >= revision::VERSIONED_PARALLEL_REPLICAS {
        input.varint()?;
    }
    Ok(quota_key)
}

/// How far a query is to be processed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Only the names and types of the result.
    FetchColumns,
    /// To the end.
    Complete,
}

/// A query.
#[derive(Debug)]
pub struct QueryPacket {
    /// The id; empty lets the server choose.
    pub query_id: String,
    /// What the client says of itself, where it does.
    pub client: Option<ClientInfo>,
    /// Settings of this query.
    pub settings: Vec<(String, String)>,
    /// How far to go.
    pub stage: Result<Stage, u64>,
    /// Whether blocks are compressed, both ways.
    pub is_compressed: bool,
    /// The statement.
    pub text: Vec<u8>,
    /// Values of `{name:Type}`.
    pub parameters: Vec<(String, String)>,
}

impl QueryPacket {
    /// Reads it, after its number. `client` is what is known of the client already.
    ///
    /// # Errors
    /// `Incomplete`; limits on sizes, unknown settings.
    pub fn read(input: &mut Cursor<'_>, client_revision: u64, client: &ClientInfo) -> Result<Self, Stop> {
        let query_id = input.text(NAME_BYTES_MAX)?;
        let client = read_client_info(input, client_revision, client)?;
        let settings = read_settings(input, client_revision)?;
        if client_revision >= revision::INTERSERVER_ROLES {
            input.string(NAME_BYTES_MAX)?;
        }
        if client_revision >= revision::INTERSERVER_SECRET {
            input.string(NAME_BYTES_MAX)?;
        }
        let stage = match input.varint()? {
            0 => Ok(Stage::FetchColumns),
            2 => Ok(Stage::Complete),
            other => Err(other),
        };
        let is_compressed = input.varint()? != 0;
        let text = input.string(QUERY_BYTES_MAX)?;
        let parameters = if client_revision >= revision::PARAMETERS { read_parameters(input)? } else { Vec::new() };
        Ok(Self { query_id, client, settings, stage, is_compressed, text: text.to_vec(), parameters })
    }
}

/// The kind of a query that another server has passed on.
const SECONDARY_QUERY: u8 = 2;

/// Reads what the client says of itself and of who asked it; `None` where it says nothing.
fn read_client_info(
    input: &mut Cursor<'_>,
    client_revision: u64,
    known: &ClientInfo,
) -> Result<Option<ClientInfo>, Stop> {
    let has = |since: u64| client_revision >= since;
    let query_kind = input.byte()?;
    if query_kind == 0 {
        return Ok(None);
    }
    let mut client = known.clone();
    let name = |input: &mut Cursor<'_>| -> Result<Arc<str>, Stop> { Ok(input.text(NAME_BYTES_MAX)?.into()) };
    client.initial_user = name(input)?;
    client.initial_query_id = name(input)?;
    let initial_address = name(input)?;
    // A query that another server has passed on; from a client that begins it this says nothing that is not known better here.
    if query_kind == SECONDARY_QUERY {
        client.is_initial = false;
        client.initial_address = initial_address.parse().unwrap_or(client.address);
    }
    if has(revision::INITIAL_QUERY_START_TIME) {
        input.take(8)?;
    }
    let interface = input.byte()?;
    match interface {
        1 => {
            client.os_user = name(input)?;
            client.client_hostname = name(input)?;
            client.client_name = name(input)?;
            client.client_version = (input.varint()?, input.varint()?, 0);
            client.client_revision = input.varint()?;
        }
        2 => {
            client.interface = Interface::Http;
            client.http_method = match input.byte()? {
                1 => HttpMethod::Get,
                2 => HttpMethod::Post,
                _ => HttpMethod::Unknown,
            };
            client.http_user_agent = name(input)?;
            if has(revision::X_FORWARDED_FOR) {
                client.forwarded_for = name(input)?;
            }
            if has(revision::REFERER) {
                client.http_referer = name(input)?;
            }
        }
        _ => {}
    }
    if has(revision::QUOTA_KEY_IN_CLIENT_INFO) {
        let quota_key = name(input)?;
        if !quota_key.is_empty() {
            client.quota_key = quota_key;
        }
    }
    if has(revision::DISTRIBUTED_DEPTH) {
        input.varint()?;
    }
    if interface == 1 && has(revision::VERSION_PATCH) {
        client.client_version.2 = input.varint()?;
    }
    if has(revision::OPENTELEMETRY) && input.byte()? != 0 {
        // The trace, the span, the state, the flags.
        input.take(16 + 8)?;
        input.string(NAME_BYTES_MAX)?;
        input.byte()?;
    }
    if has(revision::PARALLEL_REPLICAS) {
        (0..3).try_for_each(|_| input.varint().map(drop))?;
    }
    if has(revision::QUERY_AND_LINE_NUMBERS) {
        (0..2).try_for_each(|_| input.varint().map(drop))?;
    }
    if has(revision::JWT_IN_INTERSERVER) && input.byte()? != 0 {
        input.string(NAME_BYTES_MAX)?;
    }
    Ok(Some(client))
}

/// Reads which tables' status is asked for, after the packet's number.
///
/// # Errors
/// `Incomplete`; limits on sizes.
pub fn read_tables_status_request(input: &mut Cursor<'_>) -> Result<Vec<(String, String)>, Stop> {
    const TABLES_MAX: u64 = 1 << 16;
    let count = input.varint()?;
    if count > TABLES_MAX {
        let message = format!("The status of {count} tables at once");
        return Err(Stop::Bad(Error::new(ErrorCode::LIMIT_EXCEEDED, message)));
    }
    (0..count).map(|_| Ok((input.text(NAME_BYTES_MAX)?, input.text(NAME_BYTES_MAX)?))).collect()
}

/// Writes which of the tables asked for are there. None is replicated.
pub fn write_tables_status(tables: &[(String, String)], out: &mut Vec<u8>) {
    put_varint(out, from_server::TABLES_STATUS_RESPONSE);
    put_varint(out, tables.len() as u64);
    for (database, table) in tables {
        put_string(out, database);
        put_string(out, table);
        out.push(0);
    }
}

/// Writes an error.
pub fn write_exception(error: &Error, out: &mut Vec<u8>) {
    put_varint(out, from_server::EXCEPTION);
    out.extend_from_slice(&error.code.0.to_le_bytes());
    put_string(out, "DB::Exception");
    put_string(out, format!("DB::Exception: {}", error.message));
    // No stack trace, and no error inside this one.
    put_string(out, "");
    out.push(0);
}

/// Numbers of progress, always those since the last packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Rows read.
    pub read_rows: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Rows there are to read, as far as known.
    pub total_rows: u64,
    /// Rows written.
    pub written_rows: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Time.
    pub elapsed: Duration,
}

impl Progress {
    /// What came since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            read_rows: self.read_rows.saturating_sub(before.read_rows),
            read_bytes: self.read_bytes.saturating_sub(before.read_bytes),
            total_rows: self.total_rows.saturating_sub(before.total_rows),
            written_rows: self.written_rows.saturating_sub(before.written_rows),
            written_bytes: self.written_bytes.saturating_sub(before.written_bytes),
            elapsed: self.elapsed.saturating_sub(before.elapsed),
        }
    }

    /// Writes the packet.
    pub fn write(self, client_revision: u64, out: &mut Vec<u8>) {
        put_varint(out, from_server::PROGRESS);
        put_varint(out, self.read_rows);
        put_varint(out, self.read_bytes);
        put_varint(out, self.total_rows);
        if client_revision >= revision::TOTAL_BYTES_IN_PROGRESS {
            put_varint(out, 0);
        }
        if client_revision >= revision::CLIENT_WRITE_INFO {
            put_varint(out, self.written_rows);
            put_varint(out, self.written_bytes);
        }
        if client_revision >= revision::SERVER_QUERY_TIME {
            put_varint(out, self.elapsed.as_nanos() as u64);
        }
    }
}

/// What a result was, at its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProfileInfo {
    /// Rows of the result.
    pub rows: u64,
    /// Blocks of the result.
    pub blocks: u64,
    /// Bytes of the result.
    pub bytes: u64,
    /// The rows that a LIMIT chose from, where there is one.
    pub rows_before_limit: Option<u64>,
}

impl ProfileInfo {
    /// Writes the packet.
    pub fn write(self, client_revision: u64, out: &mut Vec<u8>) {
        put_varint(out, from_server::PROFILE_INFO);
        put_varint(out, self.rows);
        put_varint(out, self.blocks);
        put_varint(out, self.bytes);
        out.push(u8::from(self.rows_before_limit.is_some()));
        put_varint(out, self.rows_before_limit.unwrap_or(0));
        // The number was calculated, as ClickHouse says of every query: clients would go and look for it themselves otherwise.
        out.push(1);
        if client_revision >= revision::ROWS_BEFORE_AGGREGATION {
            out.push(0);
            put_varint(out, 0);
        }
    }
}
