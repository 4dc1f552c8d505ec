//! Background merges: which table's parts are merged next, and who keeps merges away.

use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use squall_types::Result;

use super::Databases;
use super::entry::{Engine, Entry, SYSTEM, find};
use crate::identity::TableName;
use crate::merge_tree::{BackgroundTurn, MergeHold, MergeRoom, MergeTree, MergeablePart, NextMerge};
use crate::table::PartMerge;

/// A merge that the background may carry out.
pub struct BackgroundMerge {
    /// The table.
    pub table: Arc<TableName>,
    /// Parts of the partition.
    pub partition_parts: usize,
    parts: NextMerge,
    live: Arc<MergeTree>,
    now: Instant,
    unix_s: u32,
}

/// Seconds since 1970.
pub(super) fn unix_s(time: SystemTime) -> u32 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u32::try_from(since.as_secs()).unwrap_or(u32::MAX)
}

impl BackgroundMerge {
    /// Begins it. `cancel` is called when the merge should end; `None` where merges are stopped or held by now.
    ///
    /// # Errors
    /// As of [`Databases::merge_parts`].
    pub fn begin(&self, cancel: Arc<dyn Fn() + Send + Sync>) -> Result<Option<(PartMerge, BackgroundTurn)>> {
        let Some(turn) = self.live.begin_background(self.parts.bytes, cancel) else { return Ok(None) };
        let merge = self.live.merge_parts(&self.parts.parts, self.parts.merge_type, self.unix_s)?;
        self.live.note_merge(self.parts.merge_type, &merge.partition_id, self.now);
        Ok(Some((merge, turn)))
    }
}

impl Databases {
    /// The merge that is worth most now, of those that there is room for, in the tables that `is_wanted` names: one of the fullest partition that
    /// has any.
    pub fn next_merge(
        &self,
        room: MergeRoom,
        (now, time): (Instant, SystemTime),
        is_wanted: &dyn Fn(&TableName) -> bool,
    ) -> Option<BackgroundMerge> {
        let unix_s = unix_s(time);
        let mut best: Option<BackgroundMerge> = None;
        for (entry, live) in self.tables_of_parts() {
            if &*entry.name.database == SYSTEM && !is_wanted(&entry.name) {
                continue;
            }
            let Some(parts) = live.next_merge(room, now, unix_s) else { continue };
            if best.as_ref().is_none_or(|best| best.partition_parts < parts.partition_parts) {
                let partition_parts = parts.partition_parts;
                best = Some(BackgroundMerge { table: entry.name.clone(), partition_parts, parts, live, now, unix_s });
            }
        }
        best
    }

    /// The parts of the fullest partition of all tables.
    pub fn parts_of_fullest(&self) -> usize {
        self.tables_of_parts().iter().map(|(_, live)| live.parts_of_fullest()).max().unwrap_or(0)
    }

    /// Keeps background merges of a table away: those that run are cancelled, and none begins until the answer is dropped. `None` for a
    /// table without parts.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`.
    pub fn hold_merges(&self, database: &str, table: &str) -> Result<Option<MergeHold>> {
        Ok(find(&self.state.load(), database, table)?.parts().map(|live| live.hold_merges()))
    }

    /// `SYSTEM STOP MERGES` and `START MERGES` of a table; nothing is to be done where there is none or it has no parts.
    pub fn stop_merges(&self, database: &str, table: &str, is_stopped: bool) {
        if let Ok(entry) = find(&self.state.load(), database, table)
            && let Some(live) = entry.parts()
        {
            live.stop_merges(is_stopped);
        }
    }

    /// The same of all tables that there are.
    pub fn stop_all_merges(&self, is_stopped: bool) {
        self.tables_of_parts().iter().for_each(|(_, live)| live.stop_merges(is_stopped));
    }

    /// `SYSTEM STOP TTL MERGES` and `START TTL MERGES` of a table; nothing is to be done where there is none or it has no parts.
    pub fn stop_ttl_merges(&self, database: &str, table: &str, is_stopped: bool) {
        if let Ok(entry) = find(&self.state.load(), database, table)
            && let Some(live) = entry.parts()
        {
            live.stop_ttl_merges(is_stopped);
        }
    }

    /// The same of all tables that there are.
    pub fn stop_all_ttl_merges(&self, is_stopped: bool) {
        self.tables_of_parts().iter().for_each(|(_, live)| live.stop_ttl_merges(is_stopped));
    }

    /// Whether somebody has stopped a table's merges.
    pub fn are_merges_stopped(&self, database: &str, table: &str) -> bool {
        let state = self.state.load();
        find(&state, database, table).ok().and_then(|entry| Some(entry.parts()?.are_merges_stopped())).unwrap_or(false)
    }

    /// The parts of a table that may become one: runs that follow each other.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`.
    pub fn mergeable_parts(&self, database: &str, table: &str) -> Result<Vec<Vec<MergeablePart>>> {
        Ok(find(&self.state.load(), database, table)?
            .parts()
            .map(|live| live.mergeable(unix_s(SystemTime::now())))
            .unwrap_or_default())
    }

    fn tables_of_parts(&self) -> Vec<(Arc<Entry>, Arc<MergeTree>)> {
        let state = self.state.load();
        let entries = state.values().flat_map(|database| database.tables.values());
        let with_parts = |entry: &Arc<Entry>| match &entry.engine {
            Engine::MergeTree(live) => Some((entry.clone(), live.clone())),
            Engine::Join(_, rows) => Some((entry.clone(), rows.parts()?.clone())),
            _ => None,
        };
        entries.filter_map(with_parts).collect()
    }
}
