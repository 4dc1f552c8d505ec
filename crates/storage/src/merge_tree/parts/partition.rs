//! Which partition each row of a block belongs to, and the partitions' ids as ClickHouse writes them.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::NaiveDate;
use squall_functions::partition_id;
use squall_runtime::Pieces;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use super::unsorted_rows::UnsortedRows;

/// The rows of one partition.
pub(in crate::merge_tree) struct PartitionRows {
    pub(in crate::merge_tree) id: Arc<str>,
    pub(in crate::merge_tree) rows: UnsortedRows,
}

/// Rows between two looks at the clock.
const ROWS_AT_ONCE: usize = 1_024;

/// Splits rows by the values of the partition key, in pieces.
///
/// # Errors
/// `TOO_MANY_PARTS` beyond `partitions_max` partitions (0: no limit).
pub(in crate::merge_tree) async fn split(
    rows: UnsortedRows,
    keys: &[Column],
    partitions_max: usize,
    pieces: &mut Pieces,
) -> Result<Vec<PartitionRows>> {
    if keys.is_empty() {
        return Ok(vec![PartitionRows { id: "all".into(), rows }]);
    }
    let mut partitions: Vec<(Arc<str>, Vec<u32>)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    // Neighbours mostly share a partition: their values are compared before any id is written.
    let mut last: Option<(Vec<Value>, usize)> = None;
    for row in 0..rows.rows() {
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
        if let Some((_, positions)) = partitions.get_mut(place) {
            positions.push(row as u32);
        }
    }
    if let [(id, _)] = &partitions[..] {
        return Ok(vec![PartitionRows { id: id.clone(), rows }]);
    }
    let split = partitions.into_iter().map(|(id, positions)| PartitionRows { id, rows: rows.only(positions.into()) });
    Ok(split.collect())
}

/// The id of the partition of one row.
pub(in crate::merge_tree) fn id_of_row(keys: &[Column], row: usize) -> String {
    if keys.is_empty() {
        return "all".to_owned();
    }
    partition_id(keys, &keys.iter().map(|key| key.value(row)).collect::<Vec<_>>())
}

/// The values of keys of these types that an id was written of; `None` where it does not tell them.
pub(in crate::merge_tree) fn values_of_id<'a>(
    id: &str,
    types: impl Iterator<Item = &'a DataType>,
) -> Option<Vec<Value>> {
    let mut rest = id;
    let mut values = Vec::new();
    for (at, data_type) in types.enumerate() {
        if at > 0 {
            rest = rest.strip_prefix('-')?;
        }
        let digits = rest.strip_prefix('-').unwrap_or(rest);
        let end = rest.len() - digits.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
        let (own, after) = rest.split_at_checked(end).filter(|(own, _)| !own.is_empty())?;
        rest = after;
        values.push(match data_type.inner() {
            DataType::Date | DataType::Date32 => {
                let date = NaiveDate::parse_from_str(own, "%Y%m%d").ok()?;
                Value::Int64(date.signed_duration_since(NaiveDate::default()).num_days())
            }
            DataType::Bool => Value::UInt64(own.parse().ok()?),
            DataType::DateTime(_) => Value::UInt64(own.parse().ok()?),
            unsigned if unsigned.is_unsigned_integer() => Value::UInt64(own.parse().ok()?),
            DataType::Enum8(_) | DataType::Enum16(_) => Value::Int64(own.parse().ok()?),
            signed if signed.is_integer() => Value::Int64(own.parse().ok()?),
            _ => return None,
        });
    }
    rest.is_empty().then_some(values)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_tell_the_values_that_they_are_written_of() {
        let values = |id: &str, types: &[DataType]| values_of_id(id, types.iter());
        assert_eq!(values("202401", &[DataType::UInt32]), Some(vec![Value::UInt64(202_401)]));
        let types = [DataType::Int8, DataType::Int8, DataType::Date];
        let three = vec![Value::Int64(-1), Value::Int64(-2), Value::Int64(1)];
        assert_eq!(values("-1--2-19700102", &types), Some(three));
        assert_eq!(values("0123456789abcdef0123456789abcdef", &[DataType::UInt64]), None);
        assert_eq!(values("7", &[DataType::String]), None);
    }
}
