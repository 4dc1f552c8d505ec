//! Rows that come one by one, as blocks for who waits for them; and blocks that are handed over to be written.

use std::sync::Arc;
use std::time::Duration;

use squall_storage::{Feed, Handed};
use squall_types::{Block, Column, ColumnBuilder, Result, Schema, Value, checkpoint, default_value};
use tokio::sync::Mutex;
use tokio::sync::mpsc::Receiver;

/// Rows of a block.
const BLOCK_ROWS: usize = 8192;
/// Bytes of a block, about: fewer rows have more.
const BLOCK_BYTES: usize = 16 << 20;

/// Between two looks at whether an INSERT was given up.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What writers hand over.
pub struct Incoming(Mutex<Receiver<Handed>>);

impl Incoming {
    /// What comes through a queue.
    pub(crate) fn new(received: Receiver<Handed>) -> Self {
        Self(Mutex::new(received))
    }

    /// What comes next; `None` where the INSERT was given up.
    pub(crate) async fn next(&self) -> Option<Handed> {
        self.0.lock().await.recv().await
    }

    /// Ends once the INSERT was given up, also while nobody asks what comes next: a statement there may wait for a lock.
    pub(crate) async fn given_up(&self) {
        // Who waits for a commit has not given up.
        while self.0.try_lock().map_or(true, |received| received.sender_strong_count() > 0) {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// Where blocks go.
pub struct Blocks(pub Feed);

impl Blocks {
    /// Gives a block away; `false` where nobody wants more.
    pub async fn give(&self, block: Block) -> bool {
        self.0.send(Ok(block)).await.is_ok()
    }

    /// Ends once nobody wants more.
    pub async fn unwanted(&self) {
        self.0.closed().await;
    }
}

/// A block in the making.
pub(crate) struct BlockMaker {
    schema: Arc<Schema>,
    builders: Vec<ColumnBuilder>,
    rows: usize,
    bytes: usize,
}

impl BlockMaker {
    /// One without rows.
    pub fn new(schema: &Arc<Schema>) -> Self {
        let builders = schema.types().map(|of| ColumnBuilder::new(of.clone())).collect();
        Self { schema: schema.clone(), builders, rows: 0, bytes: 0 }
    }

    /// Whether it is to be given away.
    pub fn is_full(&self) -> bool {
        self.rows >= BLOCK_ROWS || self.bytes >= BLOCK_BYTES
    }

    /// Takes a column's value of the row that is being made, which took so many bytes. NULL is the default of a type that has none.
    ///
    /// # Errors
    /// Where the value is not of the column's type.
    pub fn put(&mut self, column: usize, value: &Value, bytes: usize) -> Result<()> {
        let Some(builder) = self.builders.get_mut(column) else { return Ok(()) };
        self.bytes += bytes;
        match (value, self.schema.types().nth(column)) {
            (Value::Null, Some(of)) if !of.is_nullable() => builder.append(&default_value(of)),
            _ => builder.append(value),
        }
    }

    /// Ends the row.
    pub fn end_row(&mut self) {
        self.rows += 1;
    }

    /// The block; `None` where it has no rows.
    ///
    /// # Errors
    /// Those of the query's limits.
    pub fn finish(self) -> Result<Option<Block>> {
        checkpoint(self.rows * self.schema.len().max(1) + self.bytes)?;
        let columns: Vec<Column> = self.builders.into_iter().map(ColumnBuilder::finish).collect::<Result<_>>()?;
        Ok((self.rows > 0).then(|| Block::new(self.schema, columns, self.rows)))
    }
}
