//! Taking parts out of a table, and rewriting several small ones as one. Which parts, and when, is the caller's decision.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::time::Instant;

use squall_runtime::ProfileEvent;
use squall_runtime::profile_events::count;
use squall_types::{Block, Error, ErrorCode, Result};

use super::merge_control::{BackgroundTurn, MergeHold, MergeLock, locked};
use super::merge_selection::{BASE, Candidate, MergeLimits, select};
use super::merged_part::write_merged;
use crate::catalog::{NewDeletion, PartExchange, SeenDeletion};
use crate::merge_tree::changes::deleted_rows::{Deletion, Deletions};
use crate::merge_tree::expiry::ttl::TtlTurn;
use crate::merge_tree::expiry::ttl_range::TtlWork;
use crate::merge_tree::expiry::ttl_selection::{Expiring, select_due, select_expired};
use crate::merge_tree::insertion::new_part;
use crate::merge_tree::parts::part::Part;
use crate::merge_tree::parts::part_name::PartName;
use crate::merge_tree::parts::part_stream::PartStream;
use crate::merge_tree::parts::part_writer::UnwrittenPart;
use crate::merge_tree::{MergeTree, PartSet, live_rows};
use crate::mutation::MutationStep;
use crate::part_event::{PartEvent, PartEventKind};
use crate::table::{Claim, InsertWriter, Insertion, Morsel, PartMerge, PartWork, TableScan};

/// For how long a table in which nothing is to be merged need not be looked at again while nothing changes in it.
const IDLE: std::time::Duration = std::time::Duration::from_secs(5);
/// Parts that one merge takes at most.
const MERGED_PARTS_MAX: usize = 100;
/// Rows of a part that a background merge makes at most: positions of rows are numbers of 32 bits.
pub const MERGED_ROWS_MAX: u64 = 1 << 31;

/// Merges for the sake of the TTL keep the next one waiting for at most so long: a century.
const TTL_REST_MAX_S: u64 = 100 * 366 * 86_400;

/// Parts of a table that the background may merge next.
pub(crate) struct NextMerge {
    pub(crate) parts: Vec<Arc<str>>,
    pub(crate) bytes: u64,
    /// Parts of their partition.
    pub(crate) partition_parts: usize,
    /// What it is for.
    pub(crate) merge_type: MergeType,
}

/// A part that may be merged with its neighbours.
#[derive(Clone, Debug)]
pub struct MergeablePart {
    /// Its name.
    pub name: Arc<str>,
    /// Its partition.
    pub partition_id: Arc<str>,
    /// On disk.
    pub bytes: u64,
    /// Those of its largest row group, which a merge has in memory.
    pub group_bytes: u64,
    /// Its rows.
    pub rows: u64,
    /// How many merges made it, one over the other; 0 as an INSERT wrote it.
    pub level: u32,
    /// Whether its table's TTL asks nothing of it at this moment.
    pub is_ttl_settled: bool,
}

/// What the machine has room for at this moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MergeRoom {
    /// Bytes on disk of the parts of a merge, which its result takes again.
    pub bytes: u64,
    /// Bytes of the row groups that are read at a time: one of each part. They are in memory, encoded.
    pub group_bytes: u64,
}

/// What a merge is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MergeType {
    /// Fewer parts.
    Regular,
    /// Expired rows and values go.
    TtlDelete,
    /// Parts go that have expired as a whole.
    TtlDrop,
    /// Parts are compressed anew.
    TtlRecompress,
}

impl MergeType {
    /// As `system.merges` names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Regular => "Regular",
            Self::TtlDelete => "TTLDelete",
            Self::TtlDrop => "TTLDrop",
            Self::TtlRecompress => "TTLRecompress",
        }
    }
}

/// How far a merge is.
#[derive(Default, Debug)]
pub struct MergeProgress {
    /// Rows of its parts that it has read.
    pub rows_read: AtomicU64,
    /// Bytes in memory of these.
    pub bytes_read: AtomicU64,
    /// Rows that have expired.
    pub rows_expired: AtomicU64,
    /// Rows that it has made of them.
    pub rows_written: AtomicU64,
    /// Bytes in memory of these.
    pub bytes_made: AtomicU64,
    /// Bytes of its file so far.
    pub bytes_written: AtomicU64,
}

