//! `system.tables` and `system.columns`, and what else tells of the definitions of tables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock, Weak};

use squall_planner::{ColumnDescription, Constraint, KeyExpression, SkipIndex};
use squall_sql::ast;
use squall_storage::{
    ColumnSize, NamedView, PartInfo, SkipIndexSize, TEMPORARY_DATABASE, Table, TableDescription, implicit_indices,
};
use squall_types::{DataType, Result, Value};

use super::create_statement::{
    create_table_query, default_expression, default_kind, engine_full, join_keys, view_text,
};
use super::table::SystemTable;
use super::upgrade;
use super::value::{flag, no_items, number, text, texts, uuid};
use super::viewer::Viewer;
use crate::server::Server;

/// Every table of every database at this moment that a viewer may see.
pub(super) fn all_tables(server: &Weak<Server>, viewer: &Viewer) -> Result<Vec<Arc<TableDescription>>> {
    let databases = upgrade(server)?.databases.clone();
    let mut all = Vec::new();
    for database in databases.databases() {
        // A database that is dropped meanwhile has no tables any more.
        let tables = databases.tables(&database.name).unwrap_or_default().into_iter();
        all.extend(tables.filter(|row| viewer.sees_table(&database.name, row.table.name())).map(Arc::new));
    }
    all.extend(viewer.temporary_tables().into_iter().map(Arc::new));
    Ok(all)
}

pub(super) fn tables(server: &Weak<Server>, viewer: Viewer) -> Arc<dyn Table> {
    let of = server.clone();
    let (of_databases, of_tables, of_statements) = (server.clone(), server.clone(), server.clone());
    let of_keys = server.clone();
    let path = server.upgrade().map(|server| server.config.load().server.path.clone()).unwrap_or_default();
    let key =
        |keys: &dyn Fn(&TableDescription) -> Vec<KeyExpression>, row: &TableDescription| text(join_keys(&keys(row)));
    let table = SystemTable::new("tables", move || all_tables(&of, &viewer))
        .column("database", "String", |row: &Arc<TableDescription>| text(shown_database(row)))
        .column("name", "String", |row| text(row.table.name()))
        .column("uuid", "UUID", |row| uuid(row.uuid))
        .column("engine", "String", |row| text(row.table.engine()))
        .column("is_temporary", "UInt8", |row| flag(is_temporary(row)))
        .column("data_paths", "Array(String)", move |row| {
            if row.table.engine().ends_with("MergeTree") { texts([&path]) } else { no_items() }
        })
        .constant("metadata_path", "String", text(""))
        .constant("metadata_modification_time", "DateTime", number(0_u64))
        .constant("metadata_version", "Int32", Value::Int64(0))
        .column("dependencies_database", "Array(String)", move |row| {
            texts(views_of(&of_databases, row).iter().map(|(name, _)| name.database.clone()))
        })
        .column("dependencies_table", "Array(String)", move |row| {
            texts(views_of(&of_tables, row).iter().map(|(name, _)| name.table.clone()))
        })
        .column("create_table_query", "String", move |row| {
            text(
                of_statements
                    .upgrade()
                    .map(|server| create_table_query(row, &server.databases, false))
                    .unwrap_or_default(),
            )
        })
        .column("engine_full", "String", |row| text(engine_full(row)))
        .column("as_select", "String", |row| text(view_text(row).unwrap_or_default()))
        .column("partition_key", "String", move |row| {
            key(
                &|row| row.definition.as_ref().map(|definition| definition.partition_key.clone()).unwrap_or_default(),
                row,
            )
        })
        .column("sorting_key", "String", move |row| {
            key(
                &|row| row.definition.as_ref().map(|definition| definition.sorting_key.clone()).unwrap_or_default(),
                row,
            )
        })
        .column("primary_key", "String", move |row| key(&|row| shown_primary_key(&of_keys, row), row))
        .column("sampling_key", "String", |row| {
            let key = row.definition.as_ref().and_then(|definition| definition.sampling_key.as_ref());
            text(key.map_or("", |key| &*key.sql))
        })
        .column("storage_policy", "String", |row| {
            text(if row.table.engine().ends_with("MergeTree") { "default" } else { "" })
        })
        .column("total_rows", "Nullable(UInt64)", |row| {
            row.table.rows().filter(|_| row.table.engine() != "TinyLog").map_or(Value::Null, Value::UInt64)
        })
        .column("total_bytes", "Nullable(UInt64)", |row| match row.definition.is_some() {
            true => row.table.bytes().map_or(Value::Null, Value::UInt64),
            false => Value::Null,
        })
        .column("total_bytes_uncompressed", "Nullable(UInt64)", |row| of_parts(row, |part| part.value_bytes))
        .column("parts", "Nullable(UInt64)", |row| of_parts(row, |_| 1))
        .column("active_parts", "Nullable(UInt64)", |row| of_parts(row, |_| 1))
        .column("total_marks", "Nullable(UInt64)", |row| of_parts(row, |part| part.marks))
        .constant("lifetime_rows", "Nullable(UInt64)", Value::Null)
        .constant("lifetime_bytes", "Nullable(UInt64)", Value::Null)
        .column("comment", "String", |row| text(row.definition.as_ref().map_or("", |definition| &*definition.comment)))
        .column("has_own_data", "UInt8", |row| {
            flag(row.definition.as_ref().is_some_and(|definition| !definition.has_no_rows()))
        })
        .column("parameterized_view_parameters", "Array(Tuple(name String, type String))", |row| {
            let parameters = row.table.view_query().map(|query| view_parameters(query)).unwrap_or_default().into_iter();
            Value::Array(parameters.map(|(name, kind)| Value::Tuple([text(name), text(kind)].into())).collect())
        })
        .constant("unique_key", "String", text(""))
        .column("skipping_indices_types", "Array(String)", |row| {
            let indices = row.definition.iter().flat_map(|definition| &definition.indices);
            texts(indices.map(index_type).collect::<BTreeSet<_>>())
        })
        // Mutations are carried out, and what an ALTER changes is so at once.
        .constant("active_on_fly_data_mutations", "UInt64", number(0_u64))
        .constant("active_on_fly_alter_mutations", "UInt64", number(0_u64))
        .constant("active_on_fly_metadata_mutations", "UInt64", number(0_u64))
        .column("target_database", "String", |row| {
            let view = row.table.materialized_view();
            text(view.map_or("", |view| view.target(row.table.database()).0))
        })
        .column("target_table", "String", |row| {
            let view = row.table.materialized_view();
            text(view.map_or("", |view| view.target(row.table.database()).1))
        })
        .column("definer", "String", |row| {
            let view = row.table.materialized_view();
            let definer = view.filter(|view| view.security == Some(ast::SqlSecurity::Definer));
            text(definer.map_or("", |view| &*view.definer))
        })
        .constant("loading_dependencies_database", "Array(String)", no_items())
        .constant("loading_dependencies_table", "Array(String)", no_items())
        .constant("loading_dependent_database", "Array(String)", no_items())
        .constant("loading_dependent_table", "Array(String)", no_items())
        .alias("table", "String", "name");
    Arc::new(table)
}

