//! What a SELECT reads: the columns that its names can mean, before any of them is known to be needed.

use std::sync::Arc;

use arrow_array::types::UInt8Type;
use squall_types::{Block, Column, DataType, Schema};

use super::graph::{Graph, NodeId};
use super::stage::Stage;
use crate::catalog::{DefaultKind, TableMetadata};
use crate::plan::{Plan, Scan};

/// What a SELECT reads. Its columns are numbered: those of the table first, then those that ARRAY JOINs add.
#[derive(Debug)]
pub(crate) struct Source {
    rows: Rows,
    /// The database that may stand before the table's name.
    pub database: Option<Arc<str>>,
    /// The name of the table.
    pub table: Option<Arc<str>>,
    /// The alias.
    pub alias: Option<Arc<str>>,
    /// The columns that ARRAY JOINs add, in order.
    pub joined: Vec<JoinedColumn>,
    /// The ARRAY JOINs, in order.
    pub array_joins: Vec<ArrayJoin>,
    /// So many of the last columns of the rows are read by name only: `*` does not stand for them.
    virtual_columns: usize,
}

/// Where the rows come from.
#[derive(Debug)]
enum Rows {
    /// No FROM: one row, with `system.one`'s column.
    One,
    Table(Arc<dyn TableMetadata>),
    /// The plan, until it is taken, and its columns.
    Plan(Option<Box<Plan>>, Arc<Schema>),
}

/// A column that an ARRAY JOIN adds.
#[derive(Debug)]
pub(crate) struct JoinedColumn {
    /// The name that stands for the item.
    pub name: Arc<str>,
    /// The item's type.
    pub data_type: DataType,
    /// The column whose name this takes: `ARRAY JOIN arr` without an alias.
    pub replaces: Option<usize>,
}

/// One ARRAY JOIN: the arrays' nodes, whose items are columns in the same order.
#[derive(Debug)]
pub(crate) struct ArrayJoin {
    /// The arrays.
    pub arrays: Vec<NodeId>,
    /// The number of the first item's column.
    pub first_column: usize,
    /// Whether rows of empty arrays stay.
    pub is_left: bool,
}

impl Source {
    /// One row without columns.
    pub fn one() -> Self {
        Self::of(Rows::One)
    }

    /// A table.
    pub fn table(table: Arc<dyn TableMetadata>) -> Self {
        let (database, name): (Arc<str>, Arc<str>) = (table.database().into(), table.name().into());
        Self { database: Some(database), table: Some(name), ..Self::of(Rows::Table(table)) }
    }

    /// The rows of a plan.
    pub fn plan(plan: Plan) -> Self {
        let schema = plan.schema().clone();
        Self::of(Rows::Plan(Some(Box::new(plan)), schema))
    }

    /// The same under another name.
    #[must_use]
    pub fn named(self, database: Option<&str>, table: Option<&str>) -> Self {
        Self { database: database.map(Arc::from), table: table.map(Arc::from), ..self }
    }

    /// The same where `*` does not stand for the last `count` columns.
    #[must_use]
    pub fn with_virtual_columns(self, count: usize) -> Self {
        Self { virtual_columns: count, ..self }
    }

    fn of(rows: Rows) -> Self {
        Self {
            rows,
            database: None,
            table: None,
            alias: None,
            joined: Vec::new(),
            array_joins: Vec::new(),
            virtual_columns: 0,
        }
    }

    /// Whether there is no FROM.
    pub fn is_one(&self) -> bool {
        matches!(self.rows, Rows::One)
    }

