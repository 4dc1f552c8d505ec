//! `simpleLinearRegression` and the `regr_…` functions of the SQL standard: the line of least squares through points.

use std::sync::Arc;

use arrow_array::types::{Float64Type, UInt64Type};
use squall_types::{Column, DataType, Error, Result, Value};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::results::{float_tuple, float_values};
use crate::aggregate::sums::float_sums::{self, FloatSums};
use crate::aggregate::values::number::floats;
use crate::aggregate::values::state_bytes::{Raw, take_floats};

pub(in crate::aggregate) fn resolve_simple(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    call.numbers(2)?;
    Ok(float_sums::function(Line { return_type: float_tuple(&["k", "b"]) }))
}

/// `simpleLinearRegression(x, y)`: slope and intercept.
#[derive(Debug)]
struct Line {
    return_type: DataType,
}

impl FloatSums<5> for Line {
    const COUNTS: usize = 1;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn add(&self, [count, x, y, xx, xy]: &mut [f64; 5], arguments: &[Vec<f64>], row: usize) {
        let (left, right) = (arguments[0][row], arguments[1][row]);
        *count += 1.0;
        *x += left;
        *y += right;
        *xx += left * left;
        *xy += left * right;
    }

    fn result(&self, [count, x, y, xx, xy]: &[f64; 5]) -> Result<Value> {
        let divisor = xx * count - x * x;
        if divisor == 0.0 || *count == 0.0 {
            return Ok(float_values(&[f64::NAN, f64::NAN]));
        }
        let slope = (xy * count - x * y) / divisor;
        Ok(float_values(&[slope, (y - slope * x) / count]))
    }
}

/// What a `regr_` function tells of the line of `y` over `x`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    AverageX,
    AverageY,
    Count,
    Intercept,
    Determination,
    Slope,
    SquaresX,
    Products,
    SquaresY,
}

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    call.numbers(2)?;
    let kind = match call.name {
        "regr_avgx" => Kind::AverageX,
        "regr_avgy" => Kind::AverageY,
        "regr_count" => Kind::Count,
        "regr_intercept" => Kind::Intercept,
        "regr_r2" => Kind::Determination,
        "regr_slope" => Kind::Slope,
        "regr_sxx" => Kind::SquaresX,
        "regr_sxy" => Kind::Products,
        _ => Kind::SquaresY,
    };
    let return_type = if kind == Kind::Count { DataType::UInt64 } else { DataType::Float64 };
    let (y, x) = call.two_arguments()?;
    Ok(grouped::function(Regression { kind, return_type, first: [x.clone(), y.clone()] }))
}

#[derive(Debug)]
struct Regression {
    kind: Kind,
    return_type: DataType,
    /// The types of the first point's numbers.
    first: [DataType; 2],
}

/// Appends a number as wide as its type is.
fn put_number(number: f64, data_type: &DataType, out: &mut Vec<u8>) {
    match data_type {
        DataType::Float64 => number.put(out),
        DataType::Float32 => (number as f32).put(out),
        DataType::Int8 => (number as i8).put(out),
        DataType::Int16 => (number as i16).put(out),
        DataType::Int32 => (number as i32).put(out),
        DataType::Int64 => (number as i64).put(out),
        DataType::UInt16 => (number as u16).put(out),
        DataType::UInt32 => (number as u32).put(out),
        DataType::UInt64 => (number as u64).put(out),
        _ => (number as u8).put(out),
    }
}

/// Takes what [`put_number`] wrote.
fn take_number(data_type: &DataType, bytes: &mut &[u8]) -> Result<f64> {
    Ok(match data_type {
        DataType::Float64 => Raw::take(bytes)?,
        DataType::Float32 => f64::from(f32::take(bytes)?),
        DataType::Int8 => f64::from(i8::take(bytes)?),
        DataType::Int16 => f64::from(i16::take(bytes)?),
        DataType::Int32 => f64::from(i32::take(bytes)?),
        DataType::Int64 => i64::take(bytes)? as f64,
        DataType::UInt16 => f64::from(u16::take(bytes)?),
        DataType::UInt32 => f64::from(u32::take(bytes)?),
        DataType::UInt64 => u64::take(bytes)? as f64,
        _ => f64::from(u8::take(bytes)?),
    })
}

