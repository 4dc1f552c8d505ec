//! What a SELECT reads: the columns that its names can mean, before any of them is known to be needed.

use std::sync::Arc;

use arrow_array::types::UInt8Type;
use squall_types::{Block, Column, DataType, Schema, Settings};

use super::graph::{Graph, NodeId};
use super::stage::Stage;
use crate::catalog::{DefaultKind, TableMetadata};
use crate::plan::{Plan, Scan};

/// What a SELECT reads. Its columns are numbered: those of the table (or of the joined tables) first, then those that ARRAY JOINs
/// add.
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
    /// The kinds of columns that `*` stands for, beside the ordinary ones.
    shown: &'static [DefaultKind],
}

/// Where the rows come from.
#[derive(Debug)]
enum Rows {
    /// No FROM: one row, with `system.one`'s column.
    One,
    Table(Arc<dyn TableMetadata>),
    /// The plan, until it is taken, and its columns.
    Plan(Option<Box<Plan>>, Arc<Schema>),
    /// The plan of a JOIN, until it is taken, and its columns.
    Joined(Option<Box<Plan>>, Arc<Schema>, JoinTree),
}

/// The names of what was joined.
#[derive(Clone, Debug, Default)]
pub(crate) struct JoinTree {
    /// The tables, from left to right.
    pub tables: Vec<JoinedTable>,
    /// What was done to the first table, in order.
    pub steps: Vec<JoinStep>,
}

/// A table of a join.
#[derive(Clone, Debug)]
pub(crate) struct JoinedTable {
    /// The database that may stand before the table's name.
    pub database: Option<Arc<str>>,
    /// The name of the table.
    pub table: Option<Arc<str>>,
    /// The alias.
    pub alias: Option<Arc<str>>,
    /// Whether it is a table of a database, which has virtual columns.
    pub is_stored: bool,
    /// Its columns.
    pub columns: Vec<TableColumn>,
}

/// A column of a table of a join.
#[derive(Clone, Debug)]
pub(crate) struct TableColumn {
    /// Its name.
    pub name: Arc<str>,
    /// The source's column that it is.
    pub column: usize,
    /// Whether `*` does not stand for it.
    pub is_hidden: bool,
}

/// One JOIN, or an ARRAY JOIN below one.
#[derive(Clone, Debug)]
pub(crate) struct JoinStep {
    /// Names that mean these columns from here on: those of USING, or the items of an ARRAY JOIN.
    pub names: Vec<(Arc<str>, usize)>,
    /// Names of the left side that `*` takes for these columns: those of `USING (a AS b)`, which mean the left side's own elsewhere.
    pub renamed: Vec<(Arc<str>, usize)>,
    /// The table that was joined; none for an ARRAY JOIN.
    pub right: Option<usize>,
    /// Columns that others take the place of: `ARRAY JOIN arr`.
    pub replaced: Vec<(usize, usize)>,
    /// Whether it is a RIGHT JOIN with USING.
    pub takes_keys_of_right: bool,
    /// The join, for messages.
    pub text: Arc<str>,
}

/// A name that both sides of a join have.
pub(crate) struct Ambiguous {
    /// The join, for messages.
    pub join: Arc<str>,
}

impl JoinTree {
    /// The column that a name means.
    ///
    /// # Errors
    /// Where both sides of a join have it.
    pub fn find(&self, name: &str) -> Result<Option<usize>, Ambiguous> {
        let of_table = |at: usize| self.tables.get(at).and_then(|table| table.find(name));
        let is_single = self.joins() == 1;
        let mut found = of_table(0);
        for step in &self.steps {
            if let Some((_, column)) = step.names.iter().rfind(|(known, _)| &**known == name) {
                found = Some(*column);
                continue;
            }
            match (found, step.right.and_then(of_table)) {
                (None, right) => found = right,
                (Some(_), None) => {}
                (Some(_), Some(_)) if is_single => {}
                (Some(_), Some(_)) => return Err(Ambiguous { join: step.text.clone() }),
            }
        }
        Ok(found)
    }

    /// The number of JOINs.
    pub fn joins(&self) -> usize {
        self.steps.iter().filter(|step| step.right.is_some()).count()
    }

