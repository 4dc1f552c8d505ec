//! The connection to a server of MySQL's or MariaDB's, and its errors.

use std::time::Duration;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder};
use squall_types::{Error, ErrorCode, Result};

use crate::server::ForeignServer;

/// How long a server may be silent before it is asked whether it is still there.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// Instants are told in UTC, and a backslash in a string is an escape.
const SETTINGS: &str = "SET SESSION time_zone = '+00:00', \
                        SESSION sql_mode = REPLACE(@@SESSION.sql_mode, 'NO_BACKSLASH_ESCAPES', '')";
/// What a server says of a table that it does not have.
const NO_SUCH_TABLE: u16 = 1146;

/// Connects.
///
/// # Errors
/// `ALL_CONNECTION_TRIES_FAILED`, `UNACCEPTABLE_URL`.
pub(super) async fn connect(server: &ForeignServer) -> Result<Conn> {
    let code = ErrorCode::ALL_CONNECTION_TRIES_FAILED;
    let connection = server.connect(code, async |place, _| {
        // The address was looked at, so no other one of the name is tried, and no socket that the server may name.
        let options = OptsBuilder::default()
            .ip_or_hostname(place.ip().to_string())
            .resolved_ips(Some(vec![place.ip()]))
            .tcp_port(place.port())
            .user(Some(server.user.clone()))
            .pass(Some(server.password.clone()))
            .db_name((!server.database.is_empty()).then(|| server.database.clone()))
            .prefer_socket(false)
            .tcp_keepalive(Some(KEEPALIVE))
            .tcp_nodelay(true);
        Conn::new(Opts::from(options)).await.map_err(|error| said(&error))
    });
    let mut connection = connection.await?;
    connection.query_drop(SETTINGS).await.map_err(|error| said(&error))?;
    Ok(connection)
}

/// The same for reading alone.
///
/// # Errors
/// As [`connect`].
pub(super) async fn connect_to_read(server: &ForeignServer) -> Result<Conn> {
    let mut connection = connect(server).await?;
    connection.query_drop("START TRANSACTION READ ONLY").await.map_err(|error| said(&error))?;
    Ok(connection)
}

/// Has the server end what it does for a connection, by its number.
///
/// # Errors
/// Those of another connection.
pub(super) async fn cancel(server: &ForeignServer, number: u32) -> Result<()> {
    let mut connection = connect(server).await?;
    connection.query_drop(format!("KILL QUERY {number}")).await.map_err(|error| said(&error))
}

/// What the server, or the connection to it, says.
pub(super) fn said(error: &mysql_async::Error) -> Error {
    match error {
        mysql_async::Error::Server(of_server) => {
            let is_missing = of_server.code == NO_SUCH_TABLE;
            let code = if is_missing { ErrorCode::UNKNOWN_TABLE } else { ErrorCode::POCO_EXCEPTION };
            Error::new(code, format!("MySQL: {} ({})", of_server.message, of_server.code))
        }
        other => Error::new(ErrorCode::NETWORK_ERROR, other.to_string()),
    }
}
