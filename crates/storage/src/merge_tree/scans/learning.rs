//! A scan of chunks in memory that finds out which granules hold no match of its condition. It tests rows itself, and hands out those that
//! match where they are few; where they are many, there is nothing to find out, and it stops.

use std::sync::Arc;

use squall_functions::Selection;
use squall_planner::{Expression, conjuncts};
use squall_types::{Block, Column, Result};

use super::pruning::Segment;
use crate::evaluate::select;
use crate::merge_tree::conditions::TestedGranules;
use crate::merge_tree::parts::part::Part;
use crate::table::ScanRequest;

/// Rows that match are copied where at most one of so many does. Otherwise the block is handed out as it is, and whoever gets it tests it.
const FEW_SHARE: usize = 4;

/// What a scan finds out.
pub(super) struct Learning {
    /// Those over numbers first: they cost little, and may leave nothing to be tested by others.
    conditions: Vec<Expression>,
    /// The part and the row group of each segment.
    places: Vec<(Arc<Part>, usize)>,
    granules: TestedGranules,
}

impl Learning {
    /// For a scan of segments. Nothing where there is no condition to be remembered, or nothing is to be found out.
    pub(super) fn of(segments: &[Segment], request: &ScanRequest) -> Option<Self> {
        let (key, predicate) = (request.condition_use.key?, request.predicate.as_ref()?);
        if segments.iter().all(|segment| segment.part.conditions.is_useless(key)) {
            return None;
        }
        let mut conditions = Vec::new();
        conjuncts(predicate.clone(), &mut conditions);
        let types: Vec<_> = request.schema.types().collect();
        conditions.sort_by_key(|condition| {
            let mut is_wide = false;
            condition.visit_columns(&mut |at| {
                is_wide |= types.get(at).is_none_or(|data_type| data_type.arrow_type().primitive_width().is_none());
            });
            is_wide
        });
        let places = segments.iter().map(|segment| (segment.part.clone(), segment.row_group)).collect();
        Some(Self { conditions, places, granules: TestedGranules::of(key, segments) })
    }

    /// The rows of a block that meet the condition, or all of them; nothing where none does. The block's rows are those of a segment's row
    /// group from `offset` on.
    ///
    /// # Errors
    /// Those of the condition.
    pub(super) fn test(&self, segment: usize, offset: usize, block: Block) -> Result<Option<Block>> {
        let Some((part, row_group)) = self.places.get(segment).filter(|_| !self.granules.is_useless()) else {
            return Ok(Some(block));
        };
        let positions: Vec<Option<usize>> = (0..block.columns().len()).map(Some).collect();
        let selection = select(&self.conditions, &block, &positions)?;
        self.granules.note(part, *row_group, offset..offset + block.rows(), &selection);
        let mask = match selection {
            Selection::None => return Ok(None),
            Selection::All => return Ok(Some(block)),
            Selection::Some(mask) => mask,
        };
        let rows = mask.true_count();
        if rows > block.rows() / FEW_SHARE {
            return Ok(Some(block));
        }
        let columns =
            block.columns().iter().map(|column| column.filter(&mask, rows)).collect::<Result<Vec<Column>>>()?;
        Ok(Some(Block::new(block.schema().clone(), columns, rows)))
    }
}
