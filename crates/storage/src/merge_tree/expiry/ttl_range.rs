//! What a part knows of the moments at which its rows and values expire, element by element of its table's TTL: so that a part with
//! nothing to do is left alone, and one that has expired as a whole goes without being read.

use std::sync::Arc;

use squall_planner::{Ttl, TtlAction};
use squall_runtime::Pieces;
use squall_types::{Block, Result};

use super::ttl::{TtlTurn, meets, moments};
use crate::merge_tree::MergeTree;
use crate::merge_tree::parts::part::Part;
use crate::table::{PartTtl, PartTtlKind};

/// Rows between two looks at the clock.
const ROWS_AT_ONCE: usize = 65_536;

/// The moments of a part's rows by one element, in seconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct TtlRange {
    /// The element.
    pub(crate) key: Arc<str>,
    /// The first one; 0 where no row has any.
    pub(crate) min: u32,
    /// The last one.
    pub(crate) max: u32,
    /// Whether every row has one.
    pub(crate) is_whole: bool,
    /// When there is next something to do; nothing where all is done.
    pub(crate) due: Option<u32>,
}

impl TtlRange {
    fn add(&mut self, moment: u32, is_done: bool) {
        if self.min == 0 || moment < self.min {
            self.min = moment;
        }
        self.max = self.max.max(moment);
        if !is_done {
            self.due = Some(self.due.map_or(moment, |due| due.min(moment)));
        }
    }
}

/// The ranges of a part that is being written.
pub(in crate::merge_tree) struct TtlRanges {
    /// What the rows have been through.
    turn: Option<TtlTurn>,
    ranges: Vec<TtlRange>,
}

impl TtlRanges {
    pub(in crate::merge_tree) fn new(table: &MergeTree, turn: Option<TtlTurn>) -> Self {
        let range = |element: &Ttl| TtlRange { key: element.key.clone(), is_whole: true, ..TtlRange::default() };
        Self { turn, ranges: table.ttl.elements.iter().map(range).collect() }
    }

    /// Adds rows.
    ///
    /// # Errors
    /// Those of the elements' expressions.
    pub(in crate::merge_tree) async fn add(
        &mut self,
        table: &MergeTree,
        block: &Block,
        pieces: &mut Pieces,
    ) -> Result<()> {
        for (element, range) in table.ttl.elements.iter().zip(&mut self.ranges) {
            let moments = moments(table, element, block)?;
            let meets = match &element.action {
                TtlAction::Delete(Some(filter)) => Some(meets(table, filter, block)?),
                _ => None,
            };
            pieces.pause().await;
            let has_passed = |moment: u32| self.turn.as_ref().is_some_and(|turn| moment <= turn.now);
            for (row, moment) in moments.iter().enumerate() {
                if *moment == 0 || meets.as_ref().is_some_and(|meets| !meets.is_met(row)) {
                    range.is_whole = false;
                    continue;
                }
                let is_done = match &element.action {
                    TtlAction::Delete(_) => false,
                    TtlAction::Group(_) | TtlAction::Reset { .. } => has_passed(*moment),
                    // Their parts wait for the last one.
                    TtlAction::Recompress { .. } | TtlAction::Stay => true,
                };
                range.add(*moment, is_done);
                if row % ROWS_AT_ONCE == ROWS_AT_ONCE - 1 {
                    pieces.pause().await;
                }
            }
            pieces.pause().await;
        }
        Ok(())
    }

    pub(in crate::merge_tree) fn finish(mut self, table: &MergeTree) -> Vec<TtlRange> {
        for (element, range) in table.ttl.elements.iter().zip(&mut self.ranges) {
            if matches!(element.action, TtlAction::Recompress { .. }) {
                let is_done =
                    self.turn.as_ref().is_some_and(|turn| turn.recompression.is_some() && range.max <= turn.now);
                range.due = (range.max > 0 && !is_done).then_some(range.max);
            }
        }
        self.ranges
    }
}