impl MergeTree {
    /// Takes parts out of the table. Scans under way keep them; their files go after that.
    ///
    /// # Errors
    /// `NO_SUCH_DATA_PART`, `TABLE_IS_DROPPED`, and where the catalog cannot be written.
    pub(crate) fn drop_parts(&self, names: &[Arc<str>]) -> Result<()> {
        let parts = self.parts_named(names)?;
        self.replace_parts(&parts, &[], &[])
    }

    /// Begins to rewrite parts of one partition, which follow each other, as one. What has expired at the time `unix_s` goes.
    ///
    /// # Errors
    /// `NO_SUCH_DATA_PART`, `PART_IS_TEMPORARILY_LOCKED` for parts that are being merged, or with others or an INSERT under way between
    /// them, `BAD_ARGUMENTS` for parts of several partitions, and where parts cannot be read.
    pub(crate) fn merge_parts(
        self: &Arc<Self>,
        names: &[Arc<str>],
        merge_type: MergeType,
        unix_s: u32,
    ) -> Result<PartMerge> {
        let obstacles = self.merging.obstacles();
        let lock = Arc::new(self.merging.lock(names)?);
        let mut parts = self.parts_named(names)?;
        let seen = self.parts.load().deletions.clone();
        // Of rows with equal keys those of later inserts come later.
        parts.sort_by_key(|part| PartName::parse(&part.file.name).map(|name| name.first_block));
        let parsed: Option<Vec<PartName>> = parts.iter().map(|part| PartName::parse(&part.file.name)).collect();
        let name = parsed.as_deref().and_then(PartName::merged).ok_or_else(|| {
            Error::new(ErrorCode::BAD_ARGUMENTS, "Parts of several partitions cannot be merged into one")
        })?;
        // The name says that everything between is in the part, too.
        let is_between = |part: &Arc<Part>| {
            let other = PartName::parse(&part.file.name);
            other.is_some_and(|other| name.covers(&other) || name.overlaps(&other)) && !names.contains(&part.file.name)
        };
        let are_apart = |pair: &[PartName]| matches!(pair, [left, right] if obstacles.are_apart(left, right));
        if obstacles.has_between(&name.partition_id, name.first_block, name.last_block)
            || parsed.iter().any(|names| names.windows(2).any(are_apart))
            || self.parts.load().parts.iter().any(is_between)
        {
            return Err(locked(format!("Parts between those of {name} are not merged with them")));
        }
        self.check_known(&parts)?;
        if let Some(failure) = parts.iter().find_map(|part| part.failure()) {
            return Err(failure.clone());
        }
        let id = format!("{}::{name}", self.identity.uuid);
        count(ProfileEvent::Merge, 1);
        count(ProfileEvent::MergeSourceParts, parts.len() as u64);
        let began = Instant::now();
        let progress = Arc::new(MergeProgress::default());
        let insertion = Replacement {
            table: self.clone(),
            name: name.clone(),
            old: parts.clone(),
            new: Arc::default(),
            began,
            progress: progress.clone(),
            turn: self.ttl_turn(&parts, unix_s),
            seen: seen.clone(),
            lock,
        };
        Ok(PartMerge {
            merge_type,
            scan: Arc::new(NoRows::default()),
            insertion: Arc::new(insertion),
            id,
            result: name.to_string().into(),
            result_path: self.directory.path().join(format!("{name}.parquet")),
            partition_id: name.partition_id,
            parts: parts.iter().map(|part| part.file.name.clone()).collect(),
            part_paths: parts.iter().map(|part| part.file.path.clone()).collect(),
            rows: live_rows(&parts, &seen),
            bytes: parts.iter().map(|part| part.file.bytes).sum(),
            value_bytes: parts.iter().map(|part| part.description.all_value_bytes()).sum(),
            progress,
        })
    }

