//! The functions `remote`, `cluster` and their kin over other servers: which of them a session may ask, and the tables there.

use std::sync::Arc;

use squall_planner::{RemoteCall, RemoteServers, RemoteTarget, TableMetadata};
use squall_remote::{Address, Peer, Peers, RemoteTable, SECURE_PORT, Target};
use squall_sql::ast::{self, ExpressionKind};
use squall_storage::{Table, TableHandle};
use squall_types::{Error, ErrorCode, Result};

use crate::access::Privilege;
use crate::session::Session;
use crate::system;

/// The database of tables without one there.
const DATABASE: &str = "default";

/// The shards that a call names.
pub(in crate::query) struct Shards {
    /// Those that are this server itself.
    pub own: usize,
    /// The others.
    pub others: Peers,
}

/// The shards that a call names. A shard of which this server is a replica is its own.
///
/// # Errors
/// `BAD_ARGUMENTS`, `CLUSTER_DOESNT_EXIST`; `UNACCEPTABLE_URL` for hosts that the configuration does not allow.
pub(in crate::query) fn shards(session: &Session, call: &RemoteCall) -> Result<Shards> {
    let server = &session.server;
    let config = server.config.load();
    let mut found = Shards { own: 0, others: Peers { shards: Vec::new() } };
    match &call.servers {
        RemoteServers::Addresses { addresses, user, password, is_secure } => {
            let peer = |address: Address| {
                let reach = config.remote_hosts.reach_of(&address)?;
                let (user, password) = (user.clone(), password.clone());
                Ok(Peer { address, reach, user, password, database: DATABASE.to_owned(), is_secure: *is_secure })
            };
            let default_port = if *is_secure { SECURE_PORT } else { config.server.tcp_port as u16 };
            for replicas in squall_remote::shards(addresses, default_port)? {
                if replicas.iter().any(|address| system::is_own(server, address)) {
                    found.own += 1;
                } else {
                    found.others.shards.push(replicas.into_iter().map(peer).collect::<Result<_>>()?);
                }
            }
        }
        // The configuration names its servers, so any of their addresses may be asked.
        RemoteServers::Cluster { name, every_replica } => {
            for replicas in system::cluster(server, name, *every_replica)? {
                if replicas.iter().any(|peer| system::is_own(server, &peer.address)) {
                    found.own += 1;
                } else {
                    found.others.shards.push(replicas);
                }
            }
        }
    }
    Ok(found)
}

/// The only shard of a call, for an INSERT; `None` where that is this server itself.
///
/// # Errors
/// As [`shards`]; `ACCESS_DENIED`; `STORAGE_REQUIRES_PARAMETER` for several shards.
pub(in crate::query) fn insert_shard(session: &Session, call: &RemoteCall) -> Result<Option<Peers>> {
    if matches!(call.servers, RemoteServers::Cluster { .. }) {
        session.access.check(Privilege::Cluster, &[])?;
    }
    session.access.check_target_source(Privilege::Remote)?;
    let Shards { own, others } = shards(session, call)?;
    match (own, others.shards.len()) {
        (1, 0) => Ok(None),
        (0, 1) => Ok(Some(others)),
        _ => {
            let message = "Cannot insert into several shards: name one of them, or insert into each";
            Err(Error::new(ErrorCode::STORAGE_REQUIRES_PARAMETER, message))
        }
    }
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
pub(in crate::query) fn table(peers: Peers, call: &RemoteCall) -> Result<Arc<dyn TableMetadata>> {
    Ok(Arc::new(TableHandle(Arc::new(RemoteTable::open(peers, target_of(call))?))))
}

/// The same for an INSERT into these columns. Waits for the network.
///
/// # Errors
/// Those of [`RemoteTable::for_insert`].
pub(in crate::query) fn target(peers: Peers, call: &RemoteCall, columns: Option<&[String]>) -> Result<Arc<dyn Table>> {
    Ok(Arc::new(RemoteTable::for_insert(peers, target_of(call), columns)?))
}

/// The names of an INSERT's columns.
///
/// # Errors
/// `NOT_IMPLEMENTED` for what is no name: which columns it stands for only the other server knows.
pub(in crate::query) fn column_names(columns: &[ast::Expression]) -> Result<Vec<String>> {
    let name = |column: &ast::Expression| match &column.kind {
        ExpressionKind::Identifier(parts) => {
            Ok(parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join("."))
        }
        _ => Err(Error::not_implemented("A pattern of columns in an INSERT into another server's table")),
    };
    columns.iter().map(name).collect()
}
