//! An INSERT into a MergeTree table: each writer gathers rows into parts, what they have left makes common ones, and the commit makes
//! all of them durable and visible.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use squall_types::{Block, Error, ErrorCode, Result};

use super::MergeTree;
use super::merges::merge_control::BlockClaim;
use super::merges::merge_rule::MergeRule;
use super::parts::part::Part;
use super::parts::part_name::PartName;
use super::parts::part_writer::{UnwrittenPart, write_part};
use super::parts::partition::{self, PartitionRows};
use super::parts::unsorted_rows::UnsortedRows;
use crate::catalog::{ColumnStatistics, ForeignFile, InsertMark, InsertedParts, NewPart, RefreshNote};
use crate::identity::TableName;
use crate::insert_id::InsertId;
use crate::table::{InsertLimits, InsertPlace, InsertWriter, Insertion, PartWork};
use squall_runtime::profile_events::count;
use squall_runtime::{Pieces, ProfileEvent};

/// Encoded parts of one INSERT that may wait to be written; no more are made meanwhile.
const PARTS_IN_FLIGHT_MAX: usize = 8;
/// What a writer has left at the end becomes a part of its own from this many rows on: enough to be worth a worker. Less is put together
/// with what other writers have left, so that a small INSERT makes one part, however many threads it ran on.
const OWN_PART_ROWS_MIN: usize = 262_144;
/// The same in bytes.
const OWN_PART_BYTES_MIN: usize = 64 << 20;

/// An INSERT under way.
pub(super) struct MergeTreeInsertion {
    table: Arc<MergeTree>,
    limits: InsertLimits,
    parts: Arc<Mutex<Parts>>,
    /// By what it is known if it comes again.
    id: OnceLock<(Arc<InsertId>, Option<TableName>)>,
}

/// Parts that an INSERT has made. Dropped without a commit, they remove their files.
#[derive(Default)]
struct Parts {
    all: Vec<UnwrittenPart>,
    /// Those whose files may not be written yet, oldest first.
    in_flight: VecDeque<UnwrittenPart>,
    /// Writers that have not finished.
    writers: usize,
    /// What finished writers have left.
    left: Buffered,
    turns: Turns,
}

/// Batches of rows take the numbers of their parts in turn, whichever is made first: of rows with equal keys in two parts, those of the
/// higher number are the later ones.
#[derive(Default)]
struct Turns {
    given: u64,
    ended: u64,
    waiting: Vec<Waker>,
}

impl Turns {
    /// A turn after all others.
    fn give(&mut self) -> u64 {
        self.given += 1;
        self.given - 1
    }

    fn poll(&mut self, turn: u64, context: &Context<'_>) -> Poll<()> {
        if turn == self.ended {
            return Poll::Ready(());
        }
        self.waiting.push(context.waker().clone());
        Poll::Pending
    }

    /// Ends the turn that is on. Gives those to wake.
    #[must_use]
    fn end(&mut self) -> Vec<Waker> {
        self.ended += 1;
        std::mem::take(&mut self.waiting)
    }
}

/// Rows that wait to become parts.
#[derive(Default)]
struct Buffered {
    blocks: Vec<(InsertPlace, Block)>,
    rows: usize,
    bytes: usize,
}

impl Buffered {
    fn push(&mut self, place: InsertPlace, block: Block, bytes: usize) {
        self.rows += block.rows();
        self.bytes += bytes;
        self.blocks.push((place, block));
    }

    /// The blocks in the order of the INSERT: of rows with equal keys the last one may be the one that counts.
    fn into_blocks(mut self) -> Vec<Block> {
        self.blocks.sort_by_key(|(place, _)| *place);
        self.blocks.into_iter().map(|(_, block)| block).collect()
    }

    fn append(&mut self, other: Self) {
        self.rows += other.rows;
        self.bytes += other.bytes;
        self.blocks.extend(other.blocks);
    }

    /// Columns of one block hold less than 2 GiB of strings.
    fn has_room_for(&self, bytes: usize) -> bool {
        self.bytes + bytes <= i32::MAX as usize
    }

