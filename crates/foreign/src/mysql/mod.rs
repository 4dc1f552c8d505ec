//! MySQL and MariaDB: rows come in the binary form of prepared statements, and go as INSERTs of many rows.

mod insert;
mod kind;
mod link;
mod read;
mod structure;
mod value;

use std::time::Duration;

use squall_types::{Result, Settings};

use crate::conflict::Conflict;
use crate::engine::{Asked, Columns, Engine, ForeignColumn, Source, Written};
use crate::feed::{Blocks, Incoming};
use crate::server::ForeignServer;

/// MySQL's and MariaDB's servers.
#[derive(Clone, Copy, Debug)]
pub struct MySql;

impl Engine for MySql {
    type Kind = kind::Kind;
    type Conflict = Conflict;
    const NAME: &'static str = "MySQL";
    const PORT: u16 = 3306;
    const SCHEMA: Option<&'static str> = None;

    fn connect_max(settings: &Settings) -> Duration {
        Duration::from_secs(settings.external_storage_connect_timeout_sec)
    }

    fn name_sql(name: &str) -> String {
        format!("`{}`", name.replace('`', "``"))
    }

    fn literal_sql(text: &[u8]) -> Option<String> {
        let text = std::str::from_utf8(text).ok()?;
        Some(format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''").replace('\0', "\\0")))
    }

    async fn columns(
        server: &ForeignServer,
        source: &Source,
        wanted: Columns,
    ) -> Result<Vec<ForeignColumn<kind::Kind>>> {
        structure::columns(server, source, wanted).await
    }

    async fn follow(server: &ForeignServer, asked: &Asked<kind::Kind>, blocks: &Blocks) -> Result<()> {
        read::follow(server, asked, blocks).await
    }

    async fn carry(server: &ForeignServer, written: &Written<Conflict>, incoming: &Incoming) -> Result<()> {
        insert::carry(server, written, incoming).await
    }
}
