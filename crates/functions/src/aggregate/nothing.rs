//! Aggregates of `NULL` literals: there is never a value, so the result is NULL, or 0 of functions that count.

use std::sync::Arc;

use squall_types::{Column, DataType, Result};

use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};

use super::family::Call;
use super::values::state_bytes::Raw;

/// `nothing` and its kin: functions that take anything and see nothing.
pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    Ok(Arc::new(Nothing {
        return_type: match call.name {
            "nothingNull" => DataType::Nothing.to_nullable(),
            "nothingUInt64" => DataType::UInt64,
            _ => DataType::UInt8,
        },
    }))
}

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
        Column::default_values(self.return_type, groups)?.materialize()
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
