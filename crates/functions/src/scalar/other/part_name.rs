//! The names of parts: which rows they hold, and which of them cover others.

use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use crate::function::BoundFunction;
use crate::partition_id;
use crate::scalar::simple::{Call, argument, value_column};

type Bound = Result<Arc<dyn BoundFunction>>;

/// A part's name taken apart: `partition_min_max_level[_mutation]`.
struct PartName<'a> {
    partition: &'a str,
    min: i64,
    max: i64,
    level: i64,
    mutation: i64,
}

impl<'a> PartName<'a> {
    fn parse(name: &'a str) -> Result<Self> {
        let wrong = || Error::new(ErrorCode::BAD_ARGUMENTS, format!("Invalid MergeTree part name: '{name}'"));
        let parts: Vec<&str> = name.split('_').collect();
        let number = |text: &str| text.parse::<i64>().map_err(|_| wrong());
        let (partition, numbers) = parts.split_first().ok_or_else(wrong)?;
        let mutation = match numbers {
            [_, _, _] => 0,
            [_, _, _, mutation] => number(mutation)?,
            _ => return Err(wrong()),
        };
        Ok(Self { partition, min: number(numbers[0])?, max: number(numbers[1])?, level: number(numbers[2])?, mutation })
    }

    /// Whether all rows of another part are in this one.
    fn covers(&self, other: &Self) -> bool {
        self.partition == other.partition
            && self.min <= other.min
            && self.max >= other.max
            && self.level >= other.level
            && self.mutation >= other.mutation
    }
}

pub(super) fn resolve_info(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let result = DataType::named_tuple([
        ("partition_id", DataType::String),
        ("prefix", DataType::String),
        ("suffix", DataType::String),
        ("min_block", DataType::Int64),
        ("max_block", DataType::Int64),
        ("level", DataType::Int64),
        ("mutation", DataType::Int64),
    ]);
    call.bind(result.clone(), move |arguments, rows| {
        let names = argument(arguments, 0)?;
        value_column(&result, rows, |row| {
            let name = names.value(row);
            let part = PartName::parse(name.as_str().unwrap_or_default())?;
            let numbers = [part.min, part.max, part.level, part.mutation].map(Value::Int64);
            let texts = [Value::from(part.partition), Value::from(""), Value::from("")];
            Ok(Value::Tuple(texts.into_iter().chain(numbers).collect()))
        })
    })
}

pub(super) fn resolve_covered(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    call.strings([0, 1])?;
    call.bind(DataType::UInt8, |arguments, rows| {
        let (nested, covering) = (argument(arguments, 0)?, argument(arguments, 1)?);
        value_column(&DataType::UInt8, rows, |row| {
            let (nested, covering) = (nested.value(row), covering.value(row));
            let nested = PartName::parse(nested.as_str().unwrap_or_default())?;
            let covering = PartName::parse(covering.as_str().unwrap_or_default())?;
            Ok(Value::UInt64(covering.covers(&nested).into()))
        })
    })
}

/// `partitionId(…)`: the id of the partition of rows with these values of the key.
pub(super) fn resolve_partition(call: &Call<'_>) -> Bound {
    if call.arguments.is_empty() {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!("Function {} requires at least one argument", call.name),
        ));
    }
    call.bind(DataType::String, |arguments, rows| {
        value_column(&DataType::String, rows, |row| {
            let values: Vec<Value> = arguments.iter().map(|column: &Column| column.value(row)).collect();
            Ok(Value::string(partition_id(arguments, &values)))
        })
    })
}
