//! The levels of quantiles: how they are read, and how the values at them become results of functions of one level or of several.

use std::sync::Arc;

use arrow_array::ListArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type, UInt16Type, UInt32Type};
use arrow_buffer::OffsetBuffer;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use crate::aggregate::family::Call;

/// The levels asked for, and the type of the answer.
#[derive(Clone, Debug)]
pub(in crate::aggregate) struct Levels {
    pub levels: Arc<[f64]>,
    /// The type of one level's value.
    pub item: DataType,
    /// `item`, or an array of it for the functions of several levels.
    pub return_type: DataType,
}

/// No more levels than ClickHouse's parser would take in a sane query.
const LEVELS_MAX: usize = 1000;

/// The levels that parameters are; a half where there are none.
pub(in crate::aggregate) fn levels(call: &Call<'_>, parameters: &[Value], many: bool) -> Result<Arc<[f64]>> {
    let count = parameters.len();
    let wrong_number = |message: &str| Err(Error::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
    match (many, count) {
        (false, 0) => return Ok([0.5].into()),
        (false, 1) => {}
        (false, _) => {
            return wrong_number(&format!("Aggregate function {} requires one level parameter or less", call.name));
        }
        (true, 0) => {
            return wrong_number(
                "Aggregate function for calculation of multiple quantiles require at least one parameter",
            );
        }
        (true, _) if count > LEVELS_MAX => return wrong_number("Too many levels of quantiles"),
        (true, _) => {}
    }
    let level = |parameter: &Value| match parameter.as_f64() {
        Some(level) if (0.0..=1.0).contains(&level) => Ok(level),
        Some(_) => Err(Error::new(ErrorCode::PARAMETER_OUT_OF_BOUND, "Quantile level is out of range [0..1]")),
        None => {
            Err(Error::new(ErrorCode::CANNOT_CONVERT_TYPE, format!("Cannot convert {parameter} to a quantile level")))
        }
    };
    parameters.iter().map(level).collect()
}

impl Levels {
    /// For values of type `item`; `many` makes arrays of them.
    pub fn new(levels: Arc<[f64]>, item: DataType, many: bool) -> Self {
        let return_type = if many { DataType::array(item.clone()) } else { item.clone() };
        Self { levels, item, return_type }
    }

    /// Whether the results are arrays.
    pub fn is_many(&self) -> bool {
        matches!(self.return_type, DataType::Array(_))
    }

    /// The result of the values of every group, group after group, a value for each level.
    pub fn result(&self, items: Column, groups: usize) -> Result<Column> {
        if !self.is_many() {
            return Ok(items);
        }
        let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(self.levels.len(), groups));
        let array = ListArray::try_new(self.item.arrow_list_item(), offsets, items.array().clone(), None)?;
        Ok(Column::new(self.return_type.clone(), Arc::new(array)))
    }

    /// Interpolated values as the item's type: dates are cut to whole days and seconds, decimals to their digits.
    pub fn interpolated(&self, values: Vec<f64>) -> Column {
        let item = self.item.clone();
        match item {
            DataType::Date => {
                Column::from_primitive::<UInt16Type>(item, values.into_iter().map(|v| v as u16).collect())
            }
            DataType::DateTime(_) => {
                Column::from_primitive::<UInt32Type>(item, values.into_iter().map(|v| v as u32).collect())
            }
            DataType::DateTime64(..) => {
                Column::from_primitive::<Int64Type>(item, values.into_iter().map(|v| v as i64).collect())
            }
            DataType::Decimal(..=9, _) => {
                Column::from_primitive::<Int32Type>(item, values.into_iter().map(|v| v as i32).collect())
            }
            DataType::Decimal(..) => {
                Column::from_primitive::<Int64Type>(item, values.into_iter().map(|v| v as i64).collect())
            }
            DataType::Float32 => {
                Column::from_primitive::<Float32Type>(item, values.into_iter().map(|v| v as f32).collect())
            }
            _ => Column::from_primitive::<Float64Type>(item, values),
        }
    }
}
