//! One connection: the greeting, queries and inserts, and the packets that answer them.

use std::sync::Arc;
use std::time::Duration;

use squall_formats::native::{BlockReader, write_block};
use squall_formats::wire::{Cursor, Stop, put_string, put_varint};
use squall_types::text::append_quoted;
use squall_types::{Block, Error, ErrorCode, Result, Schema, Value};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::compression::{compress, decompress_frame};
use crate::failure::{Failure, FailureKind};
use crate::packet::{
    Packet, ProfileInfo, Progress, STRING_BYTES_MAX, exception, from_server, since, skip_block_info, skip_strings,
    to_server,
};
use crate::transport::{Tls, Transport};

/// The newest revision of the protocol that this client speaks: the one that brought `elapsed` to progress packets.
const REVISION: u64 = 54_460;
/// The oldest one of a server that it talks to; older ones say no patch version.
const REVISION_MIN: u64 = 54_401;
/// Received bytes kept for one packet.
const PACKET_BYTES_MAX: usize = 1 << 31;
/// Room for what one read brings at first; thousands of idle connections keep no more.
const READ_BYTES: usize = 1 << 12;
/// Where and as whom to connect.
#[derive(Debug, Clone)]
pub struct Options {
    /// A name or address.
    pub host: String,
    /// The port of the native protocol.
    pub port: u16,
    /// The database that unqualified names mean.
    pub database: String,
    /// The user.
    pub user: String,
    /// The password in plain text.
    pub password: String,
    /// Speak no newer revision than this.
    pub revision_max: u64,
    /// How long to wait for a connection and its greeting.
    pub connect_timeout: Duration,
    /// Whether blocks are compressed, both ways.
    pub compression: bool,
    /// Under TLS, if at all.
    pub tls: Option<Tls>,
    /// Whose share of a quota by client keys is used; empty says none.
    pub quota_key: String,
    /// What the client calls itself, after `ClickHouse `.
    pub client_name: &'static str,
}

impl Options {
    /// The default user on a local port.
    pub fn local(port: u16) -> Self {
        Options {
            host: "127.0.0.1".to_owned(),
            port,
            database: "default".to_owned(),
            user: "default".to_owned(),
            password: String::new(),
            revision_max: REVISION,
            connect_timeout: Duration::from_secs(10),
            compression: true,
            tls: None,
            quota_key: String::new(),
            client_name: "storm",
        }
    }
}

/// Up to which stage the server processes a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stage {
    /// Read the columns, do nothing with them.
    FetchColumns = 0,
    /// Up to states that another server could merge.
    WithMergeableState = 1,
    /// To the end.
    #[default]
    Complete = 2,
    /// Up to what is left after groups were merged.
    WithMergeableStateAfterAggregation = 3,
    /// The same, with LIMIT.
    WithMergeableStateAfterAggregationAndLimit = 4,
}

/// A query to send.
#[derive(Debug, Clone, Copy, Default)]
pub struct Query<'a> {
    /// The SQL.
    pub text: &'a str,
    /// The query's id; empty lets the server choose.
    pub id: &'a str,
    /// How far to process it.
    pub stage: Stage,
    /// Names and values as text.
    pub settings: &'a [(String, String)],
    /// The values of `{name:Type}`, as text.
    pub parameters: &'a [(String, String)],
    /// Tables that come with the query.
    pub tables: &'a [ExternalTable],
}

/// A table that comes with a query and lives as long.
#[derive(Debug, Clone)]
pub struct ExternalTable {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub blocks: Vec<Block>,
}

/// What a query's packets said by its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Rows and bytes read, from the progress packets.
    pub read_rows: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Rows of the result, from the profile packet.
    pub result_rows: u64,
    /// Bytes of the result.
    pub result_bytes: u64,
}

impl Summary {
    /// Adds another query's.
    pub fn add(&mut self, other: &Self) {
        self.read_rows += other.read_rows;
        self.read_bytes += other.read_bytes;
        self.result_rows += other.result_rows;
        self.result_bytes += other.result_bytes;
    }
}

