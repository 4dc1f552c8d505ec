//! The clusters of `remote_servers`: their shards, and the replicas of each with what it takes to ask one.

use squall_types::Result;

use super::element::Element;
use super::{Findings, TCP_PORT_DEFAULT, TCP_PORT_SECURE_DEFAULT, Verdict};

/// One cluster of `remote_servers`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cluster {
    /// The element's name.
    pub name: String,
    /// The replicas of each shard, in order.
    pub shards: Vec<Vec<Replica>>,
}

/// A server of a cluster, and as whom it is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replica {
    /// Its host.
    pub host: String,
    /// The port of the native protocol there.
    pub port: u16,
    /// The user there.
    pub user: String,
    /// The user's password.
    pub password: String,
    /// Whether to speak under TLS.
    pub is_secure: bool,
}

impl Cluster {
    /// Reads an element below `remote_servers`.
    pub(super) fn read(element: &Element, findings: &mut Findings) -> Result<Self> {
        let mut shards = Vec::new();
        for child in &element.children {
            match child.name.as_str() {
                "shard" => shards.push(read_shard(child, findings)?),
                "secret" => {
                    let verdict = Verdict::Missing("servers are asked as the user of their replica element");
                    findings.note(child, "remote_servers/secret", verdict);
                }
                name => findings.unknown(child, &format!("remote_servers/{name}")),
            }
        }
        Ok(Self { name: element.name.clone(), shards })
    }
}

/// The replicas of an element `shard`.
fn read_shard(element: &Element, findings: &mut Findings) -> Result<Vec<Replica>> {
    let mut replicas = Vec::new();
    for child in &element.children {
        match child.name.as_str() {
            "replica" => replicas.push(Replica::read(child, findings)?),
            name @ ("weight" | "internal_replication") => {
                let name = format!("remote_servers/shard/{name}");
                findings.note(child, &name, Verdict::Harmless("no INSERT is spread over shards"));
            }
            "name" => {
                let verdict = Verdict::Missing("system.clusters does not show it");
                findings.note(child, "remote_servers/shard/name", verdict);
            }
            name => findings.unknown(child, &format!("remote_servers/shard/{name}")),
        }
    }
    Ok(replicas)
}

impl Replica {
    /// Reads an element `replica`.
    fn read(element: &Element, findings: &mut Findings) -> Result<Self> {
        let (mut host, mut port) = ("localhost".to_owned(), None);
        let (mut user, mut password, mut is_secure) = ("default".to_owned(), String::new(), false);
        for child in &element.children {
            match child.name.as_str() {
                "host" => host = child.trimmed().to_owned(),
                "port" => port = Some(child.value("a port number")?),
                "user" => user = child.trimmed().to_owned(),
                "password" => password = child.text.clone(),
                "secure" => is_secure = child.boolean()?,
                "priority" => {
                    let verdict = Verdict::Missing("replicas are tried in their order");
                    findings.note(child, "remote_servers/shard/replica/priority", verdict);
                }
                "compression" => {
                    let verdict = Verdict::Harmless("it changes no answer");
                    findings.note(child, "remote_servers/shard/replica/compression", verdict);
                }
                name => findings.unknown(child, &format!("remote_servers/shard/replica/{name}")),
            }
        }
        let port_default = if is_secure { TCP_PORT_SECURE_DEFAULT as u16 } else { TCP_PORT_DEFAULT as u16 };
        Ok(Self { host, port: port.unwrap_or(port_default), user, password, is_secure })
    }
}
