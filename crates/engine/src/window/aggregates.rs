//! The aggregates of a window over the frames of its rows. Frames become steps over blocks, which all aggregates take; a step has
//! few rows, so that a frame of any length is no long piece of work.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::UInt32Array;
use squall_functions::{FrameStep, FrameWalk, RowRange};
use squall_planner::{Window, WindowCallFunction};
use squall_runtime::Pieces;
use squall_types::{Column, Result};

use super::reader::{Loaded, Reader};

/// What an aggregate does between two looks at the clock takes no longer than this, mostly.
const WALK_MAX: Duration = Duration::from_micros(500);
/// Where it takes less than this, more is done at once.
const WALK_MIN: Duration = Duration::from_micros(100);
/// Rows that are added at once, and results, each of which counts as some: at the beginning, at least and at most.
const WORK_FIRST: usize = 2_048;
const WORK_MIN: usize = 8;
const WORK_MAX: usize = 65_536;
const WORK_OF_RESULT: usize = 4;

/// The aggregates of a window, on their way over its rows.
pub(super) struct Aggregates<'a> {
    /// Each with the number of its call.
    walks: Vec<(usize, Box<dyn FrameWalk + 'a>)>,
    /// The frame that the states are of.
    known: Option<Range<u64>>,
    /// The results of that frame.
    last: Vec<Column>,
    /// How much is done at once.
    work: usize,
}

/// Steps over a block.
struct Steps {
    loaded: Arc<Loaded>,
    steps: Vec<FrameStep>,
    /// The rows that they are over.
    rows: RowRange,
    work: usize,
}

impl Steps {
    fn new(loaded: Arc<Loaded>) -> Self {
        Self { loaded, steps: Vec::new(), rows: RowRange { begin: u32::MAX, end: 0 }, work: 0 }
    }

    fn push(&mut self, begins: bool, rows: Range<u64>, gives: bool) {
        let within = |row: u64| (row - self.loaded.first) as u32;
        let rows = if rows.is_empty() {
            RowRange::default()
        } else {
            RowRange { begin: within(rows.start), end: within(rows.end) }
        };
        if rows.rows() > 0 {
            self.rows.begin = self.rows.begin.min(rows.begin);
            self.rows.end = self.rows.end.max(rows.end);
        }
        self.work += rows.rows() + usize::from(gives) * WORK_OF_RESULT;
        self.steps.push(FrameStep { begins, rows, gives });
    }

    /// The steps over those rows of the block alone that they need, and where these begin.
    fn alone(mut self) -> (Arc<Loaded>, Vec<FrameStep>, RowRange) {
        if self.rows.begin > self.rows.end {
            self.rows = RowRange::default();
        }
        for step in self.steps.iter_mut().filter(|step| step.rows.rows() > 0) {
            step.rows = RowRange { begin: step.rows.begin - self.rows.begin, end: step.rows.end - self.rows.begin };
        }
        (self.loaded, self.steps, self.rows)
    }
}

impl<'a> Aggregates<'a> {
    pub(super) fn new(window: &'a Window) -> Self {
        let calls = window.calls.iter().enumerate();
        let walks = calls.filter_map(|(number, call)| match &call.function {
            WindowCallFunction::Aggregate(function) => Some((number, function.frame_walk())),
            WindowCallFunction::Own(_) => None,
        });
        Self { walks: walks.collect(), known: None, last: Vec::new(), work: WORK_FIRST }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.walks.is_empty()
    }

    /// By aggregate, with the number of its call: the results of the rows of a block that have these frames.
    pub(super) async fn results(
        &mut self,
        frames: &[Range<u64>],
        own: &Arc<Loaded>,
        reader: &mut Reader<'_>,
        pieces: &mut Pieces,
    ) -> Result<Vec<(usize, Column)>> {
        // Peers share a frame, and so do all rows of a partition without an order: each is computed once.
        let mut distinct: Vec<&Range<u64>> = Vec::with_capacity(frames.len());
        let mut of_row = Vec::with_capacity(frames.len());
        for frame in frames {
            if distinct.last() != Some(&frame) {
                distinct.push(frame);
            }
            of_row.push(distinct.len() as u32 - 1);
        }
        let is_known = distinct.first().is_some_and(|first| self.known.as_ref() == Some(*first));
        let mut results: Vec<Vec<Column>> = match is_known {
            true => std::mem::take(&mut self.last).into_iter().map(|last| vec![last]).collect(),
            false => self.walks.iter().map(|_| Vec::new()).collect(),
        };
        let mut steps = Steps::new(own.clone());
        for frame in distinct.iter().skip(usize::from(is_known)) {
            let (mut begins, mut from) = match &self.known {
                Some(known) if known.start == frame.start && known.end <= frame.end => (false, known.end),
                _ => (true, frame.start),
            };
            loop {
                if from < frame.end && !steps.loaded.contains(from) {
                    self.take(&mut steps, &mut results, reader.window, pieces).await?;
                    steps.loaded = reader.block_of(from).await?;
                }
                let left = self.work.saturating_sub(steps.work).max(1) as u64;
                let until = frame.end.min(from.saturating_add(left));
                let until = if from < frame.end { until.min(steps.loaded.end()) } else { from };
                let gives = until >= frame.end;
                steps.push(begins, from..until, gives);
                (begins, from) = (false, until);
                if steps.work >= self.work {
                    self.take(&mut steps, &mut results, reader.window, pieces).await?;
                }
                if gives {
                    break;
                }
            }
            self.known = Some((*frame).clone());
        }
        self.take(&mut steps, &mut results, reader.window, pieces).await?;
        let mut columns = Vec::with_capacity(results.len());
        let calls: Vec<usize> = self.walks.iter().map(|(call, _)| *call).collect();
        for (call, results) in calls.into_iter().zip(results) {
            let results = match &results[..] {
                [one] => one.clone(),
                several => Column::concat(several)?,
            };
            self.last.truncate(columns.len());
            self.last.push(results.slice(results.rows() - 1, 1));
            columns.push((
                call,
                match distinct.len() {
                    1 => Column::repeat(&results, frames.len()),
                    count if count == frames.len() => results,
                    _ => results.take(&UInt32Array::from(of_row.clone()))?,
                },
            ));
            pieces.pause().await;
        }
        Ok(columns)
    }

    /// Has all aggregates take these steps; further ones begin in the same block.
    async fn take(
        &mut self,
        steps: &mut Steps,
        results: &mut [Vec<Column>],
        window: &Window,
        pieces: &mut Pieces,
    ) -> Result<()> {
        if steps.steps.is_empty() {
            return Ok(());
        }
        let next = Steps::new(steps.loaded.clone());
        let done = std::mem::replace(steps, next);
        let is_full = done.work >= self.work;
        let (loaded, steps, rows) = done.alone();
        let mut longest = Duration::ZERO;
        for ((call, walk), results) in self.walks.iter_mut().zip(results) {
            let began = Instant::now();
            let slice = |argument: &Column| argument.slice(rows.begin as usize, rows.rows());
            let arguments: Vec<Column> = loaded.arguments(*call, window)?.iter().map(slice).collect();
            let column = walk.walk(&arguments, &steps)?;
            if column.rows() > 0 {
                results.push(column);
            }
            longest = longest.max(began.elapsed());
            pieces.pause().await;
        }
        if longest > WALK_MAX {
            self.work = (self.work / 2).max(WORK_MIN);
        } else if is_full && longest < WALK_MIN {
            self.work = (self.work * 2).min(WORK_MAX);
        }
        Ok(())
    }
}
