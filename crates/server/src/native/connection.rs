//! One connection: the socket with what was received from it, the greeting, and the packets between queries.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use squall_engine::QueryContext;
use squall_formats::wire::{Cursor, Stop};
use squall_runtime::{ProfileEvent, profile_events};
use squall_types::{Block, Error, ErrorCode, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::blocks::BlockInput;
use super::packet::{
    Hello, QueryPacket, from_client, from_server, read_addendum, read_tables_status_request, write_exception,
    write_hello, write_tables_status,
};
use super::revision;
use crate::access::{Access, CertificateNames, Proof};
use crate::network::{Linger, STOPPED_TIME, Socket};
use crate::server::Server;
use crate::session::{ClientInfo, Interface, Session};

/// How long a connection may do nothing: ClickHouse's `idle_connection_timeout`.
const IDLE_TIMEOUT: Duration = Duration::from_secs(3600);
/// Bytes asked of the socket at once.
const READ_BYTES: usize = 64 << 10;
/// Bytes of a packet that are held before it is whole.
const PACKET_BYTES_MAX: usize = 1 << 30;
/// What a browser is told that comes to this port.
const HTTP_ANSWER: &[u8] = b"HTTP/1.0 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain; charset=UTF-8\r\n\r\n\
    This port is for the native protocol: clickhouse-client and drivers. HTTP has a port of its own, by default 8123.\r\n";

/// Why a connection ends.
#[derive(Debug)]
pub enum End {
    /// The client went away, or takes or sends nothing any more.
    Gone,
    /// The client does not keep to the protocol: it is told so, where it still listens.
    Bad(Error),
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        Self::Bad(error)
    }
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// The socket and what was received from it.
#[derive(Debug)]
pub struct Wire {
    stream: Socket,
    /// Received bytes; those before `start` are done with.
    received: Vec<u8>,
    start: usize,
    /// The client has closed its side.
    is_over: bool,
}

/// What a client does while its query runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interruption {
    /// It wants the query to end.
    Cancel,
    /// It went away.
    Gone,
    /// It sent another packet, of this number.
    Other(u64),
}

impl Wire {
    fn new(stream: Socket) -> Self {
        Self { stream, received: Vec::new(), start: 0, is_over: false }
    }

    fn rest(&self) -> &[u8] {
        self.received.get(self.start..).unwrap_or_default()
    }

    /// Makes room for more bytes.
    fn prepare(&mut self) {
        if self.start == self.received.len() {
            self.received.clear();
            self.start = 0;
            // What one large packet needed is not kept for a connection's life.
            self.received.shrink_to(4 * READ_BYTES);
        } else if self.start > READ_BYTES {
            self.received.drain(..self.start);
            self.start = 0;
        }
        let room = if self.received.is_empty() { 4096 } else { READ_BYTES };
        self.received.reserve(room);
    }

    /// Waits for more bytes. Dropping the future loses none.
    async fn fill(&mut self) -> io::Result<()> {
        if self.rest().len() > PACKET_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a packet without an end"));
        }
        self.prepare();
        match self.stream.read_buf(&mut self.received).await? {
            0 => {
                self.is_over = true;
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            _ => Ok(()),
        }
    }

    /// Reads something, waiting for as many bytes as it has; no single wait is longer than `timeout`.
    ///
    /// # Errors
    /// Where the client goes, is silent, or is wrong.
    pub async fn read<T>(
        &mut self,
        timeout: Duration,
        mut read: impl FnMut(&mut Cursor<'_>) -> Result<T, Stop>,
    ) -> Result<T, End> {
        loop {
            let mut input = Cursor::new(self.rest());
            let outcome = read(&mut input);
            let position = input.position();
            match outcome {
                Ok(value) => {
                    self.start += position;
                    return Ok(value);
                }
                Err(Stop::Bad(error)) => return Err(error.into()),
                Err(Stop::Incomplete) => tokio::time::timeout(timeout, self.fill()).await.map_err(|_| End::Gone)??,
            }
        }
    }

    /// Reads the number of the next packet.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub async fn read_packet_number(&mut self, timeout: Duration) -> Result<u64, End> {
        self.read(timeout, |input| input.varint()).await
    }

