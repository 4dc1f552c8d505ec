//! How a table's columns come from rows that were written before they became what they are: the same, cast, or computed by their
//! defaults where the rows are older than the column.

use std::sync::Arc;

use arrow_array::ListArray;
use arrow_array::cast::AsArray;
use arrow_buffer::OffsetBuffer;
use arrow_schema::Field;
use squall_planner::{ColumnDescription, Expression, TableDefinition};
use squall_types::calendar::TimeZone;
use squall_types::{Block, CastMode, CastOptions, Column, DataType, Error, Result, Schema};

use crate::evaluate::evaluate;
use crate::key_binding::KeyBinding;

/// Defaults that refer to each other in a longer chain are none.
const DEPTH_MAX: usize = 64;

/// Where a column of the table is in older rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// It is this column of them.
    Same(usize),
    /// It is this column of them, cast.
    Cast(usize),
    /// They do not have it.
    Missing,
}

/// What a table's columns have in rows that are older than they are.
#[derive(Debug)]
pub(crate) struct ColumnDefaults {
    definition: Arc<TableDefinition>,
    /// By the definition's columns, where there is an expression.
    expressions: Vec<Option<Expression>>,
}

impl ColumnDefaults {
    /// Of this definition.
    pub(crate) fn new(definition: &Arc<TableDefinition>, binding: &KeyBinding) -> Self {
        let columns = &definition.columns;
        let binding = binding.of_this_moment();
        let default = |column: &ColumnDescription| {
            let default = column.default.as_ref().filter(|default| !default.expression.is_empty())?;
            let bound = binding.bind(&default.expression, columns);
            bound
                .inspect_err(|error| tracing::warn!(column = %column.name, %error, "a default cannot be computed"))
                .ok()
        };
        let expressions = columns.iter().map(default).collect();
        Self { definition: definition.clone(), expressions }
    }

    fn of(&self, column: usize) -> Option<&Expression> {
        self.expressions.get(column)?.as_ref()
    }

    /// The columns that a column's default is computed of.
    fn columns_of(&self, column: usize) -> Vec<usize> {
        let mut columns = Vec::new();
        if let Some(default) = self.of(column) {
            default.visit_columns(&mut |position| {
                if !columns.contains(&position) {
                    columns.push(position);
                }
            });
        }
        columns
    }

    /// The default of a column in each row of a block, in which the definition's columns are found through `positions`.
    ///
    /// # Errors
    /// Those of the default.
    pub(crate) fn over(&self, column: usize, block: &Block, positions: &[Option<usize>]) -> Result<Column> {
        let described = self.definition.columns.get(column).ok_or_else(|| Error::logical("a column too many"))?;
        match self.of(column) {
            None => Column::default_values(described.data_type.clone(), block.rows()),
            Some(default) => cast(&evaluate(default, block, positions)?, &described.data_type),
        }
    }

    /// The other arrays of a nested structure, whose lengths are those of a column that has no default of its own.
    fn siblings(&self, column: usize) -> impl Iterator<Item = usize> {
        let columns = &self.definition.columns;
        let own = columns.get(column).filter(|_| self.of(column).is_none());
        let is_sibling = move |other: &ColumnDescription| own.is_some_and(|own| own.is_nested_with(other));
        columns.iter().enumerate().filter(move |(_, other)| is_sibling(other)).map(|(at, _)| at)
    }

    /// The one value that a column has in all older rows, where that is so.
    pub(crate) fn constant(&self, column: usize) -> Option<Column> {
        let data_type = &self.definition.columns.get(column)?.data_type;
        match self.of(column) {
            None if self.siblings(column).next().is_some() => None,
            None => Column::default_values(data_type.clone(), 1).ok(),
            Some(default) if default.is_deterministic() && self.columns_of(column).is_empty() => {
                let none = Block::new(Arc::new(Schema::default()), Vec::new(), 1);
                cast(&evaluate(default, &none, &[]).ok()?, data_type).ok()
            }
            Some(_) => None,
        }
    }
}

/// How wanted columns come from blocks of older rows.
pub(crate) struct ColumnMapping {
    defaults: Arc<ColumnDefaults>,
    /// By the definition's columns.
    sources: Vec<Source>,
    /// Columns of the older rows that are needed: blocks to be mapped have these.
    pub(crate) read: Vec<usize>,
    /// The definition's columns that are wanted.
    wanted: Vec<usize>,
}

impl ColumnMapping {
    /// A mapping to these columns of the definition.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` for defaults that go in circles.
    pub(crate) fn new(defaults: Arc<ColumnDefaults>, sources: Vec<Source>, wanted: &[usize]) -> Result<Self> {
        let mut mapping = Self { defaults, sources, read: Vec::new(), wanted: wanted.to_vec() };
        for column in wanted {
            mapping.need(*column, 0)?;
        }
        Ok(mapping)
    }

    fn source(&self, column: usize) -> Source {
        self.sources.get(column).copied().unwrap_or(Source::Missing)
    }

