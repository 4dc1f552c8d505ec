//! Space-filling curves: several numbers as one whose order keeps neighbours together. Morton's interleaves the bits of up to eight
//! numbers, Hilbert's curve is of two. A tuple in front says how often each bit is repeated (Morton) or how far numbers are shifted
//! (Hilbert) before.

use std::sync::Arc;

use arrow_array::types::UInt64Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::kernel::as_type;
use crate::scalar::simple::{Call, Numbers};
use crate::scalar::tuple::{elements, from_elements};

type Bound = Result<Arc<dyn BoundFunction>>;

/// The constant tuple in front, where there is one.
fn mask(call: &Call<'_>) -> Result<Option<Vec<u64>>> {
    if !matches!(call.type_of(0), DataType::Tuple(_)) {
        return Ok(None);
    }
    let Some(Value::Tuple(items)) = call.constant(0) else {
        return Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!(
                "Illegal type {} of argument of function {}, expected a constant tuple",
                call.type_of(0),
                call.name
            ),
        ));
    };
    items.iter().map(Value::as_u64).collect::<Option<Vec<_>>>().map(Some).ok_or_else(|| call.illegal(0))
}

fn unsigned(call: &Call<'_>, from: usize) -> Result<()> {
    match (from..call.arguments.len()).find(|at| !call.type_of(*at).is_unsigned_integer()) {
        Some(at) => Err(call.illegal(at)),
        None => Ok(()),
    }
}

/// Binds a function of a row's numbers to one number.
fn bind_encode(
    call: &Call<'_>,
    most: usize,
    ratios: std::ops::RangeInclusive<u64>,
    encode: impl Fn(&[u64], Option<&[u64]>) -> u64 + Send + Sync + 'static,
) -> Bound {
    let has_mask = matches!(call.type_of(0), DataType::Tuple(_));
    let from = usize::from(has_mask);
    call.arguments(from + 1..=from + most)?;
    unsigned(call, from)?;
    if let DataType::Tuple(elements) = call.type_of(0) {
        if elements.len() != call.arguments.len() - 1 {
            return Err(Error::new(
                ErrorCode::ARGUMENT_OUT_OF_BOUND,
                format!(
                    "Illegal argument {} for function {}, tuple size should be equal to number of UInt arguments",
                    call.type_of(0),
                    call.name
                ),
            ));
        }
        if elements.iter().any(|element| !element.data_type.is_unsigned_integer()) {
            return Err(call.illegal(0));
        }
    }
    let name = call.name;
    let check = move |ratio: u64| {
        if ratios.contains(&ratio) {
            return Ok(ratio);
        }
        Err(Error::new(
            ErrorCode::ARGUMENT_OUT_OF_BOUND,
            format!(
                "Illegal argument of tuple in function {name}, should be in range {}-{}",
                ratios.start(),
                ratios.end()
            ),
        ))
    };
    if let Some(Value::Tuple(items)) = call.constant(0) {
        items.iter().filter_map(Value::as_u64).try_for_each(|ratio| check(ratio).map(drop))?;
    }
    call.bind(DataType::UInt64, move |arguments, rows| {
        let masks = match (has_mask, arguments.first()) {
            (true, Some(tuple)) => as_type(&elements(tuple)?, &DataType::UInt64)?,
            _ => Vec::new(),
        };
        let arguments = as_type(arguments.get(from..).unwrap_or_default(), &DataType::UInt64)?;
        let of_all = |columns: &'_ [Column]| -> Result<Vec<Vec<u64>>> {
            let values = |at: usize| {
                let numbers = Numbers::<UInt64Type>::of(columns, at)?;
                Ok((0..rows).map(|row| numbers.get(row)).collect())
            };
            (0..columns.len()).map(values).collect()
        };
        let (columns, masks) = (of_all(&arguments)?, of_all(&masks)?);
        let (mut numbers, mut mask) = (vec![0; columns.len()], vec![0; masks.len()]);
        let mut codes = Vec::with_capacity(rows);
        for row in 0..rows {
            numbers.iter_mut().zip(&columns).for_each(|(number, column)| *number = column[row]);
            for (ratio, column) in mask.iter_mut().zip(&masks) {
                *ratio = check(column[row])?;
            }
            codes.push(encode(&numbers, has_mask.then_some(&mask)));
        }
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, codes))
    })
}

/// Binds a function of one number to a tuple; the first argument is how many, or the mask.
fn bind_decode(
    call: &Call<'_>,
    most: usize,
    decode: impl Fn(u64, Option<&[u64]>, &mut [u64]) + Send + Sync + 'static,
) -> Bound {
    call.arguments(2..=2)?;
    let mask = mask(call)?;
    let count = match &mask {
        Some(mask) => mask.len(),
        None => call.constant(0).and_then(Value::as_u64).unwrap_or(0) as usize,
    };
    if !(1..=most).contains(&count) {
        return Err(Error::new(
            ErrorCode::ARGUMENT_OUT_OF_BOUND,
            format!("Illegal first argument for function {}: should be a number in range 1-{most}", call.name),
        ));
    }
    call.integers([1])?;
    let result = DataType::tuple(std::iter::repeat_n(DataType::UInt64, count));
    call.bind(result.clone(), move |arguments, rows| {
        let arguments = as_type(arguments.get(1..).unwrap_or_default(), &DataType::UInt64)?;
        let codes = Numbers::<UInt64Type>::of(&arguments, 0)?;
        let mut parts = vec![Vec::with_capacity(rows); count];
        let mut numbers = vec![0; count];
        for row in 0..rows {
            numbers.fill(0);
            decode(codes.get(row), mask.as_deref(), &mut numbers);
            parts.iter_mut().zip(&numbers).for_each(|(part, number)| part.push(*number));
        }
        let columns = parts.into_iter().map(|part| Column::from_primitive::<UInt64Type>(DataType::UInt64, part));
        from_elements(&result, &columns.collect::<Vec<_>>(), rows)
    })
}

