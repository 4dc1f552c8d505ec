//! Groups on disk: a worker's groups, cut by partitions of their keys' hashes, as blocks of their keys and of the serialised states of
//! each accumulator. A partition that comes back and does not fit is cut again.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::BinaryArray;
use arrow_buffer::OffsetBuffer;
use parking_lot::Mutex;
use squall_functions::GroupIds;
use squall_runtime::Pieces;
use squall_types::{Block, Column, DataType, Error, Result, Schema};

use super::expected_groups::GROUPS_EXPECTED_MAX;
use super::groups::{GROUPS_AT_ONCE, Groups};
use super::partitions::PARTITIONS;
use super::sink::{AggregateLocal, Grouping};
use crate::query_context::QueryContext;
use crate::spill::{Frame, SpillFile, SpillKind, SpillWriter, Threshold, decode_frame};
use crate::works::Works;

/// A partition that does not fit into memory is cut into as many, as long as there are not more than so many in all.
const CUTS: usize = 16;
const PARTITIONS_MAX: usize = PARTITIONS * CUTS * CUTS;
/// A partition that is cut is written anew each time that so many bytes of it are in memory, or fewer where memory is short.
const CUT_BYTES: usize = 8 << 20;
/// Groups of a block on disk at most.
const FRAME_GROUPS_MAX: usize = 4_096;
/// Groups whose states are written before anybody looks how long they are.
const SERIALISED_AT_ONCE: usize = 512;
/// Bytes of states of a block on disk, about.
const FRAME_BYTES: usize = 256 << 10;
/// Bytes that are read at once, about.
const READ_BYTES: usize = 2 << 20;

/// One worker's groups on disk: the frames of each partition.
type Parts = Vec<Vec<Frame>>;

/// Groups on disk that are read together: those of one partition among so many.
pub(super) struct Partition {
    number: usize,
    partitions: usize,
    frames: Vec<Frame>,
}

/// What became of a partition.
pub(super) enum Read {
    /// Its groups.
    Groups(Groups),
    /// It was too large, and is on disk in several now.
    Cut(Vec<Partition>),
}

/// How groups get onto the disk and from there.
pub(crate) struct Spilling {
    context: Arc<QueryContext>,
    pub(super) threshold: Threshold,
    /// Groups that are being written.
    works: Arc<Works>,
    file: Mutex<Option<Arc<SpillFile>>>,
    /// What was written, by the number of when it was begun.
    written: Mutex<Vec<(usize, Parts)>>,
    begun: AtomicUsize,
}

impl Spilling {
    /// Groups are written by `works`; `is_distinct`: of a DISTINCT, which has settings of its own.
    pub(crate) fn new(context: Arc<QueryContext>, works: Arc<Works>, is_distinct: bool) -> Self {
        let settings = &context.settings;
        let (bytes, ratio) = match is_distinct {
            true => (settings.max_bytes_before_external_distinct, settings.max_bytes_ratio_before_external_distinct),
            false => (settings.max_bytes_before_external_group_by, settings.max_bytes_ratio_before_external_group_by),
        };
        let threshold = Threshold::new(context.clone(), bytes, ratio);
        let (file, written) = (Mutex::default(), Mutex::default());
        Self { context, threshold, works, file, written, begun: AtomicUsize::new(0) }
    }

    /// Whether any groups are on disk, or on their way.
    pub(super) fn is_used(&self) -> bool {
        self.begun.load(Ordering::SeqCst) > 0
    }

    /// Whether so much is being written that no more rows should come.
    pub(super) fn is_full(&self) -> bool {
        self.threshold.is_full(&self.works)
    }

