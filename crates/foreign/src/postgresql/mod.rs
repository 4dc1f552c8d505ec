//! PostgreSQL: rows come by COPY in its binary form, and go by COPY in its text form.

mod binary;
mod insert;
mod kind;
mod link;
mod read;
mod structure;
mod text;
mod tls;

use std::time::Duration;

use squall_types::{Result, Settings};

use crate::engine::{Asked, Columns, Engine, ForeignColumn, Source, Written};
use crate::feed::{Blocks, Incoming};
use crate::server::ForeignServer;

/// PostgreSQL's servers.
#[derive(Clone, Copy, Debug)]
pub struct PostgreSql;

impl Engine for PostgreSql {
    type Kind = kind::Kind;
    /// `ON CONFLICT …`, or nothing.
    type Conflict = String;
    const NAME: &'static str = "PostgreSQL";
    const PORT: u16 = 5432;
    const SCHEMA: Option<&'static str> = Some("public");

    fn connect_max(settings: &Settings) -> Duration {
        Duration::from_secs(settings.postgresql_connection_attempt_timeout)
    }

    fn name_sql(name: &str) -> String {
        format!("\"{}\"", name.replace('"', "\"\""))
    }

    fn literal_sql(text: &[u8]) -> Option<String> {
        // Its strings have no zero bytes.
        let text = std::str::from_utf8(text).ok().filter(|text| !text.contains('\0'))?;
        let quoted = text.replace('\'', "''");
        Some(match quoted.contains('\\') {
            true => format!("E'{}'", quoted.replace('\\', "\\\\")),
            false => format!("'{quoted}'"),
        })
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

    async fn carry(server: &ForeignServer, written: &Written<String>, incoming: &Incoming) -> Result<()> {
        insert::carry(server, written, incoming).await
    }
}