    /// Checks that parts were not made by a later definition of the table, whose columns this one would leave out.
    pub(in crate::merge_tree) fn check_known(&self, parts: &[Arc<Part>]) -> Result<()> {
        match parts.iter().find(|part| part.schema.fields.number > self.identity.fields.number) {
            Some(part) => Err(locked(format!("The table was altered before part {} came", part.file.name))),
            None => Ok(()),
        }
    }

    /// The parts that may be merged now: by partitions, in the order of their blocks, cut where one is being merged or on its way.
    pub(in crate::merge_tree) fn runs(&self) -> Vec<Vec<Arc<Part>>> {
        let obstacles = self.merging.obstacles();
        let set = self.parts.load();
        let mut named: Vec<(PartName, &Arc<Part>)> =
            set.parts.iter().filter_map(|part| Some((PartName::parse(&part.file.name)?, part))).collect();
        named.sort_by(|(left, _), (right, _)| {
            left.partition_id.cmp(&right.partition_id).then(left.first_block.cmp(&right.first_block))
        });
        let mut runs: Vec<Vec<Arc<Part>>> = Vec::new();
        let mut last: Option<&PartName> = None;
        for (name, part) in &named {
            let follows = last.is_some_and(|last| {
                last.partition_id == name.partition_id
                    && !obstacles.has_between(&name.partition_id, last.last_block, name.first_block)
                    && !obstacles.are_apart(last, name)
            });
            last = None;
            if obstacles.is_locked(&part.file.name) || part.failure().is_some() {
                continue;
            }
            last = Some(name);
            match runs.last_mut() {
                Some(run) if follows => run.push((*part).clone()),
                _ => runs.push(vec![(*part).clone()]),
            }
        }
        runs
    }

    /// The parts that may become one each, run by run.
    pub(crate) fn mergeable(&self, unix_s: u32) -> Vec<Vec<MergeablePart>> {
        let of = |part: &Arc<Part>| MergeablePart {
            name: part.file.name.clone(),
            partition_id: part.file.partition_id.clone(),
            bytes: part.file.bytes,
            group_bytes: part.description.largest_group_bytes(),
            rows: part.rows,
            level: PartName::parse(&part.file.name).map_or(0, |name| name.level),
            is_ttl_settled: self.is_ttl_settled(part, unix_s),
        };
        self.runs().iter().map(|run| run.iter().map(of).collect()).collect()
    }

    /// The background merge that there is room for and that is worth most; nothing where none is, or none may begin.
    pub(crate) fn next_merge(&self, room: MergeRoom, now: Instant, unix_s: u32) -> Option<NextMerge> {
        if self.parts.load().parts.len() < 2 && self.ttl.elements.is_empty() {
            return None;
        }
        let bytes = self.merging.bytes_max(room.bytes.min(self.settings.merged_bytes_max), now)?;
        let changes = self.merging.changes();
        let runs = self.runs();
        let of_partition = |id: &Arc<str>| -> usize {
            self.parts.load().parts.iter().filter(|part| part.file.partition_id == *id).count()
        };
        let limits = MergeLimits {
            bytes,
            group_bytes: room.group_bytes,
            rows: MERGED_ROWS_MAX,
            parts: MERGED_PARTS_MAX,
            base: BASE,
        };
        if let Some(merge) = self.next_ttl_merge(&runs, &limits, now, unix_s) {
            let partition_parts = of_partition(&merge.0);
            return Some(NextMerge { partition_parts, ..merge.1 });
        }
        let mut best: Option<(NextMerge, f64)> = None;
        let mut partition: Option<(Arc<str>, usize)> = None;
        for run in &runs {
            let Some(first) = run.first().filter(|_| run.len() > 1) else { continue };
            let id = &first.file.partition_id;
            if partition.as_ref().is_none_or(|(known, _)| known != id) {
                partition = Some((id.clone(), of_partition(id)));
            }
            let partition_parts = partition.as_ref().map_or(0, |(_, parts)| *parts);
            let candidate = |part: &Arc<Part>| Candidate {
                bytes: part.file.bytes,
                group_bytes: part.description.largest_group_bytes(),
                rows: part.rows,
                age: now.saturating_duration_since(part.born),
            };
            let candidates: Vec<Candidate> = run.iter().map(candidate).collect();
            let Some((range, score)) = select(&candidates, partition_parts, &limits) else { continue };
            if best.as_ref().is_none_or(|(_, least)| score < *least) {
                let parts = run.get(range).unwrap_or_default();
                let merge = NextMerge {
                    parts: parts.iter().map(|part| part.file.name.clone()).collect(),
                    bytes: parts.iter().map(|part| part.file.bytes).sum(),
                    partition_parts,
                    merge_type: MergeType::Regular,
                };
                best = Some((merge, score));
            }
        }
        if best.is_none() {
            self.merging.note_idle(changes, bytes, now + IDLE);
        }
        best.map(|(merge, _)| merge)
    }

