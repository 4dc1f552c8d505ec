//! Which partition each row of a block belongs to, and the partitions' ids as ClickHouse writes them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::UInt32Array;
use squall_functions::partition_id;
use squall_runtime::Pieces;
use squall_types::gather::take;
use squall_types::{Block, Column, Error, ErrorCode, Result, Value};

/// The rows of one partition.
pub(super) struct PartitionRows {
    pub(super) id: Arc<str>,
    pub(super) rows: Block,
}

/// Rows between two looks at the clock.
const ROWS_AT_ONCE: usize = 1_024;

/// Splits a block by the values of the partition key, in pieces.
///
/// # Errors
/// `TOO_MANY_PARTS` beyond `partitions_max` partitions (0: no limit).
pub(super) async fn split(
    block: &Block,
    keys: &[Column],
    partitions_max: usize,
    pieces: &mut Pieces,
) -> Result<Vec<PartitionRows>> {
    if keys.is_empty() {
        return Ok(vec![PartitionRows { id: "all".into(), rows: block.clone() }]);
    }
    let mut partitions: Vec<(Arc<str>, Vec<u32>)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    // Neighbours mostly share a partition: their values are compared before any id is written.
    let mut last: Option<(Vec<Value>, usize)> = None;
    for row in 0..block.rows() {
        if row % ROWS_AT_ONCE == 0 {
            pieces.pause().await;
        }
        let values: Vec<Value> = keys.iter().map(|key| key.value(row)).collect();
        let place = match &last {
            Some((before, place)) if *before == values => *place,
            _ => {
                let id = partition_id(keys, &values);
                let place = match known.get(&id) {
                    Some(place) => *place,
                    None => {
                        let place = partitions.len();
                        if partitions_max > 0 && place >= partitions_max {
                            return Err(too_many_partitions(partitions_max));
                        }
                        partitions.push((id.as_str().into(), Vec::new()));
                        known.insert(id, place);
                        place
                    }
                };
                last = Some((values, place));
                place
            }
        };
        if let Some((_, rows)) = partitions.get_mut(place) {
            rows.push(row as u32);
        }
    }
    if let [(id, _)] = &partitions[..] {
        return Ok(vec![PartitionRows { id: id.clone(), rows: block.clone() }]);
    }
    let mut split = Vec::with_capacity(partitions.len());
    for (id, rows) in partitions {
        let rows = UInt32Array::from(rows);
        let mut columns = Vec::with_capacity(block.columns().len());
        for column in block.columns() {
            columns.push(take(column, &rows, pieces).await?);
            pieces.pause().await;
        }
        split.push(PartitionRows { id, rows: Block::new(block.schema().clone(), columns, rows.len()) });
    }
    Ok(split)
}

/// The id of the partition of one row.
pub(super) fn id_of_row(keys: &[Column], row: usize) -> String {
    if keys.is_empty() {
        return "all".to_owned();
    }
    partition_id(keys, &keys.iter().map(|key| key.value(row)).collect::<Vec<_>>())
}

fn too_many_partitions(partitions_max: usize) -> Error {
    Error::new(
        ErrorCode::TOO_MANY_PARTS,
        format!(
            "Too many partitions for single INSERT block (more than {partitions_max}). The limit is controlled by \
             'max_partitions_per_insert_block' setting. Partitions are meant for handling data by the month or so, not for \
             speeding up queries: ORDER BY does that"
        ),
    )
}
