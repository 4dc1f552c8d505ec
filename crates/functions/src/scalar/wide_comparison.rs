//! The order of numbers of which one is an integer past 64 bits or a decimal: exact, whatever their widths and scales.

use std::cmp::Ordering;

use squall_types::integer::{I256, U256, compare_scaled};
use squall_types::{Column, DataType, Integer, Result, match_integer, reserve};

use super::sides::{Narrow, Side, both, narrow};

/// Both columns as integers of 64 bits that have the order of their values; `None` where some are wider.
pub(super) fn in_64_bits<'a>(left: &'a Column, right: &'a Column) -> Result<Option<(Narrow<'a>, Narrow<'a>)>> {
    let scale = left.data_type().scale().max(right.data_type().scale());
    let of = |column: &'a Column| match i64::power_of_ten((scale - column.data_type().scale()).into()) {
        Some(factor) => narrow(column, factor),
        None => Ok(None),
    };
    let Some(left) = of(left)? else { return Ok(None) };
    Ok(of(right)?.map(|right| (left, right)))
}

/// The order of the values of each row.
pub(super) fn orders(left: &Column, right: &Column, rows: usize) -> Result<Vec<Ordering>> {
    let (left_scale, right_scale) = (left.data_type().scale(), right.data_type().scale());
    let scale = left_scale.max(right_scale);
    if let (Some(left), Some(right)) = (small(left, scale)?, small(right, scale)?) {
        return Ok(both(&left, &right, rows, |left, right| left.cmp(&right)));
    }
    let (left, right) = (large(left)?, large(right)?);
    Ok(both(&left, &right, rows, |left, right| match (left, right) {
        (Number::Known(left), Number::Known(right)) => compare_scaled((left, left_scale), (right, right_scale)),
        (Number::Past(left), Number::Past(right)) => left.cmp(&right),
        (Number::Known(_), Number::Past(_)) => Ordering::Less,
        (Number::Past(_), Number::Known(_)) => Ordering::Greater,
    }))
}

/// The values times ten to the power of what their scale lacks; `None` where 128 bits do not hold one of them.
fn small(column: &Column, scale: u8) -> Result<Option<Side<i128>>> {
    let Some(power) = i128::power_of_ten((scale - column.data_type().scale()).into()) else { return Ok(None) };
    let values = match_integer!(column.data_type(), T => {
        if T::BYTES > 16 {
            return Ok(None);
        }
        let values = T::values(&**column.array());
        reserve(values.len() * size_of::<i128>())?;
        let grown = |value: &T| match power {
            1 => value.small(),
            _ => value.small()?.checked_mul(power),
        };
        values.iter().map(grown).collect::<Option<Vec<_>>>()
    }, _ => return Ok(None));
    Ok(values.map(|values| Side::new(values, column.is_constant())))
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
