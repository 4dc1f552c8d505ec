//! `system.tables` and `system.columns`, and the CREATE statement that would make a table again.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::{Arc, Weak};

use squall_planner::{ColumnDescription, Constraint, DefaultKind, KeyExpression, SkipIndex};
use squall_sql::ast;
use squall_storage::{
    Databases, NamedView, PartInfo, SkipIndexSize, TEMPORARY_DATABASE, Table, TableDescription, implicit_indices,
};
use squall_types::{DataType, Result, TupleElement, Value};

use super::table::SystemTable;
use super::upgrade;
use super::value::{flag, no_items, number, text, texts, uuid};
use super::viewer::Viewer;
use crate::access::masked;
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
        .column("primary_key", "String", move |row| key(&primary_key, row))
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
        .constant("total_bytes_uncompressed", "Nullable(UInt64)", Value::Null)
        .column("parts", "Nullable(UInt64)", |row| of_parts(row, |_| 1))
        .column("active_parts", "Nullable(UInt64)", |row| of_parts(row, |_| 1))
        .column("total_marks", "Nullable(UInt64)", |row| of_parts(row, |part| part.marks))
        .constant("lifetime_rows", "Nullable(UInt64)", Value::Null)
        .constant("lifetime_bytes", "Nullable(UInt64)", Value::Null)
        .column("comment", "String", |row| text(row.definition.as_ref().map_or("", |definition| &*definition.comment)))
        .column("has_own_data", "UInt8", |row| {
            flag(row.definition.as_ref().is_some_and(|definition| !definition.has_no_rows()))
        })
        .constant("loading_dependencies_database", "Array(String)", no_items())
        .constant("loading_dependencies_table", "Array(String)", no_items())
        .constant("loading_dependent_database", "Array(String)", no_items())
        .constant("loading_dependent_table", "Array(String)", no_items())
        .alias("table", "String", "name");
    Arc::new(table)
}

/// The materialized views over a table.
fn views_of(server: &Weak<Server>, row: &TableDescription) -> Vec<NamedView> {
    let server = server.upgrade();
    server.map(|server| server.databases.views_of(row.table.database(), row.table.name())).unwrap_or_default()
}

/// Whether a table is its session's.
fn is_temporary(row: &TableDescription) -> bool {
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
    position: usize,
    column: ColumnDescription,
}

