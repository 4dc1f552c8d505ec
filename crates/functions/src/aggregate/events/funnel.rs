//! `windowFunnel`: how many steps of a chain of conditions came one after the other within a window of time. `retention`: which
//! conditions held beside the first one.

use std::sync::Arc;

use arrow_array::types::UInt8Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use crate::accumulator::AggregateFunction;

use super::event_list::{self, Event, OfEvents};
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::results::value_column;
use crate::aggregate::values::state_bytes::Raw;

/// A chain has no more conditions.
const CONDITIONS_MAX: usize = 32;

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let [window, options @ ..] = call.parameters else {
        return Err(call.wrong_parameters("at least one parameter: <window>, [option, [option, ...]]"));
    };
    if call.arguments.len() < 2 {
        return Err(call.wrong_arguments("one timestamp argument and at least one event condition."));
    }
    if call.arguments.len() > CONDITIONS_MAX + 1 {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!("Too many event arguments for aggregate function {}", call.name),
        ));
    }
    let is_time = |time: &DataType| {
        time.is_unsigned_integer() || matches!(time, DataType::Date | DataType::DateTime(_) | DataType::DateTime64(..))
    };
    event_list::check_arguments(call, is_time, "Unsigned Number, Date, DateTime")?;
    let window = window.as_u64().ok_or_else(|| {
        Error::new(ErrorCode::BAD_GET, format!("Bad get: has {}, requested UInt64", window.literal_type()))
    })?;
    let mut funnel = Funnel { window, conditions: call.arguments.len() - 1, ..Funnel::default() };
    for option in options {
        match option.as_str() {
            Some("strict_deduplication") => funnel.stops_at_repetition = true,
            Some("strict_order") => funnel.in_order = true,
            Some("strict_increase") => funnel.increases = true,
            Some("strict_once") => funnel.once = true,
            Some("allow_reentry") => funnel.reenters = true,
            _ => {
                let name = option.as_str().map_or_else(|| option.to_string(), str::to_owned);
                return Err(call.bad_arguments(format_args!("doesn't support a parameter: {name}")));
            }
        }
    }
    event_list::function(funnel, &call.arguments[0])
}

/// The chain, and what else is asked of it.
#[derive(Default, Debug)]
struct Funnel {
    window: u64,
    conditions: usize,
    /// Whether a step that comes again ends the chain.
    stops_at_repetition: bool,
    /// Whether no other events may come in between.
    in_order: bool,
    /// Whether each step must be later than the one before.
    increases: bool,
    /// Whether a row counts for one step only.
    once: bool,
    /// Whether the first step begins anew after a break of the order.
    reenters: bool,
}

/// A chain that got to a step: the times of its first and of that step, and the rows of all steps.
#[derive(Clone)]
struct Chain {
    first: u64,
    last: u64,
    rows: Vec<u64>,
}

impl Funnel {
    fn follows(&self, first: u64, last: u64, event: &Event) -> bool {
        event.time <= first.saturating_add(self.window) && (!self.increases || last < event.time)
    }

    /// The longest chain where a row may be several of its steps.
    fn steps(&self, events: &[Event]) -> usize {
        if events.is_empty() {
            return 0;
        }
        if !self.in_order && self.conditions == 1 {
            return 1;
        }
        // The times of the first step and of this one, for each step that was reached.
        let mut reached: Vec<Option<(u64, u64)>> = vec![None; self.conditions];
        let mut longest = 0;
        let mut begun = false;
        let length = |reached: &[Option<(u64, u64)>]| reached.iter().rposition(Option::is_some).map_or(0, |at| at + 1);
        for event in events {
            let Some(step) = (event.what as usize).checked_sub(1).filter(|step| *step < self.conditions) else {
                if begun && self.in_order {
                    if !self.reenters {
                        break;
                    }
                    longest = longest.max(length(&reached));
                    reached.fill(None);
                    begun = false;
                }
                continue;
            };
            if step == 0 {
                reached[0] = Some((event.time, event.time));
                begun = true;
            } else if self.stops_at_repetition && reached[step].is_some() {
                return longest.max(length(&reached));
            } else if self.in_order && begun && reached[step - 1].is_none() {
                let broken = reached.iter().position(Option::is_none).unwrap_or(self.conditions);
                if !self.reenters {
                    return broken;
                }
                longest = longest.max(broken);
                reached.fill(None);
                begun = false;
            } else if let Some((first, last)) = reached[step - 1]
                && self.follows(first, last, event)
            {
                reached[step] = Some((first, event.time));
                if step + 1 == self.conditions {
                    return self.conditions;
                }
            }
        }
        longest.max(length(&reached))
    }