/// An open connection to a server.
#[derive(Debug)]
pub struct Connection {
    stream: Transport,
    /// Received bytes; those before `start` are done with.
    received: Vec<u8>,
    start: usize,
    /// Decompressed bytes of blocks; those before `plain_start` are done with.
    plain: Vec<u8>,
    plain_start: usize,
    revision: u64,
    compression: bool,
    quota_key: String,
    client_name: String,
    /// The packet with an empty block that follows a query.
    end_of_data: Vec<u8>,
    server_name: String,
    server_version: String,
    time_zone: String,
    display_name: String,
}

impl Connection {
    /// Connects and greets.
    ///
    /// # Errors
    /// `NETWORK_ERROR` and `SOCKET_TIMEOUT` where there is no server; the server's own exception where it refuses the user.
    pub async fn connect(options: &Options) -> Result<Self> {
        let attempt = tokio::time::timeout(options.connect_timeout, async {
            let unreachable =
                |error: std::io::Error| network(error).context(format_args!("{}:{}", options.host, options.port));
            let addresses = tokio::net::lookup_host((options.host.as_str(), options.port)).await;
            let mut outcome = Err(Error::new(ErrorCode::DNS_ERROR, format!("{} has no address", options.host)));
            for address in addresses.map_err(unreachable)? {
                outcome = Self::connect_to(address, options).await.map_err(Error::from);
                if outcome.as_ref().err().is_none_or(|error| error.code != ErrorCode::NETWORK_ERROR) {
                    break;
                }
            }
            outcome
        });
        attempt.await.unwrap_or_else(|_| {
            let message = format!("No answer from {}:{} in {:?}", options.host, options.port, options.connect_timeout);
            Err(Error::new(ErrorCode::SOCKET_TIMEOUT, message))
        })
    }

    /// Connects to this address of the server, however long it takes, and greets.
    ///
    /// # Errors
    /// [`FailureKind::Connect`], also where the server refuses the user.
    pub async fn connect_to(address: std::net::SocketAddr, options: &Options) -> Result<Self, Failure> {
        Self::greet(address, options).await.map_err(|failure| Failure { kind: FailureKind::Connect, ..failure })
    }

    async fn greet(address: std::net::SocketAddr, options: &Options) -> Result<Self, Failure> {
        let stream = Transport::connect(address, options.tls.as_ref()).await.map_err(|error| {
            Failure::new(
                FailureKind::Connect,
                network(error).context(format_args!("{}:{}", options.host, options.port)),
            )
        })?;
        let mut connection = Connection {
            stream,
            received: Vec::with_capacity(READ_BYTES),
            start: 0,
            plain: Vec::new(),
            plain_start: 0,
            revision: options.revision_max.min(REVISION),
            compression: options.compression,
            quota_key: options.quota_key.clone(),
            client_name: format!("ClickHouse {}", options.client_name),
            end_of_data: Vec::new(),
            server_name: String::new(),
            server_version: String::new(),
            time_zone: String::new(),
            display_name: String::new(),
        };
        let mut hello = Vec::new();
        put_varint(&mut hello, to_server::HELLO);
        put_string(&mut hello, &connection.client_name);
        put_varint(&mut hello, version(env!("CARGO_PKG_VERSION_MAJOR")));
        put_varint(&mut hello, version(env!("CARGO_PKG_VERSION_MINOR")));
        put_varint(&mut hello, connection.revision);
        put_string(&mut hello, &options.database);
        put_string(&mut hello, &options.user);
        put_string(&mut hello, &options.password);
        connection.send(&hello).await?;
        match connection.parse(|input, _| input.varint()).await? {
            from_server::HELLO => {}
            from_server::EXCEPTION => {
                return Err(Failure::exception(connection.parse(|input, _| exception(input)).await?));
            }
            other => return Err(unexpected(other)),
        }
        let (name, version, revision, time_zone, display_name) = connection
            .parse(|input, revision| {
                let (name, major, minor) = (input.text(STRING_BYTES_MAX)?, input.varint()?, input.varint()?);
                let revision = revision.min(input.varint()?);
                let (time_zone, display_name) = (input.text(STRING_BYTES_MAX)?, input.text(STRING_BYTES_MAX)?);
                let patch = input.varint()?;
                Ok((name, format!("{major}.{minor}.{patch}"), revision, time_zone, display_name))
            })
            .await?;
        if revision < REVISION_MIN {
            let message = format!("The server speaks revision {revision} of the protocol, older than {REVISION_MIN}");
            return Err(Failure::protocol(Error::new(ErrorCode::NOT_IMPLEMENTED, message)));
        }
        connection.revision = revision;
        connection.end_of_data = encode("", &no_rows(), revision, connection.compression).map_err(Failure::protocol)?;
        connection.time_zone = time_zone;
        connection.display_name = display_name;
        connection.server_name = name;
        connection.server_version = version;
        if revision >= since::ADDENDUM {
            let mut addendum = Vec::new();
            put_string(&mut addendum, &connection.quota_key);
            connection.send(&addendum).await?;
        }
        Ok(connection)
    }

