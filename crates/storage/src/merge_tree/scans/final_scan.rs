//! FINAL: a scan of rows as if all parts of the table were merged. Workers read the parts as any scan does and put the blocks aside. Then
//! one of them at a time sorts and merges these, in pieces, and after that the rows are handed out.

use std::collections::BTreeMap;
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use squall_planner::{ColumnDescription, Constraint, TableMetadata, named_like};
use squall_runtime::Pieces;
use squall_types::gather::{concat_blocks, take};
use squall_types::{Block, Column, Error, Result};

use crate::evaluate::evaluate;
use crate::merge_tree::merges::merge_rule::{MergeFor, MergeRule, some_columns};
use crate::merge_tree::order::sorting::sorted_positions;
use crate::merge_tree::{MergeTree, MergeTreeTable};
use crate::row_claims::RowClaims;
use crate::table::{Claim, Morsel, ScanRequest, ScanSelection, Table, TableScan};

/// Marks the number of a claim of what is read; merged rows are numbered below.
const NUMBERED: u64 = 1 << 62;

/// The morsel of who does a piece of the merge, and of who tells of its failure.
const MERGE: Morsel = Morsel { first: u64::MAX, rows: 0 };

/// A table as FINAL shows it.
#[derive(Debug)]
pub(in crate::merge_tree) struct FinalTable {
    pub(in crate::merge_tree) table: MergeTreeTable,
    pub(in crate::merge_tree) rule: MergeRule,
}

impl TableMetadata for FinalTable {
    named_like!(table);

    fn columns(&self) -> &[ColumnDescription] {
        self.table.columns()
    }
    fn constraints(&self) -> &[Constraint] {
        self.table.constraints()
    }
    fn sampling_key(&self) -> Option<&Arc<str>> {
        self.table.sampling_key()
    }
}

impl Table for FinalTable {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        let live = &self.table.live;
        let identity = &live.identity;
        // Definition's columns: those that are wanted, then what keys and the rule need.
        let mut columns = request.columns.clone();
        let mut need = |column: usize| {
            if !columns.contains(&column) {
                columns.push(column);
            }
        };
        for key in &identity.definition.sorting_key {
            key.expression.visit_columns(&mut need);
        }
        for stored in self.rule.columns() {
            if let Some(column) = identity.stored_positions.iter().position(|at| *at == Some(stored)) {
                need(column);
            }
        }
        let places = identity.stored_columns(&columns)?;
        let schema = some_columns(&identity.stored, &places);
        // Only a condition on the key says the same of all rows that are merged into one.
        let predicate = request.predicate.clone().filter(|predicate| {
            let mut is_of_key = true;
            predicate.visit_columns(&mut |at| {
                let column = request.columns.get(at);
                is_of_key &= column.is_some_and(|column| identity.sorting_columns.contains(column));
            });
            is_of_key
        });
        let all = ScanRequest { columns, schema, predicate, bounds: Vec::new(), limit: None, ..request.clone() };
        let scan = self.table.scan_in_order(&all)?;
        Ok(Arc::new(FinalScan {
            live: live.clone(),
            rule: self.rule.clone(),
            request: request.clone(),
            places,
            scan,
            state: Mutex::new(State {
                step: Step::Reading { begun: 0, ended: 0, is_over: false, blocks: BTreeMap::new() },
                waiting: Vec::new(),
            }),
        }))
    }

    fn bytes(&self) -> Option<u64> {
        self.table.bytes()
    }
}

type Merging = Pin<Box<dyn Future<Output = Result<Block>> + Send>>;

struct FinalScan {
    live: Arc<MergeTree>,
    rule: MergeRule,
    request: ScanRequest,
    /// The stored columns that are read.
    places: Vec<usize>,
    scan: Arc<dyn TableScan>,
    state: Mutex<State>,
}

struct State {
    step: Step,
    waiting: Vec<Waker>,
}

enum Step {
    /// Blocks by the number of the claim that brought them.
    Reading {
        begun: u64,
        ended: u64,
        is_over: bool,
        blocks: BTreeMap<u64, (Option<Morsel>, Vec<Block>)>,
    },
    /// `None` while a worker is at it.
    Merging(Option<Merging>),
    Ready(Block, Arc<RowClaims>),
    Failed(Error),
}

impl State {
    fn wake(&mut self) {
        std::mem::take(&mut self.waiting).into_iter().for_each(Waker::wake);
    }
}

