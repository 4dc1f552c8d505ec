//! FINAL: a scan of rows as if all parts of the table were merged. The key's first column cuts the rows into ranges, of which each is merged
//! by itself: workers read a range's parts as any scan does and put the blocks aside. Then one of them at a time sorts and merges these, in
//! pieces, and after that the rows are handed out. A worker that finds nothing to do in the ranges that are begun begins the next. Where a range
//! is of one part that a merge has made, its rows are handed out as they are.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use squall_planner::{ColumnDescription, Constraint, Expression, TableMetadata, named_like};
use squall_runtime::Pieces;
use squall_types::gather::{concat_blocks, take};
use squall_types::{Block, Column, Error, Result};

use super::indexed_scan;
use super::key_ranges::{self, KeyRange};
use super::pruning::{Segment, selection};
use crate::evaluate::evaluate;
use crate::merge_tree::merges::merge_rule::{MergeFor, MergeRule, some_columns};
use crate::merge_tree::order::sorting::sorted_positions;
use crate::merge_tree::parts::part_name::PartName;
use crate::merge_tree::skip_index::IndexFilter;
use crate::merge_tree::{MergeTree, MergeTreeTable};
use crate::row_claims::RowClaims;
use crate::table::{Claim, Morsel, ScanRequest, ScanSelection, Table, TableScan};

/// Rows of a range, but for the last: so few that those ranges which workers are at take little memory, and so many that the granules which
/// two ranges share, and read both, are few.
const RANGE_ROWS_MIN: usize = 1 << 18;
/// More rows are cut into no more ranges than this for each CPU, so that ranges are larger.
const RANGES_OF_CPU: usize = 4;
/// The same from above: what workers are at stays in memory.
const RANGE_ROWS_MAX: usize = 1 << 20;

