//! The type that several types have in common: of array items, of the branches of `if`, of `UNION`'s columns. The rules are
//! ClickHouse's with `use_variant_as_common_type` off: what has nothing in common is an error.

use std::sync::Arc;

use crate::data_type::{DECIMAL_DIGITS_MAX, DataType, TupleElement, decimal_digits};
use crate::error::{Error, ErrorCode, Result};

/// [`least_supertype`], or a `Variant` of types that have none, where `is_variant_allowed` (`use_variant_as_common_type`).
///
/// # Errors
/// `NO_COMMON_TYPE`.
pub fn common_type(types: &[DataType], is_variant_allowed: bool) -> Result<DataType> {
    least_supertype(types).or_else(|error| {
        if !is_variant_allowed || error.code != ErrorCode::NO_COMMON_TYPE {
            return Err(error);
        }
        variant_of(types).map_err(|_| error)
    })
}

/// The `Variant` of all alternatives.
fn variant_of(types: &[DataType]) -> Result<DataType> {
    let mut alternatives = Vec::new();
    for data_type in types {
        match data_type {
            DataType::Variant(own) => alternatives.extend(own.iter().cloned()),
            other => alternatives.push(other.remove_nullable()),
        }
    }
    DataType::variant(alternatives)
}

/// The narrowest type that holds every value of all of `types`; `Nothing` of no types.
///
/// # Errors
/// `NO_COMMON_TYPE`.
pub fn least_supertype(types: &[DataType]) -> Result<DataType> {
    let Some(first) = types.first() else { return Ok(DataType::Nothing) };
    if types.iter().all(|other| same(other, first)) {
        return Ok(first.clone());
    }
    supertype(types).ok_or_else(|| {
        let names: Vec<String> = types.iter().map(|data_type| format!("{data_type}")).collect();
        Error::new(
            ErrorCode::NO_COMMON_TYPE,
            format!("There is no supertype for types {} because {}", names.join(", "), reason(types)),
        )
    })
}

fn reason(types: &[DataType]) -> &'static str {
    let some = |of: fn(&DataType) -> bool| types.iter().any(|data_type| of(data_type.inner()));
    if some(DataType::is_string_or_fixed_string) {
        "some of them are String/FixedString/Enum and some of them are not"
    } else if some(DataType::is_date_or_time) {
        "some of them are Date/Date32/DateTime/DateTime64 and some of them are not"
    } else if some(|data_type| matches!(data_type, DataType::Array(_))) {
        "some of them are Array and some of them are not"
    } else if some(|data_type| matches!(data_type, DataType::Tuple(_))) {
        "some of them are Tuple and some of them are not"
    } else if some(DataType::is_decimal) {
        "some of them have no lossless conversion to Decimal"
    } else if some(DataType::is_any_integer) {
        "some of them are integers and some are floating point or of the other sign, but there is no type that can exactly represent all of them"
    } else {
        "they have nothing in common"
    }
}

/// `Bool` is a `UInt8` by another name here, so that the first of the two wins; and so do types of the same states.
fn same(left: &DataType, right: &DataType) -> bool {
    let is_byte = |data_type: &DataType| matches!(data_type, DataType::Bool | DataType::UInt8);
    let are_states = || match (left, right) {
        (DataType::AggregateFunction(left), DataType::AggregateFunction(right)) => left.has_states_of(right),
        _ => false,
    };
    left == right || is_byte(left) && is_byte(right) || are_states()
}

