//! `-If`: the last argument is a condition; rows where it is 0 or NULL do not reach the function.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::types::UInt8Type;
use arrow_buffer::BooleanBuffer;
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};
use crate::aggregate::adapted::{Adapted, Adapter};
use crate::aggregate::values::selection::update_selected;
use crate::frames::{FrameStep, FrameWalk, walk_selected};

pub(super) fn nested_arguments(arguments: &[DataType]) -> Result<Vec<DataType>> {
    let [nested @ .., condition] = arguments else {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Incorrect number of arguments for aggregate function with If suffix",
        ));
    };
    if !matches!(condition.inner(), DataType::UInt8 | DataType::Bool | DataType::Nothing) {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Illegal type {condition} of the last argument of an aggregate function with the If suffix: \
                 the last argument is the condition and must be UInt8"
            ),
        ));
    }
    Ok(nested.to_vec())
}

/// A function behind a condition.
#[derive(Debug)]
pub(super) struct OnlyIf {
    function: Arc<dyn AggregateFunction>,
}

impl OnlyIf {
    pub fn new(function: Arc<dyn AggregateFunction>) -> Self {
        Self { function }
    }
}

impl AggregateFunction for OnlyIf {
    fn return_type(&self) -> &DataType {
        self.function.return_type()
    }

    fn accumulator(&self) -> Box<dyn Accumulator> {
        Adapted::boxed(self.function.accumulator(), Selected { needs_arguments: self.function.needs_arguments() })
    }

    fn frame_walk<'a>(&'a self) -> Box<dyn FrameWalk + 'a> {
        Box::new(ConditionalWalk {
            nested: self.function.frame_walk(),
            needs_arguments: self.function.needs_arguments(),
        })
    }
}

struct ConditionalWalk<'a> {
    nested: Box<dyn FrameWalk + 'a>,
    needs_arguments: bool,
}

impl FrameWalk for ConditionalWalk<'_> {
    fn walk(&mut self, arguments: &[Column], steps: &[FrameStep]) -> Result<Column> {
        let (nested, selected) = selected(arguments, self.needs_arguments)?;
        Ok(walk_selected(&mut *self.nested, &selected, nested, steps)?.0)
    }
}

/// The nested function's arguments, and the rows for which the condition holds.
fn selected(arguments: &[Column], needs_arguments: bool) -> Result<(&[Column], BooleanBuffer)> {
    let [nested @ .., condition] = arguments else { return Err(Error::logical("-If without a condition")) };
    let nested = if needs_arguments { nested } else { &[] };
    if *condition.data_type().inner() == DataType::Nothing {
        return Ok((nested, BooleanBuffer::new_unset(condition.rows())));
    }
    let holds = |condition: &Column| -> Result<BooleanBuffer> {
        Ok(crate::bits::bits_of(condition.as_primitive::<UInt8Type>()?.values()))
    };
    if let Some(sparse) = condition.sparse() {
        let of = |array: &ArrayRef| holds(&Column::new(condition.data_type().clone(), array.clone()));
        return Ok((nested, sparse.bits(&of(sparse.values())?, of(sparse.default_row())?.value(0))));
    }
    let selected = holds(condition)?;
    Ok((
        nested,
        match condition.nulls() {
            Some(valid) => &selected & valid.inner(),
            None => selected,
        },
    ))
}

/// Lets the rows through for which the condition holds.
#[derive(Clone, Copy)]
struct Selected {
    needs_arguments: bool,
}

impl Adapter for Selected {
    fn update(
        &self,
        nested: &mut dyn Accumulator,
        group_ids: GroupIds<'_>,
        groups: usize,
        arguments: &[Column],
        rows: usize,
    ) -> Result<()> {
        let (nested_arguments, selected) = selected(arguments, self.needs_arguments)?;
        debug_assert_eq!(selected.len(), rows);
        update_selected(nested, selected, group_ids, groups, nested_arguments)
    }
}
