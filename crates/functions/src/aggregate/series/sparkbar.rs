//! `sparkbar(width[, begin, end])(x, y)`: a bar chart of blocks: the sums of `y` over equal ranges of `x`.

use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint, convert_value};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::results::value_column;
use crate::aggregate::values::ordered::Numbers;
use crate::aggregate::values::state_bytes::{put_varint, take_count};
use crate::aggregate::values::tally::Tally;

/// The blocks, from no height on.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

const WIDTH_MAX: u64 = 1024;

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let (x, y) = call.two_arguments()?;
    let (width, ends) = match call.parameters {
        [width] => (width, None),
        [width, begin, end] => (width, Some([begin, end])),
        _ => return Err(call.wrong_parameters("1 or 3 parameters")),
    };
    let width = width
        .as_u64()
        .filter(|width| (2..=WIDTH_MAX).contains(width))
        .ok_or_else(|| Error::new(ErrorCode::BAD_ARGUMENTS, "Parameter width must be in range [2, 1024]"))?;
    let is_place = x.is_unsigned_integer() || matches!(x, DataType::Date | DataType::DateTime(_));
    let (Some(places), Some(heights)) = (Numbers::of(x).filter(|_| is_place), Numbers::of(y).filter(|_| y.is_number()))
    else {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "The first argument type must be uint or datetime and the second a number in aggregate function {}",
                call.name
            ),
        ));
    };
    let place = |value: &Value| match convert_value(value, x) {
        Ok(value) => Ok(value.as_u64().unwrap_or(0)),
        Err(error) => Err(error),
    };
    let range = match ends {
        None => (0, u64::MAX >> (64 - 8 * places.width().clamp(1, 8))),
        Some([begin, end]) => (place(begin)?, place(end)?),
    };
    if range.0 >= range.1 {
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "Parameter `min_x` must be less than `max_x`"));
    }
    Ok(grouped::function(Sparkbar {
        width: width as usize,
        range,
        is_given: ends.is_some(),
        is_float: y.is_float(),
        places,
        heights,
    }))
}

#[derive(Debug)]
struct Sparkbar {
    width: usize,
    /// The first and the last place that count.
    range: (u64, u64),
    is_given: bool,
    /// Whether heights are floats.
    is_float: bool,
    places: Numbers,
    heights: Numbers,
}

/// The sum at each place, and the ends of all places and heights.
#[derive(Clone)]
pub(in crate::aggregate) struct Points {
    sums: Tally<u64, f64>,
    places: (u64, u64),
    heights: (f64, f64),
}

impl Sparkbar {
    fn insert(&self, state: &mut Points, place: u64, height: f64) {
        if place < self.range.0 || place > self.range.1 {
            return;
        }
        state.places.0 = state.places.0.min(place);
        state.places.1 = state.places.1.max(place);
        if height.is_nan() || height <= 0.0 {
            return;
        }
        let sum = state.sums.of(place);
        *sum += height;
        state.heights.0 = state.heights.0.min(*sum);
        state.heights.1 = state.heights.1.max(*sum);
    }

    fn bars(&self, state: &Points) -> String {
        if state.sums.len() == 0 {
            return String::new();
        }
        let (first, last) = if self.is_given { self.range } else { state.places };
        if first >= last {
            return BLOCKS[8].to_string();
        }
        let places = (last - first).saturating_add(1) as f64;
        // Sums of each bar, and how many places it has.
        let mut bars = vec![0.0; self.width];
        let is_narrow = places <= self.width as f64;
        let mut counts = vec![0_u64; self.width];
        for (place, sum) in state.sums.sorted() {
            let at = (place - first) as f64;
            let bar = if is_narrow { at * (self.width as f64 / places) } else { at * self.width as f64 / places };
            let bar = (bar as usize).min(self.width - 1);
            bars[bar] += sum;
            counts[bar] += 1;
        }
        // Integers are divided as integers.
        let divided = |value: f64, by: f64| if self.is_float { value / by } else { (value / by).floor() };
        let counted = bars.iter_mut().zip(&counts).filter(|(_, count)| **count > 0);
        counted.for_each(|(bar, count)| *bar = divided(*bar, *count as f64));
        let highest = bars.iter().copied().fold(0.0, f64::max);
        if highest == 0.0 {
            return String::new();
        }
        let block = |bar: &f64| {
            if *bar <= 0.0 {
                return BLOCKS[0];
            }
            let level = if self.is_float { bar / (highest / 7.0) } else { divided(bar * 7.0, highest) };
            BLOCKS.get(level as usize + 1).copied().unwrap_or(BLOCKS[0])
        };
        bars.iter().map(block).collect()
    }
}

impl StateFunction for Sparkbar {
    type State = Points;
    type Rows<'a> = (Vec<u64>, Vec<u64>);

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        &DataType::String
    }

    fn state(&self) -> Points {
        Points { sums: Tally::default(), places: (u64::MAX, 0), heights: (f64::INFINITY, 0.0) }
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [x, y] = arguments else { return Err(Error::logical("sparkbar takes two arguments")) };
        Ok((self.places.ranks(x)?, self.heights.ranks(y)?))
    }

    fn add(&self, state: &mut Points, (places, heights): &Self::Rows<'_>, row: usize) {
        self.insert(state, places[row], self.heights.to_f64(heights[row]));
    }

    fn merge(&self, into: &mut Points, from: Points) -> Result<()> {
        checkpoint(from.sums.len() * 50)?;
        from.sums.iter().for_each(|(place, height)| self.insert(into, place, height));
        Ok(())
    }

    fn items(&self, state: &Points) -> usize {
        state.sums.len()
    }

    fn write(&self, state: &Points, out: &mut Vec<u8>) -> Result<()> {
        let places = |place: u64, out: &mut Vec<u8>| self.places.put(place, out);
        let heights = |height: f64, out: &mut Vec<u8>| self.heights.put(self.heights.rank_of(height), out);
        places(state.places.0, out);
        places(state.places.1, out);
        heights(state.heights.0, out);
        heights(state.heights.1, out);
        put_varint(state.sums.len() as u64, out);
        for (place, sum) in state.sums.sorted() {
            places(place, out);
            heights(sum, out);
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Points> {
        let mut state = self.state();
        for numbers in [self.places, self.places, self.heights, self.heights] {
            numbers.take(bytes)?;
        }
        for _ in 0..take_count(bytes)? {
            let (place, sum) = (self.places.take(bytes)?, self.heights.take(bytes)?);
            self.insert(&mut state, place, self.heights.to_f64(sum));
        }
        Ok(state)
    }

    fn finish(&self, states: Vec<Points>) -> Result<Column> {
        value_column(&DataType::String, states.iter().map(|state| Value::from(self.bars(state).as_str())))
    }

    fn heap_bytes(&self, state: &Points) -> usize {
        state.sums.heap_bytes()
    }
}
