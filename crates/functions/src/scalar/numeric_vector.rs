//! Functions of vectors of numbers by index: the states of `groupNumericIndexedVector`.

use std::collections::BTreeSet;
use std::sync::Arc;

use squall_types::{AggregateType, Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use super::simple::{Call, Function, Strings, StringsBuilder, argument, value_column};
use crate::aggregate::statistics::numeric_vector::{NumericVector, Shape};
use crate::function::{BoundFunction, ScalarFunction};

type Bound = Result<Arc<dyn BoundFunction>>;

/// What two numbers become.
type Combine = fn(f64, f64) -> f64;

/// Whether two numbers are so.
type Holds = fn(&f64, &f64) -> bool;

/// Every function of this module.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("numericIndexedVectorAllValueSum", sum),
    &Function::new("numericIndexedVectorBuild", build),
    &Function::new("numericIndexedVectorCardinality", cardinality),
    &Function::new("numericIndexedVectorGetValue", get),
    &Function::new("numericIndexedVectorPointwiseAdd", |call| pointwise(call, Rule::Add)),
    &Function::new("numericIndexedVectorPointwiseDivide", |call| {
        pointwise(call, Rule::Combine(|left, right| if right == 0.0 { 0.0 } else { left / right }))
    }),
    &Function::new("numericIndexedVectorPointwiseEqual", |call| pointwise(call, Rule::Compare(f64::eq))),
    &Function::new("numericIndexedVectorPointwiseGreater", |call| pointwise(call, Rule::Compare(f64::gt))),
    &Function::new("numericIndexedVectorPointwiseGreaterEqual", |call| pointwise(call, Rule::Compare(f64::ge))),
    &Function::new("numericIndexedVectorPointwiseLess", |call| pointwise(call, Rule::Compare(f64::lt))),
    &Function::new("numericIndexedVectorPointwiseLessEqual", |call| pointwise(call, Rule::Compare(f64::le))),
    &Function::new("numericIndexedVectorPointwiseMultiply", |call| {
        pointwise(call, Rule::Combine(|left, right| left * right))
    }),
    &Function::new("numericIndexedVectorPointwiseNotEqual", |call| pointwise(call, Rule::Compare(f64::ne))),
    &Function::new("numericIndexedVectorPointwiseSubtract", |call| pointwise(call, Rule::Subtract)),
    &Function::new("numericIndexedVectorShortDebugString", debug),
    &Function::new("numericIndexedVectorToMap", to_map),
];

/// How two vectors become one.
#[derive(Clone, Copy)]
enum Rule {
    Add,
    Subtract,
    Combine(Combine),
    /// 1 where it holds, nothing where it does not.
    Compare(Holds),
}

fn vector_type(index: &DataType, value: &DataType) -> DataType {
    DataType::AggregateFunction(Arc::new(AggregateType {
        version: None,
        function: "groupNumericIndexedVector".into(),
        parameters: "".into(),
        arguments: [index.clone(), value.clone()].into(),
    }))
}

/// The shape of an argument that must be a vector.
fn shape_of(call: &Call<'_>, at: usize) -> Result<Shape> {
    match call.type_of(at) {
        DataType::AggregateFunction(state) if &*state.function == "groupNumericIndexedVector" => {
            match &state.arguments[..] {
                [index, value] => Shape::new(index, value),
                _ => Err(call.illegal(at)),
            }
        }
        other => Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Argument {} for function {} must be a NumericIndexedVector but it has type {other}",
                at + 1,
                call.name
            ),
        )),
    }
}

fn read(shape: &Shape, mut state: &[u8]) -> Result<NumericVector> {
    checkpoint(128 + 8 * state.len())?;
    // No bytes are a state without rows.
    if state.is_empty() { Ok(shape.empty()) } else { NumericVector::read(shape, &mut state) }
}

/// A column of vectors.
fn vectors(
    shape: &Shape,
    result: &DataType,
    rows: usize,
    mut make: impl FnMut(usize) -> Result<NumericVector>,
) -> Result<Column> {
    let mut states = StringsBuilder::new(rows, 64 * rows)?;
    for row in 0..rows {
        make(row)?.write(shape, &mut states.bytes)?;
        states.end_row()?;
    }
    Ok(Column::new(result.clone(), Arc::new(states.finish_array()?)))
}

fn build(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let DataType::Map(index, value) = call.type_of(0) else { return Err(call.illegal(0)) };
    let shape = Shape::new(index, value)?;
    let result = vector_type(index, value);
    call.bind(result.clone(), move |arguments, rows| {
        let maps = argument(arguments, 0)?;
        vectors(&shape, &result, rows, |row| {
            let Value::Map(entries) = maps.value(row) else { return Err(Error::logical("a map was expected")) };
            let mut vector = shape.empty();
            checkpoint(64 * entries.len())?;
            for (index, value) in entries.iter() {
                let bits = index.as_i64().map_or_else(|| index.as_u64().unwrap_or(0), |index| index as u64);
                let fixed = shape.fixed(value, vector.bits.1)?;
                vector.add(&shape, shape.form().in_bitmaps(bits), fixed);
            }
            Ok(vector)
        })
    })
}

/// A value of each vector.
fn of_each(call: &Call<'_>, shape: Shape, result: DataType, make: fn(&Shape, &NumericVector) -> Value) -> Bound {
    call.arguments(1..=1)?;
    call.bind(result.clone(), move |arguments, rows| {
        let states = Strings::of(arguments, 0)?;
        value_column(&result, rows, |row| Ok(make(&shape, &read(&shape, states.get(row))?)))
    })
}

