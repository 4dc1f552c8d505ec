//! OPTIMIZE: the parts of each partition become one, as far as the machine has room, by the rule of the table's engine.

use std::sync::Arc;
use std::time::Duration;

use squall_engine::QueryContext;
use squall_sql::ast;
use squall_storage::{MERGED_ROWS_MAX, MergeRoom, MergeablePart, TableName};
use squall_types::{Error, ErrorCode, Result};

use super::alter::selection;
use super::deduplicate::{columns_of, deduplicate};
use crate::access::Privilege;
use crate::merges::room;
use crate::query::Answer;
use crate::query::insertion::cascade::table_of_parts;
use crate::query::statement::{refuse_cluster, table_name};
use crate::session::Session;

/// How long it waits for background merges to end before it looks again.
const MERGE_WAIT: Duration = Duration::from_millis(2);

/// Runs OPTIMIZE, with FINAL or without.
pub(in crate::query) async fn run(
    session: &Session,
    statement: &ast::Optimize,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let (database, name) = table_name(session, &statement.table)?;
    session.access.check(Privilege::Optimize, &[&database, &name])?;
    let (database, name) = table_of_parts(session, database, name)?;
    let table = session.databases_of(&database).table(&database, &name)?;
    if statement.dry_run_parts.is_some() {
        return Err(Error::not_implemented("OPTIMIZE … DRY RUN"));
    }
    if !table.engine().ends_with("MergeTree") && !matches!(table.engine(), "Join" | "Buffer") {
        let message = format!("Method optimize is not supported by storage {}", table.engine());
        return Err(Error::new(ErrorCode::NOT_IMPLEMENTED, message));
    }
    if statement.cleanup {
        return Err(match table.engine() {
            "ReplacingMergeTree" => {
                Error::new(ErrorCode::SUPPORT_IS_DISABLED, "Experimental merges with CLEANUP are not allowed")
            }
            _ => Error::new(
                ErrorCode::CANNOT_ASSIGN_OPTIMIZE,
                "Cannot OPTIMIZE with CLEANUP table: only ReplacingMergeTree can be CLEANUP",
            ),
        });
    }
    if statement.deduplicate.is_some() {
        check_projections(session, &database, &name)?;
    }
    let by = match &statement.deduplicate {
        Some(by) if !by.is_empty() => Some(columns_of(session, &database, &name, by, context).await?),
        Some(_) => Some(Vec::new()),
        None => None,
    };
    let selected = match &statement.partition {
        Some(partition) => Some(selection(session, &database, &name, partition, context).await?),
        None => None,
    };
    let is_wanted = |part: &MergeablePart| selected.as_ref().is_none_or(|of| of.has(&part.name, &part.partition_id));
    // A single part may hold rows with equal keys, which an INSERT or a mutation made, or such that have expired or are deleted. Others FINAL
    // writes anew by the table's present codecs, indexes, projections and statistics.
    let has_deleted = table.parts().iter().any(|part| part.deleted_rows > 0);
    let has_ttl = session.databases_of(&database).describe(&database, &name)?.definition;
    let has_ttl = has_ttl.is_some_and(|definition| definition.has_ttl());
    let changes_singles = has_ttl || has_deleted || table.final_rows().is_some();
    let is_merge_tree = table.engine().ends_with("MergeTree");
    let skips_merged = context.settings.optimize_skip_merged_partitions;
    drop(table);
    let room = room(&session.server);
    let takes_single = |part: &MergeablePart| {
        let is_skipped = skips_merged && part.level > 0 && part.is_ttl_settled && !has_deleted;
        let is_worth = changes_singles || is_merge_tree && part.bytes <= room.bytes;
        statement.with_final && is_worth && !is_skipped
    };
    let merged =
        merge_each(session, (&database, &name), context, |runs| groups(runs, room, &is_wanted, &takes_single)).await?;
    if let Some(by) = &by {
        deduplicate(session, &database, &name, by, statement.partition.as_ref(), context).await?;
    }
    if merged == 0 && by.is_none() && context.settings.optimize_throw_if_noop {
        let message = "Cannot OPTIMIZE table: There is nothing to merge";
        return Err(Error::new(ErrorCode::CANNOT_ASSIGN_OPTIMIZE, message));
    }
    Ok(Answer::Done)
}

