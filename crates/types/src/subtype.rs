//! The type of what several types have in common: of the items that `arrayIntersect` finds in arrays of all of them.

use std::sync::Arc;

use crate::data_type::{DataType, TupleElement};
use crate::error::{Error, ErrorCode, Result};

/// The widest type each value of which is one of all of `types`.
///
/// # Errors
/// `NO_COMMON_TYPE`.
pub fn largest_subtype(types: &[DataType]) -> Result<DataType> {
    let Some(first) = types.first() else { return Ok(DataType::Nothing) };
    if is_same(types, first) {
        return Ok(first.clone());
    }
    if types.contains(&DataType::Nothing) {
        return Err(none(types, " because some of them are Nothing"));
    }
    if let Some(items) = parts_of(types, "Array", |data_type| match data_type {
        DataType::Array(item) => Some((**item).clone()),
        _ => None,
    })? {
        // No items are a type too: empty arrays are in both.
        let is_empty = items.contains(&DataType::Nothing);
        return Ok(DataType::array(if is_empty { DataType::Nothing } else { largest_subtype(&items)? }));
    }
    if let Some(tuples) = parts_of(types, "Tuple", |data_type| match data_type {
        DataType::Tuple(elements) => Some(elements.clone()),
        _ => None,
    })? {
        return of_tuples(types, &tuples);
    }
    if types.iter().any(DataType::is_nullable) {
        let inner: Vec<DataType> = types.iter().map(DataType::remove_nullable).collect();
        if !types.iter().all(DataType::is_nullable) {
            return largest_subtype(&inner);
        }
        let is_null = inner.contains(&DataType::Nothing);
        return Ok(if is_null { DataType::Nothing } else { largest_subtype(&inner)? }.to_nullable());
    }
    of_plain(types)
}

/// `Bool` is a `UInt8` by another name here, and a time is the same in any zone.
fn is_same(types: &[DataType], first: &DataType) -> bool {
    let is_alike = |other: &DataType| match (other, first) {
        (DataType::Bool | DataType::UInt8, DataType::Bool | DataType::UInt8) => true,
        (DataType::DateTime(_), DataType::DateTime(_)) => true,
        (DataType::DateTime64(left, _), DataType::DateTime64(right, _)) => left == right,
        (other, first) => other == first,
    };
    types.iter().all(is_alike)
}

fn none(types: &[DataType], reason: &str) -> Error {
    let names: Vec<String> = types.iter().map(DataType::to_string).collect();
    Error::new(ErrorCode::NO_COMMON_TYPE, format!("There is no subtype for types {}{reason}", names.join(", ")))
}

/// A part of each type where all types of a family have it; `None` where no type is of the family.
fn parts_of<T>(types: &[DataType], family: &str, part: impl Fn(&DataType) -> Option<T>) -> Result<Option<Vec<T>>> {
    let parts: Vec<T> = types.iter().filter_map(part).collect();
    match parts.len() {
        0 => Ok(None),
        count if count == types.len() => Ok(Some(parts)),
        _ => Err(none(types, &format!(" because some of them are {family} and some of them are not"))),
    }
}

fn of_tuples(types: &[DataType], tuples: &[Arc<[TupleElement]>]) -> Result<DataType> {
    let width = tuples.first().map_or(0, |tuple| tuple.len());
    if tuples.iter().any(|tuple| tuple.len() != width) {
        return Err(none(types, " because Tuples have different sizes"));
    }
    let element = |at: usize| {
        let column = tuples.iter().filter_map(|tuple| tuple.get(at)).map(|element| element.data_type.clone());
        largest_subtype(&column.collect::<Vec<_>>())
    };
    Ok(DataType::tuple((0..width).map(element).collect::<Result<Vec<_>>>()?))
}