    /// The table, where the source is one.
    pub fn as_table(&self) -> Option<&Arc<dyn TableMetadata>> {
        match &self.rows {
            Rows::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The number of the table's columns.
    pub fn table_columns(&self) -> usize {
        match &self.rows {
            Rows::One => 1,
            Rows::Table(table) => table.columns().len(),
            Rows::Plan(_, schema) => schema.len(),
        }
    }

    /// The number of all columns.
    pub fn len(&self) -> usize {
        self.table_columns() + self.joined.len()
    }

    /// A column's name.
    pub fn name(&self, column: usize) -> &str {
        match self.joined_column(column) {
            Some(joined) => &joined.name,
            None => match &self.rows {
                Rows::One => "dummy",
                Rows::Table(table) => &table.columns()[column].name,
                Rows::Plan(_, schema) => &schema.fields[column].0,
            },
        }
    }

    /// A column's type.
    pub fn data_type(&self, column: usize) -> &DataType {
        match self.joined_column(column) {
            Some(joined) => &joined.data_type,
            None => match &self.rows {
                Rows::One => &DataType::UInt8,
                Rows::Table(table) => &table.columns()[column].data_type,
                Rows::Plan(_, schema) => &schema.fields[column].1,
            },
        }
    }

    /// The kind of a table column's default.
    pub fn default_kind(&self, column: usize) -> Option<DefaultKind> {
        match &self.rows {
            Rows::Table(table) => table.columns().get(column)?.default.as_ref().map(|default| default.kind),
            _ => None,
        }
    }

    /// The expression of an ALIAS column.
    pub fn alias_expression(&self, column: usize) -> Option<&Arc<str>> {
        match &self.rows {
            Rows::Table(table) => {
                let default = table.columns().get(column)?.default.as_ref()?;
                (default.kind == DefaultKind::Alias).then_some(&default.expression)
            }
            _ => None,
        }
    }

    /// The column of this name: the latest that an ARRAY JOIN added, or the table's first.
    pub fn position(&self, name: &str) -> Option<usize> {
        let joined = self.joined.iter().rposition(|joined| &*joined.name == name);
        joined.map(|at| self.table_columns() + at).or_else(|| match &self.rows {
            Rows::One => (name == "dummy").then_some(0),
            Rows::Table(table) => table.columns().iter().position(|column| &*column.name == name),
            Rows::Plan(_, schema) => schema.position(name),
        })
    }

    /// The columns that `*` stands for.
    pub fn asterisk(&self) -> impl Iterator<Item = usize> {
        (0..self.table_columns() - self.virtual_columns)
            .filter(|column| matches!(self.default_kind(*column), None | Some(DefaultKind::Default)))
            .map(|column| {
                let replaced = self.joined.iter().rposition(|joined| joined.replaces == Some(column));
                replaced.map_or(column, |at| self.table_columns() + at)
            })
    }

    /// The name of a column in messages, with all that qualifies it.
    pub fn full_name(&self, column: usize) -> String {
        let name = self.name(column);
        match (&self.database, &self.table, &self.alias) {
            (Some(database), Some(table), _) if !database.is_empty() => format!("{database}.{table}.{name}"),
            (_, Some(table), None) => format!("{table}.{name}"),
            (_, _, Some(alias)) => format!("{alias}.{name}"),
            _ => name.to_owned(),
        }
    }

    /// The source's rows with the columns that the graph reads, and the nodes that they hold. To be called once.
    pub fn take_stage<'g>(&mut self, graph: &'g Graph) -> Stage<'g> {
        let table_columns = self.table_columns();
        let read: Vec<(usize, NodeId)> =
            graph.columns().into_iter().filter(|(column, _)| *column < table_columns).collect();
        match &mut self.rows {
            Rows::One => {
                let plan = if read.is_empty() { Plan::one_row() } else { system_one() };
                Stage::at(graph, plan, read)
            }
            Rows::Table(table) => {
                let columns: Vec<usize> = read.iter().map(|(column, _)| *column).collect();
                let fields = columns.iter().filter_map(|column| table.columns().get(*column));
                let fields = fields.map(|column| (column.name.clone(), column.data_type.clone())).collect();
                let schema = Arc::new(Schema { fields });
                let scan = Scan { table: table.clone(), columns, schema, predicate: None, limit: None };
                Stage::at(graph, Plan::Scan(scan), read.into_iter().map(|(_, node)| node).enumerate())
            }
            Rows::Plan(plan, _) => Stage::at(graph, plan.take().map_or_else(Plan::one_row, |plan| *plan), read),
        }
    }

    fn joined_column(&self, column: usize) -> Option<&JoinedColumn> {
        column.checked_sub(self.table_columns()).and_then(|at| self.joined.get(at))
    }
}

/// One row of one column, `dummy`.
fn system_one() -> Plan {
    let schema = Arc::new(Schema::new([("dummy", DataType::UInt8)]));
    let column = Column::from_primitive::<UInt8Type>(DataType::UInt8, vec![0]);
    Plan::Values { schema: schema.clone(), blocks: vec![Block::new(schema, vec![column], 1)] }
}