fn supertype(types: &[DataType]) -> Option<DataType> {
    let first = types.first()?;
    if types.iter().all(|other| same(other, first)) {
        return Some(first.clone());
    }
    // Any value is one of Dynamic; a Variant takes other types' values in.
    if types.iter().any(|data_type| matches!(data_type, DataType::Dynamic(_))) {
        let max_types = types.iter().filter_map(|data_type| match data_type {
            DataType::Dynamic(max_types) => Some(*max_types),
            _ => None,
        });
        return max_types.max().map(DataType::Dynamic);
    }
    if types.iter().any(|data_type| matches!(data_type, DataType::Variant(_))) {
        return variant_of(types).ok();
    }
    // What is called by several names has none.
    if types.iter().any(|data_type| data_type.simple_aggregate().is_some()) {
        let plain: Vec<DataType> = types.iter().map(DataType::without_names).collect();
        return supertype(&plain);
    }
    if types.contains(&DataType::Nothing) {
        let others: Vec<DataType> = types.iter().filter(|other| **other != DataType::Nothing).cloned().collect();
        return supertype(&others);
    }
    if types.iter().any(|data_type| matches!(data_type, DataType::LowCardinality(_))) {
        let all = types.iter().all(|data_type| matches!(data_type, DataType::LowCardinality(_)));
        let inner: Vec<DataType> = types.iter().map(|data_type| data_type.remove_low_cardinality().clone()).collect();
        let inner = supertype(&inner)?;
        return Some(if all { DataType::LowCardinality(Arc::new(inner)) } else { inner });
    }
    if types.iter().any(DataType::is_nullable) {
        let inner: Vec<DataType> = types.iter().map(DataType::remove_nullable).collect();
        let inner = supertype(&inner)?;
        return inner.can_be_inside_nullable().then(|| DataType::Nullable(Arc::new(inner)));
    }
    match first {
        DataType::Array(_) => {
            let items: Vec<DataType> = all_of(types, |data_type| match data_type {
                DataType::Array(item) => Some((**item).clone()),
                _ => None,
            })?;
            Some(DataType::array(supertype(&items)?))
        }
        DataType::Map(..) => maps(types),
        DataType::Tuple(elements) => tuples(types, elements),
        _ => strings(types)
            .or_else(|| dates(types))
            .or_else(|| times(types))
            .or_else(|| intervals(types))
            .or_else(|| addresses(types))
            .or_else(|| decimals(types))
            .or_else(|| numbers(types)),
    }
}

/// The supertype of maps.
fn maps(types: &[DataType]) -> Option<DataType> {
    let keys = all_of(types, |data_type| match data_type {
        DataType::Map(key, _) => Some((**key).clone()),
        _ => None,
    })?;
    let values = all_of(types, |data_type| match data_type {
        DataType::Map(_, value) => Some((**value).clone()),
        _ => None,
    })?;
    Some(DataType::Map(Arc::new(supertype(&keys)?), Arc::new(supertype(&values)?)))
}

/// The supertype of tuples, the first of which has these elements; names stay where all tuples have them.
fn tuples(types: &[DataType], elements: &[TupleElement]) -> Option<DataType> {
    let tuples = all_of(types, |data_type| match data_type {
        DataType::Tuple(other) if other.len() == elements.len() => Some(other.clone()),
        _ => None,
    })?;
    let same_names = tuples.iter().all(|other| other.iter().zip(elements.iter()).all(|(l, r)| l.name == r.name));
    let elements: Option<Vec<TupleElement>> = (0..elements.len())
        .map(|at| {
            let column: Vec<DataType> =
                tuples.iter().filter_map(|tuple| tuple.get(at)).map(|element| element.data_type.clone()).collect();
            let name = elements.get(at).and_then(|element| element.name.clone()).filter(|_| same_names);
            Some(TupleElement { name, data_type: supertype(&column)? })
        })
        .collect();
    Some(DataType::Tuple(elements?.into()))
}

fn all_of<T>(types: &[DataType], part: impl Fn(&DataType) -> Option<T>) -> Option<Vec<T>> {
    types.iter().map(part).collect()
}

fn is_enum(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Enum8(_) | DataType::Enum16(_))
}

fn strings(types: &[DataType]) -> Option<DataType> {
    let all = types.iter().all(|data_type| data_type.is_string_or_fixed_string() || is_enum(data_type));
    (all && types.iter().any(DataType::is_string_or_fixed_string)).then_some(DataType::String)
}

fn dates(types: &[DataType]) -> Option<DataType> {
    if !types.iter().all(DataType::is_date_or_time) {
        return None;
    }
    let digits_max = types.iter().filter_map(|data_type| match data_type {
        DataType::DateTime64(digits, _) => Some(*digits),
        _ => None,
    });
    if let Some(digits) = digits_max.max() {
        return types
            .iter()
            .find(|data_type| matches!(data_type, DataType::DateTime64(found, _) if *found == digits))
            .cloned();
    }
    let date_time = types.iter().find(|data_type| matches!(data_type, DataType::DateTime(_)));
    let has_date32 = types.contains(&DataType::Date32);
    Some(match date_time {
        // Only `DateTime64` has both the range of one and the seconds of the other.
        Some(_) if has_date32 => DataType::DateTime64(0, None),
        Some(date_time) => date_time.clone(),
        None => DataType::Date32,
    })
}

