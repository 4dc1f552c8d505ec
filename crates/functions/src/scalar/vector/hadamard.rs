//! `randomHadamardTransform`: a vector turned by random signs and a Hadamard matrix (Ailon and Chazelle, *The Fast Johnson–Lindenstrauss
//! Transform*, 2009), so that its length stays and its energy is spread over all coordinates. A power of two takes the fast Walsh–Hadamard
//! transform; other lengths take its Kronecker product with a small matrix: Paley's of order 12 or 20, or Hartley's of an odd order.

use std::sync::Arc;

use arrow_array::types::{Float32Type, Float64Type};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint, grow};

use crate::function::BoundFunction;
use crate::scalar::array::{Lists, list_column};
use crate::scalar::random::Generator;
use crate::scalar::simple::{Call, floats};

/// The largest order of a small matrix.
const ORDER_MAX: usize = 64;

/// Orders of which there is a small matrix of signs.
const PALEY_ORDERS: [usize; 2] = [12, 20];

/// `randomHadamardTransform(vector[, seed[, output_dims]])`.
pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=3)?;
    let item = match call.type_of(0) {
        DataType::Array(item) if item.is_any_float() => (**item).clone(),
        other => {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!(
                    "First argument of function {} must be Array(BFloat16|Float32|Float64), got {other}",
                    call.name
                ),
            ));
        }
    };
    call.integers([1, 2])?;
    let constant = |at: usize| match (call.arguments.get(at), call.constant(at)) {
        (Some(_), None) => Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("Argument at index {at} for function {} must be constant", call.name),
        )),
        (_, value) => Ok(value),
    };
    let seed = constant(1)?.map_or(0, |seed| seed.as_u64().unwrap_or_else(|| seed.as_i64().unwrap_or(0) as u64));
    let kept = match constant(2)?.map(Value::as_u64) {
        None => None,
        Some(Some(kept)) if kept > 0 => Some(usize::try_from(kept).unwrap_or(usize::MAX)),
        Some(_) => {
            return Err(Error::new(
                ErrorCode::ARGUMENT_OUT_OF_BOUND,
                format!("The 'output_dims' argument of function {} must be positive", call.name),
            ));
        }
    };
    let result = call.type_of(0).clone();
    call.bind(result, move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let items = floats(std::slice::from_ref(&lists.items), 0, lists.items.rows())?;
        let (mut turned, mut ends) = (Vec::new(), vec![0_i32]);
        for row in 0..rows {
            let vector = &items[lists.range(row)];
            if !vector.is_empty() {
                let transform = Transform::of(vector.len(), kept)?;
                checkpoint(4 * transform.length * (transform.order + 16))?;
                grow(&mut turned, transform.kept)?;
                turned.extend(transform.turn(vector, seed));
            }
            ends.push(i32::try_from(turned.len()).map_err(|_| crate::scalar::simple::too_large())?);
        }
        let items = match &item {
            DataType::Float64 => Column::from_primitive::<Float64Type>(DataType::Float64, turned),
            // Of a Float32 the upper half is a BFloat16.
            narrow => {
                let cut = |value: f64| match narrow {
                    DataType::BFloat16 => f32::from_bits((value as f32).to_bits() & 0xFFFF_0000),
                    _ => value as f32,
                };
                Column::from_primitive::<Float32Type>(narrow.clone(), turned.into_iter().map(cut).collect())
            }
        };
        list_column(&item, ends, items.array().clone())
    })
}

/// How vectors of one length are turned.
struct Transform {
    /// Coordinates, with zeros behind those of the vector.
    length: usize,
    /// Of the small matrix; 1 where there is none.
    order: usize,
    kept: usize,
}