    /// Has a worker's groups written.
    pub(super) fn spill(self: &Arc<Self>, local: AggregateLocal) -> Result<()> {
        let file = {
            let mut file = self.file.lock();
            match &*file {
                Some(file) => file.clone(),
                None => file.insert(SpillFile::new(self.context.clone(), SpillKind::Aggregation)?).clone(),
            }
        };
        let number = self.begun.fetch_add(1, Ordering::SeqCst);
        let this = self.clone();
        self.works.add(Box::pin(async move {
            let AggregateLocal { grouping, groups, aside, .. } = local;
            let mut parts: Parts = vec![Vec::new(); PARTITIONS];
            // What came first comes first.
            if let Some(aside) = aside {
                let mut pieces = Pieces::begin();
                for (number, groups) in aside.into_groups(&grouping)?.enumerate() {
                    pieces.pause().await;
                    if let Some(groups) = groups? {
                        let written = write(groups, &grouping, file.clone(), PARTITIONS, number..number + 1).await?;
                        parts[number].extend(written.into_iter().flatten());
                    }
                }
            }
            let written = write(groups, &grouping, file, PARTITIONS, 0..PARTITIONS).await?;
            parts.iter_mut().zip(written).for_each(|(frames, more)| frames.extend(more));
            this.written.lock().push((number, parts));
            Ok(())
        }));
        Ok(())
    }

    /// No more groups will be written.
    pub(super) fn end(&self) {
        if let Some(file) = &*self.file.lock() {
            file.count_merge();
        }
        self.works.end();
    }

    /// The groups of a partition, those of the worker that wrote first before others.
    pub(super) fn partition(&self, number: usize) -> Partition {
        let mut written: Vec<(usize, Vec<Frame>)> = {
            let mut written = self.written.lock();
            written.iter_mut().map(|(begun, parts)| (*begun, std::mem::take(&mut parts[number]))).collect()
        };
        written.sort_unstable_by_key(|(begun, _)| *begun);
        let frames = written.into_iter().flat_map(|(_, frames)| frames).collect();
        Partition { number, partitions: PARTITIONS, frames }
    }

    /// Reads a partition.
    pub(super) async fn read(&self, partition: Partition, grouping: &Grouping, pieces: &mut Pieces) -> Result<Read> {
        let mut groups = Groups::new(grouping)?;
        let Some(file) = self.file.lock().clone() else { return Ok(Read::Groups(groups)) };
        let schema = Arc::new(schema(grouping, groups.accumulators.len()));
        // As many as there may be in a partition of a fair size; rows of the same groups may have come many times.
        let rows = partition.frames.iter().map(|frame| frame.rows as usize).sum::<usize>();
        groups.table.reserve_groups(rows.min(GROUPS_EXPECTED_MAX))?;
        let (partitions, first) = (partition.partitions * CUTS, partition.number * CUTS);
        let mut cut: Option<Parts> = None;
        let mut scratch = Vec::new();
        let mut left = &partition.frames[..];
        while !left.is_empty() {
            let mut bytes = 0;
            let now = left.iter().take_while(|frame| {
                let is_first = bytes == 0;
                bytes += frame.bytes();
                is_first || bytes <= READ_BYTES
            });
            let (now, later) = left.split_at(now.count());
            left = later;
            for buffer in file.read(now)?.await? {
                let block = decode_frame(&buffer, &schema)?;
                add(&block, grouping.keys.len(), &mut groups, &mut scratch)?;
                pieces.pause().await;
            }
            let is_too_large = match cut {
                Some(_) => groups.memory_bytes() > self.threshold.part(16, CUT_BYTES),
                None => partitions <= PARTITIONS_MAX && self.threshold.is_passed(|| groups.memory_bytes()),
            };
            if is_too_large || cut.is_some() && left.is_empty() {
                let mut fresh = Groups::new(grouping)?;
                fresh.table.stop_lookups();
                let full = std::mem::replace(&mut groups, fresh);
                let parts = write(full, grouping, file.clone(), partitions, first..first + CUTS).await?;
                let cut = cut.get_or_insert_with(|| vec![Vec::new(); CUTS]);
                cut.iter_mut().zip(parts).for_each(|(frames, more)| frames.extend(more));
            }
        }
        let Some(cut) = cut else { return Ok(Read::Groups(groups)) };
        let part = |(number, frames)| Partition { number: first + number, partitions, frames };
        Ok(Read::Cut(cut.into_iter().enumerate().map(part).collect()))
    }
}

