//! The engine `Memory`: blocks as they were inserted, gone with the process.

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Waker;

use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use squall_planner::{ColumnDescription, Constraint, TableMetadata};
use squall_types::{Block, Column, Error, ErrorCode, Result, Schema};

use crate::column_mapping::{ColumnDefaults, ColumnMapping, Source};
use crate::identity::{TableIdentity, TableName};
use crate::key_binding::KeyBinding;
use crate::row_claims::RowClaims;
use crate::table::{Claim, InsertPlace, InsertWriter, Insertion, Morsel, PartWork, ScanRequest, Table, TableScan};

/// The rows of a table, and what inserts add to.
#[derive(Debug)]
pub(crate) struct MemoryRows {
    blocks: ArcSwap<Blocks>,
    is_dropped: std::sync::atomic::AtomicBool,
    /// How many inserts there were.
    commits: AtomicU64,
    /// Held while rows come in or are exchanged for others.
    changing: Mutex<()>,
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
        Arc::new(Self {
            blocks: ArcSwap::default(),
            is_dropped: false.into(),
            commits: AtomicU64::new(0),
            changing: Mutex::default(),
        })
    }

    /// These rows.
    ///
    /// # Errors
    /// Those of memory.
    pub(crate) fn of(blocks: Vec<Block>) -> Result<Arc<Self>> {
        let blocks = blocks.into_iter().map(|block| block.materialize().map(Arc::new)).collect::<Result<Vec<_>>>()?;
        let rows = Self::new();
        rows.blocks.store(Arc::new(Blocks::default().with(&blocks)));
        Ok(rows)
    }

    /// Lets go of all rows; scans under way keep theirs.
    pub(crate) fn truncate(&self) {
        self.blocks.store(Arc::default());
    }

    /// The rows of a table whose columns have become others. What is inserted from now on into the rows as they were is refused.
    ///
    /// # Errors
    /// Those of casts and of the defaults of new columns.
    pub(crate) fn altered(
        &self,
        before: &TableIdentity,
        after: &TableIdentity,
        origins: &[Option<usize>],
        binding: &KeyBinding,
    ) -> Result<Arc<Self>> {
        let _changing = self.changing.lock();
        let source = |(at, column): (usize, &ColumnDescription)| {
            let origin = origins.get(at).copied().flatten();
            let stored = origin.and_then(|origin| before.stored_positions.get(origin).copied().flatten());
            match stored.and_then(|stored| Some((stored, before.stored.fields.get(stored)?))) {
                Some((stored, (_, data_type))) if *data_type == column.data_type => Source::Same(stored),
                Some((stored, _)) => Source::Cast(stored),
                None => Source::Missing,
            }
        };
        let sources = after.definition.columns.iter().enumerate().map(source).collect();
        let positions = after.stored_positions.iter().enumerate();
        let wanted: Vec<usize> = positions.filter_map(|(at, stored)| stored.map(|_| at)).collect();
        let defaults = Arc::new(ColumnDefaults::new(&after.definition, binding));
        let mapping = ColumnMapping::new(defaults, sources, &wanted)?;
        let mut blocks = Vec::new();
        for block in &self.blocks.load().blocks {
            let read = mapping.read.iter().filter_map(|at| block.columns().get(*at));
            let read = Block::new(block.schema().clone(), read.cloned().collect(), block.rows());
            blocks.push(Arc::new(mapping.map(&read, &after.stored)?.materialize()?));
        }
        self.is_dropped.store(true, Ordering::Release);
        let rows = Self::new();
        rows.blocks.store(Arc::new(Blocks::default().with(&blocks)));
        Ok(rows)
    }

    /// Takes rows again, after an alteration that came to nothing.
    pub(crate) fn thaw(&self) {
        self.is_dropped.store(false, Ordering::Release);
    }

    /// Refuses commits from now on.
    pub(crate) fn mark_dropped(&self) {
        self.is_dropped.store(true, Ordering::Release);
        self.truncate();
    }
}

/// The rows of a table while a query computes what will stand for them.
pub(crate) struct RowRewriting {
    identity: Arc<TableIdentity>,
    live: Arc<MemoryRows>,
    before: Arc<Blocks>,
    after: Arc<MemoryRows>,
}

