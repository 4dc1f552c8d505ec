//! Emits the unmatched rows of the build side, once every probe pipeline has finished.

use std::sync::Arc;

use arrow_array::UInt32Array;
use squall_types::{Block, Column, Result};

use super::build::JoinTable;
use super::matching::Matching;
use crate::units::{Rows, Units};

/// Rows of a unit.
const UNIT_ROWS: usize = 65_536;

/// Gives the right side's rows without a partner, with defaults for the left side's columns.
pub(crate) struct Unmatched {
    pub(crate) matching: Arc<Matching>,
    pub(crate) table: Arc<JoinTable>,
}

impl Units for Unmatched {
    fn units(&self) -> usize {
        self.table.held().map_or(0, |held| held.rows.div_ceil(UNIT_ROWS))
    }

    async fn run(self: Arc<Self>, unit: usize, out: Rows) -> Result<()> {
        let held = self.table.held()?;
        let first = unit * UNIT_ROWS;
        let end = (first + UNIT_ROWS).min(held.rows);
        let rows: Vec<u32> = (first..end).filter(|row| !held.is_found(*row)).map(|row| row as u32).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let rows = UInt32Array::from(rows);
        let schema = &self.matching.schema;
        let left = self.matching.left_columns.len();
        let missing = |data_type: &squall_types::DataType| Column::default_values(data_type.clone(), rows.len());
        let mut columns = schema.types().take(left).map(missing).collect::<Result<Vec<Column>>>()?;
        for at in 0..schema.len() - left {
            columns.push(held.column(at)?.take(&rows)?);
        }
        out.push(Block::new(schema.clone(), columns, rows.len()));
        Ok(())
    }
}
