//! Reading from other servers. For each shard a thread of the pool follows the answer and sends its blocks to the workers: a server whose
//! rows nobody takes is not read from.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Waker;

use squall_files::Account;
use squall_native::{Packet, Query};
use squall_storage::{Claim, FedScan, Feed, Morsel, TableScan};
use squall_types::{Block, CastOptions, Error, ErrorCode, Result, Schema, Value, cast, checkpoint};

use crate::link::{Peers, in_time, wait_for};

/// A block is so much work, for checkpoints.
const BLOCK_WORK: usize = 1 << 16;
/// The most rows of a block without columns.
const COUNTED_ROWS: u64 = 1 << 20;

/// The scan of one statement's rows from all shards.
pub(crate) struct RemoteScan {
    schema: Arc<Schema>,
    rows: FedScan,
}

impl RemoteScan {
    /// `counts` says that the statement asks for the number of rows.
    pub fn new(peers: Arc<Peers>, text: String, schema: Arc<Schema>, counts: bool) -> Self {
        Self { schema, rows: FedScan::new(move |feed| begin(&peers, text.into(), counts, &feed)) }
    }

    /// A block with the columns that were asked for, whatever their types are there by now.
    fn converted(&self, block: Block) -> Result<Block> {
        if self.schema.is_empty() {
            return Ok(Block::new(self.schema.clone(), Vec::new(), block.rows()));
        }
        if block.columns().len() != self.schema.len() {
            let message = "The other server sends another number of columns than it was asked for";
            return Err(Error::new(ErrorCode::UNEXPECTED_PACKET_FROM_SERVER, message));
        }
        let columns = block.columns().iter().zip(self.schema.types()).map(|(column, wanted)| {
            if column.data_type() == wanted {
                Ok(column.clone())
            } else {
                cast(column, wanted, &CastOptions::default())
            }
        });
        Ok(Block::new(self.schema.clone(), columns.collect::<Result<Vec<_>>>()?, block.rows()))
    }
}

/// Has every shard asked.
fn begin(peers: &Arc<Peers>, text: Arc<str>, counts: bool, feed: &Feed) -> Result<()> {
    for shard in 0..peers.shards.len() {
        let (peers, text, feed) = (peers.clone(), text.clone(), feed.clone());
        Account::of_this_thread().on_thread(move || {
            let followed = wait_for(follow(&peers, shard, &text, counts, &feed));
            if let Err(error) = followed {
                let error = error.context(format_args!("from {}", peers.names()));
                // Who has gone does not want to know.
                let _ = squall_runtime::block_on(feed.send(Err(error)));
            }
        })?;
    }
    Ok(())
}

/// Sends the statement to a shard and gives its blocks away until the end, or until nobody wants more.
async fn follow(peers: &Peers, shard: usize, text: &str, counts: bool, blocks: &Feed) -> Result<()> {
    let mut connection = peers.connect(shard).await?;
    connection.send_query(&Query { text, ..Query::default() }).await?;
    loop {
        let packet = tokio::select! {
            packet = in_time(connection.next_packet()) => packet??,
            () = blocks.closed() => {
                // The connection ends with this, so nobody waits for the end of the answer.
                let _ = connection.cancel().await;
                return Ok(());
            }
        };
        match packet {
            Packet::Data(block) if block.is_empty() => {}
            Packet::Data(block) if counts => {
                let mut rows = block.columns().first().map_or(0, |column| match column.value(0) {
                    Value::UInt64(rows) => rows,
                    _ => 0,
                });
                while rows > 0 {
                    let some = rows.min(COUNTED_ROWS);
                    rows -= some;
                    if blocks.send(Ok(Block::new(Arc::default(), Vec::new(), some as usize))).await.is_err() {
                        return Ok(());
                    }
                }
            }
            Packet::Data(block) => {
                let Err(_) = blocks.send(Ok(block)).await else { continue };
                let _ = connection.cancel().await;
                return Ok(());
            }
            Packet::Exception(error) => return Err(error),
            Packet::EndOfStream => return Ok(()),
            _ => {}
        }
    }
}

/// The rows of a query of the first shard's server. Waits on the calling thread, which must be one that may.
///
/// # Errors
/// Those of the connection, of the query, and of the caller's limits.
pub fn query(peers: &Peers, text: &str) -> Result<Vec<Block>> {
    let rows = async {
        let mut connection = peers.connect(0).await?;
        connection.send_query(&Query { text, ..Query::default() }).await?;
        let mut blocks = Vec::new();
        loop {
            match in_time(connection.next_packet()).await?? {
                Packet::Data(block) if block.is_empty() => {}
                Packet::Data(block) => blocks.push(block),
                Packet::Exception(error) => return Err(error),
                Packet::EndOfStream => return Ok(blocks),
                _ => {}
            }
            checkpoint(BLOCK_WORK)?;
        }
    };
    wait_for(rows).map_err(|error| error.context(format_args!("from {}", peers.names())))
}

impl TableScan for RemoteScan {
    fn rows_total(&self) -> Option<u64> {
        None
    }

    fn claim(&self, rows: u64, waker: &Waker) -> Claim {
        self.rows.claim(rows, waker)
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        self.rows.read(morsel, &mut |block| consume(self.converted(block)?))
    }
}