impl RowRewriting {
    /// Begins to rewrite a table's rows.
    pub(crate) fn new(identity: Arc<TableIdentity>, live: Arc<MemoryRows>) -> Self {
        let before = live.blocks.load_full();
        Self { identity, live, before, after: MemoryRows::new() }
    }

    /// The rows as a table, and one for those that will stand for them.
    pub(crate) fn piece(&self, name: &Arc<TableName>) -> (Arc<dyn Table>, Arc<dyn Table>) {
        let (name, identity) = (name.clone(), self.identity.clone());
        let source = MemoryTable {
            name: name.clone(),
            identity: identity.clone(),
            live: self.live.clone(),
            blocks: self.before.clone(),
        };
        (Arc::new(source), Arc::new(MemoryTable::new(name, identity, self.after.clone())))
    }

    /// Exchanges the rows, where any were written; those that were inserted meanwhile stay.
    ///
    /// # Errors
    /// `TABLE_IS_DROPPED`; `CANNOT_ASSIGN_ALTER` where other rows went meanwhile.
    pub(crate) fn commit(self) -> Result<()> {
        if self.after.commits.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        let _changing = self.live.changing.lock();
        if self.live.is_dropped.load(Ordering::Acquire) {
            return Err(Error::new(ErrorCode::TABLE_IS_DROPPED, "Table is dropped"));
        }
        let now = self.live.blocks.load_full();
        let before = &self.before.blocks;
        let is_there = now.blocks.len() >= before.len()
            && now.blocks.iter().zip(before).all(|(now, before)| Arc::ptr_eq(now, before));
        if !is_there {
            let message = "The table's rows were changed by another query meanwhile";
            return Err(Error::new(ErrorCode::CANNOT_ASSIGN_ALTER, message));
        }
        let written = self.after.blocks.load_full();
        let later = now.blocks.get(before.len()..).unwrap_or_default();
        self.live.blocks.store(Arc::new(written.with(later)));
        Ok(())
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
type Pending = Mutex<Vec<(InsertPlace, Arc<Block>)>>;

struct MemoryInsertion {
    core: Arc<Pending>,
    live: Arc<MemoryRows>,
    schema: Arc<Schema>,
}

impl Insertion for MemoryInsertion {
    fn writer(&self) -> Result<Box<dyn InsertWriter>> {
        Ok(Box::new(MemoryWriter {
            pending: self.core.clone(),
            schema: self.schema.clone(),
            place: InsertPlace::default(),
            blocks: Vec::new(),
        }))
    }

    fn commit(&self) -> Result<()> {
        let _changing = self.live.changing.lock();
        if self.live.is_dropped.load(Ordering::Acquire) {
            return Err(Error::new(ErrorCode::TABLE_IS_DROPPED, "Table is dropped"));
        }
        self.live.commits.fetch_add(1, Ordering::Relaxed);
        let mut new = std::mem::take(&mut *self.core.lock());
        new.sort_by_key(|(place, _)| *place);
        let new: Vec<Arc<Block>> = new.into_iter().map(|(_, block)| block).collect();
        if !new.is_empty() {
            self.live.blocks.rcu(|blocks| blocks.with(&new));
        }
        Ok(())
    }
}

struct MemoryWriter {
    pending: Arc<Pending>,
    schema: Arc<Schema>,
    place: InsertPlace,
    blocks: Vec<(InsertPlace, Arc<Block>)>,
}

impl InsertWriter for MemoryWriter {
    fn set_place(&mut self, place: InsertPlace) {
        self.place = place;
    }

    fn write(&mut self, block: Block) -> Result<Option<PartWork>> {
        if !block.is_empty() {
            let block = block.materialize()?.with_schema(self.schema.clone());
            self.blocks.push((self.place, Arc::new(block)));
        }
        Ok(None)
    }

    fn finish(mut self: Box<Self>) -> Result<Option<PartWork>> {
        self.pending.lock().append(&mut self.blocks);
        Ok(None)
    }
}