/// Merges parts of a table while no background merge is at it: `groups` says which become one each, of those that may. How many groups
/// there were.
///
/// # Errors
/// `ABORTED` where merges are stopped, and where parts cannot be read or written.
pub(in crate::query) async fn merge_each(
    session: &Session,
    (database, name): (&str, &str),
    context: &Arc<QueryContext>,
    groups: impl FnOnce(Vec<Vec<MergeablePart>>) -> Vec<Vec<Arc<str>>>,
) -> Result<usize> {
    let own = session.databases_of(database);
    let hold = own.hold_merges(database, name)?;
    while hold.as_ref().is_some_and(|hold| !hold.is_quiet()) {
        context.check_cancelled()?;
        tokio::time::sleep(MERGE_WAIT).await;
    }
    let groups = groups(own.mergeable_parts(database, name)?);
    for parts in &groups {
        if own.are_merges_stopped(database, name) {
            return Err(Error::new(ErrorCode::ABORTED, "Cancelled merging parts"));
        }
        let merged = match own.merge_parts(database, name, parts) {
            Ok(merge) => {
                let table = Arc::new(TableName::new(database, name));
                session.server.merges.run(&session.server, table, merge, context).await
            }
            Err(error) => Err(error),
        };
        match merged {
            // Somebody else merges them, or has merged or dropped them.
            Err(error)
                if matches!(error.code, ErrorCode::NO_SUCH_DATA_PART | ErrorCode::PART_IS_TEMPORARILY_LOCKED) => {}
            merged => merged?,
        }
    }
    Ok(groups.len())
}

const NO_ROOM: MergeRoom = MergeRoom { bytes: 0, group_bytes: 0 };

/// The parts that become one each: those of a run that are wanted, as many as may be. One alone where `takes_single` says so.
fn groups(
    runs: Vec<Vec<MergeablePart>>,
    room: MergeRoom,
    is_wanted: &dyn Fn(&MergeablePart) -> bool,
    takes_single: &dyn Fn(&MergeablePart) -> bool,
) -> Vec<Vec<Arc<str>>> {
    let mut groups: Vec<Vec<MergeablePart>> = Vec::new();
    for run in runs {
        let (mut group, mut used, mut rows) = (Vec::new(), NO_ROOM, 0);
        for part in run {
            let is_wanted = is_wanted(&part);
            let fits = used.bytes + part.bytes <= room.bytes
                && used.group_bytes + part.group_bytes <= room.group_bytes
                && rows + part.rows <= MERGED_ROWS_MAX;
            if !is_wanted || !fits {
                groups.push(std::mem::take(&mut group));
                (used, rows) = (NO_ROOM, 0);
            }
            if is_wanted {
                used.bytes += part.bytes;
                used.group_bytes += part.group_bytes;
                rows += part.rows;
                group.push(part);
            }
        }
        groups.push(group);
    }
    groups.retain(|group| match &group[..] {
        [] => false,
        [single] => takes_single(single),
        _ => true,
    });
    groups.into_iter().map(|group| group.into_iter().map(|part| part.name).collect()).collect()
}

/// Refuses to take rows away of a table whose projections would keep them.
fn check_projections(session: &Session, database: &str, name: &str) -> Result<()> {
    let Some(definition) = session.databases_of(database).describe(database, name)?.definition else { return Ok(()) };
    let mode = definition.settings.iter().find(|(name, _)| &**name == "deduplicate_merge_projection_mode");
    let throws = mode.is_none_or(|(_, mode)| &**mode == "throw");
    if definition.projections.is_empty() || !throws {
        return Ok(());
    }
    let message = format!(
        "OPTIMIZE DEDUPLICATE query is not supported for table {name} as it has projections. Please drop all projections manually \
         before running the query, or set setting 'deduplicate_merge_projection_mode' to 'drop' or 'rebuild'"
    );
    Err(Error::new(ErrorCode::SUPPORT_IS_DISABLED, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_grouped_by_runs_and_size() {
        let part = |name: &str, bytes: u64| MergeablePart {
            name: name.into(),
            partition_id: name.split('_').next().unwrap_or_default().into(),
            bytes,
            group_bytes: bytes,
            rows: 1,
            level: 0,
            is_ttl_settled: true,
        };
        let room = MergeRoom { bytes: 1000, group_bytes: u64::MAX };
        let half = room.bytes / 2;
        let runs = vec![
            vec![part("a_1_1_0", 1), part("a_3_3_0", half), part("a_4_4_0", half), part("a_15_15_0", half)],
            vec![part("b_2_2_0", 1)],
            vec![part("c_6_6_0", half), part("c_7_7_0", half)],
        ];
        let found = groups(runs.clone(), room, &|_| true, &|_| false);
        let expected: [&[&str]; 3] = [&["a_1_1_0", "a_3_3_0"], &["a_4_4_0", "a_15_15_0"], &["c_6_6_0", "c_7_7_0"]];
        assert_eq!(
            found.iter().map(|group| group.iter().map(|name| &**name).collect::<Vec<_>>()).collect::<Vec<_>>(),
            expected
        );
        assert_eq!(groups(runs.clone(), room, &|part| &*part.partition_id == "b", &|_| true).len(), 1);
        assert!(groups(runs, room, &|part| &*part.partition_id == "b", &|_| false).is_empty());
    }
}
