//! The outermost layer of every aggregate function: arguments come in as the engine has them, and go on without constants and
//! without dictionaries. Of a sparse argument the default goes on once for all its rows, and then the listed values, where the function
//! takes rows in any order; by key only the values, where the default changes nothing. Of rows that are codes, a value goes on once for all
//! of them.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use squall_types::{Coded, Column, DataType, Result, Sparse};

use super::adapted::{Adapted, Adapter};
use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};
use crate::defaults::{VALUES_PER_ROW_MAX, used_entries};
use crate::frames::{FrameStep, FrameWalk};

/// A function that takes constants and `LowCardinality`, over one that does not.
#[derive(Debug)]
pub(super) struct Plain {
    function: Arc<dyn AggregateFunction>,
    to_plain: ToPlain,
}

impl Plain {
    pub fn new(function: Arc<dyn AggregateFunction>, ignores_order: bool, ignores_repeats: bool) -> Self {
        Self { function, to_plain: ToPlain { ignores_order, ignores_repeats } }
    }
}

impl AggregateFunction for Plain {
    fn return_type(&self) -> &DataType {
        self.function.return_type()
    }

    fn accumulator(&self) -> Box<dyn Accumulator> {
        Adapted::boxed(self.function.accumulator(), self.to_plain)
    }

    fn needs_arguments(&self) -> bool {
        self.function.needs_arguments()
    }

    fn frame_walk<'a>(&'a self) -> Box<dyn FrameWalk + 'a> {
        Box::new(PlainWalk { nested: self.function.frame_walk() })
    }
}

struct PlainWalk<'a> {
    nested: Box<dyn FrameWalk + 'a>,
}

impl FrameWalk for PlainWalk<'_> {
    fn walk(&mut self, arguments: &[Column], steps: &[FrameStep]) -> Result<Column> {
        let arguments = arguments.iter().map(plain).collect::<Result<Vec<_>>>()?;
        self.nested.walk(&arguments, steps)
    }
}

/// Writes out constants and dictionaries, and takes values for what functions compute with.
#[derive(Clone, Copy, Debug)]
struct ToPlain {
    /// Whether rows may come in any order.
    ignores_order: bool,
    /// Whether a value may come once for all rows that have it.
    ignores_repeats: bool,
}

/// Adds the rows of a sparse argument by its values and its default; whether that can be done.
fn update_sparse(
    nested: &mut dyn Accumulator,
    group_ids: GroupIds<'_>,
    groups: usize,
    data_type: &DataType,
    sparse: &Sparse,
) -> Result<bool> {
    let of = |array: &ArrayRef| [Column::new(data_type.clone(), array.clone())];
    let (values, default, listed) = (of(sparse.values()), of(sparse.default_row()), sparse.values().len());
    if let GroupIds::Single = group_ids {
        if sparse.defaults() > 0 && !nested.update_times(&default, sparse.defaults())? {
            return Ok(false);
        }
        if listed > 0 {
            nested.update(group_ids, groups, &values, listed)?;
        }
        return Ok(true);
    }
    if !nested.is_neutral(&default)? {
        return Ok(false);
    }
    fn of_listed<Id: Copy>(ids: &[Id], sparse: &Sparse) -> Vec<Id> {
        sparse.positions().map(|row| ids[row]).collect()
    }
    match group_ids {
        GroupIds::Single => {}
        GroupIds::Direct8(ids) => {
            nested.update(GroupIds::Direct8(&of_listed(ids, sparse)), groups, &values, listed)?;
        }
        GroupIds::Direct16(ids) => {
            nested.update(GroupIds::Direct16(&of_listed(ids, sparse)), groups, &values, listed)?;
        }
        GroupIds::Each(ids) => {
            nested.update(GroupIds::Each(&of_listed(ids, sparse)), groups, &values, listed)?;
        }
    }
    Ok(true)
}

/// Values are added one by one where so many rows have each, on average.
const ROWS_PER_VALUE: usize = 8;

/// Adds rows that are codes of few values to the only group, each value as often as it is there; whether that can be done.
fn update_coded(nested: &mut dyn Accumulator, data_type: &DataType, coded: &Coded) -> Result<bool> {
    let values = coded.values();
    if coded.nulls().is_some() {
        return Ok(false);
    }
    let mut times = vec![0_usize; values.len()];
    coded.codes().values().iter().for_each(|code| times[*code as usize] += 1);
    for (code, times) in times.into_iter().enumerate().filter(|(_, times)| *times > 0) {
        if !nested.update_times(&[Column::new(data_type.clone(), values.slice(code, 1))], times)? {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Adapter for ToPlain {
    fn update(
        &self,
        nested: &mut dyn Accumulator,
        group_ids: GroupIds<'_>,
        groups: usize,
        arguments: &[Column],
        rows: usize,
    ) -> Result<()> {
        let is_plain = |column: &Column| {
            !column.is_constant()
                && !matches!(column.data_type(), DataType::LowCardinality(_))
                && !column.data_type().is_computed_otherwise()
        };
        if let [argument] = arguments
            && let Some(sparse) = argument.sparse().filter(|_| self.ignores_order)
            && update_sparse(nested, group_ids, groups, &argument.data_type().computed(), sparse)?
        {
            return Ok(());
        }
        if let (GroupIds::Single, [argument], true) = (&group_ids, arguments, self.ignores_order) {
            let dictionary = argument.dictionary().filter(|known| known.values().len() <= known.len() / ROWS_PER_VALUE);
            if let Some(coded) = dictionary.cloned().and_then(Coded::new)
                && update_coded(nested, &argument.data_type().remove_low_cardinality().computed(), &coded)?
            {
                return Ok(());
            }
        }
        if let (GroupIds::Single, [argument], true) = (&group_ids, arguments, self.ignores_repeats)
            && let Some(coded) = argument.coded().filter(|coded| coded.has_many_values() && coded.nulls().is_none())
            && coded.values().len() <= rows * VALUES_PER_ROW_MAX
        {
            let (_, values) = used_entries(coded.dictionary())?;
            let rows = values.len();
            return nested.update(group_ids, groups, &[Column::new(argument.data_type().computed(), values)], rows);
        }
        if arguments.iter().all(is_plain) {
            return nested.update(group_ids, groups, arguments, rows);
        }
        let arguments = arguments.iter().map(plain).collect::<Result<Vec<_>>>()?;
        nested.update(group_ids, groups, &arguments, rows)
    }
}

/// The column with every row written out, of the type inside `LowCardinality`.
pub(super) fn plain(column: &Column) -> Result<Column> {
    let column = column.without_low_cardinality()?.materialize()?;
    let data_type = column.data_type().computed();
    Ok(column.with_type(data_type))
}
