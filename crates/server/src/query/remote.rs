//! The functions `remote`, `cluster` and their kin over other servers: which of them a session may ask, and the tables there.

use std::sync::Arc;

use squall_planner::{RemoteCall, RemoteServers, RemoteTarget, TableMetadata};
use squall_remote::{Address, Peer, Peers, Reach, RemoteTable, Target};
use squall_sql::ast::{self, ExpressionKind};
use squall_storage::{Table, TableHandle};
use squall_types::{Error, ErrorCode, Result};

use crate::access::Privilege;
use crate::session::Session;
use crate::system;

/// The port of the native protocol under TLS where an address names none.
const SECURE_PORT: u16 = 9440;

/// The shards that a call names.
pub(super) struct Shards {
    /// Those that are this server itself.
    pub own: usize,
    /// The others.
    pub others: Peers,
}

/// The shards that a call names. A shard of which this server is a replica is its own.
///
/// # Errors
/// `BAD_ARGUMENTS`, `CLUSTER_DOESNT_EXIST`; `UNACCEPTABLE_URL` for hosts that the configuration does not allow.
pub(super) fn shards(session: &Session, call: &RemoteCall) -> Result<Shards> {
    let server = &session.server;
    let named = match &call.servers {
        RemoteServers::Addresses { addresses, user, password, is_secure } => {
            named_shards(session, addresses, user, password, *is_secure)?
        }
        // The configuration names them, so any address may be asked.
        RemoteServers::Cluster { name, every_replica } => system::cluster(server, name, *every_replica)?,
    };
    let is_own = |replicas: &Vec<Peer>| replicas.iter().any(|peer| system::is_own(server, &peer.address));
    let (own, others): (Vec<_>, Vec<_>) = named.into_iter().partition(is_own);
    let config = server.config.load();
    for peer in others.iter().flatten() {
        let is_of_cluster = matches!(call.servers, RemoteServers::Cluster { .. });
        let host = peer.address.host.to_ascii_lowercase();
        if !is_of_cluster && config.remote_hosts.reach(&host, Some(peer.address.port)).is_none() {
            let host = &peer.address.host;
            let message = format!("Host {host} is not allowed in configuration file, see <remote_url_allow_hosts>");
            return Err(Error::new(ErrorCode::UNACCEPTABLE_URL, message));
        }
    }
    Ok(Shards { own: own.len(), others: Peers { shards: others } })
}

/// The servers of an address expression.
fn named_shards(
    session: &Session,
    addresses: &str,
    user: &str,
    password: &str,
    is_secure: bool,
) -> Result<Vec<Vec<Peer>>> {
    let config = session.server.config.load();
    let default_port = if is_secure { SECURE_PORT } else { config.server.tcp_port as u16 };
    let peer = |address: Address| {
        let reach = config.remote_hosts.reach(&address.host.to_ascii_lowercase(), Some(address.port));
        let (user, password) = (user.to_owned(), password.to_owned());
        // Who may not be asked at all is refused where it is no replica of this server's own shard.
        Peer { address, reach: reach.unwrap_or(Reach::Public), user, password, is_secure }
    };
    let named = squall_remote::shards(addresses, default_port)?;
    Ok(named.into_iter().map(|replicas| replicas.into_iter().map(peer).collect()).collect())
}

/// The only shard of a call, for an INSERT; `None` where that is this server itself.
///
/// # Errors
/// As [`shards`]; `ACCESS_DENIED`; `STORAGE_REQUIRES_PARAMETER` for several shards.
pub(super) fn insert_shard(session: &Session, call: &RemoteCall) -> Result<Option<Peers>> {
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
