//! A scan of subcolumns of chunks in memory: first their own chunks are made, where they are not in memory yet, then it is a scan of
//! chunks in memory as any other.

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use std::task::{Wake, Waker};

use bytes::Bytes;
use parking_lot::Mutex;
use squall_planner::Expression;
use squall_types::{Block, DataType, Error, Result, Rows};

use super::subcolumn_decoder::{SubcolumnDecoder, subcolumn};
use super::{WantedColumn, WantedColumns};
use crate::column_cache::ChunkLoad;
use crate::merge_tree::parts::part::{Part, SubcolumnChunk};
use crate::merge_tree::scans::cold_scan::Waiters;
use crate::merge_tree::scans::hot_scan::HotScan;
use crate::merge_tree::scans::pruning::{Segment, selection};
use crate::table::{Claim, Morsel, ScanRequest, ScanSelection, TableScan};

/// A scan that wants fewer of a row group's rows than one in so many computes their subcolumns as it reads them.
const ROWS_FRACTION: usize = 4;

/// The scan.
pub(in crate::merge_tree) struct HotSubcolumns {
    request: ScanRequest,
    rows: u64,
    selection: ScanSelection,
    /// The row groups that are read, in order, each once.
    groups: Vec<Group>,
    state: Mutex<State>,
    waiters: Arc<Waiters>,
    scan: OnceLock<HotScan>,
}

struct Group {
    part: Arc<Part>,
    /// By the wanted columns.
    chunks: Vec<Chunk>,
}

enum Chunk {
    Ready(Rows),
    Making { load: Arc<ChunkLoad>, of: Making },
}

/// What a chunk is made of.
struct Making {
    chunk: SubcolumnChunk,
    rows: Rows,
    data_type: DataType,
    expression: Expression,
}

struct State {
    segments: Vec<Segment>,
    /// Chunks that a worker of this scan makes, by group and column.
    claimed: Vec<(usize, usize)>,
}

impl HotSubcolumns {
    /// The scan, or the segments back where a chunk is not in memory, or not worth being made. `columns` are stored columns.
    pub(in crate::merge_tree) fn start(
        segments: Vec<Segment>,
        columns: &[usize],
        request: &ScanRequest,
        wanted: &WantedColumns,
    ) -> Result<Arc<dyn TableScan>, Vec<Segment>> {
        let Some(groups) = groups(&segments, columns, request, wanted) else { return Err(segments) };
        let request = ScanRequest { schema: wanted.schema.clone(), subcolumns: None, ..request.clone() };
        let rows = request.limited(segments.iter().map(|segment| segment.rows as u64).sum());
        let scan = Self {
            request,
            rows,
            selection: selection(&segments),
            groups,
            state: Mutex::new(State { segments, claimed: Vec::new() }),
            waiters: Arc::default(),
            scan: OnceLock::new(),
        };
        for (load, _) in scan.making() {
            load.when_changed(&Waker::from(scan.waiters.clone()));
        }
        if scan.making().next().is_some() {
            return Ok(Arc::new(scan));
        }
        let segments = std::mem::take(&mut scan.state.lock().segments);
        Ok(Arc::new(scan.hot_scan(segments)))
    }

    fn making(&self) -> impl Iterator<Item = (&Arc<ChunkLoad>, &Making)> {
        self.groups.iter().flat_map(|group| &group.chunks).filter_map(|chunk| match chunk {
            Chunk::Ready(_) => None,
            Chunk::Making { load, of } => Some((load, of)),
        })
    }

    /// The scan of the chunks, all of which are there.
    fn hot_scan(&self, segments: Vec<Segment>) -> HotScan {
        let mut chunks: Vec<Arc<[Rows]>> = Vec::with_capacity(segments.len());
        for (group, segments) in self.groups.iter().zip(segments.chunk_by(Segment::is_of_group_of)) {
            let rows = group.chunks.iter().filter_map(|chunk| match chunk {
                Chunk::Ready(rows) => Some(rows.clone()),
                Chunk::Making { load, .. } => load.decoded(),
            });
            chunks.extend(std::iter::repeat_n(rows.collect(), segments.len()));
        }
        HotScan::over(segments, &self.request, chunks)
    }

