//! The parallel end of a sort: each run is sorted on its own, then the rows are cut into ranges by sampled keys, and each range is
//! merged on its own. Ranges come out in order.

use std::ops::ControlFlow;
use std::sync::Arc;

use parking_lot::Mutex;
use squall_types::{Block, Error, Result};

use super::run::{Entry, Run, gather};
use super::sink::Order;
use crate::source::{Places, Units};

/// Rows of a range, about: one morsel of the merge.
const RANGE_ROWS: usize = 65_409;

/// What the sink leaves for the pipelines after it.
#[derive(Default)]
pub(crate) struct SortMerge {
    unsorted: Option<Arc<Places<Run>>>,
    runs: Vec<Run>,
    sorted: Option<Arc<Sorted>>,
}

/// All runs, sorted, and where ranges begin and end in each.
struct Sorted {
    runs: Vec<Run>,
    /// By range, by run: the end of the range in the run; the first range begins at 0.
    ends: Vec<Vec<usize>>,
}

impl SortMerge {
    pub(crate) fn begin(&mut self, runs: Vec<Run>) {
        self.unsorted = Some(Arc::new(Places::new(runs)));
    }
}

/// Sorts one run per unit; with a limit, as many of its rows as the result can have.
pub(crate) struct RunSorting {
    pub(crate) limit: Option<u64>,
    pub(crate) merge: Arc<Mutex<SortMerge>>,
}

impl Units for RunSorting {
    fn units(&self) -> usize {
        self.merge.lock().unsorted.as_ref().map_or(0, |runs| runs.len())
    }

    fn run(&self, unit: usize, _: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        let unsorted = self.merge.lock().unsorted.clone();
        let run = unsorted.and_then(|runs| runs.take(unit));
        let mut run = run.ok_or_else(|| Error::logical("a run is sorted twice"))?;
        run.sort(self.limit.and_then(|limit| usize::try_from(limit).ok()));
        self.merge.lock().runs.push(run);
        Ok(())
    }
}

/// Merges one range per unit; its rows come out in order.
pub(crate) struct RangeMerging {
    pub(crate) merge: Arc<Mutex<SortMerge>>,
    pub(crate) order: Arc<Order>,
}

impl RangeMerging {
    fn sorted(&self) -> Arc<Sorted> {
        let mut merge = self.merge.lock();
        match &merge.sorted {
            Some(sorted) => sorted.clone(),
            None => {
                let sorted = Arc::new(Sorted::new(std::mem::take(&mut merge.runs)));
                merge.sorted = Some(sorted.clone());
                sorted
            }
        }
    }
}

impl Units for RangeMerging {
    fn units(&self) -> usize {
        self.sorted().ends.len()
    }

    fn run(&self, unit: usize, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        let sorted = self.sorted();
        let mut entries: Vec<(&Run, Entry)> = Vec::new();
        for (at, run) in sorted.runs.iter().enumerate() {
            let begin = if unit == 0 { 0 } else { sorted.ends[unit - 1][at] };
            entries.extend(run.entries[begin..sorted.ends[unit][at]].iter().map(|entry| (run, *entry)));
        }
        // The pieces are sorted already: the standard stable sort finds such runs and merges them.
        entries.sort_by(|(left_run, left), (right_run, right)| left_run.compare(left, right_run, right));
        if let Some(limit) = self.order.limit {
            entries.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        }
        for piece in entries.chunks(RANGE_ROWS) {
            if consume(gather(&self.order.schema, piece)?)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl Sorted {
    fn new(runs: Vec<Run>) -> Self {
        let rows: usize = runs.iter().map(Run::rows).sum();
        let ranges = rows.div_ceil(RANGE_ROWS).max(1);
        // Splitters: keys at even steps through every run, put in order; every runs.len()-th of them bounds a range.
        let mut samples: Vec<&[u8]> = Vec::new();
        for run in &runs {
            samples.extend(
                (1..ranges).filter_map(|at| run.entries.get(at * run.rows() / ranges)).map(|entry| run.key(entry)),
            );
        }
        samples.sort_unstable();
        let mut ends: Vec<Vec<usize>> = Vec::with_capacity(ranges);
        for range in 1..ranges {
            let Some(splitter) = samples.get(range * samples.len() / ranges) else { break };
            ends.push(runs.iter().map(|run| run.entries.partition_point(|entry| run.key(entry) < *splitter)).collect());
        }
        ends.push(runs.iter().map(Run::rows).collect());
        Self { runs, ends }
    }
}
