//! `-Distinct`: each combination of arguments reaches the function once a group. Until a group is finished its state is that of
//! `groupUniqArray` over the argument, or over the tuple of several: two of them can be merged.

use std::sync::Arc;

use arrow_array::StructArray;
use arrow_array::cast::AsArray;
use squall_types::{Column, DataType, Result};

use super::array::flatten;
use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};
use crate::aggregate::adapted::{Adapted, Adapter};
use crate::aggregate::arrays::group_uniq_array;

/// A function of distinct values.
#[derive(Debug)]
pub(super) struct Distinct {
    function: Arc<dyn AggregateFunction>,
    values: Arc<dyn AggregateFunction>,
    /// Of several arguments, the tuple.
    tuple: Option<DataType>,
}

impl Distinct {
    pub fn new(function: Arc<dyn AggregateFunction>, arguments: &[DataType]) -> Self {
        let (values, tuple) = match arguments {
            [one] => (group_uniq_array::as_they_came(one), None),
            several => {
                let tuple = DataType::tuple(several.iter().cloned());
                (group_uniq_array::as_they_came(&tuple), Some(tuple))
            }
        };
        Self { function, values, tuple }
    }
}

impl AggregateFunction for Distinct {
    fn return_type(&self) -> &DataType {
        self.function.return_type()
    }

    fn accumulator(&self) -> Box<dyn Accumulator> {
        let adapter = OfValues { function: self.function.clone(), tuple: self.tuple.clone() };
        Adapted::boxed(self.values.accumulator(), adapter)
    }
}

/// Computes a function over arrays of distinct values.
#[derive(Clone)]
struct OfValues {
    function: Arc<dyn AggregateFunction>,
    tuple: Option<DataType>,
}

impl Adapter for OfValues {
    fn update(
        &self,
        values: &mut dyn Accumulator,
        group_ids: GroupIds<'_>,
        groups: usize,
        arguments: &[Column],
        rows: usize,
    ) -> Result<()> {
        let Some(tuple) = &self.tuple else { return values.update(group_ids, groups, arguments, rows) };
        let arrays = arguments.iter().map(|argument| Ok(argument.materialize()?.array().clone()));
        let arrays = arrays.collect::<Result<_>>()?;
        let tuples = StructArray::try_new(tuple.arrow_fields(), arrays, None)?;
        values.update(group_ids, groups, &[Column::new(tuple.clone(), Arc::new(tuples))], rows)
    }

    fn finished(&self, arrays: Column) -> Result<Column> {
        let groups = arrays.rows();
        let arrays = [arrays];
        let (list, mut values) = flatten(&arrays)?;
        let lengths = list.offsets().lengths().enumerate();
        let ids: Vec<u32> = lengths.flat_map(|(group, length)| std::iter::repeat_n(group as u32, length)).collect();
        if let (Some(DataType::Tuple(elements)), [tuples]) = (&self.tuple, &values[..]) {
            let columns = tuples.array().as_struct().columns().iter().zip(elements.iter());
            values = columns.map(|(array, element)| Column::new(element.data_type.clone(), array.clone())).collect();
        }
        let mut function = self.function.accumulator();
        function.update(GroupIds::Each(&ids), groups, &values, ids.len())?;
        function.finish(groups)
    }
}
