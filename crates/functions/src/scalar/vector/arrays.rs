//! Vectors that are arrays: one loop over the items of both sides, with four sums side by side, as ClickHouse has them (the order in
//! which floats are added is part of the result).

use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow_array::ArrowPrimitiveType;
use arrow_array::types::{Float32Type, Float64Type, Int64Type, UInt64Type};
use squall_types::cast::{CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint, least_supertype};

use crate::function::{Argument, BoundFunction};
use crate::registry::resolve_scalar;
use crate::scalar::array::{Lists, list_column};
use crate::scalar::simple::Call;

type Bound = Result<Arc<dyn BoundFunction>>;

/// Which length of a vector counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    L1,
    L2,
    L2Squared,
    Linf,
    Lp,
    Cosine,
}

impl Measure {
    /// How many arguments it takes beside those of vectors.
    pub fn arguments(self, vectors: usize) -> RangeInclusive<usize> {
        let count = vectors + usize::from(self == Self::Lp);
        count..=count
    }

    fn name(self) -> &'static str {
        match self {
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L2Squared => "L2Squared",
            Self::Linf => "Linf",
            Self::Lp => "Lp",
            Self::Cosine => "Cosine",
        }
    }
}

/// The power of `Lp`: a constant from 1 on.
pub(super) fn power(call: &Call<'_>, at: usize) -> Result<f64> {
    let power = call.constant(at).ok_or_else(|| {
        Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("Argument at index {at} for function {} must be constant", call.name),
        )
    })?;
    let number = power
        .as_f64()
        .filter(|_| call.type_of(at).is_number() || call.type_of(at).is_wide_integer())
        .ok_or_else(|| {
            Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!("Argument p of function {} must be a numeric constant", call.name),
            )
        })?;
    Some(number).filter(|power| *power >= 1.0 && power.is_finite()).ok_or_else(|| {
        Error::new(
            ErrorCode::ARGUMENT_OUT_OF_BOUND,
            format!("Second argument for function {} must be a finite number not less than one", call.name),
        )
    })
}

fn item_type<'a>(call: &Call<'a>, at: usize, name: &str) -> Result<&'a DataType> {
    match call.type_of(at) {
        DataType::Array(item) => Ok(item),
        _ => Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Argument {at} of function {name} must be array"),
        )),
    }
}

/// The type in which these items are computed with.
fn float_type(items: &[DataType], name: &str) -> Result<DataType> {
    let common = least_supertype(items)?;
    match common {
        DataType::Float32 => Ok(DataType::Float32),
        _ if is_plain_number(&common) => Ok(DataType::Float64),
        _ => Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Arguments of function {name} has nested type {common}. Supported types: UInt8, UInt16, UInt32, UInt64, \
                 Int8, Int16, Int32, Int64, BFloat16, Float32, Float64"
            ),
        )),
    }
}

fn is_plain_number(data_type: &DataType) -> bool {
    data_type.is_number() && data_type.fixed_width_bytes().is_some_and(|width| width <= 8)
}

/// A float in which vectors are computed with.
trait Float: ArrowPrimitiveType {
    fn add(left: Self::Native, right: Self::Native) -> Self::Native;
    fn difference(left: Self::Native, right: Self::Native) -> Self::Native;
    fn times(left: Self::Native, right: Self::Native) -> Self::Native;
    fn absolute(value: Self::Native) -> Self::Native;
    fn greatest(left: Self::Native, right: Self::Native) -> Self::Native;
    fn root(value: Self::Native) -> Self::Native;
    fn power(value: Self::Native, power: f64) -> Self::Native;
    fn over(left: Self::Native, right: Self::Native) -> Self::Native;
    fn cosine(product: Self::Native, left: Self::Native, right: Self::Native) -> Self::Native;
}

macro_rules! float {
    ($($arrow:ty => $native:ty),*) => {
        $(impl Float for $arrow {
            #[inline(always)]
            fn add(left: $native, right: $native) -> $native {
                left + right
            }

            #[inline(always)]
            fn difference(left: $native, right: $native) -> $native {
                left - right
            }

            #[inline(always)]
            fn times(left: $native, right: $native) -> $native {
                left * right
            }

            #[inline(always)]
            fn absolute(value: $native) -> $native {
                value.abs()
            }

            #[inline(always)]
            fn greatest(left: $native, right: $native) -> $native {
                left.max(right)
            }

            #[inline(always)]
            fn root(value: $native) -> $native {
                value.sqrt()
            }

            #[inline(always)]
            fn power(value: $native, power: f64) -> $native {
                f64::from(value).powf(power) as $native
            }

            #[inline(always)]
            fn over(left: $native, right: $native) -> $native {
                left / right
            }

            #[inline(always)]
            fn cosine(product: $native, left: $native, right: $native) -> $native {
                // Rounding must not make a distance negative; NaN stays.
                let distance = 1.0 - product / (left * right).sqrt();
                if distance < 0.0 { 0.0 } else { distance }
            }
        })*
    };
}

