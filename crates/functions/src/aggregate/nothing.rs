//! Aggregates of `NULL` literals: there is never a value, so the result is NULL, or 0 of functions that count.

use arrow_array::types::UInt64Type;
use squall_types::{Column, DataType, Result, Value};

use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};

use super::state_bytes::Raw;

/// The function that no value ever reaches.
#[derive(Debug)]
pub(super) struct Nothing {
    return_type: DataType,
}

impl Nothing {
    pub fn new(counts: bool) -> Self {
        Self { return_type: if counts { DataType::UInt64 } else { DataType::Nothing.to_nullable() } }
    }
}

impl AggregateFunction for Nothing {
    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn accumulator(&self) -> Box<dyn Accumulator> {
        Box::new(NoValues { return_type: self.return_type.clone() })
    }
}

struct NoValues {
    return_type: DataType,
}

impl Accumulator for NoValues {
    fn update(&mut self, _: GroupIds<'_>, _: usize, _: &[Column], _: usize) -> Result<()> {
        Ok(())
    }

    fn take(&mut self, _: &[u32]) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Self { return_type: self.return_type.clone() }))
    }

    fn merge_range(&mut self, _: &mut dyn Accumulator, _: usize, _: &[u32], _: usize) -> Result<()> {
        Ok(())
    }

    fn finish(self: Box<Self>, groups: usize) -> Result<Column> {
        if self.return_type == DataType::UInt64 {
            return Ok(Column::from_primitive::<UInt64Type>(self.return_type, vec![0; groups]));
        }
        Column::constant(self.return_type, &Value::Null, groups)?.materialize()
    }

    fn serialize(&mut self, _: usize, out: &mut Vec<u8>) -> Result<()> {
        out.push(0);
        Ok(())
    }

    fn merge_serialized(&mut self, _: usize, bytes: &mut &[u8]) -> Result<()> {
        u8::take(bytes).map(drop)
    }

    fn memory_bytes(&self) -> usize {
        0
    }
}
