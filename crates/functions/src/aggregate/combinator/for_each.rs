//! `-ForEach`: the function at each place of arrays, which makes an array of results.

use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint};

use super::array::flatten;
use super::fanned::{Fan, Fanned, arrays};
use crate::accumulator::AggregateFunction;
use crate::aggregate::values::state_bytes::Raw;

/// No array has more places.
const PLACES_MAX: u64 = 1 << 24;

pub(super) fn nested_arguments(arguments: &[DataType]) -> Result<Vec<DataType>> {
    let item = |argument: &DataType| match argument {
        DataType::Array(item) => Ok(item.remove_low_cardinality().clone()),
        other => Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Illegal type {other} of argument for aggregate function with ForEach suffix. Must be array."),
        )),
    };
    if arguments.is_empty() {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Incorrect number of arguments for aggregate function with ForEach suffix",
        ));
    }
    arguments.iter().map(item).collect()
}

pub(super) fn apply(function: Arc<dyn AggregateFunction>) -> Arc<dyn AggregateFunction> {
    let return_type = DataType::array(function.return_type().clone());
    Fanned::boxed(function, return_type, ForEach)
}

#[derive(Clone)]
struct ForEach;

impl Fan for ForEach {
    type Places = Vec<u32>;

    fn split(
        &self,
        arguments: &[Column],
        _rows: usize,
        group: &dyn Fn(usize) -> usize,
        groups: &mut [Vec<u32>],
        fresh: &mut dyn FnMut() -> u32,
    ) -> Result<(Vec<Column>, Vec<u32>)> {
        let (first, items) = flatten(arguments)?;
        let mut states = Vec::with_capacity(items.first().map_or(0, Column::rows));
        for (row, length) in first.offsets().lengths().enumerate() {
            let places = &mut groups[group(row)];
            if length > places.len() {
                if length as u64 > PLACES_MAX {
                    return Err(Error::new(
                        ErrorCode::TOO_LARGE_ARRAY_SIZE,
                        "Too large array size for a function with ForEach suffix",
                    ));
                }
                checkpoint(length)?;
                places.resize_with(length, &mut *fresh);
            }
            states.extend_from_slice(&places[..length]);
        }
        Ok((items, states))
    }

    fn finish(&self, return_type: &DataType, groups: &[Vec<u32>], results: Column) -> Result<Column> {
        arrays(return_type, groups.iter().map(Vec::len), &results)
    }

    fn write(
        &self,
        places: &Vec<u32>,
        state: &mut dyn FnMut(u32, &mut Vec<u8>) -> Result<()>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        (places.len() as u64).put(out);
        places.iter().try_for_each(|place| state(*place, out))
    }

    fn read(
        &self,
        places: &mut Vec<u32>,
        fresh: &mut dyn FnMut() -> u32,
        state: &mut dyn FnMut(u32, &mut &[u8]) -> Result<()>,
        bytes: &mut &[u8],
    ) -> Result<()> {
        let length = u64::take(bytes)?;
        if length > PLACES_MAX {
            return Err(Error::new(
                ErrorCode::TOO_LARGE_ARRAY_SIZE,
                "Too large array size in a state with ForEach suffix",
            ));
        }
        for at in 0..length as usize {
            checkpoint(64)?;
            if at >= places.len() {
                places.push(fresh());
            }
            state(places[at], bytes)?;
        }
        Ok(())
    }
}
