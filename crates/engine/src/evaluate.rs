//! Expressions over blocks: columns by position, constants, functions of both.

use arrow_array::{Array, BooleanArray, UInt8Array};
use arrow_buffer::BooleanBuffer;
use squall_planner::Expression;
use squall_types::{Block, Column, DataType, Error, ErrorCode, Result};

/// The values of an expression over a block.
///
/// # Errors
/// The functions' own.
pub fn evaluate(expression: &Expression, block: &Block) -> Result<Column> {
    match expression {
        Expression::Column { position, .. } => Ok(block.column(*position).clone()),
        Expression::Constant { value, data_type } => Column::constant(data_type.clone(), value, block.rows()),
        Expression::Function { function, arguments, .. } => {
            let columns = arguments.iter().map(|argument| evaluate(argument, block)).collect::<Result<Vec<_>>>()?;
            function.execute(&columns, block.rows())
        }
    }
}

/// Which rows a condition lets through.
pub enum Selection {
    /// All of them.
    All,
    /// None of them.
    None,
    /// Those whose bit is set; neither all nor none.
    Some(BooleanArray),
}

/// Evaluates a condition: a row passes where the value is neither 0 nor NULL.
///
/// # Errors
/// `ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER`, and the functions' own.
pub fn select(predicate: &Expression, block: &Block) -> Result<Selection> {
    let column = evaluate(predicate, block)?;
    if let Some(value) = column.constant_value() {
        let passes = value.as_f64().is_some_and(|number| number != 0.0);
        return Ok(if passes { Selection::All } else { Selection::None });
    }
    let bits = truth(&column)?;
    Ok(match bits.count_set_bits() {
        0 => Selection::None,
        all if all == bits.len() => Selection::All,
        _ => Selection::Some(BooleanArray::new(bits, None)),
    })
}

/// One bit per row: set where the value is neither 0 nor NULL.
fn truth(column: &Column) -> Result<BooleanBuffer> {
    let data_type = column.data_type();
    let array = match column.array().as_any().downcast_ref::<UInt8Array>() {
        Some(array) => array.clone(),
        None => match data_type.inner() {
            DataType::Nothing => return Ok(BooleanBuffer::new_unset(column.rows())),
            inner if inner.is_number() || data_type.remove_low_cardinality() != data_type => {
                return truth_of_values(column);
            }
            _ => {
                let message =
                    format!("Illegal type {data_type} of column for filter. Must be UInt8 or Nullable(UInt8)");
                return Err(Error::new(ErrorCode::ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER, message));
            }
        },
    };
    let values = array.values();
    let bits = BooleanBuffer::collect_bool(values.len(), |row| values[row] != 0);
    Ok(match array.nulls() {
        Some(nulls) => &bits & nulls.inner(),
        None => bits,
    })
}

/// Conditions of other number types are rare: value by value.
fn truth_of_values(column: &Column) -> Result<BooleanBuffer> {
    Ok(BooleanBuffer::collect_bool(column.rows(), |row| column.value(row).as_f64().is_some_and(|number| number != 0.0)))
}