    /// Another array of the nested structure that a column belongs to, which older rows have.
    fn sibling(&self, column: usize) -> Option<usize> {
        self.defaults.siblings(column).find(|sibling| self.source(*sibling) != Source::Missing)
    }

    /// Takes note of what must be read for a column of the definition.
    fn need(&mut self, column: usize, depth: usize) -> Result<()> {
        if depth > DEPTH_MAX {
            return Err(Error::logical("defaults that go in circles"));
        }
        match self.source(column) {
            Source::Same(at) | Source::Cast(at) if self.read.contains(&at) => {}
            Source::Same(at) | Source::Cast(at) => self.read.push(at),
            Source::Missing => {
                if let Some(sibling) = self.sibling(column) {
                    self.need(sibling, depth + 1)?;
                }
            }
        }
        match self.source(column) {
            Source::Same(_) => {}
            Source::Cast(_) | Source::Missing => {
                for needed in self.defaults.columns_of(column) {
                    self.need(needed, depth + 1)?;
                }
            }
        }
        Ok(())
    }

    /// The wanted columns, under these names and types, of a block of those that are read.
    ///
    /// # Errors
    /// Those of casts and defaults.
    pub(crate) fn map(&self, block: &Block, schema: &Arc<Schema>) -> Result<Block> {
        let mut columns = Vec::with_capacity(self.wanted.len());
        for column in &self.wanted {
            columns.push(self.column(*column, block)?);
        }
        Ok(Block::new(schema.clone(), columns, block.rows()))
    }

    fn column(&self, column: usize, block: &Block) -> Result<Column> {
        let described = self.defaults.definition.columns.get(column);
        let data_type = &described.ok_or_else(|| Error::logical("a column too many"))?.data_type;
        let read = |at: usize| {
            let place = self.read.iter().position(|read| *read == at);
            place.and_then(|place| block.columns().get(place)).cloned().ok_or_else(|| Error::logical("a column unread"))
        };
        match self.source(column) {
            Source::Same(at) => read(at),
            Source::Cast(at) => {
                let older = read(at)?;
                if data_type.is_nullable() || older.nulls().is_none_or(|nulls| nulls.null_count() == 0) {
                    return cast(&older, data_type);
                }
                // NULLs of a column that has none any more became its default.
                let nullable = data_type.to_nullable();
                let filled = cast(&older, &nullable)?.materialize()?;
                let default = cast(&self.default(column, data_type, block)?.materialize()?, &nullable)?;
                let rows = u32::try_from(block.rows()).map_err(|_| Error::logical("a block too long"))?;
                let place = |row: u32| {
                    if filled.nulls().is_some_and(|nulls| nulls.is_null(row as usize)) { rows + row } else { row }
                };
                let places: Vec<u32> = (0..rows).map(place).collect();
                cast(&Column::concat(&[filled.clone(), default])?.take(&places.into())?, data_type)
            }
            Source::Missing => self.default(column, data_type, block),
        }
    }

    /// What stands for rows that have no value of a column.
    fn default(&self, column: usize, data_type: &DataType, block: &Block) -> Result<Column> {
        match self.defaults.of(column) {
            None => match self.sibling(column) {
                Some(sibling) => as_long_as(&self.column(sibling, block)?, data_type),
                None => Column::default_values(data_type.clone(), block.rows()),
            },
            Some(default) => {
                let needed = self.defaults.columns_of(column);
                let mut positions = vec![None; self.defaults.definition.columns.len()];
                let mut columns = Vec::with_capacity(needed.len());
                for (at, needed) in needed.iter().enumerate() {
                    columns.push(self.column(*needed, block)?);
                    if let Some(position) = positions.get_mut(*needed) {
                        *position = Some(at);
                    }
                }
                let unnamed: Arc<str> = "".into();
                let fields = columns.iter().map(|column| (unnamed.clone(), column.data_type().clone()));
                let own = Block::new(Arc::new(Schema::new(fields)), columns.clone(), block.rows());
                cast(&evaluate(default, &own, &positions)?, data_type)
            }
        }
    }
}

/// Arrays of defaults, each as long as the other column's array of the row.
fn as_long_as(lists: &Column, data_type: &DataType) -> Result<Column> {
    let lists = lists.to_array()?;
    let lists = lists.as_list_opt::<i32>().ok_or_else(|| Error::logical("a nested column that holds no arrays"))?;
    let offsets = OffsetBuffer::<i32>::from_lengths(lists.offsets().lengths());
    let count = usize::try_from(offsets.last()).unwrap_or_default();
    let items = Column::default_values(data_type.list_item(), count)?.to_array()?;
    let field = Arc::new(Field::new("item", items.data_type().clone(), true));
    Ok(Column::new(data_type.clone(), Arc::new(ListArray::try_new(field, offsets, items, None)?)))
}

/// A column as another type, as ALTER TABLE casts.
fn cast(column: &Column, data_type: &DataType) -> Result<Column> {
    squall_types::cast(column, data_type, &CastOptions::new(CastMode::Plain, TimeZone::utc()))
}