/// The parameters of a view's query with their types, in the order of their names.
fn view_parameters(query: &ast::Query) -> BTreeMap<String, String> {
    struct Parameters(BTreeMap<String, String>);
    impl ast::Visitor for Parameters {
        fn expression(&mut self, expression: &mut ast::Expression) -> bool {
            if let ast::ExpressionKind::Parameter(parameter) = &expression.kind {
                self.0.insert(parameter.name.clone(), parameter.data_type.clone());
            }
            true
        }
    }
    let mut parameters = Parameters(BTreeMap::new());
    query.clone().walk(&mut parameters);
    parameters.0
}

/// The type of a skip index, without its parameters.
fn index_type(index: &SkipIndex) -> &str {
    index.kind.split('(').next().unwrap_or_default()
}

/// The materialized views over a table.
fn views_of(server: &Weak<Server>, row: &TableDescription) -> Vec<NamedView> {
    let server = server.upgrade();
    server.map(|server| server.databases.views_of(row.table.database(), row.table.name())).unwrap_or_default()
}

/// Whether a table is its session's.
pub(super) fn is_temporary(row: &TableDescription) -> bool {
    row.table.database() == TEMPORARY_DATABASE
}

/// The database of a table; a session's own are in none.
pub(super) fn shown_database(row: &TableDescription) -> &str {
    if is_temporary(row) { "" } else { row.table.database() }
}

/// A sum over a table's parts; NULL for tables that have none by their nature.
fn of_parts(row: &TableDescription, value: fn(&PartInfo) -> u64) -> Value {
    if !row.table.engine().ends_with("MergeTree") {
        return Value::Null;
    }
    Value::UInt64(row.table.parts().iter().map(value).sum())
}