/// Sums of the distances from the first point, which lose fewer digits than those of the values.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::aggregate) struct Sums {
    count: u64,
    first: [f64; 2],
    x: f64,
    y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
}

impl Sums {
    fn spread(&self, squares: f64, left: f64, right: f64) -> f64 {
        squares - left * right / self.count as f64
    }

    /// The same sums of distances from another point.
    fn moved_to(mut self, first: [f64; 2]) -> Self {
        let (dx, dy) = (self.first[0] - first[0], self.first[1] - first[1]);
        let count = self.count as f64;
        self.xx += 2.0 * dx * self.x + count * dx * dx;
        self.yy += 2.0 * dy * self.y + count * dy * dy;
        self.xy += dx * self.y + dy * self.x + count * dx * dy;
        self.x += count * dx;
        self.y += count * dy;
        self.first = first;
        self
    }
}

impl StateFunction for Regression {
    type State = Sums;
    type Rows<'a> = (Vec<f64>, Vec<f64>);

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Sums {
        Sums::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [y, x] = arguments else { return Err(Error::logical("a regression takes two arguments")) };
        Ok((floats(x)?, floats(y)?))
    }

    #[inline]
    fn add(&self, state: &mut Sums, (xs, ys): &Self::Rows<'_>, row: usize) {
        if state.count == 0 {
            state.first = [xs[row], ys[row]];
        }
        let (x, y) = (xs[row] - state.first[0], ys[row] - state.first[1]);
        state.count += 1;
        state.x += x;
        state.y += y;
        state.xx += x * x;
        state.yy += y * y;
        state.xy += x * y;
    }

    fn merge(&self, into: &mut Sums, from: Sums) -> Result<()> {
        if into.count == 0 {
            *into = from;
        } else if from.count > 0 {
            let from = from.moved_to(into.first);
            into.count += from.count;
            into.x += from.x;
            into.y += from.y;
            into.xx += from.xx;
            into.yy += from.yy;
            into.xy += from.xy;
        }
        Ok(())
    }

    fn write(&self, state: &Sums, out: &mut Vec<u8>) -> Result<()> {
        state.count.put(out);
        if self.kind != Kind::Count {
            let Sums { first, x, y, xx, yy, xy, .. } = *state;
            first.iter().zip(&self.first).for_each(|(number, data_type)| put_number(*number, data_type, out));
            [x, y, xx, yy, xy].into_iter().for_each(|sum| sum.put(out));
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Sums> {
        let count = Raw::take(bytes)?;
        if self.kind == Kind::Count {
            return Ok(Sums { count, ..Sums::default() });
        }
        let [first_x, first_y] = &self.first;
        let first = [take_number(first_x, bytes)?, take_number(first_y, bytes)?];
        let [x, y, xx, yy, xy] = take_floats(bytes)?;
        Ok(Sums { count, first, x, y, xx, yy, xy })
    }

    fn finish(&self, states: Vec<Sums>) -> Result<Column> {
        if self.kind == Kind::Count {
            let counts = states.iter().map(|state| state.count).collect();
            return Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, counts));
        }
        let result = |state: &Sums| {
            if state.count == 0 {
                return f64::NAN;
            }
            let count = state.count as f64;
            let (average_x, average_y) = (state.first[0] + state.x / count, state.first[1] + state.y / count);
            let (xx, yy) = (state.spread(state.xx, state.x, state.x), state.spread(state.yy, state.y, state.y));
            let xy = state.spread(state.xy, state.x, state.y);
            match self.kind {
                Kind::AverageX => average_x,
                Kind::AverageY => average_y,
                Kind::SquaresX => xx,
                Kind::SquaresY => yy,
                Kind::Products => xy,
                _ if xx == 0.0 => f64::NAN,
                Kind::Slope => xy / xx,
                Kind::Intercept => (state.y - xy / xx * state.x) / count + state.first[1] - xy / xx * state.first[0],
                _ if yy == 0.0 => 1.0,
                _ => xy * xy / (xx * yy),
            }
        };
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, states.iter().map(result).collect()))
    }
}
