//! Statistics of a part on its way.

use arrow_array::UInt32Array;
use squall_runtime::Pieces;
use squall_types::{Block, Column, DataType, Result, Schema};
use twox_hash::XxHash3_64;

use super::column_sketch::{COMMON_SHARE, ColumnSketch};
use crate::merge_tree::value_hashes::{distinct_hashes_of, hashes_of};

/// Rows of a row group that tell which values are common.
const SAMPLE_ROWS: usize = 1024;
/// Rows between two looks at the clock.
const STEP_ROWS: usize = 16_384;
/// Longer strings are not kept as common values.
const VALUE_BYTES_MAX: usize = 64;

/// Gathers the statistics of a part's columns.
pub(in crate::merge_tree) struct StatisticsBuilder {
    /// By stored column; `None` of types that have none.
    columns: Vec<Option<ColumnSketch>>,
}

impl StatisticsBuilder {
    /// Of a part with these columns.
    pub(in crate::merge_tree) fn new(stored: &Schema) -> Self {
        Self {
            columns: stored.types().map(|data_type| has_statistics(data_type).then(ColumnSketch::default)).collect(),
        }
    }

    /// Adds rows.
    ///
    /// # Errors
    /// Where a column cannot be had as an array.
    pub(in crate::merge_tree) async fn append(&mut self, block: &Block, pieces: &mut Pieces) -> Result<()> {
        for (sketch, column) in self.columns.iter_mut().zip(block.columns()) {
            if let Some(sketch) = sketch {
                sketch.merge(sketch_of(column, pieces).await?);
                pieces.pause().await;
            }
        }
        Ok(())
    }

    /// The statistics of each column in bytes; none of columns without.
    pub(in crate::merge_tree) fn finish(self) -> Vec<Box<[u8]>> {
        let encoded = self.columns.into_iter().map(|sketch| match sketch {
            Some(mut sketch) => {
                sketch.keep_common();
                sketch.encode()
            }
            None => Box::default(),
        });
        encoded.collect()
    }
}

/// Whether values of a type are compared with others by what they are, and not by what is in them.
fn has_statistics(data_type: &DataType) -> bool {
    let inner = data_type.inner();
    !inner.is_nested() && !matches!(inner, DataType::AggregateFunction(_) | DataType::Dynamic(_) | DataType::Nothing)
}

async fn sketch_of(column: &Column, pieces: &mut Pieces) -> Result<ColumnSketch> {
    let rows = column.rows();
    let mut sketch = ColumnSketch { rows: rows as u64, ..ColumnSketch::default() };
    if rows == 0 {
        return Ok(sketch);
    }
    if column.is_constant() {
        let one = hashes(&column.slice(0, 1))?;
        match one.first() {
            Some(hash) => {
                sketch.distinct.add(*hash);
                keep(&mut sketch, column, 0, rows);
            }
            None => sketch.nulls = rows as u64,
        }
        return Ok(sketch);
    }
    let mut valid = 0;
    for from in (0..rows).step_by(STEP_ROWS) {
        let step = column.slice(from, STEP_ROWS.min(rows - from));
        valid += distinct_hashes_of(&step, &mut |hash| sketch.distinct.add(hash))?;
        pieces.pause().await;
    }
    sketch.nulls = (rows - valid) as u64;
    if valid > 0 {
        find_common(&mut sketch, column, valid)?;
    }
    Ok(sketch)
}

fn hashes(column: &Column) -> Result<Vec<u64>> {
    let mut hashes = Vec::with_capacity(column.rows());
    hashes_of(column, &mut |hash| hashes.push(hash))?;
    Ok(hashes)
}

/// Finds the values that many rows have, as far as some rows tell: one of each stretch of the column, at a place that differs, as values may come in
/// turns.
fn find_common(sketch: &mut ColumnSketch, column: &Column, valid: usize) -> Result<()> {
    let stretch = column.rows().div_ceil(SAMPLE_ROWS);
    let places = (0..column.rows()).step_by(stretch).map(|from| {
        let within = XxHash3_64::oneshot(&(from as u64).to_le_bytes()) as usize % stretch;
        (from + within).min(column.rows() - 1) as u32
    });
    let sample = column.take(&UInt32Array::from_iter_values(places))?;
    let is_valid = |row: &usize| sample.nulls().is_none_or(|nulls| nulls.is_valid(*row));
    let mut found: Vec<(u64, usize)> = hashes(&sample)?.into_iter().zip((0..sample.rows()).filter(is_valid)).collect();
    found.sort_unstable();
    let all = found.len();
    for same in found.chunk_by(|(left, _), (right, _)| left == right) {
        if same.len() > 1
            && same.len() as f64 >= all as f64 * COMMON_SHARE
            && let Some((_, row)) = same.first()
        {
            keep(sketch, &sample, *row, valid * same.len() / all);
        }
    }
    Ok(())
}

/// Keeps the value of a row, which so many rows have.
fn keep(sketch: &mut ColumnSketch, column: &Column, row: usize, rows: usize) {
    let value = column.value(row);
    if value.as_bytes().is_none_or(|bytes| bytes.len() <= VALUE_BYTES_MAX) {
        sketch.common.push((value, rows as u64));
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::UInt64Type;
    use squall_runtime::block_on;
    use squall_types::{ColumnBuilder, Value};

    use super::*;

    fn sketch(column: &Column) -> ColumnSketch {
        block_on(sketch_of(column, &mut Pieces::begin())).unwrap()
    }

    #[test]
    fn common_values_are_found_among_others() {
        let values = (0..100_000_u64).map(|row| if row % 10 < 7 { 0 } else { row }).collect();
        let sketch = sketch(&Column::from_primitive::<UInt64Type>(DataType::UInt64, values));
        let [(value, rows)] = &sketch.common[..] else { panic!("{:?}", sketch.common) };
        assert_eq!(*value, Value::UInt64(0));
        assert!((65_000..75_000).contains(rows), "{rows}");
        assert!((25_000.0..36_000.0).contains(&sketch.distinct.estimate()));
        assert_eq!((sketch.rows, sketch.nulls), (100_000, 0));
    }

    #[test]
    fn nulls_are_counted_and_short_columns_are_whole() {
        let mut builder = ColumnBuilder::new(DataType::String.to_nullable());
        for value in [Value::Null, Value::from("a"), Value::from("b"), Value::from("a")] {
            builder.append(&value).unwrap();
        }
        let sketch = sketch(&builder.finish().unwrap());
        assert_eq!((sketch.rows, sketch.nulls), (4, 1));
        assert_eq!(sketch.common, [(Value::from("a"), 2)]);
        assert!((1.5..2.5).contains(&sketch.distinct.estimate()));
    }

    #[test]
    fn a_constant_is_one_value() {
        let sketch = sketch(&Column::constant(DataType::UInt8, &Value::UInt64(7), 1000).unwrap());
        assert_eq!(sketch.common, [(Value::UInt64(7), 1000)]);
        assert!((0.9..1.1).contains(&sketch.distinct.estimate()));
    }
}
