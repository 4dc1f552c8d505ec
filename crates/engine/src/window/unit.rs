//! The rows of a unit, on their way from the input to the output: a few thousand at a time get their places, their frames, and the
//! results of all functions.

use std::ops::Range;
use std::sync::Arc;

use squall_functions::{OtherRows, Place, RowWalk, WindowRows, WindowWalk};
use squall_planner::{Window, WindowCallFunction};
use squall_runtime::Pieces;
use squall_types::{Block, Column, Error, Result};

use super::aggregates::Aggregates;
use super::frame::Frames;
use super::input::Input;
use super::peers::Peers;
use super::reader::{Loaded, Reader};
use super::{needs_frames, needs_peers, others};

/// Bytes of a block that leaves, about: where rows are long, fewer are computed at once.
const OUT_BYTES_MIN: usize = 256 << 10;
const OUT_BYTES_MAX: usize = 2 << 20;

/// A function that only windows have.
enum Own<'a> {
    Rows(Box<dyn RowWalk + 'a>),
    Others(&'a dyn OtherRows),
}

/// Rows on their way.
pub(super) struct Computing<'a> {
    reader: Reader<'a>,
    unit: Range<u64>,
    /// Rows before this one have left.
    row: u64,
    rows_max: usize,
    /// Rows that are computed at once.
    rows_at_once: usize,
    peers: Peers,
    frames: Option<Frames<'a>>,
    aggregates: Aggregates<'a>,
    /// Each with the number of its call.
    own: Vec<(usize, Own<'a>)>,
    /// Blocks that the unit may ask for.
    needs: Range<usize>,
}

impl<'a> Computing<'a> {
    pub(super) fn new(window: &'a Window, input: &'a Input, unit: Range<u64>, bytes: usize, rows_max: usize) -> Self {
        let calls = window.calls.iter().enumerate();
        let own = calls.filter_map(|(number, call)| match &call.function {
            WindowCallFunction::Aggregate(_) => None,
            WindowCallFunction::Own(function) => Some(match function.walk() {
                WindowWalk::Rows(walk) => (number, Own::Rows(walk)),
                WindowWalk::Others(function) => (number, Own::Others(function)),
            }),
        });
        Self {
            reader: Reader::new(window, input, bytes),
            row: unit.start,
            rows_max,
            rows_at_once: rows_max,
            peers: Peers::new(&unit, input.partition_begin(unit.start), needs_peers(window)),
            frames: needs_frames(window).then(|| Frames::new(window)),
            aggregates: Aggregates::new(window),
            own: own.collect(),
            needs: input.needs(&unit),
            unit,
        }
    }

    /// The next rows with the results of all functions; nothing where the unit is over.
    pub(super) async fn next(&mut self, pieces: &mut Pieces) -> Result<Option<Block>> {
        if self.row >= self.unit.end {
            self.reader.input.let_go(self.needs.clone());
            self.needs.start = self.needs.end;
            return Ok(None);
        }
        let loaded = self.reader.block_of(self.row).await?;
        let end = self.unit.end.min(loaded.end()).min(self.row + self.rows_at_once as u64);
        let rows = self.row..end;
        let runs = self.peers.runs(rows.clone(), &loaded, &mut self.reader, pieces).await?;
        pieces.pause().await;
        let frames = match &mut self.frames {
            Some(frames) => frames.of(&runs, &mut self.peers, &mut self.reader, pieces).await?,
            None => {
                self.peers.forget_before(runs.last().map_or(0, |run| run.group));
                Vec::new()
            }
        };
        pieces.pause().await;
        let places = || runs.iter().flat_map(|run| run.places()).collect::<Vec<Place>>();
        let places = if self.own.is_empty() { Vec::new() } else { places() };
        let columns = self.columns(rows.clone(), &loaded, &places, &frames, pieces).await?;
        let partition = runs.last().map_or(self.row, |run| run.partition.start);
        self.row = end;
        self.let_go_before(partition);
        let block = loaded.block.slice((rows.start - loaded.first) as usize, (rows.end - rows.start) as usize);
        let all = block.columns().iter().cloned().chain(columns).collect();
        let block = Block::new(self.reader.window.schema.clone(), all, block.rows());
        self.adapt(&block);
        Ok(Some(block))
    }

    /// The results of all functions for these rows.
    async fn columns(
        &mut self,
        rows: Range<u64>,
        loaded: &Arc<Loaded>,
        places: &[Place],
        frames: &[Range<u64>],
        pieces: &mut Pieces,
    ) -> Result<Vec<Column>> {
        let window = self.reader.window;
        let mut columns: Vec<Option<Column>> = window.calls.iter().map(|_| None).collect();
        if !self.aggregates.is_empty() {
            for (call, column) in self.aggregates.results(frames, loaded, &mut self.reader, pieces).await? {
                columns[call] = Some(column);
            }
        }
        let slice =
            |argument: &Column| argument.slice((rows.start - loaded.first) as usize, (rows.end - rows.start) as usize);
        let rows = WindowRows { first: rows.start, places, frames };
        for (call, function) in &mut self.own {
            let arguments: Vec<Column> = loaded.arguments(*call, window)?.iter().map(slice).collect();
            columns[*call] = Some(match function {
                Own::Rows(walk) => walk.walk(&rows, &arguments)?,
                Own::Others(function) => {
                    others::results(*call, *function, &rows, &arguments, &mut self.reader, pieces).await?
                }
            });
            pieces.pause().await;
        }
        columns
            .into_iter()
            .collect::<Option<_>>()
            .ok_or_else(|| Error::logical("a function of a window without results"))
    }

    /// Rows before a partition are not asked for again, where no other unit is in the midst of it.
    fn let_go_before(&mut self, partition: u64) {
        let input = self.reader.input;
        if input.begins_anywhere() {
            return;
        }
        let number = input.block_of(partition).clamp(self.needs.start, self.needs.end);
        input.let_go(self.needs.start..number);
        self.needs.start = number;
        self.reader.forget_before(number);
    }

    /// Computes fewer rows at once where they are long.
    fn adapt(&mut self, block: &Block) {
        let bytes = block.value_bytes();
        if bytes > OUT_BYTES_MAX {
            self.rows_at_once = (self.rows_at_once / 2).max(1);
        } else if bytes < OUT_BYTES_MIN {
            self.rows_at_once = (self.rows_at_once * 2).min(self.rows_max);
        }
    }
}