pub(super) fn resolve_morton_encode(call: &Call<'_>) -> Bound {
    bind_encode(call, 8, 1..=8, |numbers, ratios| match (numbers, ratios) {
        ([number], None) => *number,
        _ => interleave(numbers, ratios),
    })
}

/// The bits of the numbers in turn, each of them as often as its ratio says.
fn interleave(numbers: &[u64], ratios: Option<&[u64]>) -> u64 {
    let ratio = |at: usize| ratios.and_then(|ratios| ratios.get(at)).copied().unwrap_or(1);
    if let ([number], Some(_)) = (numbers, ratios) {
        return expand(*number, ratio(0));
    }
    let mut code = 0;
    for (at, number) in numbers.iter().enumerate() {
        let number = expand(*number, ratio(at));
        let spread = (0..64).filter(|bit| number >> bit & 1 == 1).map(|bit| bit * numbers.len() + at);
        code |= spread.filter(|bit| *bit < 64).fold(0, |code, bit| code | 1_u64 << bit);
    }
    code
}

/// Each bit as the highest of so many.
fn expand(number: u64, ratio: u64) -> u64 {
    let bits = (0..64 / ratio).filter(|bit| number >> bit & 1 == 1);
    bits.fold(0, |spread, bit| spread | 1 << (bit * ratio + ratio - 1))
}

fn shrink(number: u64, ratio: u64) -> u64 {
    let bits = (0..64 / ratio).filter(|bit| number >> (bit * ratio + ratio - 1) & 1 == 1);
    bits.fold(0, |dense, bit| dense | 1 << bit)
}

pub(super) fn resolve_morton_decode(call: &Call<'_>) -> Bound {
    bind_decode(call, 8, |code, ratios, numbers| {
        let count = numbers.len();
        for (at, number) in numbers.iter_mut().enumerate() {
            let bits = (0..64_usize).filter(|bit| bit * count + at < 64 && code >> (bit * count + at) & 1 == 1);
            *number = bits.fold(0, |number, bit| number | 1 << bit);
            if let Some(ratio) = ratios.and_then(|ratios| ratios.get(at)) {
                *number = shrink(*number, *ratio);
            }
        }
    })
}

/// The bits of each coordinate. An even number of them: then numbers with fewer bits have the same code.
const ORDER: u32 = 32;

pub(super) fn resolve_hilbert_encode(call: &Call<'_>) -> Bound {
    bind_encode(call, 2, 0..=32, |numbers, shifts| {
        let shift = |at: usize| shifts.and_then(|shifts| shifts.get(at)).copied().unwrap_or(0) as u32;
        match numbers {
            [x, y] => distance_of(x.checked_shl(shift(0)).unwrap_or(0), y.checked_shl(shift(1)).unwrap_or(0)),
            [number] => number.checked_shl(shift(0)).unwrap_or(0),
            _ => 0,
        }
    })
}

pub(super) fn resolve_hilbert_decode(call: &Call<'_>) -> Bound {
    bind_decode(call, 2, |code, shifts, numbers| {
        let shift = |at: usize| shifts.and_then(|shifts| shifts.get(at)).copied().unwrap_or(0) as u32;
        match numbers {
            [x, y] => {
                let (own_x, own_y) = point_of(code);
                (*x, *y) = (own_x.checked_shr(shift(0)).unwrap_or(0), own_y.checked_shr(shift(1)).unwrap_or(0));
            }
            [number] => *number = code.checked_shr(shift(0)).unwrap_or(0),
            _ => {}
        }
    })
}

/// How far along the curve a point is.
fn distance_of(x: u64, y: u64) -> u64 {
    let side = 1_u64 << ORDER;
    let (mut x, mut y) = (y & (side - 1), x & (side - 1));
    let mut distance = 0_u64;
    for level in (0..ORDER).rev() {
        let (right, up) = (x >> level & 1, y >> level & 1);
        distance = distance.wrapping_add(((3 * right) ^ up) << (2 * level));
        (x, y) = turned(x, y, side, right, up);
    }
    distance
}

/// The point so far along the curve.
fn point_of(code: u64) -> (u64, u64) {
    let (mut x, mut y, mut rest) = (0_u64, 0_u64, code);
    for level in 0..ORDER {
        let right = rest >> 1 & 1;
        let up = (rest ^ right) & 1;
        (x, y) = turned(x, y, 1 << level, right, up);
        x += right << level;
        y += up << level;
        rest >>= 2;
    }
    (y, x)
}

/// A quadrant turned so that the curve goes on in it.
fn turned(x: u64, y: u64, side: u64, right: u64, up: u64) -> (u64, u64) {
    match (up, right) {
        (0, 1) => ((side - 1).wrapping_sub(y), (side - 1).wrapping_sub(x)),
        (0, _) => (y, x),
        _ => (x, y),
    }
}