    /// The same for the sake of the TTL, with its partition: parts that have expired come first, then rows, then files.
    fn next_ttl_merge(
        &self,
        runs: &[Vec<Arc<Part>>],
        limits: &MergeLimits,
        now: Instant,
        unix_s: u32,
    ) -> Option<(Arc<str>, NextMerge)> {
        if self.ttl.elements.is_empty() || self.merging.is_ttl_stopped() {
            return None;
        }
        let merge = |run: &[Arc<Part>], range: std::ops::Range<usize>, merge_type: MergeType| {
            let parts = run.get(range).unwrap_or_default();
            let merge = NextMerge {
                parts: parts.iter().map(|part| part.file.name.clone()).collect(),
                // Nothing is read of parts that have expired.
                bytes: if merge_type == MergeType::TtlDrop {
                    0
                } else {
                    parts.iter().map(|part| part.file.bytes).sum()
                },
                partition_parts: 0,
                merge_type,
            };
            Some((parts.first()?.file.partition_id.clone(), merge))
        };
        let expiring = |run: &[Arc<Part>], work: TtlWork| -> Vec<Expiring> {
            let of = |part: &Arc<Part>| Expiring {
                bytes: part.file.bytes,
                group_bytes: part.description.largest_group_bytes(),
                rows: part.rows,
                due: self.ttl_due(part, work),
                has_expired: self.has_expired(part, unix_s),
            };
            run.iter().map(of).collect()
        };
        for run in runs {
            if let Some(range) = select_expired(&expiring(run, TtlWork::Expire), MERGED_PARTS_MAX) {
                return merge(run, range, MergeType::TtlDrop);
            }
        }
        for (work, merge_type) in
            [(TtlWork::Expire, MergeType::TtlDelete), (TtlWork::Recompress, MergeType::TtlRecompress)]
        {
            if work == TtlWork::Expire && self.settings.ttl_only_drop_parts {
                continue;
            }
            for run in runs {
                let Some(first) = run.first() else { continue };
                if !self.merging.may_expire(&first.file.partition_id, work, now) {
                    continue;
                }
                if let Some(range) = select_due(&expiring(run, work), unix_s, limits) {
                    return merge(run, range, merge_type);
                }
            }
        }
        None
    }

    /// Notes that a merge of a partition begins: one for the sake of the TTL keeps the next one waiting.
    pub(crate) fn note_merge(&self, merge_type: MergeType, partition_id: &Arc<str>, now: Instant) {
        let (work, timeout) = match merge_type {
            MergeType::Regular | MergeType::TtlDrop => return,
            MergeType::TtlDelete => (TtlWork::Expire, self.settings.merge_with_ttl_timeout),
            MergeType::TtlRecompress => (TtlWork::Recompress, self.settings.merge_with_recompression_ttl_timeout),
        };
        let rest = std::time::Duration::from_secs(timeout.min(TTL_REST_MAX_S));
        self.merging.note_ttl_merge(partition_id, work, now, now + rest);
    }

    /// `SYSTEM STOP TTL MERGES` and `START TTL MERGES`.
    pub(crate) fn stop_ttl_merges(&self, is_stopped: bool) {
        self.merging.stop_ttl(is_stopped);
    }

    /// A background merge of parts of so many bytes begins; `None` where none may.
    pub(crate) fn begin_background(&self, bytes: u64, cancel: Arc<dyn Fn() + Send + Sync>) -> Option<BackgroundTurn> {
        self.merging.begin(bytes, cancel)
    }

