//! `groupArrayLast`, `groupArraySample`, `groupArraySorted`: some of a group's values as an array: those that came last, a random
//! sample of them, the least.

use std::cmp::Ordering;
use std::marker::PhantomData;
use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use crate::accumulator::AggregateFunction;

use super::pcg::Pcg;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::element::{Element, with_element};
use crate::aggregate::values::state_bytes::{Raw, put_string, take_string};
use crate::aggregate::values::value_list::{ValueList, list_column, read_list, write_list};
use crate::scalar::random::Generator;

/// Which values stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Last,
    Sample,
    Sorted,
}

/// ClickHouse's bound on the number of items.
const ITEMS_MAX: u64 = 0xFF_FFFF;

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let kind = match call.name {
        "groupArrayLast" => Kind::Last,
        "groupArraySample" => Kind::Sample,
        _ => Kind::Sorted,
    };
    let parameters = call.parameters;
    match (kind, parameters) {
        (Kind::Last, []) => {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                "groupArrayLast make sense only with max_elems (groupArrayLast(max_elems)())",
            ));
        }
        (Kind::Sorted, []) => {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("Parameter for aggregate function {} should have limit argument", call.name),
            ));
        }
        (Kind::Sample, [] | [_, _, _, ..]) => {
            return Err(Error::new(
                ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                format!("Incorrect number of parameters for aggregate function {}, should be 1 or 2", call.name),
            ));
        }
        (Kind::Last, [_, _, ..]) => {
            return Err(Error::new(
                ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                format!("Function {} does not support this number of arguments", call.name),
            ));
        }
        _ => {}
    }
    let positive = |value: &Value| {
        value.as_u64().filter(|limit| *limit > 0).ok_or_else(|| {
            Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("Parameter for aggregate function {} should be positive number", call.name),
            )
        })
    };
    let limit = parameters.first().map(positive).transpose()?.unwrap_or(ITEMS_MAX);
    if limit > ITEMS_MAX && kind != Kind::Last {
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, format!("Too large limit parameter for {}", call.name)));
    }
    let begin = match (kind, parameters.get(1)) {
        (Kind::Sample, Some(begin)) => Some(positive(begin)?),
        _ => None,
    };
    let argument = call.argument()?;
    let data_type = DataType::array(argument.clone());
    let limit = limit as usize;
    Ok(
        with_element!(argument, E => grouped::function(Picked::<E> { data_type, kind, limit, begin, element: PhantomData })),
    )
}

#[derive(Debug)]
struct Picked<E> {
    data_type: DataType,
    kind: Kind,
    limit: usize,
    /// What the random numbers of each group begin with; they are of each group's own where nothing is asked for.
    begin: Option<u64>,
    element: PhantomData<E>,
}

/// The values that are kept of those that came.
#[derive(Clone)]
pub(in crate::aggregate) struct Kept<V> {
    values: Vec<V>,
    /// How many came.
    total: u64,
    random: Pcg,
}

impl<E: Element> Picked<E> {
    /// The order of `groupArraySorted`.
    fn compare(left: &E::Owned, right: &E::Owned) -> Ordering {
        if E::replaces(E::as_ref(left), E::as_ref(right), false) {
            Ordering::Less
        } else if E::replaces(E::as_ref(right), E::as_ref(left), false) {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    }

    /// Puts the greatest of a heap's values, which is its first, where it belongs.
    fn sift(heap: &mut [E::Owned]) {
        let mut at = 0;
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let mut greatest = at;
            for child in [left, right] {
                if child < heap.len() && Self::compare(&heap[child], &heap[greatest]).is_gt() {
                    greatest = child;
                }
            }
            if greatest == at {
                return;
            }
            heap.swap(at, greatest);
            at = greatest;
        }
    }

    /// Keeps the least values as a heap with the greatest of them on top.
    fn push_sorted(&self, values: &mut Vec<E::Owned>, value: E::Owned) {
        if values.len() < self.limit {
            values.push(value);
            let mut at = values.len() - 1;
            while at > 0 && Self::compare(&values[at], &values[(at - 1) / 2]).is_gt() {
                values.swap(at, (at - 1) / 2);
                at = (at - 1) / 2;
            }
        } else if let Some(greatest) = values.first_mut()
            && Self::compare(&value, greatest).is_lt()
        {
            *greatest = value;
            Self::sift(values);
        }
    }