    /// What the server calls itself.
    pub fn server_name(&self) -> &str {
        &self.server_name
    }

    /// The server's version: major, minor and patch.
    pub fn server_version(&self) -> &str {
        &self.server_version
    }

    /// The server's time zone, in which `DateTime` without a zone is shown.
    pub fn time_zone(&self) -> &str {
        &self.time_zone
    }

    /// The name that the server wants to be shown by.
    pub fn display_name(&self) -> &str {
        &self.display_name
    }

    /// Runs a query to its end; its result is counted, not kept.
    ///
    /// # Errors
    /// The server's exception; then the connection can be used again. Anything else; then it cannot.
    pub async fn execute(&mut self, query: &Query<'_>) -> Result<Summary, Failure> {
        self.read(query, |_| Ok(())).await
    }

    /// Runs a query to its end and shows the blocks of its result.
    ///
    /// # Errors
    /// As [`Connection::execute`], and what `each` says.
    pub async fn read(
        &mut self,
        query: &Query<'_>,
        each: impl FnMut(&Block) -> Result<()>,
    ) -> Result<Summary, Failure> {
        self.send_query(query).await?;
        self.follow(each).await
    }

    /// Whether the server has closed the connection since the last query.
    pub fn is_stale(&self) -> bool {
        self.stream.is_stale()
    }

    /// Runs a query to its end and returns the first value of its result, if that has rows.
    ///
    /// # Errors
    /// As [`Connection::execute`].
    pub async fn ask(&mut self, text: &str) -> Result<Option<Value>> {
        let mut answer = None;
        let query = Query { text, ..Query::default() };
        self.read(&query, |block| {
            if let (Some(column), false) = (block.columns().first(), block.is_empty()) {
                answer.get_or_insert_with(|| column.value(0));
            }
            Ok(())
        })
        .await?;
        Ok(answer)
    }

    /// Begins an `INSERT INTO … VALUES`-less insert (`INSERT INTO t FORMAT Native`): the server then waits for blocks.
    ///
    /// # Errors
    /// As [`Connection::execute`].
    pub async fn begin_insert(&mut self, query: &Query<'_>) -> Result<()> {
        self.send_query(query).await?;
        // The server describes the columns by an empty block.
        loop {
            match self.next_packet().await? {
                Packet::Data(_) => return Ok(()),
                Packet::Exception(error) => return Err(error),
                Packet::EndOfStream => {
                    return Err(Error::new(
                        ErrorCode::INCORRECT_QUERY,
                        "The server did not ask for the data of an INSERT",
                    ));
                }
                _ => {}
            }
        }
    }

    /// A block as [`Connection::send_encoded`] takes it, compressed: it can be made on any thread, and sent to any server with which this
    /// `revision` was agreed on.
    ///
    /// # Errors
    /// As [`write_block`].
    pub fn encode(block: &Block, revision: u64) -> Result<Vec<u8>> {
        encode("", block, revision, true)
    }

    /// Sends a block of an INSERT.
    ///
    /// # Errors
    /// As [`write_block`], and `NETWORK_ERROR`.
    pub async fn send_block(&mut self, block: &Block) -> Result<()> {
        let packet = encode("", block, self.revision, self.compression)?;
        Ok(self.send(&packet).await?)
    }

    /// Says that an INSERT's data are at their end.
    ///
    /// # Errors
    /// `NETWORK_ERROR`.
    pub async fn end_data(&mut self) -> Result<()> {
        let end = self.end_of_data.clone();
        Ok(self.send(&end).await?)
    }

