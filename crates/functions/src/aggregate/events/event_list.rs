//! Functions of events in time: each row has a time and conditions that it fulfils. The list of events, how it merges and how it is
//! written are here; `sequence` and `funnel` say what is looked for in it.

use std::fmt::Debug;
use std::sync::Arc;

use arrow_array::types::UInt8Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint, grow};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::row_hash::number_bits;
use crate::aggregate::values::state_bytes::{Raw, take_bytes};

/// Something that happened at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::aggregate) struct Event {
    pub time: u64,
    /// What happened: as the function reads it.
    pub what: u64,
    /// The number of the row, where the function asks for it.
    pub row: u64,
}

/// What a function makes of the events of a group.
pub(in crate::aggregate) trait OfEvents: Debug + Send + Sync + 'static {
    /// Bytes in which a state has what happened.
    const WHAT_BYTES: usize;

    fn return_type(&self) -> &DataType;

    /// Appends the events of a row, given which conditions hold; `row` numbers the rows of the state from 1.
    fn events_of(&self, time: u64, holds: &mut dyn Iterator<Item = bool>, row: u64, events: &mut Vec<Event>);

    /// Whether the number of its row is part of an event.
    fn numbers_rows(&self) -> bool {
        false
    }

    /// Whether events of one time are in the order of what they are, rather than as they came.
    const ORDERED_BY_WHAT: bool = false;

    /// The results, given each group's events in order.
    fn finish(&self, groups: Vec<Vec<Event>>) -> Result<Column>;
}

/// The [`AggregateFunction`] of [`OfEvents`]; `time` is the type of the first argument.
pub(in crate::aggregate) fn function(function: impl OfEvents, time: &DataType) -> Result<Arc<dyn AggregateFunction>> {
    let width = time.fixed_width_bytes().ok_or_else(|| Error::logical("times are numbers"))?;
    Ok(grouped::function(Listed { function, width }))
}

/// Checks the arguments: a time, then so many conditions at least.
pub(in crate::aggregate) fn check_arguments(
    call: &Call<'_>,
    is_time: impl Fn(&DataType) -> bool,
    times: &str,
) -> Result<()> {
    let [time, conditions @ ..] = call.arguments else { return Ok(()) };
    if !is_time(time) {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Illegal type {time} of first argument of aggregate function {}, must be {times}", call.name),
        ));
    }
    let wrong = conditions.iter().position(|condition| !matches!(condition, DataType::UInt8 | DataType::Bool));
    wrong.map_or(Ok(()), |at| {
        Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Illegal type {} of argument {} of aggregate function {}, must be UInt8",
                conditions[at],
                at + 2,
                call.name
            ),
        ))
    })
}

#[derive(Debug)]
struct Listed<F> {
    function: F,
    /// Bytes of a time.
    width: usize,
}

/// Events, and whether they are in order.
#[derive(Clone, Default)]
pub(in crate::aggregate) struct Events {
    events: Vec<Event>,
    sorted: bool,
    rows: u64,
}

impl<F: OfEvents> Listed<F> {
    /// Where an event belongs.
    fn place(event: &Event) -> (u64, u64) {
        (event.time, if F::ORDERED_BY_WHAT { event.what } else { 0 })
    }

    fn sort(state: &mut Events) {
        if !state.sorted {
            state.events.sort_by_key(Self::place);
            state.sorted = true;
        }
    }
}

/// The conditions of a block's rows.
pub(in crate::aggregate) struct Rows<'a> {
    times: Vec<u64>,
    conditions: Vec<&'a [u8]>,
}

impl<F: OfEvents> StateFunction for Listed<F> {
    type State = Events;
    type Rows<'a> = Rows<'a>;

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        self.function.return_type()
    }

    fn state(&self) -> Events {
        Events { events: Vec::new(), sorted: true, rows: 0 }
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Rows<'a>> {
        let [times, conditions @ ..] = arguments else { return Err(Error::logical("events have a time")) };
        let times = number_bits(times).ok_or_else(|| Error::logical("times are numbers"))?;
        let condition = |column: &'a Column| Ok(&**column.as_primitive::<UInt8Type>()?.values());
        Ok(Rows { times, conditions: conditions.iter().map(condition).collect::<Result<_>>()? })
    }

    fn add(&self, state: &mut Events, rows: &Rows<'_>, row: usize) {
        let before = state.events.len();
        state.rows += 1;
        let mut holds = rows.conditions.iter().map(|condition| condition[row] != 0);
        self.function.events_of(rows.times[row], &mut holds, state.rows, &mut state.events);
        state.sorted = state.sorted && state.events[before.saturating_sub(1)..].is_sorted_by_key(Self::place);
    }

    fn merge(&self, into: &mut Events, mut from: Events) -> Result<()> {
        if from.events.is_empty() {
            return Ok(());
        }
        checkpoint((into.events.len() + from.events.len()) * 10)?;
        grow(&mut into.events, from.events.len())?;
        let rows = into.rows;
        from.events.iter_mut().for_each(|event| event.row += rows);
        into.sorted &=
            from.sorted && into.events.last().is_none_or(|last| Self::place(last) <= Self::place(&from.events[0]));
        into.events.append(&mut from.events);
        into.rows += from.rows;
        Ok(())
    }

    fn items(&self, state: &Events) -> usize {
        state.events.len()
    }

    fn write(&self, state: &Events, out: &mut Vec<u8>) -> Result<()> {
        out.push(u8::from(state.sorted));
        (state.events.len() as u64).put(out);
        for event in &state.events {
            out.extend_from_slice(&event.time.to_le_bytes()[..self.width]);
            out.extend_from_slice(&event.what.to_le_bytes()[..F::WHAT_BYTES]);
            if self.function.numbers_rows() {
                event.row.put(out);
            }
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Events> {
        let sorted = u8::take(bytes)? != 0;
        let count = u64::take(bytes)?;
        let mut number = |width: usize| -> Result<u64> {
            let mut number = [0; 8];
            number[..width].copy_from_slice(take_bytes(bytes, width)?);
            Ok(u64::from_le_bytes(number))
        };
        let mut events = Vec::new();
        for _ in 0..count {
            checkpoint(8)?;
            let (time, what) = (number(self.width)?, number(F::WHAT_BYTES)?);
            let row = if self.function.numbers_rows() { number(8)? } else { 0 };
            events.push(Event { time, what, row });
        }
        let rows = events.iter().map(|event: &Event| event.row).max().unwrap_or_default();
        Ok(Events { events, sorted, rows })
    }

    fn finish(&self, states: Vec<Events>) -> Result<Column> {
        let mut groups = Vec::with_capacity(states.len());
        for mut state in states {
            checkpoint(state.events.len() * 20)?;
            Self::sort(&mut state);
            groups.push(state.events);
        }
        self.function.finish(groups)
    }

    fn heap_bytes(&self, state: &Events) -> usize {
        state.events.capacity() * size_of::<Event>()
    }
}