fn sum(call: &Call<'_>) -> Bound {
    of_each(call, shape_of(call, 0)?, DataType::Float64, |shape, vector| Value::Float64(vector.sum(shape)))
}

fn cardinality(call: &Call<'_>) -> Bound {
    of_each(call, shape_of(call, 0)?, DataType::UInt64, |_, vector| Value::UInt64(vector.numbers.len() as u64))
}

fn to_map(call: &Call<'_>) -> Bound {
    let shape = shape_of(call, 0)?;
    let result = DataType::Map(Arc::new(shape.index.clone()), Arc::new(shape.value.clone()));
    of_each(call, shape, result, |shape, vector| {
        let entry = |(index, fixed): (&u64, &i64)| (shape.index_value(*index), shape.value_of(*fixed, vector.bits.1));
        Value::Map(vector.numbers.iter().map(entry).collect())
    })
}

/// ClickHouse's own name of a type that numbers are held in.
fn type_in_memory(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::UInt8 => "char8_t",
        DataType::UInt16 => "unsigned short",
        DataType::UInt32 => "unsigned int",
        DataType::UInt64 => "unsigned long",
        DataType::Int8 => "_BitInt(8)",
        DataType::Int16 => "short",
        DataType::Int32 => "int",
        DataType::Int64 => "long",
        DataType::Float32 => "float",
        _ => "double",
    }
}

/// `numericIndexedVectorShortDebugString`: how the vector is held.
fn debug(call: &Call<'_>) -> Bound {
    of_each(call, shape_of(call, 0)?, DataType::String, |shape, vector| {
        let (integer, fraction) = vector.bits;
        let zeros = vector.numbers.values().filter(|fixed| **fixed == 0).count();
        let of_bit = |bit: u32| vector.numbers.values().filter(|fixed| **fixed >> bit & 1 == 1).count();
        let bitmaps: Vec<String> = (0..integer + fraction).map(|bit| format!("\"{bit}\":{}", of_bit(bit))).collect();
        Value::string(format!(
            r#"{{"vector_type":"BSI","index_type":"{}","value_type":"{}","integer_bit_num":{integer},"fraction_bit_num":{fraction},"zero_indexes_info":{{"cardinality":{zeros}}},"non_zero_indexes_info":{{"total_cardinality":{},"all_value_sum":{},"number_of_bitmaps":{},"bitmap_info":{{"cardinality":{{{}}}}}}}}}"#,
            type_in_memory(&shape.index),
            type_in_memory(&shape.value),
            vector.numbers.len(),
            vector.sum(shape),
            integer + fraction,
            bitmaps.join(",")
        ))
    })
}

fn get(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    let shape = shape_of(call, 0)?;
    call.integers([1])?;
    let result = shape.value.clone();
    call.bind(result.clone(), move |arguments, rows| {
        let states = Strings::of(arguments, 0)?;
        let indexes = argument(arguments, 1)?;
        value_column(&result, rows, |row| {
            let vector = read(&shape, states.get(row))?;
            let index = indexes.value(row);
            let bits = index.as_i64().map_or_else(|| index.as_u64().unwrap_or(0), |index| index as u64);
            let found = vector.numbers.get(&shape.form().in_bitmaps(bits));
            Ok(shape.value_of(found.copied().unwrap_or(0), vector.bits.1))
        })
    })
}

fn pointwise(call: &Call<'_>, rule: Rule) -> Bound {
    call.arguments(2..=2)?;
    let shape = shape_of(call, 0)?;
    let is_number = call.type_of(1).is_number();
    if !is_number {
        let other = shape_of(call, 1)?;
        if (&shape.index, &shape.value) != (&other.index, &other.value) {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!(
                    "The nested types in NumericIndexedVector must be the same, but one is ({}, {}), and the other is ({}, {})",
                    shape.index, shape.value, other.index, other.value
                ),
            ));
        }
    }
    let result = vector_type(&shape.index, &shape.value);
    call.bind(result.clone(), move |arguments, rows| {
        let states = Strings::of(arguments, 0)?;
        let second = argument(arguments, 1)?;
        vectors(&shape, &result, rows, |row| {
            let left = read(&shape, states.get(row))?;
            let fraction = left.bits.1;
            let (indexes, other): (BTreeSet<u64>, Box<dyn Fn(u64) -> i64>) = if is_number {
                let fixed = shape.fixed(&second.value(row), fraction)?;
                (left.numbers.keys().copied().collect(), Box::new(move |_| fixed))
            } else {
                let value = second.value(row);
                let right = read(&shape, value.as_bytes().unwrap_or_default())?;
                let all = left.numbers.keys().chain(right.numbers.keys()).copied().collect();
                (all, Box::new(move |index| right.numbers.get(&index).copied().unwrap_or(0)))
            };
            let mut vector = shape.empty();
            vector.bits = left.bits;
            checkpoint(64 * indexes.len())?;
            for index in indexes {
                let (own, other) = (left.numbers.get(&index).copied().unwrap_or(0), other(index));
                let floats = || (shape.float(own, fraction), shape.float(other, fraction));
                let made = match rule {
                    Rule::Add => own.wrapping_add(other),
                    Rule::Subtract => own.wrapping_sub(other),
                    Rule::Combine(combine) => {
                        let (own, other) = floats();
                        (combine(own, other) * (1_u64 << fraction) as f64) as i64
                    }
                    Rule::Compare(holds) => {
                        let (own, other) = floats();
                        if !holds(&own, &other) {
                            continue;
                        }
                        1 << fraction
                    }
                };
                vector.numbers.insert(index, shape.cut(made, vector.bits));
            }
            Ok(vector)
        })
    })
}