impl FinalScan {
    /// What makes one block of all that was read.
    fn merging(&self, blocks: Vec<Block>) -> Merging {
        let (live, rule, places) = (self.live.clone(), self.rule.clone(), self.places.clone());
        let wanted = self.request.clone();
        Box::pin(async move {
            if blocks.is_empty() {
                return Ok(Block::empty(wanted.schema.clone()));
            }
            let mut pieces = Pieces::begin();
            let schema = some_columns(&live.identity.stored, &places);
            let mut block = concat_blocks(&schema, blocks, &mut pieces).await?;
            let mut positions = vec![None; live.identity.stored_positions.len()];
            for (column, stored) in live.identity.stored_positions.iter().enumerate() {
                let at = stored.and_then(|stored| places.iter().position(|place| *place == stored));
                if let Some(position) = positions.get_mut(column) {
                    *position = at;
                }
            }
            let keys = |block: &Block| -> Result<Vec<Column>> {
                let keys = live.identity.definition.sorting_key.iter();
                keys.map(|key| evaluate(&key.expression, block, &positions)).collect()
            };
            let mut by = keys(&block)?;
            if let Some(more) = rule.sorted_by().and_then(|stored| places.iter().position(|place| *place == stored)) {
                by.extend(block.columns().get(more).cloned());
            }
            if let Some(order) = sorted_positions(&by, block.rows(), &mut pieces).await? {
                let mut sorted = Vec::with_capacity(block.columns().len());
                for column in block.columns() {
                    sorted.push(take(column, &order, &mut pieces).await?);
                    pieces.pause().await;
                }
                block = Block::new(schema, sorted, order.len());
            }
            drop(by);
            let keys = keys(&block)?;
            let block = rule.apply(block, &places, &keys, MergeFor::Reading, &mut pieces).await?;
            let columns = block.columns().iter().take(wanted.columns.len()).cloned().collect();
            Ok(Block::new(wanted.schema.clone(), columns, block.rows()))
        })
    }

    /// Notes that a claim was read; the last one begins the merge.
    fn note_read(&self, number: u64, blocks: Vec<Block>) {
        let mut state = self.state.lock();
        if let Step::Reading { ended, blocks: all, .. } = &mut state.step {
            *ended += 1;
            if let Some((_, of_claim)) = all.get_mut(&number) {
                *of_claim = blocks;
            }
        }
        self.begin_merging(&mut state);
    }

    fn begin_merging(&self, state: &mut State) {
        if let Step::Reading { begun, ended, is_over: true, blocks } = &mut state.step
            && begun == ended
        {
            let blocks = std::mem::take(blocks).into_values().flat_map(|(_, blocks)| blocks).collect();
            state.step = Step::Merging(Some(self.merging(blocks)));
            state.wake();
        }
    }

    /// Does a piece of the merge.
    fn merge(&self) -> Result<()> {
        let mut state = self.state.lock();
        let Step::Merging(merging) = &mut state.step else { return Ok(()) };
        let Some(mut work) = merging.take() else { return Ok(()) };
        drop(state);
        let polled = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let mut state = self.state.lock();
        let result = match polled {
            Poll::Pending => {
                state.step = Step::Merging(Some(work));
                Ok(())
            }
            Poll::Ready(Ok(block)) => {
                let rows = self.request.limited(block.rows() as u64);
                state.step = Step::Ready(block, Arc::new(RowClaims::new(rows)));
                Ok(())
            }
            Poll::Ready(Err(error)) => {
                state.step = Step::Failed(error.clone());
                Err(error)
            }
        };
        state.wake();
        result
    }
}

impl TableScan for FinalScan {
    fn rows_total(&self) -> Option<u64> {
        self.scan.rows_total()
    }

    fn selection(&self) -> ScanSelection {
        self.scan.selection()
    }

    fn take_left_out(&self) -> u64 {
        self.scan.take_left_out()
    }

    fn claim(&self, rows: u64, waker: &Waker) -> Claim {
        let mut state = self.state.lock();
        let state = &mut *state;
        loop {
            match &mut state.step {
                Step::Reading { begun, is_over: false, blocks, .. } => match self.scan.claim(rows, waker) {
                    Claim::Morsel(morsel) => {
                        blocks.insert(*begun, (Some(morsel), Vec::new()));
                        *begun += 1;
                        return Claim::Morsel(Morsel { first: NUMBERED | (*begun - 1), rows: 0 });
                    }
                    Claim::Pending => return Claim::Pending,
                    Claim::Finished => {
                        if let Step::Reading { is_over, .. } = &mut state.step {
                            *is_over = true;
                        }
                        self.begin_merging(state);
                    }
                },
                // Others are still reading, or one is merging: they wake who waits.
                Step::Reading { is_over: true, .. } | Step::Merging(None) => {
                    state.waiting.push(waker.clone());
                    return Claim::Pending;
                }
                Step::Merging(Some(_)) | Step::Failed(_) => return Claim::Morsel(MERGE),
                Step::Ready(_, claims) => return claims.claim(rows),
            }
        }
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        if morsel == MERGE {
            if let Step::Failed(error) = &self.state.lock().step {
                return Err(error.clone());
            }
            return self.merge();
        }
        if morsel.rows == 0 && morsel.first & NUMBERED != 0 {
            let number = morsel.first & !NUMBERED;
            let claimed = match &mut self.state.lock().step {
                Step::Reading { blocks, .. } => blocks.get_mut(&number).and_then(|(claimed, _)| claimed.take()),
                _ => None,
            };
            let claimed = claimed.ok_or_else(|| Error::logical("a morsel that nobody claimed"))?;
            let mut read = Vec::new();
            self.scan.read(claimed, &mut |block| {
                read.push(block);
                Ok(ControlFlow::Continue(()))
            })?;
            self.note_read(number, read);
            return Ok(());
        }
        let block = match &self.state.lock().step {
            Step::Ready(block, _) => block.clone(),
            _ => return Err(Error::logical("rows of a merge that is not done")),
        };
        let columns = block.columns().iter().map(|column| column.slice(morsel.first as usize, morsel.rows as usize));
        let piece = Block::new(block.schema().clone(), columns.collect(), morsel.rows as usize);
        consume(piece).map(drop)
    }
}