    fn is_worth_a_part(&self) -> bool {
        self.rows >= OWN_PART_ROWS_MIN || self.bytes >= OWN_PART_BYTES_MIN
    }
}

impl MergeTreeInsertion {
    pub(super) fn new(table: Arc<MergeTree>, limits: InsertLimits) -> Result<Self> {
        let set = table.parts.load();
        let parts = set.crowd(&table.settings);
        if parts >= table.settings.parts_to_throw_insert {
            count(ProfileEvent::RejectedInserts, 1);
            return Err(Error::new(
                ErrorCode::TOO_MANY_PARTS,
                format!(
                    "Too many parts ({parts} with average size of {} bytes) in table '{}'. Merges are processing \
                     significantly slower than inserts",
                    set.bytes / set.parts.len().max(1) as u64,
                    table.identity.uuid,
                ),
            ));
        }
        Ok(Self { table, limits, parts: Arc::default(), id: OnceLock::new() })
    }
}

impl Insertion for MergeTreeInsertion {
    fn writer(&self) -> Result<Box<dyn InsertWriter>> {
        self.parts.lock().writers += 1;
        Ok(Box::new(PartsWriter {
            table: self.table.clone(),
            limits: self.limits,
            parts: self.parts.clone(),
            buffered: Buffered::default(),
            place: InsertPlace::default(),
        }))
    }

    fn keeps_order(&self) -> bool {
        self.table.rule.as_ref().is_some_and(MergeRule::depends_on_order)
    }

    fn commit(&self) -> Result<()> {
        self.prepare()?.map_or(Ok(()), |prepared| PreparedParts::commit(vec![prepared], None))
    }

    fn prepare(&self) -> Result<Option<PreparedParts>> {
        let mut unwritten = std::mem::take(&mut *self.parts.lock()).all;
        unwritten.iter().try_for_each(UnwrittenPart::wait)?;
        // Threads made them in any order.
        unwritten.sort_by_key(|unwritten| PartName::parse(&unwritten.part.file.name).map(|name| name.first_block));
        let parts: Vec<Arc<Part>> = unwritten.into_iter().map(|unwritten| unwritten.part).collect();
        let window = self.table.settings.deduplication_window;
        let mark = self.id.get().filter(|_| window > 0).map(|(id, view)| {
            let of_view = view.as_ref().map(|view| format!(" of view {view}")).unwrap_or_default();
            InsertMark { id: id.text() + &of_view, window }
        });
        Ok(Some(PreparedParts { table: self.table.clone(), parts, mark }))
    }

    fn identify(&self, id: &Arc<InsertId>, view: Option<&TableName>) {
        // The first one stays: nobody tells another.
        let _ = self.id.set((id.clone(), view.cloned()));
    }
}

/// Parts of an INSERT that are on disk and wait for the commit. Dropped without one, they remove their files.
pub struct PreparedParts {
    table: Arc<MergeTree>,
    parts: Vec<Arc<Part>>,
    mark: Option<InsertMark>,
}

impl PreparedParts {
    /// Makes the parts visible, all or none, but for those that an INSERT has brought that is known already. With them the refresh of a view is
    /// recorded; where there are none, nothing is.
    pub(crate) fn commit(prepared: Vec<Self>, refresh: Option<RefreshNote>) -> Result<()> {
        let with_parts = prepared.iter().filter(|prepared| !prepared.parts.is_empty());
        let tables: Vec<InsertedParts> = with_parts
            .map(|Self { table, parts, mark }| {
                let (published, mut visible) = (table.clone(), parts.clone());
                InsertedParts {
                    table_id: table.table_id,
                    parts: parts.iter().map(|part| new_part(part)).collect(),
                    mark: mark.clone(),
                    publish: Box::new(move |known| {
                        // Parts of rows that are there already are not committed, and remove their files.
                        count(ProfileEvent::DuplicatedInsertedBlocks, known.len() as u64);
                        visible.retain(|part| !known.contains(&part.file.name));
                        published.publish(visible);
                    }),
                }
            })
            .collect();
        let Some(first) = prepared.first().filter(|_| !tables.is_empty()) else { return Ok(()) };
        first.table.catalog.commit_parts(tables, refresh).inspect_err(|error| {
            if error.code == ErrorCode::UNKNOWN_STATUS_OF_INSERT {
                // The catalog may list them after all: the next start finds out.
                prepared.iter().flat_map(|prepared| &prepared.parts).for_each(|part| part.keep_in_doubt());
            }
        })
    }
}