/// A column of a table.
struct ColumnRow {
    table: Arc<TableDescription>,
    /// What each of its table's columns takes, once somebody asks.
    sizes: Arc<OnceLock<Vec<ColumnSize>>>,
    position: usize,
    column: ColumnDescription,
}

impl ColumnRow {
    fn size(&self) -> ColumnSize {
        let sizes = self.sizes.get_or_init(|| self.table.table.column_sizes());
        sizes.get(self.position).copied().unwrap_or_default()
    }

    fn is_in(&self, keys: &[KeyExpression]) -> bool {
        keys.iter().any(|key| {
            let mut found = false;
            key.expression.visit_columns(&mut |position| found |= position == self.position);
            found
        })
    }
}

pub(super) fn columns(server: &Weak<Server>, viewer: Viewer) -> Arc<dyn Table> {
    let of = server.clone();
    let gather = move || {
        let mut rows = Vec::new();
        for table in all_tables(&of, &viewer)? {
            let (database, name) = (table.table.database(), table.table.name());
            let shown = table.table.columns().len() - table.table.virtual_columns();
            let columns = table.table.columns().iter().take(shown).enumerate();
            let seen = columns.filter(|(_, column)| viewer.sees_column(database, name, &column.name));
            let sizes = Arc::new(OnceLock::new());
            rows.extend(seen.map(|(position, column)| ColumnRow {
                table: table.clone(),
                sizes: sizes.clone(),
                position,
                column: column.clone(),
            }));
        }
        Ok(rows)
    };
    let in_key =
        |row: &ColumnRow, keys: fn(&TableDescription) -> Vec<KeyExpression>| flag(row.is_in(&keys(&row.table)));
    let table = SystemTable::new("columns", gather)
        .column("database", "String", |row: &ColumnRow| text(shown_database(&row.table)))
        .column("table", "String", |row| text(row.table.table.name()))
        .column("name", "String", |row| text(&row.column.name))
        .column("type", "String", |row| text(row.column.data_type.to_string()))
        .column("position", "UInt64", |row| number(row.position + 1))
        .column("default_kind", "String", |row| text(default_kind(&row.column)))
        .column("default_expression", "String", |row| text(default_expression(&row.column)))
        .column("data_compressed_bytes", "UInt64", |row| number(row.size().bytes_on_disk))
        .column("data_uncompressed_bytes", "UInt64", |row| number(row.size().value_bytes))
        .constant("marks_bytes", "UInt64", number(0_u64))
        .column("comment", "String", |row| text(&row.column.comment))
        .column("is_in_partition_key", "UInt8", move |row| {
            in_key(row, |table| {
                table.definition.as_ref().map(|definition| definition.partition_key.clone()).unwrap_or_default()
            })
        })
        .column("is_in_sorting_key", "UInt8", move |row| {
            in_key(row, |table| {
                table.definition.as_ref().map(|definition| definition.sorting_key.clone()).unwrap_or_default()
            })
        })
        .column("is_in_primary_key", "UInt8", move |row| in_key(row, primary_key))
        .column("is_in_sampling_key", "UInt8", move |row| {
            in_key(row, |table| {
                let key = table.definition.as_ref().and_then(|definition| definition.sampling_key.clone());
                key.into_iter().collect()
            })
        })
        .column("compression_codec", "String", |row| {
            text(row.column.codec.as_ref().map(|codec| format!("CODEC({codec})")).unwrap_or_default())
        })
        .column("character_octet_length", "Nullable(UInt64)", |row| match row.column.data_type.inner() {
            DataType::FixedString(bytes) => number(*bytes),
            _ => Value::Null,
        })
        .column("numeric_precision", "Nullable(UInt64)", |row| match row.column.data_type.inner() {
            data_type if data_type.is_number() => {
                data_type.fixed_width_bytes().map_or(Value::Null, |bytes| number(8 * bytes))
            }
            _ => Value::Null,
        })
        .column("numeric_precision_radix", "Nullable(UInt64)", |row| match row.column.data_type.inner() {
            data_type if data_type.is_number() => number(2_u64),
            _ => Value::Null,
        })
        .column("numeric_scale", "Nullable(UInt64)", |row| match row.column.data_type.inner() {
            data_type if data_type.is_integer() => number(0_u64),
            _ => Value::Null,
        })
        .column("datetime_precision", "Nullable(UInt64)", |row| match row.column.data_type.inner() {
            DataType::DateTime64(digits, _) => number(*digits),
            _ => Value::Null,
        })
        .alias("column", "String", "name");
    Arc::new(table)
}

