//! A query's result as packets with data. Of a small one they are made where they are sent; of a large one workers make and compress
//! several at once.

use squall_types::{Block, Result};

use super::blocks::BlockWriter;
use super::packet::from_server;
use crate::query::{Query, ResultPieces, check_room};

/// A packet with one block of the result.
pub struct DataPacket {
    /// Rows of the block.
    pub rows: usize,
    /// Bytes of its values.
    pub value_bytes: usize,
    /// The packet.
    pub bytes: Vec<u8>,
}

/// Makes the packets of a result, in its order.
pub struct DataPackets {
    writer: BlockWriter,
    pieces: ResultPieces<Result<DataPacket>>,
}

impl DataPackets {
    /// For a client whose blocks `writer` writes.
    pub fn new(writer: BlockWriter) -> Self {
        Self { writer, pieces: ResultPieces::default() }
    }

    /// The next packet, `None` after the last. May be dropped while it waits, and called again.
    ///
    /// # Errors
    /// The query's, and where a block cannot be written.
    pub async fn next(&mut self, query: &mut Query) -> Result<Option<DataPacket>> {
        loop {
            while self.pieces.has_room()
                && let Some(block) = query.try_next_block().transpose()?.flatten()
            {
                self.spawn(block);
            }
            if let Some(packet) = self.pieces.next().await {
                return packet?.map(Some);
            }
            match query.next_block().await? {
                None => return Ok(None),
                Some(block) if block.is_empty() => {}
                Some(block) if self.pieces.has_room() => self.spawn(block),
                Some(block) => return self.make_here(block, query).map(Some),
            }
        }
    }

    /// After the last packet: waits until workers that made packets are gone.
    ///
    /// # Errors
    /// The query's.
    pub async fn end(mut self, query: &mut Query) -> Result<()> {
        match self.pieces.take_workers() {
            Some(_) => query.let_workers_go().await,
            None => Ok(()),
        }
    }

    fn spawn(&mut self, block: Block) {
        if block.is_empty() {
            return;
        }
        let writer = self.writer;
        let value_bytes = block.value_bytes();
        self.pieces.spawn(value_bytes, async move {
            check_room(value_bytes)?;
            let mut bytes = Vec::new();
            writer.write_in_pieces(from_server::DATA, &block, &mut bytes).await?;
            Ok(DataPacket { rows: block.rows(), value_bytes, bytes })
        });
    }

    fn make_here(&mut self, block: Block, query: &mut Query) -> Result<DataPacket> {
        let (rows, value_bytes) = (block.rows(), block.value_bytes());
        query.check_room(value_bytes)?;
        let mut bytes = Vec::new();
        self.writer.write(from_server::DATA, &block, &mut bytes)?;
        query.give_back(block);
        self.pieces.count_here(value_bytes, query);
        Ok(DataPacket { rows, value_bytes, bytes })
    }
}
