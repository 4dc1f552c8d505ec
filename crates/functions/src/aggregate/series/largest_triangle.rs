//! `largestTriangleThreeBuckets(n)(x, y)`: so many points that a line through them looks like that through all (Steinarsson,
//! *Downsampling Time Series for Visual Representation*, 2013).

use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint, grow};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::results::value_column;
use crate::aggregate::values::number::floats;
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_count, take_floats};

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let [points] = call.parameters else {
        return Err(call.wrong_parameters("exactly one parameter"));
    };
    let points = points.as_u64().ok_or_else(|| {
        Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Aggregate function {} first parameter must be an unsigned integer", call.name),
        )
    })?;
    let (x, y) = call.two_arguments()?;
    let fits = |data_type: &DataType| data_type.is_number() || data_type.is_date_or_time();
    if let Some(illegal) = [x, y].into_iter().find(|argument| !fits(argument)) {
        return Err(call.illegal_type(illegal));
    }
    let coordinate = |data_type: &DataType| if data_type.is_number() { DataType::Float64 } else { data_type.clone() };
    let point = DataType::tuple([coordinate(x), coordinate(y)]);
    Ok(grouped::function(LargestTriangle { return_type: DataType::array(point), points: points as usize }))
}

#[derive(Debug)]
struct LargestTriangle {
    return_type: DataType,
    points: usize,
}

impl LargestTriangle {
    fn chosen(&self, mut points: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
        points.sort_by(|left, right| left[0].total_cmp(&right[0]));
        let count = points.len();
        if self.points >= count {
            return points;
        }
        let (Some(first), Some(last)) = (points.first().copied(), points.last().copied()) else { return points };
        match self.points {
            0 => return Vec::new(),
            1 => return vec![first],
            2 => return vec![first, last],
            _ => {}
        }
        let width = (count - 2) as f64 / (self.points - 2) as f64;
        let mut chosen = vec![first];
        let mut before = first;
        for bucket in 0..self.points - 2 {
            // The mean of the next bucket is the triangle's third corner.
            let next =
                (((bucket + 1) as f64 * width) as usize + 1)..((((bucket + 2) as f64 * width) as usize + 1).min(count));
            let number = next.len().max(1) as f64;
            let mean = points[next]
                .iter()
                .fold([0.0; 2], |sum, point| [sum[0] + point[0] / number, sum[1] + point[1] / number]);
            let own = (bucket as f64 * width) as usize + 1..((bucket + 1) as f64 * width) as usize + 1;
            let (mut best, mut area_max) = (points[own.start], -1.0);
            for point in &points[own] {
                let area = 0.5
                    * ((before[0] - mean[0]) * (point[1] - before[1]) - (before[0] - point[0]) * (mean[1] - before[1]))
                        .abs();
                if area > area_max {
                    (best, area_max) = (*point, area);
                }
            }
            chosen.push(best);
            before = best;
        }
        chosen.push(last);
        chosen
    }
}

impl StateFunction for LargestTriangle {
    type State = Vec<[f64; 2]>;
    type Rows<'a> = (Vec<f64>, Vec<f64>);

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        Vec::new()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [x, y] = arguments else { return Err(Error::logical("points have two coordinates")) };
        Ok((floats(x)?, floats(y)?))
    }

    fn add(&self, state: &mut Self::State, (xs, ys): &Self::Rows<'_>, row: usize) {
        // A point that no line goes through does not count.
        if xs[row].is_finite() && ys[row].is_finite() {
            state.push([xs[row], ys[row]]);
        }
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        grow(into, from.len())?;
        into.extend(from);
        Ok(())
    }

    fn items(&self, state: &Self::State) -> usize {
        state.len()
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        put_varint(state.len() as u64, out);
        put_varint(state.len() as u64, out);
        state.iter().for_each(|point| point[0].put(out));
        state.iter().for_each(|point| point[1].put(out));
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let (count, same) = (take_count(bytes)?, take_count(bytes)?);
        if count != same {
            return Err(Error::new(ErrorCode::INCORRECT_DATA, "A state of points with more x than y"));
        }
        let mut points = vec![[0.0; 2]; count];
        for at in 0..2 {
            for point in &mut points {
                [point[at]] = take_floats(bytes)?;
            }
        }
        Ok(points)
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let DataType::Array(point) = &self.return_type else { return Err(Error::logical("points are an array")) };
        let DataType::Tuple(elements) = &**point else { return Err(Error::logical("a point is a tuple")) };
        let value = |at: usize, coordinate: f64| match elements.get(at).map(|element| &element.data_type) {
            Some(DataType::Float64) | None => Value::Float64(coordinate),
            Some(DataType::Date32 | DataType::DateTime64(..)) => Value::Int64(coordinate as i64),
            Some(_) => Value::UInt64(coordinate as u64),
        };
        let mut lists = Vec::with_capacity(states.len());
        for state in states {
            checkpoint(state.len() * 100)?;
            let points = self.chosen(state).into_iter();
            lists.push(Value::Array(points.map(|[x, y]| Value::Tuple([value(0, x), value(1, y)].into())).collect()));
        }
        value_column(&self.return_type, lists)
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.capacity() * size_of::<[f64; 2]>()
    }
}
