//! Functions of single bits of integers.

use std::sync::Arc;

use arrow_array::ArrowPrimitiveType;
use arrow_array::types::{Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use super::arithmetic::{Shape, wide};
use super::kernel::{argument_as, as_type, binary, unary};
use super::simple::{Call, Function, Strings, floats, integers, primitive_column};
use super::{address_bits, bit_strings, wide_bits};
use crate::function::{BoundFunction, ScalarFunction};

type Bound = Result<Arc<dyn BoundFunction>>;

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("bitAnd", |call| combine(call, Operation::And)).never_throws(),
    &Function::new("bitOr", |call| combine(call, Operation::Or)).never_throws(),
    &Function::new("bitXor", |call| combine(call, Operation::Xor)).never_throws(),
    &Function::new("bitNot", bit_not).never_throws(),
    &Function::new("bitShiftLeft", |call| shift(call, Operation::ShiftLeft)),
    &Function::new("bitShiftRight", |call| shift(call, Operation::ShiftRight)),
    &Function::new("bitTest", bit_test),
    &Function::new("bitTestAll", |call| bit_tests(call, true)),
    &Function::new("bitTestAny", |call| bit_tests(call, false)),
    &Function::new("bitCount", bit_count).never_throws(),
    &Function::new("byteSwap", byte_swap).never_throws(),
];

