//! `system.clusters` and `system.macros`, from the configuration, and which of their addresses are this server's own.

use std::sync::{Arc, Weak};

use squall_remote::{Address, Peer, Reach};
use squall_storage::Table;
use squall_types::{Error, ErrorCode, Result, Value};

use super::table::SystemTable;
use super::upgrade;
use super::value::{flag, number, text};
use crate::server::Server;

/// One replica of a shard of a cluster.
struct Replica {
    cluster: String,
    shard: usize,
    replica: usize,
    address: Address,
    user: String,
    password: String,
    is_secure: bool,
    is_local: bool,
}

fn replicas(server: &Server) -> Vec<Replica> {
    let config = server.config.load();
    // A server without any cluster is one of itself, so that `cluster('default', …)` has a meaning.
    if config.clusters.is_empty() {
        return vec![Replica {
            cluster: "default".into(),
            shard: 1,
            replica: 1,
            address: Address { host: "localhost".into(), port: config.server.tcp_port as u16 },
            user: "default".into(),
            password: String::new(),
            is_secure: false,
            is_local: true,
        }];
    }
    let mut rows = Vec::new();
    for cluster in &config.clusters {
        for (shard, replicas) in cluster.shards.iter().enumerate() {
            for (replica, configured) in replicas.iter().enumerate() {
                let address = Address { host: configured.host.clone(), port: configured.port };
                rows.push(Replica {
                    cluster: cluster.name.clone(),
                    shard: shard + 1,
                    replica: replica + 1,
                    is_local: is_own(server, &address),
                    address,
                    user: configured.user.clone(),
                    password: configured.password.clone(),
                    is_secure: configured.is_secure,
                });
            }
        }
    }
    rows
}

/// The shards of a cluster, each with its replicas; or each replica as a shard of its own. The name may hold macros: `{cluster}`, which is
/// the only cluster's name where the configuration says nothing else.
///
/// # Errors
/// `CLUSTER_DOESNT_EXIST`, `BAD_ARGUMENTS` for an unknown macro.
pub(crate) fn cluster(server: &Server, name: &str, every_replica: bool) -> Result<Vec<Vec<Peer>>> {
    let replicas = replicas(server);
    let name = with_macros(server, name, &replicas)?;
    let mut shards: Vec<Vec<Peer>> = Vec::new();
    let mut last = None;
    for replica in replicas.into_iter().filter(|replica| replica.cluster == name) {
        let Replica { shard, address, user, password, is_secure, .. } = replica;
        let peer = Peer { address, reach: Reach::Anywhere, user, password, database: "default".to_owned(), is_secure };
        match shards.last_mut().filter(|_| last == Some(shard) && !every_replica) {
            Some(of_shard) => of_shard.push(peer),
            None => shards.push(vec![peer]),
        }
        last = Some(shard);
    }
    if shards.is_empty() {
        return Err(Error::new(ErrorCode::CLUSTER_DOESNT_EXIST, format!("Requested cluster '{name}' not found")));
    }
    Ok(shards)
}

/// Whether an address is this server's own.
pub(crate) fn is_own(server: &Server, address: &Address) -> bool {
    let own_port = server.config.load().server.tcp_port;
    u64::from(address.port) == own_port && matches!(address.host.as_str(), "localhost" | "127.0.0.1" | "::1")
}

fn with_macros(server: &Server, name: &str, replicas: &[Replica]) -> Result<String> {
    let mut expanded = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((key, after)) = after.split_once('}') else { break };
        expanded.push_str(before);
        let config = server.config.load();
        let is_only = replicas.iter().all(|replica| replica.cluster == replicas[0].cluster);
        match (config.macros.get(key), replicas.first()) {
            (Some(value), _) => expanded.push_str(value),
            (None, Some(only)) if key == "cluster" && is_only => expanded.push_str(&only.cluster),
            _ => {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!(
                        "Failed to expand macros in cluster name: No macro '{key}' in config while processing \
                         substitutions in '{name}'"
                    ),
                ));
            }
        }
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

pub(super) fn clusters(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let table = SystemTable::new("clusters", move || Ok(replicas(&*upgrade(&server)?)))
        .column("cluster", "String", |row: &Replica| text(&row.cluster))
        .column("shard_num", "UInt32", |row| number(row.shard))
        .constant("shard_name", "String", text(""))
        .constant("shard_weight", "UInt32", number(1_u64))
        .constant("internal_replication", "UInt8", flag(false))
        .column("replica_num", "UInt32", |row| number(row.replica))
        .column("host_name", "String", |row| text(&row.address.host))
        .column("host_address", "String", |row| text(if row.is_local { "127.0.0.1" } else { "" }))
        .column("port", "UInt16", |row| number(row.address.port))
        .column("is_local", "UInt8", |row| flag(row.is_local))
        .column("user", "String", |row| text(&row.user))
        .constant("default_database", "String", text(""))
        .constant("errors_count", "UInt32", number(0_u64))
        .constant("slowdowns_count", "UInt32", number(0_u64))
        .constant("estimated_recovery_time", "UInt32", number(0_u64))
        .constant("database_shard_name", "String", text(""))
        .constant("database_replica_name", "String", text(""))
        .constant("is_active", "Nullable(UInt8)", Value::Null)
        .alias("name", "String", "cluster");
    Arc::new(table)
}

pub(super) fn macros(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || Ok(upgrade(&server)?.config.load().macros.clone().into_iter().collect());
    let table = SystemTable::new("macros", gather)
        .column("macro", "String", |(name, _): &(String, String)| text(name))
        .column("substitution", "String", |(_, value)| text(value));
    Arc::new(table)
}