/// The columns of groups on disk: their keys, and the states of each accumulator.
fn schema(grouping: &Grouping, accumulators: usize) -> Schema {
    let keys = grouping.key_types.iter().cloned();
    let states = std::iter::repeat_n(DataType::String, accumulators);
    Schema::new(keys.chain(states).enumerate().map(|(at, data_type)| (at.to_string(), data_type)))
}

/// Adds the groups of a block.
fn add(block: &Block, keys: usize, groups: &mut Groups, scratch: &mut Vec<u32>) -> Result<()> {
    let (keys, states) = block.columns().split_at(keys);
    let GroupIds::Each(ids) = groups.table.group_ids(keys, block.rows(), scratch)? else {
        return Err(Error::logical("groups on disk are hashed"));
    };
    for (accumulator, states) in groups.accumulators.iter_mut().zip(states) {
        accumulator.merge_serialized_groups(ids, states.as_binary()?)?;
    }
    Ok(())
}

/// The states of one accumulator, as a column.
struct States {
    bytes: Vec<u8>,
    offsets: Vec<i32>,
}

impl States {
    fn new() -> Self {
        Self { bytes: Vec::new(), offsets: vec![0] }
    }

    fn column(self) -> Result<Column> {
        let array = BinaryArray::try_new(OffsetBuffer::new(self.offsets.into()), self.bytes.into(), None)?;
        Ok(Column::new(DataType::String, Arc::new(array)))
    }
}

/// Writes groups, which all belong to some partitions among so many.
async fn write(
    groups: Groups,
    grouping: &Grouping,
    file: Arc<SpillFile>,
    partitions: usize,
    written: Range<usize>,
) -> Result<Parts> {
    let Groups { table, mut accumulators } = groups;
    let mut pieces = Pieces::begin();
    let mut lists: Vec<Vec<u32>> = vec![Vec::new(); partitions];
    let groups = table.groups();
    let state_bytes = accumulators.iter().map(|states| states.memory_bytes()).sum::<usize>() / groups.max(1);
    let groups_at_once = (FRAME_BYTES / (state_bytes + 1)).clamp(1, SERIALISED_AT_ONCE);
    for first in (0..groups).step_by(GROUPS_AT_ONCE) {
        table.partition(first..groups.min(first + GROUPS_AT_ONCE), &mut lists);
        pieces.pause().await;
    }
    let schema = Arc::new(schema(grouping, accumulators.len()));
    let mut writer = SpillWriter::new(file)?;
    let mut frames_of = Vec::with_capacity(written.len());
    for list in lists.drain(written) {
        let mut frames = Vec::new();
        let mut left = &list[..];
        while !left.is_empty() {
            let mut states: Vec<States> = accumulators.iter().map(|_| States::new()).collect();
            let mut rows = 0;
            for groups in left[..left.len().min(FRAME_GROUPS_MAX)].chunks(groups_at_once) {
                for (accumulator, states) in accumulators.iter_mut().zip(&mut states) {
                    accumulator.serialize_groups(groups, &mut states.bytes, &mut states.offsets)?;
                }
                rows += groups.len();
                if states.iter().map(|states| states.bytes.len()).sum::<usize>() > FRAME_BYTES {
                    break;
                }
            }
            let (now, later) = left.split_at(rows);
            left = later;
            let mut columns = table.gather_columns(now)?;
            for states in states {
                columns.push(states.column()?);
            }
            pieces.pause().await;
            frames.push(writer.put(&Block::new(schema.clone(), columns, rows)).await?);
            pieces.pause().await;
        }
        frames_of.push(frames);
    }
    let frames = writer.finish().await?;
    Ok(frames_of.into_iter().map(|numbers| numbers.into_iter().map(|number| frames[number]).collect()).collect())
}
