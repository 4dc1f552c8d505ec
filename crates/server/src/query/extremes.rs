//! The setting `extremes`: the least and the greatest value of each column of a result, collected as it goes by.

use std::cmp::Ordering;
use std::sync::Arc;

use squall_types::{Block, ColumnBuilder, Result, Schema, Value, default_value};

/// The extremes so far.
#[derive(Default)]
pub(super) struct Extremes {
    columns: Vec<Option<(Value, Value)>>,
    has_rows: bool,
}

impl Extremes {
    /// Takes a block of the result into account.
    pub(super) fn add(&mut self, block: &Block) {
        self.has_rows |= !block.is_empty();
        self.columns.resize(block.columns().len(), None);
        for (column, extremes) in block.columns().iter().zip(&mut self.columns) {
            for row in 0..if column.is_constant() { column.rows().min(1) } else { column.rows() } {
                let value = column.value(row);
                // NULL is neither least nor greatest, and NaN only where there is nothing else.
                if value.is_null() {
                    continue;
                }
                match extremes {
                    None => *extremes = Some((value.clone(), value)),
                    Some((least, greatest)) => {
                        if value.compare_with(greatest, Ordering::Less).is_gt() {
                            *greatest = value.clone();
                        }
                        if value.compare_with(least, Ordering::Greater).is_lt() {
                            *least = value;
                        }
                    }
                }
            }
        }
    }

    /// Two rows, the least and the greatest values; the types' defaults where all are NULL, and nothing where there were no rows.
    pub(super) fn block(self, schema: Arc<Schema>) -> Result<Option<Block>> {
        if !self.has_rows {
            return Ok(None);
        }
        let mut columns = Vec::with_capacity(schema.len());
        for (at, data_type) in schema.types().enumerate() {
            let mut builder = ColumnBuilder::new(data_type.clone());
            let (least, greatest) = self.columns.get(at).cloned().flatten().unwrap_or_else(|| {
                let default = default_value(data_type);
                (default.clone(), default)
            });
            builder.append(&least)?;
            builder.append(&greatest)?;
            columns.push(builder.finish()?);
        }
        Ok(Some(Block::new(schema, columns, 2)))
    }
}
