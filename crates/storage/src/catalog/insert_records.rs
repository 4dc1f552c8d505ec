//! The INSERTs that tables remember, so that one that comes again changes nothing: recorded in the transaction that commits their parts.

use std::collections::HashSet;
use std::sync::Arc;

use rusqlite::{Transaction, params};

use super::part_records::NewPart;
use super::parts::InsertMark;
use crate::merge_tree::PartName;

/// Remembers an INSERT for the partitions that it wrote to, and forgets the oldest ones beyond the window. Gives the names of the parts that
/// it has brought before.
pub(super) fn mark_insert(
    transaction: &Transaction,
    table_id: i64,
    mark: &InsertMark,
    parts: &[NewPart],
) -> rusqlite::Result<Vec<Arc<str>>> {
    let mut insert = transaction.prepare_cached(
        "INSERT OR IGNORE INTO squall_insert (table_id, insert_id, partition, block) VALUES (?1, ?2, ?3, ?4)",
    )?;
    let (mut new, mut known) = (HashSet::new(), Vec::new());
    for part in parts {
        let block = PartName::parse(&part.name).map_or(0, |name| name.first_block);
        if new.contains(&part.partition_id) {
            continue;
        }
        match insert.execute(params![table_id, mark.id, &*part.partition_id, block as i64])? {
            0 => known.push(part.name.clone()),
            _ => drop(new.insert(&part.partition_id)),
        }
    }
    transaction
        .prepare_cached(
            "DELETE FROM squall_insert WHERE table_id = ?1 AND number <=
             (SELECT number FROM squall_insert WHERE table_id = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)",
        )?
        .execute(params![table_id, i64::try_from(mark.window).unwrap_or(i64::MAX)])?;
    Ok(known)
}

/// Forgets the INSERTs whose rows are in parts of these names.
pub(super) fn forget_inserts(transaction: &Transaction, table_id: i64, parts: &[Arc<str>]) -> rusqlite::Result<()> {
    let mut forget = transaction.prepare_cached(
        "DELETE FROM squall_insert WHERE table_id = ?1 AND partition = ?2 AND block BETWEEN ?3 AND ?4",
    )?;
    for name in parts.iter().filter_map(|name| PartName::parse(name)) {
        forget.execute(params![table_id, &*name.partition_id, name.first_block as i64, name.last_block as i64])?;
    }
    Ok(())
}
