//! Functions that do not know `Variant` and `Dynamic` themselves: each runs over the values of every type apart. The result is nullable,
//! and of several types itself where those of the values' types have not one.

use std::sync::Arc;

use arrow_array::UInt32Array;
use squall_types::cast::{CastOptions, cast};
use squall_types::{Alternatives, Column, DataType, Error, ErrorCode, IntervalKind, Result};

use crate::function::{Argument, BoundFunction, FunctionContext};
use crate::properties::Properties;
use crate::registry::resolve_scalar;

/// Types that a function is tried with to find out what it gives for a `Dynamic`.
fn samples() -> Vec<DataType> {
    let plain = [
        DataType::String,
        DataType::Int64,
        DataType::UInt64,
        DataType::Float64,
        DataType::Bool,
        DataType::Date,
        DataType::DateTime(None),
        DataType::Interval(IntervalKind::Day),
    ];
    let arrays = [DataType::array(DataType::Int64), DataType::array(DataType::String.to_nullable())];
    plain.into_iter().chain(arrays).collect()
}

/// The function `name` for arguments of which that at `at` is of several types.
///
/// # Errors
/// `ILLEGAL_TYPE_OF_ARGUMENT` where it takes none of them.
pub(crate) fn bind(
    name: &'static str,
    arguments: &[Argument],
    at: usize,
    context: &FunctionContext,
) -> Result<Arc<dyn BoundFunction>> {
    let mixed = arguments.get(at).map_or(DataType::Nothing, |argument| argument.data_type.clone());
    let with = |data_type: &DataType| {
        let mut arguments = arguments.to_vec();
        if let Some(argument) = arguments.get_mut(at) {
            *argument = Argument::of(data_type.clone());
        }
        arguments
    };
    let tried: Vec<DataType> = match &mixed {
        DataType::Variant(alternatives) => alternatives.to_vec(),
        _ => samples(),
    };
    let mut results: Vec<DataType> = Vec::new();
    let mut is_deterministic = true;
    for data_type in &tried {
        if let Ok(function) = resolve_scalar(name, &with(data_type), context) {
            is_deterministic &= function.properties().is_deterministic;
            let result = function.return_type().remove_low_cardinality().remove_nullable();
            if !results.contains(&result) {
                results.push(result);
            }
        }
    }
    // A truth is one, whether it was made of a `Bool` or of numbers.
    if results.len() > 1 && results.iter().all(|result| matches!(result, DataType::UInt8 | DataType::Bool)) {
        results = vec![DataType::UInt8];
    }
    let return_type = match (&results[..], &mixed) {
        ([], _) => {
            let names: Vec<String> = tried.iter().map(ToString::to_string).collect();
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!(
                    "None of the Variant alternatives ({}) are compatible with function '{name}'",
                    names.join(", ")
                ),
            ));
        }
        ([one], _) => one.to_nullable(),
        (many, DataType::Variant(_)) => DataType::variant(many.to_vec())?,
        _ => DataType::dynamic(),
    };
    let (arguments, context) = (arguments.to_vec(), context.clone());
    Ok(Arc::new(ByAlternative { name, arguments, at, context, return_type, is_deterministic }))
}

struct ByAlternative {
    name: &'static str,
    arguments: Vec<Argument>,
    at: usize,
    context: FunctionContext,
    return_type: DataType,
    is_deterministic: bool,
}

impl std::fmt::Debug for ByAlternative {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} by alternative -> {}", self.name, self.return_type)
    }
}

impl ByAlternative {
    /// The function for values of one type.
    fn resolve(&self, data_type: &DataType) -> Result<Arc<dyn BoundFunction>> {
        let mut described = self.arguments.clone();
        described.get_mut(self.at).into_iter().for_each(|argument| *argument = Argument::of(data_type.clone()));
        resolve_scalar(self.name, &described, &self.context)
    }
}

impl BoundFunction for ByAlternative {
    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn properties(&self) -> Properties {
        Properties { is_deterministic: self.is_deterministic, ..Properties::UNKNOWN }
    }

    fn execute(&self, arguments: &[Column], rows: usize) -> Result<Column> {
        let mixed = arguments.get(self.at).ok_or_else(|| Error::logical("a function without its argument"))?;
        let found = Alternatives::of(&mixed.materialize()?)?;
        let options = CastOptions::to_common(squall_types::calendar::TimeZone::named(&self.context.time_zone)?);
        if let Some(only) = found.only() {
            let mut own = arguments.to_vec();
            own.get_mut(self.at).into_iter().for_each(|argument| *argument = only.clone());
            let result = self.resolve(only.data_type())?.execute(&own, rows)?;
            return cast(&result, &self.return_type, &options);
        }
        let mut results = found.clone();
        for (number, column) in results.columns.iter_mut().enumerate() {
            let of_type = |(row, place): (usize, &Option<(u32, u32)>)| {
                place.filter(|(at, _)| *at as usize == number).map(|_| row as u32)
            };
            let positions: UInt32Array = found.rows.iter().enumerate().filter_map(of_type).collect::<Vec<u32>>().into();
            let count = positions.values().len();
            let mut own = Vec::with_capacity(arguments.len());
            for (at, argument) in arguments.iter().enumerate() {
                own.push(match at == self.at {
                    true => column.clone(),
                    false => argument.take(&positions)?,
                });
            }
            if count == 0 {
                *column = Column::empty(self.return_type.clone());
                continue;
            }
            let result = self.resolve(column.data_type())?.execute(&own, count)?;
            *column = cast(&result, &self.return_type, &options)?.materialize()?;
        }
        debug_assert_eq!(found.rows.len(), rows);
        results.unite(&self.return_type, |_, column| Ok(column.clone()))
    }
}
