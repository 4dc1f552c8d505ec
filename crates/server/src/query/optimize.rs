//! OPTIMIZE: the parts of each partition become one, as far as that is made in memory, by the rule of the table's engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use squall_engine::QueryContext;
use squall_sql::ast;
use squall_storage::PartInfo;
use squall_types::{Error, ErrorCode, Result};

use super::Answer;
use super::alter::selection;
use super::cascade::table_of_parts;
use super::deduplicate::{columns_of, deduplicate};
use super::statement::{refuse_cluster, table_name};
use crate::access::Privilege;
use crate::session::Session;

/// Bytes on disk of the parts that become one: a merge holds their rows in memory, decoded and sorted.
const MERGED_BYTES_MAX: u64 = 1 << 30;

/// Runs OPTIMIZE, with FINAL or without.
pub(super) async fn run(session: &Session, statement: &ast::Optimize, context: &Arc<QueryContext>) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let (database, name) = table_name(session, &statement.table)?;
    session.access.check(Privilege::Optimize, &[&database, &name])?;
    let (database, name) = table_of_parts(session, database, name)?;
    let (databases, engine) = (&session.server.databases, &session.server.engine);
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
    let by = match &statement.deduplicate {
        Some(by) if !by.is_empty() => Some(columns_of(session, &database, &name, by, context).await?),
        Some(_) => Some(Vec::new()),
        None => None,
    };
    let mut parts = table.parts();
    if let Some(partition) = &statement.partition {
        let of = selection(session, &database, &name, partition, context).await?;
        parts.retain(|part| of.has(&part.name, &part.partition_id));
    }
    // A single part may hold rows with equal keys: an INSERT or a mutation made it.
    let with_singles = statement.with_final && table.final_rows().is_some();
    let mut is_noop = true;
    for parts in groups(parts, with_singles) {
        is_noop = false;
        let merged = match databases.merge_parts(&database, &name, &parts) {
            Ok(merge) => engine.merge(merge, context.clone()).finished().await,
            Err(error) => Err(error),
        };
        match merged {
            // Somebody else merges them, or has merged or dropped them.
            Err(error)
                if matches!(error.code, ErrorCode::NO_SUCH_DATA_PART | ErrorCode::PART_IS_TEMPORARILY_LOCKED) => {}
            merged => merged?,
        }
    }
    if let Some(by) = &by {
        deduplicate(session, &database, &name, by, statement.partition.as_ref(), context).await?;
    }
    if is_noop && by.is_none() && context.settings.optimize_throw_if_noop {
        let message = "Cannot OPTIMIZE table: There is nothing to merge";
        return Err(Error::new(ErrorCode::CANNOT_ASSIGN_OPTIMIZE, message));
    }
    Ok(Answer::Done)
}

/// The parts that become one each: those of a partition that follow each other, as many as may be.
fn groups(parts: Vec<PartInfo>, with_singles: bool) -> Vec<Vec<Arc<str>>> {
    let mut partitions: BTreeMap<Arc<str>, Vec<PartInfo>> = BTreeMap::new();
    for part in parts {
        partitions.entry(part.partition_id.clone()).or_default().push(part);
    }
    let mut groups = Vec::new();
    for mut parts in partitions.into_values() {
        parts.sort_by_key(|part| first_block(&part.name));
        let (mut group, mut bytes) = (Vec::new(), 0);
        for part in parts {
            if bytes + part.bytes_on_disk > MERGED_BYTES_MAX {
                groups.push(std::mem::take(&mut group));
                bytes = 0;
            }
            bytes += part.bytes_on_disk;
            group.push(part.name);
        }
        groups.push(group);
    }
    groups.retain(|group| group.len() > usize::from(!with_singles));
    groups
}

/// The number in a part's name by which parts stand in the order of their INSERTs.
fn first_block(name: &str) -> Option<u64> {
    name.rsplit('_').nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_grouped_by_partition_and_size() {
        let part = |name: &str, bytes_on_disk: u64| PartInfo {
            name: name.into(),
            partition_id: name.split('_').next().unwrap().into(),
            rows: 1,
            bytes_on_disk,
            marks: 1,
            path: Default::default(),
            times: None,
        };
        let half = MERGED_BYTES_MAX / 2;
        let parts = [
            ("a_4_4_0", half),
            ("b_2_2_0", 1),
            ("a_3_3_0", half),
            ("a_1_1_0", 1),
            ("a_15_15_0", half),
            ("c_6_6_0", half),
            ("c_7_7_0", half),
        ];
        let found = groups(parts.into_iter().map(|(name, bytes)| part(name, bytes)).collect(), false);
        let expected: [&[&str]; 3] = [&["a_1_1_0", "a_3_3_0"], &["a_4_4_0", "a_15_15_0"], &["c_6_6_0", "c_7_7_0"]];
        assert_eq!(
            found.iter().map(|group| group.iter().map(|name| &**name).collect::<Vec<_>>()).collect::<Vec<_>>(),
            expected
        );
    }
}