    /// Keeps background merges away.
    pub(crate) fn hold_merges(&self) -> MergeHold {
        self.merging.hold()
    }

    /// `SYSTEM STOP MERGES` and `START MERGES`.
    pub(crate) fn stop_merges(&self, is_stopped: bool) {
        self.merging.stop(is_stopped);
    }

    /// Whether somebody has stopped merges.
    pub(crate) fn are_merges_stopped(&self) -> bool {
        self.merging.is_stopped()
    }

    /// The parts of the partition that has most.
    pub(crate) fn parts_of_fullest(&self) -> usize {
        self.parts.load().fullest
    }

    pub(in crate::merge_tree) fn parts_named(&self, names: &[Arc<str>]) -> Result<Vec<Arc<Part>>> {
        let current = self.parts.load();
        let find =
            |name: &Arc<str>| {
                current.parts.iter().find(|part| part.file.name == *name).cloned().ok_or_else(|| {
                    Error::new(ErrorCode::NO_SUCH_DATA_PART, format!("No part {name} in committed state"))
                })
            };
        names.iter().map(find).collect()
    }

    /// Shows an exchange that is committed, and which rows of other parts are deleted from now on.
    pub(in crate::merge_tree) fn show_exchange(
        &self,
        old: &[Arc<Part>],
        new: &[Arc<Part>],
        deleted: &[(Arc<Part>, Arc<Deletion>)],
    ) {
        new.iter().for_each(|part| part.settle());
        let mut gone = Vec::new();
        self.parts.rcu(|set| {
            let mut deletions = Deletions::clone(&set.deletions);
            gone = old.iter().filter_map(|part| deletions.of(&part.file.name).cloned()).collect();
            deletions.retain(|name| !old.iter().any(|part| *part.file.name == *name));
            for (part, deletion) in deleted {
                gone.extend(deletions.of(&part.file.name).cloned());
                deletions.insert(part.file.name.clone(), deletion.clone());
            }
            PartSet::new(replaced(&set.parts, old, new), &self.identity, &Arc::new(deletions))
        });
        old.iter().for_each(|part| part.retire());
        let files = |deletion: &Arc<Deletion>| deletion.file.as_ref().map(|file| file.path.clone());
        deleted.iter().filter_map(|(_, deletion)| files(deletion)).for_each(|path| self.directory.settle(&path));
        gone.iter().filter_map(files).for_each(|path| self.directory.remove(&path));
        new.iter().for_each(|part| part.let_go());
        self.merging.note_change();
        if old.is_empty() {
            new.iter().for_each(|part| self.note_part(part, PartEventKind::NewPart));
        }
        old.iter().for_each(|part| self.note_part(part, PartEventKind::RemovePart));
    }

    /// Commits the exchange, then shows it. `needless` are further files that nobody needs after it.
    ///
    /// # Errors
    /// As of [`Catalog::exchange_parts`](crate::catalog::Catalog::exchange_parts). Where the outcome is in doubt, the files of both stay.
    pub(in crate::merge_tree) fn replace_parts(
        &self,
        old: &[Arc<Part>],
        new: &[Arc<Part>],
        needless: &[String],
    ) -> Result<()> {
        self.replace_and_delete(old, new, needless, &[], &self.parts.load().deletions)
    }

    /// The same, with rows of other parts that are deleted in the same commit. `seen` are the rows that were known to be deleted.
    ///
    /// # Errors
    /// As [`replace_parts`](Self::replace_parts), also where others were deleted meanwhile.
    pub(in crate::merge_tree) fn replace_and_delete(
        &self,
        old: &[Arc<Part>],
        new: &[Arc<Part>],
        needless: &[String],
        deleted: &[(Arc<Part>, Arc<Deletion>)],
        seen: &Deletions,
    ) -> Result<()> {
        self.replace_in_step((old, new), needless, deleted, seen, None)
    }