/// Of times of a clock: with the digits of the one that has most.
fn times(types: &[DataType]) -> Option<DataType> {
    let all = types.iter().all(|data_type| matches!(data_type, DataType::Time | DataType::Time64(_)));
    all.then(|| DataType::Time64(types.iter().map(DataType::time_digits).max().unwrap_or(0)))
}

fn intervals(types: &[DataType]) -> Option<DataType> {
    let interval = types.iter().find(|data_type| matches!(data_type, DataType::Interval(_)))?;
    types
        .iter()
        .all(|other| other == interval || other.is_number() || *other == DataType::Bool || is_enum(other))
        .then(|| interval.clone())
}

fn addresses(types: &[DataType]) -> Option<DataType> {
    types.contains(&DataType::IPv4).then_some(())?;
    let as_numbers =
        types.iter().map(|data_type| if *data_type == DataType::IPv4 { &DataType::UInt32 } else { data_type });
    let as_numbers: Vec<DataType> = as_numbers.cloned().collect();
    let is_unsigned = |data_type: &DataType| data_type.is_unsigned_integer() || *data_type == DataType::Bool;
    if as_numbers.iter().all(is_unsigned) { numbers(&as_numbers) } else { None }
}

/// Of decimals and integers: the width of the widest, with as many digits after the point as the one with most of them has; wider where
/// an integer needs more digits before it.
fn decimals(types: &[DataType]) -> Option<DataType> {
    if !types.iter().any(DataType::is_decimal) {
        return None;
    }
    let mut bytes = 0;
    let (mut scale, mut whole) = (0, 0u8);
    for data_type in types {
        match data_type {
            DataType::Decimal(_, digits) => {
                scale = scale.max(*digits);
                bytes = bytes.max(data_type.fixed_width_bytes()?);
            }
            DataType::Bool | DataType::UInt8 | DataType::Int8 => whole = whole.max(3),
            DataType::UInt16 | DataType::Int16 => whole = whole.max(5),
            DataType::UInt32 | DataType::Int32 => whole = whole.max(10),
            DataType::Int64 => whole = whole.max(19),
            DataType::UInt64 => whole = whole.max(20),
            _ => return None,
        }
    }
    let digits = Some(whole + scale).filter(|digits| *digits <= DECIMAL_DIGITS_MAX)?;
    let needed = [4, 8, 16, 32].into_iter().find(|bytes| digits <= decimal_digits(*bytes))?;
    Some(DataType::decimal_of_width(bytes.max(needed), scale))
}

