//! `flameGraph`: stack traces counted, each as one line `outermost;…;innermost count` of the collapsed form that flame graph programs
//! read. With sizes and pointers, traces of allocations that were not freed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, BinaryArray, UInt64Array};
use squall_runtime::symbols::{demangle, symbol};
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::accumulator::AggregateFunction;

use super::family::Call;
use super::grouped::{self, StateFunction};
use super::values::element::Bytes;
use super::values::state_bytes::{put_string, put_varint, take_count, take_string, take_varint};
use super::values::value_list::{ValueList, list_column};

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let illegal = |what: &str, wanted: &str, found: &DataType| {
        Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("{what} for function flameGraph must be {wanted}, but it has type {found}"),
        )
    };
    let [traces, rest @ ..] = call.arguments else { return Err(call.wrong_arguments(ARGUMENTS)) };
    if rest.len() > 2 {
        return Err(call.wrong_arguments(ARGUMENTS));
    }
    let has_addresses = match traces {
        DataType::Array(item) if **item == DataType::UInt64 => true,
        DataType::Array(item) if *item.remove_low_cardinality() == DataType::String => false,
        other => return Err(illegal("First argument (trace)", "Array(UInt64) or Array(String)", other)),
    };
    if let Some(size) = rest.first().filter(|size| **size != DataType::Int64) {
        return Err(illegal("Second argument (size)", "Int64", size));
    }
    if let Some(pointer) = rest.get(1).filter(|pointer| **pointer != DataType::UInt64) {
        return Err(illegal("Third argument (ptr)", "UInt64", pointer));
    }
    Ok(grouped::function(FlameGraph { data_type: DataType::array(DataType::String), has_addresses }))
}

const ARGUMENTS: &str = "1 to 3 arguments : trace, [size = 1], [ptr = 0].";

#[derive(Debug)]
struct FlameGraph {
    data_type: DataType,
    has_addresses: bool,
}

/// A trace as bytes: its addresses, or its names joined by semicolons.
type Trace = Box<[u8]>;

/// The traces of a group.
#[derive(Clone, Default)]
pub(super) struct Traces {
    sizes: HashMap<Trace, u64>,
    /// Allocations and frees of memory by pointer and size.
    by_pointer: HashMap<(u64, u64), Pointer>,
}

/// What happened to a pointer.
#[derive(Clone, Default)]
struct Pointer {
    allocated: Vec<Trace>,
    /// Frees of what was not seen to be allocated.
    freed: usize,
}

impl Traces {
    fn add(&mut self, trace: Trace, size: i64, pointer: u64) {
        if pointer == 0 {
            // Without a pointer nobody knows what was freed.
            if let Ok(size) = u64::try_from(size) {
                let sum = self.sizes.entry(trace).or_default();
                *sum = sum.saturating_add(size);
            }
            return;
        }
        let known = self.by_pointer.entry((pointer, size.unsigned_abs())).or_default();
        match size {
            ..0 => {
                if known.allocated.pop().is_none() {
                    known.freed += 1;
                }
            }
            _ if known.freed > 0 => known.freed -= 1,
            _ => known.allocated.push(trace),
        }
    }
}

/// The arguments of a block.
pub(super) struct Rows<'a> {
    offsets: &'a [i32],
    frames: Frames,
    sizes: Option<&'a [i64]>,
    pointers: Option<&'a [u64]>,
}

enum Frames {
    Addresses(UInt64Array),
    Names(BinaryArray),
}

impl Rows<'_> {
    fn trace(&self, row: usize) -> Trace {
        let range = self.offsets[row] as usize..self.offsets[row + 1] as usize;
        match &self.frames {
            Frames::Addresses(addresses) => {
                addresses.values()[range].iter().flat_map(|address| address.to_le_bytes()).collect()
            }
            Frames::Names(names) => range.map(|at| names.value(at)).collect::<Vec<_>>().join(&b';').into(),
        }
    }
}

impl StateFunction for FlameGraph {
    type State = Traces;
    type Rows<'a> = Rows<'a>;

    const HAS_HEAP: bool = true;

    fn return_type(&self) -> &DataType {
        &self.data_type
    }

    fn state(&self) -> Traces {
        Traces::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Rows<'a>> {
        let wrong = || Error::logical("flameGraph got other arguments than it was made for");
        let [traces, rest @ ..] = arguments else { return Err(wrong()) };
        let list = traces.array().as_list_opt::<i32>().ok_or_else(wrong)?;
        let frames: ArrayRef = match list.values().as_dictionary_opt::<UInt32Type>() {
            Some(dictionary) => arrow_select::take::take(dictionary.values(), dictionary.keys(), None)?,
            None => list.values().clone(),
        };
        let frames = match (frames.as_primitive_opt::<UInt64Type>(), frames.as_binary_opt::<i32>()) {
            (Some(addresses), _) => Frames::Addresses(addresses.clone()),
            (_, Some(names)) => Frames::Names(names.clone()),
            _ => return Err(wrong()),
        };
        let sizes = rest.first().map(Column::as_primitive::<Int64Type>).transpose()?;
        let pointers = rest.get(1).map(Column::as_primitive::<UInt64Type>).transpose()?;
        Ok(Rows {
            offsets: list.value_offsets(),
            frames,
            sizes: sizes.map(|sizes| &**sizes.values()),
            pointers: pointers.map(|pointers| &**pointers.values()),
        })
    }

    fn add(&self, state: &mut Traces, rows: &Rows<'_>, row: usize) {
        let trace = rows.trace(row);
        if !trace.is_empty() {
            state.add(
                trace,
                rows.sizes.map_or(1, |sizes| sizes[row]),
                rows.pointers.map_or(0, |pointers| pointers[row]),
            );
        }
    }