    /// Asks the server to end the query. The packets that are on their way still come, and then the end of the stream.
    ///
    /// # Errors
    /// `NETWORK_ERROR`.
    pub async fn cancel(&mut self) -> Result<()> {
        Ok(self.send(&[to_server::CANCEL as u8]).await?)
    }

    /// The revision agreed on.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Sends a block that [`Connection::encode`] made.
    ///
    /// # Errors
    /// The exception with which the server ended the insert; `NETWORK_ERROR`.
    pub async fn send_encoded(&mut self, packet: &[u8]) -> Result<()> {
        if let Err(failure) = self.send(packet).await {
            // A server that refuses the data says why before it hangs up.
            return Err(match self.follow(|_| Ok(())).await {
                Err(reason) if matches!(reason.kind, FailureKind::Exception(_)) => reason.error,
                _ => failure.error,
            });
        }
        Ok(())
    }

    /// Ends an insert and waits until the server has acknowledged it.
    ///
    /// # Errors
    /// As [`Connection::execute`].
    pub async fn finish_insert(&mut self) -> Result<Summary> {
        let end = self.end_of_data.clone();
        self.send_encoded(&end).await?;
        Ok(self.follow(|_| Ok(())).await?)
    }

    /// Sends a query and the tables that come with it; [`next_packet`](Self::next_packet) then shows the answer.
    ///
    /// # Errors
    /// Where the connection breaks or a table cannot be sent; the connection is of no use then.
    pub async fn send_query(&mut self, query: &Query<'_>) -> Result<(), Failure> {
        let revision = self.revision;
        let mut out = Vec::with_capacity(query.text.len() + 256);
        put_varint(&mut out, to_server::QUERY);
        put_string(&mut out, query.id);
        self.client_info(&mut out);
        for (name, value) in query.settings {
            put_string(&mut out, name);
            if revision >= since::SETTINGS_AS_STRINGS {
                out.push(0);
                put_string(&mut out, value);
            } else {
                // Old servers know each setting's binary form: numbers are numbers, the rest is text.
                match value.parse() {
                    Ok(number) => put_varint(&mut out, number),
                    Err(_) => put_string(&mut out, value),
                }
            }
        }
        put_string(&mut out, "");
        if revision >= since::INTERSERVER_SECRET {
            put_string(&mut out, "");
        }
        put_varint(&mut out, query.stage as u64);
        put_varint(&mut out, u64::from(self.compression));
        put_string(&mut out, query.text);
        if revision >= since::PARAMETERS {
            /// The value is a literal.
            const CUSTOM: u8 = 2;
            for (name, value) in query.parameters {
                put_string(&mut out, name);
                out.push(CUSTOM);
                let mut literal = Vec::new();
                append_quoted(&mut literal, value.as_bytes());
                put_string(&mut out, literal);
            }
            put_string(&mut out, "");
        } else if !query.parameters.is_empty() {
            let message = "The server is too old for query parameters";
            return Err(Failure::protocol(Error::new(ErrorCode::NOT_IMPLEMENTED, message)));
        }
        for table in query.tables {
            for block in &table.blocks {
                let packet = encode(&table.name, block, revision, self.compression).map_err(Failure::protocol)?;
                out.extend_from_slice(&packet);
            }
        }
        out.extend_from_slice(&self.end_of_data);
        self.send(&out).await
    }

    /// Reads packets until the query has ended.
    async fn follow(&mut self, mut each: impl FnMut(&Block) -> Result<()>) -> Result<Summary, Failure> {
        let mut summary = Summary::default();
        loop {
            match self.next_packet().await? {
                Packet::Data(block) => each(&block).map_err(Failure::protocol)?,
                Packet::EndOfStream => return Ok(summary),
                Packet::Exception(error) => return Err(Failure::exception(error)),
                Packet::Progress(progress) => {
                    summary.read_rows += progress.read_rows;
                    summary.read_bytes += progress.read_bytes;
                }
                Packet::ProfileInfo(info) => {
                    (summary.result_rows, summary.result_bytes) = (info.rows, info.bytes);
                }
                _ => {}
            }
        }
    }