impl PreparedParts {
    /// Makes the parts visible in the place of files of another writer, with all else that others have done to the table; `false`, and nothing
    /// has changed, where the files are others by now.
    pub(crate) fn take_over(self, foreign: &[ForeignFile]) -> Result<bool> {
        let Self { table, parts, .. } = &self;
        let recorded: Vec<NewPart> = parts.iter().map(|part| new_part(part)).collect();
        let taken = table.catalog.take_over(table.table_id, foreign, &recorded, |now| table.follow_lake(now, parts));
        taken.inspect_err(|error| {
            if error.code == ErrorCode::UNKNOWN_STATUS_OF_INSERT {
                parts.iter().for_each(|part| part.keep_in_doubt());
            }
        })
    }
}

/// A part as the catalog records it.
pub(super) fn new_part(part: &Part) -> NewPart {
    NewPart {
        name: part.file.name.clone(),
        partition_id: part.file.partition_id.clone(),
        path: part.file.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        rows: part.rows as i64,
        bytes: part.file.bytes as i64,
        footer_bytes: part.description.footer.length.saturating_sub(8) as i64,
        description: part.description.encode(),
        columns: column_statistics(part),
        schema: part.schema.clone(),
    }
}

/// A part's columns in numbers.
pub(super) fn column_statistics(part: &Part) -> Vec<ColumnStatistics> {
    let description = &part.description;
    let statistics = part.schema.stored.fields.iter().enumerate().map(|(column, (_, data_type))| {
        let chunks = description.row_groups.iter().filter_map(|group| group.chunks.get(column));
        let (range, _) = description.range(column);
        ColumnStatistics {
            bytes: chunks.clone().map(|chunk| chunk.at.length as i64).sum(),
            values: part.rows as i64,
            nulls: chunks.map(|chunk| chunk.nulls as i64).sum(),
            may_have_nan: data_type.inner().is_float() && range.incomparable,
            low: range.low,
            high: range.high,
        }
    });
    statistics.collect()
}

/// One thread's share of an INSERT.
struct PartsWriter {
    table: Arc<MergeTree>,
    limits: InsertLimits,
    parts: Arc<Mutex<Parts>>,
    buffered: Buffered,
    place: InsertPlace,
}

impl PartsWriter {
    /// The work that makes parts of the buffered rows, one per partition.
    fn flush(&mut self) -> Option<PartWork> {
        let buffered = std::mem::take(&mut self.buffered);
        self.work(vec![buffered])
    }

    /// The work that makes parts of each batch, one after the other; none where all are empty.
    fn work(&self, mut batches: Vec<Buffered>) -> Option<PartWork> {
        batches.retain(|batch| !batch.blocks.is_empty());
        if batches.is_empty() {
            return None;
        }
        let (table, parts, limits) = (self.table.clone(), self.parts.clone(), self.limits);
        let turns: Vec<u64> = {
            let mut parts = parts.lock();
            batches.iter().map(|_| parts.turns.give()).collect()
        };
        Some(Box::pin(async move {
            for (batch, turn) in batches.into_iter().zip(turns) {
                make_parts(table.clone(), parts.clone(), batch.into_blocks(), turn, limits).await?;
            }
            Ok(())
        }))
    }
}