    /// The same as a step of a mutation, where it is one.
    ///
    /// # Errors
    /// As [`replace_and_delete`](Self::replace_and_delete); `QUERY_WAS_CANCELLED` where the mutation was killed.
    pub(in crate::merge_tree) fn replace_in_step(
        &self,
        (old, new): (&[Arc<Part>], &[Arc<Part>]),
        needless: &[String],
        deleted: &[(Arc<Part>, Arc<Deletion>)],
        seen: &Deletions,
        step: Option<MutationStep>,
    ) -> Result<()> {
        let recorded: Vec<_> = new.iter().map(|part| new_part(part)).collect();
        let names: Vec<Arc<str>> = old.iter().map(|part| part.file.name.clone()).collect();
        let deletions: Vec<NewDeletion> =
            deleted.iter().filter_map(|(part, deletion)| deletion_record(part, deletion, seen)).collect();
        let seen: Vec<SeenDeletion> = old.iter().map(|part| seen.seen(&part.file.name)).collect();
        let exchange = PartExchange {
            old: &names,
            seen: &seen,
            new: &recorded,
            deletions: &deletions,
            needless_files: needless,
            step,
        };
        let publish = || self.show_exchange(old, new, deleted);
        self.catalog.exchange_parts(&[(self.table_id, exchange)], publish).inspect_err(|error| {
            if error.code == ErrorCode::UNKNOWN_STATUS_OF_INSERT {
                // The catalog may list them after all: the next start finds out.
                new.iter().for_each(|part| part.keep_in_doubt());
            } else {
                let files = deleted.iter().filter_map(|(_, deletion)| deletion.file.as_ref());
                files.for_each(|file| self.directory.remove_uncommitted(&file.path));
            }
        })
    }
}

/// A deletion as the catalog records it.
fn deletion_record(part: &Part, deletion: &Deletion, seen: &Deletions) -> Option<NewDeletion> {
    let file = deletion.file.as_ref()?;
    Some(NewDeletion {
        part: part.file.name.clone(),
        path: file.name(),
        former: seen.seen(&part.file.name),
        rows: deletion.rows.rows() as i64,
        bytes: file.bytes as i64,
        footer_bytes: file.footer_bytes as i64,
    })
}

/// The parts after an exchange: a new one stands where the first of those stood whose rows it has, so that rows keep their order.
fn replaced(all: &[Arc<Part>], old: &[Arc<Part>], new: &[Arc<Part>]) -> Vec<Arc<Part>> {
    let mut left: Vec<(Option<PartName>, &Arc<Part>)> =
        new.iter().map(|part| (PartName::parse(&part.file.name), part)).collect();
    let mut parts = Vec::with_capacity(all.len() + new.len());
    for part in all {
        if !old.iter().any(|old| Arc::ptr_eq(old, part)) {
            parts.push(part.clone());
            continue;
        }
        let Some(name) = PartName::parse(&part.file.name) else { continue };
        let of = |(new, _): &(Option<PartName>, _)| new.as_ref().is_some_and(|new| new.overlaps(&name));
        if let Some(at) = left.iter().position(of) {
            parts.push(left.remove(at).1.clone());
        }
    }
    parts.extend(left.into_iter().map(|(_, part)| part.clone()));
    parts
}

/// What a merge reads through the engine: a morsel without rows, for which a writer is made. That reads the parts itself.
#[derive(Default)]
struct NoRows {
    is_claimed: AtomicBool,
}

impl TableScan for NoRows {
    fn rows_total(&self) -> Option<u64> {
        Some(0)
    }

    fn claim(&self, _: u64, _: &Waker) -> Claim {
        match self.is_claimed.swap(true, Ordering::Relaxed) {
            true => Claim::Finished,
            false => Claim::Morsel(Morsel { first: 0, rows: 0 }),
        }
    }

    fn read(&self, _: Morsel, _: &mut dyn FnMut(Block) -> Result<std::ops::ControlFlow<()>>) -> Result<()> {
        Ok(())
    }
}

