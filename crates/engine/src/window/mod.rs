//! Window functions. The input comes in the window's order and is kept block by block, on disk where it does not fit into memory. Units
//! of whole partitions, or of any rows where functions look only so far, are computed in parallel, each in pieces, and leave in order.
//!
//! - [`sink`]: collects the input.
//! - [`input`]: all rows, where partitions begin, and the units.
//! - [`reader`]: the blocks that a unit has read.
//! - [`peers`]: where rows stand in their partitions.
//! - [`frame`]: which rows a function sees from each row.
//! - [`aggregates`], [`others`]: the functions' results.
//! - [`unit`]: the way of a unit's rows.

mod aggregates;
mod frame;
mod input;
mod others;
mod peers;
mod reader;
mod sink;
#[cfg(test)]
mod tests;
mod unit;

use std::sync::{Arc, OnceLock};

use squall_planner::{FrameUnit, SortKey, Window, WindowCallFunction};
use squall_runtime::{Pieces, block_on};
use squall_types::{Block, Error, Result};

pub(crate) use self::input::Input;
pub(crate) use self::sink::{Collecting, WindowSink};

use self::unit::Computing;
use crate::pipeline::Sequence;
use crate::units::{Rows, Units};

/// Rows of a unit, at least, unless the rows end: enough to be worth a unit of work.
const UNIT_ROWS: u64 = 65_409;

/// Rows of a block, of which a piece computes the results at most.
const BLOCK_ROWS: usize = 8_192;

/// Frames that go further are not computed from any row on: those of the first rows would cost too much.
const REACH_MAX: u64 = 4_096;

/// The keys of partitions, in the order in which the input comes.
fn partition_keys(window: &Window) -> Vec<SortKey> {
    let key = |expression: &squall_planner::Expression| SortKey {
        expression: expression.clone(),
        descending: false,
        nulls_first: false,
    };
    window.partition_by.iter().map(key).collect()
}

/// Whether a function asks for frames.
fn needs_frames(window: &Window) -> bool {
    window.calls.iter().any(|call| match &call.function {
        WindowCallFunction::Aggregate(_) => true,
        WindowCallFunction::Own(function) => function.needs_frames(),
    })
}

/// Whether a row's peers matter.
fn needs_peers(window: &Window) -> bool {
    let asks = |function: &WindowCallFunction| match function {
        WindowCallFunction::Aggregate(_) => false,
        WindowCallFunction::Own(function) => function.needs_peers(),
    };
    let by_frame = needs_frames(window) && window.frame.unit != FrameUnit::Rows && !frame::is_partition(&window.frame);
    !window.order_by.is_empty() && (by_frame || window.calls.iter().any(|call| asks(&call.function)))
}

/// Whether the functions can be computed from any row of a partition on.
fn begins_anywhere(window: &Window) -> bool {
    let is_short = frame::reach(&window.frame).is_some_and(|reach| reach <= REACH_MAX);
    let of_call = |function: &WindowCallFunction| match function {
        WindowCallFunction::Aggregate(_) => is_short,
        WindowCallFunction::Own(function) => {
            function.begins_anywhere() && (!function.needs_frames() || window.frame.unit == FrameUnit::Rows)
        }
    };
    !needs_peers(window) && window.calls.iter().all(|call| of_call(&call.function))
}

/// The functions of a window over rows that are all of its input.
pub(crate) fn compute_rows(window: &Window, rows: Block) -> Result<Block> {
    let sequence = Sequence { input: 0, morsel: 0 };
    let collected = sink::collect(&partition_keys(window), sequence, 0, rows.materialize()?)?;
    let all = rows.rows();
    let input = Input::new(vec![collected], None, u64::MAX, false);
    block_on(async {
        let mut blocks = Vec::new();
        for unit in input.units() {
            let mut computing = Computing::new(window, &input, unit.clone(), usize::MAX, all);
            while let Some(block) = computing.next(&mut Pieces::begin()).await? {
                blocks.push(block);
            }
        }
        Block::concat(window.schema.clone(), &blocks)?.materialize()
    })
}

/// Computes the units of the input.
pub(crate) struct WindowComputing {
    window: Arc<Window>,
    collecting: Arc<Collecting>,
    input: OnceLock<Input>,
}

impl WindowComputing {
    pub(crate) fn new(window: Arc<Window>, collecting: Arc<Collecting>) -> Self {
        Self { window, collecting, input: OnceLock::new() }
    }

    fn input(&self) -> &Input {
        self.input.get_or_init(|| self.collecting.input())
    }
}

impl Units for WindowComputing {
    fn units(&self) -> usize {
        self.input().units().len()
    }

    fn units_at_once(&self) -> usize {
        /// Units in memory: their rows are there already, only results wait for their turn.
        const IN_MEMORY: usize = 256;
        // From disk, one for each worker, and some whose blocks are being read meanwhile.
        if self.input().is_spilled() { 2 * self.collecting.workers() } else { IN_MEMORY }
    }

    async fn run(self: Arc<Self>, unit: usize, out: Rows) -> Result<()> {
        /// Blocks that wait for their turn, where their rows are in memory anyway, and where they come from disk.
        const WAITING: usize = 256;
        const WAITING_FROM_DISK: usize = 8;
        let input = self.input();
        let waiting = if input.is_spilled() { WAITING_FROM_DISK } else { WAITING };
        let rows = input.units().get(unit).cloned().ok_or_else(|| Error::logical("a unit of a window that is none"))?;
        let bytes = self.collecting.bytes_of_unit();
        let mut computing = Computing::new(&self.window, input, rows, bytes, BLOCK_ROWS);
        let mut pieces = Pieces::begin();
        while let Some(block) = computing.next(&mut pieces).await? {
            out.push(block);
            pieces.pause().await;
            out.room_among(waiting).await;
        }
        Ok(())
    }
}
