//! Functions that look into the server itself: what code is at an address. Allowed by `allow_introspection_functions`.

use std::sync::Arc;

use squall_runtime::symbols::{demangle, symbol};
use squall_types::{DataType, Result, Value};

use crate::function::BoundFunction;
use crate::registry::check_introspection_allowed;
use crate::scalar::simple::{Call, Strings, integers, string_column, value_column};

pub(super) fn resolve_address(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    check_introspection_allowed(call.context)?;
    call.arguments(1..=1)?;
    call.each([0], |data_type| *data_type == DataType::UInt64)?;
    let wants_line = call.name == "addressToLine";
    call.bind(DataType::String, move |arguments, rows| {
        let addresses = integers(arguments, 0, rows)?;
        string_column(rows, rows * 64, |out, row| {
            let symbol = symbol(addresses[row] as u64);
            out.extend_from_slice(if wants_line { symbol.line.as_bytes() } else { symbol.name.as_bytes() });
            Ok(())
        })
    })
}

/// `addressToLineWithInlines`: an array whose first item is the line; symbols here do not tell what the compiler has put inline.
pub(super) fn resolve_lines(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    check_introspection_allowed(call.context)?;
    call.arguments(1..=1)?;
    call.each([0], |data_type| *data_type == DataType::UInt64)?;
    let result = DataType::array(DataType::String);
    call.bind(result.clone(), move |arguments, rows| {
        let addresses = integers(arguments, 0, rows)?;
        value_column(&result, rows, |row| {
            let symbol = symbol(addresses[row] as u64);
            let line = Some(symbol.line.as_bytes()).filter(|line| !line.is_empty());
            Ok(Value::Array(line.map(Value::string).into_iter().collect()))
        })
    })
}

pub(super) fn resolve_demangle(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    check_introspection_allowed(call.context)?;
    call.arguments(1..=1)?;
    call.strings([0])?;
    call.bind(DataType::String, |arguments, rows| {
        let names = Strings::of(arguments, 0)?;
        string_column(rows, rows * 64, |out, row| {
            out.extend_from_slice(demangle(names.get(row)).as_bytes());
            Ok(())
        })
    })
}