/// A part on its way that will stand for others.
struct Replacement {
    table: Arc<MergeTree>,
    name: PartName,
    old: Vec<Arc<Part>>,
    /// Set once the part is made. Dropped without a commit, it removes its file.
    new: Arc<OnceLock<UnwrittenPart>>,
    began: Instant,
    progress: Arc<MergeProgress>,
    /// How it applies the TTL.
    turn: Option<TtlTurn>,
    /// What is deleted of the parts.
    seen: Arc<Deletions>,
    /// Dropped last.
    lock: Arc<MergeLock>,
}

impl Insertion for Replacement {
    fn writer(&self) -> Result<Box<dyn InsertWriter>> {
        Ok(Box::new(MergeWriter {
            table: self.table.clone(),
            name: self.name.clone(),
            old: self.old.clone(),
            new: self.new.clone(),
            progress: self.progress.clone(),
            turn: self.turn.clone(),
            seen: self.seen.clone(),
            lock: self.lock.clone(),
        }))
    }

    fn commit(&self) -> Result<()> {
        // There is none where no row is left.
        let new: Vec<Arc<Part>> = self.new.get().map(|unwritten| unwritten.part.clone()).into_iter().collect();
        self.new.get().map_or(Ok(()), UnwrittenPart::wait)?;
        // Parts go only if all of their rows were read, and where each row stays, all of them are there.
        let rows = live_rows(&self.old, &self.seen);
        let made: u64 = new.iter().map(|part| part.rows).sum();
        let read = self.progress.rows_read.load(Ordering::Acquire);
        let expired = self.progress.rows_expired.load(Ordering::Acquire);
        let makes_fewer = self.table.rule.is_some() || self.turn.is_some() && self.table.groups_rows();
        if read != rows || !makes_fewer && made + expired != rows {
            let message =
                format!("a merge of {rows} rows that read {read}, let {expired} expire and made {made} of them");
            return Err(Error::logical(message));
        }
        let began = Instant::now();
        self.table.replace_and_delete(&self.old, &new, &[], &[], &self.seen)?;
        if let Some(part) = new.first() {
            self.table.catalog.note_part(|| PartEvent {
                duration: self.began.elapsed(),
                merged_from: self.old.iter().map(|part| part.file.name.clone()).collect(),
                read_rows: read,
                read_bytes: self.progress.bytes_read.load(Ordering::Relaxed),
                ..self.table.part_event(part, PartEventKind::MergeParts)
            });
        }
        count(ProfileEvent::MergeCommitMilliseconds, began.elapsed().as_millis() as u64);
        count(ProfileEvent::MergeTotalMilliseconds, self.began.elapsed().as_millis() as u64);
        Ok(())
    }
}

/// Makes the new part of a merge.
struct MergeWriter {
    table: Arc<MergeTree>,
    name: PartName,
    old: Vec<Arc<Part>>,
    new: Arc<OnceLock<UnwrittenPart>>,
    progress: Arc<MergeProgress>,
    turn: Option<TtlTurn>,
    seen: Arc<Deletions>,
    /// Dropped last.
    lock: Arc<MergeLock>,
}

impl InsertWriter for MergeWriter {
    fn write(&mut self, block: Block) -> Result<Option<PartWork>> {
        match block.is_empty() {
            true => Ok(None),
            false => Err(Error::logical("rows for a merge")),
        }
    }

    fn finish(self: Box<Self>) -> Result<Option<PartWork>> {
        let Self { table, name, old, new, progress, turn, seen, lock } = *self;
        Ok(Some(Box::pin(async move {
            let stream = PartStream::new(&table, &name, Some(lock.clone()));
            let parts = (&old[..], &*seen);
            let Some(unwritten) = write_merged(&table, &name, parts, turn, stream, &progress).await? else {
                return Ok(());
            };
            count(ProfileEvent::MergedRows, progress.rows_read.load(Ordering::Relaxed));
            count(ProfileEvent::MergedUncompressedBytes, progress.bytes_read.load(Ordering::Relaxed));
            count(ProfileEvent::MergeWrittenRows, unwritten.part.rows);
            // Another merge of the same parts would write the same file.
            unwritten.part.hold(lock);
            new.set(unwritten).map_err(|_| Error::logical("a merge with several writers"))
        })))
    }
}