impl ColumnRow {
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
            rows.extend(seen.map(|(position, column)| ColumnRow {
                table: table.clone(),
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
        .constant("data_compressed_bytes", "UInt64", number(0_u64))
        .constant("data_uncompressed_bytes", "UInt64", number(0_u64))
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
        .column("type", "String", |row| text(row.index.kind.split('(').next().unwrap_or_default()))
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

/// `PRIMARY KEY`, or `ORDER BY` where there is none.
fn primary_key(row: &TableDescription) -> Vec<KeyExpression> {
    row.definition
        .as_ref()
        .map(|definition| definition.primary_key.clone().unwrap_or_else(|| definition.sorting_key.clone()))
        .unwrap_or_default()
}

fn join_keys(keys: &[KeyExpression]) -> String {
    keys.iter().map(|key| &*key.sql).collect::<Vec<_>>().join(", ")
}

/// `a`, `(a, b)` or `tuple()`.
fn key_clause(keys: &[KeyExpression]) -> String {
    match keys {
        [] => "tuple()".to_owned(),
        [one] => one.sql.to_string(),
        _ => format!("({})", join_keys(keys)),
    }
}

/// `DEFAULT`, `MATERIALIZED`, `ALIAS`, `EPHEMERAL` or nothing.
pub fn default_kind(column: &ColumnDescription) -> &'static str {
    match column.default.as_ref().map(|default| default.kind) {
        None => "",
        Some(DefaultKind::Default) => "DEFAULT",
        Some(DefaultKind::Materialized) => "MATERIALIZED",
        Some(DefaultKind::Alias) => "ALIAS",
        Some(DefaultKind::Ephemeral) => "EPHEMERAL",
    }
}

/// The default's expression in SQL, or nothing.
pub fn default_expression(column: &ColumnDescription) -> &str {
    column.default.as_ref().map_or("", |default| &default.expression)
}

/// The clauses after `ENGINE =`, each on its own.
fn engine_clauses(row: &TableDescription) -> Vec<String> {
    if row.table.is_view() {
        return Vec::new();
    }
    let Some(definition) = &row.definition else { return vec![row.table.engine().to_owned()] };
    if definition.dictionary_statement().is_some() || definition.table_function().is_some() {
        return Vec::new();
    }
    let mut engine = quote(&definition.engine);
    if !definition.engine_arguments.is_empty() {
        let word = |argument: &Value| match argument.as_str() {
            // Names, which are quoted where they could be keywords.
            Some(name) if &*definition.engine == "Join" => quote(name),
            Some(sql) if &*definition.engine != "Dictionary" => sql.to_owned(),
            _ => argument.to_string(),
        };
        let arguments: Vec<String> = definition.engine_arguments.iter().map(word).collect();
        let _ = write!(engine, "({})", arguments.join(", "));
        if let Cow::Owned(hidden) = masked(&engine) {
            engine = hidden;
        }
    }
    let mut clauses = vec![engine];
    if &*definition.engine == "MergeTree" && !definition.engine_arguments.is_empty() {
        // Its arguments are its keys and its granularity.
        return clauses;
    }
    if !definition.partition_key.is_empty() {
        clauses.push(format!("PARTITION BY {}", key_clause(&definition.partition_key)));
    }
    if let Some(primary_key) = &definition.primary_key {
        clauses.push(format!("PRIMARY KEY {}", key_clause(primary_key)));
    }
    let is_merge_tree = definition.engine.ends_with("MergeTree");
    if is_merge_tree || !definition.sorting_key.is_empty() {
        clauses.push(format!("ORDER BY {}", key_clause(&definition.sorting_key)));
    }
    if let Some(key) = &definition.sampling_key {
        clauses.push(format!("SAMPLE BY {}", key.sql));
    }
    if !definition.ttl.is_empty() {
        clauses.push(format!("TTL {}", definition.ttl.join(", ")));
    }
    let mut settings: Vec<String> = definition
        .settings
        .iter()
        .map(|(name, value)| match value.parse::<f64>() {
            Ok(_) => format!("{name} = {value}"),
            Err(_) => format!("{name} = {}", Value::string(&**value)),
        })
        .collect();
    if is_merge_tree && !definition.settings.iter().any(|(name, _)| &**name == "index_granularity") {
        settings.push("index_granularity = 8192".to_owned());
    }
    if !settings.is_empty() {
        clauses.push(format!("SETTINGS {}", settings.join(", ")));
    }
    clauses
}

fn engine_full(row: &TableDescription) -> String {
    engine_clauses(row).join(" ")
}

/// A type's name, in which each element of a tuple, and of a tuple right within it, has a line of its own.
fn laid_out(data_type: &DataType, depth: usize) -> String {
    const INDENT: usize = 4;
    match data_type {
        DataType::Tuple(elements) if !elements.is_empty() => {
            let line = |element: &TupleElement| {
                let name = element.name.as_deref().map_or_else(String::new, |name| quote(name) + " ");
                format!("{}{name}{}", " ".repeat(INDENT * depth), laid_out(&element.data_type, depth + 1))
            };
            format!("Tuple(\n{})", elements.iter().map(line).collect::<Vec<_>>().join(",\n"))
        }
        other => other.to_string(),
    }
}

/// The CREATE statement of a table, on one line or, as SHOW CREATE TABLE has it, on many.
pub fn create_table_query(row: &TableDescription, databases: &Databases, many_lines: bool) -> String {
    if let Some(sql) = row.definition.as_ref().and_then(|definition| definition.dictionary_statement()) {
        let sql = masked(sql);
        return if many_lines { sql.into_owned() } else { squall_planner::dictionary::in_one_line(&sql) };
    }
    let kind = if is_temporary(row) { "TEMPORARY TABLE" } else { "TABLE" };
    let columns: Vec<String> = row
        .table
        .columns()
        .iter()
        .map(|column| {
            let data_type = if many_lines { laid_out(&column.data_type, 2) } else { column.data_type.to_string() };
            let mut sql = format!("{} {data_type}", quote_always(&column.name));
            if column.default.is_some() {
                let _ = write!(sql, " {} {}", default_kind(column), default_expression(column));
            }
            if !column.comment.is_empty() {
                let _ = write!(sql, " COMMENT {}", Value::string(&*column.comment));
            }
            if let Some(codec) = &column.codec {
                let _ = write!(sql, " CODEC({codec})");
            }
            if let Some(ttl) = &column.ttl {
                let _ = write!(sql, " TTL {ttl}");
            }
            sql
        })
        .collect();
    let mut columns = columns;
    columns.extend(row.definition.iter().flat_map(|definition| &definition.indices).map(ToString::to_string));
    for constraint in row.definition.iter().flat_map(|definition| &definition.constraints) {
        let kind = if constraint.is_assumed { "ASSUME" } else { "CHECK" };
        columns.push(format!("CONSTRAINT {} {kind} {}", quote(&constraint.name), constraint.sql));
    }
    for projection in row.definition.iter().flat_map(|definition| &definition.projections) {
        columns.push(match many_lines {
            true => projection.many_lines().replace('\n', "\n    "),
            false => projection.to_string(),
        });
    }
    let mut clauses = engine_clauses(row);
    let view = row.table.materialized_view();
    let mut name_suffix = String::new();
    if let Some(view) = view {
        let (database, table) = view.target(row.table.database());
        if let Some(refresh) = &view.refresh {
            let line = if many_lines { '\n' } else { ' ' };
            name_suffix = format!("{line}{}", squall_sql::format_refresh(refresh));
        }
        if !view.has_inner_table() {
            name_suffix.push_str(&format!(" TO {}.{}", quote(database), quote(table)));
        } else if let Ok(inner) = databases.describe(database, table) {
            clauses = engine_clauses(&inner);
            if let Some(engine) = clauses.first_mut() {
                engine.insert_str(0, "ENGINE = ");
            }
        }
        match view.security {
            Some(ast::SqlSecurity::Definer) => {
                clauses.push(format!("DEFINER = {} SQL SECURITY DEFINER", quote(&view.definer)));
            }
            Some(ast::SqlSecurity::None) => clauses.push("SQL SECURITY NONE".to_owned()),
            Some(ast::SqlSecurity::Invoker) | None => {}
        }
    }
    if let Some(definition) = &row.definition
        && !definition.comment.is_empty()
    {
        clauses.push(format!("COMMENT {}", Value::string(&*definition.comment)));
    }
    let name = match is_temporary(row) {
        true => quote(row.table.name()),
        false => format!("{}.{}", quote(row.table.database()), quote(row.table.name())),
    };
    if let Some(query) = view_text(row) {
        let kind = match (is_temporary(row), view.is_some()) {
            (true, _) => "TEMPORARY VIEW",
            (false, true) => "MATERIALIZED VIEW",
            (false, false) => "VIEW",
        };
        let name = name + &name_suffix;
        return create_view_query(kind, &name, &columns, &clauses, &query, many_lines);
    }
    let made_as = row.definition.as_ref().and_then(|definition| definition.table_function());
    if let Some(function) = made_as {
        // The words after it need no mask: a comment.
        clauses.insert(0, masked(function).into_owned());
    }
    let (on_many, on_one) = if made_as.is_some() { (" AS ", " AS ") } else { ("\nENGINE = ", " ENGINE = ") };
    if many_lines {
        format!("CREATE {kind} {name}\n(\n    {}\n){on_many}{}", columns.join(",\n    "), clauses.join("\n"))
    } else {
        format!("CREATE {kind} {name} ({}){on_one}{}", columns.join(", "), clauses.join(" "))
    }
}

/// The query of a view, in one line.
fn view_text(row: &TableDescription) -> Option<String> {
    let query = row.table.view_query().or_else(|| row.table.materialized_view().map(|view| &view.query))?;
    Some(squall_sql::format_one_line(&ast::Statement::Query(Box::new(ast::Query::clone(query)))))
}

/// The CREATE statement of a view; `clauses` is its comment.
fn create_view_query(
    kind: &str,
    name: &str,
    columns: &[String],
    clauses: &[String],
    query: &str,
    many_lines: bool,
) -> String {
    let (open, between, close) = if many_lines { ("\n(\n    ", ",\n    ", "\n)") } else { (" (", ", ", ")") };
    let line = if many_lines { "\n" } else { " " };
    let columns = match columns {
        [] => String::new(),
        columns => format!("{open}{}{close}", columns.join(between)),
    };
    let clauses: String = clauses.iter().map(|clause| format!("{line}{clause}")).collect();
    let query = match squall_sql::parse(query, &squall_sql::ParserLimits::default()) {
        Ok(statement) if many_lines => squall_sql::format(&statement),
        _ => query.to_owned(),
    };
    format!("CREATE {kind} {name}{columns}{clauses}{line}AS {}", masked(&query))
}

/// A name in back quotes where it needs them.
pub fn quote(name: &str) -> String {
    let mut letters = name.bytes();
    let plain = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
        && !matches!(
            name.to_ascii_lowercase().as_str(),
            "distinct" | "all" | "table" | "select" | "from" | "null" | "true" | "false"
        );
    if plain { name.to_owned() } else { quote_always(name) }
}

fn quote_always(name: &str) -> String {
    let mut quoted = String::with_capacity(name.len() + 2);
    quoted.push('`');
    for letter in name.chars() {
        if matches!(letter, '`' | '\\') {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted.push('`');
    quoted
}
