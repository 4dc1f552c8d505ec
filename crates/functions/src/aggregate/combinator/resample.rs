//! `-Resample(start, end, step)`: the function for each interval of its last argument, which makes an array of results.

use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use super::fanned::{Fan, Fanned, arrays};
use crate::accumulator::AggregateFunction;
use crate::aggregate::values::row_hash::number_bits;

/// No more intervals.
const INTERVALS_MAX: i128 = 1 << 20;

/// The parameters of the function under the combinator, and the combinator's own three.
pub(super) fn parameters(parameters: &[Value]) -> Result<(&[Value], &[Value; 3])> {
    parameters.split_last_chunk::<3>().ok_or_else(|| {
        Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Incorrect number of parameters for aggregate function with Resample suffix",
        )
    })
}

pub(super) fn nested_arguments(arguments: &[DataType]) -> Result<Vec<DataType>> {
    let Some((key, nested)) = arguments.split_last() else {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Incorrect number of arguments for aggregate function with Resample suffix",
        ));
    };
    let is_integer = key.is_integer()
        || matches!(
            key,
            DataType::Bool | DataType::Date | DataType::DateTime(_) | DataType::Enum8(_) | DataType::Enum16(_)
        );
    if !is_integer {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal types of argument for aggregate function Resample, the type of the last argument should be native \
             integer or integer-like",
        ));
    }
    Ok(nested.to_vec())
}

pub(super) fn apply(
    name: &str,
    function: Arc<dyn AggregateFunction>,
    parameters: &[Value],
    arguments: &[DataType],
) -> Result<Arc<dyn AggregateFunction>> {
    let (_, own) = self::parameters(parameters)?;
    let number = |value: &Value| match value {
        Value::UInt64(number) => Ok(i128::from(*number)),
        Value::Int64(number) => Ok(i128::from(*number)),
        other => {
            Err(Error::new(ErrorCode::BAD_GET, format!("Bad get: has {}, requested an integer", other.literal_type())))
        }
    };
    let [begin, end, step] = [number(&own[0])?, number(&own[1])?, number(&own[2])?];
    let refuse = |what: &str| Err(Error::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, format!("The {what}")));
    if step <= 0 {
        return refuse(&format!("step given in function {name} should not be zero"));
    }
    let count = if end < begin { 0 } else { (end - begin + step - 1) / step };
    if count > INTERVALS_MAX {
        return refuse(&format!("range given in function {name} contains too many elements"));
    }
    let is_signed = arguments
        .last()
        .is_some_and(|key| key.is_signed_integer() || matches!(key, DataType::Enum8(_) | DataType::Enum16(_)));
    let return_type = DataType::array(function.return_type().clone());
    Ok(Fanned::boxed(function, return_type, Resample { begin, end, step, count: count as usize, is_signed }))
}

#[derive(Clone)]
struct Resample {
    begin: i128,
    end: i128,
    step: i128,
    count: usize,
    /// Whether keys have a sign.
    is_signed: bool,
}

impl Fan for Resample {
    type Places = Vec<u32>;

    fn places(&self, fresh: &mut dyn FnMut() -> u32) -> Vec<u32> {
        (0..self.count).map(|_| fresh()).collect()
    }

    fn split(
        &self,
        arguments: &[Column],
        rows: usize,
        group: &dyn Fn(usize) -> usize,
        groups: &mut [Vec<u32>],
        _fresh: &mut dyn FnMut() -> u32,
    ) -> Result<(Vec<Column>, Vec<u32>)> {
        let wrong = || Error::logical("-Resample without a key");
        let (key, nested) = arguments.split_last().ok_or_else(wrong)?;
        let keys = number_bits(key).ok_or_else(wrong)?;
        let mut states = Vec::with_capacity(rows);
        let mut chosen = Vec::with_capacity(rows);
        for (row, bits) in keys.into_iter().enumerate() {
            let key = if self.is_signed { i128::from(bits as i64) } else { i128::from(bits) };
            if key >= self.begin && key < self.end {
                states.push(groups[group(row)][((key - self.begin) / self.step) as usize]);
                chosen.push(row as u32);
            }
        }
        let items = if chosen.len() == rows {
            nested.to_vec()
        } else {
            let chosen = chosen.into();
            nested.iter().map(|column| column.take(&chosen)).collect::<Result<_>>()?
        };
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
        places.iter().try_for_each(|place| state(*place, out))
    }

    fn read(
        &self,
        places: &mut Vec<u32>,
        _fresh: &mut dyn FnMut() -> u32,
        state: &mut dyn FnMut(u32, &mut &[u8]) -> Result<()>,
        bytes: &mut &[u8],
    ) -> Result<()> {
        places.iter().try_for_each(|place| state(*place, bytes))
    }
}
