//! A scan whose chunks are all decoded: a claim is one atomic addition, and reading slices them.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;

use arrow_array::Array;
use arrow_array::types::UInt64Type;
use arrow_select::interleave::interleave;
use squall_types::{Block, Column, DataType, Error, Result, Rows, Schema, reserve};

use super::learning::Learning;
use super::pruning::{Segment, selection};
use crate::column_cache::ColumnCache;
use crate::merge_tree::parts::part::Part;
use crate::row_claims::RowClaims;
use crate::table::{Claim, Morsel, ScanRequest, ScanSelection, TableScan};

/// Segments of at most so many rows, as lookups by key give, are put together into one block: a block costs more than copying them.
const GATHERED_ROWS_MAX: usize = 16;
/// Rows of a block that is put together.
const GATHERED_BLOCK_ROWS_MAX: usize = 4096;

/// A scan over chunks in memory.
pub(in crate::merge_tree) struct HotScan {
    schema: Arc<Schema>,
    segments: Arc<[HotSegment]>,
    /// The number of rows before each segment.
    starts: Arc<[u64]>,
    claims: RowClaims,
    selection: ScanSelection,
    /// Kept so that their files, and what else readers of them may open, stay.
    parts: Arc<[Arc<Part>]>,
    /// The condition, where it is to be found out which granules have no match.
    learning: Option<Learning>,
    /// Rows left out since somebody asked.
    left_out: AtomicU64,
}

struct HotSegment {
    /// The requested columns of the whole row group.
    chunks: Arc<[Rows]>,
    offset: usize,
    rows: usize,
    /// The number of the row group's first row within its part, where rows' numbers are wanted.
    first: Option<u64>,
}

impl HotScan {
    /// The scan, or the segments back where a chunk is not decoded. `is_as_asked` says that the request's condition is over these columns.
    pub(in crate::merge_tree) fn new(
        cache: &ColumnCache,
        segments: Vec<Segment>,
        columns: &[usize],
        request: &ScanRequest,
        is_as_asked: bool,
    ) -> Result<Self, Vec<Segment>> {
        let (mut misses, mut chunks) = (0, 0);
        let mut found: Vec<Arc<[Rows]>> = Vec::with_capacity(segments.len());
        for group in segments.chunk_by(Segment::is_of_group_of) {
            let Some(first) = group.first() else { continue };
            let find = |column: &usize| first.part.slot(first.row_group, *column)?.get();
            let rows: Arc<[Rows]> = columns.iter().filter_map(find).collect();
            chunks += columns.len();
            misses += columns.len() - rows.len();
            found.extend(std::iter::repeat_n(rows, group.len()));
        }
        cache.count((chunks - misses) as u64, misses as u64);
        if misses > 0 {
            return Err(segments);
        }
        let learning = if is_as_asked { Learning::of(&segments, request) } else { None };
        Ok(Self { learning, ..Self::over(segments, request, found) })
    }

    /// The scan of chunks in memory, which are given for each segment.
    pub(in crate::merge_tree) fn over(
        segments: Vec<Segment>,
        request: &ScanRequest,
        chunks: impl IntoIterator<Item = Arc<[Rows]>>,
    ) -> Self {
        let segment = |(segment, chunks): (&Segment, Arc<[Rows]>)| {
            let first = request.row_numbers.first(&segment.part, segment.row_group);
            HotSegment { chunks, offset: segment.offset, rows: segment.rows, first }
        };
        let hot: Vec<HotSegment> = segments.iter().zip(chunks).map(segment).collect();
        debug_assert_eq!(hot.len(), segments.len());
        let mut starts = Vec::with_capacity(hot.len());
        let mut rows = 0;
        for segment in &hot {
            starts.push(rows);
            rows += segment.rows as u64;
        }
        let selection = selection(&segments);
        let mut parts: Vec<Arc<Part>> = segments.into_iter().map(|segment| segment.part).collect();
        parts.dedup_by(|left, right| Arc::ptr_eq(left, right));
        Self {
            schema: request.schema.clone(),
            segments: hot.into(),
            starts: starts.into(),
            claims: RowClaims::new(request.limited(rows)),
            selection,
            parts: parts.into(),
            learning: None,
            left_out: AtomicU64::new(0),
        }
    }
}

impl TableScan for HotScan {
    fn rows_total(&self) -> Option<u64> {
        Some(self.claims.total())
    }

    fn selection(&self) -> ScanSelection {
        self.selection
    }

    fn again(&self) -> Option<Arc<dyn TableScan>> {
        Some(Arc::new(Self {
            schema: self.schema.clone(),
            segments: self.segments.clone(),
            starts: self.starts.clone(),
            claims: RowClaims::new(self.claims.total()),
            selection: self.selection,
            parts: self.parts.clone(),
            learning: None,
            left_out: AtomicU64::new(0),
        }))
    }

    fn take_left_out(&self) -> u64 {
        self.left_out.swap(0, Ordering::Relaxed)
    }