    /// The columns that `*` stands for.
    fn asterisk(&self) -> Vec<usize> {
        let visible = |at: usize| {
            let columns = self.tables.get(at).into_iter().flat_map(|table| &table.columns);
            columns.filter(|column| !column.is_hidden).map(|column| (column.name.clone(), column.column))
        };
        let mut columns: Vec<(Arc<str>, usize)> = visible(0).collect();
        for step in &self.steps {
            for (_, column) in &mut columns {
                if let Some((_, by)) = step.replaced.iter().find(|(replaced, _)| replaced == column) {
                    *column = *by;
                }
            }
            let Some(right) = step.right else { continue };
            columns.extend(visible(right));
            let keys = || step.names.iter().chain(&step.renamed);
            columns.retain(|(name, _)| !keys().any(|(key, _)| key == name));
            columns.splice(0..0, keys().cloned());
        }
        columns.into_iter().map(|(_, column)| column).collect()
    }

    /// The table whose column this is, and the column's name there.
    fn owner(&self, column: usize) -> Option<(usize, &Arc<str>)> {
        self.tables.iter().enumerate().find_map(|(at, table)| {
            table.columns.iter().find(|known| known.column == column).map(|known| (at, &known.name))
        })
    }

    /// Whether a column of a table is shown with the table's name: the name alone could mean another's.
    pub fn is_shown_qualified(&self, table: usize, name: &str) -> bool {
        if self.joins() == 1 && table == 0 {
            let takes_right =
                |step: &JoinStep| step.takes_keys_of_right && step.names.iter().any(|(known, _)| &**known == name);
            return self.steps.iter().any(takes_right);
        }
        self.tables.iter().enumerate().any(|(at, other)| at != table && other.find(name).is_some())
    }

    /// Puts other numbers in place of the columns'.
    pub fn renumber(&mut self, to: impl Fn(usize) -> usize) {
        let of_tables = self.tables.iter_mut().flat_map(|table| &mut table.columns).map(|column| &mut column.column);
        let of_steps = self.steps.iter_mut().flat_map(|step| {
            let replaced = step.replaced.iter_mut().flat_map(|(column, by)| [column, by]);
            step.names.iter_mut().chain(&mut step.renamed).map(|(_, column)| column).chain(replaced)
        });
        of_tables.chain(of_steps).for_each(|column| *column = to(*column));
    }
}

impl JoinedTable {
    fn find(&self, name: &str) -> Option<usize> {
        self.columns.iter().find(|column| &*column.name == name).map(|column| column.column)
    }

    /// The name that stands before its columns' in results.
    fn shown(&self) -> Option<&Arc<str>> {
        self.alias.as_ref().or(self.table.as_ref())
    }
}

/// The names of a table in FROM.
#[derive(Clone, Copy)]
pub(crate) struct TableNames<'a> {
    pub database: Option<&'a str>,
    pub table: Option<&'a str>,
    pub alias: Option<&'a str>,
}