    fn merge(&self, into: &mut Traces, from: Traces) -> Result<()> {
        for (trace, size) in from.sizes {
            let sum = into.sizes.entry(trace).or_default();
            *sum = sum.saturating_add(size);
        }
        for (key, mut later) in from.by_pointer {
            let known = into.by_pointer.entry(key).or_default();
            // Frees that found no allocation on their side may be of one on this side.
            let matched = later.freed.min(known.allocated.len());
            known.allocated.truncate(known.allocated.len() - matched);
            known.freed += later.freed - matched;
            known.allocated.append(&mut later.allocated);
        }
        Ok(())
    }

    fn write(&self, state: &Traces, out: &mut Vec<u8>) -> Result<()> {
        put_varint(state.sizes.len() as u64, out);
        for (trace, size) in &state.sizes {
            put_string(trace, out);
            put_varint(*size, out);
        }
        put_varint(state.by_pointer.len() as u64, out);
        for ((pointer, size), known) in &state.by_pointer {
            put_varint(*pointer, out);
            put_varint(*size, out);
            put_varint(known.freed as u64, out);
            put_varint(known.allocated.len() as u64, out);
            known.allocated.iter().for_each(|trace| put_string(trace, out));
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Traces> {
        let mut state = Traces::default();
        for _ in 0..take_count(bytes)? {
            let trace = take_string(bytes)?.into();
            state.sizes.insert(trace, take_varint(bytes)?);
        }
        for _ in 0..take_count(bytes)? {
            let key = (take_varint(bytes)?, take_varint(bytes)?);
            let freed = take_varint(bytes)? as usize;
            let allocated = (0..take_count(bytes)?).map(|_| take_string(bytes).map(Into::into));
            let allocated = allocated.collect::<Result<Vec<Trace>>>()?;
            state.by_pointer.insert(key, Pointer { allocated, freed });
        }
        Ok(state)
    }

    fn finish(&self, states: Vec<Traces>) -> Result<Column> {
        // Frames of one function at several addresses are one in the picture, and so are their traces.
        let lines = |traces: Traces| {
            let mut sizes: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
            let unfreed = traces
                .by_pointer
                .into_iter()
                .flat_map(|((_, size), pointer)| pointer.allocated.into_iter().map(move |trace| (trace, size)));
            for (trace, size) in traces.sizes.into_iter().chain(unfreed) {
                let names = if self.has_addresses { names_of(&trace) } else { trace.into_vec() };
                let sum = sizes.entry(names).or_default();
                *sum = sum.saturating_add(size);
            }
            let line = |(mut names, size): (Vec<u8>, u64)| {
                names.extend_from_slice(format!(" {size}").as_bytes());
                names.into_boxed_slice()
            };
            ValueList::from(sizes.into_iter().map(line).collect::<Vec<_>>())
        };
        list_column::<Bytes>(&self.data_type, states.into_iter().map(lines))
    }

    fn heap_bytes(&self, state: &Traces) -> usize {
        // Traces are of about a dozen frames.
        const TRACE_BYTES: usize = 160;
        (state.sizes.len() + state.by_pointer.len()) * TRACE_BYTES
    }
}

/// The names of the functions at addresses, joined; those without a name as numbers.
fn names_of(addresses: &[u8]) -> Vec<u8> {
    let (addresses, _) = addresses.as_chunks::<8>();
    let name = |address: &[u8; 8]| {
        let address = u64::from_le_bytes(*address);
        let symbol = symbol(address);
        if symbol.name.is_empty() { format!("{address:#018x}") } else { demangle(symbol.name.as_bytes()) }
    };
    addresses.iter().map(name).collect::<Vec<_>>().join(";").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function() -> FlameGraph {
        FlameGraph { data_type: DataType::array(DataType::String), has_addresses: false }
    }

    fn lines(state: Traces) -> Vec<String> {
        let column = function().finish(vec![state]).unwrap();
        let list = column.array().as_list::<i32>().value(0);
        list.as_binary::<i32>().iter().map(|line| String::from_utf8_lossy(line.unwrap()).into_owned()).collect()
    }

    /// What ClickHouse 26.9 answers, in whatever order.
    #[test]
    fn what_was_freed_is_not_shown() {
        let state = |rows: &[(&str, i64, u64)]| {
            let mut state = Traces::default();
            rows.iter().for_each(|(trace, size, pointer)| state.add(trace.as_bytes().into(), *size, *pointer));
            state
        };
        let of = |rows| lines(state(rows));
        assert_eq!(of(&[("m;f", 10, 0), ("m;g", 5, 0), ("m;f", -3, 0), ("m;f", 1, 0)]), ["m;f 11", "m;g 5"]);
        let rows = [("m;f", 10, 1), ("m;g", 5, 2), ("m;x", -10, 1), ("m;f", -7, 9), ("m;f", 3, 0)];
        assert_eq!(of(&rows), ["m;f 3", "m;g 5"]);
        assert_eq!(of(&[("m;f", 10, 1), ("m;g", 10, 1), ("m;x", -10, 1)]), ["m;f 10"]);
        assert!(of(&[("m;x", -10, 1), ("m;f", 10, 1)]).is_empty());
        // The same, seen by two workers.
        for split in 0..=rows.len() {
            let mut merged = state(&rows[..split]);
            function().merge(&mut merged, state(&rows[split..])).unwrap();
            assert_eq!(lines(merged), ["m;f 3", "m;g 5"], "{split}");
        }
    }

    #[test]
    fn addresses_without_names_are_numbers() {
        let nowhere = [u64::MAX - 1, u64::MAX];
        let addresses: Vec<u8> = nowhere.iter().flat_map(|address| address.to_le_bytes()).collect();
        assert_eq!(names_of(&addresses), b"0xfffffffffffffffe;0xffffffffffffffff");
    }
}
