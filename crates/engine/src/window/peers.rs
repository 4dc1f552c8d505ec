//! Where rows stand: the partition of each, and its peers, which are found by reading ahead as far as they go.

use std::collections::VecDeque;
use std::ops::Range;

use squall_functions::Place;
use squall_runtime::Pieces;
use squall_types::Result;

use super::reader::{Loaded, Reader};
use crate::sort::row_keys::{Key, RowKeys};

/// Rows of one group of peers, or of one partition where nobody asks for peers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Run {
    pub(super) rows: Range<u64>,
    pub(super) partition: Range<u64>,
    /// The peers; the partition where nobody asks for them.
    pub(super) peers: Range<u64>,
    /// The group's number in all of the unit's, and that of the partition's first.
    pub(super) group: u64,
    pub(super) first_group: u64,
}

impl Run {
    /// The places of its rows.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        let from_first = |row: u64| row - self.partition.start;
        let place = Place {
            row: 0,
            rows: self.partition.end - self.partition.start,
            first_peer: from_first(self.peers.start),
            peers_end: from_first(self.peers.end),
            groups_before: self.group - self.first_group,
        };
        (from_first(self.rows.start)..from_first(self.rows.end)).map(move |row| Place { row, ..place })
    }
}

/// The partitions and groups of a unit's rows, in order.
pub(super) struct Peers {
    /// The unit's end.
    end: u64,
    partition: Range<u64>,
    /// Whether groups are looked for; without, a partition is one.
    is_wanted: bool,
    /// The beginnings of groups from `first` on, as far as rows are scanned.
    starts: VecDeque<u64>,
    first: u64,
    scanned: u64,
    last_key: Option<Key>,
    /// The group that the last row was of, and the first of its partition.
    group: u64,
    first_group: u64,
}

impl Peers {
    /// For the rows of a unit, whose first one's partition begins there.
    pub(super) fn new(unit: &Range<u64>, partition_begin: u64, is_wanted: bool) -> Self {
        Self {
            end: unit.end,
            // It ends where it is asked for first.
            partition: partition_begin..partition_begin,
            is_wanted,
            starts: VecDeque::new(),
            first: 0,
            scanned: unit.start,
            last_key: None,
            group: 0,
            first_group: 0,
        }
    }

    /// The rows of a block, cut where their places change.
    pub(super) async fn runs(
        &mut self,
        rows: Range<u64>,
        loaded: &Loaded,
        reader: &mut Reader<'_>,
        pieces: &mut Pieces,
    ) -> Result<Vec<Run>> {
        if self.is_wanted {
            self.know(rows.end - 1, reader, pieces).await?;
        }
        let mut runs = Vec::new();
        let mut row = rows.start;
        while row < rows.end {
            if row >= self.partition.end {
                let within = (row - loaded.first) as u32;
                let next = loaded.starts.partition_point(|start| *start <= within);
                if next > 0 && loaded.starts[next - 1] == within {
                    self.partition.start = row;
                }
                self.partition.end = match loaded.starts.get(next) {
                    Some(start) => loaded.first + u64::from(*start),
                    None => reader.input.next_start(loaded.number + 1),
                };
            }
            let partition = self.partition.clone();
            let mut run = Run {
                rows: row..rows.end.min(partition.end),
                peers: partition.clone(),
                partition,
                group: self.group,
                first_group: self.first_group,
            };
            if self.is_wanted {
                while self.begin(self.group + 1).is_some_and(|next| next <= row) {
                    self.group += 1;
                }
                if row == run.partition.start {
                    self.first_group = self.group;
                }
                let begin = self.begin(self.group).unwrap_or(row);
                let end = self.begin(self.group + 1).unwrap_or(self.end);
                (run.group, run.first_group) = (self.group, self.first_group);
                run.peers = begin..end;
                run.rows.end = run.rows.end.min(end);
            }
            row = run.rows.end;
            runs.push(run);
        }
        Ok(runs)
    }

    /// Where a group begins, if that is known; there is none but the partition where nobody asks for peers.
    pub(super) fn begin(&self, group: u64) -> Option<u64> {
        self.starts.get(usize::try_from(group.checked_sub(self.first)?).ok()?).copied()
    }

    /// Reads until it is known where this group begins, or that there is none before `end`.
    pub(super) async fn know_group(
        &mut self,
        group: u64,
        end: u64,
        reader: &mut Reader<'_>,
        pieces: &mut Pieces,
    ) -> Result<()> {
        let known = |peers: &Self| peers.first + peers.starts.len() as u64;
        while self.is_wanted && group >= known(self) && self.scanned < end.min(self.end) {
            self.scan(reader).await?;
            pieces.pause().await;
        }
        Ok(())
    }

    /// Groups before this one are not asked for any more.
    pub(super) fn forget_before(&mut self, group: u64) {
        while self.first < group && !self.starts.is_empty() {
            self.starts.pop_front();
            self.first += 1;
        }
    }

    /// Reads until it is known where the group of this row ends.
    async fn know(&mut self, row: u64, reader: &mut Reader<'_>, pieces: &mut Pieces) -> Result<()> {
        while self.scanned < self.end && self.starts.back().is_none_or(|last| *last <= row) {
            self.scan(reader).await?;
            pieces.pause().await;
        }
        Ok(())
    }

    /// Looks for groups in the next block.
    async fn scan(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let loaded = reader.block_of(self.scanned).await?;
        let (begin, end) =
            ((self.scanned - loaded.first) as usize, (self.end.min(loaded.end()) - loaded.first) as usize);
        let keys = RowKeys::of(&reader.window.order_by, &loaded.block.slice(begin, end - begin))?;
        let first = (self.last_key.as_ref() != Some(&keys.key(0))).then_some(begin);
        let changes = keys.changes(end - begin).into_iter().map(|row| begin + row as usize);
        let mut changes = first.into_iter().chain(changes).peekable();
        let partitions = loaded.starts.iter().map(|start| *start as usize);
        let mut partitions = partitions.skip_while(|start| *start < begin).take_while(|start| *start < end).peekable();
        // Both in order, rows in which both begin once.
        while let Some(row) = changes.peek().into_iter().chain(partitions.peek()).min().copied() {
            changes.next_if_eq(&row);
            partitions.next_if_eq(&row);
            self.starts.push_back(loaded.first + row as u64);
        }
        self.last_key = Some(keys.key(end - begin - 1));
        self.scanned = loaded.first + end as u64;
        Ok(())
    }
}
