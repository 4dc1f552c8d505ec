//! States of aggregate functions in binary formats: one behind the other without their lengths, so that only the function itself knows
//! where each ends.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray};
use arrow_buffer::OffsetBuffer;
use squall_functions::{AggregateFunction, aggregate_of_states};
use squall_types::{AggregateType, Error, ErrorCode, Result, checkpoint, grow};

use crate::wire::{Cursor, Stop};

/// Reads states of one type.
pub(crate) struct StateReader {
    function: Arc<dyn AggregateFunction>,
}

impl StateReader {
    /// Of states of this type.
    ///
    /// # Errors
    /// Where there is no such function.
    pub fn new(state: &AggregateType) -> Result<Self> {
        Ok(Self { function: aggregate_of_states(state)? })
    }

    /// The bytes of the state at the cursor.
    pub fn read<'a>(&self, input: &mut Cursor<'a>) -> Result<&'a [u8], Stop> {
        let all = input.rest();
        let mut left = all;
        match self.function.accumulator().merge_serialized(0, &mut left) {
            Ok(()) => input.take(all.len() - left.len()),
            Err(error) if error.code == ErrorCode::CANNOT_READ_ALL_DATA && !input.is_last() => Err(Stop::Incomplete),
            Err(error) => Err(Stop::Bad(error)),
        }
    }

    /// So many states as a column's array.
    pub fn read_array(&self, rows: usize, input: &mut Cursor<'_>) -> Result<ArrayRef, Stop> {
        let (mut bytes, mut ends): (Vec<u8>, Vec<i32>) = (Vec::new(), vec![0]);
        for _ in 0..rows {
            checkpoint(64)?;
            let state = self.read(input)?;
            grow(&mut bytes, state.len())?;
            bytes.extend_from_slice(state);
            ends.push(i32::try_from(bytes.len()).map_err(|_| too_long())?);
        }
        let array = BinaryArray::try_new(OffsetBuffer::new(ends.into()), bytes.into(), None).map_err(Error::from)?;
        Ok(Arc::new(array))
    }
}

fn too_long() -> Error {
    Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "More than 2 GiB of states in one block")
}

/// The state of no rows: what no bytes stand for.
pub(crate) fn fresh(state: &AggregateType) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    aggregate_of_states(state)?.accumulator().serialize(0, &mut bytes)?;
    Ok(bytes)
}

/// Appends the states of a column.
pub(crate) fn write_array(state: &AggregateType, array: &dyn Array, out: &mut Vec<u8>) -> Result<()> {
    let states = array.as_binary_opt::<i32>().ok_or_else(|| Error::logical("states are bytes"))?;
    for row in 0..states.len() {
        match states.value(row) {
            [] => out.extend(fresh(state)?),
            bytes => out.extend_from_slice(bytes),
        }
    }
    Ok(())
}