/// A skip index of a table, with what it takes in the table's parts.
struct IndexRow {
    table: Arc<TableDescription>,
    index: SkipIndex,
    is_implicit: bool,
    size: SkipIndexSize,
}

pub(super) fn data_skipping_indices(server: &Weak<Server>, viewer: Viewer) -> Arc<dyn Table> {
    let of = server.clone();
    let gather = move || {
        let mut rows = Vec::new();
        for table in all_tables(&of, &viewer)? {
            let Some(definition) = table.definition.clone() else { continue };
            let sizes = table.table.skip_index_sizes();
            let implicit = match definition.engine.ends_with("MergeTree") {
                true => implicit_indices(&definition)?,
                false => Vec::new(),
            };
            let declared = definition.indices.iter().map(|index| (index.clone(), false));
            let all = declared.chain(implicit.into_iter().map(|index| (index, true)));
            rows.extend(all.map(|(index, is_implicit)| {
                let size = sizes.iter().find(|size| size.name == index.name).cloned().unwrap_or_default();
                IndexRow { table: table.clone(), index, is_implicit, size }
            }));
        }
        Ok(rows)
    };
    let table = SystemTable::new("data_skipping_indices", gather)
        .column("database", "String", |row: &IndexRow| text(shown_database(&row.table)))
        .column("table", "String", |row| text(row.table.table.name()))
        .column("name", "String", |row| text(&row.index.name))
        .column("type", "String", |row| text(index_type(&row.index)))
        .column("type_full", "String", |row| text(&row.index.kind))
        .column("expr", "String", |row| {
            let items = row.index.sql.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
            text(items.unwrap_or(&row.index.sql))
        })
        .column("creation", "Enum8('Explicit' = 0, 'Implicit' = 1)", |row| Value::Int64(row.is_implicit.into()))
        .column("granularity", "UInt64", |row| number(row.index.granularity))
        .column("data_compressed_bytes", "UInt64", |row| number(row.size.compressed_bytes))
        .column("data_uncompressed_bytes", "UInt64", |row| number(row.size.uncompressed_bytes))
        .column("marks_bytes", "UInt64", |row| number(row.size.directory_bytes));
    Arc::new(table)
}

pub(super) fn constraints(server: &Weak<Server>, viewer: Viewer) -> Arc<dyn Table> {
    let of = server.clone();
    let gather = move || {
        let mut rows = Vec::new();
        for table in all_tables(&of, &viewer)? {
            let Some(definition) = table.definition.clone() else { continue };
            rows.extend(definition.constraints.iter().cloned().map(|constraint| (table.clone(), constraint)));
        }
        Ok(rows)
    };
    let table = SystemTable::new("constraints", gather)
        .column("database", "String", |(table, _): &(Arc<TableDescription>, Constraint)| text(shown_database(table)))
        .column("table", "String", |(table, _)| text(table.table.name()))
        .column("name", "String", |(_, constraint)| text(&constraint.name))
        .column("type", "Enum8('CHECK' = 0, 'ASSUME' = 1)", |(_, constraint)| {
            Value::Int64(constraint.is_assumed.into())
        })
        .column("expression", "String", |(_, constraint)| text(&constraint.sql));
    Arc::new(table)
}

/// The primary key that `system.tables` shows: of a materialized view the one that its statement writes.
fn shown_primary_key(server: &Weak<Server>, row: &TableDescription) -> Vec<KeyExpression> {
    let Some(view) = row.table.materialized_view().filter(|view| view.has_inner_table()) else {
        return primary_key(row);
    };
    let (database, table) = view.target(row.table.database());
    let inner = server.upgrade().and_then(|server| server.databases.describe(database, table).ok());
    inner.and_then(|inner| inner.definition).and_then(|definition| definition.primary_key.clone()).unwrap_or_default()
}

/// `PRIMARY KEY`, or `ORDER BY` where there is none.
fn primary_key(row: &TableDescription) -> Vec<KeyExpression> {
    row.definition
        .as_ref()
        .map(|definition| definition.primary_key.clone().unwrap_or_else(|| definition.sorting_key.clone()))
        .unwrap_or_default()
}
