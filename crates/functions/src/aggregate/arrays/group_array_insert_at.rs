//! `groupArrayInsertAt`: an array with each value at the place that its row names; of several for one place the first.

use std::sync::Arc;

use squall_types::{CastOptions, Column, DataType, Error, ErrorCode, Result, Value, default_value};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::results::value_column;
use crate::aggregate::values::element::{AnyValue, Element};
use crate::aggregate::values::row_hash::number_bits;
use crate::aggregate::values::state_bytes::{Raw, put_value, put_varint, take_count, take_value};

/// ClickHouse's bound on positions.
const POSITION_MAX: u64 = 0xFF_FFFF;

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let (argument, position) = call.two_arguments()?;
    if call.parameters.len() > 2 {
        return Err(call.wrong_parameters("at most two parameters."));
    }
    let length = match call.parameters.get(1) {
        None => None,
        Some(length) => Some(
            length
                .as_u64()
                .filter(|length| *length <= POSITION_MAX)
                .ok_or_else(|| Error::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, "Too large array size"))?
                as usize,
        ),
    };
    if !position.is_unsigned_integer() {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Second argument of aggregate function {} must be unsigned integer.", call.name),
        ));
    }
    let default = match call.parameters.first() {
        None => default_value(argument),
        Some(value) => squall_types::cast_value(value, &value.literal_type(), argument, &CastOptions::default())
            .map_err(|_| {
                Error::new(ErrorCode::BAD_ARGUMENTS, format!("Cannot convert parameter {value} to type {argument}"))
            })?,
    };
    Ok(grouped::function(InsertAt {
        data_type: DataType::array(argument.clone()),
        item: argument.clone(),
        default,
        length,
    }))
}

#[derive(Debug)]
struct InsertAt {
    data_type: DataType,
    item: DataType,
    /// What places without a value have.
    default: Value,
    length: Option<usize>,
}

impl InsertAt {
    fn set(&self, values: &mut Vec<Value>, at: usize, value: impl FnOnce() -> Value) {
        if at >= values.len() {
            values.resize(at + 1, Value::Null);
        }
        if let Some(place @ Value::Null) = values.get_mut(at) {
            *place = value();
        }
    }
}

impl StateFunction for InsertAt {
    /// A value that may be NULL has no other meaning than none.
    type State = Vec<Value>;
    type Rows<'a> = (&'a Column, Vec<u64>);

    const HAS_HEAP: bool = true;

    fn return_type(&self) -> &DataType {
        &self.data_type
    }

    fn state(&self) -> Self::State {
        Vec::new()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [values, positions] = arguments else {
            return Err(Error::logical("groupArrayInsertAt takes two arguments"));
        };
        let positions = number_bits(positions).ok_or_else(|| Error::logical("positions are numbers"))?;
        if self.length.is_none()
            && let Some(far) = positions.iter().find(|position| **position >= POSITION_MAX)
        {
            return Err(Error::new(
                ErrorCode::TOO_LARGE_ARRAY_SIZE,
                format!(
                    "Too large array size: position argument ({far}) is greater or equals to limit ({POSITION_MAX})"
                ),
            ));
        }
        if let Some(highest) =
            positions.iter().filter(|position| self.length.is_none_or(|length| **position < length as u64)).max()
        {
            squall_types::reserve(*highest as usize * size_of::<Value>())?;
        }
        Ok((values, positions))
    }

    fn add(&self, state: &mut Self::State, (values, positions): &Self::Rows<'_>, row: usize) {
        let at = positions[row] as usize;
        if self.length.is_none_or(|length| at < length) {
            self.set(state, at, || values.value(row));
        }
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        for (at, value) in from.into_iter().enumerate() {
            self.set(into, at, || value);
        }
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        put_varint(state.len() as u64, out);
        for value in state {
            out.push(u8::from(value.is_null()));
            if !value.is_null() {
                put_value(value, &self.item, out)?;
            }
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let value = |bytes: &mut &[u8]| match u8::take(bytes)? {
            0 => take_value(bytes, &self.item),
            _ => Ok(Value::Null),
        };
        (0..take_count(bytes)?).map(|_| value(bytes)).collect()
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let list = |mut values: Self::State| {
            if let Some(length) = self.length {
                values.resize(length, Value::Null);
            }
            values.iter_mut().filter(|value| value.is_null()).for_each(|value| *value = self.default.clone());
            Value::Array(values.into())
        };
        value_column(&self.data_type, states.into_iter().map(list))
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.capacity() * size_of::<Value>() + state.iter().map(AnyValue::heap_bytes).sum::<usize>()
    }
}
