//! Distances of vectors of `QBit` by the highest bits of their elements: `L2DistanceTransposed` and its kin. What is cut off counts as
//! half of what it could be, so that errors even out.

use std::sync::Arc;

use arrow_array::types::Float64Type;
use squall_types::{Column, DataType, Error, ErrorCode, QBit, Result, TypeName, Value, checkpoint};

use super::quantize::{prefix_means, value_of};
use crate::function::BoundFunction;
use crate::scalar::array::Lists;
use crate::scalar::simple::{Call, floats};

/// What is computed.
#[derive(Clone, Copy)]
enum Measure {
    L2,
    Cosine,
    DotProduct,
}

impl Measure {
    fn of(self, left: &[f64], right: &[f64]) -> f64 {
        let dot = || left.iter().zip(right).map(|(left, right)| left * right).sum::<f64>();
        match self {
            Self::DotProduct => dot(),
            Self::L2 => left.iter().zip(right).map(|(left, right)| (left - right).powi(2)).sum::<f64>().sqrt(),
            Self::Cosine => {
                let length = |vector: &[f64]| vector.iter().map(|value| value * value).sum::<f64>();
                1.0 - dot() / (length(left) * length(right)).sqrt()
            }
        }
    }
}

fn wrong(code: ErrorCode, message: String) -> Error {
    Error::new(code, message)
}

/// A constant number of an argument.
fn constant(call: &Call<'_>, at: usize, which: &str) -> Result<usize> {
    let constant = call.constant(at).filter(|_| call.type_of(at).is_unsigned_integer()).and_then(Value::as_u64);
    constant.and_then(|number| usize::try_from(number).ok()).ok_or_else(|| {
        wrong(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "The {which} argument of function {} must be an unsigned constant, got {}",
                call.name,
                call.type_of(at)
            ),
        )
    })
}

/// `…Transposed(vectors, reference, bits[, dimensions])`, and `…TransposedQuantized`.
pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(3..=4)?;
    let is_quantized = call.name.ends_with("Quantized");
    let qbit = qbit_of(call, is_quantized)?;
    let item = match call.type_of(1) {
        DataType::Array(item) if item.is_number() || item.is_any_float() => (**item).clone(),
        other => {
            return Err(wrong(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!("Second argument of function {} must be an array of numbers, got {other}", call.name),
            ));
        }
    };
    let (bits, used) = precision(call, qbit)?;
    let measure = match call.name {
        name if name.starts_with("L2") => Measure::L2,
        name if name.starts_with("cosine") => Measure::Cosine,
        _ => Measure::DotProduct,
    };
    let (name, reader) = (call.name, Reader::new(qbit, bits, is_quantized));
    let is_code = is_quantized && item == DataType::Int8;
    call.bind(DataType::Float64, move |arguments, rows| {
        let ((vectors, elements), (references, items)) = (lists(arguments, 0)?, lists(arguments, 1)?);
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            checkpoint(8 * used)?;
            let reference = &items[references.range(row)];
            if reference.len() < used {
                return Err(wrong(
                    ErrorCode::BAD_ARGUMENTS,
                    format!(
                        "The reference vector in the last argument of function {name} is too small. Got: {}, expected at least: {used}",
                        reference.len()
                    ),
                ));
            }
            let vector: Vec<f64> =
                elements[vectors.range(row)].iter().take(used).map(|element| reader.read(*element)).collect();
            let reference: Vec<f64> = reference[..used]
                .iter()
                .map(|item| match (is_quantized, is_code) {
                    (true, true) => f64::from(value_of(*item as i8)),
                    (true, false) => f64::from(*item as f32),
                    _ => *item,
                })
                .collect();
            // The default of a column, which has no elements, is a vector of zeros.
            let vector = if vector.is_empty() { vec![0.0; used] } else { vector };
            values.push(measure.of(&vector, &reference));
        }
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, values))
    })
}

/// The type of the vectors.
fn qbit_of<'a>(call: &Call<'a>, is_quantized: bool) -> Result<&'a QBit> {
    let qbit = match call.type_of(0) {
        DataType::Named(named) => match &named.name {
            TypeName::QBit(qbit) => Some(qbit),
            TypeName::Shape(_) => None,
        },
        _ => None,
    };
    let qbit = qbit.ok_or_else(|| {
        wrong(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, format!("First argument of function {} must be a QBit", call.name))
    })?;
    if is_quantized && qbit.element != DataType::Int8 {
        return Err(wrong(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("First argument of function {} must be a QBit of Int8", call.name),
        ));
    }
    Ok(qbit)
}

/// How many bits of an element, and how many elements of a vector, are read.
fn precision(call: &Call<'_>, qbit: &QBit) -> Result<(usize, usize)> {
    let bits = constant(call, 2, "third")?;
    if !(1..=qbit.bits()).contains(&bits) {
        return Err(wrong(
            ErrorCode::BAD_ARGUMENTS,
            format!(
                "The third argument (precision) of function {} must be in range [1, {}] for {} QBit, got {bits}",
                call.name,
                qbit.bits(),
                qbit.element
            ),
        ));
    }
    let used = if call.arguments.len() > 3 { constant(call, 3, "fourth")? } else { qbit.dimension };
    if used == 0 || used > qbit.dimension || !used.is_multiple_of(qbit.stride) {
        return Err(wrong(
            ErrorCode::BAD_ARGUMENTS,
            format!(
                "The fourth argument of function {} must be a multiple of the stride {} up to the dimension {}, got {used}",
                call.name, qbit.stride, qbit.dimension
            ),
        ));
    }
    Ok((bits, used))
}

/// The vectors of an argument: where each is among the elements of all.
fn lists(arguments: &[Column], at: usize) -> Result<(Lists, Vec<f64>)> {
    let column = arguments.get(at).ok_or_else(|| Error::logical("an argument is missing"))?;
    let lists = Lists::of_column(&column.clone().with_type(column.data_type().without_names()))?;
    let items = floats(std::slice::from_ref(&lists.items), 0, lists.items.rows())?;
    Ok((lists, items))
}

/// How elements are read by their highest bits.
enum Reader {
    /// Numbers of a type of so many bits.
    Numbers { element: DataType, all: usize, bits: usize },
    /// Codes: the mean of what those with the same highest bits stand for.
    Codes { means: Vec<f64>, bits: usize },
}

impl Reader {
    fn new(qbit: &QBit, bits: usize, is_quantized: bool) -> Self {
        match is_quantized {
            true => Self::Codes { means: prefix_means(bits), bits },
            false => Self::Numbers { element: qbit.element.clone(), all: qbit.bits(), bits },
        }
    }

    fn read(&self, element: f64) -> f64 {
        match self {
            Self::Codes { means, bits } => means[usize::from(element as i8 as u8 >> (8 - bits))],
            Self::Numbers { all, bits, .. } if all == bits => element,
            Self::Numbers { element: data_type, all, bits } => {
                let cut = all - bits;
                // The highest bit of what is cut off stands for its half.
                let halved = |word: u64| (word >> cut << cut) | 1 << (cut - 1);
                match data_type {
                    DataType::Int8 => f64::from(halved(u64::from(element as i8 as u8)) as u8 as i8),
                    DataType::BFloat16 => {
                        let word = u64::from((element as f32).to_bits() >> 16);
                        f64::from(f32::from_bits((halved(word) as u32) << 16))
                    }
                    DataType::Float32 => f64::from(f32::from_bits(halved((element as f32).to_bits().into()) as u32)),
                    _ => f64::from_bits(halved(element.to_bits())),
                }
            }
        }
    }
}
