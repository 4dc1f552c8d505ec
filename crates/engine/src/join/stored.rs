//! A right side that is a table of the engine `Join`: its rows are held by key already, so that nothing is built.

use std::sync::Arc;

use squall_planner::{Expression, Join, Plan, Scan};
use squall_storage::TableHandle;
use squall_types::{Column, DataType, Result};

use super::build::JoinTable;
use super::matching::Matching;

/// The table of a join whose right side is one of the engine `Join`; `None` where it must be built.
///
/// # Errors
/// What reading the table fails with.
pub(crate) fn stored_right_side(join: &Join, matching: &Arc<Matching>) -> Result<Option<Arc<JoinTable>>> {
    let Some((scan, columns)) = right_scan(&join.right) else { return Ok(None) };
    let Some(table) = TableHandle::of(&*scan.table)?.0.as_join() else { return Ok(None) };
    // A subquery over the table may be joined in any way; of a table by its name this has been asked when it was planned.
    if !table.serves(join.kind, join.strictness, matching.context.settings.join_use_nulls) {
        return Ok(None);
    }
    // The stored column of a column of the right side.
    let stored = |column: usize| table.stored_column(*scan.columns.get(*columns.get(column)?)?);
    let keys = join.keys.iter().map(|key| match &key.right {
        Expression::Column { position, .. } => stored(*position),
        _ => None,
    });
    let Some(keys) = keys.collect::<Option<Vec<usize>>>() else { return Ok(None) };
    // A part of the rows, or other keys, are not what is held.
    if scan.predicate.is_some() || scan.limit.is_some() || keys != table.key_columns() {
        return Ok(None);
    }
    let held = table.held()?;
    let column = |(column, data_type): (&usize, &DataType)| {
        let column: &Column = held.columns.get(stored(*column)?)?;
        (column.data_type() == data_type).then(|| column.clone())
    };
    let columns: Option<Vec<Column>> = matching.held_columns.iter().zip(&matching.held_types).map(column).collect();
    let Some(columns) = columns else { return Ok(None) };
    Ok(Some(Arc::new(JoinTable::stored(matching.clone(), held.index.clone(), columns, held.rows))))
}

/// The scan that a right side is, and for each of its columns that of the scan.
fn right_scan(plan: &Plan) -> Option<(&Scan, Vec<usize>)> {
    match plan {
        Plan::Scan(scan) => Some((scan, (0..scan.columns.len()).collect())),
        Plan::Project { input, expressions, .. } => {
            let Plan::Scan(scan) = &**input else { return None };
            let column = |expression: &Expression| match expression {
                Expression::Column { position, .. } => Some(*position),
                _ => None,
            };
            Some((scan, expressions.iter().map(column).collect::<Option<Vec<_>>>()?))
        }
        _ => None,
    }
}
