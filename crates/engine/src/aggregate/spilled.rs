//! Groups on disk: a worker's groups, cut by partitions of their keys' hashes, as blocks of their keys and of the serialised states of
//! each accumulator.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::BinaryArray;
use arrow_buffer::OffsetBuffer;
use parking_lot::Mutex;
use squall_functions::{Accumulator, GroupIds};
use squall_runtime::Pieces;
use squall_types::{Block, Column, DataType, Error, Result, Schema};

use super::key_table::KeyTable;
use super::sink::{AggregateLocal, Grouping};
use crate::query_context::QueryContext;
use crate::spill::{Frame, SpillFile, SpillKind, SpillWriter, Threshold, decode_frame};
use crate::works::Works;

/// Partitions of groups that go to disk: one of them must fit into memory.
pub(super) const PARTITIONS: usize = 256;
/// Groups that are looked at between two looks at the clock.
pub(super) const GROUPS_AT_ONCE: usize = 4_096;
/// Groups of a block on disk at most.
const FRAME_GROUPS_MAX: usize = 4_096;
/// Bytes of states of a block on disk, about.
const FRAME_BYTES: usize = 256 << 10;
/// Bytes that are read at once, about.
const READ_BYTES: usize = 2 << 20;

/// One worker's groups on disk: the frames of each partition.
type Parts = Vec<Vec<Frame>>;

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
            let parts = write(local, file).await?;
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

    /// Adds the groups of a partition to a table, those of the worker that wrote first before others.
    pub(super) async fn read(
        &self,
        partition: usize,
        grouping: &Grouping,
        table: &mut dyn KeyTable,
        accumulators: &mut [Box<dyn Accumulator>],
        pieces: &mut Pieces,
    ) -> Result<()> {
        let Some(file) = self.file.lock().clone() else { return Ok(()) };
        let mut written: Vec<(usize, Vec<Frame>)> = {
            let mut written = self.written.lock();
            written.iter_mut().map(|(number, parts)| (*number, std::mem::take(&mut parts[partition]))).collect()
        };
        written.sort_unstable_by_key(|(number, _)| *number);
        let frames: Vec<Frame> = written.into_iter().flat_map(|(_, frames)| frames).collect();
        let schema = Arc::new(schema(grouping, accumulators.len()));
        let mut scratch = Vec::new();
        let mut left = &frames[..];
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
                add(&block, grouping.keys.len(), table, accumulators, &mut scratch)?;
                pieces.pause().await;
            }
        }
        Ok(())
    }
}

/// The columns of groups on disk: their keys, and the states of each accumulator.
fn schema(grouping: &Grouping, accumulators: usize) -> Schema {
    let keys = grouping.key_types.iter().cloned();
    let states = std::iter::repeat_n(DataType::String, accumulators);
    Schema::new(keys.chain(states).enumerate().map(|(at, data_type)| (at.to_string(), data_type)))
}

/// Adds the groups of a block.
fn add(
    block: &Block,
    keys: usize,
    table: &mut dyn KeyTable,
    accumulators: &mut [Box<dyn Accumulator>],
    scratch: &mut Vec<u32>,
) -> Result<()> {
    let (keys, states) = block.columns().split_at(keys);
    let GroupIds::Each(ids) = table.group_ids(keys, block.rows(), scratch)? else {
        return Err(Error::logical("groups on disk are hashed"));
    };
    for (accumulator, states) in accumulators.iter_mut().zip(states) {
        let states = states.as_binary()?;
        for (row, group) in ids.iter().enumerate() {
            accumulator.merge_serialized(*group as usize, &mut states.value(row))?;
        }
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

    fn end_state(&mut self) -> Result<()> {
        let too_large = || Error::logical("a state of more than 2 GiB");
        self.offsets.push(i32::try_from(self.bytes.len()).map_err(|_| too_large())?);
        Ok(())
    }

    fn column(self) -> Result<Column> {
        let array = BinaryArray::try_new(OffsetBuffer::new(self.offsets.into()), self.bytes.into(), None)?;
        Ok(Column::new(DataType::String, Arc::new(array)))
    }
}

/// Writes a worker's groups.
async fn write(local: AggregateLocal, file: Arc<SpillFile>) -> Result<Parts> {
    let AggregateLocal { grouping, table, mut accumulators, .. } = local;
    let mut pieces = Pieces::begin();
    let mut lists: Vec<Vec<u32>> = vec![Vec::new(); PARTITIONS];
    let groups = table.groups();
    for first in (0..groups).step_by(GROUPS_AT_ONCE) {
        table.partition(first..groups.min(first + GROUPS_AT_ONCE), &mut lists);
        pieces.pause().await;
    }
    let schema = Arc::new(schema(&grouping, accumulators.len()));
    let mut writer = SpillWriter::new(file)?;
    let mut frames_of = Vec::with_capacity(PARTITIONS);
    for list in lists {
        let mut frames = Vec::new();
        let mut left = &list[..];
        while !left.is_empty() {
            let mut states: Vec<States> = accumulators.iter().map(|_| States::new()).collect();
            let mut rows = 0;
            for group in left.iter().take(FRAME_GROUPS_MAX) {
                for (accumulator, states) in accumulators.iter_mut().zip(&mut states) {
                    accumulator.serialize(*group as usize, &mut states.bytes)?;
                    states.end_state()?;
                }
                rows += 1;
                if states.iter().map(|states| states.bytes.len()).sum::<usize>() > FRAME_BYTES {
                    break;
                }
            }
            let (now, later) = left.split_at(rows);
            left = later;
            let mut columns = table.part(now)?.columns(0..rows)?;
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
