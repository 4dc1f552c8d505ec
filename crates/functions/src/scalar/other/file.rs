//! `file`: the bytes of files as strings.

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, value_column};

type Bound = Result<Arc<dyn BoundFunction>>;

/// `file(path[, default])`: the bytes of a file, or the default where it cannot be read.
pub(super) fn resolve(call: &Call<'_>) -> Bound {
    call.arguments(1..=2)?;
    call.strings([0])?;
    let or_null = call.arguments.get(1).is_some_and(|otherwise| *otherwise.data_type.inner() == DataType::Nothing);
    if !or_null {
        call.each([1], DataType::is_string_or_fixed_string)?;
    }
    let has_default = call.arguments.len() > 1;
    call.context.moment.note();
    let surroundings = call.context.surroundings.clone().ok_or_else(|| {
        Error::new(ErrorCode::FUNCTION_NOT_ALLOWED, format!("Function {} reads files of a server", call.name))
    })?;
    surroundings.check_may_read_files()?;
    let result = if or_null { DataType::String.to_nullable() } else { DataType::String };
    call.bind(result.clone(), move |arguments, rows| {
        let paths = Strings::of(arguments, 0)?;
        let defaults = if has_default && !or_null { Some(Strings::of(arguments, 1)?) } else { None };
        value_column(&result, rows, |row| match surroundings.read_file(&String::from_utf8_lossy(paths.get(row))) {
            Ok(bytes) => Ok(Value::string(bytes)),
            Err(error) if !has_default || error.code == ErrorCode::MEMORY_LIMIT_EXCEEDED => Err(error),
            Err(_) => Ok(defaults.map_or(Value::Null, |defaults| Value::string(defaults.get(row)))),
        })
    })
}