float!(Float32Type => f32, Float64Type => f64);

/// The sums that a measure needs.
type State<T> = [<T as ArrowPrimitiveType>::Native; 3];

#[inline(always)]
fn step<T: Float>(measure: Measure, power: f64, state: &mut State<T>, left: T::Native, right: T::Native) {
    let [sum, of_left, of_right] = state;
    let apart = T::difference(left, right);
    match measure {
        Measure::L1 => *sum = T::add(*sum, T::absolute(apart)),
        Measure::L2 | Measure::L2Squared => *sum = T::add(*sum, T::times(apart, apart)),
        Measure::Linf => *sum = T::greatest(*sum, T::absolute(apart)),
        Measure::Lp => *sum = T::add(*sum, T::power(T::absolute(apart), power)),
        Measure::Cosine => {
            *sum = T::add(*sum, T::times(left, right));
            *of_left = T::add(*of_left, T::times(left, left));
            *of_right = T::add(*of_right, T::times(right, right));
        }
    }
}

#[inline(always)]
fn measured<T: Float>(
    measure: Measure,
    power: f64,
    left: &[T::Native],
    right: impl Fn(usize) -> T::Native,
) -> T::Native {
    const LANES: usize = 4;
    let mut lanes: [State<T>; LANES] = [[T::default_value(); 3]; LANES];
    // The last items go one by one even where they fill the lanes once more.
    let whole = left.len().saturating_sub(1) / LANES * LANES;
    let mut at = 0;
    for items in left[..whole].chunks_exact(LANES) {
        for (lane, item) in lanes.iter_mut().zip(items) {
            step::<T>(measure, power, lane, *item, right(at));
            at += 1;
        }
    }
    let mut state: State<T> = [T::default_value(); 3];
    for lane in lanes {
        for (sum, part) in state.iter_mut().zip(lane) {
            *sum = if measure == Measure::Linf { T::greatest(*sum, part) } else { T::add(*sum, part) };
        }
    }
    for item in &left[whole..] {
        step::<T>(measure, power, &mut state, *item, right(at));
        at += 1;
    }
    let [sum, of_left, of_right] = state;
    match measure {
        Measure::L2 => T::root(sum),
        Measure::Lp => T::power(sum, 1.0 / power),
        Measure::Cosine => T::cosine(sum, of_left, of_right),
        Measure::L1 | Measure::L2Squared | Measure::Linf => sum,
    }
}

/// The items of an array argument as floats.
fn vectors(arguments: &[Column], at: usize, item: &DataType) -> Result<(Lists, Column)> {
    let lists = Lists::of(arguments, at)?;
    let items = cast(&lists.items, item, &CastOptions::default())?;
    checkpoint(items.rows())?;
    Ok((lists, items))
}

pub(super) fn norm(call: &Call<'_>, measure: Measure) -> Bound {
    let name = format!("array{}Norm", measure.name());
    let result = float_type(&[item_type(call, 0, &name)?.clone()], &name)?;
    let power = if measure == Measure::Lp { power(call, 1)? } else { 1.0 };
    call.bind(result.clone(), move |arguments, rows| {
        fn run<T: Float>(lists: &Lists, items: &Column, measure: Measure, power: f64, rows: usize) -> Result<Column> {
            let values = items.as_primitive::<T>()?.values();
            let of_row = |row| measured::<T>(measure, power, &values[lists.range(row)], |_| T::default_value());
            Ok(Column::from_primitive::<T>(items.data_type().clone(), (0..rows).map(of_row).collect()))
        }
        let (lists, items) = vectors(arguments, 0, &result)?;
        match result {
            DataType::Float32 => run::<Float32Type>(&lists, &items, measure, power, rows),
            _ => run::<Float64Type>(&lists, &items, measure, power, rows),
        }
    })
}

