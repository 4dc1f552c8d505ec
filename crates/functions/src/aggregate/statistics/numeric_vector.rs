//! `groupNumericIndexedVector`: numbers by index, and their sum. A state is the vector bit by bit (Xiong et al., *Large-scale Metric
//! Computation in Online Controlled Experiment Platform*, 2024): for each bit of the fixed-point numbers a bitmap of the indexes that
//! have it.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::types::Float64Type;
use squall_types::cast::{CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use crate::accumulator::AggregateFunction;
use crate::aggregate::distinct::group_bitmap::{Form, Integers};
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::row_hash::number_bits;
use crate::aggregate::values::state_bytes::{Raw, take_bytes};

/// Bits before and after the point of floats.
const FLOAT_BITS: (u32, u32) = (40, 24);

/// Bits of a number, at most.
const BITS_MAX: u32 = 64;

/// The types of a vector and the bits of its numbers.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// The type of indexes: integers of up to 32 bits.
    pub index: DataType,
    /// The type of values.
    pub value: DataType,
    form: Form,
    /// Bits before the point of a fresh vector, and after it.
    bits: (u32, u32),
}

impl Shape {
    /// Of a vector of these types.
    ///
    /// # Errors
    /// `ILLEGAL_TYPE_OF_ARGUMENT`.
    pub fn new(index: &DataType, value: &DataType) -> Result<Self> {
        let wrong = |message: &str| Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message);
        let form = Form::of(index).filter(|form| form.width <= 4).ok_or_else(|| {
            wrong("The first argument type must be one of Int8, Int16, Int32, UInt8, UInt16, UInt32 in BSI")
        })?;
        let bits = match value.fixed_width_bytes() {
            Some(_) if value.is_float() => FLOAT_BITS,
            Some(width) if value.is_integer() => (8 * width as u32, 0),
            _ => {
                return Err(wrong(
                    "The second argument type must be one of Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Float32, Float64",
                ));
            }
        };
        Ok(Self { index: index.clone(), value: value.clone(), form, bits })
    }

    fn is_signed(&self) -> bool {
        !self.value.is_unsigned_integer()
    }

    /// A vector without numbers.
    pub fn empty(&self) -> NumericVector {
        NumericVector { bits: self.bits, numbers: BTreeMap::new() }
    }

    /// The indexes of a column as vectors keep them.
    pub fn indexes(&self, column: &Column) -> Result<Vec<u64>> {
        let bits = number_bits(column).ok_or_else(|| Error::logical("indexes are integers"))?;
        Ok(bits.into_iter().map(|bits| self.form.in_bitmaps(bits)).collect())
    }

    /// An index as a value of its type.
    pub fn index_value(&self, index: u64) -> Value {
        let own = self.form.extend(self.form.own(index));
        if self.form.is_signed { Value::Int64(own as i64) } else { Value::UInt64(own) }
    }

    /// The form of indexes.
    pub fn form(&self) -> Form {
        self.form
    }

    /// A number in fixed point.
    ///
    /// # Errors
    /// `INCORRECT_DATA` for NaN and infinity.
    pub fn fixed(&self, value: &Value, fraction: u32) -> Result<i64> {
        if !self.value.is_float() {
            let whole = value.as_i64().or_else(|| value.as_u64().map(|bits| bits as i64));
            return Ok(whole.unwrap_or_else(|| value.as_f64().unwrap_or(0.0) as i64));
        }
        let float = value.as_f64().unwrap_or(0.0);
        let wrong = |what: &str| {
            Err(Error::new(ErrorCode::INCORRECT_DATA, format!("NumericIndexedVector does not support {what}")))
        };
        if float.is_nan() {
            return wrong("NaN");
        }
        if float.is_infinite() {
            return wrong("Inf");
        }
        Ok((float * (1_u64 << fraction) as f64) as i64)
    }

    /// A fixed-point number as a float.
    pub fn float(&self, fixed: i64, fraction: u32) -> f64 {
        let whole = if self.is_signed() { fixed as f64 } else { fixed as u64 as f64 };
        whole / (1_u64 << fraction) as f64
    }

    /// A fixed-point number as a value of the vector's type.
    pub fn value_of(&self, fixed: i64, fraction: u32) -> Value {
        if self.value.is_float() {
            Value::Float64(self.float(fixed, fraction))
        } else if self.is_signed() {
            Value::Int64(fixed >> fraction)
        } else {
            Value::UInt64(fixed as u64 >> fraction)
        }
    }

    /// A number cut to the bits that a vector has.
    pub fn cut(&self, fixed: i64, bits: (u32, u32)) -> i64 {
        let unused = BITS_MAX - (bits.0 + bits.1).clamp(1, BITS_MAX);
        if self.is_signed() { fixed << unused >> unused } else { ((fixed as u64) << unused >> unused) as i64 }
    }
}

/// Numbers by index.
#[derive(Clone, Debug)]
pub(crate) struct NumericVector {
    /// Bits before the point and after it.
    pub bits: (u32, u32),
    /// In fixed point; also those that are 0.
    pub numbers: BTreeMap<u64, i64>,
}

impl NumericVector {
    /// Adds to the number of an index.
    pub fn add(&mut self, shape: &Shape, index: u64, fixed: i64) {
        let bits = self.bits;
        let number = self.numbers.entry(index).or_insert(0);
        *number = shape.cut(number.wrapping_add(fixed), bits);
    }