    /// Reads a block, after its packet's number; returns it with its table's name.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub async fn read_block(
        &mut self,
        client_revision: u64,
        is_compressed: bool,
        timeout: Duration,
    ) -> Result<(String, Block), End> {
        let mut block = BlockInput::new(client_revision, is_compressed);
        loop {
            let mut input = Cursor::new(self.rest());
            let outcome = block.read(&mut input);
            // What was read stays read, also of a block that is not whole.
            self.start += input.position();
            match outcome {
                Ok(found) => return Ok((block.name().to_owned(), found)),
                Err(Stop::Bad(error)) => return Err(error.into()),
                Err(Stop::Incomplete) => tokio::time::timeout(timeout, self.fill()).await.map_err(|_| End::Gone)??,
            }
        }
    }

    /// Waits until the client does something while its query runs. Dropping the future loses nothing.
    pub async fn interruption(&mut self) -> Interruption {
        loop {
            if let Some(interruption) = self.take_interruption() {
                return interruption;
            }
            if self.fill().await.is_err() {
                return Interruption::Gone;
            }
        }
    }

    /// The same without waiting.
    pub fn try_interruption(&mut self) -> Option<Interruption> {
        if let Some(interruption) = self.take_interruption() {
            return Some(interruption);
        }
        self.prepare();
        match self.stream.try_read(&mut self.received) {
            Ok(None) => None,
            Ok(Some(0)) | Err(_) => Some(Interruption::Gone),
            Ok(Some(_)) => self.take_interruption(),
        }
    }

    fn take_interruption(&mut self) -> Option<Interruption> {
        let first = *self.rest().first()?;
        if u64::from(first) == from_client::CANCEL {
            self.start += 1;
            return Some(Interruption::Cancel);
        }
        Some(Interruption::Other(first.into()))
    }

    /// Sends bytes and empties their buffer; waits until the client has room for them.
    ///
    /// # Errors
    /// Where the client goes, or takes nothing for `timeout`.
    pub async fn send(&mut self, out: &mut Vec<u8>, timeout: Duration) -> Result<(), End> {
        self.send_while(out, timeout, std::future::pending).await
    }

    /// The same with a query's result: given up, too, where the client takes nothing and the query was asked to end.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn send_result(&mut self, out: &mut Vec<u8>, query: &QueryContext) -> Result<(), End> {
        let stopped = || async {
            poll_fn(|task| query.poll_stopped(task)).await;
            tokio::time::sleep(STOPPED_TIME).await;
        };
        self.send_while(out, query.settings.send_timeout, stopped).await
    }

    /// Sends until a write takes longer than `timeout` or than what `stopped` makes.
    async fn send_while<S: Future<Output = ()>>(
        &mut self,
        out: &mut Vec<u8>,
        timeout: Duration,
        stopped: impl Fn() -> S,
    ) -> Result<(), End> {
        profile_events::GLOBAL.add(ProfileEvent::NativeProtocolSend, u64::from(!out.is_empty()));
        let mut rest = out.as_slice();
        while !rest.is_empty() {
            let written = tokio::select! {
                biased;
                written = self.stream.write(rest) => written?,
                () = tokio::time::sleep(timeout) => return Err(End::Gone),
                () = stopped() => return Err(End::Gone),
            };
            rest = rest.get(written..).unwrap_or_default();
        }
        // Under TLS what was written may still be here.
        tokio::time::timeout(timeout, self.stream.flush()).await.map_err(|_| End::Gone)??;
        out.clear();
        out.shrink_to(4 * READ_BYTES);
        Ok(())
    }
}