    fn try_claim(&self, rows: u64, waker: &Waker) -> Claim {
        if let Some(scan) = self.scan.get() {
            return scan.claim(rows, waker);
        }
        let mut state = self.state.lock();
        let mut is_ready = true;
        for (at, group) in self.groups.iter().enumerate() {
            for (place, chunk) in group.chunks.iter().enumerate() {
                let Chunk::Making { load, .. } = chunk else { continue };
                if load.decoded().is_some() {
                    continue;
                }
                is_ready = false;
                if load.is_fetched() && !state.claimed.contains(&(at, place)) {
                    state.claimed.push((at, place));
                    return Claim::Morsel(Morsel { first: (at * self.request.schema.len() + place) as u64, rows: 0 });
                }
            }
        }
        if !is_ready {
            return Claim::Pending;
        }
        let segments = &mut state.segments;
        self.scan.get_or_init(|| self.hot_scan(std::mem::take(segments))).claim(rows, waker)
    }

    /// Makes a piece of a chunk, unless a worker of another scan is at it, who wakes this one's afterwards.
    fn make(&self, at: usize, place: usize) -> Result<()> {
        let group = self.groups.get(at).ok_or_else(|| Error::logical("a chunk of no row group"))?;
        let Some(Chunk::Making { load, of }) = group.chunks.get(place) else { return Ok(()) };
        // The chunk is the cache's, for all queries: none of them pays for it.
        let _shared = squall_runtime::memory::detach();
        load.decode(|_| {
            let Making { chunk, rows, data_type, expression } = of;
            Ok(Box::new(SubcolumnDecoder::new(&group.part, chunk, rows, data_type, expression)))
        })?;
        self.state.lock().claimed.retain(|claimed| *claimed != (at, place));
        self.waiters.clone().wake();
        Ok(())
    }
}

impl Group {
    /// Of the wanted columns; `None` where one is not in memory, and is not to be made.
    fn of(
        segment: &Segment,
        rows_wanted: usize,
        columns: &[usize],
        request: &ScanRequest,
        wanted: &WantedColumns,
    ) -> Option<Self> {
        let (part, row_group) = (&segment.part, segment.row_group);
        let rows_of_group = part.description.row_groups.get(row_group)?.rows;
        let may_make = request.limit.is_none() && rows_wanted >= rows_of_group.div_ceil(ROWS_FRACTION);
        let of = |wanted: &WantedColumn| {
            let (WantedColumn::Column(at) | WantedColumn::Subcolumn { of: at, .. }) = wanted;
            let column = *columns.get(*at)?;
            let held = || part.slot(row_group, column)?.get();
            let WantedColumn::Subcolumn { path, expression, .. } = wanted else { return held().map(Chunk::Ready) };
            let (_, data_type) = request.schema.fields.get(*at)?;
            if let DataType::Json(json) = data_type
                && json.type_of(path).is_some()
            {
                // It is an array of its own already.
                let values = subcolumn(&held()?, data_type, expression).ok()?;
                return Some(Chunk::Ready(Rows::Whole(values.to_array().ok()?)));
            }
            let chunk = SubcolumnChunk { row_group, column, path: path.clone() };
            let slot = part.subcolumn_slot(&chunk);
            if let Some(rows) = slot.get() {
                return Some(Chunk::Ready(rows));
            }
            let rows = held().filter(|_| may_make)?;
            let (load, is_new) = slot.load();
            if is_new {
                // Nothing comes from the disk.
                load.fetched(Ok(Bytes::new()));
            }
            let (data_type, expression) = (data_type.clone(), expression.clone());
            Some(Chunk::Making { load, of: Making { chunk, rows, data_type, expression } })
        };
        let chunks = wanted.columns.iter().map(of).collect::<Option<Vec<_>>>()?;
        Some(Self { part: part.clone(), chunks })
    }
}

/// The row groups of segments, which follow each other; `None` as of [`Group::of`].
fn groups(
    segments: &[Segment],
    columns: &[usize],
    request: &ScanRequest,
    wanted: &WantedColumns,
) -> Option<Vec<Group>> {
    let of_group = |segments: &[Segment]| {
        let rows = segments.iter().map(|segment| segment.rows).sum();
        Group::of(segments.first()?, rows, columns, request, wanted)
    };
    segments.chunk_by(Segment::is_of_group_of).map(of_group).collect()
}

impl TableScan for HotSubcolumns {
    fn rows_total(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn selection(&self) -> ScanSelection {
        self.selection
    }

    fn claim(&self, rows: u64, waker: &Waker) -> Claim {
        match self.try_claim(rows, waker) {
            Claim::Pending => {
                // A chunk that was made before the waker was known wakes nobody, so look once more.
                self.waiters.add(waker);
                self.try_claim(rows, waker)
            }
            claim => claim,
        }
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        if morsel.rows == 0 {
            let (chunk, columns) = (morsel.first as usize, self.request.schema.len().max(1));
            return self.make(chunk / columns, chunk % columns);
        }
        let scan = self.scan.get().ok_or_else(|| Error::logical("rows of chunks that are not there yet"))?;
        scan.read(morsel, consume)
    }
}
