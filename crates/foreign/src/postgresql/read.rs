//! Reading: a server that copies out waits while nobody takes its rows.

use std::pin::pin;

use futures_util::StreamExt;
use squall_types::Result;
use tokio_postgres::Client;
use tokio_postgres::binary_copy::{BinaryCopyOutRow, BinaryCopyOutStream};
use tokio_postgres::types::{FromSql, Type};

use super::binary::Decoder;
use super::kind::Kind;
use super::link::{connect_to_read, said};
use crate::engine::Asked;
use crate::feed::{BlockMaker, Blocks};
use crate::server::ForeignServer;
use crate::watch::{until_unwanted, while_wanted};

/// The bytes of a value, of whatever type.
struct Raw<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, bytes: &'a [u8]) -> std::result::Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(bytes))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Gives the rows of a statement away.
///
/// # Errors
/// Those of the connection, of the statement, and of the query's limits.
pub(super) async fn follow(server: &ForeignServer, asked: &Asked<Kind>, blocks: &Blocks) -> Result<()> {
    let link = while_wanted(connect_to_read(server)).await?;
    until_unwanted(copy(&link.client, server, asked, blocks), blocks.unwanted(), async || link.cancel().await).await
}

async fn copy(client: &Client, server: &ForeignServer, asked: &Asked<Kind>, blocks: &Blocks) -> Result<()> {
    let copy = format!("COPY ({}) TO STDOUT (FORMAT binary)", asked.sql);
    let stream = client.copy_out(copy.as_str()).await.map_err(|error| said(&error))?;
    // Without columns each row has a one.
    let types = vec![Type::BYTEA; asked.kinds.len().max(1)];
    let mut rows = pin!(BinaryCopyOutStream::new(stream, &types));
    let mut decoders: Vec<Decoder> =
        asked.kinds.iter().zip(asked.schema.types()).map(|(kind, of)| Decoder::new(*kind, of, &server.zone)).collect();
    let mut is_over = false;
    while !is_over {
        let mut maker = BlockMaker::new(&asked.schema);
        while !maker.is_full() {
            let Some(row) = rows.next().await.transpose().map_err(|error| said(&error))? else {
                is_over = true;
                break;
            };
            take(&row, &mut decoders, &mut maker)?;
        }
        if let Some(block) = maker.finish()?
            && !blocks.give(block).await
        {
            return Ok(());
        }
    }
    Ok(())
}

fn take(row: &BinaryCopyOutRow, decoders: &mut [Decoder], maker: &mut BlockMaker) -> Result<()> {
    for (at, decoder) in decoders.iter_mut().enumerate() {
        let raw: Option<Raw<'_>> = row.try_get(at).map_err(|error| said(&error))?;
        let bytes = raw.map(|raw| raw.0);
        maker.put(at, &decoder.value(bytes)?, bytes.map_or(0, <[u8]>::len))?;
    }
    maker.end_row();
    Ok(())
}