impl Transform {
    /// Of vectors of a length, of which so many coordinates are kept.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where vectors of this length cannot be turned as a whole, `ARGUMENT_OUT_OF_BOUND`.
    fn of(length: usize, kept: Option<usize>) -> Result<Self> {
        let order = match kept {
            // Rows of Hartley's matrix are not alike: some of them are no fair sample.
            Some(kept) if kept < length => {
                small_order(length).filter(|order| *order == 1 || PALEY_ORDERS.contains(order))
            }
            _ => small_order(length),
        };
        let (length, order) = match (order, kept) {
            (Some(order), _) => (length, order),
            (None, Some(_)) => (length.next_power_of_two(), 1),
            (None, None) => {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!(
                        "Function randomHadamardTransform cannot transform a vector of length {length} without zero-padding: \
                         its largest odd factor exceeds {}. Pass output_dims to request a projection",
                        ORDER_MAX
                    ),
                ));
            }
        };
        let kept = kept.unwrap_or(length);
        if kept > length {
            return Err(Error::new(
                ErrorCode::ARGUMENT_OUT_OF_BOUND,
                format!(
                    "output_dims ({kept}) of function randomHadamardTransform exceeds the transform length {length}"
                ),
            ));
        }
        Ok(Self { length, order, kept })
    }

    fn turn(&self, vector: &[f64], seed: u64) -> Vec<f64> {
        let mut signs = Generator::from_state(seed);
        let mut values: Vec<f64> =
            vector.iter().map(|value| if signs.next() >> 63 == 1 { -value } else { *value }).collect();
        values.resize(self.length, 0.0);
        if self.order > 1 {
            let matrix = small_matrix(self.order);
            for block in values.chunks_mut(self.order) {
                let rows = matrix.chunks(self.order);
                let turned: Vec<f64> =
                    rows.map(|row| row.iter().zip(&*block).map(|(left, right)| left * right).sum()).collect();
                block.copy_from_slice(&turned);
            }
        }
        let mut half = self.order;
        while half < self.length {
            for pair in values.chunks_mut(2 * half) {
                let (left, right) = pair.split_at_mut(half);
                for (left, right) in left.iter_mut().zip(right) {
                    (*left, *right) = (*left + *right, *left - *right);
                }
            }
            half *= 2;
        }
        let scale = 1.0 / (self.kept as f64).sqrt();
        values.truncate(self.kept);
        values.iter_mut().for_each(|value| *value *= scale);
        values
    }
}

/// The order of the small matrix for a length that is a power of two times it.
fn small_order(length: usize) -> Option<usize> {
    let is_whole = |order: usize| length.is_multiple_of(order) && (length / order).is_power_of_two();
    let odd = length >> length.trailing_zeros();
    PALEY_ORDERS.into_iter().find(|order| is_whole(*order)).or((odd <= ORDER_MAX).then_some(odd))
}

/// The small matrix of an order, row by row; each row's length is the square root of the order.
fn small_matrix(order: usize) -> Vec<f64> {
    let entry = |row: usize, column: usize| {
        if !PALEY_ORDERS.contains(&order) {
            let angle = std::f64::consts::TAU * ((row * column) % order) as f64 / order as f64;
            return angle.cos() + angle.sin();
        }
        let prime = order - 1;
        match (row, column) {
            (0, _) => 1.0,
            (_, 0) => -1.0,
            (row, column) if row == column => 1.0,
            (row, column) => {
                let apart = (row + prime - column) % prime;
                let is_square = (1..prime).any(|root| root * root % prime == apart);
                if is_square { 1.0 } else { -1.0 }
            }
        }
    };
    (0..order * order).map(|at| entry(at / order, at % order)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_vectors_stay() {
        for length in [1, 2, 3, 8, 12, 18, 20, 24, 40, 63, 1152] {
            let vector: Vec<f64> = (0..length).map(|at| (at as f64).sin() + 0.5).collect();
            let turned = Transform::of(length, None).unwrap().turn(&vector, 42);
            let energy = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>();
            let (before, after) = (energy(&vector), energy(&turned));
            assert!((before - after).abs() < 1e-9 * before, "{length}: {before} becomes {after}");
        }
        assert!(Transform::of(67, None).is_err());
        assert_eq!(Transform::of(67, Some(3)).unwrap().length, 128);
    }
}
