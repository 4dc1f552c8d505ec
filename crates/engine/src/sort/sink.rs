//! The sink of a sort: each worker collects a run. With a limit it keeps only the rows that can be among the first: rows beyond
//! the best known limit-th key are dropped before they are copied.

use std::sync::Arc;

use arrow_array::UInt32Array;
use parking_lot::{Mutex, RwLock};
use squall_planner::SortKey;
use squall_types::{Block, Result, Schema};

use super::keys::{KeyRows, encode_keys};
use super::merge::SortMerge;
use super::run::Run;
use crate::pipeline::{LocalSink, Sequence, Sink, downcast_local};

/// Limits above this are sorted like everything: keeping so many first rows costs more than sorting once.
const TOP_ROWS_MAX: u64 = 100_000;

/// What is sorted by.
pub(crate) struct Order {
    pub(crate) keys: Vec<SortKey>,
    pub(crate) schema: Arc<Schema>,
    pub(crate) limit: Option<u64>,
    /// A key that no row of the result can be beyond, found by any worker.
    pub(crate) bound: RwLock<Option<Vec<u8>>>,
}

impl Order {
    pub(crate) fn new(keys: Vec<SortKey>, schema: Arc<Schema>, limit: Option<u64>) -> Self {
        Self { keys, schema, limit, bound: RwLock::default() }
    }

    fn top_rows(&self) -> Option<usize> {
        self.limit.filter(|limit| *limit <= TOP_ROWS_MAX).map(|limit| limit as usize)
    }
}

/// Collects runs; the sorted rows come out of [`SortMerge`].
pub(crate) struct SortSink {
    pub(crate) order: Arc<Order>,
    pub(crate) merge: Arc<Mutex<SortMerge>>,
}

impl Sink for SortSink {
    fn local(&self) -> Result<Box<dyn LocalSink>> {
        Ok(Box::new(SortLocal { order: self.order.clone(), run: Run::default() }))
    }

    fn finish(&self, locals: Vec<Box<dyn LocalSink>>) -> Result<()> {
        let locals = locals.into_iter().map(downcast_local::<SortLocal>).collect::<Result<Vec<_>>>()?;
        self.merge.lock().begin(locals.into_iter().map(|local| local.run).collect());
        Ok(())
    }

    fn name(&self) -> &'static str {
        "PartialSortingTransform"
    }
}

struct SortLocal {
    order: Arc<Order>,
    run: Run,
}

impl LocalSink for SortLocal {
    fn consume(&mut self, _: Sequence, block: Block) -> Result<()> {
        let keys = encode_keys(&self.order.keys, &block)?;
        let Some(top) = self.order.top_rows() else {
            self.run.push(block, keys);
            return Ok(());
        };
        if top == 0 {
            return Ok(());
        }
        let (block, keys) = match &*self.order.bound.read() {
            Some(bound) => within(block, keys, bound)?,
            None => (block, keys),
        };
        self.run.push(block, keys);
        // A few times the limit are collected before the run is cut, so that cutting costs little per row.
        if self.run.rows() > top * 4 + 4096 {
            self.run.sort(Some(top));
            self.run.compact(&self.order.schema)?;
            if let Some(last) = self.run.entries.last() {
                let key = self.run.key(last);
                let mut bound = self.order.bound.write();
                if bound.as_deref().is_none_or(|known| key < known) {
                    *bound = Some(key.to_vec());
                }
            }
        }
        Ok(())
    }
}

/// The rows whose keys are not beyond `bound`.
fn within(block: Block, keys: KeyRows, bound: &[u8]) -> Result<(Block, KeyRows)> {
    let rows: Vec<u32> = (0..block.rows() as u32).filter(|row| keys.key(*row as usize) <= bound).collect();
    if rows.len() == block.rows() {
        return Ok((block, keys));
    }
    let mut kept = KeyRows { bytes: Vec::new(), offsets: vec![0] };
    for row in &rows {
        kept.bytes.extend_from_slice(keys.key(*row as usize));
        kept.offsets.push(kept.bytes.len());
    }
    Ok((block.take(&UInt32Array::from(rows))?, kept))
}
