//! Tables whose rows are computed: `system.one`, `system.numbers`, `system.zeros` and their kin, and the table functions
//! `numbers`, `zeros`, `generateSeries`, `generateRandom`. Table functions over data are not here.

mod pcg64;
mod random;
mod random_values;
mod sequence;
mod zeros;

use std::sync::Arc;

use squall_functions::FunctionContext;
use squall_planner::ColumnDescription;
use squall_types::{DataType, Error, ErrorCode, Result, Value};

use crate::null::null_table;
use crate::table::Table;
use random::Random;
use sequence::Sequence;
use zeros::Zeros;

/// The computed tables of the database `system`.
pub(crate) fn system_tables() -> Vec<Arc<dyn Table>> {
    vec![
        Arc::new(Zeros::new("system", "one", "SystemOne", "dummy", Some(1))),
        Arc::new(Zeros::new("system", "zeros", "SystemZeros", "zero", None)),
        Arc::new(Zeros::new("system", "zeros_mt", "SystemZeros", "zero", None)),
        Arc::new(Sequence::unbounded("system", "numbers")),
        Arc::new(Sequence::unbounded("system", "numbers_mt")),
    ]
}

/// The table that a table function makes; `columns_of` tells the columns of a structure.
///
/// # Errors
/// `UNKNOWN_FUNCTION`; `NUMBER_OF_ARGUMENTS_DOESNT_MATCH`, `ILLEGAL_TYPE_OF_ARGUMENT`, `BAD_ARGUMENTS`; those of `columns_of`.
pub fn table_function(
    name: &str,
    arguments: &[Value],
    columns_of: &dyn Fn(&str) -> Result<Vec<ColumnDescription>>,
    functions: &FunctionContext,
) -> Result<Arc<dyn Table>> {
    let declared = |structure: &Value| {
        let structure = structure.as_str().ok_or_else(|| {
            let message =
                format!("The structure of table function {name} must be a string of names and types of columns");
            Error::new(ErrorCode::BAD_ARGUMENTS, message)
        })?;
        columns_of(structure)
    };
    match name {
        "numbers" | "numbers_mt" => {
            let (first, length, step) = match numbers(name, arguments)?.as_slice() {
                [] => return Ok(Arc::new(Sequence::unbounded("_table_function", name))),
                [length] => (0, *length, 1),
                [first, length] => (*first, *length, 1),
                [first, length, step, ..] => (*first, *length, *step),
            };
            if step == 0 {
                return Err(bad_step(format!("Table function {name} requires step to be a positive number")));
            }
            Ok(Arc::new(Sequence::new(name, "number", first, step, length.div_ceil(step))))
        }
        "generate_series" | "generateSeries" => {
            let (first, last, step) = match numbers(name, arguments)?.as_slice() {
                [first, last] => (*first, *last, 1),
                [first, last, step] => (*first, *last, *step),
                _ => return Err(wrong_count(format!("Table function '{name}' requires two or three params"))),
            };
            if step == 0 {
                return Err(bad_step(format!("Table function '{name}' requires step to be a non-zero number")));
            }
            let rows = last.checked_sub(first).map_or(0, |span| (span / step).saturating_add(1));
            Ok(Arc::new(Sequence::new(name, "generate_series", first, step, rows)))
        }
        "null" => match arguments {
            [Value::String(structure)] if structure.eq_ignore_ascii_case(b"auto") => null_table(no_columns()),
            [] => null_table(no_columns()),
            [structure] => null_table(declared(structure)?),
            _ => Err(wrong_count("Table function 'null' requires 'structure' argument or empty argument".to_owned())),
        },
        "generateRandom" => Ok(Arc::new(Random::new(arguments, &declared, functions)?)),
        "zeros" | "zeros_mt" => match numbers(name, arguments)?.as_slice() {
            [] => Ok(Arc::new(Zeros::new("_table_function", name, "SystemZeros", "zero", None))),
            [rows] => Ok(Arc::new(Zeros::new("_table_function", name, "SystemZeros", "zero", Some(*rows)))),
            _ => Err(wrong_count(format!("Table function '{name}' requires 'limit'"))),
        },
        _ => Err(Error::new(ErrorCode::UNKNOWN_FUNCTION, format!("Unknown table function {name}"))),
    }
}

/// What stands for the columns of a table that nothing is said of.
fn no_columns() -> Vec<ColumnDescription> {
    vec![ColumnDescription::new("dummy", DataType::UInt8)]
}

fn numbers(name: &str, arguments: &[Value]) -> Result<Vec<u64>> {
    if arguments.len() > 3 {
        return Err(wrong_count(format!("Table function '{name}' cannot have more than three params")));
    }
    arguments.iter().map(number).collect()
}

fn number(value: &Value) -> Result<u64> {
    let illegal = |message: String| Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message);
    match value {
        Value::Bool(_) | Value::UInt64(_) | Value::Int64(_) => {
            value.as_u64().ok_or_else(|| illegal(format!("The value {value} is not representable as UInt64")))
        }
        Value::Float64(number) if number.fract() == 0.0 && (0.0..18_446_744_073_709_551_616.0).contains(number) => {
            Ok(*number as u64)
        }
        Value::Float64(_) => Err(illegal(format!("The value {value} is not representable as UInt64"))),
        other => Err(illegal(format!("Illegal type {} expression, must be numeric type", other.literal_type()))),
    }
}

fn wrong_count(message: String) -> Error {
    Error::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message)
}

fn bad_step(message: String) -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, message)
}