/// What a merge for the sake of the TTL is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::merge_tree) enum TtlWork {
    /// Rows or values go.
    Expire,
    /// A part is compressed anew.
    Recompress,
}

impl MergeTree {
    /// What a part knows of an element; nothing where it was written before the table had it, or its columns are others now.
    pub(in crate::merge_tree) fn ttl_range<'p>(&self, part: &'p Part, element: &Ttl) -> Option<&'p TtlRange> {
        let mut is_as_written = true;
        let mut look = |position: usize| {
            let stored = self.identity.stored_positions.get(position).copied().flatten();
            is_as_written &= stored.is_some_and(|stored| part.schema.place(&self.identity, stored).is_some());
        };
        element.moment.visit_columns(&mut look);
        if let TtlAction::Delete(Some(filter)) = &element.action {
            filter.visit_columns(&mut look);
        }
        let range = part.description.ttl.iter().find(|range| range.key == element.key);
        range.filter(|_| is_as_written)
    }

    /// Whether all rows of a part have expired.
    pub(in crate::merge_tree) fn has_expired(&self, part: &Part, now: u32) -> bool {
        let is_plain = |element: &&Ttl| matches!(element.action, TtlAction::Delete(None));
        let range = self.ttl.elements.iter().find(is_plain).and_then(|element| self.ttl_range(part, element));
        range.is_some_and(|range| range.is_whole && range.max > 0 && range.max <= now)
    }

    /// When there is next something to do with a part, as far as it knows.
    pub(in crate::merge_tree) fn ttl_due(&self, part: &Part, work: TtlWork) -> Option<u32> {
        let is_wanted = |element: &&Ttl| match &element.action {
            TtlAction::Recompress { .. } => work == TtlWork::Recompress,
            TtlAction::Delete(_) | TtlAction::Group(_) | TtlAction::Reset { .. } => work == TtlWork::Expire,
            TtlAction::Stay => false,
        };
        let due = |element: &Ttl| self.ttl_range(part, element)?.due;
        self.ttl.elements.iter().filter(is_wanted).filter_map(due).min()
    }

    /// The elements of the table's own TTL that a part knows of, as `system.parts` shows them.
    pub(in crate::merge_tree) fn part_ttl(&self, part: &Part) -> Vec<PartTtl> {
        let shown = |element: &Ttl| {
            let kind = match &element.action {
                TtlAction::Delete(None) => PartTtlKind::Delete,
                TtlAction::Delete(Some(_)) => PartTtlKind::DeleteWhere,
                TtlAction::Group(_) => PartTtlKind::GroupBy,
                TtlAction::Recompress { .. } => PartTtlKind::Recompress,
                TtlAction::Stay => PartTtlKind::Move,
                TtlAction::Reset { .. } => return None,
            };
            let range = self.ttl_range(part, element)?;
            Some(PartTtl { kind, expression: element.sql.clone(), min: range.min, max: range.max })
        };
        self.ttl.elements.iter().filter_map(shown).collect()
    }

    /// What compresses the columns of a part that name no codec, as far as the TTL has changed it.
    pub(in crate::merge_tree) fn codec_of(&self, part: &Part) -> Option<Arc<str>> {
        let done = |element: &Ttl| {
            let TtlAction::Recompress { sql, .. } = &element.action else { return None };
            let range = self.ttl_range(part, element).filter(|range| range.max > 0 && range.due.is_none())?;
            Some((range.max, sql.clone()))
        };
        self.ttl.elements.iter().filter_map(done).max_by_key(|(max, _)| *max).map(|(_, sql)| sql)
    }

    /// Whether a part knows of all elements, and nothing is to be done at this moment.
    pub(in crate::merge_tree) fn is_ttl_settled(&self, part: &Part, now: u32) -> bool {
        self.ttl.elements.iter().all(|element| {
            let range = self.ttl_range(part, element);
            range.is_some_and(|range| range.due.is_none_or(|due| due > now))
        })
    }
}
