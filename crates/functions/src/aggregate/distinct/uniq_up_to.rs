//! `uniqUpTo(N)`: the number of distinct values, exact up to N, and N + 1 where there are more.

use std::sync::Arc;

use arrow_array::types::UInt64Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use crate::accumulator::AggregateFunction;

use super::uniq_exact::at_least_one_argument;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::row_hash::{Keys, keys};
use crate::aggregate::values::state_bytes::take_bytes;

/// The values that are told apart if nothing else is asked for.
const LIMIT_DEFAULT: u64 = 5;
const LIMIT_MAX: u64 = 100;

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let limit = match call.parameters {
        [] => LIMIT_DEFAULT,
        [Value::Float64(limit)] if !(0.0..1.8e19).contains(limit) => {
            let message = "Cannot convert out of range floating point value to integer type";
            return Err(Error::new(ErrorCode::CANNOT_CONVERT_TYPE, message));
        }
        [Value::Float64(limit)] => *limit as u64,
        [limit] => limit.as_u64().ok_or_else(|| call.bad_arguments("the parameter must be a number"))?,
        _ => return Err(call.wrong_parameters("one parameter or less")),
    };
    if limit > LIMIT_MAX {
        return Err(Error::new(
            ErrorCode::ARGUMENT_OUT_OF_BOUND,
            format!("Too large parameter for aggregate function {}. Maximum: {LIMIT_MAX}", call.name),
        ));
    }
    at_least_one_argument(call)?;
    let width = match call.arguments {
        [one] if *one != DataType::UUID => one.fixed_width_bytes().filter(|width| *width <= 8).unwrap_or(8),
        _ => 8,
    };
    Ok(grouped::function(UniqUpTo { limit: limit as usize, width }))
}

#[derive(Debug)]
struct UniqUpTo {
    limit: usize,
    /// Bytes of a key in a state.
    width: usize,
}

impl UniqUpTo {
    fn insert(&self, keys: &mut Vec<u64>, key: u64) {
        if keys.len() <= self.limit && !keys.contains(&key) {
            keys.push(key);
        }
    }
}

impl StateFunction for UniqUpTo {
    /// Distinct keys, at most one more than are told apart.
    type State = Vec<u64>;
    type Rows<'a> = Vec<u64>;

    const HAS_HEAP: bool = true;

    fn return_type(&self) -> &DataType {
        &DataType::UInt64
    }

    fn state(&self) -> Self::State {
        Vec::new()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let mask = u64::MAX >> (64 - 8 * self.width.clamp(1, 8));
        Ok(match keys(arguments, arguments.first().map_or(0, Column::rows))? {
            Keys::Numbers(bits) => bits.into_iter().map(|bits| bits & mask).collect(),
            Keys::Values(hashes) | Keys::Rows(hashes) => hashes,
        })
    }

    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        self.insert(state, rows[row]);
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        from.into_iter().for_each(|key| self.insert(into, key));
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        out.push(state.len() as u8);
        if state.len() <= self.limit {
            state.iter().for_each(|key| out.extend_from_slice(&key.to_le_bytes()[..self.width]));
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let count = take_bytes(bytes, 1)?.first().map_or(0, |count| usize::from(*count));
        if count > self.limit {
            // Which they were no longer matters.
            return Ok((0..=self.limit as u64).collect());
        }
        let mut key = || -> Result<u64> {
            let mut key = [0; 8];
            key[..self.width].copy_from_slice(take_bytes(bytes, self.width)?);
            Ok(u64::from_le_bytes(key))
        };
        (0..count).map(|_| key()).collect()
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let counts = states.iter().map(|state| state.len() as u64).collect();
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, counts))
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.capacity() * size_of::<u64>()
    }
}