    /// Waits until a part of the next packet is there. Dropping the future loses nothing, other than that of
    /// [`next_packet`](Self::next_packet).
    ///
    /// # Errors
    /// Where the connection breaks.
    pub async fn wait_for_packet(&mut self) -> Result<(), Failure> {
        if self.start < self.received.len() { Ok(()) } else { self.receive().await }
    }

    /// Reads the next packet of a query's answer.
    ///
    /// # Errors
    /// Where the connection breaks or what comes is not of the protocol; the connection is of no use then.
    pub async fn next_packet(&mut self) -> Result<Packet, Failure> {
        Ok(match self.parse(|input, _| input.varint()).await? {
            from_server::DATA => Packet::Data(self.receive_block(self.compression).await?),
            from_server::TOTALS => Packet::Totals(self.receive_block(self.compression).await?),
            from_server::EXTREMES => Packet::Extremes(self.receive_block(self.compression).await?),
            from_server::EXCEPTION => Packet::Exception(self.parse(|input, _| exception(input)).await?),
            from_server::PROGRESS => Packet::Progress(self.parse(Progress::read).await?),
            from_server::PROFILE_INFO => Packet::ProfileInfo(self.parse(|input, _| ProfileInfo::read(input)).await?),
            from_server::LOG => Packet::Log(self.receive_block(false).await?),
            from_server::PROFILE_EVENTS => Packet::ProfileEvents(self.receive_block(false).await?),
            from_server::TABLE_COLUMNS => {
                let read = |input: &mut Cursor<'_>, _| {
                    skip_strings(input, 1)?;
                    input.text(STRING_BYTES_MAX)
                };
                Packet::TableColumns(self.parse(read).await?)
            }
            from_server::END_OF_STREAM => Packet::EndOfStream,
            from_server::PONG => Packet::Other,
            other => return Err(unexpected(other)),
        })
    }

    async fn receive_block(&mut self, compressed: bool) -> Result<Block, Failure> {
        // The name of an external table: none.
        self.parse(|input, _| skip_strings(input, 1)).await?;
        let mut reader = BlockReader::new(self.revision);
        let mut info_read = false;
        loop {
            let (bytes, start) =
                if compressed { (&self.plain, &mut self.plain_start) } else { (&self.received, &mut self.start) };
            let mut input = Cursor::new(bytes.get(*start..).unwrap_or_default());
            let outcome = if info_read { Ok(()) } else { skip_block_info(&mut input) };
            info_read = outcome.is_ok();
            let outcome = outcome.and_then(|()| reader.read(&mut input));
            // Also where more must come: what is before this position need not be shown again.
            *start += input.position();
            match outcome {
                Ok(block) => {
                    if self.plain_start == self.plain.len() {
                        self.plain.clear();
                        self.plain_start = 0;
                    }
                    return Ok(block);
                }
                Err(Stop::Bad(error)) => return Err(Failure::protocol(error)),
                Err(Stop::Incomplete) if !compressed => self.receive().await?,
                Err(Stop::Incomplete) if self.plain.len() - self.plain_start > PACKET_BYTES_MAX => {
                    return Err(packet_too_large());
                }
                Err(Stop::Incomplete) => {
                    let mut plain = std::mem::take(&mut self.plain);
                    plain.drain(..std::mem::take(&mut self.plain_start));
                    let outcome = self.parse(|input, _| decompress_frame(input, &mut plain)).await;
                    self.plain = plain;
                    outcome?;
                }
            }
        }
    }

    /// Appends who asks.
    fn client_info(&self, out: &mut Vec<u8>) {
        let revision = self.revision;
        const INITIAL_QUERY: u8 = 1;
        const INTERFACE_TCP: u8 = 1;
        out.push(INITIAL_QUERY);
        put_string(out, "");
        put_string(out, "");
        put_string(out, "0.0.0.0:0");
        if revision >= since::INITIAL_QUERY_START_TIME {
            out.extend_from_slice(&0u64.to_le_bytes());
        }
        out.push(INTERFACE_TCP);
        // The user and the host of the operating system, which nobody needs to know.
        put_string(out, "");
        put_string(out, "");
        put_string(out, &self.client_name);
        put_varint(out, version(env!("CARGO_PKG_VERSION_MAJOR")));
        put_varint(out, version(env!("CARGO_PKG_VERSION_MINOR")));
        put_varint(out, revision);
        put_string(out, &self.quota_key);
        if revision >= since::DISTRIBUTED_DEPTH {
            put_varint(out, 0);
        }
        put_varint(out, version(env!("CARGO_PKG_VERSION_PATCH")));
        if revision >= since::OPENTELEMETRY {
            out.push(0);
        }
        if revision >= since::PARALLEL_REPLICAS {
            out.extend_from_slice(&[0, 0, 0]);
        }
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = async {
            self.stream.write_all(bytes).await?;
            self.stream.flush().await
        };
        written.await.map_err(|error| Failure::network(FailureKind::Write, error))
    }

    /// Applies `parser` to what was received, receiving more until it is enough. It begins anew each time.
    async fn parse<T>(
        &mut self,
        mut parser: impl FnMut(&mut Cursor<'_>, u64) -> Result<T, Stop>,
    ) -> Result<T, Failure> {
        loop {
            let mut input = Cursor::new(&self.received[self.start..]);
            match parser(&mut input, self.revision) {
                Ok(parsed) => {
                    self.start += input.position();
                    return Ok(parsed);
                }
                Err(Stop::Bad(error)) => return Err(Failure::protocol(error)),
                Err(Stop::Incomplete) => self.receive().await?,
            }
        }
    }

    async fn receive(&mut self) -> Result<(), Failure> {
        if self.start > 0 {
            self.received.drain(..self.start);
            self.start = 0;
        }
        if self.received.len() > PACKET_BYTES_MAX {
            return Err(packet_too_large());
        }
        // Twice as much each time, so that a large packet is not looked at too often.
        self.received.reserve(READ_BYTES.max(self.received.len()));
        match self.stream.read_buf(&mut self.received).await {
            Ok(0) => Err(Failure::network(FailureKind::Read, "The server closed the connection")),
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::network(FailureKind::Read, error)),
        }
    }
}

