//! `-State`: the state of the function instead of its result; `-Merge`: the function over such states.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, BinaryArray};
use arrow_buffer::OffsetBuffer;
use squall_types::{AggregateType, Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};
use crate::aggregate::adapted::{Adapted, Adapter};
use crate::aggregate::family::Family;
use crate::aggregate::grouped::same;
use crate::aggregate::name_parts;
use crate::aggregate::values::literals;

/// The type of states of a function.
pub(in crate::aggregate) fn state_type(function: &str, parameters: &[Value], arguments: &[DataType]) -> DataType {
    let parameters: Vec<String> = parameters.iter().map(Value::to_string).collect();
    let version = AggregateType::newest_version(function, arguments);
    DataType::AggregateFunction(Arc::new(AggregateType {
        version,
        function: function.into(),
        parameters: parameters.join(", ").into(),
        arguments: arguments.into(),
    }))
}

/// The type whose states the argument of `-Merge` has.
pub(in crate::aggregate) fn merged_type<'a>(function: &str, arguments: &'a [DataType]) -> Result<&'a AggregateType> {
    let illegal = |what: String| Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, what);
    let argument = match arguments {
        [argument] => argument,
        _ => {
            return Err(Error::new(
                ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Incorrect number of arguments for aggregate function with Merge suffix",
            ));
        }
    };
    let DataType::AggregateFunction(state) = argument else {
        return Err(illegal(format!(
            "Illegal type {argument} of argument for aggregate function with Merge suffix. It must be AggregateFunction(...)."
        )));
    };
    // Quantiles of one level and of several have the same states, and so do a few others.
    let family = |name: &str| name.replace("quantiles", "quantile").replace("median", "quantile");
    if family(function) != family(&state.function) {
        return Err(illegal(format!(
            "Illegal type {argument} of argument for aggregate function with Merge suffix because it corresponds to different \
             aggregate function: {} instead of {function}",
            state.function
        )));
    }
    Ok(state)
}

/// Refuses states of other parameters than those that `-Merge` is given, but for functions whose states do not depend on them.
///
/// # Errors
/// `ILLEGAL_TYPE_OF_ARGUMENT`.
pub(in crate::aggregate) fn check_merged(function: &str, parameters: &[Value], state: &AggregateType) -> Result<()> {
    let has_same_states = match Family::of(function) {
        Some(family) => family.has_common_states,
        None => name_parts(function).is_none(),
    };
    if has_same_states || literals::read(&state.parameters)? == parameters {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
        format!(
            "Illegal type {} of argument for aggregate function with Merge suffix because it has states of other parameters than \
             those of {function}",
            DataType::AggregateFunction(Arc::new(state.clone()))
        ),
    ))
}

/// A function that gives its states.
#[derive(Debug)]
pub(in crate::aggregate) struct OfState {
    function: Arc<dyn AggregateFunction>,
    return_type: DataType,
}

impl OfState {
    pub fn new(function: Arc<dyn AggregateFunction>, return_type: DataType) -> Self {
        Self { function, return_type }
    }
}

impl AggregateFunction for OfState {
    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn accumulator(&self) -> Box<dyn Accumulator> {
        Box::new(Kept { nested: self.function.accumulator(), return_type: self.return_type.clone() })
    }

    fn needs_arguments(&self) -> bool {
        self.function.needs_arguments()
    }
}

/// States that stay states: nothing of them is settled, as results would be.
struct Kept {
    nested: Box<dyn Accumulator>,
    return_type: DataType,
}

impl Accumulator for Kept {
    fn update(&mut self, group_ids: GroupIds<'_>, groups: usize, arguments: &[Column], rows: usize) -> Result<()> {
        self.nested.update(group_ids, groups, arguments, rows)
    }

    fn take(&mut self, groups: &[u32]) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Self { nested: self.nested.take(groups)?, return_type: self.return_type.clone() }))
    }

    fn merge_range(&mut self, other: &mut dyn Accumulator, first: usize, to: &[u32], groups: usize) -> Result<()> {
        self.nested.merge_range(&mut *same::<Self>(other)?.nested, first, to, groups)
    }

    fn items(&self, groups: Range<usize>) -> usize {
        self.nested.items(groups)
    }

    fn finish(mut self: Box<Self>, groups: usize) -> Result<Column> {
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(groups + 1));
        ends.push(0);
        for group in 0..groups as u32 {
            checkpoint(64)?;
            self.nested.serialize_groups(&[group], &mut bytes, &mut ends)?;
            // Written as they grow: the limit of memory sees them.
            squall_types::grow(&mut bytes, 0)?;
        }
        let array = BinaryArray::try_new(OffsetBuffer::new(ends.into()), bytes.into(), None)?;
        Ok(Column::new(self.return_type, Arc::new(array)))
    }

    fn serialize(&mut self, group: usize, out: &mut Vec<u8>) -> Result<()> {
        self.nested.serialize(group, out)
    }

    fn merge_serialized(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        self.nested.merge_serialized(group, bytes)
    }

    fn memory_bytes(&self) -> usize {
        self.nested.memory_bytes()
    }
}

/// A function over its states.
#[derive(Debug)]
pub(in crate::aggregate) struct OverStates {
    function: Arc<dyn AggregateFunction>,
}

impl OverStates {
    pub fn new(function: Arc<dyn AggregateFunction>) -> Self {
        Self { function }
    }
}

impl AggregateFunction for OverStates {
    fn return_type(&self) -> &DataType {
        self.function.return_type()
    }

    fn accumulator(&self) -> Box<dyn Accumulator> {
        Adapted::boxed(self.function.accumulator(), Read)
    }
}

/// Reads states.
#[derive(Clone, Copy)]
struct Read;

impl Adapter for Read {
    fn update(
        &self,
        nested: &mut dyn Accumulator,
        group_ids: GroupIds<'_>,
        _groups: usize,
        arguments: &[Column],
        rows: usize,
    ) -> Result<()> {
        let [states] = arguments else { return Err(Error::logical("-Merge takes one argument")) };
        let states = states.as_binary()?;
        for row in 0..rows {
            checkpoint(64)?;
            let group = match group_ids {
                GroupIds::Single => 0,
                GroupIds::Direct8(ids) => usize::from(ids[row]),
                GroupIds::Direct16(ids) => usize::from(ids[row]),
                GroupIds::Each(ids) => ids[row] as usize,
            };
            // No bytes are the default of the type: a state without rows.
            if !states.is_null(row) && !states.value(row).is_empty() {
                nested.merge_serialized(group, &mut states.value(row))?;
            }
        }
        Ok(())
    }
}