/// The error for a packet that does not belong where it came.
pub fn unexpected(packet: u64) -> End {
    let name = match packet {
        from_client::HELLO => "Hello",
        from_client::QUERY => "Query",
        from_client::DATA => "Data",
        from_client::CANCEL => "Cancel",
        from_client::PING => "Ping",
        from_client::TABLES_STATUS_REQUEST => "TablesStatusRequest",
        other => {
            let message = format!("Unknown packet {other} from client");
            return End::Bad(Error::new(ErrorCode::UNKNOWN_PACKET_FROM_CLIENT, message));
        }
    };
    let message = format!("Unexpected packet {name} received from client");
    End::Bad(Error::new(ErrorCode::UNEXPECTED_PACKET_FROM_CLIENT, message))
}

/// A client that has come in.
pub struct Connection {
    /// Its socket.
    pub wire: Wire,
    /// Its session.
    pub session: Session,
    /// The revision agreed on.
    pub revision: u64,
    /// What is to be sent.
    pub out: Vec<u8>,
    /// An INSERT failed while the client was sending: the blocks that are on their way are of no use. Whether they are compressed.
    pub skipped_data: Option<bool>,
}

impl Connection {
    /// Serves a client from its first byte to its last.
    pub async fn serve(server: Arc<Server>, stream: Socket, address: SocketAddr) {
        tracing::trace!(target: "TCPHandlerFactory", "TCP Request. Address: {address}");
        let mut wire = Wire::new(stream);
        let timeout = Duration::from_millis(server.config.load().server.handshake_timeout_milliseconds);
        let greeted = tokio::select! {
            greeted = tokio::time::timeout(timeout, greet(&server, &mut wire, address, timeout)) => greeted.unwrap_or(Err(End::Gone)),
            () = server.stopping() => return,
        };
        let (session, revision) = match greeted {
            Ok(greeted) => greeted,
            Err(end) => return farewell(&mut wire, end, address).await,
        };
        let mut connection = Self { wire, session, revision, out: Vec::new(), skipped_data: None };
        if let Err(end) = connection.run(&server).await {
            farewell(&mut connection.wire, end, address).await;
        }
        tracing::debug!(target: "TCPHandler", "Done processing connection.");
    }

    async fn run(&mut self, server: &Arc<Server>) -> Result<(), End> {
        if self.revision >= revision::ADDENDUM {
            let revision = self.revision;
            let timeout = self.session.settings.receive_timeout;
            let quota_key = self.wire.read(timeout, |input| read_addendum(input, revision)).await?;
            if !quota_key.is_empty() {
                let mut client = (*self.session.client).clone();
                client.quota_key = quota_key.into();
                self.session.client = Arc::new(client);
            }
        }
        loop {
            let packet = tokio::select! {
                packet = self.wire.read_packet_number(IDLE_TIMEOUT) => packet?,
                () = server.stopping() => return Ok(()),
            };
            let timeout = self.session.settings.receive_timeout;
            let revision = self.revision;
            match packet {
                from_client::QUERY => {
                    self.skipped_data = None;
                    let client = self.session.client.clone();
                    let query = self.wire.read(timeout, |input| QueryPacket::read(input, revision, &client)).await?;
                    self.run_query(query).await?;
                }
                from_client::PING => {
                    self.out.push(from_server::PONG as u8);
                    self.wire.send(&mut self.out, self.session.settings.send_timeout).await?;
                }
                from_client::DATA => {
                    let Some(is_compressed) = self.skipped_data else { return Err(unexpected(packet)) };
                    let (_, block) = self.wire.read_block(revision, is_compressed, timeout).await?;
                    if block.is_empty() {
                        self.skipped_data = None;
                    }
                }
                // It came too late: the query has ended.
                from_client::CANCEL => {}
                from_client::TABLES_STATUS_REQUEST => {
                    let mut tables = self.wire.read(timeout, read_tables_status_request).await?;
                    let access = &self.session.access;
                    tables.retain(|(database, table)| {
                        access.may_show_table(database, table) && server.databases.table(database, table).is_ok()
                    });
                    write_tables_status(&tables, &mut self.out);
                    self.wire.send(&mut self.out, self.session.settings.send_timeout).await?;
                }
                other => return Err(unexpected(other)),
            }
        }
    }
}

