//! `-Tuple`: the function of each element of tuples, which makes a tuple of results.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::StructArray;
use arrow_array::cast::AsArray;
use squall_types::{Column, DataType, Error, ErrorCode, Result, TupleElement};

use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};
use crate::aggregate::grouped::same;
use crate::aggregate::plain::plain;

/// The arguments of the function for each element.
pub(in crate::aggregate) fn element_arguments(arguments: &[DataType]) -> Result<Vec<Vec<DataType>>> {
    let elements = |argument: &DataType| match argument {
        DataType::Tuple(elements) if !elements.is_empty() => Ok(elements.clone()),
        other => Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Illegal type {other} of argument for aggregate function with Tuple suffix. Must be Tuple."),
        )),
    };
    let tuples = arguments.iter().map(elements).collect::<Result<Vec<_>>>()?;
    let count = tuples.first().map_or(0, |tuple| tuple.len());
    if count == 0 || tuples.iter().any(|tuple| tuple.len() != count) {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function with Tuple suffix requires tuples of one size",
        ));
    }
    let of_element =
        |at: usize| tuples.iter().map(|tuple| tuple[at].data_type.remove_low_cardinality().clone()).collect();
    Ok((0..count).map(of_element).collect())
}

/// The function with the combinator, over those of the elements.
pub(in crate::aggregate) fn apply(
    functions: Vec<Arc<dyn AggregateFunction>>,
    arguments: &[DataType],
) -> Arc<dyn AggregateFunction> {
    let names: Vec<Option<Arc<str>>> = match arguments.first() {
        Some(DataType::Tuple(elements)) => elements.iter().map(|element| element.name.clone()).collect(),
        _ => Vec::new(),
    };
    let elements = functions.iter().zip(names);
    let return_type = DataType::Tuple(
        elements.map(|(function, name)| TupleElement { name, data_type: function.return_type().clone() }).collect(),
    );
    Arc::new(ByElement { functions, return_type })
}

#[derive(Debug)]
struct ByElement {
    functions: Vec<Arc<dyn AggregateFunction>>,
    return_type: DataType,
}

impl AggregateFunction for ByElement {
    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn accumulator(&self) -> Box<dyn Accumulator> {
        let nested = self.functions.iter().map(|function| function.accumulator()).collect();
        let takes = self.functions.iter().map(|function| function.needs_arguments()).collect();
        Box::new(Elements { nested, takes, return_type: self.return_type.clone() })
    }
}

struct Elements {
    nested: Vec<Box<dyn Accumulator>>,
    /// Whether each function takes its arguments.
    takes: Arc<[bool]>,
    return_type: DataType,
}

impl Accumulator for Elements {
    fn update(&mut self, group_ids: GroupIds<'_>, groups: usize, arguments: &[Column], rows: usize) -> Result<()> {
        for (at, nested) in self.nested.iter_mut().enumerate() {
            let element = |column: &Column| {
                let wrong = || Error::logical("-Tuple over a column that is no tuple");
                let DataType::Tuple(elements) = column.data_type() else { return Err(wrong()) };
                let element = elements.get(at).ok_or_else(wrong)?;
                let array =
                    column.array().as_struct_opt().and_then(|tuple| tuple.columns().get(at)).ok_or_else(wrong)?;
                plain(&Column::new(element.data_type.clone(), array.clone()))
            };
            let own = match self.takes.get(at) {
                Some(true) => arguments.iter().map(element).collect::<Result<Vec<_>>>()?,
                _ => Vec::new(),
            };
            nested.update(group_ids, groups, &own, rows)?;
        }
        Ok(())
    }

    fn take(&mut self, groups: &[u32]) -> Result<Box<dyn Accumulator>> {
        let nested = self.nested.iter_mut().map(|nested| nested.take(groups)).collect::<Result<_>>()?;
        Ok(Box::new(Self { nested, takes: self.takes.clone(), return_type: self.return_type.clone() }))
    }

    fn merge_range(&mut self, other: &mut dyn Accumulator, first: usize, to: &[u32], groups: usize) -> Result<()> {
        let mut both = self.nested.iter_mut().zip(&mut same::<Self>(other)?.nested);
        both.try_for_each(|(mine, other)| mine.merge_range(&mut **other, first, to, groups))
    }

    fn merge_last(&mut self, other: &mut dyn Accumulator, first: usize, to: &[u32], groups: usize) -> Result<()> {
        let mut both = self.nested.iter_mut().zip(&mut same::<Self>(other)?.nested);
        both.try_for_each(|(mine, other)| mine.merge_last(&mut **other, first, to, groups))
    }

    fn items(&self, groups: Range<usize>) -> usize {
        self.nested.iter().map(|nested| nested.items(groups.clone())).sum()
    }

    fn settle(&mut self) -> Result<bool> {
        let mut is_settled = true;
        for nested in &mut self.nested {
            is_settled &= nested.settle()?;
        }
        Ok(is_settled)
    }

    fn finish(self: Box<Self>, groups: usize) -> Result<Column> {
        let columns = self.nested.into_iter().map(|nested| nested.finish(groups)?.to_array());
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let array = StructArray::try_new(self.return_type.arrow_fields(), columns, None)?;
        Ok(Column::new(self.return_type, Arc::new(array)))
    }

    fn serialize(&mut self, group: usize, out: &mut Vec<u8>) -> Result<()> {
        self.nested.iter_mut().try_for_each(|nested| nested.serialize(group, out))
    }

    fn merge_serialized(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        self.nested.iter_mut().try_for_each(|nested| nested.merge_serialized(group, bytes))
    }

    fn memory_bytes(&self) -> usize {
        self.nested.iter().map(|nested| nested.memory_bytes()).sum()
    }
}