/// A column that an ARRAY JOIN adds.
#[derive(Clone, Debug)]
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
    /// No FROM: the one row of `system.one`.
    pub fn one() -> Self {
        Self::of(Rows::One).named(Some("system"), Some("one"))
    }

    /// A table.
    pub fn table(table: Arc<dyn TableMetadata>) -> Self {
        let (database, name): (Arc<str>, Arc<str>) = (table.database().into(), table.name().into());
        let virtual_columns = table.virtual_columns();
        Self { database: Some(database), table: Some(name), virtual_columns, ..Self::of(Rows::Table(table)) }
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

    /// The same where `*` stands for what the settings want it to.
    #[must_use]
    pub fn shown_by(self, settings: &Settings) -> Self {
        let (alias, materialized) =
            (settings.asterisk_include_alias_columns, settings.asterisk_include_materialized_columns);
        let shown: &'static [DefaultKind] = match (alias, materialized) {
            (true, true) => &[DefaultKind::Alias, DefaultKind::Materialized],
            (true, false) => &[DefaultKind::Alias],
            (false, true) => &[DefaultKind::Materialized],
            (false, false) => &[],
        };
        Self { shown, ..self }
    }

    /// The rows of a JOIN.
    pub fn joined(plan: Plan, tree: JoinTree) -> Self {
        let schema = plan.schema().clone();
        Self::of(Rows::Joined(Some(Box::new(plan)), schema, tree))
    }

    /// Names alone, without rows: for a JOIN's own condition.
    pub fn names_of_join(schema: Arc<Schema>, tree: JoinTree) -> Self {
        Self::of(Rows::Joined(None, schema, tree))
    }

    /// The same names without the rows.
    pub fn names(&self) -> Self {
        let rows = match &self.rows {
            Rows::One => Rows::One,
            Rows::Table(table) => Rows::Table(table.clone()),
            Rows::Plan(_, schema) => Rows::Plan(None, schema.clone()),
            Rows::Joined(_, schema, tree) => Rows::Joined(None, schema.clone(), tree.clone()),
        };
        Self {
            rows,
            database: self.database.clone(),
            table: self.table.clone(),
            alias: self.alias.clone(),
            joined: self.joined.clone(),
            array_joins: Vec::new(),
            virtual_columns: self.virtual_columns,
            shown: self.shown,
        }
    }

    /// What was joined, where something was.
    pub fn join_tree(&self) -> Option<&JoinTree> {
        match &self.rows {
            Rows::Joined(_, _, tree) => Some(tree),
            _ => None,
        }
    }

    /// The names of each table.
    pub fn tables(&self) -> Vec<TableNames<'_>> {
        match &self.rows {
            Rows::Joined(_, _, tree) => tree
                .tables
                .iter()
                .map(|table| TableNames {
                    database: table.database.as_deref(),
                    table: table.table.as_deref(),
                    alias: table.alias.as_deref(),
                })
                .collect(),
            _ => vec![TableNames {
                database: self.database.as_deref(),
                table: self.table.as_deref(),
                alias: self.alias.as_deref(),
            }],
        }
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
            shown: &[],
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
            Rows::Plan(_, schema) | Rows::Joined(_, schema, _) => schema.len(),
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
                Rows::Plan(_, schema) | Rows::Joined(_, schema, _) => &schema.fields[column].0,
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
                Rows::Plan(_, schema) | Rows::Joined(_, schema, _) => &schema.fields[column].1,
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

    /// The latest column of this name that an ARRAY JOIN added.
    pub fn joined_position(&self, name: &str) -> Option<usize> {
        let at = self.joined.iter().rposition(|joined| &*joined.name == name)?;
        Some(self.table_columns() + at)
    }

    /// The column of this name: the latest that an ARRAY JOIN added, or the first table's that has it.
    ///
    /// # Errors
    /// Where both sides of a join have it.
    pub fn position(&self, name: &str) -> Result<Option<usize>, Ambiguous> {
        match self.joined_position(name) {
            Some(column) => Ok(Some(column)),
            None => self.own_position(name),
        }
    }

    /// The same without what ARRAY JOINs added.
    ///
    /// # Errors
    /// As [`position`](Self::position).
    pub fn own_position(&self, name: &str) -> Result<Option<usize>, Ambiguous> {
        Ok(match &self.rows {
            Rows::One => (name == "dummy").then_some(0),
            Rows::Table(table) => table.columns().iter().position(|column| &*column.name == name),
            Rows::Plan(_, schema) => schema.position(name),
            Rows::Joined(_, _, tree) => return tree.find(name),
        })
    }

    /// The column of this name of one table, by its place among [`tables`](Self::tables).
    ///
    /// # Errors
    /// None: only for the sake of [`position`](Self::position).
    pub fn position_in(&self, table: usize, name: &str) -> Result<Option<usize>, Ambiguous> {
        match &self.rows {
            Rows::Joined(_, _, tree) => Ok(tree.tables.get(table).and_then(|table| table.find(name))),
            _ => self.position(name),
        }
    }

    /// Adds the virtual columns of a table of parts, where nothing is numbered behind its columns yet. Whether they are there now and were
    /// not before.
    pub fn add_part_columns(&mut self) -> bool {
        let Rows::Table(table) = &self.rows else { return false };
        if !self.joined.is_empty() || self.virtual_columns > 0 {
            return false;
        }
        let Some(table) = table.with_part_columns() else { return false };
        self.virtual_columns = table.virtual_columns();
        self.rows = Rows::Table(table);
        true
    }

    /// The columns of a nested structure, whose names begin with its own and a dot; those that ARRAY JOINs made of them in their place.
    pub fn nested(&self, table: Option<usize>, name: &str) -> Vec<usize> {
        let is_of = |column: &str| column.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        let columns: Vec<usize> = match (&self.rows, table) {
            (Rows::Joined(_, _, tree), Some(table)) => {
                let columns = tree.tables.get(table).into_iter().flat_map(|table| &table.columns);
                columns.filter(|column| is_of(&column.name)).map(|column| column.column).collect()
            }
            _ => (0..self.table_columns()).filter(|column| is_of(self.name(*column))).collect(),
        };
        let replaced = |column: usize| {
            let replaced = self.joined.iter().rposition(|joined| joined.replaces == Some(column));
            replaced.map_or(column, |at| self.table_columns() + at)
        };
        columns.into_iter().map(replaced).collect()
    }

    /// Whether a table's column is shown with the table's name in results.
    pub fn is_shown_qualified(&self, table: usize, name: &str) -> bool {
        self.join_tree().is_some_and(|tree| tree.is_shown_qualified(table, name))
    }

    /// The name of a column in results.
    pub fn shown_name(&self, column: usize) -> String {
        let owner = self.join_tree().and_then(|tree| tree.owner(column).map(|owner| (tree, owner)));
        match owner {
            Some((tree, (table, name))) => match tree.tables[table].shown() {
                Some(shown) if tree.is_shown_qualified(table, name) && !self.is_name_of_step(column, name) => {
                    format!("{shown}.{name}")
                }
                _ => name.to_string(),
            },
            None => self.name(column).to_owned(),
        }
    }

    /// The same with the table's name wherever there is one.
    pub fn qualified_name(&self, column: usize) -> String {
        if self.join_tree().is_none() {
            let table = if column < self.table_columns() { self.alias.as_ref().or(self.table.as_ref()) } else { None };
            let name = self.name(column);
            return table.map_or_else(|| name.to_owned(), |table| format!("{table}.{name}"));
        }
        let owner = self.join_tree().and_then(|tree| tree.owner(column).map(|owner| (tree, owner)));
        match owner.and_then(|(tree, (table, name))| Some((tree.tables[table].shown()?, name))) {
            Some((shown, name)) if !self.is_name_of_step(column, name) => format!("{shown}.{name}"),
            _ => self.name(column).to_owned(),
        }
    }

    /// Whether a column is what USING or an ARRAY JOIN made its name mean.
    fn is_name_of_step(&self, column: usize, name: &Arc<str>) -> bool {
        let names = self.join_tree().into_iter().flat_map(|tree| &tree.steps).flat_map(|step| &step.names);
        names.into_iter().any(|(known, known_column)| *known_column == column && known == name)
    }

    /// The columns that `*` stands for.
    pub fn asterisk(&self) -> Vec<usize> {
        let columns: Vec<usize> = match &self.rows {
            Rows::Joined(_, _, tree) => tree.asterisk(),
            _ => (0..self.table_columns() - self.virtual_columns)
                .filter(|column| match self.default_kind(*column) {
                    None | Some(DefaultKind::Default) => true,
                    Some(kind) => self.shown.contains(&kind),
                })
                .collect(),
        };
        let replaced = |column: usize| {
            let replaced = self.joined.iter().rposition(|joined| joined.replaces == Some(column));
            replaced.map_or(column, |at| self.table_columns() + at)
        };
        columns.into_iter().map(replaced).collect()
    }

    /// The columns that `table.*` stands for.
    pub fn asterisk_of(&self, table: usize) -> Vec<usize> {
        match &self.rows {
            Rows::Joined(_, _, tree) => {
                let columns = tree.tables.get(table).into_iter().flat_map(|table| &table.columns);
                columns.filter(|column| !column.is_hidden).map(|column| column.column).collect()
            }
            _ => self.asterisk(),
        }
    }

    /// The name of a column in messages, with all that qualifies it.
    pub fn full_name(&self, column: usize) -> String {
        let full = |name: &str, names: TableNames<'_>| match (names.database, names.table, names.alias) {
            (Some(database), Some(table), _) if !database.is_empty() => format!("{database}.{table}.{name}"),
            (_, Some(table), None) => format!("{table}.{name}"),
            (_, _, Some(alias)) => format!("{alias}.{name}"),
            _ => name.to_owned(),
        };
        let owner = self.join_tree().and_then(|tree| tree.owner(column));
        let (table, name) = owner.map_or((0, self.name(column)), |(table, name)| (table, &**name));
        self.tables().get(table).map_or_else(|| name.to_owned(), |names| full(name, *names))
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
                let scan = Scan {
                    table: table.clone(),
                    columns,
                    schema,
                    predicate: None,
                    bounds: Vec::new(),
                    limit: None,
                    hides_rows: false,
                    has_places: false,
                };
                Stage::at(graph, Plan::Scan(scan), read.into_iter().map(|(_, node)| node).enumerate())
            }
            Rows::Plan(plan, _) | Rows::Joined(plan, ..) => {
                Stage::at(graph, plan.take().map_or_else(Plan::one_row, |plan| *plan), read)
            }
        }
    }

    /// The plan of what was joined so far and the names in it, where nothing was done to its rows since.
    pub fn take_joined(&mut self) -> Option<(Plan, JoinTree)> {
        match &mut self.rows {
            Rows::Joined(plan, _, tree) if self.joined.is_empty() && self.array_joins.is_empty() => {
                plan.take().map(|plan| (*plan, std::mem::take(tree)))
            }
            _ => None,
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