/// Reads who the client is, and answers.
async fn greet(
    server: &Arc<Server>,
    wire: &mut Wire,
    address: SocketAddr,
    timeout: Duration,
) -> Result<(Session, u64), End> {
    match wire.read_packet_number(timeout).await? {
        from_client::HELLO => {}
        // The first letters of HTTP's methods.
        0x44 | 0x47 | 0x48 | 0x4F | 0x50 => {
            wire.send(&mut HTTP_ANSWER.to_vec(), timeout).await?;
            return Err(End::Gone);
        }
        other => return Err(unexpected(other)),
    }
    let hello = wire.read(timeout, Hello::read).await?;
    let config = server.config.load_full();
    let user_name = if hello.user.is_empty() { &config.server.default_session_user } else { &hello.user };
    let user = authenticate(server, wire, user_name, &hello.password, address).await?;
    let mut client = ClientInfo::new(Interface::Tcp, address);
    client.is_secure = wire.stream.is_secure();
    client.client_name = hello.client_name.as_str().into();
    client.client_version = (hello.version.0, hello.version.1, 0);
    client.client_revision = hello.revision;
    let mut session = Session::new(server.clone(), user, Arc::new(client));
    if !hello.database.is_empty() {
        session.use_database(&hello.database)?;
    }
    let mut out = Vec::new();
    let display_name = &server.display_name;
    write_hello(hello.revision, &server.time_zone, display_name, rand::random(), &mut out);
    wire.send(&mut out, timeout).await?;
    tracing::debug!(target: "TCPHandler", "Connected {} version {}.{}, revision: {}, database: {}, user: {} (from {address}).",
        hello.client_name, hello.version.0, hello.version.1, hello.revision, session.database, session.access.name);
    Ok((session, hello.revision.min(revision::REVISION)))
}

/// Who the client is: by its certificate where it has shown one that names the user, or else by its password.
async fn authenticate(
    server: &Server,
    wire: &Wire,
    user_name: &str,
    password: &[u8],
    address: SocketAddr,
) -> Result<Arc<Access>> {
    let users = server.access.load_full();
    if let Some(certificate) = wire.stream.client_certificate() {
        let names = CertificateNames::of_certificate(certificate);
        match users.authenticate(user_name, Proof::Certificate(&names), address.ip()) {
            Ok(user) => return Ok(user),
            Err(_) => tracing::debug!(target: "TCPHandler",
                "The certificate from {address} is not the user {user_name}'s: asking for the password"),
        }
    }
    if users.is_slow(user_name, Proof::Password(password)) {
        let (name, password) = (user_name.to_owned(), password.to_vec());
        let looked =
            tokio::task::spawn_blocking(move || users.authenticate(&name, Proof::Password(&password), address.ip()));
        return looked.await.map_err(|error| Error::logical(format!("authentication was interrupted: {error}")))?;
    }
    users.authenticate(user_name, Proof::Password(password), address.ip())
}

/// Tells a client what it did wrong, if it did; then the connection ends.
async fn farewell(wire: &mut Wire, end: End, address: SocketAddr) {
    if let End::Bad(error) = end {
        tracing::error!(target: "TCPHandler", "{error} (from {address})");
        let mut out = Vec::new();
        write_exception(&error, &mut out);
        if wire.send(&mut out, Duration::from_secs(1)).await.is_err() {
            return;
        }
    }
    let mut linger = Linger::default();
    let _ = poll_fn(|task| linger.poll(&mut wire.stream, task)).await;
}