fn numbers(types: &[DataType]) -> Option<DataType> {
    let (mut unsigned_bits, mut signed_bits, mut float_bits) = (0, 0, 0);
    for data_type in types {
        let (bits, of_kind) = match data_type {
            DataType::Bool | DataType::UInt8 => (8, &mut unsigned_bits),
            DataType::UInt16 => (16, &mut unsigned_bits),
            DataType::UInt32 => (32, &mut unsigned_bits),
            DataType::UInt64 => (64, &mut unsigned_bits),
            DataType::UInt128 => (128, &mut unsigned_bits),
            DataType::UInt256 => (256, &mut unsigned_bits),
            DataType::Int128 => (128, &mut signed_bits),
            DataType::Int256 => (256, &mut signed_bits),
            DataType::Int8 | DataType::Enum8(_) => (8, &mut signed_bits),
            DataType::Int16 | DataType::Enum16(_) => (16, &mut signed_bits),
            DataType::Int32 => (32, &mut signed_bits),
            DataType::Int64 => (64, &mut signed_bits),
            DataType::BFloat16 => (16, &mut float_bits),
            DataType::Float32 => (32, &mut float_bits),
            DataType::Float64 => (64, &mut float_bits),
            _ => return None,
        };
        *of_kind = bits.max(*of_kind);
    }
    // A signed type needs a bit more than the unsigned one beside it.
    let integer_bits =
        if signed_bits == 0 { unsigned_bits } else { signed_bits.max(unsigned_bits + i32::from(unsigned_bits > 0)) };
    if float_bits > 0 {
        return match (float_bits, integer_bits) {
            (16, ..=8) => Some(DataType::BFloat16),
            (16 | 32, ..=24) => Some(DataType::Float32),
            (_, ..=53) => Some(DataType::Float64),
            _ => None,
        };
    }
    let has_wide = unsigned_bits > 64 || signed_bits > 64;
    Some(match (signed_bits > 0, integer_bits) {
        (false, ..=8) => DataType::UInt8,
        (false, ..=16) => DataType::UInt16,
        (false, ..=32) => DataType::UInt32,
        (false, ..=64) => DataType::UInt64,
        (false, ..=128) => DataType::UInt128,
        (false, _) => DataType::UInt256,
        (true, ..=8) => DataType::Int8,
        (true, ..=16) => DataType::Int16,
        (true, ..=32) => DataType::Int32,
        (true, ..=64) => DataType::Int64,
        // What 64 bits do not hold has a common type only beside something wider.
        (true, ..=128) if has_wide => DataType::Int128,
        (true, ..=256) if has_wide => DataType::Int256,
        (true, _) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn supertypes_are_clickhouses() {
        for (types, expected) in [
            (&["UInt8", "Int8"][..], "Int16"),
            (&["UInt32", "Int8"], "Int64"),
            (&["UInt64", "Int8"], ""),
            (&["UInt8", "Float32"], "Float32"),
            (&["UInt32", "Float32"], "Float64"),
            (&["BFloat16", "UInt8"], "BFloat16"),
            (&["BFloat16", "UInt16"], "Float32"),
            (&["BFloat16", "Float64"], "Float64"),
            (&["SimpleAggregateFunction(sum, UInt64)", "UInt8"], "UInt64"),
            (&["Int64", "Float64"], ""),
            (&["UInt8", "Bool"], "UInt8"),
            (&["Bool", "UInt8"], "Bool"),
            (&["Int8", "Bool"], "Int16"),
            (&["UInt8", "String"], ""),
            (&["String", "FixedString(3)"], "String"),
            (&["FixedString(3)", "FixedString(3)"], "FixedString(3)"),
            (&["Enum8('a' = 1)", "String"], "String"),
            (&["Enum8('a' = 1)", "Enum16('b' = 1)"], "Int16"),
            (&["Enum8('a' = 1)", "UInt8"], "Int16"),
            (&["Date", "DateTime('UTC')"], "DateTime('UTC')"),
            (&["Date32", "DateTime('UTC')"], "DateTime64(0)"),
            (&["DateTime64(3)", "DateTime64(6, 'UTC')"], "DateTime64(6, 'UTC')"),
            (&["UInt8", "Nullable(Nothing)"], "Nullable(UInt8)"),
            (&["Int8", "Nullable(UInt8)"], "Nullable(Int16)"),
            (&["LowCardinality(String)", "LowCardinality(Nullable(String))"], "LowCardinality(Nullable(String))"),
            (&["LowCardinality(String)", "Nullable(String)"], "Nullable(String)"),
            (&["Array(UInt8)", "Array(Int8)", "Array(Nothing)"], "Array(Int16)"),
            (&["Array(UInt8)", "Array(String)"], ""),
            (&["Tuple(a UInt8, b String)", "Tuple(UInt8, String)"], "Tuple(UInt8, String)"),
            (&["Map(String, UInt8)", "Map(String, UInt16)"], "Map(String, UInt16)"),
            (&["IntervalDay", "UInt8"], "IntervalDay"),
            (&["IntervalDay", "IntervalMonth"], ""),
            (&["IPv4", "UInt8"], "UInt32"),
            (&["Int128", "UInt64"], "Int128"),
            (&["Int128", "UInt128"], "Int256"),
            (&["Int256", "UInt256"], ""),
            (&["Int128", "Float64"], ""),
            (&["Decimal(9, 2)", "Decimal(18, 5)"], "Decimal(18, 5)"),
            (&["Decimal(9, 2)", "UInt8"], "Decimal(9, 2)"),
            (&["Decimal(9, 2)", "Int64"], "Decimal(38, 2)"),
            (&["Decimal(9, 9)", "UInt8"], "Decimal(18, 9)"),
            (&["Decimal(76, 9)", "UInt8"], "Decimal(76, 9)"),
            (&["Decimal(9, 2)", "Float64"], ""),
            (&["Decimal(9, 2)", "Int128"], ""),
            (&["Nothing"], "Nothing"),
            (&[], "Nothing"),
        ] {
            let parsed: Vec<DataType> = types.iter().map(|name| DataType::parse(name).unwrap()).collect();
            match least_supertype(&parsed) {
                Ok(found) => assert_eq!(found.to_string(), expected, "{types:?}"),
                Err(error) => {
                    assert!(expected.is_empty() && error.code == ErrorCode::NO_COMMON_TYPE, "{types:?}: {error}")
                }
            }
        }
    }
}
