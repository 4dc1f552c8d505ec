//! `sequenceNextNode`: the value of the event that comes after (or before) a chain of events.

use std::sync::Arc;

use arrow_array::types::UInt8Type;
use arrow_array::{Array, BinaryArray};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint, grow};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::results::value_column;
use crate::aggregate::values::row_hash::number_bits;
use crate::aggregate::values::state_bytes::{Raw, put_string, take_string};

/// A chain has no more events.
const EVENTS_MAX: usize = 64;

/// Where the chain begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Base {
    Head,
    Tail,
    FirstMatch,
    LastMatch,
}

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let [direction, base] = call.parameters else {
        return Err(call.wrong_parameters("two parameters: direction and base"));
    };
    let unknown = |parameter: &Value| {
        let name = parameter.as_str().map_or_else(|| parameter.to_string(), str::to_owned);
        Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Aggregate function {} doesn't support a parameter: {name}", call.name),
        )
    };
    let forward = match direction.as_str() {
        Some("forward") => true,
        Some("backward") => false,
        _ => return Err(unknown(direction)),
    };
    let base = match base.as_str() {
        Some("head") => Base::Head,
        Some("tail") => Base::Tail,
        Some("first_match") => Base::FirstMatch,
        Some("last_match") => Base::LastMatch,
        _ => return Err(unknown(base)),
    };
    let fits = match base {
        Base::Head => forward,
        Base::Tail => !forward,
        _ => true,
    };
    if !fits {
        return Err(call.bad_arguments("the base does not fit the direction"));
    }
    let [time, value, condition, events @ ..] = call.arguments else {
        return Err(call.wrong_arguments("at least 3 arguments: timestamp, event column, base condition"));
    };
    if matches!(base, Base::FirstMatch | Base::LastMatch) && events.is_empty() {
        return Err(call.wrong_arguments("at least one event"));
    }
    if events.len() > EVENTS_MAX {
        return Err(call.wrong_arguments("at most 64 events"));
    }
    if !time.is_unsigned_integer() && !matches!(time, DataType::Date | DataType::DateTime(_)) {
        return Err(call.illegal_type(time));
    }
    if *value.inner() != DataType::String {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Illegal type {value} of second argument of aggregate function {}, must be String", call.name),
        ));
    }
    if let Some(illegal) =
        [condition].into_iter().chain(events).find(|event| !matches!(event.inner(), DataType::UInt8 | DataType::Bool))
    {
        return Err(call.illegal_type(illegal));
    }
    Ok(grouped::function(NextNode { return_type: DataType::String.to_nullable(), forward, base, events: events.len() }))
}

#[derive(Debug)]
struct NextNode {
    return_type: DataType,
    forward: bool,
    base: Base,
    /// Events of the chain.
    events: usize,
}

/// An event.
#[derive(Clone)]
pub(in crate::aggregate) struct Node {
    time: u32,
    /// A bit for each event of the chain that this is one of.
    events: u64,
    /// Whether a chain may begin here.
    may_begin: bool,
    value: Box<[u8]>,
}

/// Events, and whether they are in the order of time.
#[derive(Clone, Default)]
pub(in crate::aggregate) struct Nodes {
    nodes: Vec<Node>,
    sorted: bool,
}

/// The arguments of a block.
pub(in crate::aggregate) struct Rows<'a> {
    times: Vec<u64>,
    values: &'a BinaryArray,
    conditions: Vec<(&'a [u8], Option<arrow_buffer::NullBuffer>)>,
}