/// Makes parts of some blocks' rows, one per partition.
async fn make_parts(
    table: Arc<MergeTree>,
    parts: Arc<Mutex<Parts>>,
    blocks: Vec<Block>,
    turn: u64,
    limits: InsertLimits,
) -> Result<()> {
    let mut pieces = Pieces::begin();
    let rows = UnsortedRows::new(&table.identity.stored, blocks);
    let (key, stored) = (&table.identity.definition.partition_key, &table.identity.stored_positions);
    let keys = rows.keys(key, stored, &mut pieces).await?;
    let partitions = partition::split(rows, &keys, limits.max_partitions_per_insert_block, &mut pieces).await?;
    drop(keys);
    poll_fn(|context| parts.lock().turns.poll(turn, context)).await;
    let claims: Vec<BlockClaim> = partitions.iter().map(|partition| table.merging.claim_block(&partition.id)).collect();
    let next = parts.lock().turns.end();
    next.into_iter().for_each(Waker::wake);
    for (PartitionRows { id, rows }, claim) in partitions.into_iter().zip(claims) {
        wait_for_disk(&parts).await?;
        let name = PartName::of_insert(&id, claim.block);
        let extras = table.extras_of_insert(limits.builds_indices);
        let made =
            write_part(&table, &name, rows, limits.fills_cache, limits.merges_rows, &extras, &mut pieces).await?;
        let Some(unwritten) = made else { continue };
        unwritten.part.hold(Arc::new(claim));
        let mut parts = parts.lock();
        parts.in_flight.push_back(unwritten.clone());
        parts.all.push(unwritten);
    }
    Ok(())
}

/// Encoded parts wait in memory for the disk: where it cannot keep up, no more are made.
async fn wait_for_disk(parts: &Mutex<Parts>) -> Result<()> {
    poll_fn(|context| {
        let mut parts = parts.lock();
        while let Some(oldest) = parts.in_flight.front() {
            if parts.in_flight.len() < PARTS_IN_FLIGHT_MAX {
                break;
            }
            match oldest.poll_written(context) {
                Poll::Ready(Ok(())) => drop(parts.in_flight.pop_front()),
                not_written => return not_written,
            }
        }
        Poll::Ready(Ok(()))
    })
    .await
}

impl InsertWriter for PartsWriter {
    fn set_place(&mut self, place: InsertPlace) {
        self.place = place;
    }

    fn write(&mut self, block: Block) -> Result<Option<PartWork>> {
        if block.is_empty() {
            return Ok(None);
        }
        let block = block.with_schema(self.table.identity.stored.clone());
        let bytes = block.value_bytes();
        let earlier = if self.buffered.has_room_for(bytes) { None } else { self.flush() };
        self.buffered.push(self.place, block, bytes);
        let is_enough = self.buffered.rows >= self.limits.min_insert_block_size_rows
            || self.buffered.bytes >= self.limits.min_insert_block_size_bytes;
        // After those of before, the rows of this block alone can wait for the next.
        Ok(if earlier.is_none() && is_enough { self.flush() } else { earlier })
    }

    fn finish(mut self: Box<Self>) -> Result<Option<PartWork>> {
        let mut parts = self.parts.lock();
        parts.writers -= 1;
        let mut own = std::mem::take(&mut self.buffered);
        let mut others = Buffered::default();
        if parts.writers == 0 {
            others = std::mem::take(&mut parts.left);
            if own.has_room_for(others.bytes) {
                own.append(std::mem::take(&mut others));
            }
        } else if !own.is_worth_a_part() {
            parts.left.append(std::mem::take(&mut own));
            if parts.left.is_worth_a_part() {
                own = std::mem::take(&mut parts.left);
            }
        }
        drop(parts);
        Ok(self.work(vec![own, others]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_come_in_the_order_in_which_they_were_given() {
        let mut turns = Turns::default();
        let given = [turns.give(), turns.give(), turns.give()];
        let mut context = Context::from_waker(Waker::noop());
        let is_on =
            |turns: &mut Turns, context: &mut Context<'_>| given.map(|turn| turns.poll(turn, context).is_ready());
        assert_eq!(is_on(&mut turns, &mut context), [true, false, false]);
        assert_eq!(turns.end().len(), 2, "both that wait look again");
        assert_eq!(is_on(&mut turns, &mut context), [false, true, false]);
        let _ = turns.end();
        assert_eq!(is_on(&mut turns, &mut context), [false, false, true]);
    }
}
