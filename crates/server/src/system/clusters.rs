//! `system.clusters` and `system.macros`, from the configuration.

use std::sync::{Arc, Weak};

use squall_storage::Table;
use squall_types::Value;

use super::table::SystemTable;
use super::upgrade;
use super::value::{flag, number, text};
use crate::server::Server;

/// One replica of a shard of a cluster.
struct Replica {
    cluster: String,
    shard: usize,
    replica: usize,
    host: String,
    port: u16,
    is_local: bool,
}

fn replicas(server: &Server) -> Vec<Replica> {
    let config = server.config.load();
    // A server without any cluster is one of itself, so that `cluster('default', …)` has a meaning.
    if config.clusters.is_empty() {
        let port = config.server.tcp_port as u16;
        return vec![Replica {
            cluster: "default".into(),
            shard: 1,
            replica: 1,
            host: "localhost".into(),
            port,
            is_local: true,
        }];
    }
    let mut rows = Vec::new();
    for cluster in &config.clusters {
        for (shard, replicas) in cluster.shards.iter().enumerate() {
            for (replica, (host, port)) in replicas.iter().enumerate() {
                let is_local = u64::from(*port) == config.server.tcp_port
                    && matches!(host.as_str(), "localhost" | "127.0.0.1" | "::1");
                let (cluster, host) = (cluster.name.clone(), host.clone());
                rows.push(Replica { cluster, shard: shard + 1, replica: replica + 1, host, port: *port, is_local });
            }
        }
    }
    rows
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
        .column("host_name", "String", |row| text(&row.host))
        .column("host_address", "String", |row| text(if row.is_local { "127.0.0.1" } else { "" }))
        .column("port", "UInt16", |row| number(row.port))
        .column("is_local", "UInt8", |row| flag(row.is_local))
        .constant("user", "String", text("default"))
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
