//! The order of numbers of which one is an integer past 64 bits or a decimal. Integers and decimals compare exactly, whatever their
//! widths and scales; beside a float both count as floats.

use std::cmp::Ordering;

use squall_types::integer::{I256, U256, compare_scaled};
use squall_types::{CastOptions, Column, DataType, Integer, Result, cast, match_integer};

use super::sides::{Side, both};

/// The order of the values of each row; `None` beside NaN.
pub(super) fn orders(
    left: &Column,
    right: &Column,
    rows: usize,
    options: &CastOptions,
) -> Result<Vec<Option<Ordering>>> {
    let (left_type, right_type) = (left.data_type(), right.data_type());
    if left_type.is_float() || right_type.is_float() {
        let (left, right) = (floats(left, options)?, floats(right, options)?);
        return Ok(both(&left, &right, rows, |left: f64, right: f64| left.partial_cmp(&right)));
    }
    let scale = left_type.scale().max(right_type.scale());
    if let (Some(left), Some(right)) = (small(left, scale)?, small(right, scale)?) {
        return Ok(both(&left, &right, rows, |left, right| Some(left.cmp(&right))));
    }
    let (left_scale, right_scale) = (left_type.scale(), right_type.scale());
    let (left, right) = (large(left)?, large(right)?);
    Ok(both(&left, &right, rows, |left, right| {
        Some(match (left, right) {
            (Number::Known(left), Number::Known(right)) => compare_scaled((left, left_scale), (right, right_scale)),
            (Number::Past(left), Number::Past(right)) => left.cmp(&right),
            (Number::Known(_), Number::Past(_)) => Ordering::Less,
            (Number::Past(_), Number::Known(_)) => Ordering::Greater,
        })
    }))
}

fn floats(column: &Column, options: &CastOptions) -> Result<Side<f64>> {
    let cast = cast(column, &DataType::Float64, options)?;
    let values = cast.as_primitive::<arrow_array::types::Float64Type>()?.values().to_vec();
    Ok(Side::new(values, column.is_constant()))
}

/// Values of at most 64 bits, times ten to the power of what their scale lacks; `None` for wider ones.
fn small(column: &Column, scale: u8) -> Result<Option<Side<i128>>> {
    let missing = scale - column.data_type().scale();
    if column.data_type().fixed_width_bytes() > Some(8) || missing > 18 {
        return Ok(None);
    }
    let power = i128::power_of_ten(missing.into()).unwrap_or(1);
    let values = match_integer!(column.data_type(), T => {
        T::values(&**column.array()).iter().map(|value| value.small().unwrap_or_default() * power).collect()
    }, _ => return Ok(None));
    Ok(Some(Side::new(values, column.is_constant())))
}

/// An integer that a signed one of 256 bits holds, or one past it.
#[derive(Clone, Copy)]
enum Number {
    Known(I256),
    Past(U256),
}

fn large(column: &Column) -> Result<Side<Number>> {
    let array = &**column.array();
    let values = if *column.data_type() == DataType::UInt256 {
        let known = |value: &U256| I256::try_from(*value).map_or(Number::Past(*value), Number::Known);
        U256::values(array).iter().map(known).collect()
    } else {
        match_integer!(column.data_type(), T => {
            T::values(array).iter().map(|value| Number::Known(value.large())).collect()
        }, _ => Vec::new())
    };
    Ok(Side::new(values, column.is_constant()))
}