/// A block as a packet, for the table of this name; empty is an INSERT's own.
fn encode(table: &str, block: &Block, revision: u64, compression: bool) -> Result<Vec<u8>> {
    // The block's info: not an overflow block, of no bucket.
    let mut plain = vec![1, 0, 2, 0xFF, 0xFF, 0xFF, 0xFF, 0];
    write_block(block, revision, &mut plain)?;
    let mut packet = Vec::with_capacity(plain.len() / 2 + 64);
    put_varint(&mut packet, to_server::DATA);
    put_string(&mut packet, table);
    if compression {
        compress(&plain, &mut packet);
    } else {
        packet.extend_from_slice(&plain);
    }
    Ok(packet)
}

/// The block that ends a stream of blocks.
fn no_rows() -> Block {
    Block::empty(Arc::new(Schema::default()))
}

fn version(part: &str) -> u64 {
    part.parse().unwrap_or(0)
}

fn network(error: std::io::Error) -> Error {
    Error::new(ErrorCode::NETWORK_ERROR, error.to_string())
}

fn unexpected(packet: u64) -> Failure {
    let message = format!("Unexpected packet {packet} from the server");
    Failure::protocol(Error::new(ErrorCode::UNEXPECTED_PACKET_FROM_SERVER, message))
}

fn packet_too_large() -> Failure {
    let message = format!("A packet from the server is larger than {PACKET_BYTES_MAX} bytes");
    Failure::protocol(Error::new(ErrorCode::LIMIT_EXCEEDED, message))
}

#[cfg(test)]
mod tests {
    use squall_types::{Column, DataType};
    use tokio::net::TcpListener;

    use super::*;