/// Bits of a morsel's first row that are of its range; those above are the range.
const RANGE_BITS: u32 = 40;
/// Marks the number of a claim of what is read; merged rows are numbered below.
const NUMBERED: u64 = 1 << 39;
/// The number of who does a piece of the merge.
const MERGE: u64 = (1 << RANGE_BITS) - 1;
/// The morsel of who tells of a failure.
const FAILED: Morsel = Morsel { first: u64::MAX, rows: 0 };

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
    fn tokenizer(&self, expression: &Expression) -> Option<String> {
        self.table.tokenizer(expression)
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
        let key = key_ranges::key_column(live).and_then(|key| columns.iter().position(|column| *column == key));
        let all = ScanRequest { columns, schema, predicate, bounds: Vec::new(), limit: None, ..request.clone() };
        let selected = self.table.in_order_of_inserts().selected(&all)?;
        let rows: usize = selected.segments.iter().map(|segment| segment.rows).sum();
        let selection = selection(&selected.segments);
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let rows_min = (rows / (cpus * RANGES_OF_CPU)).clamp(RANGE_ROWS_MIN, RANGE_ROWS_MAX);
        Ok(Arc::new(FinalScan {
            live: live.clone(),
            rule: self.rule.clone(),
            request: request.clone(),
            all: selected.request,
            filters: selected.filters,
            places,
            key,
            rows: rows as u64,
            selection,
            begun_max: 2 * cpus,
            state: Mutex::new(State {
                next: 0,
                waiting_ranges: key_ranges::split(live, selected.segments, rows_min).into(),
                begun: BTreeMap::new(),
                failure: None,
                left_out: 0,
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
    /// What is wanted of the merged rows.
    request: ScanRequest,
    /// What is read of the parts.
    all: ScanRequest,
    filters: Vec<Arc<IndexFilter>>,
    /// The stored columns that are read.
    places: Vec<usize>,
    /// The place of the key's first column among them, where it cuts rows into ranges.
    key: Option<usize>,
    rows: u64,
    selection: ScanSelection,
    /// So many ranges may be in memory at once.
    begun_max: usize,
    state: Mutex<State>,
}

struct State {
    /// The number of the next range.
    next: u64,
    /// Those that nobody has begun.
    waiting_ranges: VecDeque<(KeyRange, Vec<Segment>)>,
    /// Those whose rows are not all handed out, by their numbers.
    begun: BTreeMap<u64, RangeState>,
    failure: Option<Error>,
    /// Rows that were read and left out in ranges that are forgotten.
    left_out: u64,
    waiting: Vec<Waker>,
}

/// A range that is begun.
struct RangeState {
    range: KeyRange,
    scan: Arc<dyn TableScan>,
    /// Claims that were made of it.
    claims: u64,
    /// Claims whose rows are not read yet.
    outstanding: u64,
    step: Step,
}

enum Step {
    /// Blocks by the number of the claim that brought them.
    Reading {
        is_over: bool,
        blocks: BTreeMap<u64, (Option<Morsel>, Vec<Block>)>,
    },
    /// `None` while a worker is at it.
    Merging(Option<Merging>),
    Ready(Block, Arc<RowClaims>),
    /// The rows are handed out as they are read: what was claimed, by the number of the claim.
    Passing {
        is_over: bool,
        claimed: HashMap<u64, Morsel>,
    },
}

/// What a range has for who asks.
enum Offer {
    Morsel(Morsel),
    /// Nothing now: who is at it wakes those who wait.
    Nothing,
    /// Nothing any more.
    Finished,
}

impl State {
    fn wake(&mut self) {
        std::mem::take(&mut self.waiting).into_iter().for_each(Waker::wake);
    }

    fn fail(&mut self, error: &Error) {
        self.failure.get_or_insert_with(|| error.clone());
        self.wake();
    }

    /// Notes that a claim was read, and forgets its range where that was the last one.
    fn note_done(&mut self, number: u64) {
        let Some(range) = self.begun.get_mut(&number) else { return };
        range.outstanding -= 1;
        if range.is_finished() {
            self.forget(number);
            self.wake();
        }
    }

    /// Gives up what a range has in memory.
    fn forget(&mut self, number: u64) {
        self.left_out += self.begun.remove(&number).map_or(0, |range| range.scan.take_left_out());
    }
}

impl RangeState {
    /// Whether all rows were handed out.
    fn is_finished(&self) -> bool {
        self.outstanding == 0
            && match &self.step {
                Step::Ready(_, claims) => claims.is_over(),
                Step::Passing { is_over, .. } => *is_over,
                Step::Reading { .. } | Step::Merging(_) => false,
            }
    }

    /// Counts a claim and gives it a number.
    fn number_claim(&mut self) -> u64 {
        self.claims += 1;
        self.outstanding += 1;
        self.claims - 1
    }
}

fn of_range(number: u64, low: u64, rows: u64) -> Morsel {
    Morsel { first: number << RANGE_BITS | low, rows }
}

impl FinalScan {
    /// What makes one block of all that was read of a range.
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
            Ok(first_columns(&block, &wanted))
        })
    }

    /// Begins the next range.
    fn begin(&self, state: &mut State) -> Result<()> {
        let Some((range, segments)) = state.waiting_ranges.pop_front() else { return Ok(()) };
        let step = match self.rule.leaves_merged_rows() && is_of_one_merged_part(&segments) {
            true => Step::Passing { is_over: false, claimed: HashMap::new() },
            false => Step::Reading { is_over: false, blocks: BTreeMap::new() },
        };
        let scan = indexed_scan::scan(&self.live, segments, &self.filters, &self.all)?;
        state.begun.insert(state.next, RangeState { range, scan, claims: 0, outstanding: 0, step });
        state.next += 1;
        Ok(())
    }

    /// What a range has to do, or to hand out if it `is_first`: rows are handed out in the order of the key.
    fn offer(&self, (number, own): (u64, &mut RangeState), is_first: bool, rows: u64, waker: &Waker) -> Offer {
        loop {
            match &mut own.step {
                Step::Ready(..) | Step::Passing { .. } if !is_first => return Offer::Nothing,
                Step::Reading { is_over: true, .. } if own.outstanding == 0 => {
                    if let Step::Reading { blocks, .. } = &mut own.step {
                        let blocks = std::mem::take(blocks).into_values().flat_map(|(_, blocks)| blocks).collect();
                        own.step = Step::Merging(Some(self.merging(blocks)));
                    }
                }
                // Others are still reading, or one is merging: they wake who waits.
                Step::Reading { is_over: true, .. } | Step::Merging(None) => return Offer::Nothing,
                Step::Reading { is_over, .. } | Step::Passing { is_over, .. } if !*is_over => {
                    match own.scan.claim(rows, waker) {
                        Claim::Morsel(morsel) => {
                            let claim = own.number_claim();
                            let rows = match &mut own.step {
                                Step::Reading { blocks, .. } => {
                                    blocks.insert(claim, (Some(morsel), Vec::new()));
                                    0
                                }
                                Step::Passing { claimed, .. } => {
                                    claimed.insert(claim, morsel);
                                    morsel.rows
                                }
                                Step::Merging(_) | Step::Ready(..) => 0,
                            };
                            return Offer::Morsel(of_range(number, NUMBERED | claim, rows));
                        }
                        Claim::Pending => return Offer::Nothing,
                        Claim::Finished => *is_over = true,
                    }
                }
                Step::Merging(Some(_)) => return Offer::Morsel(of_range(number, MERGE, 0)),
                Step::Ready(_, claims) => {
                    return match claims.claim(rows) {
                        Claim::Morsel(morsel) => {
                            own.outstanding += 1;
                            Offer::Morsel(of_range(number, morsel.first, morsel.rows))
                        }
                        Claim::Pending | Claim::Finished => Offer::Finished,
                    };
                }
                Step::Reading { .. } | Step::Passing { .. } => return Offer::Finished,
            }
        }
    }

    /// Does a piece of a range's merge.
    fn merge(&self, number: u64) -> Result<()> {
        let mut state = self.state.lock();
        let Some(RangeState { step: Step::Merging(merging), .. }) = state.begun.get_mut(&number) else { return Ok(()) };
        let Some(mut work) = merging.take() else { return Ok(()) };
        drop(state);
        let polled = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let mut state = self.state.lock();
        let result = match polled {
            Poll::Pending => {
                if let Some(own) = state.begun.get_mut(&number) {
                    own.step = Step::Merging(Some(work));
                }
                Ok(())
            }
            Poll::Ready(Ok(block)) => {
                let rows = self.request.limited(block.rows() as u64);
                if let Some(own) = state.begun.get_mut(&number) {
                    own.step = Step::Ready(block, Arc::new(RowClaims::new(rows)));
                }
                Ok(())
            }
            Poll::Ready(Err(error)) => {
                state.fail(&error);
                Err(error)
            }
        };
        state.wake();
        result
    }

    /// Reads what a claim of a range's parts is of.
    fn read_parts(
        &self,
        (number, claim): (u64, u64),
        consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let (claimed, scan, range, passes) = {
            let mut state = self.state.lock();
            let own = state.begun.get_mut(&number).ok_or_else(unclaimed)?;
            let (claimed, passes) = match &mut own.step {
                Step::Reading { blocks, .. } => (blocks.get_mut(&claim).and_then(|(claimed, _)| claimed.take()), false),
                Step::Passing { claimed, .. } => (claimed.remove(&claim), true),
                Step::Merging(_) | Step::Ready(..) => (None, false),
            };
            (claimed.ok_or_else(unclaimed)?, own.scan.clone(), own.range.clone(), passes)
        };
        let mut read = Vec::new();
        let result = scan.read(claimed, &mut |block| {
            let block = match self.key {
                Some(key) => range.of_block(block, key),
                None => block,
            };
            match (block.rows(), passes) {
                (0, _) => {}
                (_, true) => return consume(first_columns(&block, &self.request)),
                (_, false) => read.push(block),
            }
            Ok(ControlFlow::Continue(()))
        });
        let mut state = self.state.lock();
        if let Err(error) = &result {
            state.fail(error);
        }
        if let Some(RangeState { step: Step::Reading { blocks, .. }, .. }) = state.begun.get_mut(&number)
            && let Some((_, of_claim)) = blocks.get_mut(&claim)
        {
            *of_claim = read;
        }
        state.note_done(number);
        // The last one that is read makes the merge possible.
        let is_read =
            |own: &RangeState| own.outstanding == 0 && matches!(own.step, Step::Reading { is_over: true, .. });
        if state.begun.get(&number).is_some_and(is_read) {
            state.wake();
        }
        result
    }
}

fn unclaimed() -> Error {
    Error::logical("a morsel that nobody claimed")
}

/// The columns that are wanted of a block that has more.
fn first_columns(block: &Block, wanted: &ScanRequest) -> Block {
    let columns = block.columns().iter().take(wanted.columns.len()).cloned().collect();
    Block::new(wanted.schema.clone(), columns, block.rows())
}

/// Whether all rows are of one part that a merge of several parts has made. Others may have equal keys: those of an INSERT with
/// `optimize_on_insert = 0`, also after a mutation.
fn is_of_one_merged_part(segments: &[Segment]) -> bool {
    let Some((first, others)) = segments.split_first() else { return false };
    others.iter().all(|other| Arc::ptr_eq(&other.part, &first.part))
        && PartName::parse(&first.part.file.name).is_some_and(|name| name.first_block < name.last_block)
}

impl TableScan for FinalScan {
    fn rows_total(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn selection(&self) -> ScanSelection {
        self.selection
    }

    fn take_left_out(&self) -> u64 {
        let mut state = self.state.lock();
        let begun = state.begun.values().map(|range| range.scan.take_left_out()).sum::<u64>();
        begun + std::mem::take(&mut state.left_out)
    }

    fn claim(&self, rows: u64, waker: &Waker) -> Claim {
        let mut state = self.state.lock();
        let state = &mut *state;
        loop {
            if state.failure.is_some() {
                return Claim::Morsel(FAILED);
            }
            let (mut finished, mut is_first) = (Vec::new(), true);
            for (number, own) in &mut state.begun {
                match self.offer((*number, own), is_first, rows, waker) {
                    Offer::Morsel(morsel) => return Claim::Morsel(morsel),
                    Offer::Finished if own.outstanding == 0 => finished.push(*number),
                    Offer::Finished => {}
                    Offer::Nothing => is_first = false,
                }
            }
            finished.into_iter().for_each(|number| state.forget(number));
            if state.waiting_ranges.is_empty() || state.begun.len() >= self.begun_max {
                if state.begun.is_empty() {
                    return Claim::Finished;
                }
                state.waiting.push(waker.clone());
                return Claim::Pending;
            }
            if let Err(error) = self.begin(state) {
                state.fail(&error);
            }
        }
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        if morsel == FAILED {
            return self.state.lock().failure.clone().map_or(Ok(()), Err);
        }
        let (number, low) = (morsel.first >> RANGE_BITS, morsel.first & ((1 << RANGE_BITS) - 1));
        if low == MERGE {
            return self.merge(number);
        }
        if low & NUMBERED != 0 {
            return self.read_parts((number, low & !NUMBERED), consume);
        }
        let block = match self.state.lock().begun.get(&number).map(|own| &own.step) {
            Some(Step::Ready(block, _)) => block.clone(),
            _ => return Err(Error::logical("rows of a merge that is not done")),
        };
        let columns = block.columns().iter().map(|column| column.slice(low as usize, morsel.rows as usize));
        let piece = Block::new(block.schema().clone(), columns.collect(), morsel.rows as usize);
        let result = consume(piece).map(drop);
        self.state.lock().note_done(number);
        result
    }
}
