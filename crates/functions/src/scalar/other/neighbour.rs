//! Functions that see other rows of their block: `neighbor`, and how many spans of time are open at once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use arrow_array::types::UInt32Type;
use parking_lot::Mutex;
use squall_types::cast::{CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint, default_value, least_supertype};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, argument, integers, value_column};

type Bound = Result<Arc<dyn BoundFunction>>;

/// Refuses a function over the rows of a block, but where `allow_deprecated_error_prone_window_functions` is set.
pub(in crate::scalar) fn refuse_deprecated(call: &Call<'_>) -> Result<()> {
    let is_allowed = call.context.settings.get("allow_deprecated_error_prone_window_functions");
    if is_allowed.is_some_and(|value| value == "1" || value == "true") {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::DEPRECATED_FUNCTION,
        format!(
            "Function {} is deprecated since its usage is error-prone (see docs). Please use proper window function or set \
             `allow_deprecated_error_prone_window_functions` setting to enable it",
            call.name
        ),
    ))
}

/// `neighbor(value, offset[, default])`.
pub(super) fn resolve(call: &Call<'_>) -> Bound {
    call.arguments(2..=3)?;
    refuse_deprecated(call)?;
    call.integers([1])?;
    let own = call.type_of(0).remove_low_cardinality().clone();
    let result = match call.arguments.len() {
        3 => least_supertype(&[own, call.type_of(2).remove_low_cardinality().clone()])?,
        _ => own,
    };
    let options = CastOptions::to_common(call.session_zone()?);
    call.bind(result.clone(), move |arguments, rows| {
        let values = cast(&argument(arguments, 0)?.without_low_cardinality()?, &result, &options)?;
        let offsets = integers(arguments, 1, rows)?;
        let defaults = match arguments.get(2) {
            Some(column) => Some(cast(&column.without_low_cardinality()?, &result, &options)?),
            None => None,
        };
        value_column(&result, rows, |row| {
            let at = i64::try_from(row).ok().and_then(|at| at.checked_add(offsets[row]));
            let at = at.and_then(|at| usize::try_from(at).ok()).filter(|at| *at < rows);
            Ok(match (at, &defaults) {
                (Some(at), _) => values.value(at),
                (None, Some(defaults)) => defaults.value(row),
                (None, None) => default_value(&result),
            })
        })
    })
}

/// `runningConcurrency(start, end)`: the spans that have begun and not ended when each begins.
pub(super) fn resolve_concurrency(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    call.each([0, 1], |data_type| {
        matches!(data_type, DataType::Date | DataType::Date32 | DataType::DateTime(_) | DataType::DateTime64(..))
    })?;
    if call.type_of(0) != call.type_of(1) {
        return Err(call.illegal(1));
    }
    call.context.moment.note();
    let open: Mutex<BinaryHeap<Reverse<i64>>> = Mutex::default();
    call.bind(DataType::UInt32, move |arguments, rows| {
        let (starts, ends) = (argument(arguments, 0)?, argument(arguments, 1)?);
        let mut open = open.lock();
        let mut counts = Vec::with_capacity(rows);
        for row in 0..rows {
            checkpoint(64)?;
            let [start, end] = [starts, ends].map(|column| column.value(row).as_i64().unwrap_or(0));
            if start > end {
                let [start, end] = [starts, ends].map(|column| shown(column, row));
                return Err(Error::new(
                    ErrorCode::INCORRECT_DATA,
                    format!("Incorrect order of events: {start} > {end}"),
                ));
            }
            while open.peek().is_some_and(|Reverse(end)| *end <= start) {
                open.pop();
            }
            open.push(Reverse(end));
            counts.push(u32::try_from(open.len()).unwrap_or(u32::MAX));
        }
        Ok(Column::from_primitive::<UInt32Type>(DataType::UInt32, counts))
    })
}

fn shown(column: &Column, row: usize) -> Value {
    let text = cast(&column.slice(row, 1), &DataType::String, &CastOptions::default());
    text.map_or(Value::Null, |text| text.value(0))
}