    /// A server of one connection that speaks `revision` and answers each query with the next of `answers`.
    async fn scripted(revision: u64, answers: Vec<Vec<u8>>) -> Options {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (mut peer, _) = listener.accept().await.unwrap();
            peer.read_buf(&mut Vec::new()).await.unwrap();
            let mut hello = vec![from_server::HELLO as u8];
            put_string(&mut hello, "Scripted");
            put_varint(&mut hello, 26);
            put_varint(&mut hello, 9);
            put_varint(&mut hello, revision);
            put_string(&mut hello, "UTC");
            put_string(&mut hello, "here");
            put_varint(&mut hello, 2);
            peer.write_all(&hello).await.unwrap();
            for answer in answers {
                let mut received = Vec::new();
                while !received.windows(6).any(|window| window == b"SELECT") {
                    peer.read_buf(&mut received).await.unwrap();
                }
                // In small pieces, as a network may deliver it.
                for piece in answer.chunks(7) {
                    peer.write_all(piece).await.unwrap();
                    peer.flush().await.unwrap();
                }
            }
            // Stays open until the client leaves.
            let _ = peer.read_buf(&mut Vec::new()).await;
        });
        Options::local(port)
    }

    /// What a server sends for a result: a header, a block, counters, the end.
    fn result(revision: u64) -> Vec<u8> {
        let block = Block::from_columns([
            ("n", Column::from_primitive::<arrow_array::types::UInt64Type>(DataType::UInt64, vec![42, 43])),
            ("s", Column::from_strings(["a", "b"])),
        ]);
        let block = block.unwrap();
        let mut out = Vec::new();
        for block in [&Block::empty(block.schema().clone()), &block, &no_rows()] {
            // A data packet differs from the client's by its number alone.
            let mut packet = Connection::encode(block, revision).unwrap();
            packet[0] = from_server::DATA as u8;
            out.extend_from_slice(&packet);
        }
        for _ in 0..2 {
            out.extend_from_slice(&[from_server::PROGRESS as u8, 10, 80, 100]);
            out.extend(std::iter::repeat_n(0, 2 * usize::from(revision >= since::CLIENT_WRITE_INFO)));
            out.extend(std::iter::repeat_n(0, usize::from(revision >= since::SERVER_QUERY_TIME)));
        }
        out.extend_from_slice(&[from_server::PROFILE_INFO as u8, 2, 1, 33, 0, 0, 0, from_server::END_OF_STREAM as u8]);
        out
    }

    fn refusal() -> Vec<u8> {
        let mut out = vec![from_server::EXCEPTION as u8];
        out.extend_from_slice(&60i32.to_le_bytes());
        put_string(&mut out, "DB::Exception");
        put_string(&mut out, "DB::Exception: Table t does not exist");
        put_string(&mut out, "a stack trace");
        out.push(0);
        out
    }

    #[tokio::test]
    async fn queries_are_followed_to_their_end() {
        for revision in [54_401, 54_429, 54_453, 54_454, 54_460, 60_000] {
            let spoken = revision.min(REVISION);
            let options = scripted(revision, vec![result(spoken), refusal(), result(spoken)]).await;
            let mut connection = Connection::connect(&options).await.unwrap();
            assert_eq!((connection.server_name(), connection.server_version()), ("Scripted", "26.9.2"));
            let settings = [("max_threads".to_owned(), "2".to_owned())];
            let query = Query { text: "SELECT 1", settings: &settings, ..Query::default() };
            let summary = connection.execute(&query).await.unwrap();
            assert_eq!(summary, Summary { read_rows: 20, read_bytes: 160, result_rows: 2, result_bytes: 33 });
            let error = connection.execute(&query).await.unwrap_err();
            assert_eq!(
                (error.kind, error.error.message.as_str()),
                (FailureKind::Exception(60), "Table t does not exist")
            );
            // The connection goes on after an exception.
            assert_eq!(connection.ask("SELECT 1").await.unwrap(), Some(Value::UInt64(42)));
        }
    }

    #[tokio::test]
    async fn bad_servers_are_errors() {
        for (answer, code) in
            [(vec![99], ErrorCode::UNEXPECTED_PACKET_FROM_SERVER), (vec![0xFF; 11], ErrorCode::INCORRECT_DATA)]
        {
            let options = scripted(54_460, vec![answer]).await;
            let mut connection = Connection::connect(&options).await.unwrap();
            assert_eq!(connection.ask("SELECT 1").await.unwrap_err().code, code);
        }
        let options = scripted(50_000, Vec::new()).await;
        assert_eq!(Connection::connect(&options).await.unwrap_err().code, ErrorCode::NOT_IMPLEMENTED);
        let nobody = Options { connect_timeout: Duration::from_millis(200), ..Options::local(1) };
        assert_eq!(Connection::connect(&nobody).await.unwrap_err().code, ErrorCode::NETWORK_ERROR);
    }
}