    /// The longest chain where each row is one step at most: all chains that got to each step are followed.
    fn steps_once(&self, events: &[Event]) -> usize {
        if events.is_empty() {
            return 0;
        }
        if !self.in_order && self.conditions == 1 {
            return 1;
        }
        let mut reached: Vec<Vec<Chain>> = vec![Vec::new(); self.conditions];
        let mut begun = false;
        for event in events {
            let Some(step) = (event.what as usize).checked_sub(1).filter(|step| *step < self.conditions) else {
                if begun && self.in_order {
                    break;
                }
                continue;
            };
            if step == 0 {
                reached[0].push(Chain { first: event.time, last: event.time, rows: vec![event.row] });
                begun = true;
            } else if self.stops_at_repetition && !reached[step].is_empty() {
                return reached.iter().rposition(|chains| !chains.is_empty()).map_or(0, |at| at + 1);
            } else if self.in_order && begun && reached[step - 1].is_empty() {
                return reached.iter().position(Vec::is_empty).unwrap_or(self.conditions);
            } else {
                let mut before = std::mem::take(&mut reached[step - 1]);
                let mut left = before.len();
                // Chains whose window is over go on nowhere; one stays, as it tells how far they got.
                before.retain(|chain| {
                    let is_over = event.time > chain.first.saturating_add(self.window) && left > 1;
                    left -= usize::from(is_over);
                    !is_over
                });
                for chain in &before {
                    if self.follows(chain.first, chain.last, event) && !chain.rows.contains(&event.row) {
                        let mut longer = chain.clone();
                        longer.last = event.time;
                        longer.rows.push(event.row);
                        reached[step].push(longer);
                        if step + 1 == self.conditions {
                            return self.conditions;
                        }
                    }
                }
                reached[step - 1] = before;
            }
        }
        reached.iter().rposition(|chains| !chains.is_empty()).map_or(0, |at| at + 1)
    }
}

impl OfEvents for Funnel {
    const WHAT_BYTES: usize = 1;
    const ORDERED_BY_WHAT: bool = true;

    fn return_type(&self) -> &DataType {
        &DataType::UInt8
    }

    fn events_of(&self, time: u64, holds: &mut dyn Iterator<Item = bool>, row: u64, events: &mut Vec<Event>) {
        let before = events.len();
        let steps = holds.zip(1..).filter(|(holds, _)| *holds);
        events.extend(steps.map(|(_, what)| Event { time, what, row }));
        if self.in_order && events.len() == before {
            events.push(Event { time, what: 0, row });
        }
    }

    fn numbers_rows(&self) -> bool {
        self.once
    }

    fn finish(&self, groups: Vec<Vec<Event>>) -> Result<Column> {
        let steps = |events: &Vec<Event>| if self.once { self.steps_once(events) } else { self.steps(events) };
        let levels = groups.iter().map(|events| steps(events) as u8).collect();
        Ok(Column::from_primitive::<UInt8Type>(DataType::UInt8, levels))
    }
}

pub(in crate::aggregate) fn resolve_retention(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let count = call.arguments.len();
    let wrong = |what: &str| {
        let message = format!("{what} event arguments for aggregate function {}", call.name);
        Err(Error::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message))
    };
    if count < 2 {
        return wrong("Not enough");
    }
    if count > CONDITIONS_MAX {
        return wrong("Too many");
    }
    let illegal = call.arguments.iter().position(|argument| !matches!(argument, DataType::UInt8 | DataType::Bool));
    if let Some(at) = illegal {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Illegal type {} of argument {at} of aggregate function {}, must be UInt8",
                call.arguments[at], call.name
            ),
        ));
    }
    Ok(grouped::function(Retention { return_type: DataType::array(DataType::UInt8), count }))
}

#[derive(Debug)]
struct Retention {
    return_type: DataType,
    count: usize,
}

impl StateFunction for Retention {
    /// A bit for each condition that held for a row.
    type State = u32;
    type Rows<'a> = Vec<&'a [u8]>;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> u32 {
        0
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let condition = |column: &'a Column| Ok(&**column.as_primitive::<UInt8Type>()?.values());
        arguments.iter().map(condition).collect()
    }

    fn add(&self, state: &mut u32, rows: &Self::Rows<'_>, row: usize) {
        rows.iter().enumerate().for_each(|(at, condition)| *state |= u32::from(condition[row] != 0) << at);
    }

    fn merge(&self, into: &mut u32, from: u32) -> Result<()> {
        *into |= from;
        Ok(())
    }

    fn write(&self, state: &u32, out: &mut Vec<u8>) -> Result<()> {
        state.put(out);
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<u32> {
        Raw::take(bytes)
    }

    fn finish(&self, states: Vec<u32>) -> Result<Column> {
        let held = |state: u32| {
            let bit = |at: usize| u64::from(state & 1 != 0 && state & 1 << at != 0);
            Value::Array((0..self.count).map(|at| Value::UInt64(bit(at))).collect())
        };
        value_column(&self.return_type, states.into_iter().map(held))
    }
}