pub(super) fn normalize(call: &Call<'_>, measure: Measure) -> Bound {
    let name = format!("array{}Norm", measure.name());
    let item = float_type(&[item_type(call, 0, &name)?.clone()], &name)?;
    let power = if measure == Measure::Lp { power(call, 1)? } else { 1.0 };
    call.bind(DataType::array(item.clone()), move |arguments, rows| {
        fn run<T: Float>(lists: &Lists, items: &Column, measure: Measure, power: f64, rows: usize) -> Result<Column> {
            let values = items.as_primitive::<T>()?.values();
            let mut divided = Vec::with_capacity(values.len());
            let mut ends = vec![0];
            for row in 0..rows {
                let own = &values[lists.range(row)];
                let norm = measured::<T>(measure, power, own, |_| T::default_value());
                divided.extend(own.iter().map(|item| T::over(*item, norm)));
                ends.push(divided.len() as i32);
            }
            let divided = Column::from_primitive::<T>(items.data_type().clone(), divided);
            list_column(divided.data_type(), ends, divided.array().clone())
        }
        let (lists, items) = vectors(arguments, 0, &item)?;
        match item {
            DataType::Float32 => run::<Float32Type>(&lists, &items, measure, power, rows),
            _ => run::<Float64Type>(&lists, &items, measure, power, rows),
        }
    })
}

pub(super) fn distance(call: &Call<'_>, measure: Measure) -> Bound {
    let name = format!("array{}Distance", measure.name());
    let items = [item_type(call, 0, &name)?.clone(), item_type(call, 1, &name)?.clone()];
    let result = float_type(&items, &name)?;
    let power = if measure == Measure::Lp { power(call, 2)? } else { 1.0 };
    call.bind(result.clone(), move |arguments, rows| {
        fn run<T: Float>(
            (left, left_items): &(Lists, Column),
            (right, right_items): &(Lists, Column),
            (measure, power): (Measure, f64),
            rows: usize,
        ) -> Result<Column> {
            let (of_left, of_right) =
                (left_items.as_primitive::<T>()?.values(), right_items.as_primitive::<T>()?.values());
            let of_row = |row| {
                let other = &of_right[right.range(row)];
                measured::<T>(measure, power, &of_left[left.range(row)], |at| other[at])
            };
            Ok(Column::from_primitive::<T>(left_items.data_type().clone(), (0..rows).map(of_row).collect()))
        }
        let (left, right) = (vectors(arguments, 0, &result)?, vectors(arguments, 1, &result)?);
        left.0
            .check_lengths(&right.0, rows, || format!("Array arguments for function {name} must have equal sizes"))?;
        match result {
            DataType::Float32 => run::<Float32Type>(&left, &right, (measure, power), rows),
            _ => run::<Float64Type>(&left, &right, (measure, power), rows),
        }
    })
}

/// `dotProduct(array, array)`: in the type of the product of two items; integers wrap.
pub(super) fn dot_product(call: &Call<'_>) -> Bound {
    const NAME: &str = "arrayDotProduct";
    let items = [item_type(call, 0, NAME)?.clone(), item_type(call, 1, NAME)?.clone()];
    if let Some(other) = items.iter().find(|item| !is_plain_number(item)) {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Function {NAME} cannot process values of type {other}"),
        ));
    }
    let result = if items.iter().all(|item| *item == DataType::Float32) {
        DataType::Float32
    } else {
        let [left, right] = items;
        resolve_scalar("multiply", &[Argument::of(left), Argument::of(right)], call.context)?.return_type().clone()
    };
    // Integers are summed in the widest type, whose low bits are those of narrower ones.
    let working = match &result {
        DataType::Float32 | DataType::Float64 => result.clone(),
        signed if signed.is_signed_integer() => DataType::Int64,
        _ => DataType::UInt64,
    };
    call.bind(result.clone(), move |arguments, rows| {
        let (left, right) = (vectors(arguments, 0, &working)?, vectors(arguments, 1, &working)?);
        left.0
            .check_lengths(&right.0, rows, || format!("Array arguments for function {NAME} must have equal sizes"))?;
        macro_rules! summed {
            ($arrow:ty, $zero:expr, $times:expr, $add:expr) => {{
                let (of_left, of_right) =
                    (left.1.as_primitive::<$arrow>()?.values(), right.1.as_primitive::<$arrow>()?.values());
                let of_row = |row: usize| {
                    let pairs = of_left[left.0.range(row)].iter().zip(&of_right[right.0.range(row)]);
                    pairs.map(|(left, right)| $times(*left, *right)).fold($zero, $add)
                };
                Column::from_primitive::<$arrow>(working.clone(), (0..rows).map(of_row).collect())
            }};
        }
        let sums = match working {
            DataType::Float32 => summed!(Float32Type, 0.0, |l: f32, r: f32| l * r, |sum: f32, item: f32| sum + item),
            DataType::Float64 => summed!(Float64Type, 0.0, |l: f64, r: f64| l * r, |sum: f64, item: f64| sum + item),
            DataType::Int64 => summed!(Int64Type, 0, i64::wrapping_mul, i64::wrapping_add),
            _ => summed!(UInt64Type, 0, u64::wrapping_mul, u64::wrapping_add),
        };
        cast(&sums, &result, &CastOptions::default())
    })
}