    fn claim(&self, rows: u64, _: &Waker) -> Claim {
        self.claims.claim(rows)
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        let mut skip = morsel.first;
        let mut left = morsel.rows;
        let mut at = self.starts.partition_point(|start| *start <= skip).saturating_sub(1);
        skip -= self.starts.get(at).copied().unwrap_or(skip);
        while let Some(segment) = self.segments.get(at).filter(|_| left > 0) {
            if skip == 0
                && let Some((block, segments)) = self.gathered(at, left)?
            {
                left -= block.rows() as u64;
                at += segments;
                if consume(block)?.is_break() {
                    break;
                }
                continue;
            }
            let rows = left.min((segment.rows as u64).saturating_sub(skip)) as usize;
            if rows > 0 {
                let offset = segment.offset + skip as usize;
                let block = slice(&self.schema, &segment.chunks, offset, rows, segment.first)?;
                let left = match &self.learning {
                    Some(learning) => learning.test(at, offset, block)?,
                    None => Some(block),
                };
                self.left_out.fetch_add((rows - left.as_ref().map_or(0, Block::rows)) as u64, Ordering::Relaxed);
                if let Some(block) = left
                    && consume(block)?.is_break()
                {
                    break;
                }
            }
            left -= rows as u64;
            skip = 0;
            at += 1;
        }
        Ok(())
    }
}

impl HotScan {
    /// The short segments from this one on in one block, at most `rows_max` rows, and their number; `None` where there are no two.
    fn gathered(&self, from: usize, rows_max: u64) -> Result<Option<(Block, usize)>> {
        let rows_max = (rows_max as usize).min(GATHERED_BLOCK_ROWS_MAX);
        let mut rows = 0;
        let short = self.segments.iter().skip(from).take_while(|segment| {
            rows += segment.rows;
            segment.rows <= GATHERED_ROWS_MAX && rows <= rows_max && segment.first.is_none()
        });
        let count = short.count();
        let segments = self.segments.get(from..from + count).unwrap_or_default();
        if count < 2 || !self.schema.types().all(can_be_gathered) {
            return Ok(None);
        }
        let mut sources: Vec<&Arc<[Rows]>> = Vec::new();
        let mut places = Vec::new();
        for segment in segments {
            if !sources.last().is_some_and(|last| Arc::ptr_eq(last, &segment.chunks)) {
                sources.push(&segment.chunks);
            }
            let source = sources.len() - 1;
            places.extend((segment.offset..segment.offset + segment.rows).map(|row| (source, row)));
        }
        let columns = self.schema.types().enumerate().map(|(at, data_type)| {
            let whole = |rows: &&Arc<[Rows]>| match rows.get(at) {
                Some(Rows::Whole(array)) => Some(array.clone()),
                _ => None,
            };
            if let Some(arrays) = sources.iter().map(whole).collect::<Option<Vec<_>>>() {
                let arrays: Vec<&dyn Array> = arrays.iter().map(|array| &**array).collect();
                return Ok(Column::new(data_type.clone(), interleave(&arrays, &places)?));
            }
            let some = segments.iter().filter_map(|segment| {
                let rows = segment.chunks.get(at)?.slice(segment.offset, segment.rows);
                Some(Column::of_rows(data_type.clone(), rows))
            });
            Column::concat(&some.collect::<Vec<_>>())
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(Some((Block::new(self.schema.clone(), columns, places.len()), count)))
    }
}

/// Whether rows of several arrays of a type may stand in one: not where each array has a dictionary of its own.
fn can_be_gathered(data_type: &DataType) -> bool {
    !data_type.is_nested() && !matches!(data_type, DataType::LowCardinality(_) | DataType::Nothing)
}

/// Rows of a row group's chunks as a block under the scan's names and types; with their numbers where the group's first one is given.
pub(in crate::merge_tree) fn slice(
    schema: &Arc<Schema>,
    chunks: &[Rows],
    offset: usize,
    rows: usize,
    first: Option<u64>,
) -> Result<Block> {
    if chunks.len() + usize::from(first.is_some()) != schema.len() {
        return Err(Error::logical("a scan whose schema is not its columns"));
    }
    let column = |(data_type, chunk): (&DataType, &Rows)| Column::of_rows(data_type.clone(), chunk.slice(offset, rows));
    let mut columns: Vec<Column> = schema.types().zip(chunks).map(column).collect();
    if let Some(first) = first {
        columns.push(row_numbers(first, std::slice::from_ref(&(offset..offset + rows)))?);
    }
    Ok(Block::new(schema.clone(), columns, rows))
}

/// The numbers of some rows of a row group, of which the first has this number.
pub(super) fn row_numbers(first: u64, ranges: &[Range<usize>]) -> Result<Column> {
    reserve(ranges.iter().map(ExactSizeIterator::len).sum::<usize>() * size_of::<u64>())?;
    let numbers = ranges.iter().flat_map(|range| first + range.start as u64..first + range.end as u64);
    Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, numbers.collect()))
}