fn of_plain(types: &[DataType]) -> Result<DataType> {
    if let Some(lengths) = parts_of(types, "String/FixedString", |data_type| match data_type {
        DataType::FixedString(length) => Some(Some(*length)),
        DataType::String => Some(None),
        _ => None,
    })? {
        let mut fixed = lengths.into_iter().flatten();
        let Some(length) = fixed.next() else { return Ok(DataType::String) };
        return match fixed.all(|other| other == length) {
            true => Ok(DataType::FixedString(length)),
            false => Err(none(types, " because some of them are FixedStrings with different length")),
        };
    }
    if parts_of(types, "Date/DateTime", |data_type| match data_type {
        DataType::Date | DataType::DateTime(_) | DataType::DateTime64(..) => Some(()),
        _ => None,
    })?
    .is_some()
    {
        return Ok(DataType::Date);
    }
    if let Some(digits) = parts_of(types, "Decimal", |data_type| match data_type {
        DataType::Decimal(precision, scale) => Some((*precision, *scale)),
        _ => None,
    })? {
        let precision = digits.iter().map(|(precision, _)| *precision).min().unwrap_or(1);
        let scale = digits.iter().map(|(_, scale)| *scale).min().unwrap_or(0);
        return Ok(DataType::Decimal(precision, scale.min(precision)));
    }
    let numbers = parts_of(types, "numbers", |data_type| match data_type {
        DataType::Bool => Some(DataType::UInt8),
        DataType::BFloat16 => Some(DataType::BFloat16),
        number if number.is_number() || number.is_wide_integer() => Some(number.clone()),
        _ => None,
    })?;
    // The narrowest integer, of two equally wide ones the unsigned; without integers the narrowest float.
    let rank = |number: &DataType| {
        let width = if *number == DataType::BFloat16 { Some(2) } else { number.fixed_width_bytes() };
        (!number.is_any_integer(), width, number.is_any_signed_integer())
    };
    let narrowest = numbers.and_then(|numbers| numbers.into_iter().min_by_key(rank));
    narrowest.ok_or_else(|| none(types, ""))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn subtype(types: &[&str]) -> Option<String> {
        let types: Vec<DataType> = types.iter().map(|name| DataType::parse(name).unwrap()).collect();
        largest_subtype(&types).ok().map(|found| found.to_string())
    }

    #[test]
    fn the_narrowest_of_numbers() {
        for (types, wanted) in [
            (vec!["UInt16", "UInt8"], Some("UInt8")),
            (vec!["UInt16", "Int8"], Some("Int8")),
            (vec!["UInt64", "Int64"], Some("UInt64")),
            (vec!["UInt64", "Float32"], Some("UInt64")),
            (vec!["Float64", "BFloat16"], Some("BFloat16")),
            (vec!["Decimal(18, 2)", "Decimal(9, 3)"], Some("Decimal(9, 2)")),
            (vec!["Decimal(18, 2)", "UInt8"], None),
            (vec!["IPv4", "UInt32"], None),
        ] {
            assert_eq!(subtype(&types).as_deref(), wanted, "{types:?}");
        }
    }

    #[test]
    fn null_and_parts() {
        for (types, wanted) in [
            (vec!["Nullable(UInt8)", "UInt16"], Some("UInt8")),
            (vec!["Nullable(UInt8)", "Nullable(UInt16)"], Some("Nullable(UInt8)")),
            (vec!["Array(Nullable(UInt8))", "Array(UInt8)"], Some("Array(UInt8)")),
            (vec!["Array(Nothing)", "Array(UInt8)"], Some("Array(Nothing)")),
            (vec!["Tuple(a UInt8, b String)", "Tuple(UInt16, FixedString(2))"], Some("Tuple(UInt8, FixedString(2))")),
            (vec!["Tuple(UInt8)", "Tuple(UInt8, UInt8)"], None),
            (vec!["String", "UInt8"], None),
        ] {
            assert_eq!(subtype(&types).as_deref(), wanted, "{types:?}");
        }
    }
}
