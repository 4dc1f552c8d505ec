//! The engine `Memory`: blocks as they were inserted, gone with the process.

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Waker;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use squall_planner::{ColumnDescription, Constraint, TableMetadata};
use squall_types::{Block, Column, Error, ErrorCode, Result, Schema};

use crate::identity::{TableIdentity, TableName};
use crate::row_claims::RowClaims;
use crate::table::{Claim, InsertWriter, Insertion, Morsel, PartWork, ScanRequest, Table, TableScan};

/// The rows of a table, and what inserts add to.
#[derive(Debug)]
pub(crate) struct MemoryRows {
    blocks: ArcSwap<Blocks>,
    is_dropped: std::sync::atomic::AtomicBool,
}

#[derive(Debug, Default)]
struct Blocks {
    blocks: Vec<Arc<Block>>,
    /// The number of rows before each block, and of all at the end.
    starts: Vec<u64>,
}

impl Blocks {
    fn rows(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    fn with(&self, new: &[Arc<Block>]) -> Self {
        let mut blocks = Vec::with_capacity(self.blocks.len() + new.len());
        blocks.extend(self.blocks.iter().chain(new).cloned());
        let mut starts = Vec::with_capacity(blocks.len() + 1);
        let mut rows = 0;
        starts.push(0);
        for block in &blocks {
            rows += block.rows() as u64;
            starts.push(rows);
        }
        Self { blocks, starts }
    }
}

impl MemoryRows {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { blocks: ArcSwap::default(), is_dropped: false.into() })
    }

    /// Lets go of all rows; scans under way keep theirs.
    pub(crate) fn truncate(&self) {
        self.blocks.store(Arc::default());
    }

    /// Refuses commits from now on.
    pub(crate) fn mark_dropped(&self) {
        self.is_dropped.store(true, std::sync::atomic::Ordering::Release);
        self.truncate();
    }
}

/// A `Memory` table at one moment.
#[derive(Debug)]
pub(crate) struct MemoryTable {
    name: Arc<TableName>,
    identity: Arc<TableIdentity>,
    live: Arc<MemoryRows>,
    blocks: Arc<Blocks>,
}

impl MemoryTable {
    pub(crate) fn new(name: Arc<TableName>, identity: Arc<TableIdentity>, live: Arc<MemoryRows>) -> Self {
        let blocks = live.blocks.load_full();
        Self { name, identity, live, blocks }
    }
}

impl TableMetadata for MemoryTable {
    fn database(&self) -> &str {
        &self.name.database
    }
    fn name(&self) -> &str {
        &self.name.table
    }
    fn engine(&self) -> &str {
        &self.identity.definition.engine
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.identity.definition.columns
    }
    fn rows(&self) -> Option<u64> {
        Some(self.blocks.rows())
    }
    fn constraints(&self) -> &[Constraint] {
        &self.identity.definition.constraints
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Table for MemoryTable {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        let rows = self.blocks.rows();
        Ok(Arc::new(MemoryScan {
            schema: request.schema.clone(),
            columns: self.identity.stored_columns(&request.columns)?,
            blocks: self.blocks.clone(),
            claims: RowClaims::new(request.limited(rows)),
        }))
    }

    fn insert(&self) -> Result<Arc<dyn Insertion>> {
        Ok(Arc::new(MemoryInsertion {
            core: Arc::new(Pending::default()),
            live: self.live.clone(),
            schema: self.identity.stored.clone(),
        }))
    }

    fn bytes(&self) -> Option<u64> {
        Some(self.blocks.blocks.iter().map(|block| block.memory_bytes() as u64).sum())
    }
}

/// The rows of blocks in memory; `columns` are positions in the blocks of the columns that are wanted.
pub(crate) fn scan_blocks(blocks: Vec<Arc<Block>>, request: &ScanRequest, columns: Vec<usize>) -> Arc<dyn TableScan> {
    let blocks = Arc::new(Blocks::default().with(&blocks));
    let claims = RowClaims::new(request.limited(blocks.rows()));
    Arc::new(MemoryScan { schema: request.schema.clone(), columns, blocks, claims })
}

struct MemoryScan {
    schema: Arc<Schema>,
    columns: Vec<usize>,
    blocks: Arc<Blocks>,
    claims: RowClaims,
}

impl TableScan for MemoryScan {
    fn rows_total(&self) -> Option<u64> {
        Some(self.claims.total())
    }

    fn claim(&self, rows: u64, _: &Waker) -> Claim {
        self.claims.claim(rows)
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        let end = morsel.first.saturating_add(morsel.rows).min(self.blocks.rows());
        let mut at = morsel.first;
        let mut block_at = self.blocks.starts.partition_point(|start| *start <= at).saturating_sub(1);
        while at < end {
            let (Some(start), Some(block)) = (self.blocks.starts.get(block_at), self.blocks.blocks.get(block_at))
            else {
                break;
            };
            let rows = (start + block.rows() as u64).min(end) - at;
            let slice = |column: &usize| {
                block.columns().get(*column).map(|column| column.slice((at - start) as usize, rows as usize))
            };
            let columns: Option<Vec<Column>> = self.columns.iter().map(slice).collect();
            let columns = columns.ok_or_else(|| Error::logical("a block without the table's columns"))?;
            if rows > 0 && consume(Block::new(self.schema.clone(), columns, rows as usize))?.is_break() {
                break;
            }
            at += rows;
            block_at += 1;
        }
        Ok(())
    }
}

/// Blocks of an INSERT that is not committed yet.
type Pending = Mutex<Vec<Arc<Block>>>;

struct MemoryInsertion {
    core: Arc<Pending>,
    live: Arc<MemoryRows>,
    schema: Arc<Schema>,
}

impl Insertion for MemoryInsertion {
    fn writer(&self) -> Result<Box<dyn InsertWriter>> {
        Ok(Box::new(MemoryWriter { pending: self.core.clone(), schema: self.schema.clone(), blocks: Vec::new() }))
    }

    fn commit(&self) -> Result<()> {
        if self.live.is_dropped.load(std::sync::atomic::Ordering::Acquire) {
            return Err(Error::new(ErrorCode::TABLE_IS_DROPPED, "Table is dropped"));
        }
        let new = std::mem::take(&mut *self.core.lock());
        if !new.is_empty() {
            self.live.blocks.rcu(|blocks| blocks.with(&new));
        }
        Ok(())
    }
}

struct MemoryWriter {
    pending: Arc<Pending>,
    schema: Arc<Schema>,
    blocks: Vec<Arc<Block>>,
}

impl InsertWriter for MemoryWriter {
    fn write(&mut self, block: Block) -> Result<Option<PartWork>> {
        if !block.is_empty() {
            let block = block.materialize()?.with_schema(self.schema.clone());
            self.blocks.push(Arc::new(block));
        }
        Ok(None)
    }

    fn finish(mut self: Box<Self>) -> Result<Option<PartWork>> {
        self.pending.lock().append(&mut self.blocks);
        Ok(None)
    }
}
