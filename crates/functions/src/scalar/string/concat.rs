//! `concat` and `concatWithSeparator`: the texts of values of any types, one after the other. Arrays and tuples are joined by
//! functions of their own.

use std::sync::Arc;

use squall_types::text::{TextOptions, TextStyle, ValueWriter};
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::function::BoundFunction;
use crate::registry::resolve_scalar;
use crate::scalar::simple::{Call, string_column};

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    if call.name == "concatAssumeInjective" && call.arguments.len() == 1 {
        return Err(Error::new(
            ErrorCode::TOO_FEW_ARGUMENTS_FOR_FUNCTION,
            format!("Number of arguments for function {} should not be 1", call.name),
        ));
    }
    if call.arguments.len() == 1 {
        return resolve_scalar("toString", call.arguments, call.context);
    }
    let all = |is: fn(&DataType) -> bool| {
        call.name == "concat"
            && !call.arguments.is_empty()
            && call.arguments.iter().all(|argument| is(&argument.data_type))
    };
    if all(|data_type| matches!(data_type, DataType::Array(_))) {
        return resolve_scalar("arrayConcat", call.arguments, call.context);
    }
    if all(|data_type| matches!(data_type, DataType::Tuple(_))) {
        return resolve_scalar("tupleConcat", call.arguments, call.context);
    }
    if all(|data_type| matches!(data_type, DataType::Map(..))) {
        return resolve_scalar("mapConcat", call.arguments, call.context);
    }
    let options = call.text_options()?;
    call.bind(DataType::String, move |arguments, rows| join(arguments, rows, &options, false))
}

pub(super) fn resolve_with_separator(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=usize::MAX)?;
    call.strings([0])?;
    let options = call.text_options()?;
    call.bind(DataType::String, move |arguments, rows| join(arguments, rows, &options, true))
}

/// Joins the texts of all arguments; where there is a separator, it is the first.
fn join(arguments: &[Column], rows: usize, options: &TextOptions, has_separator: bool) -> Result<Column> {
    let mut writers = arguments
        .iter()
        .map(|column| ValueWriter::new(column, TextStyle::Plain, options))
        .collect::<Result<Vec<_>>>()?;
    let bytes = arguments.iter().map(Column::value_bytes).sum();
    let (separator, values) = writers.split_at_mut(usize::from(has_separator));
    string_column(rows, bytes, |out, row| {
        for (at, value) in values.iter_mut().enumerate() {
            if at > 0 {
                separator.iter_mut().for_each(|separator| separator.write(out, row));
            }
            value.write(out, row);
        }
        Ok(())
    })
}