    /// The sum of all numbers.
    pub fn sum(&self, shape: &Shape) -> f64 {
        self.numbers.values().map(|fixed| shape.float(*fixed, self.bits.1)).sum()
    }

    pub fn write(&self, shape: &Shape, out: &mut Vec<u8>) -> Result<()> {
        self.bits.0.put(out);
        self.bits.1.put(out);
        let mut put = |has: &dyn Fn(i64) -> bool| -> Result<()> {
            let mut integers = Integers::default();
            let indexes = self.numbers.iter().filter(|(_, fixed)| has(**fixed)).map(|(index, _)| *index);
            indexes.for_each(|index| integers.insert(index));
            out.push(u8::from(integers.count() == 0));
            if integers.count() > 0 {
                integers.write(shape.form, out)?;
            }
            Ok(())
        };
        put(&|fixed| fixed == 0)?;
        (0..self.bits.0 + self.bits.1).try_for_each(|bit| put(&|fixed| fixed >> bit & 1 == 1))
    }

    pub fn read(shape: &Shape, bytes: &mut &[u8]) -> Result<Self> {
        let bits = (u32::take(bytes)?, u32::take(bytes)?);
        if bits.0 > BITS_MAX || bits.1 > FLOAT_BITS.1 || bits.0 + bits.1 > BITS_MAX {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("integer_bit_num({}) + fraction_bit_num({}) must <= {BITS_MAX}", bits.0, bits.1),
            ));
        }
        let mut vector = Self { bits, numbers: BTreeMap::new() };
        let mut take = |bit: Option<u32>| -> Result<()> {
            if take_bytes(bytes, 1)? == [1] {
                return Ok(());
            }
            let integers = Integers::read(shape.form, bytes)?;
            checkpoint(32 * integers.count() as usize)?;
            for index in integers.iter() {
                *vector.numbers.entry(index).or_insert(0) |= bit.map_or(0, |bit| 1 << bit);
            }
            Ok(())
        };
        take(None)?;
        (0..bits.0 + bits.1).try_for_each(|bit| take(Some(bit)))?;
        let cut = |fixed: i64| shape.cut(fixed, bits);
        vector.numbers.values_mut().for_each(|fixed| *fixed = cut(*fixed));
        Ok(vector)
    }
}

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let (index, value) = call.two_arguments()?;
    let mut shape = Shape::new(index, value)?;
    match call.parameters {
        [] => {}
        [kind] if kind.as_str() == Some("BSI") => {}
        [kind, integer, fraction] if kind.as_str() == Some("BSI") => {
            let number = |value: &Value| value.as_u64().and_then(|bits| u32::try_from(bits).ok());
            let bits = (number(integer).unwrap_or(u32::MAX), number(fraction).unwrap_or(u32::MAX));
            if bits.0 > BITS_MAX || bits.1 > FLOAT_BITS.1 || bits.0 + bits.1 > BITS_MAX {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!("integer_bit_num + fraction_bit_num of {} must be at most {BITS_MAX}", call.name),
                ));
            }
            shape.bits = bits;
        }
        _ => return Err(call.wrong_parameters("'BSI', and perhaps the bits before and after the point")),
    }
    Ok(grouped::function(GroupVector { shape }))
}

#[derive(Debug)]
struct GroupVector {
    shape: Shape,
}

impl StateFunction for GroupVector {
    type State = NumericVector;
    type Rows<'a> = Vec<(u64, i64)>;

    const HAS_HEAP: bool = true;

    fn return_type(&self) -> &DataType {
        &DataType::Float64
    }

    fn state(&self) -> NumericVector {
        self.shape.empty()
    }

    fn rows(&self, arguments: &[Column]) -> Result<Vec<(u64, i64)>> {
        let [indexes, values] = arguments else { return Err(Error::logical("a vector has indexes and values")) };
        let values = cast(values, &self.shape.value, &CastOptions::default())?;
        let indexes = self.shape.indexes(indexes)?;
        let fixed = |row: usize| self.shape.fixed(&values.value(row), self.shape.bits.1);
        indexes.into_iter().enumerate().map(|(row, index)| Ok((index, fixed(row)?))).collect()
    }

    fn add(&self, state: &mut NumericVector, rows: &Vec<(u64, i64)>, row: usize) {
        let (index, fixed) = rows[row];
        state.add(&self.shape, index, fixed);
    }

    fn merge(&self, into: &mut NumericVector, from: NumericVector) -> Result<()> {
        checkpoint(64 * from.numbers.len())?;
        from.numbers.into_iter().for_each(|(index, fixed)| into.add(&self.shape, index, fixed));
        Ok(())
    }

    fn write(&self, state: &NumericVector, out: &mut Vec<u8>) -> Result<()> {
        state.write(&self.shape, out)
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<NumericVector> {
        NumericVector::read(&self.shape, bytes)
    }

    fn finish(&self, states: Vec<NumericVector>) -> Result<Column> {
        let sums = states.iter().map(|state| state.sum(&self.shape)).collect();
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, sums))
    }

    fn heap_bytes(&self, state: &NumericVector) -> usize {
        // A node of a tree is about twice its entries.
        state.numbers.len() * 32
    }
}
