//! The connection to a server of PostgreSQL's, and its errors.

use std::net::SocketAddr;
use std::time::Duration;

use squall_native::Tls;
use squall_types::{Error, ErrorCode, Result};
use tokio::net::TcpStream;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config};

use super::PostgreSql;
use super::tls::Handshake;
use crate::engine::Engine;
use crate::server::ForeignServer;

/// As whom the server knows us, in `pg_stat_activity`.
const APPLICATION: &str = "squall";
/// How long a server may be silent before it is asked whether it is still there.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// A connection, and where it leads.
pub(super) struct Link {
    pub client: Client,
    place: SocketAddr,
    host: String,
}

impl Link {
    /// Has the server end what it does for this connection.
    ///
    /// # Errors
    /// Those of another connection to the same place.
    pub async fn cancel(&self) -> Result<()> {
        let stream = TcpStream::connect(self.place).await;
        let stream = stream.map_err(|error| Error::new(ErrorCode::NETWORK_ERROR, error.to_string()))?;
        let handshake = Handshake(Tls::new(&self.host, None, true)?);
        self.client.cancel_token().cancel_query_raw(stream, handshake).await.map_err(|error| said(&error))
    }
}

/// Connects, and has a task follow the connection until its client is dropped. Times without a zone are the session's, so those that are
/// instants are told in it, too.
///
/// # Errors
/// `POSTGRESQL_CONNECTION_FAILURE`, `UNACCEPTABLE_URL`.
pub(super) async fn connect(server: &ForeignServer) -> Result<Link> {
    let mut config = Config::new();
    config.user(&server.user).password(&server.password).dbname(&server.database).application_name(APPLICATION);
    let failed = ErrorCode::POSTGRESQL_CONNECTION_FAILURE;
    let link = server.connect(failed, async |place, address| {
        let stream = TcpStream::connect(place).await.map_err(|error| Error::new(failed, error.to_string()))?;
        keep_alive(&stream);
        let (client, connection) = config
            .connect_raw(stream, Handshake(Tls::new(&address.host, None, true)?))
            .await
            .map_err(|error| said(&error))?;
        tokio::spawn(connection);
        Ok(Link { client, place, host: address.host.clone() })
    });
    let link = link.await?;
    let zone = PostgreSql::literal_sql(server.zone.name().as_bytes()).unwrap_or_default();
    let settings = format!("SET TimeZone = {zone}; SET DateStyle = 'ISO'; SET client_min_messages = 'error'");
    link.client.batch_execute(&settings).await.map_err(|error| said(&error))?;
    Ok(link)
}

fn keep_alive(stream: &TcpStream) {
    let keepalive = socket2::TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE);
    let socket = socket2::SockRef::from(stream);
    // A connection without them is as good until its server's machine is gone.
    let _ = socket.set_tcp_keepalive(&keepalive);
    let _ = socket.set_tcp_nodelay(true);
}

/// The same for reading alone.
///
/// # Errors
/// As [`connect`].
pub(super) async fn connect_to_read(server: &ForeignServer) -> Result<Link> {
    let link = connect(server).await?;
    link.client.batch_execute("BEGIN READ ONLY").await.map_err(|error| said(&error))?;
    Ok(link)
}

/// What the server, or the connection to it, says.
pub(super) fn said(error: &tokio_postgres::Error) -> Error {
    let Some(of_server) = error.as_db_error() else {
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
        return Error::new(ErrorCode::POSTGRESQL_CONNECTION_FAILURE, format!("{error}{cause}"));
    };
    let code = match of_server.code() {
        state if *state == SqlState::UNDEFINED_TABLE => ErrorCode::UNKNOWN_TABLE,
        state if *state == SqlState::ADMIN_SHUTDOWN || *state == SqlState::CRASH_SHUTDOWN => {
            ErrorCode::POSTGRESQL_CONNECTION_FAILURE
        }
        _ => ErrorCode::STD_EXCEPTION,
    };
    let detail = of_server.detail().map(|detail| format!(" {detail}")).unwrap_or_default();
    Error::new(code, format!("PostgreSQL: {}{detail}", of_server.message()))
}