impl NextNode {
    fn next(&self, nodes: &[Node]) -> Option<usize> {
        if nodes.len() <= self.events {
            return None;
        }
        let begins = |node: &Node| node.may_begin && node.events & 1 != 0;
        let base = match self.base {
            Base::Head => nodes.first().filter(|node| node.may_begin).map(|_| 0),
            Base::Tail => nodes.last().filter(|node| node.may_begin).map(|_| nodes.len() - 1),
            Base::FirstMatch => nodes.iter().position(begins),
            Base::LastMatch => nodes.iter().rposition(begins),
        }?;
        let at = |step: usize| if self.forward { base.checked_add(step) } else { base.checked_sub(step) };
        let matches = (0..self.events)
            .all(|step| at(step).and_then(|at| nodes.get(at)).is_some_and(|node| node.events >> step & 1 != 0));
        at(self.events).filter(|at| matches && *at < nodes.len())
    }
}

impl StateFunction for NextNode {
    type State = Nodes;
    type Rows<'a> = Rows<'a>;

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Nodes {
        Nodes::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Rows<'a>> {
        let [times, values, conditions @ ..] = arguments else { return Err(Error::logical("events have a time")) };
        let condition =
            |column: &'a Column| Ok((&**column.as_primitive::<UInt8Type>()?.values(), column.nulls().cloned()));
        Ok(Rows {
            times: number_bits(times).ok_or_else(|| Error::logical("times are numbers"))?,
            values: values.as_binary()?,
            conditions: conditions.iter().map(condition).collect::<Result<_>>()?,
        })
    }

    fn add(&self, state: &mut Nodes, rows: &Rows<'_>, row: usize) {
        if rows.values.is_null(row) {
            return;
        }
        let mut holds = rows
            .conditions
            .iter()
            .map(|(values, valid)| values[row] != 0 && valid.as_ref().is_none_or(|valid| valid.is_valid(row)));
        let may_begin = holds.next().unwrap_or(false);
        let events = holds.zip(0..).fold(0, |bits, (holds, at)| bits | u64::from(holds) << at);
        let value = rows.values.value(row).into();
        state.nodes.push(Node { time: rows.times[row] as u32, events, may_begin, value });
        state.sorted = false;
    }

    fn merge(&self, into: &mut Nodes, mut from: Nodes) -> Result<()> {
        checkpoint(from.nodes.len() * 10)?;
        grow(&mut into.nodes, from.nodes.len())?;
        into.nodes.append(&mut from.nodes);
        into.sorted = false;
        Ok(())
    }

    fn items(&self, state: &Nodes) -> usize {
        state.nodes.len()
    }

    fn write(&self, state: &Nodes, out: &mut Vec<u8>) -> Result<()> {
        // ClickHouse writes them in their order.
        let mut nodes: Vec<&Node> = state.nodes.iter().collect();
        nodes.sort_by_key(|node| (node.time, node.events));
        out.push(1);
        crate::aggregate::values::state_bytes::put_varint(nodes.len() as u64, out);
        for node in nodes {
            put_string(&node.value, out);
            node.time.put(out);
            node.events.put(out);
            out.push(u8::from(node.may_begin));
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Nodes> {
        let sorted = u8::take(bytes)? != 0;
        let mut nodes = Vec::new();
        for _ in 0..crate::aggregate::values::state_bytes::take_count(bytes)? {
            let value = take_string(bytes)?.into();
            let (time, events) = (Raw::take(bytes)?, Raw::take(bytes)?);
            nodes.push(Node { time, events, may_begin: u8::take(bytes)? != 0, value });
        }
        Ok(Nodes { nodes, sorted })
    }

    fn finish(&self, states: Vec<Nodes>) -> Result<Column> {
        let mut values = Vec::with_capacity(states.len());
        for mut state in states {
            checkpoint(state.nodes.len() * 50)?;
            if !state.sorted {
                state.nodes.sort_by_key(|node| (node.time, node.events));
            }
            values.push(self.next(&state.nodes).map_or(Value::Null, |at| Value::string(&state.nodes[at].value)));
        }
        value_column(&self.return_type, values)
    }

    fn heap_bytes(&self, state: &Nodes) -> usize {
        state.nodes.iter().map(|node| size_of::<Node>() + node.value.len()).sum()
    }
}
