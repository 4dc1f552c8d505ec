//! Reading: rows are read from the connection as they are taken, so that the server waits while nobody takes them.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Value as Sent};
use squall_types::Result;

use super::kind::Kind;
use super::link::{cancel, connect_to_read, said};
use super::value::Decoder;
use crate::engine::Asked;
use crate::feed::{BlockMaker, Blocks};
use crate::server::ForeignServer;
use crate::watch::{until_unwanted, while_wanted};

/// Gives the rows of a statement away.
///
/// # Errors
/// Those of the connection, of the statement, and of the query's limits.
pub(super) async fn follow(server: &ForeignServer, asked: &Asked<Kind>, blocks: &Blocks) -> Result<()> {
    let mut connection = while_wanted(connect_to_read(server)).await?;
    let number = connection.id();
    let give = give(&mut connection, server, asked, blocks);
    until_unwanted(give, blocks.unwanted(), async || cancel(server, number).await).await
}

async fn give(connection: &mut Conn, server: &ForeignServer, asked: &Asked<Kind>, blocks: &Blocks) -> Result<()> {
    let mut rows = connection.exec_iter(asked.sql.as_str(), ()).await.map_err(|error| said(&error))?;
    let mut decoders: Vec<Decoder> =
        asked.kinds.iter().zip(asked.schema.types()).map(|(kind, of)| Decoder::new(*kind, of, &server.zone)).collect();
    let mut is_over = false;
    while !is_over {
        let mut maker = BlockMaker::new(&asked.schema);
        while !maker.is_full() {
            let Some(row) = rows.next().await.map_err(|error| said(&error))? else {
                is_over = true;
                break;
            };
            for (at, (decoder, sent)) in decoders.iter_mut().zip(row.unwrap()).enumerate() {
                let bytes = if let Sent::Bytes(bytes) = &sent { bytes.len() } else { size_of::<u64>() };
                maker.put(at, &decoder.value(sent)?, bytes)?;
            }
            maker.end_row();
        }
        if let Some(block) = maker.finish()?
            && !blocks.give(block).await
        {
            return Ok(());
        }
    }
    Ok(())
}
