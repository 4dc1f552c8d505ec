//! Which rows a condition lets through.

use arrow_array::{Array, ArrayRef, BooleanArray, UInt8Array};
use arrow_buffer::BooleanBuffer;
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::bits::bits_of;

/// Which rows a condition lets through.
#[derive(Debug)]
pub enum Selection {
    /// All of them.
    All,
    /// None of them.
    None,
    /// Those whose bit is set; neither all nor none.
    Some(BooleanArray),
}

impl Selection {
    /// Those of a condition's values: a row passes where the value is neither 0 nor NULL.
    ///
    /// # Errors
    /// `ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER`.
    pub fn of(condition: &Column) -> Result<Self> {
        if let Some(value) = condition.constant_value() {
            let passes = value.as_f64().is_some_and(|number| number != 0.0);
            return Ok(if passes { Self::All } else { Self::None });
        }
        let bits = truth(condition)?;
        Ok(match bits.count_set_bits() {
            0 => Self::None,
            all if all == bits.len() => Self::All,
            _ => Self::Some(BooleanArray::new(bits, None)),
        })
    }
}

/// One bit per row of a column that is not a constant: set where the value is neither 0 nor NULL.
///
/// # Errors
/// `ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER`.
pub fn truth(column: &Column) -> Result<BooleanBuffer> {
    let data_type = column.data_type();
    if let Some(sparse) = column.sparse() {
        let of = |array: &ArrayRef| truth(&Column::new(data_type.clone(), array.clone()));
        return Ok(sparse.bits(&of(sparse.values())?, of(sparse.default_row())?.value(0)));
    }
    if let (DataType::LowCardinality(inner), Some(dictionary)) = (data_type, column.dictionary()) {
        let of_values = truth(&Column::new((**inner).clone(), dictionary.values().clone()))?;
        let codes = dictionary.keys();
        let holds = |row: usize| codes.is_valid(row) && of_values.value(codes.value(row) as usize);
        return Ok(BooleanBuffer::collect_bool(codes.len(), holds));
    }
    let Some(array) = column.array().as_any().downcast_ref::<UInt8Array>() else {
        return match data_type.inner() {
            DataType::Nothing => Ok(BooleanBuffer::new_unset(column.rows())),
            inner if inner.is_number() || *inner == DataType::Bool => truth_of_values(column),
            _ => {
                let message =
                    format!("Illegal type {data_type} of column for filter. Must be UInt8 or Nullable(UInt8)");
                Err(Error::new(ErrorCode::ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER, message))
            }
        };
    };
    let bits = bits_of(array.values());
    Ok(match array.nulls() {
        Some(nulls) => &bits & nulls.inner(),
        None => bits,
    })
}

/// Conditions of other number types are rare: value by value.
fn truth_of_values(column: &Column) -> Result<BooleanBuffer> {
    Ok(BooleanBuffer::collect_bool(column.rows(), |row| column.value(row).as_f64().is_some_and(|number| number != 0.0)))
}
