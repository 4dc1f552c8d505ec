//! The functions `remote` and `remoteSecure` over other servers: which addresses a session may ask, and the tables there.

use std::sync::Arc;

use squall_planner::{RemoteCall, RemoteTarget, TableMetadata};
use squall_remote::{Peers, RemoteTable, Target, shards};
use squall_sql::ast::{self, ExpressionKind};
use squall_storage::{Table, TableHandle};
use squall_types::{Error, ErrorCode, Result};

use crate::session::Session;
use crate::system;

/// The port of the native protocol under TLS where an address names none.
const SECURE_PORT: u16 = 9440;

/// The servers that a call names; `None` where that is this server alone.
///
/// # Errors
/// `BAD_ARGUMENTS`; `UNACCEPTABLE_URL` for hosts that the configuration does not allow.
pub(super) fn peers(session: &Session, call: &RemoteCall) -> Result<Option<Peers>> {
    let config = session.server.config.load();
    let default_port = if call.is_secure { SECURE_PORT } else { config.server.tcp_port as u16 };
    let named = shards(&call.addresses, default_port)?;
    if let [replicas] = named.as_slice()
        && replicas.iter().any(|address| system::is_own(&session.server, address))
    {
        return Ok(None);
    }
    let mut shards = Vec::with_capacity(named.len());
    for replicas in named {
        let with_reach = replicas.into_iter().map(|address| {
            let reach = config.remote_hosts.reach(&address.host.to_ascii_lowercase(), Some(address.port));
            let denied = || {
                let message =
                    format!("Host {} is not allowed in configuration file, see <remote_url_allow_hosts>", address.host);
                Error::new(ErrorCode::UNACCEPTABLE_URL, message)
            };
            let reach = reach.ok_or_else(denied)?;
            Ok((address, reach))
        });
        shards.push(with_reach.collect::<Result<Vec<_>>>()?);
    }
    let (user, password) = (call.user.clone(), call.password.clone());
    Ok(Some(Peers { shards, user, password, is_secure: call.is_secure }))
}

fn target_of(call: &RemoteCall) -> Target {
    match &call.target {
        RemoteTarget::Table { database, table } => Target::Table { database: database.clone(), table: table.clone() },
        RemoteTarget::Function(sql) => Target::Function(sql.clone()),
    }
}

/// The table of a call. Waits for the network.
///
/// # Errors
/// Those of [`RemoteTable::open`].
pub(super) fn table(peers: Peers, call: &RemoteCall) -> Result<Arc<dyn TableMetadata>> {
    Ok(Arc::new(TableHandle(Arc::new(RemoteTable::open(peers, target_of(call))?))))
}

/// The same for an INSERT into these columns. Waits for the network.
///
/// # Errors
/// Those of [`RemoteTable::for_insert`].
pub(super) fn target(peers: Peers, call: &RemoteCall, columns: Option<&[String]>) -> Result<Arc<dyn Table>> {
    Ok(Arc::new(RemoteTable::for_insert(peers, target_of(call), columns)?))
}

/// The names of an INSERT's columns.
///
/// # Errors
/// `NOT_IMPLEMENTED` for what is no name: which columns it stands for only the other server knows.
pub(super) fn column_names(columns: &[ast::Expression]) -> Result<Vec<String>> {
    let name = |column: &ast::Expression| match &column.kind {
        ExpressionKind::Identifier(parts) => {
            Ok(parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join("."))
        }
        _ => Err(Error::not_implemented("A pattern of columns in an INSERT into another server's table")),
    };
    columns.iter().map(name).collect()
}
