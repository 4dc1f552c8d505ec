//! The CREATE statement that would make a table again, and the texts that it consists of.

use std::borrow::Cow;
use std::fmt::Write;

use squall_planner::{ColumnDescription, DefaultKind, KeyExpression, MaterializedView};
use squall_sql::ast;
use squall_storage::{Databases, TableDescription};
use squall_types::{DataType, TupleElement, Value};

use super::catalog_tables::is_temporary;
use crate::access::masked;

/// The expressions of a key, with commas between them.
pub(super) fn join_keys(keys: &[KeyExpression]) -> String {
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

/// The clauses after `ENGINE =` in one line.
pub(super) fn engine_full(row: &TableDescription) -> String {
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
    let columns = elements(row, many_lines);
    let mut clauses = engine_clauses(row);
    let view = row.table.materialized_view();
    let mut name_suffix = String::new();
    if let Some(view) = view {
        name_suffix = add_view_clauses(&mut clauses, view, row, databases, many_lines);
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
    let kind = if is_temporary(row) { "TEMPORARY TABLE" } else { "TABLE" };
    let (on_many, on_one) = if made_as.is_some() { (" AS ", " AS ") } else { ("\nENGINE = ", " ENGINE = ") };
    if many_lines {
        format!("CREATE {kind} {name}\n(\n    {}\n){on_many}{}", columns.join(",\n    "), clauses.join("\n"))
    } else {
        format!("CREATE {kind} {name} ({}){on_one}{}", columns.join(", "), clauses.join(" "))
    }
}

/// What stands between a table's parentheses: its columns, indices, constraints and projections.
fn elements(row: &TableDescription, many_lines: bool) -> Vec<String> {
    let columns = row.table.columns().iter();
    let mut elements: Vec<String> = columns.map(|column| column_element(column, many_lines)).collect();
    elements.extend(row.definition.iter().flat_map(|definition| &definition.indices).map(ToString::to_string));
    for constraint in row.definition.iter().flat_map(|definition| &definition.constraints) {
        let kind = if constraint.is_assumed { "ASSUME" } else { "CHECK" };
        elements.push(format!("CONSTRAINT {} {kind} {}", quote(&constraint.name), constraint.sql));
    }
    for projection in row.definition.iter().flat_map(|definition| &definition.projections) {
        elements.push(match many_lines {
            true => projection.many_lines().replace('\n', "\n    "),
            false => projection.to_string(),
        });
    }
    elements
}

/// A column with its type, its default, its comment, its codec and its TTL.
fn column_element(column: &ColumnDescription, many_lines: bool) -> String {
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
}

/// Adds what a materialized view says after its columns; gives what it says after its name.
fn add_view_clauses(
    clauses: &mut Vec<String>,
    view: &MaterializedView,
    row: &TableDescription,
    databases: &Databases,
    many_lines: bool,
) -> String {
    let (database, table) = view.target(row.table.database());
    let mut name_suffix = String::new();
    if let Some(refresh) = &view.refresh {
        let line = if many_lines { '\n' } else { ' ' };
        name_suffix = format!("{line}{}", squall_sql::format_refresh(refresh));
    }
    if !view.has_inner_table() {
        name_suffix.push_str(&format!(" TO {}.{}", quote(database), quote(table)));
    } else if let Ok(inner) = databases.describe(database, table) {
        *clauses = engine_clauses(&inner);
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
    name_suffix
}

/// The query of a view, in one line.
pub(super) fn view_text(row: &TableDescription) -> Option<String> {
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