#[derive(Clone, Copy)]
enum Operation {
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

fn illegal(call: &Call<'_>) -> Error {
    let types: Vec<String> = call.arguments.iter().map(|argument| argument.data_type.to_string()).collect();
    Error::new(
        ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
        format!("Illegal types {} of arguments of function {}", types.join(" and "), call.name),
    )
}

fn integer_shapes(call: &Call<'_>) -> Result<(Shape, Shape)> {
    call.arguments(2..=2)?;
    match (Shape::of(call.type_of(0)), Shape::of(call.type_of(1))) {
        (Some(left), Some(right)) if !left.is_float && !right.is_float => Ok((left, right)),
        _ => Err(illegal(call)),
    }
}

/// The unsigned type of so many bytes.
fn unsigned(bytes: usize) -> DataType {
    Shape { is_signed: false, is_float: false, bytes }.data_type()
}

/// A column of unsigned integers under a type of the same width, perhaps signed.
fn retyped(column: &Column, result: &DataType) -> Result<Column> {
    super::arithmetic::as_result(column, result)
}

fn combine(call: &Call<'_>, operation: Operation) -> Bound {
    if let Some(bound) = address_bits::bind(call)? {
        return Ok(bound);
    }
    let wide = match operation {
        Operation::And => wide::Operation::And,
        Operation::Or => wide::Operation::Or,
        Operation::Xor | Operation::ShiftLeft | Operation::ShiftRight => wide::Operation::Xor,
    };
    if let Some(bound) = wide::bind(call, wide)? {
        return Ok(bound);
    }
    call.arguments(2..=2)?;
    let of_bytes: fn(u8, u8) -> u8 = match operation {
        Operation::And => |left, right| left & right,
        Operation::Or => |left, right| left | right,
        Operation::Xor | Operation::ShiftLeft | Operation::ShiftRight => |left, right| left ^ right,
    };
    if let Some(bound) = bit_strings::bind_combined(call, of_bytes)? {
        return Ok(bound);
    }
    let (left, right) = integer_shapes(call)?;
    bind(call, left.join(right).data_type(), operation)
}

fn shift(call: &Call<'_>, operation: Operation) -> Bound {
    if let Some(bound) = address_bits::bind(call)? {
        return Ok(bound);
    }
    if let Some(bound) = bit_strings::bind_shift(call, matches!(operation, Operation::ShiftLeft))? {
        return Ok(bound);
    }
    if let Some(bound) = wide_bits::bind_shift(call, matches!(operation, Operation::ShiftLeft))? {
        return Ok(bound);
    }
    let (left, right) = integer_shapes(call)?;
    let result = left.join(right).data_type();
    let bits = left.bytes as i64 * 8;
    call.bind(result.clone(), move |arguments, rows| shifted(arguments, rows, &result, operation, left.is_signed, bits))
}

fn bind(call: &Call<'_>, result: DataType, operation: Operation) -> Bound {
    let operand = unsigned(result.fixed_width_bytes().unwrap_or(8));
    call.bind(result.clone(), move |arguments, rows| {
        let arguments = as_type(arguments, &operand)?;
        macro_rules! by_width {
            ($($variant:ident => $t:ty),*) => {
                match operand {
                    $(DataType::$variant => match operation {
                        Operation::And => binary::<$t, $t, $t>(&operand, &arguments, rows, |l, r| l & r),
                        Operation::Or => binary::<$t, $t, $t>(&operand, &arguments, rows, |l, r| l | r),
                        _ => binary::<$t, $t, $t>(&operand, &arguments, rows, |l, r| l ^ r),
                    },)*
                    _ => Err(Error::logical("unsigned integer expected")),
                }
            };
        }
        let column = by_width!(UInt8 => UInt8Type, UInt16 => UInt16Type, UInt32 => UInt32Type, UInt64 => UInt64Type)?;
        retyped(&column, &result)
    })
}

/// The first argument, a number of so many `bits`, shifted by the second; nothing is left of it from that many places on.
fn shifted(
    arguments: &[Column],
    rows: usize,
    result: &DataType,
    operation: Operation,
    is_signed: bool,
    bits: i64,
) -> Result<Column> {
    let amounts = integers(arguments, 1, rows)?;
    if amounts.iter().any(|amount| *amount < 0) {
        return Err(Error::new(
            ErrorCode::ARGUMENT_OUT_OF_BOUND,
            "The number of shift positions needs to be a non-negative value",
        ));
    }
    let values = integers_wrapping(arguments, rows)?;
    let shifted: Vec<u64> = values
        .iter()
        .zip(&amounts)
        .map(|(value, amount)| match operation {
            _ if *amount >= bits => 0,
            Operation::ShiftLeft => value << amount,
            _ if is_signed => ((*value as i64) >> amount) as u64,
            _ => value >> amount,
        })
        .collect();
    let column = Column::from_primitive::<UInt64Type>(DataType::UInt64, shifted);
    squall_types::cast(&column, result, &squall_types::CastOptions::default())
}

/// The first argument's rows as `u64`, signed numbers by their bits.
fn integers_wrapping(arguments: &[Column], rows: usize) -> Result<Vec<u64>> {
    let column = argument_as(arguments, 0, &DataType::UInt64)?;
    Ok(match super::simple::Numbers::<UInt64Type>::of(&[column], 0)? {
        super::simple::Numbers::Varying(values) => values.to_vec(),
        super::simple::Numbers::Constant(value) => vec![value; rows],
    })
}

fn bit_not(call: &Call<'_>) -> Bound {
    if let Some(bound) = bit_strings::bind_not(call)? {
        return Ok(bound);
    }
    if let Some(bound) = wide_bits::bind_not(call)? {
        return Ok(bound);
    }
    call.arguments(1..=1)?;
    let shape = Shape::of_number(call, 0)?;
    let (result, operand) = (Shape { is_float: false, ..shape }.data_type(), unsigned(shape.bytes));
    call.bind(result.clone(), move |arguments, rows| {
        // Floats are cut to integers first; one that no integer is counts as the least one.
        let integers = if shape.is_float { cut(arguments, rows, &result)? } else { as_type(arguments, &result)? };
        let arguments = as_type(&integers, &operand)?;
        let column = match operand {
            DataType::UInt8 => unary::<UInt8Type, UInt8Type>(&operand, &arguments, rows, |value| !value),
            DataType::UInt16 => unary::<UInt16Type, UInt16Type>(&operand, &arguments, rows, |value| !value),
            DataType::UInt32 => unary::<UInt32Type, UInt32Type>(&operand, &arguments, rows, |value| !value),
            _ => unary::<UInt64Type, UInt64Type>(&operand, &arguments, rows, |value| !value),
        }?;
        retyped(&column, &result)
    })
}

/// Floats cut to signed integers of their width.
fn cut(arguments: &[Column], rows: usize, result: &DataType) -> Result<Vec<Column>> {
    let limit = 2f64.powi(result.fixed_width_bytes().map_or(63, |bytes| 8 * bytes as i32 - 1));
    let whole = |float: f64| if (-limit..limit).contains(&float) { float as i64 } else { -limit as i64 };
    let values = floats(arguments, 0, rows)?.into_iter().map(whole).collect();
    as_type(&[Column::from_primitive::<Int64Type>(DataType::Int64, values)], result)
}

fn bit_test(call: &Call<'_>) -> Bound {
    let (left, _) = integer_shapes(call)?;
    let bits = left.bytes as i64 * 8;
    call.bind(DataType::UInt8, move |arguments, rows| {
        let positions = integers(arguments, 1, rows)?;
        if positions.iter().any(|position| !(0..bits).contains(position)) {
            return Err(Error::new(
                ErrorCode::PARAMETER_OUT_OF_BOUND,
                "The bit position argument needs to a positive value and less or equal to the bit width of the value to test",
            ));
        }
        let values = integers_wrapping(arguments, rows)?;
        let tested = values.iter().zip(&positions).map(|(value, position)| (value >> position & 1) as u8);
        Ok(super::kernel::bytes_column(tested.collect()))
    })
}

fn bit_tests(call: &Call<'_>, all: bool) -> Bound {
    call.arguments(2..=usize::MAX)?;
    call.integers(0..call.arguments.len())?;
    let count = call.arguments.len();
    call.bind(DataType::UInt8, move |arguments, rows| {
        let values = integers_wrapping(arguments, rows)?;
        let mut masks = vec![0u64; rows];
        for at in 1..count {
            for (mask, position) in masks.iter_mut().zip(integers(arguments, at, rows)?) {
                *mask |= u32::try_from(position).ok().and_then(|position| 1u64.checked_shl(position)).unwrap_or(0);
            }
        }
        let tested = values
            .iter()
            .zip(&masks)
            .map(|(value, mask)| u8::from(if all { value & mask == *mask } else { value & mask != 0 }));
        Ok(super::kernel::bytes_column(tested.collect()))
    })
}

fn bit_count(call: &Call<'_>) -> Bound {
    if let Some(bound) = wide_bits::bind_count(call)? {
        return Ok(bound);
    }
    call.arguments(1..=1)?;
    let data_type = call.type_of(0);
    match data_type {
        DataType::String => return count_in_strings::<UInt64Type>(call, DataType::UInt64, |ones| ones),
        DataType::FixedString(_) => {
            return count_in_strings::<UInt16Type>(call, DataType::UInt16, |ones| ones as u16);
        }
        _ => {}
    }
    let width = data_type.fixed_width_bytes().filter(|_| Shape::of_number(call, 0).is_ok());
    let operand = match width {
        Some(width) => unsigned(width),
        None => return Err(call.illegal(0)),
    };
    let is_float = data_type.is_float();
    call.bind(DataType::UInt8, move |arguments, rows| {
        if is_float {
            let bits = super::conversion::reinterpret(super::simple::argument(arguments, 0)?, &operand)?;
            let bits = argument_as(&[bits], 0, &DataType::UInt64)?;
            return unary::<UInt64Type, UInt8Type>(&DataType::UInt8, &[bits], rows, |value| value.count_ones() as u8);
        }
        // By way of the unsigned type of the same width, so that a sign is not extended.
        let narrow = as_type(arguments, &operand)?;
        let wide = as_type(&narrow, &DataType::UInt64)?;
        unary::<UInt64Type, UInt8Type>(&DataType::UInt8, &wide, rows, |value| value.count_ones() as u8)
    })
}

/// The bits that are set in the bytes of a string.
fn count_in_strings<T: ArrowPrimitiveType>(
    call: &Call<'_>,
    result: DataType,
    as_result: fn(u64) -> T::Native,
) -> Bound {
    call.bind(result.clone(), move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        let ones = |row: usize| strings.get(row).iter().map(|byte| u64::from(byte.count_ones())).sum();
        Ok(primitive_column::<T>(result.clone(), rows, |row| as_result(ones(row))))
    })
}

fn byte_swap(call: &Call<'_>) -> Bound {
    if let Some(bound) = wide_bits::bind_swap(call)? {
        return Ok(bound);
    }
    call.arguments(1..=1)?;
    let shape = Shape::of_number(call, 0)?;
    if shape.is_float {
        return Err(Error::not_implemented("byteSwap of floats"));
    }
    let (result, operand) = (shape.data_type(), unsigned(shape.bytes));
    call.bind(result.clone(), move |arguments, rows| {
        let arguments = as_type(arguments, &operand)?;
        let column = match operand {
            DataType::UInt8 => unary::<UInt8Type, UInt8Type>(&operand, &arguments, rows, u8::swap_bytes),
            DataType::UInt16 => unary::<UInt16Type, UInt16Type>(&operand, &arguments, rows, u16::swap_bytes),
            DataType::UInt32 => unary::<UInt32Type, UInt32Type>(&operand, &arguments, rows, u32::swap_bytes),
            _ => unary::<UInt64Type, UInt64Type>(&operand, &arguments, rows, u64::swap_bytes),
        }?;
        retyped(&column, &result)
    })
}