    fn push(&self, state: &mut Kept<E::Owned>, value: impl FnOnce() -> E::Owned) {
        state.total += 1;
        match self.kind {
            Kind::Sorted => self.push_sorted(&mut state.values, value()),
            _ if state.values.len() < self.limit => state.values.push(value()),
            Kind::Last => state.values[((state.total - 1) % self.limit as u64) as usize] = value(),
            Kind::Sample => {
                let at = state.random.below(state.total);
                if let Some(place) = usize::try_from(at).ok().and_then(|at| state.values.get_mut(at)) {
                    *place = value();
                }
            }
        }
    }
}

impl<E: Element> StateFunction for Picked<E> {
    type State = Kept<E::Owned>;
    type Rows<'a> = E::Rows<'a>;

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        &self.data_type
    }

    fn state(&self) -> Self::State {
        let begin = match (self.begin, self.kind) {
            (Some(begin), _) => begin,
            (None, Kind::Sample) => Generator::of_thread().next(),
            (None, Kind::Last | Kind::Sorted) => 0,
        };
        Kept { values: Vec::new(), total: 0, random: Pcg::new(begin) }
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column] = arguments else { return Err(Error::logical("an array of values takes one argument")) };
        E::rows(column)
    }

    #[inline]
    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        self.push(state, || E::own(E::get(rows, row)));
    }

    fn merge(&self, into: &mut Self::State, mut from: Self::State) -> Result<()> {
        match self.kind {
            Kind::Sorted => {
                let total = into.total + from.total;
                from.values.into_iter().for_each(|value| self.push_sorted(&mut into.values, value));
                into.total = total;
            }
            Kind::Last => {
                // In the order in which they came.
                if from.total > self.limit as u64 {
                    from.values.rotate_left((from.total % self.limit as u64) as usize);
                }
                let total = into.total + from.total;
                from.values.into_iter().for_each(|value| self.push(into, || value));
                let shift = (total % self.limit as u64) as i64 - (into.total % self.limit as u64) as i64;
                if into.values.len() == self.limit {
                    into.values.rotate_right(shift.rem_euclid(self.limit as i64) as usize);
                }
                into.total = total;
            }
            Kind::Sample => {
                if from.total <= self.limit as u64 {
                    from.values.into_iter().for_each(|value| self.push(into, || value));
                } else if into.total <= self.limit as u64 {
                    let mut from = from;
                    std::mem::swap(into, &mut from);
                    from.values.into_iter().for_each(|value| self.push(into, || value));
                } else {
                    // Each place keeps its value with a chance that is its side's share of all values.
                    let all = into.total + from.total;
                    for (place, value) in into.values.iter_mut().zip(from.values) {
                        if into.random.below(all) >= into.total {
                            *place = value;
                        }
                    }
                    into.total = all;
                }
            }
        }
        Ok(())
    }

    fn items(&self, state: &Self::State) -> usize {
        state.values.len()
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        if self.kind == Kind::Sorted {
            let mut values: Vec<&E::Owned> = state.values.iter().collect();
            values.sort_by(|left, right| Self::compare(left, right));
            return write_list::<E>(&self.data_type, values.len(), values.into_iter(), out);
        }
        write_list::<E>(&self.data_type, state.values.len(), state.values.iter(), out)?;
        state.total.put(out);
        if self.kind == Kind::Sample {
            put_string(state.random.text().as_bytes(), out);
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let mut state = self.state();
        let values = read_list::<E>(&self.data_type, bytes)?;
        if self.kind == Kind::Sorted {
            values.into_iter().for_each(|value| self.push(&mut state, || value));
            return Ok(state);
        }
        state.values = values;
        state.total = Raw::take(bytes)?;
        if self.kind == Kind::Sample {
            state.random = Pcg::parse(take_string(bytes)?)?;
        }
        if state.values.len() > self.limit || (state.values.len() as u64) > state.total {
            return Err(Error::new(ErrorCode::INCORRECT_DATA, "A state of an array with too many items"));
        }
        Ok(state)
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let list = |mut state: Self::State| {
            if self.kind == Kind::Sorted {
                state.values.sort_by(Self::compare);
            }
            ValueList::from(state.values)
        };
        list_column::<E>(&self.data_type, states.into_iter().map(list))
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.values.capacity() * size_of::<E::Owned>() + state.values.iter().map(E::heap_bytes).sum::<usize>()
    }
}
